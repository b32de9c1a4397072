"""State labels as numbers: which there are, which are known, where each stands."""

import numpy as np


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
    if states is not None:
        classes = label_array(states)
        if len(set(classes.tolist())) != len(classes) or len(classes) == 0:
            raise ValueError(f"states must be distinct labels, got {states!r}.")
    elif labels is not None and known_labels(labels).any():
        classes = np.unique(labels[known_labels(labels)])
        if labels.dtype.kind == "O":
            classes = label_array(classes.tolist())
    elif n_states is not None:
        if not isinstance(n_states, (int, np.integer)) or n_states < 1:
            raise ValueError(f"n_states must be a positive integer, got {n_states!r}.")
        return np.arange(n_states)
    elif default is not None:
        return np.arange(default)
    else:
        raise ValueError(
            "How many states there are is not known: without labels y, give n_states or states."
        )
    if n_states is not None and n_states != len(classes):
        source = "states" if states is not None else "y"
        raise ValueError(
            f"n_states={n_states}, but {source} has {len(classes)} labels: "
            f"{classes.tolist()}. Give states= to name labels that y does not show."
        )
    return classes


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
    """Where labels are given: not None, not NaN and, among integers, not -1."""
    if y.dtype.kind in "iu":
        return y != -1 if minus_one else np.ones(len(y), dtype=bool)
    if y.dtype.kind == "f":
        known = ~np.isnan(y)
        return known & (y != -1) if minus_one and (y[known] == np.rint(y[known])).all() else known
    if y.dtype.kind == "O":
        return np.array(
            [not (v is None or v != v or (minus_one and _is_minus_one(v))) for v in y], dtype=bool
        )
    return np.ones(len(y), dtype=bool)


def _is_minus_one(value):
    return isinstance(value, (int, np.integer)) and value == -1


def encode_labels(labels, classes):
    """Indices into classes; -1 where the label is missing. Unknown labels are an error."""
    known = known_labels(labels, minus_one=-1 not in classes.tolist())
    codes = np.full(len(labels), -1, dtype=np.int64)
    if labels.dtype.kind == "O" or classes.dtype.kind == "O":
        number = {label: k for k, label in enumerate(classes.tolist())}
        found = [number.get(label, -2) for label in labels[known].tolist()]
        codes[known] = np.array(found, dtype=np.int64)
    else:
        order = np.argsort(classes, kind="stable")
        given = labels[known]
        place = np.searchsorted(classes, given, sorter=order).clip(max=len(classes) - 1)
        hit = classes[order][place] == given
        codes[known] = np.where(hit, order[place], -2)
    if (codes == -2).any():
        strange = list(dict.fromkeys(labels[codes == -2].tolist()))[:5]
        raise ValueError(
            f"y has labels that the model does not know: {strange}. It knows {classes.tolist()}; "
            "give states= to fit for all labels that can occur."
        )
    return codes
