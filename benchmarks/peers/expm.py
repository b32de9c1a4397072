"""Continuous time against one matrix exponential an interval."""

import numpy as np
from scipy.linalg import expm

import skchmm

from .race import Line, race

NEEDS = ()


def run(quick=False):
    for n_states in (5, 20):
        yield _compare(n_states, 200 if quick else 2000)


def _compare(n_states, n):
    rng = np.random.default_rng(0)
    Q = rng.uniform(0, 0.2, size=(n_states, n_states))
    np.fill_diagonal(Q, 0)
    np.fill_diagonal(Q, -Q.sum(axis=1))
    startprob = np.full(n_states, 1 / n_states)
    times = np.cumsum(rng.exponential(size=n))
    logs = np.log(rng.dirichlet(np.ones(n_states), size=n))
    model = skchmm.CTConstrainedHMM.from_parameters(startprob, Q)
    functions = {
        "ours": lambda: float(model.log_likelihood(logs, times=times)[0]),
        "theirs": lambda: _forward(startprob, Q, np.exp(logs), np.diff(times)),
    }
    same = bool(np.isclose(functions["ours"](), functions["theirs"](), rtol=1e-8))
    seconds = race(functions, seconds=0.5)
    return Line("continuous time, likelihood", f"S={n_states}, {n:,} distinct gaps",
                "CTConstrainedHMM", seconds["ours"], "scipy expm a gap", seconds["theirs"],
                agree=same)  # fmt: skip


def _forward(startprob, Q, likelihoods, gaps):
    alpha, total = startprob * likelihoods[0], 0.0
    for gap, b in zip(gaps, likelihoods[1:]):
        alpha = (alpha @ expm(Q * gap)) * b
        scale = alpha.sum()
        total += np.log(scale)
        alpha /= scale
    return total + np.log(alpha.sum())
