"""Hypothesis strategies: random constraints over given states, and compositions of them.

A constraint drawn here has valid parameters; it may still be one that no path satisfies.
"""

from functools import reduce
from operator import and_, or_

from hypothesis import strategies as st

from skchmm import constraints as C

LABELS = ("A", "B", "C", "D")


def state_lists(min_size=2, max_size=4):
    """Lists of state labels, strings or integers."""
    return st.integers(min_size, max_size).flatmap(
        lambda n: st.sampled_from([list(LABELS[:n]), list(range(n))])
    )


def label_sets(states):
    """One label, or a list or a set of labels."""
    many = st.lists(st.sampled_from(states), min_size=1, unique=True)
    return st.one_of(st.sampled_from(states), many, many.map(frozenset))


@st.composite
def stage_lists(draw, states):
    """Ordered stages: some of the states, shuffled, cut into labels and sets."""
    order = draw(st.permutations(states))
    order = order[: draw(st.integers(1, len(order)))]
    stages, start = [], 0
    while start < len(order):
        size = draw(st.integers(1, 2))
        stages.append(order[start] if size == 1 else frozenset(order[start : start + size]))
        start += size
    return stages


@st.composite
def occupancies(draw, states, max_k):
    bounds = st.integers(0, max_k)
    low, high = sorted([draw(bounds), draw(bounds)])
    at_least, at_most = draw(st.sampled_from([(low, None), (None, high), (low, high)]))
    return C.Occupancy(draw(label_sets(states)), at_least=at_least, at_most=at_most)


@st.composite
def windows(draw, states, max_k):
    start = draw(st.integers(0, max_k))
    return C.Window(draw(label_sets(states)), start, start + draw(st.integers(1, max_k + 1)))


def families(states, max_k=3):
    """A strategy for each constraint, by its name."""
    states = list(states)
    A, k = label_sets(states), st.integers(0, max_k)
    edge = st.tuples(A, A)
    return {
        "Precedence": st.builds(C.Precedence, A, A),
        "ForbiddenEdges": st.builds(C.ForbiddenEdges, st.lists(edge, min_size=1, max_size=4)),
        "StageMonotone": st.builds(C.StageMonotone, stage_lists(states), st.booleans()),
        "AtLeastVisits": st.builds(C.AtLeastVisits, A, k),
        "AtMostVisits": st.builds(C.AtMostVisits, A, k),
        "ExactVisits": st.builds(C.ExactVisits, A, k),
        "Transitions": st.builds(C.Transitions, k),
        "Segments": st.builds(C.Segments, st.integers(1, max_k + 1)),
        "AllDifferent": st.builds(C.AllDifferent, st.one_of(st.none(), A)),
        "NoDwell": st.builds(C.NoDwell, A),
        "NoReentry": st.builds(C.NoReentry, A),
        "CoolDown": st.builds(C.CoolDown, A, k),
        "StartsIn": st.builds(C.StartsIn, A),
        "EndsIn": st.builds(C.EndsIn, A),
        "MinDuration": st.builds(C.MinDuration, A, k),
        "MaxDuration": st.builds(C.MaxDuration, A, k),
        "Occupancy": occupancies(states, max_k),
        "Window": windows(states, max_k),
        "VisitBy": st.builds(C.VisitBy, A, k),
    }


def constraints(states, max_k=3):
    """Any single constraint."""
    return st.one_of(*families(states, max_k).values())


def compositions(states, max_k=3, depth=3):
    """Constraints combined with ``&``, ``|`` and ``~``, nested up to `depth` deep."""
    parts = constraints(states, max_k)
    for _ in range(depth):
        several = st.lists(parts, min_size=2, max_size=3)
        parts = st.one_of(
            parts,
            parts.map(lambda c: ~c),
            several.map(lambda cs: reduce(and_, cs)),
            several.map(lambda cs: reduce(or_, cs)),
        )
    return parts


def constraint_lists(states, max_size=4, max_k=3, depth=1):
    """What an estimator takes as ``constraints=``: a list, possibly empty."""
    return st.lists(compositions(states, max_k, depth), max_size=max_size)
