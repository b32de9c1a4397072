"""What kernels that pass over the nodes inside delay lines need."""

import numpy as np

from .._kernels.delay.viterbi import delayed_viterbi


def decode_delayed(chain, frames, offsets, of_states, path, log_prob):
    """Best paths; returns the sequences whose scores are too far apart for whole numbers.

    Parameters
    ----------
    chain : ScoredChain
        On a graph with delay lines.
    of_states : int64 (S,)
        What to write for each state.
    path, log_prob : arrays that are filled in
    """
    graph, delays = chain.graph, chain.graph.delays
    entries, largest = chain.delay_entries
    left = np.zeros(len(log_prob), dtype=np.uint8)
    delayed_viterbi(
        graph.layout, delays.lines, chain.log_weights, entries, chain.log_start, chain.given[1],
        largest, frames.table, frames.rows, offsets, of_states, path, log_prob, left,
    )  # fmt: skip
    return np.flatnonzero(left)


def max_entries(chain):
    """Log weights by entry of the core's blocks; the largest score but the log-likelihoods."""
    delays = chain.graph.delays
    scores = np.concatenate([chain.log_start, chain.log_weights, chain.graph.log_final])
    largest = np.abs(scores).max(initial=0.0, where=np.isfinite(scores))
    return delays.blocks.spread(chain.log_weights[delays.edges], -np.inf), largest
