"""Short scripts: one small sequence, hmmlearn's classes and ours under the same names."""

import logging

import numpy as np

import skchmm.hmm

from .race import Line, race

NEEDS = ("hmmlearn",)


def run(quick=False):
    import hmmlearn.hmm

    logging.getLogger("hmmlearn").setLevel(logging.CRITICAL)
    logging.getLogger("skchmm.hmm").setLevel(logging.CRITICAL)
    for T in (100,) if quick else (30, 100, 1000):
        for name, options, X in _cases(T, np.random.default_rng(0)):
            makers = {
                "ours": lambda name=name, options=options: getattr(skchmm.hmm, name)(**options),
                "theirs": lambda name=name, options=options: getattr(hmmlearn.hmm, name)(**options),
            }
            fitted = {who: make().fit(X) for who, make in makers.items()}
            works = {"fit": {w: lambda make=make, X=X: make().fit(X) for w, make in makers.items()}}
            for work in ("predict", "score"):
                works[work] = {
                    who: lambda one=one, work=work, X=X: getattr(one, work)(X)
                    for who, one in fitted.items()
                }
            works["sample"] = {
                who: lambda f=one.sample, T=T: f(T, random_state=0) for who, one in fitted.items()
            }
            for work, functions in works.items():
                seconds = race(functions, seconds=0.2)
                least = 2 if T == 100 and work in ("fit", "sample") else 1
                yield Line(f"{name}, {work}", f"T={T}", f"hmm.{name}", seconds["ours"], "hmmlearn",
                           seconds["theirs"], at_least=least,
                           demand=f"small data, {least}x: {work}")  # fmt: skip


def _cases(T, rng):
    common = {"n_components": 3, "n_iter": 20, "random_state": 0}
    numbers = np.concatenate([rng.normal(k, 1, size=(T // 2, 2)) for k in (0, 4)])
    counts = rng.multinomial(10, [0.2, 0.3, 0.5], size=T)
    yield "GaussianHMM", common, numbers
    yield "CategoricalHMM", common, rng.integers(0, 6, size=(T, 1))
    yield "PoissonHMM", common, rng.poisson(3, size=(T, 1))
    yield "GMMHMM", common | {"n_components": 2, "n_mix": 2}, numbers
    yield "MultinomialHMM", common | {"n_components": 2, "n_trials": 10}, counts
