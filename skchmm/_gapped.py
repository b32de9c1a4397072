"""Chains in continuous time, on the nodes of an augmented graph, observed at irregular times."""

from typing import NamedTuple

import numpy as np

from ._gapped_decoding import DecodingMixin
from ._gapped_log import smooth_log
from ._gaps import Gaps, index_of
from ._kernels.continuous.forward_backward import feasible_steps, forward_backward
from ._kernels.shared.scaling import scale_rows
from ._threads import spread

# How little is left out of a sum, until lower and upper bounds agree.
LEVELS = (1e-30, 1e-100, 1e-280)


class Smoothed(NamedTuple):
    """What forward-backward gives."""

    log_z: np.ndarray  # (n_sequences,) log P(Y, Acc)
    posteriors: np.ndarray  # (n_steps, S) P(x_t | Y, Acc)
    jumps: np.ndarray | None  # (S, S) expected numbers, weighted by sequence
    stays: np.ndarray | None  # (S,) expected times spent


class GappedChain(DecodingMixin):
    """What the two readings of a constraint in continuous time share.

    Parameters
    ----------
    graph : AugmentedGraph
    startprob : float64 (S,)
    generator : float64 (S, S)
    """

    base_edges = None  # of the graph, where matrices are between states

    def __init__(self, graph, startprob, generator):
        self.graph = graph
        self.start = np.array(startprob, dtype=np.float64)
        self.generator = np.array(generator, dtype=np.float64)
        with np.errstate(divide="ignore"):
            self.log_start = np.log(self.start)

    def has(self, startprob, generator):
        """Whether these are the chain's parameters."""
        return np.array_equal(self.start, startprob) and np.array_equal(self.generator, generator)

    # ------------------------------------------------------- likelihood, marginals
    def log_likelihood(self, frames, offsets, *, n_jobs=None):
        """log P(Y, Acc) of each sequence."""
        return self._forward_backward(frames, offsets, None, n_jobs, False, False).log_z

    def smooth(self, frames, offsets, *, seq_weights=None, counts=False, n_jobs=None):
        """Likelihoods, marginals and, on request, expected jumps and times spent."""
        return self._forward_backward(frames, offsets, seq_weights, n_jobs, True, counts)

    def _forward_backward(self, frames, offsets, seq_weights, n_jobs, marginals, counts):
        self.graph.controller.check_lengths(offsets)
        numbered = Gaps(frames.gaps, offsets)
        scaled = scale_rows(frames.table)
        index = index_of(frames)
        n_sequences = len(offsets) - 1
        log_z = np.full(n_sequences, -np.inf)
        redo = np.zeros(n_sequences, dtype=np.uint8)
        posteriors = np.empty((frames.n_steps, self.graph.n_states)) if marginals else None
        totals = self._no_counts() if counts else None
        todo = np.arange(n_sequences if self.graph.n_nodes else 0)
        for level, floor in enumerate(LEVELS if len(todo) else ()):
            plan = self.plan(numbered, floor, counts)

            def run(begin, end, plan=plan, chosen=todo):
                mine = np.ascontiguousarray(chosen[begin:end])
                room = plan.room() if counts else (None, None, None)
                forward_backward(
                    plan.steps, self.start, *scaled, index, offsets, numbered.index,
                    seq_weights, mine, log_z, redo, posteriors, *room,
                )  # fmt: skip
                return room

            parts = spread(run, _offsets_of(offsets, todo), n_jobs)
            if counts:
                plan.collect([_total(each) for each in zip(*parts)], totals)
            todo = np.flatnonzero(redo)
            if level == 0:
                todo = self._drop_infeasible(todo, plan.steps, frames, offsets, numbered, log_z)
            if len(todo) == 0:
                break
            redo[:] = 0
        for s in todo:
            weight = 1.0 if seq_weights is None else seq_weights[s]
            part = slice(offsets[s], offsets[s + 1])
            log_z[s] = self._in_logs(frames, part, weight, posteriors, totals)
        if marginals:
            for s in np.flatnonzero(np.isneginf(log_z)):
                posteriors[offsets[s] : offsets[s + 1]] = np.nan
        return Smoothed(log_z, posteriors, *(totals if counts else (None, None)))

    def _no_counts(self):
        S = self.graph.n_states
        return np.zeros((S, S)), np.zeros(S)

    def _drop_infeasible(self, chosen, steps, frames, offsets, numbered, log_z):
        """The chosen sequences that are not impossible; log_z is -inf for the others."""
        left = []
        for s in chosen:
            alive = self._alive(steps, frames, offsets, numbered, s)
            if alive > offsets[s + 1] - offsets[s]:
                left.append(s)
            else:
                log_z[s] = -np.inf
        return np.array(left, dtype=np.int64)

    def _alive(self, steps, frames, offsets, numbered, s):
        return feasible_steps(
            steps, self.start, frames.table, index_of(frames), numbered.lengths, numbered.index,
            offsets[s], offsets[s + 1] - offsets[s],
        )  # fmt: skip

    def alive_steps(self, frames, offsets, s):
        """Steps of sequence s until the last path dies; its length + 1 if some are accepted."""
        if self.graph.n_nodes == 0:
            return 0
        numbered = Gaps(frames.gaps, offsets)
        return self._alive(self.plan(numbered, 1e-1, False).steps, frames, offsets, numbered, s)

    def log_first(self):
        first = np.full(self.graph.n_nodes, -np.inf)
        able = self.graph.start_nodes >= 0
        first[self.graph.start_nodes[able]] = self.log_start[able]
        return first

    def log_frames(self, frames):
        """Log-likelihoods (T, N) of steps under the states of nodes."""
        return frames.dense()[:, self.graph.node_states]

    def _in_logs(self, frames, part, weight, posteriors, totals):
        """One sequence in log space: fills its posteriors, adds its counts, returns log Z."""
        frames = frames.part(part.start, part.stop)
        steps = self.in_logs(frames.gaps)
        counting = totals is not None and weight > 0
        log_z, gamma = smooth_log(
            self.log_first(), steps.ahead, steps.back, self.log_frames(frames), self.graph.accept,
            (lambda *gap: steps.between(*gap, weight)) if counting else None,
        )  # fmt: skip
        if log_z > -np.inf and posteriors is not None:
            posteriors[part] = 0.0
            for m, state in enumerate(self.graph.node_states):
                posteriors[part, state] += np.exp(gamma[:, m])
        if log_z > -np.inf and counting:
            steps.finish(totals)
        return log_z


def _offsets_of(offsets, chosen):
    """Offsets of the chosen sequences, as if they were the only ones."""
    return np.concatenate([[0], np.cumsum(offsets[chosen + 1] - offsets[chosen])])


def _total(parts):
    return None if parts[0] is None else sum(parts)
