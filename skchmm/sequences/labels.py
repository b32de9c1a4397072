"""Labels: as users write them, which of them are known, and as numbers of states."""

import difflib
from collections.abc import Iterable, Mapping, Set
from typing import NamedTuple

import numpy as np

from .._numbers import check_n_states, is_whole
from .values import missing_in

SHOWN = 20  # labels listed in an error message before the rest is only counted
COMPARED = 500  # labels, and letters of one, that are compared to guess which one was meant


def plain(value):
    """A NumPy scalar as the Python value it equals; anything else untouched."""
    is_scalar = isinstance(value, np.generic) or (isinstance(value, np.ndarray) and value.ndim == 0)
    return value.item() if is_scalar else value


def is_collection(value):
    """Whether `value` is a collection of labels rather than one label.

    A string is always one label.
    """
    if isinstance(value, (str, bytes)):
        return False
    if isinstance(value, (tuple, list, set, frozenset)):  # Iterable takes its time to tell
        return True
    return isinstance(value, Iterable) and getattr(value, "ndim", 1) != 0


def sort_key(label):
    """Orders labels of mixed types: by type, then by value."""
    return (type(label).__name__, label)


def as_labels(value):
    """One label or a collection of labels as a list without repeats.

    The order given is kept; a set, which has none, is sorted.
    """
    if not is_collection(value):
        return [plain(value)]
    labels = [plain(label) for label in value]
    if isinstance(value, Set):
        return sorted(labels, key=sort_key)
    return unique(labels)


def unique(labels):
    """The labels, each once, in order."""
    try:
        return list(dict.fromkeys(labels))
    except TypeError:  # not labels at all: printed as they are, and rejected by the validation
        return list(labels)


def as_path(path):
    """A label path as a list of plain labels."""
    if not is_collection(path) or isinstance(path, (Mapping, Set)):
        raise ValueError(
            f"A path is a sequence of labels, one per step, e.g. ['A', 'A', 'B']; got {path!r}"
        )
    return [plain(label) for label in path]


_last_checked: tuple = ()  # rules of one list ask for the same states


def check_states(states):
    """The state labels as a tuple, all different."""
    global _last_checked
    if states is _last_checked and states:
        return states
    if not is_collection(states) or isinstance(states, (Mapping, Set)):
        raise ValueError(
            f"states must be a list of all state labels, e.g. ['A', 'B']; got {states!r}"
        )
    labels = tuple(plain(label) for label in states)
    wrong = [label for label in labels if not _is_hashable(label)]
    if wrong:
        raise ValueError(f"Labels are strings or integers; got {listing(wrong)}")
    if not labels:
        raise ValueError("states is empty; at least one state label is needed")
    if len(set(labels)) < len(labels):
        seen = set()
        repeated = [label for label in labels if label in seen or seen.add(label)]
        repeated = list(dict.fromkeys(repeated))
        raise ValueError(f"states must be all different; repeated: {listing(repeated)}")
    _last_checked = labels
    return labels


def _is_hashable(label):
    try:
        hash(label)
    except TypeError:
        return False
    return True


def _cut(text, width=100):
    return text if len(text) <= width else f"{text[: width - 3]}..."


def listing(labels):
    """The labels for a sentence: ``'A', 'B' and 7 more``."""
    shown = ", ".join(_cut(repr(label)) for label in labels[:SHOWN])
    more = len(labels) - SHOWN
    return shown if more <= 0 else f"{shown} and {more} more"


def members(labels, states, name):
    """Which of the states (S,) these are: one label or several, which the user gave as `name`."""
    labels, states = as_labels(labels), tuple(states)
    problem = unknown_labels(labels, states)
    if problem:
        raise ValueError(f"{name}: {problem}.")
    return np.isin(np.arange(len(states)), [states.index(label) for label in labels])


def unknown_labels(labels, states):
    """What is wrong with labels that are not among the states, or None."""
    known = set(states)
    unknown = [label for label in labels if not _is_hashable(label) or label not in known]
    if not unknown:
        return None
    noun = "unknown state" if len(unknown) == 1 else "unknown states"
    sentence = f"{noun} {listing(unknown)}; the states are {listing(states)}"
    # Compared as text, so that '1' also finds the integer 1. Comparing many texts takes long.
    known = {str(label): label for label in states[:COMPARED]}
    close = [
        known[match]
        for text in (str(label) for label in unknown[:SHOWN])
        for match in difflib.get_close_matches(text[:COMPARED], list(known), n=1)
    ]
    if close:
        sentence += f" (did you mean {listing(list(dict.fromkeys(close)))}?)"
    return sentence


def choose_states(states, n_states, labels, default=None):
    """State labels: those given, else those that labels show, else 0, 1, ..., n_states - 1.

    Parameters
    ----------
    states : sequence of labels or None
    n_states : int or None
    labels : ndarray or None
        Labels of steps, some perhaps missing.
    default : int or None
        How many states there are if nothing else says it.
    """
    if n_states is not None and (not is_whole(n_states) or n_states < 1):
        raise ValueError(f"n_states must be a positive integer, got {n_states!r}.")
    if states is not None:
        classes = read_states(states)
    elif labels is not None and known_labels(labels).any():
        classes = sorted_labels(labels)
    elif n_states is not None:
        check_n_states(n_states)
        return np.arange(n_states)
    elif default is not None:
        return np.arange(default)
    else:
        raise ValueError(
            "How many states there are is not known: without labels y, give n_states or states."
        )
    check_n_states(len(classes))
    if n_states is not None and n_states != len(classes):
        source = "states" if states is not None else "y"
        raise ValueError(
            f"n_states={n_states}, but {source} has {len(classes)} labels: "
            f"{classes.tolist()}. Give states= to name labels that y does not show."
        )
    return classes


def sorted_labels(labels):
    """The labels that an array shows, each once; those of sets too, and of different types."""
    known = labels[known_labels(labels)]
    if labels.dtype.kind != "O":
        return np.unique(known)
    return label_array(sorted(distinct_labels(known.tolist()), key=sort_key))


def distinct_labels(labels):
    """Each label once, in order, those of sets too."""
    try:
        listed = (x for label in labels for x in (label if isinstance(label, Set) else (label,)))
        return dict.fromkeys(listed)
    except TypeError:
        wrong = next(label for label in labels if not _is_hashable(label))
        raise ValueError(f"Labels are strings or integers; y has {_cut(repr(wrong))}.") from None


def read_states(states):
    """The labels that the user has named."""
    listed = isinstance(states, Iterable) and getattr(states, "ndim", 1) == 1
    labels = label_array(states) if listed else np.empty(0)
    if not all(map(_is_hashable, labels.tolist())) or len(set(labels.tolist())) != len(labels):
        listed = False
    if not listed or len(labels) == 0:
        raise ValueError(f"states must be distinct labels, got {states!r}.")
    return labels


def label_array(values):
    """An array of labels that does not turn numbers among strings into strings."""
    values = list(values)
    array = np.asarray(values)
    if array.ndim != 1 or (
        array.dtype.kind in "US" and not all(isinstance(v, str) for v in values)
    ):
        array = np.empty(len(values), dtype=object)
        array[:] = values
    return array


def known_labels(y, minus_one=True):
    """Where labels are given: not None, NaN or NA and, among integers, not -1."""
    known = ~missing_in(y)
    if not minus_one:
        return known
    if y.dtype.kind == "O":
        return known & ~np.fromiter(map(_is_minus_one, y.tolist()), dtype=bool, count=len(y))
    numbers = y.dtype.kind in "iu" or (
        y.dtype.kind == "f" and (y[known] == np.rint(y[known])).all()
    )
    return known & (y != -1) if numbers else known


def _is_minus_one(value):
    return is_whole(value) and value == -1


class Known(NamedTuple):
    """What is known of the labels of steps."""

    codes: np.ndarray  # the state of each step; -1: not known, -2 - k: one of those in sets[k]
    sets: np.ndarray  # (n_sets, n_states) bool

    def part(self, begin, end):
        """The same of steps begin..end-1."""
        return Known(self.codes[begin:end], self.sets)

    def impose(self, scores):
        """Scores (n_steps, n_states), -inf where a step is known not to be in that state."""
        one, several = np.flatnonzero(self.codes >= 0), np.flatnonzero(self.codes < -1)
        scores, states = scores.copy(), self.codes[one]
        kept = scores[one, states]
        scores[one] = -np.inf
        scores[one, states] = kept
        scores[several] = np.where(self.sets[-2 - self.codes[several]], scores[several], -np.inf)
        return scores

    def states_at(self, step):
        """Numbers of the states that a step may be in, None if nothing is known of it."""
        code = int(self.codes[step])
        if code < -1:
            return np.flatnonzero(self.sets[-2 - code]).tolist()
        return None if code == -1 else [code]


def read_known(labels, classes, name="y"):
    """`Known` from labels, of which some may be missing and some be sets of labels."""
    codes, sets = encode_labels(labels, classes, name), {}
    if labels.dtype.kind == "O":
        states = tuple(classes.tolist())
        for row, value in enumerate(labels.tolist()):
            if not isinstance(value, Set):
                continue
            value = frozenset(map(plain, value))
            problem = unknown_labels(as_labels(value), states)
            if problem or not value:
                problem = problem or "the set of labels is empty, so that none is possible"
                raise ValueError(f"{name}, row {row}: {problem}.")
            if len(value) == 1:
                codes[row] = states.index(next(iter(value)))
            elif len(value) < len(states):
                codes[row] = -2 - sets.setdefault(value, len(sets))
    members = [[state in value for state in classes.tolist()] for value in sets]
    return Known(codes, np.array(members, dtype=bool).reshape(len(sets), len(classes)))


def encode_labels(labels, classes, name="y"):
    """Indices into classes; -1 where the label is missing, or one of several.

    Unknown labels are an error.
    """
    known = known_labels(labels, minus_one=-1 not in classes.tolist())
    if labels.dtype.kind == "O":
        known &= ~is_set(labels)
    codes = np.full(len(labels), -1, dtype=np.int64)
    kinds = {labels.dtype.kind, classes.dtype.kind}
    if "O" in kinds or not (len(kinds) == 1 or kinds <= {*"biuf"}):
        number = {label: k for k, label in enumerate(classes.tolist())}
        given = labels[known].tolist()
        found = [number.get(label, -2) if _is_hashable(label) else -2 for label in given]
        codes[known] = np.array(found, dtype=np.int64)
    else:
        order = np.argsort(classes, kind="stable")
        given = labels[known]
        place = np.searchsorted(classes, given, sorter=order).clip(max=len(classes) - 1)
        hit = classes[order][place] == given
        codes[known] = np.where(hit, order[place], -2)
    if (codes == -2).any():
        strange = labels[codes == -2].tolist()
        strange = [x for k, x in enumerate(strange[:100]) if x not in strange[:k]][:5]
        raise ValueError(
            f"{name} has labels that the model does not know: {strange}. It knows "
            f"{classes.tolist()}; give states= to fit for all labels that can occur."
        )
    return codes


def is_set(labels):
    """Which values of an object array are sets, one label of which is right."""
    return np.fromiter((isinstance(x, Set) for x in labels.tolist()), bool, len(labels))


def missing_labels(labels, sentinel=None):
    """A mask of the labels that are missing: None, NaN, NA, NaT and, where it is agreed, -1."""
    missing = missing_in(labels)
    if sentinel is not None and labels.dtype.kind in "ifO":
        missing |= np.array([value == sentinel for value in labels.tolist()], dtype=bool) & ~missing
    return missing
