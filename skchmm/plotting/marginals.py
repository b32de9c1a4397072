"""MarginalsDisplay: smoothed marginals as stacked bands."""

from typing import Any, Self

import numpy as np

from .style import (
    MOST_COLUMNS,
    MOST_NAMES,
    add_legend,
    asked,
    check_times,
    column_bounds,
    label_colors,
    new_axes,
    show_times,
    step_edges,
)


class MarginalsDisplay:
    """Smoothed marginals of one sequence as stacked bands, one per label.

    Of a long sequence each column of the picture shows the mean of its steps, and the axis says
    so. Of many labels the least probable ones share one grey band.

    Parameters
    ----------
    probabilities : array (n_steps, n_labels)
    labels : sequence of labels
        The label of each column.
    times : array of numbers, datetimes or timedeltas, optional
        The time of each step, which is then drawn halfway to its neighbours. Default: step t
        goes from t to t + 1.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure

    See Also
    --------
    SequenceDisplay : Signal, paths and marginals in one figure.
    PathDisplay : Label paths as coloured strips.

    Examples
    --------
    >>> from skchmm.plotting import MarginalsDisplay
    >>> display = MarginalsDisplay([[0.9, 0.1], [0.4, 0.6]], ["a", "b"])
    >>> display.probabilities.shape
    (2, 2)
    """

    def __init__(self, probabilities: Any, labels: Any, *, times: Any = None) -> None:
        self.probabilities = np.asarray(probabilities, dtype=np.float64)
        self.labels = list(labels)
        if self.probabilities.ndim != 2 or self.probabilities.shape[1] != len(self.labels):
            raise ValueError(
                f"probabilities has shape {self.probabilities.shape}; {len(self.labels)} labels "
                f"need (n_steps, {len(self.labels)})."
            )
        self.times = check_times(times, len(self.probabilities))

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, *, times: Any = None, ax: Any = None, **options: Any
    ) -> Self:
        """Draw what ``predict_proba`` says of one sequence.

        Parameters
        ----------
        estimator : fitted estimator
        X : array (n_steps, n_features) or 1-d symbols
            One sequence.
        times : see the class
            An estimator in continuous time smooths with them.
        ax : matplotlib Axes, optional
        **options : passed to :meth:`plot`

        Returns
        -------
        MarginalsDisplay
        """
        probabilities = asked(estimator.predict_proba, X, times)
        return cls(probabilities, estimator.classes_.tolist(), times=times).plot(ax, **options)

    def plot(self, ax: Any = None, *, colors: Any = None, legend: bool = True) -> Self:
        """Draw the bands.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; by default in a new figure.
        colors : dict of label to colour, optional
        legend : bool, default=True

        Returns
        -------
        MarginalsDisplay
        """
        n_steps = len(self.probabilities)
        bounds = column_bounds(n_steps)
        means = np.add.reduceat(self.probabilities, bounds[:-1]) / np.diff(bounds)[:, None]
        every = label_colors(self.labels, colors)
        order = np.arange(len(self.labels))
        if len(order) > MOST_NAMES:
            order = np.argsort(-means.sum(axis=0), kind="stable")[: MOST_NAMES - 1]
        shown = {self.labels[k]: every[self.labels[k]] for k in order}
        values = means[:, order]
        if len(order) < len(self.labels):
            others = f"{len(self.labels) - len(order)} others"
            shown[others] = "0.6"
            values = np.column_stack([values, means.sum(axis=1) - values.sum(axis=1)])
        ax = new_axes(ax, 9, 2.2, list(shown) if legend else ())
        self.ax_, self.figure_ = ax, ax.figure
        edges = step_edges(self.times, n_steps)
        ax.stackplot(
            np.repeat(edges[bounds], 2)[1:-1], np.repeat(values, 2, axis=0).T,
            colors=list(shown.values()), lw=0,
        )  # fmt: skip
        steps = -(-n_steps // MOST_COLUMNS)
        show_times(ax, self.times, edges, f"mean of up to {steps:,} to a column" * (steps > 1))
        ax.set_ylim(0, 1)
        ax.set_ylabel("probability")
        ax.spines[["top", "right"]].set_visible(False)
        if legend:
            add_legend(ax, shown)
        return self
