"""Label paths as runs of equal labels, and what can be counted on them."""

import numpy as np

from .labels import is_set, missing_labels, sort_key, unknown_labels
from .values import is_missing


class Runs:
    """Maximal runs of one label within a sequence, in order.

    Attributes
    ----------
    states : list
        The labels that the numbers stand for.
    label, sequence, length : ndarray of int64, shape (n_runs,)
        The label number, the sequence number and the number of steps of each run.
    is_last : ndarray of bool, shape (n_runs,)
        Whether the run ends with its sequence.
    n_sequences, n_states : int
    """

    def __init__(self, label, sequence, length, n_sequences, states):
        self.label = label
        self.sequence = sequence
        self.length = length
        self.n_sequences = n_sequences
        self.states = states
        self.n_states = len(states)
        self.is_last = np.append(sequence[1:] != sequence[:-1], True)

    def entries(self):
        """How often each sequence enters each state, (n_sequences, n_states)."""
        cells = self.sequence * self.n_states + self.label
        counts = np.bincount(cells, minlength=self.n_sequences * self.n_states)
        return counts.reshape(self.n_sequences, self.n_states)

    def first(self):
        """The first run of each state in each sequence, n_runs where there is none."""
        n_runs = len(self.label)
        first = np.full(self.n_sequences * self.n_states, n_runs)
        np.minimum.at(first, self.sequence * self.n_states + self.label, np.arange(n_runs))
        return first.reshape(self.n_sequences, self.n_states)

    def successions(self):
        """How often a run of each state is followed by each other state, (n_states, n_states)."""
        inner = np.flatnonzero(~self.is_last)
        cells = self.label[inner] * self.n_states + self.label[inner + 1]
        counts = np.bincount(cells, minlength=self.n_states**2)
        return counts.reshape(self.n_states, self.n_states)


def read_runs(sequences, states=None):
    """The runs of label paths; sequences with a missing label are left out.

    Parameters
    ----------
    sequences : Sequences
        The label paths.
    states : sequence of labels, optional
        All state labels, in order; by default those that occur, sorted.
    """
    path, offsets = sequences.X, sequences.offsets
    if path.dtype.kind == "O":
        missing = missing_labels(path, sentinel=-1) | is_set(path)
        path = np.where(missing, None, path)  # NA compares to nothing
    changes = np.empty(len(path), dtype=bool)
    changes[0] = True
    np.not_equal(path[1:], path[:-1], out=changes[1:], casting="unsafe")
    changes[offsets[:-1]] = True
    starts = np.flatnonzero(changes)
    length = np.diff(starts, append=len(path))
    sequence = np.searchsorted(offsets, starts, side="right") - 1

    # Only the first label of each run needs a dictionary.
    values, number = path[starts].tolist(), {}
    try:
        numbers = [number.setdefault(value, len(number)) for value in values]
    except TypeError:
        raise TypeError(f"{sequences.name}: labels must be strings or integers.") from None
    label = np.array(numbers, dtype=np.int64)
    missing = np.array([is_missing(value) or value == -1 for value in number])
    gaps = np.zeros(sequences.n_sequences, dtype=bool)
    gaps[sequence[missing[label]]] = True
    if gaps.all():
        raise ValueError(
            f"Every sequence of {sequences.name} has missing labels (None, NA, NaN or -1); "
            f"constraints are read off complete label paths, so at least one is needed."
        )
    whole = ~gaps[sequence]
    label, length = label[whole], length[whole]
    sequence = (np.cumsum(~gaps) - 1)[sequence[whole]]

    labels = [_whole(value) for value in number]
    used = np.bincount(label, minlength=len(labels)) > 0
    found = sorted((value for value, seen in zip(labels, used) if seen), key=sort_key)
    if states is None:
        states = found
    else:
        problem = unknown_labels(found, states)
        if problem:
            raise ValueError(f"{sequences.name}: {problem}")
    place = {state: k for k, state in enumerate(states)}
    label = np.array([place.get(value, -1) for value in labels])[label]
    return Runs(label, sequence, length, int((~gaps).sum()), list(states))


def _whole(value):
    """Labels that became floats next to NaN as the integers they were."""
    return int(value) if isinstance(value, float) and value.is_integer() else value
