"""Marginals that do not look ahead, against their definition."""

from itertools import product

import numpy as np
import pytest
from scipy.linalg import expm

from skchmm import CTConstrainedHMM, InfeasibleSequenceError
from skchmm.constraints import (
    AtMostVisits,
    EndsIn,
    ForbiddenEdges,
    MinDuration,
    Soft,
    StartsIn,
    Window,
)
from skchmm.continuous import filtering

from ..oracles.predicates import holds

STATES = ["a", "b", "c"]
RNG = np.random.default_rng(0)
START = np.array([0.5, 0.3, 0.2])
RATES = np.array([[0, 0.7, 0.2], [0.4, 0, 0.9], [0.3, 0.1, 0]])
Q = RATES - np.diag(RATES.sum(axis=1))
TIMES = np.array([0.0, 0.4, 0.4, 2.0, 9.0])
LOGS = np.log(RNG.dirichlet(np.ones(3), size=5))


def model(rules, semantics, generator=Q):
    return CTConstrainedHMM.from_parameters(
        START, generator, states=STATES, constraints=rules, semantics=semantics
    )


def can_be_completed(prefix, rules, more=2):
    return any(
        all(holds(rule, [*prefix, *rest]) for rule in rules)
        for n in range(more + 1)
        for rest in product(STATES, repeat=n)
    )


@pytest.mark.parametrize(
    "rules",
    [
        [],
        [AtMostVisits("a", 1)],
        [StartsIn(["a", "b"]), EndsIn("c")],
        [ForbiddenEdges([("a", "c"), ("b", "a")])],
        [Window("b", 1, 3)],
        [MinDuration("a", 2)],
    ],
    ids=str,
)
def test_states_at_the_observations_by_enumeration(rules):
    found = model(rules, "observed").filter_proba(LOGS, TIMES)
    between = [expm(Q * gap) for gap in np.diff(TIMES, prepend=0.0)]
    for t in range(len(TIMES)):
        expected = np.zeros(3)
        for path in product(range(3), repeat=t + 1):
            labels = [STATES[i] for i in path]
            if not can_be_completed(labels, rules):
                continue
            p = START[path[0]] * np.exp(LOGS[0, path[0]])
            for s in range(1, t + 1):
                p *= between[s][path[s - 1], path[s]]
                p *= np.exp(LOGS[s, path[s]])
            expected[path[-1]] += p
        np.testing.assert_allclose(found[t], expected / expected.sum(), rtol=1e-10, atol=1e-14)


def killed(pairs, jump):
    """Generator over pairs (state, memory), from what a jump makes of the memory; None: dead."""
    out = np.diag([Q[i, i] for i, _ in pairs])
    for k, (i, memory) in enumerate(pairs):
        for j in range(3):
            after = None if i == j else jump(i, j, memory)
            if after is not None:
                out[k, pairs.index((j, after))] += Q[i, j]
    return out


JUMPS = {
    "at most one visit to a": (
        AtMostVisits("a", 1),
        [(i, v) for i in range(3) for v in range(2)],
        lambda i: 1 if i == 0 else 0,
        lambda i, j, v: None if j == 0 and v == 1 else v + (j == 0),
    ),
    "forbidden edges": (
        ForbiddenEdges([("a", "c"), ("b", "a")]),
        [(i, 0) for i in range(3)],
        lambda i: 0,
        lambda i, j, v: None if (i, j) in ((0, 2), (1, 0)) else 0,
    ),
    "ends in c": (
        EndsIn("c"),
        [(i, 0) for i in range(3)],
        lambda i: 0,
        lambda i, j, v: 0,
    ),
}


@pytest.mark.parametrize("name", JUMPS)
def test_jump_paths_by_a_killed_generator(name):
    rule, pairs, first, jump = JUMPS[name]
    generator = killed(pairs, jump)
    alpha = np.zeros(len(pairs))
    for i in range(3):
        alpha[pairs.index((i, first(i)))] = START[i]
    found = model(rule, "path").filter_proba(LOGS, TIMES)
    for t in range(len(TIMES)):
        if t:
            alpha = alpha @ expm(generator * (TIMES[t] - TIMES[t - 1]))
        alpha = alpha * np.exp([LOGS[t, i] for i, _ in pairs])
        expected = [sum(a for a, (i, _) in zip(alpha, pairs) if i == state) for state in range(3)]
        np.testing.assert_allclose(found[t], np.array(expected) / sum(expected), rtol=1e-9)


@pytest.mark.parametrize("semantics", ["path", "observed"])
def test_the_last_row_is_that_of_smoothing(semantics):
    rules = AtMostVisits("a", 2)
    for n in (1, 3, 5):
        found = model(rules, semantics).filter_proba(LOGS[:n], TIMES[:n])
        smoothed = model(rules, semantics).predict_proba(LOGS[:n], TIMES[:n])
        np.testing.assert_allclose(found[-1], smoothed[-1], rtol=1e-10)


@pytest.mark.parametrize("semantics", ["path", "observed"])
def test_what_was_negligible_may_come_back(semantics):
    logs = np.array([[0.0, -900.0, -np.inf], [-1800.0, 0.0, -np.inf], [0.0, -5.0, -np.inf]])
    rules = ForbiddenEdges([("a", "b")])
    generator = np.array([[-0.3, 0.0, 0.3], [1e-3, -1e-3, 0], [0.5, 0.0, -0.5]])
    times = [0.0, 1e-3, 1.0]
    found = model(rules, semantics, generator).filter_proba(logs, times)
    assert found[0, 0] == pytest.approx(1)
    assert found[1, 1] == pytest.approx(1)
    assert np.isfinite(found).all()


@pytest.mark.parametrize("semantics", ["path", "observed"])
def test_doubles_and_logarithms_agree(semantics, monkeypatch):
    rng = np.random.default_rng(1)
    logs = [np.log(rng.dirichlet(np.ones(3), size=n)) for n in (30, 1, 12)]
    times = [np.cumsum(rng.exponential(size=len(x))) for x in logs]
    ruled = model(AtMostVisits("a", 3), semantics)
    expected = ruled.filter_proba(logs, times)
    monkeypatch.setattr(filtering, "_in_doubles", lambda *args: False)
    for a, b in zip(expected, ruled.filter_proba(logs, times)):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-13)


def test_no_path_is_left():
    logs = LOGS.copy()
    logs[2, 1:] = -np.inf
    ruled = model(AtMostVisits("a", 0), "observed")
    with pytest.raises(InfeasibleSequenceError):
        ruled.filter_proba(logs, TIMES)


def test_costs_of_the_steps_so_far_count():
    edges = [("a", "b"), ("b", "b")]
    rule = Soft(ForbiddenEdges(edges), 0.9, each=True)
    found = model([rule], "observed").filter_proba(LOGS, TIMES)
    between = [expm(Q * gap) for gap in np.diff(TIMES, prepend=0.0)]
    for t in range(len(TIMES)):
        expected = np.zeros(3)
        for path in product(range(3), repeat=t + 1):
            p = START[path[0]] * np.exp(LOGS[0, path[0]])
            for s in range(1, t + 1):
                breaks = (STATES[path[s - 1]], STATES[path[s]]) in edges
                p *= between[s][path[s - 1], path[s]] * np.exp(LOGS[s, path[s]] - 0.9 * breaks)
            expected[path[-1]] += p
        np.testing.assert_allclose(found[t], expected / expected.sum(), atol=1e-12)
