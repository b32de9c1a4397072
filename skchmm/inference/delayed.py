"""What kernels that pass over the nodes inside delay lines need."""

import numpy as np

from .._kernels.delay.lanes_sums import delayed_lanes_sums
from .._kernels.delay.lanes_viterbi import delayed_lanes_viterbi
from .._kernels.delay.sums import delayed_sums, powers_apart
from .._kernels.delay.viterbi import delayed_viterbi
from ..graph.augmented import WIDTH
from .settings import settings


def decode_delayed(chain, frames, offsets, order, of_states, path, log_prob):
    """Best paths; returns the sequences whose scores are too far apart for whole numbers.

    Parameters
    ----------
    chain : ScoredChain
        On a graph with delay lines.
    order : int array or None
        If they are for lanes: the sequences, longest first.
    of_states : int64 (S,)
        What to write for each state.
    path, log_prob : arrays that are filled in
    """
    graph, delays = chain.graph, chain.graph.delays
    entries, largest = chain.delay_entries
    if order is not None and delayed_lanes_viterbi(
        graph.layout, delays.lines, chain.log_weights, chain.log_start, chain.given[1], largest,
        frames.table, frames.index, offsets, order, of_states, path, log_prob,
    ):  # fmt: skip
        return order[:0]
    left = np.zeros(len(log_prob), dtype=np.uint8)
    delayed_viterbi(
        graph.layout, delays.lines, chain.log_weights, entries, chain.log_start, chain.given[1],
        largest, frames.table, frames.index, offsets, of_states, path, log_prob, left,
    )  # fmt: skip
    return np.flatnonzero(left)


def max_entries(chain):
    """Log weights by entry of the core's blocks; the largest score but the log-likelihoods."""
    delays = chain.graph.delays
    scores = np.concatenate([chain.log_start, chain.log_weights, chain.graph.log_final])
    largest = np.abs(scores).max(initial=0.0, where=np.isfinite(scores))
    return delays.blocks.spread(chain.log_weights[delays.edges], -np.inf), largest


def sums_alone(delays, frames, offsets):
    """Whether sums over delay lines are made one sequence at a time."""
    steps = settings.delay_alone_steps * (len(offsets) - 1)
    if not delays.lines.uniform or offsets[-1] < steps:
        return False
    return powers_apart(frames.table) <= settings.delay_lanes_apart


def sum_delayed(
    chain, frames, offsets, order, seq_weights, chosen, log_z, left, posteriors=None, edges=None
):
    """Forward-backward of some sequences; those whose emissions are too small are left.

    Parameters
    ----------
    chain : Chain
        On a graph with delay lines.
    order : int array or None
        If they are for lanes: the sequences, longest first.
    chosen : int array
        The numbers of the sequences.
    log_z, left, posteriors, edges : arrays that are filled in
        Edges are added to; without posteriors likelihoods are all.
    """
    graph, delays = chain.graph, chain.graph.delays
    if order is not None and edges is None:
        done = delayed_lanes_sums(
            graph.layout, delays.lines, chain.weights, chain.smallest_weight, chain.first,
            frames.table, frames.index, offsets, order, settings.delay_lanes_apart, log_z, left,
            posteriors,
        )  # fmt: skip
        if done:
            chosen = np.flatnonzero(left)
            if len(chosen) == 0:
                return
    ahead, back, within = chain.delay_products
    counts = None if edges is None else np.zeros(ahead.shape[1])
    inside = None if edges is None else np.zeros(len(delays.onward))
    delayed_sums(
        graph.layout, delays.lines, ahead, back, within, chain.first, chain.smallest_weight,
        frames.table, frames.index, offsets, seq_weights, chosen, log_z, left, posteriors, counts,
        inside,
    )  # fmt: skip
    if edges is not None:
        edges[delays.edges] += counts[delays.blocks.slot]
        edges[delays.onward] += inside


def products_of(chain):
    """Weights with exponents: by entry of the core's blocks, ahead and back; of lines."""
    delays = chain.graph.delays
    weights = chain.weights[delays.edges]
    n_lines = delays.lines.n_lines
    within = np.ones(WIDTH * -(-n_lines // WIDTH))
    within[:n_lines] = chain.weights[delays.through]
    blocks = delays.blocks.spread(weights, 0.0), delays.back.spread(weights, 0.0)
    return [_with_exponents(each) for each in (*blocks, within)]


def _with_exponents(weights):
    """(2, n): x and e of x 2^e, with 1 <= x < 2, or 0 and an exponent below all others."""
    x, e = np.frexp(weights)
    return np.array([2 * x, np.where(weights > 0, e - 1.0, -1e18)])
