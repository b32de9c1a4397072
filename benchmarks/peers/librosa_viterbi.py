"""Viterbi against librosa's (numba), from the likelihoods of the states."""

import numpy as np

from skchmm import ConstrainedHMM

from .problems import make_problem
from .race import Line, race

NEEDS = ("librosa",)
SIZES = {5: 100_000, 20: 20_000, 50: 5_000}


def run(quick=False):
    for n_states, n_steps in SIZES.items():
        yield _compare(n_states, n_steps // 10 if quick else n_steps)


def _compare(n_states, n_steps):
    from librosa.sequence import viterbi

    problem = make_problem(n_states, [n_steps])
    logs = problem.log_likelihoods()
    likelihoods = np.ascontiguousarray(np.exp(logs).T)
    model = ConstrainedHMM.from_parameters(problem.startprob, problem.transmat)
    functions = {
        "ours": lambda: model.predict(logs),
        "theirs": lambda: viterbi(likelihoods, problem.transmat, p_init=problem.startprob),
    }
    same = bool(np.mean(functions["ours"]() == functions["theirs"]()) > 0.9999)
    seconds = race(functions, seconds=0.4)
    return Line("Viterbi from likelihoods", f"S={n_states}, 1 x {n_steps:,}", "ConstrainedHMM",
                seconds["ours"], "librosa", seconds["theirs"], agree=same)  # fmt: skip
