"""PathDisplay: label paths as coloured strips."""

from typing import Any, Self

import numpy as np

from .strips import draw_strip, finish_rows, reduced, underline
from .style import (
    MOST_NAMES,
    add_legend,
    asked,
    check_times,
    label_colors,
    new_axes,
    show_times,
    step_edges,
)


class PathDisplay:
    """Label paths of one sequence as coloured strips, one above the other.

    Make it with :meth:`from_estimator`, :meth:`from_predictions`, :meth:`from_kbest` or
    :meth:`from_samples`, which also draw it. Where a path has more segments than a picture has
    columns, each column shows the label of most of its steps, and the axis says so.

    Parameters
    ----------
    paths : dict of str to 1-d array of labels
        The paths, top to bottom, all of one length.
    truth : str, optional
        Which of them is the true one: where another differs, a red line runs under it.
    labels : sequence of labels, optional
        The labels in the order of the legend. Default: in order of appearance.
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
    JumpPathDisplay : A path in continuous time.

    Examples
    --------
    >>> from skchmm.plotting import PathDisplay
    >>> display = PathDisplay({"truth": list("aabbb"), "decoded": list("abbab")}, truth="truth")
    >>> display.mistakes("decoded").tolist()
    [False, True, False, True, False]
    """

    def __init__(
        self, paths: Any, *, truth: Any = None, labels: Any = None, times: Any = None
    ) -> None:
        self.paths = {name: np.asarray(path) for name, path in paths.items()}
        self.truth = truth
        lengths = {name: len(path) for name, path in self.paths.items()}
        if len(set(lengths.values())) != 1:
            raise ValueError(f"The paths must be of one length; got {lengths}.")
        if truth is not None and truth not in self.paths:
            raise ValueError(f"truth={truth!r} names none of the paths {list(self.paths)}.")
        present = dict.fromkeys(x for path in self.paths.values() for x in path.tolist())
        self.labels = list(dict.fromkeys([*(labels if labels is not None else ()), *present]))
        self.n_steps = max(lengths.values())
        self.times = check_times(times, self.n_steps)

    @classmethod
    def from_predictions(
        cls,
        y_true: Any,
        y_pred: Any,
        *,
        labels: Any = None,
        times: Any = None,
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
        times: Any = None,
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
            Estimators in continuous time decode with them.
        ax : matplotlib Axes, optional
        **options : passed to :meth:`plot`

        Returns
        -------
        PathDisplay
        """
        named = estimator if isinstance(estimator, dict) else {type(estimator).__name__: estimator}
        paths = {name: asked(each.predict, X, times) for name, each in named.items()}
        labels = _classes(next(iter(named.values())))
        return cls.from_predictions(y, paths, labels=labels, times=times, ax=ax, **options)

    @classmethod
    def from_kbest(
        cls,
        estimator: Any,
        X: Any,
        k: int = 5,
        *,
        times: Any = None,
        ax: Any = None,
        **options: Any,
    ) -> Self:
        """Draw the k best paths of one sequence; a red line marks where they leave the best.

        Parameters
        ----------
        estimator : fitted estimator with `kbest`
        X : array (n_steps, n_features) or 1-d symbols
            One sequence.
        k : int, default=5
        times : see the class
        ax : matplotlib Axes, optional
        **options : passed to :meth:`plot`

        Returns
        -------
        PathDisplay
            The rows say how much less probable than the best each path is, in logarithms.
        """
        found = asked(estimator.kbest, X, times, k)
        best = found[0][0]
        paths = {
            "best" if k == 0 else f"{k + 1}:  {log_prob - best:.2f}": path
            for k, (log_prob, path) in enumerate(found)
        }
        truth = "best" if len(paths) > 1 else None
        display = cls(paths, truth=truth, labels=_classes(estimator), times=times)
        return display.plot(ax, **{"mistakes": "differs from the best", **options})

    @classmethod
    def from_samples(
        cls,
        estimator: Any,
        X: Any,
        n_samples: int = 20,
        *,
        times: Any = None,
        random_state: Any = None,
        ax: Any = None,
        **options: Any,
    ) -> Self:
        """Draw paths drawn given the data: where the strips disagree, the path is uncertain.

        Parameters
        ----------
        estimator : fitted estimator with `sample_posterior`
        X : array (n_steps, n_features) or 1-d symbols
            One sequence.
        n_samples : int, default=20
        times : see the class
        random_state : int, RandomState or None
        ax : matplotlib Axes, optional
        **options : passed to :meth:`plot`

        Returns
        -------
        PathDisplay
        """
        drawn = asked(
            estimator.sample_posterior, X, times, n_samples=n_samples, random_state=random_state
        )
        paths = {f"draw {k + 1}": path for k, path in enumerate(drawn)}
        return cls(paths, labels=_classes(estimator), times=times).plot(ax, **options)

    def mistakes(self, name: Any) -> Any:
        """Where a path differs from the true one, bool (n_steps,)."""
        return self.paths[name] != self.paths[self.truth]

    def plot(
        self,
        ax: Any = None,
        *,
        colors: Any = None,
        legend: bool = True,
        text: bool = True,
        mistakes: str = "differs from truth",
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
        mistakes : str
            What the legend calls the red line.

        Returns
        -------
        PathDisplay
        """
        colors = label_colors(self.labels, colors)
        number = {label: k for k, label in enumerate(self.labels)}
        codes = {
            name: np.array([number[label] for label in path.tolist()])
            for name, path in self.paths.items()
        }
        shown = self._by_share(codes) if len(colors) > MOST_NAMES else self.labels
        names = shown if legend else ()
        height = 0.6 + (0.55 if len(self.paths) <= 8 else 0.28) * len(self.paths)
        ax = new_axes(ax, 9, height, names)
        self.ax_, self.figure_ = ax, ax.figure
        edges, columns = step_edges(self.times, self.n_steps), 1
        for row, (name, path) in enumerate(codes.items()):
            bounds, common, steps = reduced(path, len(self.labels))
            columns = max(columns, steps)
            labels = [self.labels[k] for k in common]
            draw_strip(ax, row, edges[bounds[:-1]], edges[bounds[1:]], labels, colors, text=text)
            if self.truth not in (None, name):
                underline(ax, row, self.mistakes(name), edges)
        finish_rows(ax, list(self.paths))
        note = f"up to {columns:,} to a column, which shows the most common" if columns > 1 else ""
        show_times(ax, self.times, edges, note)
        if legend:
            red = mistakes if self.truth is not None and len(self.paths) > 1 else False
            add_legend(ax, {label: colors[label] for label in shown}, mistakes=red)
        return self

    def _by_share(self, codes):
        """The labels, most frequent first."""
        counts = sum(np.bincount(path, minlength=len(self.labels)) for path in codes.values())
        return [self.labels[k] for k in np.argsort(-counts, kind="stable")]


def _classes(estimator):
    classes = getattr(estimator, "classes_", None)
    return None if classes is None else classes.tolist()
