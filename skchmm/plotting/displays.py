"""Displays: label paths as coloured strips, marginals as bands. Needs matplotlib to draw."""

from collections.abc import Collection, Hashable, Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

# Tol's bright scheme and Okabe-Ito's black-free rest: told apart with any colour vision.
PALETTE = (
    *("#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377"),
    *("#bbbbbb", "#e69f00", "#009e73", "#882255"),
)
MISTAKE = "#c1121f"


class PathDisplay:
    """Label paths of one sequence as coloured strips, one above the other.

    Make it with :meth:`from_estimator` or :meth:`from_predictions`, which also draw it.

    Parameters
    ----------
    paths : dict of str to 1-d array of labels
        The paths, top to bottom, all of one length.
    truth : str, optional
        Which of them is the true one: where another differs, a red line runs under it.
    labels : sequence of labels, optional
        The labels in the order of the legend. Default: in order of appearance.
    times : array, optional
        The time of each step. Default: 0, 1, ...

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure

    Examples
    --------
    >>> from skchmm.plotting import PathDisplay
    >>> display = PathDisplay({"truth": list("aabbb"), "decoded": list("abbab")}, truth="truth")
    >>> display.mistakes("decoded").tolist()
    [False, True, False, True, False]
    """

    def __init__(
        self,
        paths: Mapping[str, Any],
        *,
        truth: str | None = None,
        labels: Collection[Hashable] | None = None,
        times: ArrayLike | None = None,
    ) -> None:
        self.paths: dict = {name: np.asarray(path) for name, path in paths.items()}
        self.truth = truth
        lengths = {name: len(path) for name, path in self.paths.items()}
        if len(set(lengths.values())) != 1:
            raise ValueError(f"The paths must be of one length; got {lengths}.")
        if truth is not None and truth not in self.paths:
            raise ValueError(f"truth={truth!r} names none of the paths {list(self.paths)}.")
        present = dict.fromkeys(x for path in self.paths.values() for x in path.tolist())
        self.labels = list(dict.fromkeys([*(labels if labels is not None else ()), *present]))
        self.times = np.arange(max(lengths.values())) if times is None else np.asarray(times)

    @classmethod
    def from_predictions(
        cls,
        y_true: Any,
        y_pred: Any,
        *,
        labels: Collection[Hashable] | None = None,
        times: ArrayLike | None = None,
        ax: Any = None,
        **options: Any,
    ) -> Self:
        """Draw one true path above decoded ones.

        Parameters
        ----------
        y_true : 1-d array of labels, or None
        y_pred : 1-d array of labels, or dict of names to such arrays
        labels, times : see the class
        ax : matplotlib Axes, optional
        **options : passed to :meth:`plot`

        Returns
        -------
        PathDisplay
        """
        paths = {} if y_true is None else {"truth": y_true}
        paths.update(y_pred if isinstance(y_pred, dict) else {"decoded": y_pred})
        truth = None if y_true is None else "truth"
        return cls(paths, truth=truth, labels=labels, times=times).plot(ax, **options)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any = None,
        *,
        times: ArrayLike | None = None,
        ax: Any = None,
        **options: Any,
    ) -> Self:
        """Decode one sequence and draw the path.

        Parameters
        ----------
        estimator : fitted estimator, or dict of names to fitted estimators
        X : array (n_steps, n_features) or 1-d symbols
            One sequence.
        y : 1-d array of labels, optional
            Its true path.
        times : see the class
        ax : matplotlib Axes, optional
        **options : passed to :meth:`plot`

        Returns
        -------
        PathDisplay
        """
        named = estimator if isinstance(estimator, dict) else {type(estimator).__name__: estimator}
        paths = {name: each.predict(X) for name, each in named.items()}
        classes = getattr(next(iter(named.values())), "classes_", None)
        labels = None if classes is None else classes.tolist()
        return cls.from_predictions(y, paths, labels=labels, times=times, ax=ax, **options)

    def mistakes(self, name: str) -> np.ndarray:
        """Where a path differs from the true one, bool (n_steps,)."""
        return self.paths[name] != self.paths[self.truth]

    def plot(
        self,
        ax: Any = None,
        *,
        colors: Mapping | None = None,
        legend: bool = True,
        text: bool = True,
    ) -> Self:
        """Draw the strips.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; by default in a new figure.
        colors : dict of label to colour, optional
            Labels that it does not name take theirs from the palette.
        legend : bool, default=True
        text : bool, default=True
            Write the label into segments that are wide enough.

        Returns
        -------
        PathDisplay
        """
        import matplotlib.pyplot as plt

        if ax is None:
            _, ax = plt.subplots(figsize=(9, 0.6 + 0.55 * len(self.paths)), layout="constrained")
        self.ax_, self.figure_ = ax, ax.figure
        colors = label_colors(self.labels, colors)
        edges = step_edges(self.times)
        for row, (name, path) in enumerate(self.paths.items()):
            for start, stop in runs(path):
                label = path[start:stop].tolist()[0]
                left, right = edges[start], edges[stop]
                ax.barh(row, right - left, left=left, height=0.72, color=colors[label], lw=0)
                share = (right - left) / (edges[-1] - edges[0])
                if text and _fits(ax, str(label), share):
                    style = {"ha": "center", "va": "center", "fontsize": 8}
                    style["color"] = readable_on(colors[label])
                    ax.text((left + right) / 2, row, str(label), **style)
            if self.truth not in (None, name):
                self._underline(ax, row, self.mistakes(name), edges)
        ax.set_yticks(range(len(self.paths)), list(self.paths))
        ax.set_ylim(len(self.paths) - 0.4, -0.5)
        ax.set_xlim(edges[0], edges[-1])
        ax.tick_params(axis="y", length=0)
        ax.spines[["top", "right", "left"]].set_visible(False)
        if legend:
            add_legend(ax, colors, mistakes=self.truth is not None and len(self.paths) > 1)
        return self

    @staticmethod
    def _underline(ax, row, wrong, edges):
        for start, stop in runs(wrong):
            if wrong[start]:
                width, left = edges[stop] - edges[start], edges[start]
                ax.barh(row + 0.43, width, left=left, height=0.09, color=MISTAKE, lw=0)


class MarginalsDisplay:
    """Smoothed marginals of one sequence as stacked bands, one a label.

    Parameters
    ----------
    probabilities : array (n_steps, n_labels)
    labels : sequence of labels
        The label of each column.
    times : array, optional
        The time of each step. Default: 0, 1, ...

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure

    Examples
    --------
    >>> from skchmm.plotting import MarginalsDisplay
    >>> display = MarginalsDisplay([[0.9, 0.1], [0.4, 0.6]], ["a", "b"])
    >>> display.probabilities.shape
    (2, 2)
    """

    def __init__(
        self,
        probabilities: ArrayLike,
        labels: Collection[Hashable],
        *,
        times: ArrayLike | None = None,
    ) -> None:
        self.probabilities = np.asarray(probabilities, dtype=np.float64)
        self.labels = list(labels)
        if self.probabilities.ndim != 2 or self.probabilities.shape[1] != len(self.labels):
            raise ValueError(
                f"probabilities has shape {self.probabilities.shape}; {len(self.labels)} labels "
                f"need (n_steps, {len(self.labels)})."
            )
        self.times = np.arange(len(self.probabilities)) if times is None else np.asarray(times)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        *,
        times: ArrayLike | None = None,
        ax: Any = None,
        **options: Any,
    ) -> Self:
        """Draw what ``predict_proba`` says of one sequence.

        Parameters
        ----------
        estimator : fitted estimator
        X : array (n_steps, n_features) or 1-d symbols
            One sequence.
        times : see the class
        ax : matplotlib Axes, optional
        **options : passed to :meth:`plot`

        Returns
        -------
        MarginalsDisplay
        """
        labels = estimator.classes_.tolist()
        return cls(estimator.predict_proba(X), labels, times=times).plot(ax, **options)

    def plot(self, ax: Any = None, *, colors: Mapping | None = None, legend: bool = True) -> Self:
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
        import matplotlib.pyplot as plt

        if ax is None:
            _, ax = plt.subplots(figsize=(9, 2.2), layout="constrained")
        self.ax_, self.figure_ = ax, ax.figure
        colors = label_colors(self.labels, colors)
        edges = step_edges(self.times)
        values = np.repeat(self.probabilities, 2, axis=0).T
        ax.stackplot(
            np.repeat(edges, 2)[1:-1], values, colors=[colors[x] for x in self.labels], lw=0
        )
        ax.set_xlim(edges[0], edges[-1])
        ax.set_ylim(0, 1)
        ax.set_ylabel("probability")
        ax.spines[["top", "right"]].set_visible(False)
        if legend:
            add_legend(ax, colors)
        return self


def label_colors(labels: Collection[Hashable], colors: Mapping | None = None) -> dict:
    """A colour for every label: those given, the palette's for others, a colour wheel past it."""
    from matplotlib import colormaps

    given = dict(colors or {})
    palette = PALETTE
    if len(labels) > len(PALETTE):
        palette = colormaps["turbo"](np.linspace(0.05, 0.95, len(labels)))
    return {label: given.get(label, palette[k]) for k, label in enumerate(labels)}


def add_legend(where: Any, colors: Mapping, *, mistakes: bool = False, **options: Any) -> None:
    """A legend of the labels, in one row above the axes (or figure) `where`."""
    from matplotlib.patches import Patch

    handles = [Patch(color=color, label=str(label)) for label, color in colors.items()]
    if mistakes:
        handles.append(Patch(color=MISTAKE, label="differs from truth"))
    style = {"loc": "lower left", "bbox_to_anchor": (0, 1), "ncols": min(len(handles), 8)}
    style |= {"frameon": False, "handlelength": 1, "handleheight": 1, "columnspacing": 1.2}
    where.legend(handles=handles, fontsize=9, borderaxespad=0.2, **{**style, **options})


def readable_on(color):
    """Black or white, whichever is read better on a colour."""
    from matplotlib.colors import to_rgb

    return "white" if np.dot(to_rgb(color), (0.299, 0.587, 0.114)) < 0.6 else "#222222"


def runs(path):
    """(start, stop) of the maximal runs of a path."""
    borders = np.flatnonzero(path[1:] != path[:-1]) + 1
    return list(zip([0, *borders], [*borders, len(path)]))


def step_edges(times):
    """Where each step is drawn to begin and end: it lasts until the next, the last one as long."""
    times = np.asarray(times)
    last = times[-1] - times[-2] if len(times) > 1 else 1
    return np.append(times, times[-1] + last)


def _fits(ax, text, share):
    points = 72 / ax.figure.dpi * ax.bbox.width * share
    return 5.5 * len(text) + 4 < points
