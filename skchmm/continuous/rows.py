"""Decoding where nearly every gap has another length: rows of exponentials, as they are needed."""

import numpy as np

from .._kernels.continuous.rows import Rows, best_rows
from .._kernels.continuous.steps import n_terms
from ..inference.schedule import spread
from ..inference.settings import settings
from .generator import LIMIT, LOCK, SHORT
from .search import trace

# An entry this much above the floor is right.
CERTAIN = 1e12
# What a series may leave out, in turn, until a best path is certain.
FLOORS = (1e-28, 1e-100)


class RowTable:
    """Powers of a uniformised generator by rows, each over the nodes that can be reached.

    Parameters
    ----------
    rates : Generator
    """

    def __init__(self, rates):
        self.rates, self._rows, self._known = rates, None, None
        N = rates.n_nodes
        order, _ = rates.sinks_first
        # What can be reached from a node lies together if sources come before targets.
        place = np.empty(N, dtype=np.int32)
        place[order[::-1]] = np.arange(N)
        able = np.zeros((N, -(-N // 8) * 8), dtype=bool)
        able[:, place] = reachable(rates)
        able = able.reshape(N, -1, 8)
        rows, block = np.nonzero(able.any(axis=2))
        begin = np.searchsorted(rows, np.arange(N + 1))
        self._shape = place, begin, block, able[rows, block].astype(np.float64)
        self._bytes = 64 * len(block)  # of each power

    def limit(self, floor):
        """q t up to which a series is summed, so that its powers have room; 0: they have none."""
        limit = LIMIT
        while limit >= SHORT and n_terms(limit, floor) * self._bytes > settings.power_bytes:
            limit /= 2
        return limit if limit >= SHORT else 0.0

    def rows(self, terms, rungs):
        """So many powers, and these rungs of the ladder; kept until others are asked for."""
        with LOCK:
            known = self._known
            if known is None or known[0] < terms or known[1] != rungs:
                matrices = [self.rates.ladder.matrix(rung) for rung in rungs]
                self._rows = Rows(*self._shape, self.rates.kernel, terms, matrices)
                self._known = terms, rungs
            return self._rows


def reachable(rates):
    """Pairs (N, N) of nodes such that the second can be reached from the first, or is it."""
    N = rates.n_nodes
    order, component = rates.sinks_first
    used = rates.rates > 0
    by_source = np.argsort(component[rates.sources[used]], kind="stable")
    sources, targets = rates.sources[used][by_source], rates.targets[used][by_source]
    bounds = np.searchsorted(component[sources], np.arange(component.max(initial=-1) + 2))
    out = np.zeros((N, N), dtype=bool)
    starts = np.flatnonzero(np.diff(component[order], prepend=-1))
    for members in np.split(order, starts[1:]) if N else ():
        c = component[members[0]]
        after = np.unique(targets[bounds[c] : bounds[c + 1]])
        row = out[after].any(axis=0)
        row[members] = True
        out[members] = row
    return out


def _terms(lams, floor):
    """The number of terms of each series, or a few more: few values are looked at."""
    with np.errstate(divide="ignore"):
        steps = np.ceil(8 * np.log2(lams))
    values, index = np.unique(steps, return_inverse=True)
    return np.array([n_terms(2.0 ** (step / 8), floor) + 1 for step in values])[index]


class RowSearch:
    """Viterbi over sequences whose gaps are nearly all different.

    Parameters
    ----------
    chain : PathChain
    table : RowTable
    numbered : Gaps
    frames : Frames with gaps
    offsets : int64 array
    path, log_prob : arrays to fill
    floor : float
        What a series may leave out.
    """

    def __init__(self, chain, table, numbered, frames, offsets, path, log_prob, floor):
        self.chain, self.numbered, self.frames, self.offsets = chain, numbered, frames, offsets
        self.path, self.log_prob = path, log_prob
        rates, lams = chain.rates, numbered.lengths * chain.rates.rate
        limit = table.limit(floor)
        self.rest, factors = lams.copy(), [[]] * len(lams)
        for k in np.flatnonzero(lams > limit):
            factors[k], self.rest[k] = rates.split(lams[k], limit)
        self.terms = _terms(self.rest, floor)
        used = sorted({rung for each in factors for rung in each})
        self.rows = table.rows(int(self.terms.max()), used)
        self.indptr = np.concatenate([[0], np.cumsum([len(each) for each in factors])])
        self.factors = np.array([used.index(r) for each in factors for r in each], dtype=np.int32)
        scales = np.array([rates.ladder.log_scale(rung) for rung in used] + [0.0])
        self.log_scales, scaled = np.zeros(len(lams)), np.zeros(len(lams))
        gap = np.repeat(np.arange(len(lams)), np.diff(self.indptr))
        np.add.at(self.log_scales, gap, scales[self.factors])
        np.add.at(scaled, gap, scales[self.factors] < 0)
        # The rows of a rung sum to at most 1, unless it was divided by its largest entry.
        largest = (2.0 * rates.n_nodes) ** np.minimum(scaled, 20)
        self.weak = CERTAIN * floor * np.exp(-self.rest) * largest

    def run(self, chosen, n_jobs):
        """Decode the chosen sequences; those whose best path is not certain."""
        parts = spread(
            lambda begin, end: [s for s in chosen[begin:end] if not self.decode(s)],
            self.offsets[: len(chosen) + 1],
            n_jobs,
        )
        return np.array([s for part in parts for s in part], dtype=np.int64)

    def decode(self, s):
        chain, graph = self.chain, self.chain.graph
        frames, begin, T = self.frames, self.offsets[s], self.offsets[s + 1] - self.offsets[s]
        row = begin if frames.index is None else frames.index[begin]
        value = chain.log_first() + frames.table[row][graph.node_states]
        came_from = np.zeros((max(T - 1, 1), graph.n_nodes), dtype=np.int32)
        best_rows(
            graph.layout, self.rows, self.rest,
            self.terms, self.indptr, self.factors, self.log_scales, self.weak,
            self.numbered.lengths, self.numbered.index, frames.table, frames.index, begin, T,
            value, came_from,
        )  # fmt: skip
        value += graph.log_final
        certain, self.log_prob[s] = trace(value, came_from, self.path[begin : begin + T])
        # Where even the bounds leave nothing there is no path.
        return certain or self.log_prob[s] == -np.inf
