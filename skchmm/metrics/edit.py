"""How many edits part two rows of segments."""

from collections.abc import Collection
from typing import Any

import numpy as np

from .._kernels.data.edits import edit_distances
from .scores import _averaged, _numbered, _read_pair


def edit_score(
    y_true: Any,
    y_pred: Any,
    *,
    lengths: Collection[int] | None = None,
    groups: Any = None,
    average: str | None = "mean",
) -> float | np.ndarray:
    """How well the segments come in the right order, however long they are.

    1 minus the edit (Levenshtein) distance between the labels of the true and of the predicted
    segments, divided by the larger number of segments. A segment is a maximal run of one label. The
    score is 1 where the same segments come in the same order, and 0 at least; papers on action
    segmentation print it times 100.

    Parameters
    ----------
    y_true : 1-d array of labels, or list of 1-d arrays
        True label paths, no label missing.
    y_pred : same form as `y_true`
        Decoded label paths.
    lengths : sequence of int, default=None
        Length of each sequence in stacked paths.
    groups : sequence, default=None
        Sequence id of each step.
    average : {"mean"} or None, default="mean"
        Over the sequences; None gives one value per sequence.

    Returns
    -------
    float or ndarray of shape (n_sequences,)

    See Also
    --------
    segment_f1_score : Segments that overlap enough with true ones.
    sequence_accuracy_score : The share of right labels.

    Examples
    --------
    >>> from skchmm.metrics import edit_score
    >>> edit_score(list("aaabbbcc"), list("abbbbbcc"))  # the same three segments
    1.0
    >>> edit_score(list("aaabbbcc"), list("aabaabcc"))  # five: a, b, a, b, c
    0.6
    """
    y_true, y_pred, sequences = _read_pair(y_true, y_pred, lengths, groups)
    (y_true, y_pred), _ = _numbered(y_true, y_pred)
    (first, of_first), (second, of_second) = (
        _segment_labels(path, sequences.offsets) for path in (y_true, y_pred)
    )
    distances = edit_distances(first, of_first, second, of_second)
    return _averaged(1 - distances / np.maximum(np.diff(of_first), np.diff(of_second)), average)


def _segment_labels(path, offsets):
    """The labels of all segments, and where those of each sequence begin and end."""
    new = np.append(True, path[1:] != path[:-1])
    new[offsets[:-1]] = True
    counts = np.append(0, np.cumsum(new))
    return path[new], counts[offsets]
