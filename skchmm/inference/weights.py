"""What the breaks of soft rules should cost, learned from labels.

Among the paths of T steps that keep the hard rules, P(x) = P0(x) exp(-w . breaks(x)) / Z_T(w), with
P0 the chain. The logarithm of the likelihood of labels is concave in w, and its gradient is the
expected number of breaks less the observed one.
"""

import numpy as np
from scipy.optimize import minimize

from ..emissions.base import Frames
from .chain import Chain

# A rule that no label breaks would have an infinite weight; it is learned as if it had been broken
# this often.
NEVER_BROKEN = 0.5


def learn_weights(start, learned, total, log_z_of):
    """The weights that make labels most probable, none of them negative.

    Parameters
    ----------
    start : float array (n_soft,)
        Weights; those that are not learned stay.
    learned : bool array (n_soft,)
    total : float array (n_soft,)
        Breaks of all labels.
    log_z_of : callable
        Weights -> the sum of log Z over the sequences, and minus its gradient, or None: it is
        then taken from differences.

    Returns
    -------
    ndarray (n_soft,)
    """
    total = np.where(learned & (total == 0), NEVER_BROKEN, total)
    weights = start.copy()

    def objective(values):
        weights[learned] = values
        log_z, expected = log_z_of(weights)
        value = float(weights @ total + log_z)
        return value if expected is None else (value, (total - expected)[learned])

    first = np.ones(learned.sum())
    exact = isinstance(objective(first), tuple)
    found = minimize(
        objective, first, jac=True if exact else "3-point", method="L-BFGS-B",
        bounds=[(0, None)] * len(first),
        options={"ftol": 1e-15, "gtol": 1e-8 * max(1.0, total.max()), "maxiter": 500},
    )  # fmt: skip
    weights[learned] = found.x
    return weights


def log_z_of_lengths(graph, parameters, lengths, seq_weights, n_jobs=None):
    """The function of weights that `learn_weights` needs, for paths of these lengths."""
    distinct, which = np.unique(lengths, return_inverse=True)
    share = np.bincount(which, weights=seq_weights)

    def log_z_of(weights):
        log_z, expected = expected_breaks(
            graph.weighing(weights), parameters, distinct, share, n_jobs
        )
        return share @ log_z, expected

    return log_z_of


def expected_breaks(graph, parameters, lengths, share, n_jobs=None):
    """log Z of paths of each length (n,), and how often paths break each soft rule (n_soft,).

    The second is the sum over the lengths, by their shares.
    """
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    frames = Frames(np.zeros((1, graph.n_states)), np.zeros(offsets[-1], dtype=np.int32))
    log_z, posteriors, edges = Chain(graph, *parameters).edge_counts(
        frames, offsets, seq_weights=share, n_jobs=n_jobs
    )
    bits = np.arange(len(graph.controller.weights))
    expected = share @ posteriors[offsets[:-1]] @ (graph.breaks.starts[:, None] >> bits & 1)
    expected += edges @ (graph.breaks.edges[:, None] >> bits & 1)
    # Which soft rules a path breaks by where it ends: one chain for each set of them.
    for mask in np.unique(graph.breaks.ends[graph.accept & (graph.breaks.ends > 0)]):
        ending = Chain(graph.ending(graph.breaks.ends == mask), *parameters)
        log_mass = ending.log_likelihood(frames, offsets, n_jobs=n_jobs)
        expected += share @ np.exp(log_mass - log_z) * (mask >> bits & 1)
    return log_z, expected
