"""Our own costs against each other: many rules, questions, filtering, small fits, the import."""

import os
import subprocess
import sys
import warnings
from itertools import combinations
from tempfile import TemporaryDirectory

import numpy as np

import skchmm
from skchmm import ConstrainedHMM
from skchmm.constraints import Precedence, declare
from skchmm.datasets import make_chain
from skchmm.emissions.numeric import KMEANS_STARTS, kmeans_centres

from .race import Line, race

NEEDS = ()


def run(quick=False):
    yield _compilation()
    yield from _questions(100 if quick else 1000)
    yield from _filtering(quick)
    yield _start(quick)
    yield _import(2 if quick else 10)


def _compilation():
    """306 rules over 27 labels; as a plain product nearly every set of labels is a state."""
    labels = [f"activity {k}" for k in range(27)]
    rules = [declare.NotSuccession(b, a) for a, b in combinations(labels[:25], 2)]
    rules += [declare.Precedence(labels[0], label) for label in labels[25:]]
    rules += [declare.Response(label, labels[24]) for label in labels[25:]]
    rules += [declare.Init(labels[0]), declare.End(labels[24])]
    seconds = race({"ours": lambda: skchmm.compile(rules, labels)}, seconds=1.0)
    return Line("compilation", f"{len(rules)} Declare rules, {len(labels)} labels", "compile",
                seconds["ours"], at_most=1.0, demand="306 Declare rules, compilation")  # fmt: skip


def _questions(n):
    data = make_chain(60 + n, n_steps=100, random_state=0)
    model = ConstrainedHMM(constraints=data.constraints).fit(data.X[:60], data.y[:60])
    X = data.X[60:]
    questions = {
        "explain": lambda: model.explain(X),
        "visit_distribution": lambda: model.visit_distribution("REST", X),
        "kbest(3)": lambda: model.kbest(X, 3),
    }
    seconds = race({"predict": lambda: model.predict(X), **questions}, seconds=1.0)
    for name in questions:
        yield Line(name, f"{n} x 100, S=5", "ConstrainedHMM", seconds[name], "predict",
                   seconds["predict"], at_least=0.1,
                   demand="questions about 1,000 sequences against predict")  # fmt: skip


def _filtering(quick):
    rng = np.random.default_rng(0)
    A, B = rng.dirichlet(np.ones(5), 5), rng.dirichlet(np.ones(6), 5)
    emission = skchmm.emissions.Categorical.from_parameters(B, range(6))
    model = ConstrainedHMM.from_parameters(A[0], A, emission=emission)
    ruled = model.with_constraints(Precedence(0, 1))
    for T, n in ((900, 1),) if quick else ((900, 1), (10_000, 1), (100_000, 1), (100, 200)):
        X, lengths = rng.integers(6, size=T * n), [T] * n
        for rules, one in (("", model), (", Precedence", ruled)):
            calls = {"filter": one.filter_proba, "predict": one.predict}
            functions = {
                name: lambda call=call, X=X, lengths=lengths: call(X, lengths=lengths)
                for name, call in calls.items()
            }
            seconds = race(functions, seconds=0.5, most=500)
            yield Line("filter_proba", f"{n} x {T:,}, S=5{rules}", "ConstrainedHMM",
                       seconds["filter"], "predict", seconds["predict"], at_least=1,
                       demand="filter_proba against predict")  # fmt: skip


def _start(quick):
    rng = np.random.default_rng(0)
    n = 300 if quick else 1000
    X = rng.normal(size=(n, 2)) + 4 * rng.integers(0, 3, size=(n, 1))

    def fit(n_iter):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ConstrainedHMM(5, emission="gaussian", init="random", n_iter=n_iter, tol=-np.inf,
                           random_state=0).fit(X)  # fmt: skip

    seconds = race({"k-means": lambda: kmeans_centres(X, 5, KMEANS_STARTS, 0),
                    "12": lambda: fit(12), "2": lambda: fit(2)}, seconds=0.5)  # fmt: skip
    two = 2 * (seconds["12"] - seconds["2"]) / 10
    return Line("k-means start of EM", f"{n} x 2, S=5", "start", seconds["k-means"],
                "two iterations", two, at_least=1, demand="k-means start of EM")  # fmt: skip


def _import(turns):
    """Of compiled files, as users have them, whatever this environment says of writing these."""
    with TemporaryDirectory() as folder:
        compiled = os.environ | {"PYTHONPYCACHEPREFIX": folder, "PYTHONDONTWRITEBYTECODE": ""}

        def of(code):
            return lambda: subprocess.run([sys.executable, "-c", code], check=True, env=compiled)

        functions = {
            "ours": of("import skchmm"),
            "theirs": of("import sklearn.base, scipy.sparse"),
        }
        seconds = race(functions, seconds=60.0, least=turns, most=turns)
    return Line("import skchmm", "", "skchmm", seconds["ours"], "sklearn.base, scipy.sparse",
                seconds["theirs"], at_least=1 / 1.15, demand="import")  # fmt: skip
