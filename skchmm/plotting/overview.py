"""SequenceDisplay: signal, paths and marginals of one sequence, one above the other."""

from collections import Counter
from typing import Any, Self

import numpy as np

from .marginals import MarginalsDisplay
from .paths import PathDisplay
from .strips import draw_strip, finish_rows, reduced
from .style import (
    MOST_COLUMNS,
    MOST_NAMES,
    add_legend,
    asked,
    check_times,
    column_bounds,
    label_colors,
    legend_grid,
    place,
    shortened,
    show_times,
    step_edges,
)

MOST_SIGNALS = 8


class SequenceDisplay:
    """Signal, label paths and marginals of one sequence in one figure, with one time axis.

    Make it with :meth:`from_estimator`.

    Parameters
    ----------
    signal : array (n_steps, n_features) or 1-d symbols
    paths : PathDisplay
    marginals : MarginalsDisplay, optional
    times : array of numbers, datetimes or timedeltas, optional
    names : list of str, optional
        The names of the features. Default: the columns of a dataframe, or numbers.

    Attributes
    ----------
    axes_ : dict of str to matplotlib Axes
        "signal", "paths" and "marginals".
    figure_ : matplotlib Figure

    See Also
    --------
    PathDisplay : Label paths as coloured strips.
    MarginalsDisplay : The probability of each label over time.

    Examples
    --------
    >>> from skchmm.plotting import PathDisplay, SequenceDisplay
    >>> display = SequenceDisplay([0.1, 0.3, 2.2], PathDisplay({"decoded": list("aab")}))
    >>> display.names
    ['0']
    """

    def __init__(
        self,
        signal: Any,
        paths: Any,
        marginals: Any = None,
        *,
        times: Any = None,
        names: Any = None,
    ) -> None:
        if names is None and hasattr(signal, "columns"):
            names = list(signal.columns)
        self.signal = np.asarray(signal)
        if self.signal.ndim == 2 and self.signal.shape[1] == 1:
            self.signal = self.signal[:, 0]
        n_features = 1 if self.signal.ndim == 1 else self.signal.shape[1]
        self.names = list(names) if names is not None else [str(k) for k in range(n_features)]
        self.paths = paths
        self.marginals = marginals
        self.times = check_times(times, len(self.signal))

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any = None,
        *,
        times: Any = None,
        names: Any = None,
        **options: Any,
    ) -> Self:
        """Decode and smooth one sequence and draw it.

        Parameters
        ----------
        estimator : fitted estimator, or dict of names to fitted estimators
            Marginals are drawn of the last one, if it has them.
        X : array (n_steps, n_features), dataframe or 1-d symbols
            One sequence.
        y : 1-d array of labels, optional
            Its true path.
        times, names : see the class
        **options : passed to :meth:`plot`

        Returns
        -------
        SequenceDisplay
        """
        named = estimator if isinstance(estimator, dict) else {"decoded": estimator}
        last = list(named.values())[-1]
        labels = last.classes_.tolist()
        paths = {} if y is None else {"truth": y}
        paths |= {name: asked(each.predict, X, times) for name, each in named.items()}
        truth = None if y is None else "truth"
        marginals = None
        if hasattr(last, "predict_proba"):
            probabilities = asked(last.predict_proba, X, times)
            marginals = MarginalsDisplay(probabilities, labels, times=times)
        strips = PathDisplay(paths, truth=truth, labels=labels, times=times)
        return cls(X, strips, marginals, times=times, names=names).plot(**options)

    def plot(self, *, colors: Any = None, width: float = 9.0) -> Self:
        """Draw the three parts in a new figure.

        Parameters
        ----------
        colors : dict of label to colour, optional
        width : float, default=9
            Of the figure, in inches.

        Returns
        -------
        SequenceDisplay
        """
        import matplotlib.pyplot as plt

        names = ["signal", "paths"] + ["marginals"] * (self.marginals is not None)
        heights = [1.6, 0.3 + 0.42 * len(self.paths.paths), 1.5][: len(names)]
        colors = label_colors(self.paths.labels, colors)
        rows = legend_grid(self.paths.labels, width)[1]
        figure, axes = plt.subplots(
            len(names), 1, figsize=(width, sum(heights) + 0.5 + 0.21 * rows), sharex=True,
            height_ratios=heights, layout="constrained",
        )  # fmt: skip
        self.figure_, self.axes_ = figure, dict(zip(names, axes))
        edges = step_edges(self.times, len(self.signal))
        note = self._draw_signal(self.axes_["signal"], edges)
        self.paths.plot(self.axes_["paths"], colors=colors, legend=False)
        if self.marginals is not None:
            self.marginals.plot(self.axes_["marginals"], colors=colors, legend=False)
        for ax in axes[:-1]:
            ax.set_xlabel("")
        show_times(axes[-1], self.times, edges, note)
        red = self.paths.truth is not None and len(self.paths.paths) > 1
        above = {"loc": "outside upper left", "bbox_to_anchor": None}
        if len(colors) > MOST_NAMES:  # name those that are seen most, in their order
            seen = Counter(x for path in self.paths.paths.values() for x in path.tolist())
            often = {label for label, _ in seen.most_common(MOST_NAMES)}
            colors = {x: colors[x] for x in sorted(colors, key=lambda x: x not in often)}
        add_legend(figure, colors, mistakes=red, **above)
        return self

    def _draw_signal(self, ax, edges):
        """Lines of numbers, a strip of symbols; what was reduced, in words."""
        if self.signal.ndim == 1 and self.signal.dtype.kind not in "iuf":
            symbols, codes = np.unique(self.signal.astype(str), return_inverse=True)
            bounds, common, steps = reduced(codes, len(symbols))
            hues = label_colors(symbols.tolist())
            labels = [str(symbols[k]) for k in common]
            draw_strip(ax, 0, edges[bounds[:-1]], edges[bounds[1:]], labels, hues)
            finish_rows(ax, ["observed"])
            return _steps_note(steps)
        ax.spines[["top", "right"]].set_visible(False)
        columns = self.signal.reshape(len(self.signal), -1).astype(np.float64)
        where = np.arange(len(columns)) + 0.5 if self.times is None else place(self.times)[0]
        reduce = len(columns) > 2 * MOST_COLUMNS
        if reduce:
            bounds = column_bounds(len(columns))
            where = np.repeat(where[bounds[:-1]], 2)
        for name, column in zip(self.names[:MOST_SIGNALS], columns.T):
            if reduce:  # the lowest and the highest value of each column
                low, high = (f.reduceat(column, bounds[:-1]) for f in (np.fmin, np.fmax))
                column = np.column_stack([low, high]).ravel()
            ax.plot(where, column, lw=0.9, label=shortened(name))
        if columns.shape[1] > 1:
            side = {"loc": "center left", "bbox_to_anchor": (1, 0.5), "frameon": False}
            more = columns.shape[1] - MOST_SIGNALS
            title = f"{MOST_SIGNALS} of {columns.shape[1]} signals" if more > 0 else None
            ax.legend(fontsize=8, title=title, title_fontsize=8, **side)
        return _steps_note(-(-len(columns) // MOST_COLUMNS) if reduce else 1)


def _steps_note(steps):
    return f"up to {steps:,} to a column" if steps > 1 else ""
