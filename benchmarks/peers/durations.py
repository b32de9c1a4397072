"""What a minimum duration costs: ours with the rule against ours without."""

from functools import partial

import numpy as np

from skchmm import satisfies
from skchmm.constraints import MinDuration

from .problems import make_problem
from .race import Line, race

NEEDS = ()
DEMANDED = {"predict": 1 / 1.3, "predict_proba": 1 / 2}


def run(quick=False):
    for emission in ("gaussian",) if quick else ("gaussian", "categorical"):
        one = make_problem(5, [20_000], emission)
        for duration in (10, 50) if quick else (10, 50, 500, 10_000):
            yield from _lines(one, duration, f"one sequence of 20,000, {emission}")
        for n, length in ((80, 200),) if quick else ((1_000, 200), (500, 1_000)):
            many = make_problem(5, [length] * n, emission)
            for duration in (50,) if quick else (50, 500):
                yield from _lines(many, duration, f"{n:,} sequences of {length:,}, {emission}")


def _lines(problem, duration, size):
    free = problem.ours()
    kind = "one sequence" if len(problem.lengths) == 1 else "many sequences"
    rules = [MinDuration(label, duration) for label in range(5)]
    ruled = problem.ours(constraints=rules)
    for work, at_least in DEMANDED.items():
        calls = {
            name: partial(getattr(model, work), problem.X, lengths=problem.lengths)
            for name, model in (("with", ruled), ("without", free))
        }
        found = calls["with"]()
        if work == "predict":
            parts = np.split(found, np.cumsum(problem.lengths)[:-1])
            agree = all(satisfies(part.tolist(), rules) for part in parts)
        else:
            agree = bool(np.allclose(found.sum(axis=1), 1.0, rtol=0, atol=1e-12))
        seconds = race(calls, seconds=1.0, most=500)
        yield Line(f"{work} under MinDuration({duration:,})", f"S=5, {size}", "with the rule",
                   seconds["with"], "without", seconds["without"], at_least=round(at_least, 3),
                   agree=agree,
                   demand=f"{work} under MinDuration, S=5, {kind}")  # fmt: skip
