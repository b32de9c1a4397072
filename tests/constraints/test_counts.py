"""How many paths a constraint accepts, and how many controller states it needs."""

from functools import cache
from math import comb, perm

import numpy as np
import pytest

from skchmm import constraints as C

STATES = ["A", "B", "C", "D"]
LENGTHS = range(1, 13)


def n_accepted(constraint, states, length):
    """The number of accepted paths of a length, by powers of the controller's tables."""
    controller = constraint.controller(states)
    ways = np.zeros(len(controller.accept), dtype=np.int64)
    ways[0] = 1
    for t in range(length):
        table = controller.tables[np.searchsorted(controller.epochs, t, side="right") - 1]
        following = np.zeros_like(ways)
        here, label = np.nonzero(table >= 0)
        np.add.at(following, table[here, label], ways[here])
        ways = following
    return int(ways[controller.accept].sum())


@cache
def words_with_short_runs(n, k):
    """Binary words of length n without more than k ones in a row (k = 1: Fibonacci)."""
    if n <= k:
        return 2**n
    return sum(words_with_short_runs(n - 1 - run, k) for run in range(k + 1))


@pytest.mark.parametrize("n", LENGTHS)
def test_fibonacci(n):
    fibonacci = [1, 2]
    while len(fibonacci) <= n:
        fibonacci.append(fibonacci[-1] + fibonacci[-2])
    assert n_accepted(C.NoDwell("A"), ["A", "B"], n) == fibonacci[n]
    assert n_accepted(C.ForbiddenEdges([("A", "A")]), ["A", "B"], n) == fibonacci[n]
    assert n_accepted(C.MaxDuration("A", 1), ["A", "B"], n) == fibonacci[n]


@pytest.mark.parametrize("k", range(4))
@pytest.mark.parametrize("n", LENGTHS)
def test_counts(n, k):
    def count(constraint, states=STATES):
        return n_accepted(constraint, states, n)

    assert count(C.Transitions(k)) == 4 * comb(n - 1, k) * 3**k
    assert count(C.Segments(k + 1)) == count(C.Transitions(k))
    assert count(C.AllDifferent()) == perm(4, n)
    assert count(C.Occupancy({"A", "B", "C"}, k, k)) == comb(n, k) * 3**k
    assert count(C.ExactVisits("A", k), ["A", "B"]) == comb(n + 1, 2 * k)
    assert count(C.NoReentry("A"), ["A", "B"]) == 1 + comb(n + 1, 2)
    assert count(C.MaxDuration("B", k), ["A", "B"]) == words_with_short_runs(n, k)
    assert count(C.StartsIn({"A", "B"})) == count(C.EndsIn({"A", "B"})) == 2 * 4 ** (n - 1)
    assert count(C.VisitBy("A", k)) == 4**n - 3 ** min(n, k + 1) * 4 ** max(0, n - k - 1)
    open_steps = len(range(2, min(n, 2 + k + 1)))
    assert count(C.Window("A", 2, 3 + k)) == 4**open_steps * 3 ** (n - open_steps)
    neither = [2**t for t in range(n + 1)]
    assert count(C.Precedence("A", "B")) == neither[n] + sum(
        neither[t] * 4 ** (n - t - 1) for t in range(n)
    )
    climbs = sum(comb(n - 1, steps) for start in range(4) for steps in range(4 - start))
    assert count(C.StageMonotone(STATES, allow_backward=False)) == climbs


@pytest.mark.parametrize("k", [1, 2, 5])
def test_visits_add_up(k):
    at_least, at_most = C.AtLeastVisits({"A", "B"}, k + 1), C.AtMostVisits({"A", "B"}, k)
    for n in LENGTHS:
        short, exact = n_accepted(at_most, STATES, n), C.ExactVisits({"A", "B"}, k)
        assert n_accepted(at_least, STATES, n) + short == 4**n
        below = n_accepted(C.AtMostVisits({"A", "B"}, k - 1), STATES, n)
        assert n_accepted(exact, STATES, n) == short - below


@pytest.mark.parametrize("k", range(1, 6))
def test_sizes_of_the_catalogue(k):
    def size(constraint):
        return constraint.controller(STATES).n_states

    assert size(C.Precedence("A", "B")) == 2
    assert size(C.ForbiddenEdges([("A", "B"), ("C", "A")])) == 1
    assert size(C.StageMonotone(STATES)) == 3  # from the last stage but one, all are open
    assert size(C.AtLeastVisits("A", k)) == k + 1
    assert size(C.AtMostVisits("A", k)) == k + 1
    assert size(C.ExactVisits("A", k)) == k + 1
    assert size(C.Transitions(k)) == k + 1
    assert size(C.Segments(k)) == k
    assert size(C.AllDifferent()) == 2 ** (len(STATES) - 1)
    assert size(C.AllDifferent({"A", "B", "C"})) == 2**3
    assert size(C.NoDwell({"A", "B"})) == 1
    assert size(C.NoReentry("A")) == 2
    assert size(C.CoolDown("A", k)) == k + 1


@pytest.mark.parametrize("k", range(1, 6))
def test_sizes_beyond_the_catalogue(k):
    def size(constraint):
        return constraint.controller(STATES).n_states

    assert size(C.StartsIn("A")) == 1
    assert size(C.EndsIn("A")) == 2
    assert size(C.MinDuration("A", k)) == k
    assert size(C.MaxDuration("A", k)) == k
    assert size(C.Occupancy("A", at_least=k)) == k + 1
    assert size(C.Occupancy("A", at_most=k)) == k + 1
    assert size(C.Window("A", k, 2 * k)) == 1
    assert size(C.VisitBy("A", k)) == 2
    assert size(~C.StartsIn("A")) == 1


def test_a_stage_that_cannot_be_left_behind_needs_no_memory():
    # Without going back, the highest stage is the stage of the label itself.
    chain = C.StageMonotone(STATES, allow_backward=False).controller(STATES)
    assert chain.n_states == 1
    rest = C.StageMonotone(STATES[:3], allow_backward=False).controller(STATES)
    assert rest.n_states == 4


@pytest.mark.parametrize(
    "constraint, size",
    [
        (C.Occupancy("A", at_least=5000), 5001),
        (C.Occupancy("A", at_most=5000), 5001),
        (C.MaxDuration("A", 2000), 2000),
        (C.MinDuration("A", 2000), 2000),
        (C.ExactVisits("A", 5000), 5001),
        (C.CoolDown("A", 3000), 3001),
    ],
    ids=repr,
)
def test_large_counts(constraint, size):
    assert constraint.controller(STATES).n_states == size
