"""SegmentConfusionDisplay: what became of the true segments."""

from collections.abc import Collection
from typing import Any, Self

import numpy as np

from .style import new_axes, runs
from .tables import draw_table


class SegmentConfusionDisplay:
    """How true segments were decoded: a table of true labels by decoded labels.

    A segment counts once, whatever its length, for the label that covers most of it; ties go to
    the label that comes first in it.

    Parameters
    ----------
    counts : array (n_labels, n_labels)
        Segments by true (row) and decoded label (column).
    labels : sequence of labels

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure

    See Also
    --------
    PathDisplay : Label paths as coloured strips.
    DurationDisplay : Lengths of visits, seen and modelled.

    Examples
    --------
    >>> from skchmm.plotting import SegmentConfusionDisplay
    >>> display = SegmentConfusionDisplay.from_predictions([list("aaabb")], [list("aabbb")])
    >>> display.counts.tolist()
    [[1, 0], [0, 1]]
    """

    def __init__(self, counts: Any, labels: Any) -> None:
        self.counts = np.asarray(counts)
        self.labels = list(labels)

    @classmethod
    def from_predictions(
        cls,
        y_true: Any,
        y_pred: Any,
        *,
        lengths: Collection[int] | None = None,
        labels: Any = None,
        ax: Any = None,
        **options: Any,
    ) -> Self:
        """Compare true and decoded paths.

        Parameters
        ----------
        y_true, y_pred : lists of 1-d arrays, or 1-d arrays with `lengths`
        lengths : sequence of int, optional
            Steps of each sequence; without them a 1-d array is one sequence.
        labels : sequence of labels, optional
            Default: all that occur, sorted.
        ax : matplotlib Axes, optional
        **options : passed to :meth:`plot`

        Returns
        -------
        SegmentConfusionDisplay
        """
        true, decoded = (split(y, lengths) for y in (y_true, y_pred))
        if [len(path) for path in true] != [len(path) for path in decoded]:
            raise ValueError("y_true and y_pred must have the same sequences, of the same lengths.")
        present = sorted({x for path in (*true, *decoded) for x in path.tolist()}, key=_sort_key)
        labels = list(dict.fromkeys([*(labels if labels is not None else ()), *present]))
        number = {label: k for k, label in enumerate(labels)}
        counts = np.zeros((len(labels), len(labels)), dtype=np.int64)
        for path, other in zip(true, decoded):
            for start, stop in runs(path):
                found = other[start:stop].tolist()
                most = max(dict.fromkeys(found), key=found.count)
                counts[number[path[start:stop].tolist()[0]], number[most]] += 1
        return cls(counts, labels).plot(ax, **options)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        lengths: Collection[int] | None = None,
        ax: Any = None,
        **options: Any,
    ) -> Self:
        """Decode sequences and compare the paths with the true ones.

        Parameters
        ----------
        estimator : fitted estimator
        X, y, lengths : the sequences and their labels
        ax : matplotlib Axes, optional
        **options : passed to :meth:`plot`

        Returns
        -------
        SegmentConfusionDisplay
        """
        where = {} if lengths is None else {"lengths": lengths}
        return cls.from_predictions(
            y, estimator.predict(X, **where), lengths=lengths, labels=estimator.classes_.tolist(),
            ax=ax, **options,
        )  # fmt: skip

    def plot(self, ax: Any = None, *, cmap: str = "Blues") -> Self:
        """Draw the table: shares of a row as colours, numbers of segments as text.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; by default in a new figure.
        cmap : str or Colormap, default="Blues"

        Returns
        -------
        SegmentConfusionDisplay
        """
        totals = self.counts.sum(axis=1, keepdims=True)
        shares = self.counts / np.maximum(totals, 1)
        side = min(2.2 + 0.42 * len(self.labels), 10)
        ax = new_axes(ax, side + 1, side)
        self.ax_, self.figure_ = ax, ax.figure
        image = draw_table(
            ax, shares, self.labels, self.labels, cmap=cmap, vmin=0, vmax=1, texts=self.counts
        )
        ax.figure.colorbar(image, ax=ax, label="share of the true label's segments", shrink=0.8)
        ax.set(xlabel="decoded", ylabel="true")
        return self


def split(y, lengths=None):
    """Paths as a list of arrays."""
    if lengths is None and len(y) and np.ndim(y[0]) == 0:
        return [np.asarray(y)]
    if lengths is None:
        return [np.asarray(path) for path in y]
    return np.split(np.asarray(y), np.cumsum(lengths)[:-1])


def _sort_key(label):
    return (isinstance(label, str), label)
