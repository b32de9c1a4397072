"""The cheapest edit of a path, against brute force over all paths near it."""

import math
import time
from functools import lru_cache
from itertools import product

import numpy as np
import pytest

from skchmm import Controller, compile
from skchmm.constraints import (
    AtLeastVisits,
    EndsIn,
    ExactVisits,
    LTLf,
    MinDuration,
    Precedence,
    Regex,
    StartsIn,
    VisitBy,
    Window,
    declare,
)

STATES = ["a", "b", "c"]
RULES = [
    [],
    [Precedence("a", "b"), EndsIn("c")],
    [ExactVisits("b", 1), StartsIn("a")],
    [MinDuration("a", 2), AtLeastVisits("b", 2)],
    [Regex("a b* c")],
    [LTLf("G(a -> F b) & !c U b")],
    [Window("a", 1, 3), EndsIn(["a", "b"])],
    [VisitBy("c", 1), Window("b", 2, 4)],
    [declare.ChainResponse("a", "b"), declare.Existence("a", 2)],
]
COSTS = [
    (1.0, 1.0, 1.0), (1.0, 2.0, 2.5), (0.3, 0.7, 0.5), (2.0, 1.0, math.inf), (1.0, math.inf, 1.0),
    (math.inf, 1.0, 1.0), (math.inf, math.inf, 1.0), (0.0, 1.0, 1.0), (1.0, 0.0, 3.0),
]  # fmt: skip


def edit_cost(path, other, insert, delete, substitute):
    """The cost of turning one path into another, by its definition."""

    @lru_cache(None)
    def cost(i, j):
        if i == len(path) and j == len(other):
            return 0.0
        ways = []
        if i < len(path):
            ways.append(delete + cost(i + 1, j))
        if j < len(other):
            ways.append(insert + cost(i, j + 1))
        if i < len(path) and j < len(other):
            ways.append((0.0 if path[i] == other[j] else substitute) + cost(i + 1, j + 1))
        return min(ways)

    return cost(0, 0)


@pytest.mark.parametrize("rules", RULES, ids=str)
def test_equal_to_brute_force(rules):
    controller = compile(rules, STATES)
    every = [p for n in range(1, 7) for p in product(STATES, repeat=n)]
    accepted = [p for p in every if controller.accepts(p)][:400]
    rng = np.random.default_rng(0)
    for n in (0, 1, 3):
        for costs in COSTS:
            path = rng.choice(["a", "b", "c", "x"], size=n).tolist()
            named = dict(zip(("insert", "delete", "substitute"), costs))
            best = min(edit_cost(tuple(path), p, *costs) for p in accepted)
            if math.isinf(best):
                with pytest.raises(ValueError, match="No edit of the path without"):
                    controller.align(path, **named)
                continue
            found = controller.align(path, **named)
            # none of the others is nearer, and it is as near as is said
            assert found.cost <= best + 1e-9, (path, costs)
            assert controller.accepts(found.path)
            assert edit_cost(tuple(path), found.path, *costs) == pytest.approx(found.cost)
            if len(found.path) < 5:
                assert found.cost == pytest.approx(best)
            check_edits(path, found, named)


def check_edits(path, found, costs):
    """The edits turn the path into the new one, and cost what is said."""
    assert sum(costs[edit.kind] for edit in found.edits) == pytest.approx(found.cost)
    edits = sorted(enumerate(found.edits), key=lambda e: (e[1].step, e[1].kind != "insert", e[0]))
    assert [edit for _, edit in edits] == found.edits
    out, step = [], 0
    for edit in found.edits:
        out += path[step : edit.step]
        step = edit.step
        if edit.kind != "insert":
            assert path[step] == edit.old
            step += 1
        if edit.kind != "delete":
            out.append(edit.new)
    assert out + path[step:] == found.path


@pytest.mark.parametrize("seed", range(15))
def test_random_automata(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 6))
    table = rng.integers(-1, n, size=(n, 2))
    accept = rng.random(n) < 0.5
    controller = Controller(["a", "b"], table, accept)
    accepted = [p for k in range(1, 10) for p in product("ab", repeat=k) if controller.accepts(p)]
    for length in (0, 1, 3):
        path = rng.choice(["a", "b", "x"], size=length).tolist()
        if not accepted:
            with pytest.raises(ValueError, match="No edit of the path satisfies"):
                controller.align(path)
            continue
        best = min(edit_cost(tuple(path), p, 1.0, 1.0, 1.0) for p in accepted)
        found = controller.align(path)
        assert found.cost == best
        assert controller.accepts(found.path)


def test_a_path_that_is_right_is_left_alone():
    controller = compile([Precedence("a", "b"), EndsIn("c")], STATES)
    found = controller.align(["a", "b", "c"])
    assert (found.cost, found.path, found.edits) == (0.0, ["a", "b", "c"], [])
    assert str(found) == "cost 0, 0 edits"


def test_printing():
    found = compile([Precedence("a", "b"), EndsIn("c")], STATES).align("bbx")
    assert str(found).splitlines() == [
        "cost 2, 2 edits", "  replace 'b' at step 0 by 'a'", "  replace 'x' at step 2 by 'c'",
    ]  # fmt: skip
    one = compile(Regex("a"), STATES)
    assert str(one.align(["a", "b"]).edits[0]) == "delete 'b' at step 1"
    assert str(one.align([]).edits[0]) == "insert 'a' before step 0"


@pytest.mark.unsanitized
def test_thousands_of_steps():
    rng = np.random.default_rng(0)
    controller = compile([MinDuration("a", 5), Precedence("a", "b"), EndsIn("c")], STATES)
    path = np.repeat(rng.choice(["a", "c"], size=500), 10).tolist()
    path[1000], path[2500], path[-1] = "b", "x", "b"
    began = time.perf_counter()
    found = controller.align(path)
    assert time.perf_counter() - began < 20
    assert controller.accepts(found.path)
    assert 0 < found.cost <= 20


def test_time_that_was_tabulated_to_a_horizon():
    """A path of even length at most, b only at even steps."""
    controller = Controller.from_functions(
        ["a", "b"], [0], lambda i: 0, lambda c, i, j, t: 0,
        lambda c, i, j, t: j == "a" or t % 2 == 1, [0], horizon=6,
    )  # fmt: skip
    accepted = [p for k in range(1, 7) for p in product("ab", repeat=k) if controller.accepts(p)]
    for path in (["b", "b", "b"], ["a", "b"], list("abababab")):
        best = min(edit_cost(tuple(path), p, 1.0, 1.0, 1.0) for p in accepted)
        found = controller.align(path)
        assert found.cost == best and controller.accepts(found.path)


def test_what_is_refused():
    controller = compile(EndsIn("c"), STATES)
    for costs in ({"insert": -1}, {"delete": "1"}, {"substitute": math.nan}, {"insert": True}):
        with pytest.raises(ValueError, match="must be a cost that is not negative"):
            controller.align(["a"], **costs)
    with pytest.raises(ValueError, match="A path is a sequence of labels"):
        controller.align(3)
    with pytest.raises(ValueError, match="depend on time up to step 50,000,000"):
        compile(Window("a", 5, 50_000_000), STATES).align(["a"])
    assert controller.align([["a"], None, "c"]).cost == 2
