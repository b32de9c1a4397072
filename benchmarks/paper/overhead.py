"""What each family of constraints adds to the state space."""

from skchmm.constraints import (
    AllDifferent,
    AtLeastVisits,
    AtMostVisits,
    CoolDown,
    ExactVisits,
    ForbiddenEdges,
    NoDwell,
    NoReentry,
    Precedence,
    StageMonotone,
    Transitions,
)
from skchmm.datasets import make_chain

from . import protocol
from .report import Report, Table, beside
from .sizes import size_of
from .verdicts import Finding

STATES = list("ABCDE")
# The paper's table of overheads, with K = 3, Delta = 4, G = S = 5: family -> rule, |C|.
FAMILIES = {
    "forbidden edges": (ForbiddenEdges([("A", "B")]), 1),
    "no-dwell": (NoDwell("A"), 1),
    "precedence": (Precedence("A", "B"), 2),
    "stage monotone, G = 5": (StageMonotone(STATES), 5),
    "at least 3 visits": (AtLeastVisits("A", 3), 4),
    "at most 3 visits": (AtMostVisits("A", 3), 4),
    "exactly 3 visits": (ExactVisits("A", 3), 4),
    "3 transitions": (Transitions(3), 4),
    "no-reentry": (NoReentry("A"), 3),
    "cool-down 4": (CoolDown("A", 4), 5),
    "all different": (AllDifferent(), 32),
}
# The worked examples, on three states: rule, pairs S |C| and what the paper draws or says of them.
EXAMPLES = {
    "precedence 1 before 3": (Precedence(1, 3), 6),
    "at least one visit of 2": (AtLeastVisits(2, 1), 6),
    "13 transitions": (Transitions(13), 42),
    "cool-down 2 on 1": (CoolDown(1, 2), 9),
}
HEADER = [
    "rules", "controller states of the catalog", "minimal", "pairs", "nodes", "dense edges", "edges"
]  # fmt: skip

TEXT = f"""
Sizes as the paper counts them, and as they compile here. *Controller states of the catalog*: the
product of the paper's ``|C|`` over the constraints (a regular expression, which its catalog does
not have, is counted as it compiles). *Minimal*: the controller after trimming and minimisation.
*Pairs* are ``S |C|`` of the catalog, *nodes* the pairs of a state and a controller state that some
feasible path visits; *dense edges* are ``S^2 |C|``, *edges* what a recursion walks through.
Families on {len(STATES)} states; the worked examples on three; catalogs are those of the other
experiments. No data and no seeds are involved; times are in ``timing.rst``.
"""


def run(options):
    chain = make_chain(1, random_state=0)
    groups = {
        "family": {name: ([rule], STATES) for name, (rule, _) in FAMILIES.items()},
        "worked example": {name: ([rule], [1, 2, 3]) for name, (rule, _) in EXAMPLES.items()},
        "catalog": {
            "synthetic chain": (chain.constraints, chain.states),
            "protocol of activities": (protocol.rules(), protocol.STATES),
        },
    }
    sizes = {
        group: {name: size_of(*each) for name, each in members.items()}
        for group, members in groups.items()
    }
    published = {name: paper for name, (_, paper) in FAMILIES.items()}
    pairs = {name: paper for name, (_, paper) in EXAMPLES.items()}
    tables = [
        Table(f"By {group}{paper}:", HEADER, [
            [name, beside(s.catalog, published.get(name)), s.minimal,
             beside(s.pairs, pairs.get(name)), s.nodes, s.dense_edges, s.edges]
            for name, s in found.items()
        ])
        for (group, found), paper in zip(sizes.items(), (" | the paper's", " | the paper's", ""))
    ]  # fmt: skip
    records = [
        {"group": group, "rules": name, **vars(s)}
        for group, found in sizes.items()
        for name, s in found.items()
    ]
    return Report(
        "overhead", "Controller overhead by family", TEXT, tables, _findings(sizes), records
    )


def _findings(sizes):
    families, examples = sizes["family"], sizes["worked example"]
    larger = [n for n, s in families.items() if s.minimal > FAMILIES[n][1]]
    smaller = [n for n, s in families.items() if s.minimal < FAMILIES[n][1]]
    dense = [n for n, s in families.items() if s.edges >= s.dense_edges]
    unreachable = examples["precedence 1 before 3"]
    catalogs = sizes["catalog"]
    return [
        Finding(
            "The overhead is at most ``|C|`` of the catalog.",
            f"the minimal controller is larger in {len(larger)} of {len(families)} families, equal "
            f"in {len(families) - len(larger) - len(smaller)} and smaller in {len(smaller)} "
            f"({', '.join(smaller)}).",
            not larger,
        ),
        Finding(
            "In practice the cost is below the dense worst case.",
            f"the edges are fewer than ``S^2 |C|`` in {len(families) - len(dense)} of "
            f"{len(families)} families.",
            not dense,
        ),
        Finding(
            "Of the six pairs of the precedence example, (3, 0) cannot be reached.",
            f"{unreachable.pairs - unreachable.nodes} of {unreachable.pairs} cannot.",
            bool(unreachable.nodes < unreachable.pairs),
        ),
        Finding(
            "Fourteen segments on three states need 42 pairs.",
            f"{examples['13 transitions'].nodes} nodes.",
            bool(examples["13 transitions"].nodes == 42),
        ),
        Finding(
            "Composed catalogs collapse when only what can be reached is kept.",
            "; ".join(f"{n}: {s.pairs} pairs become {s.nodes} nodes" for n, s in catalogs.items())
            + ".",
            all(s.nodes < s.pairs / 2 for s in catalogs.values()),
        ),
    ]
