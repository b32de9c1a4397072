"""The best path under rules against OpenFst (pynini): composition, then the shortest path."""

import math

import numpy as np

from skchmm import ConstrainedHMM
from skchmm.constraints import AtMostVisits, Precedence

from .race import Line, race

NEEDS = ("pynini",)
HINT = "pip install pynini"
RULES = {
    "no rules": [],
    "two rules": [Precedence(0, 1), AtMostVisits(2, 3)],
}


def run(quick=False):
    S, T = 5, 30 if quick else 1000
    rng = np.random.default_rng(0)
    startprob, transmat = rng.dirichlet(np.ones(S)), rng.dirichlet(np.ones(S), S)
    logs = np.log(rng.dirichlet(np.ones(S), T))
    for name, rules in RULES.items():
        model = ConstrainedHMM.from_parameters(startprob, transmat, constraints=rules or None)
        chain = _automaton(model)
        functions = {
            "ours": lambda model=model: model.decode(logs)[0],
            "theirs": lambda chain=chain: _shortest(chain, logs),
        }
        same = math.isclose(functions["ours"](), functions["theirs"](), rel_tol=1e-5)
        seconds = race(functions, seconds=0.5)
        yield Line("best path", f"T={T}, S={S}, {name}", "ConstrainedHMM.decode", seconds["ours"],
                   "OpenFst", seconds["theirs"], at_least=None if quick else 50, agree=same,
                   demand="best path, OpenFst")  # fmt: skip


def _automaton(model):
    """The chain under its rules: an arc reads the state that it leads to."""
    import pynini

    S, table = len(model.classes_), model.controller_.tables[0]
    fst, number = pynini.Fst(), {}

    def node(q, state):
        if (q, state) not in number:
            number[q, state] = fst.add_state()
        return number[q, state]

    fst.set_start(node(0, None))
    todo = [(0, None)]
    for q, state in todo:  # grows
        if state is not None and model.controller_.accept[q]:
            fst.set_final(node(q, state), 0.0)
        row = model.startprob_ if state is None else model.transmat_[state]
        for there in range(S):
            after = int(table[q, there])
            if after >= 0 and row[there] > 0:
                if (after, there) not in number:
                    todo.append((after, there))
                arc = pynini.Arc(there + 1, there + 1, -math.log(row[there]), node(after, there))
                fst.add_arc(node(q, state), arc)
    return fst.arcsort()


def _shortest(chain, logs):
    import pynini

    steps = pynini.Fst()
    here = steps.add_state()
    steps.set_start(here)
    for row in logs:
        there = steps.add_state()
        for state, value in enumerate(row):
            steps.add_arc(here, pynini.Arc(state + 1, state + 1, -value, there))
        here = there
    steps.set_final(here, 0.0)
    best = pynini.shortestdistance(pynini.compose(steps, chain), reverse=True)
    return -float(best[0])
