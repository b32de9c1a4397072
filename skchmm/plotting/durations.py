"""DurationDisplay: how long segments last, in the data and according to the model."""

from collections.abc import Collection
from typing import Any, Self

import numpy as np

from .segments import split
from .style import PALETTE, runs, told_apart

MOST_PANELS = 12
MOST_STEPS = 200_000  # drawn from the model


class DurationDisplay:
    """Histograms of segment lengths, one panel per label, against those of the model.

    Parameters
    ----------
    observed : dict of label to array of int
        Lengths of its segments in the data.
    expected : dict of label to array of int, optional
        Lengths of its segments in draws from the model.

    Attributes
    ----------
    axes_ : dict of label to matplotlib Axes
    figure_ : matplotlib Figure

    See Also
    --------
    SegmentConfusionDisplay : Which segments are taken for which.

    Examples
    --------
    >>> from skchmm.plotting import DurationDisplay
    >>> DurationDisplay.lengths_of([list("aabaaa")])
    {'a': [2, 3], 'b': [1]}
    """

    def __init__(self, observed: Any, expected: Any = None) -> None:
        self.observed = {label: np.asarray(lengths) for label, lengths in observed.items()}
        self.expected = {label: np.asarray(lengths) for label, lengths in (expected or {}).items()}

    @staticmethod
    def lengths_of(paths: Any) -> Any:
        """The lengths of the segments of each label in some paths."""
        found = {}
        for path in map(np.asarray, paths):
            for start, stop in runs(path):
                found.setdefault(path[start:stop].tolist()[0], []).append(stop - start)
        return found

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        y: Any,
        *,
        lengths: Collection[int] | None = None,
        random_state: int = 0,
        **options: Any,
    ) -> Self:
        """Compare labelled paths with what the model expects under its constraints.

        The expectation comes from sequences of the same lengths drawn from the model, so that
        constraints and the ends of sequences have their effect on it.

        Parameters
        ----------
        estimator : fitted estimator with `sample`
        y : list of 1-d arrays, or 1-d array with `lengths`
            Known or decoded labels.
        lengths : sequence of int, optional
        random_state : int, RandomState or None, default=0
        **options : passed to :meth:`plot`

        Returns
        -------
        DurationDisplay
        """
        paths = split(y, lengths)
        sizes = np.array([len(path) for path in paths])
        enough = int(np.searchsorted(np.cumsum(np.tile(sizes, 20)), MOST_STEPS)) + 1
        sizes = np.tile(sizes, 20)[:enough]
        drawn = _draw(estimator, sizes.tolist(), random_state)
        observed = cls.lengths_of(paths)
        order = [x for x in estimator.classes_.tolist() if x in observed]
        observed = {label: observed[label] for label in order}
        return cls(observed, cls.lengths_of(drawn)).plot(**options)

    def plot(self, *, color: Any = PALETTE[0]) -> Self:
        """Draw the histograms in a new figure; of many labels, those with most segments.

        Parameters
        ----------
        color : colour of the bars

        Returns
        -------
        DurationDisplay
        """
        import matplotlib.pyplot as plt

        labels = sorted(self.observed, key=lambda label: -len(self.observed[label]))[:MOST_PANELS]
        labels = [label for label in self.observed if label in labels]
        columns = min(4, len(labels))
        rows = -(-len(labels) // columns)
        figure, axes = plt.subplots(
            rows, columns, figsize=(2.6 * columns + 0.8, 1.9 * rows + 0.7), layout="constrained",
            squeeze=False,
        )  # fmt: skip
        self.figure_, self.axes_ = figure, dict(zip(labels, axes.ravel()))
        for ax in axes.ravel()[len(labels) :]:
            ax.set_axis_off()
        for (label, ax), name in zip(self.axes_.items(), told_apart(labels, 22)):
            self._draw(ax, label, color)
            ax.set_title(f"{name}  (n = {len(self.observed[label]):,})", fontsize=9)
        left_out = len(self.observed) - len(labels)
        note = f"; {left_out} labels with fewer segments are left out" if left_out else ""
        figure.supxlabel(f"steps of a segment{note}", fontsize="medium")
        figure.supylabel("share of segments", fontsize="medium")
        if self.expected:
            handles, names = self.axes_[labels[0]].get_legend_handles_labels()
            figure.legend(handles, names, loc="outside upper right", ncols=2, frameon=False)
        return self

    def _draw(self, ax, label, color):
        data, model = self.observed[label], self.expected.get(label, np.array([], dtype=int))
        # A few very long segments must not squeeze all others into one bar.
        most = max(int(np.quantile(each, 0.99)) for each in (data, model) if len(each))
        width = max(1, -(-most // 30))
        bins = np.arange(0.5, most + width + 0.5, width)
        for values, style in (
            (data, {"color": color, "alpha": 0.8, "label": "data"}),
            (model, {"histtype": "step", "color": "C1", "lw": 1.6, "label": "model"}),
        ):
            if len(values):
                weights = np.full(len(values), 1 / len(values))
                ax.hist(np.minimum(values, bins[-1]), bins=bins, weights=weights, **style)
        ax.tick_params(labelsize=8)
        ax.spines[["top", "right"]].set_visible(False)


def _draw(estimator, sizes, random_state):
    """Paths of these lengths, drawn from the model under its constraints."""
    try:
        return estimator.sample(sizes, random_state=random_state)[1]
    except ValueError:
        if not hasattr(estimator, "sample_posterior"):
            raise
    # Scores of another model cannot be drawn. Paths can: given observations that say nothing.
    labels = estimator.classes_.tolist()
    model = type(estimator).from_parameters(
        estimator.startprob_, estimator.transmat_, states=labels, constraints=estimator.constraints_
    )
    silent = [np.zeros((size, len(labels))) for size in sizes]
    drawn = model.sample_posterior(silent, 1, random_state=random_state)
    return [path for (path,) in drawn]
