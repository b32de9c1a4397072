"""Scores of label paths: per step, per label, per segment, and by the constraints they obey.

All take label paths in any of the three forms (stacked with ``lengths``, grouped with ``groups``,
a list), score each sequence by itself and average over the sequences.
"""

from collections.abc import Collection
from numbers import Integral, Real
from typing import Any

import numpy as np

from .._kernels.data import segments
from .._numbers import whole_parts
from ..constraints.compile import flatten
from ..constraints.logic import build, labels_of
from ..sequences.aligned import read_label_pair, read_label_sequences
from ..sequences.labels import missing_labels

# Integer labels that span no more than this are numbered by a lookup table.
_MAX_SPAN = 1 << 20


def sequence_accuracy_score(
    y_true: Any,
    y_pred: Any,
    *,
    lengths: Collection[int] | None = None,
    groups: Any = None,
    average: str | None = "mean",
) -> float | np.ndarray:
    """Share of the steps of a sequence with the right label.

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
        None gives one value per sequence.

    Returns
    -------
    float or ndarray of shape (n_sequences,)

    See Also
    --------
    sequence_macro_f1_score : The mean F1 score over labels.
    segment_f1_score : The F1 score of whole segments.

    Examples
    --------
    >>> from skchmm.metrics import sequence_accuracy_score
    >>> sequence_accuracy_score([["a", "a", "b", "b"], ["a"]], [["a", "b", "b", "b"], ["a"]])
    0.875
    """
    y_true, y_pred, sequences = _read_pair(y_true, y_pred, lengths, groups)
    hits = np.add.reduceat(y_true == y_pred, sequences.offsets[:-1], dtype=np.int64)
    return _averaged(hits / sequences.lengths, average)


def sequence_macro_f1_score(
    y_true: Any,
    y_pred: Any,
    *,
    lengths: Collection[int] | None = None,
    groups: Any = None,
    average: str | None = "mean",
) -> float | np.ndarray:
    """Mean F1 score of the labels that are present in the truth or the prediction of a sequence.

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
    sequence_accuracy_score : The share of steps that are right.
    segment_f1_score : The F1 score of whole segments.

    Notes
    -----
    ``sklearn.metrics.f1_score(..., average="macro")`` takes all steps together. Here, a label
    counts only in the sequences in which it appears.

    Examples
    --------
    >>> from skchmm.metrics import sequence_macro_f1_score
    >>> round(sequence_macro_f1_score(["a", "a", "b", "b"], ["a", "b", "b", "b"]), 4)
    0.7333
    """
    y_true, y_pred, sequences = _read_pair(y_true, y_pred, lengths, groups)
    (y_true, y_pred), labels = _numbered(y_true, y_pred)
    return _averaged(segments.macro_f1(y_true, y_pred, sequences.offsets, len(labels)), average)


def segment_f1_score(
    y_true: Any,
    y_pred: Any,
    tolerance: float = 0.1,
    *,
    overlap: float | None = None,
    lengths: Collection[int] | None = None,
    groups: Any = None,
    average: str | None = "mean",
) -> float | np.ndarray:
    """F1 score of the segments of a sequence, matched by label and place.

    A segment is a maximal run of one label. A predicted segment may match a true one with the same
    label if first steps and last steps both differ by at most the tolerance. Pairs are matched
    greedily, those with the smallest sum of the two differences first, and each segment at most
    once. If sums are equal, the earlier true segment comes first, then the earlier predicted one.

    With `overlap`, a predicted segment is right if the steps that it shares with a true one of the
    same label are at least that part of the steps of either (intersection over union). Only the
    true segment with the largest such part counts, and each true segment once: the F1@10, F1@25 and
    F1@50 of action segmentation, here of each sequence by itself.

    Parameters
    ----------
    y_true : 1-d array of labels, or list of 1-d arrays
        True label paths, no label missing.
    y_pred : same form as `y_true`
        Decoded label paths.
    tolerance : float or int, default=0.1
        A float is a fraction of T, the last time index of the sequence (its length minus one);
        an int is a number of steps. So 1 is one step and 1.0 the whole sequence.
    overlap : float, default=None
        In place of a tolerance: the least intersection over union, above 0 and at most 1, usually
        0.1, 0.25 or 0.5.
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
    sequence_accuracy_score : The share of steps that are right.
    make_segment_f1_scorer : Make a scorer of the segment F1 score.

    Examples
    --------
    >>> from skchmm.metrics import segment_f1_score
    >>> truth, decoded = list("aaaabbbbcccc"), list("aaaaabbbbbcc")  # T is 11: one step
    >>> round(segment_f1_score(truth, decoded), 4)
    0.3333
    >>> segment_f1_score(truth, decoded, tolerance=2)
    1.0
    >>> segment_f1_score(truth, decoded, overlap=0.5)
    1.0
    """
    y_true, y_pred, sequences = _read_pair(y_true, y_pred, lengths, groups)
    (y_true, y_pred), labels = _numbered(y_true, y_pred)
    if overlap is not None:
        _check_overlap(overlap, tolerance)
        counts = _overlapping_segments(y_true, y_pred, sequences.offsets, overlap)
        matched, n_true, n_pred = counts
        return _averaged(2 * matched / (n_true + n_pred), average)
    steps = _tolerance_in_steps(tolerance, sequences.lengths - 1)
    counts = segments.match_segments(y_true, y_pred, sequences.offsets, steps, len(labels))
    matched, n_true, n_pred = counts.T
    return _averaged(2 * matched / (n_true + n_pred), average)


def trajectory_validity_rate(
    y_pred: Any,
    constraints: Any,
    *,
    lengths: Collection[int] | None = None,
    groups: Any = None,
    average: str | None = "mean",
) -> float | np.ndarray:
    """Share of the sequences whose whole path satisfies all constraints.

    Parameters
    ----------
    y_pred : 1-d array of labels, or list of 1-d arrays
        Decoded label paths.
    constraints : None, constraint, Controller or list of them
        Constraints may name labels that no path has.
    lengths : sequence of int, default=None
        Length of each sequence in stacked paths.
    groups : sequence, default=None
        Sequence id of each step.
    average : {"mean"} or None, default="mean"
        None gives one value per sequence, 1.0 if it is valid and 0.0 if not.

    Returns
    -------
    float or ndarray of shape (n_sequences,)

    See Also
    --------
    make_tvr_scorer : Make a scorer of the trajectory validity rate.
    skchmm.satisfies : Whether a path obeys constraints.

    Examples
    --------
    >>> from skchmm.constraints import Precedence
    >>> from skchmm.metrics import trajectory_validity_rate
    >>> trajectory_validity_rate([["a", "b"], ["b", "a"]], Precedence("a", "b"))
    0.5
    """
    sequences = read_label_sequences(y_pred, lengths=lengths, groups=groups, name="y_pred")
    _check_complete(sequences.X, "y_pred")
    (path,), labels = _numbered(sequences.X)
    parts = flatten(constraints)
    named = [label for part in parts for label in labels_of(part)]
    states = tuple(dict.fromkeys([*labels, *named]))
    valid = np.ones(sequences.n_sequences, dtype=bool)
    # One automaton after the other: paths need no product of them, which may be large.
    for part in parts:
        controller = build(part, states, 1_000_000)
        valid &= controller.accepts_encoded(path, sequences.offsets)
    return _averaged(valid.astype(np.float64), average)


def _averaged(values, average):
    if average is None:
        return values
    if average == "mean":
        return float(values.mean())
    raise ValueError(f"average must be 'mean' or None, got {average!r}.")


def _tolerance_in_steps(tolerance, last):
    """The largest whole number of steps within the tolerance, one per sequence."""
    number = isinstance(tolerance, Real) and not isinstance(tolerance, (bool, np.bool_))
    if not number or not 0 <= tolerance < np.inf:
        raise ValueError(
            f"tolerance must be a fraction of the sequence (float) or a number of steps (int), "
            f"not negative; got {tolerance!r}."
        )
    if isinstance(tolerance, Integral):
        return np.full(len(last), min(int(tolerance), int(last.max())), dtype=np.int64)
    return whole_parts(min(tolerance, 1), last)


def _check_overlap(overlap, tolerance):
    number = isinstance(overlap, Real) and not isinstance(overlap, (bool, np.bool_))
    if not number or not 0 < overlap <= 1:
        raise ValueError(f"overlap must be a number above 0 and at most 1, got {overlap!r}.")
    if tolerance is not None and tolerance != 0.1:
        raise ValueError("tolerance and overlap are two ways to match segments; give only one.")


def _overlapping_segments(y_true, y_pred, offsets, overlap):
    """Matched, true and predicted segments of each sequence, by intersection over union."""
    # Between changes of either path lie the steps that one true and one predicted segment share.
    new = np.zeros((2, len(y_true)), dtype=bool)
    for k, path in enumerate((y_true, y_pred)):
        new[k, 1:] = path[1:] != path[:-1]
        new[k, offsets[:-1]] = True
    segment = np.cumsum(new, axis=1) - 1
    sizes = [np.bincount(each) for each in segment]
    first = np.flatnonzero(new.any(axis=0))
    true, pred = segment[:, first]
    shared = np.diff(first, append=len(y_true))
    part = np.where(
        y_true[first] == y_pred[first], shared / (sizes[0][true] + sizes[1][pred] - shared), 0.0
    )
    # Of each predicted segment the first of the largest parts: pieces are in order.
    begins = np.flatnonzero(np.diff(pred, prepend=-1))
    best = np.maximum.reduceat(part, begins)[pred]
    candidates = np.flatnonzero((part == best) & (part >= overlap))
    chosen = candidates[np.unique(pred[candidates], return_index=True)[1]]
    matched = np.unique(true[chosen])
    where = np.flatnonzero(new[0])[matched]  # first steps of the true segments that are found
    sequence = np.searchsorted(offsets, where, side="right") - 1
    counts = [np.add.reduceat(each.astype(np.int64), offsets[:-1]) for each in new]
    return np.bincount(sequence, minlength=len(offsets) - 1), *counts


def _read_pair(y_true, y_pred, lengths, groups):
    y_true, y_pred, sequences = read_label_pair(y_true, y_pred, lengths=lengths, groups=groups)
    kinds = [y.dtype.kind for y in (y_true, y_pred)]
    if any(kind in "US" for kind in kinds) and any(kind in "biuf" for kind in kinds):
        raise TypeError(
            f"y_true and y_pred must have labels of the same type; got {y_true.dtype} and "
            f"{y_pred.dtype}."
        )
    _check_complete(y_true, "y_true", sentinel=-1)
    _check_complete(y_pred, "y_pred")
    return y_true, y_pred, sequences


def _check_complete(y, name, sentinel=None):
    missing = missing_labels(y, sentinel)
    if missing.any():
        t = int(np.argmax(missing))
        raise ValueError(
            f"{name} has no label at step {t} (counted over all sequences): {y[t]!r} stands for "
            f"a missing label. Score only steps whose label is known."
        )


def _numbered(*paths):
    """The paths as int32 label numbers, and the labels these stand for."""
    if all(path.dtype.kind in "iu" for path in paths):
        low = min(int(path.min()) for path in paths)
        span = max(int(path.max()) for path in paths) - low + 1
        if span <= _MAX_SPAN:
            return _looked_up([path.astype(np.int64) - low for path in paths], low, span)
    number = {}
    numbered = []
    for path in paths:
        # Only the first label of each run needs a dictionary.
        starts = np.concatenate(([0], np.flatnonzero(path[1:] != path[:-1]) + 1))
        try:
            runs = [number.setdefault(label, len(number)) for label in path[starts].tolist()]
        except TypeError:
            raise TypeError("Labels must be strings or integers.") from None
        sizes = np.diff(starts, append=len(path))
        numbered.append(np.repeat(np.array(runs, dtype=np.int32), sizes))
    return numbered, list(number)


def _looked_up(paths, low, span):
    present = np.zeros(span, dtype=bool)
    for path in paths:
        present[path] = True
    number = np.cumsum(present, dtype=np.int32) - np.int32(1)
    labels = (np.flatnonzero(present) + low).tolist()
    return [number[path] for path in paths], labels
