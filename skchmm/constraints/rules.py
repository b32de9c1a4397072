"""Which constraints a decoder can honour, and saying which it does not."""

import numpy as np

from ..exceptions import NotEnforcedWarning, warn
from .compile import compile
from .ordering import ForbiddenEdges, Precedence, StageMonotone
from .temporal import NoReentry

# What the last steps of a path are enough to see (given what was visited so far).
LOCAL = (ForbiddenEdges, NoReentry, Precedence, StageMonotone)


def forbidden_edges(controller):
    """The pairs of states (S, S) that a memoryless controller forbids, None for any other.

    Memoryless: whether a label may follow depends on the label before it and on nothing else,
    and paths may start and end anywhere.
    """
    table = controller.tables[0]
    after = table[0]  # the automaton state after each label
    if len(controller.tables) > 1 or (after < 0).any() or not controller.accept[after].all():
        return None
    return None if (np.where(table < 0, after, table) != after).any() else table[after] < 0


def split_edge_rules(constraints, states, max_nodes):
    """The edges (S, S) that constraints forbid one by one, and the constraints that are not so."""
    forbidden = np.zeros((len(states), len(states)), dtype=bool)
    others = []
    for constraint in constraints:
        edges = forbidden_edges(compile(constraint, states, max_nodes=max_nodes))
        if edges is None:
            others.append(constraint)
        else:
            forbidden |= edges
    return forbidden, others


def split_local_rules(constraints, states, max_nodes):
    """Constraints that can be checked step by step (see LOCAL), and the others."""
    local, others = [], []
    for constraint in constraints:
        seen = isinstance(constraint, LOCAL) or (
            forbidden_edges(compile(constraint, states, max_nodes=max_nodes)) is not None
        )
        (local if seen else others).append(constraint)
    return local, others


def warn_not_enforced(estimator, constraints, hint="see its attribute not_enforced_"):
    """Say once, when it is fitted, what an estimator does not enforce."""
    if constraints:
        shown = ", ".join(map(repr, constraints[:5]))
        if len(constraints) > 5:
            shown += f" and {len(constraints) - 5} more"
        warn(f"{type(estimator).__name__} does not enforce {shown}; {hint}.", NotEnforcedWarning)
