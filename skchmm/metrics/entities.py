"""Scores of the entities that tags mark, as conlleval and seqeval define them.

An entity is a run of steps with its kind. It is right if a true entity has the same first step,
last step and kind.
"""

from collections.abc import Collection, Hashable
from typing import Any

import numpy as np

from ..sequences.labels import listing
from .scores import _numbered, _read_pair

# Prefixes by what they do, whatever the scheme: begin, go on, end, stand alone.
_OUTSIDE, _BEGIN, _INSIDE, _END, _SINGLE = range(5)
_PREFIXES = {"B": _BEGIN, "I": _INSIDE, "M": _INSIDE, "L": _END, "E": _END, "U": _SINGLE,
             "S": _SINGLE}  # fmt: skip


def entity_f1_score(
    y_true: Any,
    y_pred: Any,
    *,
    lengths: Collection[int] | None = None,
    groups: Any = None,
    average: str | None = "micro",
    outside: Hashable = "O",
    separator: str = "-",
) -> float | np.ndarray:
    """F1 score of the entities that tags mark.

    Twice the right entities over the sum of true and predicted ones. A predicted entity is right if
    a true one has the same first step, last step and kind.

    Parameters
    ----------
    y_true, y_pred : 1-d array of tags, or list of 1-d arrays
        Tags of the schemes BIO, IOB1, BILOU or BMES, as ``"B-PER"``.
    lengths : sequence of int, default=None
        Length of each sequence in stacked paths.
    groups : sequence, default=None
        Sequence id of each step.
    average : {"micro", "macro", "mean"} or None, default="micro"
        "micro": over all entities together, as conlleval counts. "macro": the mean of the scores of
        each kind. "mean": the mean over the sequences; None gives one value per sequence.
    outside : label, default="O"
        The tag of steps outside all entities.
    separator : str, default="-"
        What parts the prefix from the kind of the entity.

    Returns
    -------
    float or ndarray of shape (n_sequences,)

    Notes
    -----
    Tags need not be valid in their scheme. An entity begins at B, at what stands alone, after what
    ends one, and wherever the kind changes or a tag follows on `outside`; these are the rules of
    conlleval, and of seqeval without its strict mode. Where there are neither true nor predicted
    entities, the score is 1; where there are only some of one, 0.

    See Also
    --------
    entity_precision_score, entity_recall_score
    skchmm.constraints.TagScheme : makes decoded tags valid.

    Examples
    --------
    >>> from skchmm.metrics import entity_f1_score
    >>> truth = [["B-PER", "I-PER", "O"], ["B-LOC", "O", "B-PER"]]
    >>> found = [["B-PER", "I-PER", "O"], ["B-LOC", "I-LOC", "B-PER"]]
    >>> round(entity_f1_score(truth, found), 4)
    0.6667
    >>> entity_f1_score(truth, found, average=None)
    array([1. , 0.5])
    """
    counts = _count(y_true, y_pred, lengths, groups, average, outside, separator)
    return _ratio(counts, average, lambda right, true, found: (2 * right, true + found))


def entity_precision_score(
    y_true: Any,
    y_pred: Any,
    *,
    lengths: Collection[int] | None = None,
    groups: Any = None,
    average: str | None = "micro",
    outside: Hashable = "O",
    separator: str = "-",
) -> float | np.ndarray:
    """Share of the predicted entities that are right; see :func:`entity_f1_score`.

    Parameters
    ----------
    y_true, y_pred, lengths, groups, average, outside, separator : as in :func:`entity_f1_score`

    Returns
    -------
    float or ndarray of shape (n_sequences,)

    See Also
    --------
    entity_f1_score : Both in one number.
    entity_recall_score : Share of the true entities that are found.

    Examples
    --------
    >>> from skchmm.metrics import entity_precision_score
    >>> entity_precision_score(["B-PER", "O", "B-LOC"], ["B-PER", "B-PER", "B-LOC"]) == 2 / 3
    True
    """
    counts = _count(y_true, y_pred, lengths, groups, average, outside, separator)
    return _ratio(counts, average, lambda right, true, found: (right, found))


def entity_recall_score(
    y_true: Any,
    y_pred: Any,
    *,
    lengths: Collection[int] | None = None,
    groups: Any = None,
    average: str | None = "micro",
    outside: Hashable = "O",
    separator: str = "-",
) -> float | np.ndarray:
    """Share of the true entities that are found; see :func:`entity_f1_score`.

    Parameters
    ----------
    y_true, y_pred, lengths, groups, average, outside, separator : as in :func:`entity_f1_score`

    Returns
    -------
    float or ndarray of shape (n_sequences,)

    See Also
    --------
    entity_f1_score : Both in one number.
    entity_precision_score : Share of the predicted entities that are right.

    Examples
    --------
    >>> from skchmm.metrics import entity_recall_score
    >>> entity_recall_score(["B-PER", "O", "B-LOC"], ["B-PER", "O", "O"])
    0.5
    """
    counts = _count(y_true, y_pred, lengths, groups, average, outside, separator)
    return _ratio(counts, average, lambda right, true, found: (right, true))


def _ratio(counts, average, parts):
    right, true, found = counts
    above, below = parts(right, true, found)
    scores = np.where(true + found == 0, 1.0, above / np.maximum(below, 1))
    return scores if average is None else float(scores.mean())


def _count(y_true, y_pred, lengths, groups, average, outside, separator):
    """Right, true and predicted entities: of all, of each kind or of each sequence."""
    if average not in ("micro", "macro", "mean", None):
        raise ValueError(f"average must be 'micro', 'macro', 'mean' or None, got {average!r}.")
    y_true, y_pred, sequences = _read_pair(y_true, y_pred, lengths, groups)
    paths, labels = _numbered(y_true, y_pred)
    role, kind, kinds = _read_tags(labels, outside, separator)
    starts = np.zeros(len(y_true), dtype=bool)
    starts[sequences.offsets[:-1]] = True
    true, found = (_entities(role[path], kind[path], starts) for path in paths)
    right = true[_among(true, found)]
    if average == "micro":
        return tuple(np.array([len(each)]) for each in (right, true, found))
    if average == "macro":
        bins, numbers = len(kinds), [each[:, 2] for each in (right, true, found)]
        counts = np.array([np.bincount(each, minlength=bins) for each in numbers])
        shown = counts.any(axis=0)
        return tuple(counts[:, shown] if shown.any() else np.zeros((3, 1), dtype=int))
    numbers = [
        np.searchsorted(sequences.offsets, each[:, 0], side="right") - 1
        for each in (right, true, found)
    ]
    return tuple(np.bincount(each, minlength=sequences.n_sequences) for each in numbers)


def _read_tags(labels, outside, separator):
    """What the prefix of each label does, the number of its kind, and the kinds."""
    role, kind, kinds, wrong = [], [], {}, []
    for label in labels:
        prefix, mark, entity = str(label).partition(separator) if separator else ("", "", "")
        if label == outside:
            prefix, code = None, _OUTSIDE
        elif isinstance(label, str) and mark and entity and prefix in _PREFIXES:
            code = _PREFIXES[prefix]
        else:
            wrong.append(label)
            continue
        role.append(code)
        kind.append(-1 if prefix is None else kinds.setdefault(entity, len(kinds)))
    if wrong:
        raise ValueError(
            f"Tags are {outside!r} or a prefix ({', '.join(_PREFIXES)}), {separator!r} and the "
            f"kind of an entity, as 'B{separator}PER'; these are none: {listing(wrong)}."
        )
    return np.array(role), np.array(kind), kinds


def _entities(role, kind, starts):
    """First step, last step and kind of each entity, (n, 3)."""
    before, kind_before = np.roll(role, 1), np.roll(kind, 1)
    before[starts], kind_before[starts] = _OUTSIDE, -1
    inside = role != _OUTSIDE
    begins = inside & (
        (role == _BEGIN) | (role == _SINGLE) | (before == _OUTSIDE) | (before == _END)
        | (before == _SINGLE) | (kind != kind_before)
    )  # fmt: skip
    breaks = np.flatnonzero(begins | ~inside | starts)
    ends = np.append(breaks[1:], len(role)) - 1
    chosen = begins[breaks]
    first = breaks[chosen]
    return np.stack([first, ends[chosen], kind[first]], axis=1)


def _among(rows, others):
    """Which entities are among others; no two of either begin at the same step."""
    if len(others) == 0:
        return np.zeros(len(rows), dtype=bool)
    place = np.searchsorted(others[:, 0], rows[:, 0]).clip(max=len(others) - 1)
    return (others[place] == rows).all(axis=1)
