"""Labels, and collections of labels, as users write them."""

import difflib
from collections.abc import Iterable, Mapping, Set

import numpy as np

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
    is_scalar = isinstance(value, (str, bytes)) or getattr(value, "ndim", 1) == 0
    return isinstance(value, Iterable) and not is_scalar


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
            f"A path is a sequence of labels, one a step, e.g. ['A', 'A', 'B']; got {path!r}"
        )
    return [plain(label) for label in path]


def check_states(states):
    """The state labels as a tuple, all different."""
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
