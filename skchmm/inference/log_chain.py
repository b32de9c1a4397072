"""A chain whose weights come as logarithms, as variational inference needs it."""

from functools import cached_property

import numpy as np

from .chain import LOG_SMALLEST, Chain, ScoredChain


class LogChain(Chain):
    """A chain on an augmented graph with weights that need not sum to 1, nor be doubles.

    Where the smallest one is none, sums are made in log space.

    Parameters
    ----------
    graph : AugmentedGraph
    log_start : float64 (S,)
    log_transmat : float64 (S, S)
        Logarithms of the weights of transitions, none of them positive.
    """

    def __init__(self, graph, log_start, log_transmat):
        with np.errstate(under="ignore"):
            super().__init__(graph, np.exp(log_start), np.exp(log_transmat))
        # not the logarithms of what may have become zero
        ScoredChain.__init__(self, graph, log_start, log_transmat)

    @cached_property
    def only_logs(self):
        parts = [self.log_start, self.log_weights]
        if self.graph.breaks is not None:
            parts.append(self.graph.log_final)
        return min(part.min(initial=0.0, where=part > -np.inf) for part in parts) < LOG_SMALLEST
