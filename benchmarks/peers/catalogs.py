"""Decoding under the catalogs of Patel and Damiano against our own unconstrained decoding."""

import numpy as np

from skchmm import ConstrainedHMM
from skchmm.datasets import make_chain, make_protocol
from skchmm.emissions import Categorical
from skchmm.mining import ConstraintMiner

from .race import Line, race

NEEDS = ()
GENE = ("UTR5", "START", "CDS", "STOP", "UTR3")


def run(quick=False):
    n = 20 if quick else 200
    chain = make_chain(n, random_state=0)
    protocol = make_protocol(n, random_state=0)
    letters, labels = _transcripts(n)
    rules = ConstraintMiner().fit(labels).constraints_
    symbols = Categorical(symbols=list("ACGT"))
    for name, model, X, y in (
        ("synthetic", {"constraints": chain.constraints}, chain.X, chain.y),
        ("HAR protocol", {"constraints": protocol.constraints}, protocol.X, protocol.y),
        ("fly", {"constraints": rules, "emission": symbols}, letters, labels),
    ):
        constrained = ConstrainedHMM(**model).fit(X, y)
        free = constrained.with_constraints(None)
        for work in ("predict", "predict_proba"):
            functions = {
                "ours": lambda work=work, constrained=constrained, X=X: getattr(constrained, work)(
                    X
                ),
                "free": lambda work=work, free=free, X=X: getattr(free, work)(X),
            }
            seconds = race(functions, seconds=1.0, most=1000)
            edges = f"{constrained.graph_.n_edges} edges, {free.graph_.n_edges} without"
            what = "" if work == "predict" else ": posteriors"
            demand = f"constrained against unconstrained, {name}{what}"
            yield Line(f"{work}, {name} catalog", f"{len(X)} sequences; {edges}", "constrained",
                       seconds["ours"], "unconstrained", seconds["free"], at_least=1.0,
                       demand=demand)  # fmt: skip


def _transcripts(n):
    """Sequences of the shape of spliced transcripts, in random nucleotides."""
    rng = np.random.default_rng(0)
    y = [
        np.repeat(GENE, [*rng.integers(50, 400, 1), 3, 3 * rng.integers(200, 700), 3, 300])
        for _ in range(n)
    ]
    return [rng.choice(list("ACGT"), size=len(path)) for path in y], y
