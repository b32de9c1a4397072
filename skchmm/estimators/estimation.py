"""Probabilities from counts, and the loop of EM."""

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ..exceptions import warn


def read_fixed(fixed, shape, name):
    """A fixed-parameter array: NaN is to be learned, a number is given; None: all learned."""
    if fixed is None:
        return None
    fixed = np.array(fixed, dtype=np.float64)
    if fixed.shape != shape:
        raise ValueError(f"{name} has shape {fixed.shape}; expected {shape}.")
    given = ~np.isnan(fixed)
    if (fixed[given] < 0).any() or np.isinf(fixed[given]).any():
        raise ValueError(f"{name} holds a number that is not a probability.")
    rows, all_given = np.atleast_2d(fixed), np.atleast_2d(given).all(axis=1)
    total = np.where(np.isnan(rows), 0.0, rows).sum(axis=1)
    if (total > 1 + 1e-8).any() or (all_given & (np.abs(total - 1) > 1e-8)).any():
        raise ValueError(
            f"{name}: what is given in a row must sum to 1, or to less where something is left to "
            f"learn; the sums are {total.tolist()}."
        )
    return fixed


def known_probabilities(values, ndim, name):
    """Probabilities that the user knows, as an array; what they cannot be is an error."""
    values = np.array(values, dtype=np.float64)
    if values.ndim != ndim or not np.isfinite(values).all() or (values < 0).any():
        raise ValueError(f"{name} must be a {ndim}-d array of probabilities.")
    if (np.abs(values.sum(axis=-1) - 1) > 1e-6).any():
        raise ValueError(f"{name} must sum to 1; the sums are {values.sum(axis=-1).tolist()}.")
    return values


def normalise(counts, fixed=None, old=None):
    """Rows of counts as probabilities, given entries kept.

    Rows without any count keep `old`, or are spread evenly where there is none.
    """
    counts = np.asarray(counts, dtype=np.float64)
    if fixed is None:
        total = counts.sum(axis=-1, keepdims=True)
        if (total > 0).all():
            return counts / total
    free = np.ones(counts.shape, dtype=bool) if fixed is None else np.isnan(fixed)
    given = np.where(free, 0.0, 0.0 if fixed is None else fixed)
    left = np.clip(1.0 - given.sum(axis=-1, keepdims=True), 0.0, 1.0)
    learned = np.where(free, counts, 0.0)
    total = learned.sum(axis=-1, keepdims=True)
    n_free = np.maximum(free.sum(axis=-1, keepdims=True), 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        share = learned / total
    fallback = np.where(free, left / n_free, given) if old is None else old
    return np.where(total > 0, np.where(free, share * left, given), fallback)


def known_pairs(codes, offsets):
    """Steps whose label is known, and that of the step before in their sequence too."""
    inside = np.ones(len(codes), dtype=bool)
    inside[offsets[:-1]] = False
    to = np.flatnonzero(inside)
    return to[(codes[to] >= 0) & (codes[to - 1] >= 0)]


def count_labels(codes, offsets, n_states, step_weights):
    """Weighted counts of first labels (S,) and of transitions (S, S) between known labels.

    A transition counts with the weight of the step that it leads to.
    """
    first = offsets[:-1][codes[offsets[:-1]] >= 0]
    starts = np.bincount(codes[first], weights=step_weights[first], minlength=n_states)
    to = known_pairs(codes, offsets)
    pairs = codes[to - 1] * n_states + codes[to]
    transitions = np.bincount(pairs, weights=step_weights[to], minlength=n_states**2)
    return starts, transitions.reshape(n_states, n_states)


def run_em(start, e_step, m_step, *, n_iter, tol, progress):
    """Iterate until the objective gains less than ``tol`` relative to its size.

    Ends with an E-step, so that the last entry of the history belongs to the final parameters.

    Parameters
    ----------
    start : object
        Whatever e_step takes.
    e_step : callable
        (parameters, whether to learn from it) -> (objective, statistics)
    m_step : callable
        (parameters, statistics) -> parameters

    Returns
    -------
    parameters, history (list of float), converged (bool)
    """
    parameters, history, converged = start, [], False
    for iteration in range(n_iter + 1):
        progress.begin()
        value, statistics = e_step(parameters, iteration < n_iter)
        change = value - history[-1] if history else None
        history.append(value)
        stop = progress.end(iteration, value, change)
        if change is not None and abs(change) <= tol * max(abs(value), 1.0):
            converged = True
        if converged or stop or iteration == n_iter:
            break
        parameters = m_step(parameters, statistics)
    return parameters, history, converged


def warn_not_converged(n_iter, estimator):
    warn(
        f"EM did not converge in n_iter={n_iter} iterations. Raise n_iter or tol, or look at "
        f"history_ of the {type(estimator).__name__}.",
        ConvergenceWarning,
    )
