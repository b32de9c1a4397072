"""The chain and the three constraint families of the completeness and misspecification studies."""

from math import ceil

import numpy as np

from skchmm import ConstrainedHMM, Controller
from skchmm.constraints import AtLeastVisits, Precedence, StageMonotone
from skchmm.emissions import Categorical

STATES = (1, 2, 3, 4, 5)
N_SYMBOLS = 8
N_STEPS = 100
PAIRS = [(1, 2), (1, 3), (2, 4), (2, 5), (3, 4), (3, 5), (4, 5), (1, 5)]
OTHER_PAIRS = [(a, b) for a in STATES for b in STATES if a != b and (a, b) not in PAIRS]
# With none of the stage rules, still at most a tenth of the steps go back.
MOST_BACKWARD = N_STEPS // 10

FAMILIES = ("precedence", "stages", "visitation")


def random_chain(seed, constraints=None, *, rows=0.5, symbols=0.3, stay=0.0):
    """The paper's chain: Dirichlet 1.0 (starts), 0.5 (rows of P), 0.3 (rows of B).

    The larger `symbols`, the less they tell of the state; `stay` is added on the diagonal of P.
    """
    rng = np.random.default_rng(seed)
    S = len(STATES)
    startprob = rng.dirichlet(np.ones(S))
    transmat = rng.dirichlet(np.full(S, rows), size=S)
    transmat = stay * np.eye(S) + (1 - stay) * transmat
    emissionprob = rng.dirichlet(np.full(N_SYMBOLS, symbols), size=S)
    return ConstrainedHMM.from_parameters(
        startprob,
        transmat,
        states=STATES,
        emission=Categorical.from_parameters(emissionprob),
        constraints=constraints,
    )


def true_constraints(family):
    return partial_constraints(family, 1.0, np.random.default_rng(0))


def partial_constraints(family, alpha, rng):
    """A fraction alpha of the rules of a family."""
    if family == "precedence":
        kept = rng.choice(len(PAIRS), size=ceil(len(PAIRS) * alpha), replace=False)
        return [Precedence(*PAIRS[k]) for k in sorted(kept)]
    if family == "stages":
        return [StageMonotone(STATES), at_most_backward(round((1 - alpha) * MOST_BACKWARD))]
    kept = rng.choice(STATES, size=ceil(len(STATES) * alpha), replace=False)
    return [AtLeastVisits(int(state), 1) for state in sorted(kept)]


def wrong_constraints(family, rng):
    """The misspecified rules of the paper."""
    if family == "precedence":
        kept = rng.choice(len(PAIRS), size=round(len(PAIRS) * 0.8), replace=False)
        added = rng.choice(len(OTHER_PAIRS), size=2, replace=False)
        pairs = [PAIRS[k] for k in kept] + [OTHER_PAIRS[k] for k in added]
        return [Precedence(a, b) for a, b in pairs]
    return partial_constraints(family, 0.0 if family == "stages" else 0.8, rng)


def milder_constraints(family, rng):
    """One rule fewer than the truth, or one step back."""
    return partial_constraints(family, 7 / 8 if family == "precedence" else 0.9, rng)


def at_most_backward(k):
    """At most k steps from a state to a lower one."""

    def follow(memory, label):
        last, count = memory
        count += last is not None and label < last
        return None if count > k else (label, count)

    return Controller.explore(STATES, (None, 0), follow, lambda memory: True)
