"""What is checked before it reaches a kernel, and how large automata may get.

Kernels take every index as it is. `max_nodes` is what users set. An entry of a table takes about
100 bytes while it is minimised, so that with many labels the memory is gone long before that many
states are reached.
"""

from collections.abc import Iterable
from functools import lru_cache

import numpy as np

from .._numbers import is_whole

MAX_BITS = 1024
ENTRIES_PER_NODE = 4
_FEWEST_ENTRIES = 4_000_000  # also where max_nodes is small


def check_integer(value, name, minimum):
    """The value as an int; a ValueError that names it if it is none, or too small."""
    if not is_whole(value):
        raise ValueError(f"{name} must be an integer, got {value!r}")
    if int(value).bit_length() > MAX_BITS:  # Python does not even print some of these
        raise ValueError(f"{name} must be below 2^{MAX_BITS}")
    if value < minimum:
        raise ValueError(f"{name} must be at least {minimum}, got {value}")
    return int(value)


def is_iterable(value):
    """Whether there is something to go through; arrays without a dimension only look like it."""
    return isinstance(value, Iterable) and getattr(value, "ndim", 1) != 0


def check_labels(labels):
    """The labels of a controller as a tuple, all different."""
    if not is_iterable(labels):
        raise ValueError(f"The labels of a controller must be a list; got {labels!r}.")
    labels = tuple(labels)
    try:
        distinct = len(set(labels))
    except TypeError:
        raise ValueError(
            f"The labels of a controller must be strings, integers or other hashable values; "
            f"got {list(labels)[:20]}."
        ) from None
    if distinct != len(labels):
        raise ValueError(f"The labels of a controller must differ; got {list(labels)[:20]}.")
    return labels


@lru_cache(maxsize=8)
def numbers_of(labels):
    """Labels -> their numbers; controllers of many rules share them."""
    return {label: a for a, label in enumerate(labels)}


def check_tables(n_labels, tables, accept, epochs):
    """Tables, acceptance and epochs as arrays of their own that nobody can change any more."""
    accept = _array(accept, "accept", "biuf").astype(bool)
    epochs = _integers(epochs, "epochs", -1, np.iinfo(np.int64).max).astype(np.int64)
    if accept.ndim != 1 or epochs.ndim != 1:
        raise ValueError("accept must have one value per automaton state, epochs one per epoch.")
    n = len(accept)
    if n_labels == 0 or n == 0 or len(epochs) == 0:
        raise ValueError("A controller needs at least one label, automaton state and epoch.")
    tables = _array(tables, "tables", "iu")
    tables = tables[None] if tables.ndim == 2 else tables
    shape = len(epochs), n, n_labels
    if tables.shape != shape:
        raise ValueError(
            f"tables has shape {tables.shape}; {len(epochs)} epochs, {n} automaton "
            f"states and {n_labels} labels need {shape}."
        )
    if tables.min() < -1 or tables.max() >= n:
        raise ValueError(f"Entries of tables must lie between -1 (dead) and {n - 1}.")
    if epochs[0] != 0 or (epochs[1:] <= epochs[:-1]).any():
        raise ValueError(f"epochs must start at 0 and increase; got {epochs.tolist()}.")
    tables = np.array(tables, dtype=np.int32, order="C")
    for array in (tables, accept, epochs):
        array.setflags(write=False)
    return tables, accept, epochs


def check_paths(labels, offsets, n_labels):
    """Label indices (int32) and offsets (int64) of paths, all of them in range."""
    labels = _integers(labels, "labels", 0, n_labels - 1)
    offsets = _integers(offsets, "offsets", 0, labels.size)
    if labels.ndim != 1 or offsets.ndim != 1 or len(offsets) == 0:
        raise ValueError("labels and offsets must be 1-d, and offsets start with 0.")
    if (offsets[1:] < offsets[:-1]).any():
        raise ValueError("offsets must not decrease: path i is labels[offsets[i]:offsets[i + 1]].")
    return (
        np.ascontiguousarray(labels, dtype=np.int32),
        np.ascontiguousarray(offsets, dtype=np.int64),
    )


def _array(values, name, kinds):
    try:
        array = np.asarray(values)
    except ValueError:
        raise ValueError(f"{name} must be an array, its rows of one length.") from None
    if array.dtype.kind not in kinds and array.size:
        raise ValueError(f"{name} must hold integers; got {array.dtype}.")
    return array


def _integers(values, name, low, high):
    array = _array(values, name, "iu")
    if array.ndim and array.size and (array.min() < low or array.max() > high):
        raise ValueError(f"{name} must lie between {low} and {high}.")
    return array


def most_states(max_nodes, n_labels, n_epochs=1):
    """The most automaton states that `max_nodes` allows over so many labels and epochs."""
    return min(max_nodes, most_entries(max_nodes) // (n_labels * n_epochs))


def most_entries(max_nodes):
    """The most entries of tables that `max_nodes` allows."""
    return max(_FEWEST_ENTRIES, ENTRIES_PER_NODE * max_nodes)


def limit_in_words(max_nodes, n_labels, n_epochs=1):
    """``more than max_nodes=10``, with what it comes to where labels are many."""
    most = most_states(max_nodes, n_labels, n_epochs)
    if most == max_nodes:
        return f"more than max_nodes={max_nodes:,}"
    epochs = "" if n_epochs == 1 else f" and {n_epochs:,} epochs"
    allowed = f"max_nodes={max_nodes:,} allows with {n_labels:,} labels{epochs}"
    return f"more than the {most:,} that {allowed}"
