"""Constrained MAP against conin's A* search, on problems it can finish and one it cannot."""

import time

import numpy as np

from skchmm import ConstrainedHMM
from skchmm.constraints import Occupancy
from skchmm.emissions import Categorical

from .race import Line, race

NEEDS = ("conin",)
# A and B explain the symbols; C, which is demanded, the best path never visits.
STATES = ("A", "B", "C")
START = (0.5, 0.49, 0.01)
TRANSITIONS = ((0.89, 0.1, 0.01), (0.1, 0.89, 0.01), (0.3, 0.3, 0.4))
EMISSIONS = ((0.8, 0.19, 0.01), (0.19, 0.8, 0.01), (0.3, 0.3, 0.4))
PROBLEMS = ((10, 2), (15, 3), (20, 4))  # steps, occurrences of C
LAST = (60, 15)


def run(quick=False):
    for n_steps, count in PROBLEMS[:2] if quick else PROBLEMS:
        yield _compare(n_steps, count, patience=None)
    yield _compare(*LAST, patience=2 if quick else 15)


def _compare(n_steps, count, patience):
    symbols = np.random.default_rng(0).integers(2, size=n_steps)
    model = ConstrainedHMM.from_parameters(
        START,
        TRANSITIONS,
        states=STATES,
        emission=Categorical.from_parameters(EMISSIONS),
        constraints=Occupancy("C", at_least=count),
    )
    search = _conin(symbols, count)
    ours = race({"ours": lambda: model.predict(symbols)}, seconds=0.2)["ours"]
    size = f"S=3, T={n_steps}, C at least {count} times"
    if patience is None:
        begin = time.perf_counter()
        found = search(None)
        theirs, note = time.perf_counter() - begin, ""
        same = found is not None and bool((np.array(found) == model.predict(symbols)).all())
        demanded = None
    else:
        begin = time.perf_counter()
        found = search(patience)
        theirs, same, demanded = time.perf_counter() - begin, None, 10_000
        note = "" if found is not None else "conin stopped before it had an answer"
    return Line("constrained MAP", size, "ConstrainedHMM", ours, "conin A*", theirs,
                at_least=demanded, agree=same, note=note,
                demand=demanded and "constrained MAP, T=60, 15 demanded visits, conin")  # fmt: skip


def _conin(symbols, count):
    """A function of the longest time to search, that returns the path, or None."""
    from conin.hidden_markov_model import ConstrainedHiddenMarkovModel, HiddenMarkovModel
    from conin.inference.AStarInference import AStarInference
    from conin.oracle_constraints import has_minimum_number_of_occurences_constraint

    names = [f"o{k}" for k in range(3)]
    hidden = HiddenMarkovModel()
    hidden.load_model(
        start_probs=dict(zip(STATES, START)),
        transition_probs={
            (a, b): p for a, row in zip(STATES, TRANSITIONS) for b, p in zip(STATES, row)
        },
        emission_probs={(a, o): p for a, row in zip(STATES, EMISSIONS) for o, p in zip(names, row)},
    )
    rule = has_minimum_number_of_occurences_constraint(val="C", count=count)
    constrained = ConstrainedHiddenMarkovModel(hmm=hidden, constraints=[rule])
    constrained.initialize_chmm()
    inference = AStarInference(constrained)
    observed = [names[k] for k in symbols]

    def search(patience):
        try:
            results = inference.map_query(evidence=observed, max_time=patience)
        except IndexError:  # what it raises when it stops without a solution
            return None
        return list(results.solutions[0].states) if results.solutions else None

    return search
