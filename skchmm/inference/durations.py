"""Distributions of durations 1, 2, ..., D, fitted to complete and to cut segments."""

import numpy as np
from scipy.optimize import minimize, minimize_scalar
from scipy.special import gammaln

FAMILIES = ("empirical", "poisson", "negative_binomial", "geometric")


def fit_durations(family, complete, cut, *, smoothing=0.0, old=None):
    """Maximum likelihood of the durations of each state.

    Parameters
    ----------
    family : {"empirical", "poisson", "negative_binomial", "geometric"}
        Parametric families describe d - 1 and are cut off at D and renormalised.
    complete : array (S, D)
        How often a segment lasted exactly d steps.
    cut : array (S, D)
        How often a segment lasted at least d steps and was then cut by the end of a sequence.
    smoothing : float
        Pseudocount of every duration, for the empirical family.
    old : array (S, D), optional
        The distributions of before, which the new ones must not be worse than.

    Returns
    -------
    array (S, D)
    """
    if family == "empirical":
        return _empirical(complete + smoothing, cut)
    pooled = complete.sum(axis=0), cut.sum(axis=0)
    fitted = np.empty(complete.shape)
    for i in range(len(complete)):
        before = None if old is None else old[i]
        data = complete[i], cut[i]
        if data[0].sum() + data[1].sum() <= 0:
            if before is not None:
                fitted[i] = before
                continue
            data = pooled
        fitted[i] = _parametric(family, *data, before)
    return fitted


def survival(durations):
    """P(duration >= d) for every d, (S, D)."""
    tail = np.cumsum(durations[:, ::-1], axis=1)[:, ::-1]
    return np.ascontiguousarray(tail / tail[:, :1])


def geometric(mean, max_duration):
    """The geometric distribution with about this mean, cut off and renormalised."""
    return _pmf("geometric", [np.log1p(-1.0 / max(mean, 1.001))], max_duration)


def _empirical(complete, cut):
    """Kaplan and Meier's estimate: p(d) = h(d) prod_{k < d} (1 - h(k)).

    The hazard h(d) is the share of the segments known to last at least d, and not cut at d, that
    end there. Mass that no complete segment claims goes evenly to the longest cut one and beyond.
    """
    at_risk = np.cumsum(complete[:, ::-1], axis=1)[:, ::-1].copy()
    at_risk[:, :-1] += np.cumsum(cut[:, :0:-1], axis=1)[:, ::-1]
    hazard = np.divide(complete, at_risk, out=np.zeros_like(at_risk), where=at_risk > 0)
    surviving = np.cumprod(1.0 - hazard, axis=1)
    durations = hazard.copy()
    durations[:, 1:] *= surviving[:, :-1]
    steps = np.arange(complete.shape[1])
    for i in np.flatnonzero(surviving[:, -1] > 0):
        seen = np.flatnonzero((cut[i] > 0) | (complete[i] > 0))
        beyond = steps >= (seen[-1] if len(seen) else 0)
        durations[i, beyond] += surviving[i, -1] / beyond.sum()
    return durations / durations.sum(axis=1, keepdims=True)


def _log_weights(family, theta, steps):
    """Log probabilities of d - 1 = 0, 1, ... up to a constant.

    theta: geometric, log of the probability to go on; Poisson, log of the mean; negative binomial,
    logs of the size and of the mean.
    """
    if family == "geometric":
        return theta[0] * steps
    if family == "poisson":
        return theta[0] * steps - gammaln(steps + 1.0)
    size, log_share = np.exp(theta[0]), theta[1] - np.logaddexp(theta[0], theta[1])
    return gammaln(steps + size) - gammaln(size) - gammaln(steps + 1.0) + log_share * steps


def _pmf(family, theta, max_duration):
    logs = _log_weights(family, theta, np.arange(max_duration))
    weights = np.exp(logs - logs.max())
    return weights / weights.sum()


def _parametric(family, complete, cut, old):
    D = len(complete)
    steps = np.arange(D)

    def loss(theta):
        logs = _log_weights(family, np.atleast_1d(theta), steps)
        weights = np.exp(logs - logs.max())
        tail = np.cumsum(weights[::-1])[::-1]
        return _loss(complete, cut, logs - logs.max(), np.log(np.maximum(tail, 1e-300)), tail[0])

    mean = (complete + cut) @ steps / (complete + cut).sum()
    bounds = (-12.0, 2.0) if family == "geometric" else (np.log(1e-4), np.log(10.0 * D))
    if family == "negative_binomial":
        start = [1.0, np.log(mean + 1e-2)]
        theta = minimize(
            loss, start, method="Nelder-Mead", bounds=[(-6.0, 9.0), bounds],
            options={"xatol": 1e-7, "fatol": 1e-12},
        ).x  # fmt: skip
    else:
        theta = [minimize_scalar(loss, bounds=bounds, method="bounded", options={"xatol": 1e-10}).x]
    new = _pmf(family, theta, D)
    return new if old is None or _no_worse(new, old, complete, cut) else old


def _loss(complete, cut, logs, log_tail, total):
    """Negative log-likelihood of complete and cut durations, weights not yet normalised."""
    n = complete.sum() + cut.sum()
    return -(complete @ logs + cut @ log_tail - n * np.log(total)) / n


def _no_worse(new, old, complete, cut):
    def value(durations):
        with np.errstate(divide="ignore"):
            logs = np.log(durations), np.log(survival(durations[None])[0])
        return sum(
            counts[counts > 0] @ log[counts > 0] for counts, log in zip((complete, cut), logs)
        )

    return value(new) >= value(old)
