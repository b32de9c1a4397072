"""Entries: jumps that are observed at the very time at which they happen, as a death is.

A step that shows an entry has the density of the jump: what the chain makes of the gap before it,
times the rate of the jump from wherever it was. Its gap is marked by its sign, minus zero too, so
that the mark goes wherever the gap goes.
"""

from functools import cached_property

import numpy as np

from .log_space import sum_rows


def mark(gaps, entries):
    """Gaps, of which those before entries are marked."""
    return np.where(entries, -gaps, gaps)


def lengths_of(gaps):
    """Gaps without marks."""
    return np.abs(gaps)


def is_marked(gaps):
    """Which gaps end with an entry."""
    return np.signbit(gaps)


def with_entries(frames, offsets, exact):
    """The frames, with a mark before the first step of a sequence that shows an exact state.

    A step shows one if no other state is possible there. A sequence that begins with such a step
    shows no entry. The states are never left, so that no second entry can follow.

    Parameters
    ----------
    frames : Frames with gaps
    offsets : int array
    exact : bool array (S,)
    """
    possible = frames.table > -np.inf
    shows = possible[:, exact].any(axis=1) & ~possible[:, ~exact].any(axis=1)
    steps = np.flatnonzero(shows if frames.index is None else shows[frames.index])
    sequence = np.searchsorted(offsets, steps, side="right") - 1
    first = steps[np.unique(sequence, return_index=True)[1]]
    entries = np.zeros(frames.n_steps, dtype=bool)
    entries[first] = True
    entries[offsets[:-1]] = False
    if not entries.any():
        return frames
    gaps = mark(lengths_of(frames.gaps), entries)
    return frames.with_gaps(gaps)


class Entries:
    """R: the rates of the jumps into exact states, for vectors and matrices over places.

    Parameters
    ----------
    rates : Generator
        Between places: nodes of a graph, or states.
    exact : bool array
        Which places are of exact states.
    """

    def __init__(self, rates, exact):
        self.n_places = rates.n_nodes
        self.is_entry = exact[rates.targets] & ~exact[rates.sources]
        self.sources, self.targets = rates.sources[self.is_entry], rates.targets[self.is_entry]
        self.rates = rates.rates[self.is_entry]
        self.largest = float(self.rates.max(initial=0.0)) or 1.0
        with np.errstate(divide="ignore"):
            self.log_rates = np.log(self.rates)

    @cached_property
    def matrix(self):
        """R divided by the largest rate."""
        out = np.zeros((self.n_places, self.n_places))
        np.add.at(out, (self.sources, self.targets), self.rates / self.largest)
        return out

    @cached_property
    def log_matrix(self):
        with np.errstate(divide="ignore"):
            return np.log(self.matrix) + np.log(self.largest)

    def of_edges(self):
        """One rate for each jump of the generator, 0 for those that are no entries."""
        out = np.zeros(len(self.is_entry))
        out[self.is_entry] = self.rates
        return out

    def after(self, matrices, log_scales, marked):
        """Matrices of gaps, and the logarithms of their scales; where marked, followed by R."""
        if marked.any():
            matrices[marked] = matrices[marked] @ self.matrix
            log_scales[marked] += np.log(self.largest)
        return matrices, log_scales

    def ahead(self, v):
        """log of v R, from logarithms."""
        return sum_rows(v[:, None] + self.log_matrix)

    def back(self, v):
        """log of R v, from logarithms."""
        return sum_rows((self.log_matrix + v).T)
