"""How large constraints are: the paper's count, the minimal controller, the compiled graph."""

from dataclasses import dataclass
from math import prod

import numpy as np

from skchmm import ConstrainedHMM, compile

# |C| of a constraint in the paper's catalog.
CATALOG = {
    "ForbiddenEdges": lambda rule, S: 1,
    "NoDwell": lambda rule, S: 1,
    "StartsIn": lambda rule, S: 1,
    "Precedence": lambda rule, S: 2,
    "StageMonotone": lambda rule, S: len(rule.stages),
    "AtLeastVisits": lambda rule, S: rule.k + 1,
    "AtMostVisits": lambda rule, S: rule.k + 1,
    "ExactVisits": lambda rule, S: rule.k + 1,
    "Transitions": lambda rule, S: rule.k + 1,
    "NoReentry": lambda rule, S: 3,
    "CoolDown": lambda rule, S: rule.delta + 1,
    "AllDifferent": lambda rule, S: 2**S,
}


@dataclass
class Size:
    catalog: int  # product of the paper's |C|
    minimal: int  # |C| of the minimal controller
    pairs: int  # S |C| of the paper
    nodes: int  # pairs that some feasible path visits
    dense_edges: int  # S^2 |C| of the paper
    edges: int
    free_edges: int  # S^2, without rules


def size_of(rules, states):
    S = len(states)
    catalog = prod(_catalog_size(rule, states) for rule in rules)
    uniform = np.full((S, S), 1 / S)
    graph = ConstrainedHMM.from_parameters(
        uniform[0], uniform, states=states, constraints=list(rules)
    ).graph_
    return Size(
        catalog,
        compile(list(rules), states).n_states,
        S * catalog,
        graph.n_nodes,
        S * S * catalog,
        graph.n_edges,
        S * S,
    )


def _catalog_size(rule, states):
    """The catalog's count; a rule that is not in it, such as Regex, is counted as it compiles."""
    of_kind = CATALOG.get(type(rule).__name__)
    return compile([rule], states).n_states if of_kind is None else of_kind(rule, len(states))
