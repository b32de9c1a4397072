"""Viterbi, posteriors and likelihood against hmmlearn."""

import numpy as np

from skchmm import hmm

from .problems import make_problem
from .race import Line, race

NEEDS = ("hmmlearn",)
LONG = {5: 100_000, 20: 20_000, 50: 5_000}
DEMANDED = {"one": {5: 3, 20: 4, 50: 5}, "many": {5: 4, 20: 6, 50: 6}}
AGAINST_LOG = 20
# Sequences for the races with log implementations, which would take minutes with 1,000.
FEWER = {5: 500, 20: 50, 50: 10}
WORKS = {"Viterbi": "predict", "posteriors": "predict_proba", "score": "score"}


def sizes(n_states, quick):
    """Shape, lengths, and lengths for the log implementation."""
    cut = 10 if quick else 1
    long, fewer = LONG[n_states] // cut, FEWER[n_states] // cut
    yield "one", [long], [long]
    yield "many", [200] * (1000 // cut), [200] * max(fewer, 2)


def describe(n_states, lengths, emission):
    how = f"1 x {lengths[0]:,}" if len(lengths) == 1 else f"{len(lengths):,} x {lengths[0]}"
    return f"S={n_states}, {how}, {emission}"


def demand(work, shape, n_states, implementation):
    which = "hmmlearn's default (log)" if implementation == "log" else "hmmlearn's faster"
    return f"{'one long' if shape == 'one' else 'many short'}, S={n_states}: {work}, {which}"


def run(quick=False):
    from hmmlearn import hmm as reference

    for n_states in (5, 20) if quick else (5, 20, 50):
        for emission in ("categorical", "gaussian"):
            for shape, lengths, log_lengths in sizes(n_states, quick):
                demanded = DEMANDED[shape][n_states]
                problem = make_problem(n_states, lengths, emission)
                yield from _compare(problem, reference, "scaling", shape, demanded, WORKS)
                problem = make_problem(n_states, log_lengths, emission)
                works = {name: WORKS[name] for name in ("posteriors",)}
                yield from _compare(problem, reference, "log", shape, AGAINST_LOG, works)


def _compare(problem, reference, implementation, shape, demanded, works):
    peer = problem.like_hmmlearn(reference, implementation=implementation)
    constrained, twin = problem.ours(), problem.like_hmmlearn(hmm)
    X, lengths = problem.X, problem.lengths
    own_score = lambda: constrained.log_likelihood(X, lengths=lengths).sum()  # noqa: E731
    for work, method in works.items():
        own = getattr(constrained, method)
        functions = {
            "ConstrainedHMM": own_score
            if work == "score"
            else (lambda own=own: own(X, lengths=lengths)),
            "skchmm.hmm": lambda method=method: getattr(twin, method)(X, lengths),
            "hmmlearn": lambda method=method: getattr(peer, method)(X, lengths),
        }
        answers = {name: function() for name, function in functions.items()}
        seconds = race(functions, seconds=0.3)
        size = describe(len(problem.startprob), lengths, problem.emission)
        # hmmlearn has one Viterbi, whatever the implementation of the rest.
        label = "hmmlearn" if work == "Viterbi" else f"hmmlearn ({implementation})"
        for name in ("ConstrainedHMM", "skchmm.hmm"):
            wanted = (
                {}
                if work == "score"
                else {
                    "at_least": demanded,
                    "demand": demand(work, shape, len(problem.startprob), implementation),
                }
            )
            yield Line(
                work, size, name, seconds[name], label, seconds["hmmlearn"],
                agree=_same(work, answers[name], answers["hmmlearn"]), **wanted,
            )  # fmt: skip


def _same(work, ours, theirs):
    if work == "Viterbi":
        return bool(np.mean(np.asarray(ours) == theirs) > 0.9999)  # ties may be broken otherwise
    return bool(np.allclose(ours, theirs, rtol=1e-6, atol=1e-8))
