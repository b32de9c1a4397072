"""An iteration of EM against hmmlearn's: the difference of a longer and a shorter fit."""

import warnings
from functools import partial

import numpy as np

from skchmm import hmm

from .hmmlearn_inference import AGAINST_LOG, DEMANDED, demand, describe, sizes
from .problems import make_problem
from .race import Line, race

NEEDS = ("hmmlearn",)
SHORT, MORE = 1, 2  # iterations


def run(quick=False):
    from hmmlearn import hmm as reference

    for n_states in (5, 20) if quick else (5, 20, 50):
        for emission in ("categorical", "gaussian"):
            for shape, lengths, log_lengths in sizes(n_states, quick):
                if n_states == 50 and shape == "many":
                    lengths = lengths[:200]  # seconds an iteration for hmmlearn as it is
                problem = make_problem(n_states, lengths, emission)
                yield from _compare(problem, reference, "scaling", shape, DEMANDED[shape][n_states])
                problem = make_problem(n_states, log_lengths, emission)
                yield from _compare(problem, reference, "log", shape, AGAINST_LOG)


def _compare(problem, reference, implementation, shape, demanded):
    X, lengths = problem.X, problem.lengths

    def ours(n_iter):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it did not converge: that is the idea
            return problem.ours(init="fitted", smoothing=0, tol=0.0, n_iter=n_iter).fit(
                X, lengths=lengths
            )

    def twin(n_iter):
        return problem.like_hmmlearn(hmm, n_iter=n_iter).fit(X, lengths)

    def theirs(n_iter):
        return problem.like_hmmlearn(reference, n_iter=n_iter, implementation=implementation).fit(
            X, lengths
        )

    fits = {"ConstrainedHMM": ours, "skchmm.hmm": twin, "hmmlearn": theirs}
    after = {}

    def learn(name, n_iter):
        after[name, n_iter] = fits[name](n_iter).transmat_

    functions = {(name, n): partial(learn, name, n) for name in fits for n in (SHORT, SHORT + MORE)}
    seconds = race(functions, seconds=0.5)
    each = {
        name: max(seconds[name, SHORT + MORE] - seconds[name, SHORT], 1e-9) / MORE for name in fits
    }
    size = describe(len(problem.startprob), lengths, problem.emission)
    for name in ("ConstrainedHMM", "skchmm.hmm"):
        yield Line(
            "EM iteration", size, name, each[name], f"hmmlearn ({implementation})",
            each["hmmlearn"], at_least=demanded,
            demand=demand("EM iteration", shape, len(problem.startprob), implementation),
            agree=bool(np.allclose(after[name, SHORT], after["hmmlearn", SHORT], atol=1e-6)),
        )  # fmt: skip
