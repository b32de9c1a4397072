"""Posteriors of one long sequence under rules: ours with the rule against ours without."""

from functools import partial

import numpy as np

from skchmm import ConstrainedHMM
from skchmm.constraints import AtMostVisits, Regex
from skchmm.datasets import load_fly_genes
from skchmm.emissions import Categorical
from skchmm.mining import ConstraintMiner

from .problems import make_problem
from .race import Line, race

NEEDS = ()
ORDER = Regex("UTR5+ START{3} CDS+ STOP{3} UTR3+")
FRAME = Regex("UTR5+ START1 START2 START3 (CDS1 CDS2 CDS3)+ STOP1 STOP2 STOP3 UTR3+")
GROWTH = 1.25  # twice the controller states may take so many times twice the time


def run(quick=False):
    yield from _genes(20_000 if quick else 200_000)
    yield from _counters(500 if quick else 5_000)


def _genes(n_steps):
    genes, codons = load_fly_genes(), load_fly_genes(codon_positions=True)
    X = np.random.default_rng(0).choice(list("ACGT"), size=n_steps)
    mined = ConstraintMiner().fit(genes.y).constraints_
    context = ConstrainedHMM(emission=Categorical(order=2))
    for name, model, data, rules, at_least in (
        ("mined rules", ConstrainedHMM(), genes, mined, 1.0),
        ("the order of the parts", ConstrainedHMM(), genes, ORDER, 1.0),
        ("the reading frame", context, codons, FRAME, 1.0),
    ):
        free = model.fit(data.X, data.y)
        ruled = free.with_constraints(rules)
        calls = {"with": partial(ruled.predict_proba, X), "without": partial(free.predict_proba, X)}
        agree = bool(np.allclose(calls["with"]().sum(axis=1), 1.0, rtol=0, atol=1e-12))
        seconds = race(calls, seconds=1.0, most=500)
        edges = f"{ruled.graph_.n_edges} edges, {free.graph_.n_edges} without"
        yield Line(f"posteriors of genes, {name}", f"one of {n_steps:,}; {edges}", "with the rule",
                   seconds["with"], "without", seconds["without"], at_least=at_least, agree=agree,
                   demand="posteriors under a gene grammar")  # fmt: skip


def _counters(n_steps):
    problem, before = make_problem(8, [n_steps]), None
    for size in (32, 64, 128):
        model = problem.ours(constraints=AtMostVisits(0, size - 1))
        call = partial(model.predict_proba, problem.X, lengths=problem.lengths)
        seconds = race({"ours": call}, seconds=0.5)["ours"]
        if before is not None:
            yield Line(f"posteriors, {size} controller states", f"S=8, one of {n_steps:,}",
                       f"{size} states", seconds, f"{size // 2} states, twice", 2 * before,
                       at_least=1 / GROWTH, demand="twice the controller states")  # fmt: skip
        before = seconds
