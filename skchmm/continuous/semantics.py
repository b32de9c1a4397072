"""What constraints mean in continuous time: on a jump path, and as a mask of the generator."""

import numpy as np

from ..constraints.base import short
from ..constraints.compile import compile
from ..constraints.rules import split_edge_rules
from ..controller import SoftController

SEMANTICS = ("path", "observed", "masked")

HEAVIEST = 700  # rates are multiplied by e^-weight, which must be a double
HINTS = {
    "AllDifferent": "NoReentry for each of the labels says it of a jump path",
    "NoDwell": "a state is held for some time, so nothing could be in it",
}


def counts_jumps(controller):
    """Whether a controller does not notice how often a label is repeated.

    Reading a label once more must lead back to the same controller state. In a minimal
    controller that is so if and only if repeats make no difference to which paths it accepts.
    """
    if len(controller.tables) > 1:
        return False
    table = controller.tables[0]
    there = table >= 0
    repeated = np.where(there, table, 0), np.arange(table.shape[1])
    if isinstance(controller, SoftController) and controller.steps[0][repeated][there].any():
        return False
    return bool((table[repeated] == table)[there].all())


def check_jump_path(controller, constraints, states, max_nodes):
    """Raise unless the constraints have a meaning on jump paths, whose labels are not counted."""
    if isinstance(controller, SoftController) and controller.weights.max() > HEAVIEST:
        raise ValueError(
            f"semantics='path': the weight of a soft rule is at most {HEAVIEST}, got "
            f"{controller.weights.max():g}; a rule that must hold is given without Soft."
        )
    if counts_jumps(controller):
        return
    guilty = [
        part for part in constraints if not counts_jumps(compile(part, states, max_nodes=max_nodes))
    ]
    names = ", ".join(map(short, guilty)) or "the constraints"
    hints = [HINTS[type(part).__name__] for part in guilty if type(part).__name__ in HINTS]
    hint = f" ({hints[0]})" if hints else ""
    raise ValueError(
        f"semantics='path': {names} counts steps, and a jump path in continuous time has none: "
        "whether it holds must not change when a label is repeated"
        f"{hint}. Use semantics='observed', where the steps are the observations, or leave it out."
    )


def split_jump_rules(constraints, states, max_nodes):
    """Jumps (S, S) that constraints forbid one by one, and the constraints that are not only so."""
    forbidden, others = np.zeros((len(states), len(states)), dtype=bool), []
    for constraint in constraints:
        edges, need_memory = split_edge_rules([constraint], states, max_nodes)
        if need_memory or edges.diagonal().any():
            others.append(constraint)
        forbidden |= edges
    np.fill_diagonal(forbidden, False)
    return forbidden, others


def reachable(generator):
    """Pairs (S, S) of states such that the second can be reached from the first, or is it."""
    reach = (generator > 0) | np.eye(len(generator), dtype=bool)
    known = 0
    while known != reach.sum():
        known = reach.sum()
        reach = (reach.astype(np.float64) @ reach) > 0
    return reach
