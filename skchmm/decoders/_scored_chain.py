"""Inference with scores in place of probabilities."""

import numpy as np

from .._kernels.discrete.log_space import forward_backward_log
from .._threads import spread
from ..inference import TABLE_BYTES, Chain, _index


class ScoredChain(Chain):
    """A chain whose weights are logarithms of any size, not probabilities."""

    def __init__(self, graph, log_start, log_transmat):
        self.graph = graph
        self.log_start = np.array(log_start, dtype=np.float64)
        self.log_weights = np.ravel(log_transmat)[graph.base_edges]

    def _forward_backward(self, frames, offsets, seq_weights, n_jobs, marginals, counts):
        log_z = np.empty(len(offsets) - 1)
        posteriors = np.empty((frames.n_steps, self.graph.n_states)) if marginals else None

        def run(begin, end):
            forward_backward_log(
                self.graph.layout, self.log_weights, self.log_start, frames.table, _index(frames),
                offsets, seq_weights, np.arange(begin, end), TABLE_BYTES, log_z, posteriors,
            )  # fmt: skip

        if self.graph.n_nodes == 0:
            log_z[:] = -np.inf
        else:
            spread(run, offsets, n_jobs)
        if marginals:
            for s in np.flatnonzero(np.isneginf(log_z)):
                posteriors[offsets[s] : offsets[s + 1]] = np.nan
        return log_z, posteriors, None
