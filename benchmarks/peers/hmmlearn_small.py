"""Short scripts: one small sequence, hmmlearn's classes and ours under the same names."""

import logging
import time

import numpy as np

import skchmm.hmm

from .race import Line, race

NEEDS = ("hmmlearn",)


def run(quick=False):
    import hmmlearn.hmm

    logging.getLogger("hmmlearn").setLevel(logging.CRITICAL)
    logging.getLogger("skchmm.hmm").setLevel(logging.CRITICAL)
    for T in (100,) if quick else (20, 100, 1000):
        for name, options, X in _cases(T, np.random.default_rng(0)):
            for work, functions in _works(name, options, X, hmmlearn.hmm):
                # one thread does all the work; what others take from it is not counted
                seconds = race(functions, seconds=0.2, clock=time.thread_time)
                first = work.split()[0]
                least = 2 if T == 100 and first in ("fit", "sample") else 1
                yield Line(f"{name}, {work}", f"T={T}", f"hmm.{name}", seconds["ours"], "hmmlearn",
                           seconds["theirs"], at_least=least,
                           demand=f"small data, {least}x: {first}")  # fmt: skip


def _works(name, options, X, theirs):
    """What scripts do, as pairs of a name and of functions, ours and theirs."""
    makers = {"ours": getattr(skchmm.hmm, name), "theirs": getattr(theirs, name)}
    T, lengths = len(X), [len(X) // 5] * 5

    def each(make):
        return {who: make(who) for who in makers}

    for n_iter in (10, 100):
        longer = options | {"n_iter": n_iter}
        yield f"fit {n_iter}", each(lambda w, o=longer: lambda: makers[w](**o).fit(X))
    yield "fit of 5 sequences", each(lambda w: lambda: makers[w](**options).fit(X, lengths))
    fitted = each(lambda w: makers[w](**options).fit(X))
    for work in ("predict", "score", "decode", "score_samples", "predict_proba"):
        yield work, each(lambda w, work=work: lambda: getattr(fitted[w], work)(X))
    for work in ("predict", "score"):
        several = each(lambda w, work=work: lambda: getattr(fitted[w], work)(X, lengths))
        yield f"{work} of 5 sequences", several
    yield "sample", each(lambda w: lambda: fitted[w].sample(T, random_state=0))


def _cases(T, rng):
    common = {"n_components": 3, "n_iter": 20, "random_state": 0}
    numbers = np.concatenate([rng.normal(k, 1, size=(T // 2, 2)) for k in (0, 4)])
    counts = rng.multinomial(10, [0.2, 0.3, 0.5], size=T)
    yield "GaussianHMM", common, numbers
    yield "CategoricalHMM", common, rng.integers(0, 6, size=(T, 1))
    yield "PoissonHMM", common, rng.poisson(3, size=(T, 1))
    yield "GMMHMM", common | {"n_components": 2, "n_mix": 2}, numbers
    yield "MultinomialHMM", common | {"n_components": 2, "n_trials": 10}, counts
