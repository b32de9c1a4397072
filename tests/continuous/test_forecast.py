"""What happens after the last observation, and how long it takes: against dense generators."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.linalg import expm

from skchmm import CTConstrainedHMM, compile
from skchmm.constraints import AtLeastVisits, AtMostVisits, EndsIn, ForbiddenEdges, StartsIn
from skchmm.plotting import SurvivalDisplay

from .oracle import KilledChain, by_state, random_generator

STATES = ["a", "b", "c"]
START = np.array([0.5, 0.3, 0.2])
TIMES = np.array([0.0, 0.4, 1.5, 1.5, 3.0])
RULES = {
    "none": [],
    "memory": [AtMostVisits("b", 2), ForbiddenEdges([("c", "a")])],
    "end": [AtLeastVisits("c", 1), EndsIn(["a", "b"])],
}


def model_of(Q, rules, semantics="path", **params):
    return CTConstrainedHMM.from_parameters(
        START, Q, states=STATES, constraints=RULES[rules], semantics=semantics, **params
    )


@pytest.mark.parametrize("rules", list(RULES))
def test_after_the_last_observation(rules):
    """By the killed generator on pairs; and as if there were one more row without observation."""
    rng = np.random.default_rng(0)
    Q, X = random_generator(rng, 3), rng.normal(size=(5, 3))
    X[3] = 0.0
    model = model_of(Q, rules)
    at = np.array([9.0, 3.0, 3.5, 1.0, 4.0, 3.5])
    found = model.predict_proba(X, TIMES, at=at)
    chain = KilledChain(START, Q, compile(RULES[rules], STATES))
    alpha = chain.passes(np.diff(TIMES, prepend=0.0), X)[0][-1]
    for row, time in zip(found, at):
        if time >= 3.0:
            ends = alpha @ expm(chain.Q * (time - 3.0)) * chain.accept
            expected = by_state(ends[None] / ends.sum(), chain.states, 3)[0]
            np.testing.assert_allclose(row, expected, atol=1e-12)
            longer = np.vstack([X, np.zeros((1, 3))]), np.append(TIMES, time)
            np.testing.assert_allclose(row, model.predict_proba(*longer)[-1], atol=1e-12)
    np.testing.assert_allclose(found[1], model.predict_proba(X, TIMES)[-1], atol=1e-12)
    alone = model.predict_proba(X, TIMES, at=at[[2]])
    np.testing.assert_allclose(found[[2]], alone, atol=1e-14)


def test_after_the_last_observation_rules_on_observations_are_silent():
    rng = np.random.default_rng(1)
    Q, X = random_generator(rng, 3), rng.normal(size=(5, 3))
    model = model_of(Q, "end", "observed")
    last = model.predict_proba(X, TIMES)[-1]
    found = model.predict_proba([X, X], [TIMES, TIMES], at=[[3.0, 5.0], [4.0]])
    np.testing.assert_allclose(found[0], [last, last @ expm(Q * 2.0)], atol=1e-12)
    np.testing.assert_allclose(found[1], [last @ expm(Q)], atol=1e-12)


def test_forecasts_with_dates_and_clocks():
    rng = np.random.default_rng(2)
    Q, X = random_generator(rng, 3, scale=1e-5), rng.normal(size=(5, 3))
    dates = np.datetime64("2024-01-01") + (TIMES * 86400).astype("timedelta64[s]")
    model = model_of(Q, "none")
    found = model.predict_proba(X, dates, at=dates[-1:] + np.timedelta64(1, "D"))
    expected = model.predict_proba(X, dates)[-1] @ expm(Q * 86400)
    np.testing.assert_allclose(found[0], expected, atol=1e-12)
    Q = random_generator(rng, 3)
    slow = model_of(Q, "none", clock=0.5)
    expected = slow.predict_proba(X, TIMES)[-1] @ expm(Q * np.sqrt(4.0))
    np.testing.assert_allclose(slow.predict_proba(X, TIMES, at=[7.0])[0], expected, atol=1e-12)
    curve = SurvivalDisplay.survival(slow, "c", [4.0], start="a")
    alive = expm(np.vstack([Q[:2], np.zeros((1, 3))]) * 2.0)[0, :2].sum()
    assert curve[0] == pytest.approx(alive)


def test_times_that_make_no_sense():
    model = model_of(random_generator(np.random.default_rng(0), 3), "none")
    X = np.zeros((5, 3))
    with pytest.raises(ValueError, match="before the first observation of sequence 0"):
        model.predict_proba(X, TIMES, at=[-1.0])
    with pytest.raises(ValueError, match="at must hold times"):
        model.predict_proba(X, TIMES, at=[np.inf])
    with pytest.raises(ValueError, match="2 grids for 1 sequences"):
        model.predict_proba([X], [TIMES], at=[[1.0], [2.0]])


# ------------------------------------------------------------------------- first passage
def passage_by_hand(Q, rules, into):
    """Expected time from each start, given that a path arrives, by the density of the arrival."""
    chain = KilledChain(np.full(3, 1 / 3), Q, compile(RULES[rules], STATES))
    inside = np.isin(np.array(STATES)[chain.states], into)
    K, enters = chain.Q[~inside][:, ~inside], chain.Q[~inside][:, inside].sum(axis=1)
    starts, out = np.flatnonzero(chain.start[~inside]), np.zeros(3)
    for k in starts:
        moments = [
            quad(lambda t: t**n * (expm(K * t)[k] @ enters), 0, np.inf)[0]  # noqa: B023
            for n in (0, 1)
        ]
        out[chain.states[~inside][k]] = moments[1] / moments[0]
    return out


@pytest.mark.parametrize("rules", ["none", "memory"])
def test_expected_time_until_a_state_is_entered(rules):
    Q = random_generator(np.random.default_rng(3), 3)
    model = model_of(Q, rules)
    for into in (["c"], ["a", "c"], ["b"]):
        expected = passage_by_hand(Q, rules, into)
        found = model.expected_time_to(into, if_entered=True)
        np.testing.assert_allclose(found, expected, rtol=1e-6)
        if rules == "none":
            np.testing.assert_array_equal(model.expected_time_to(into), found)


def test_expected_time_where_a_state_may_never_be_entered():
    Q = np.array([[0, 1.0, 1.0], [0, 0, 0], [0, 0, 0]])
    model = model_of(Q, "none")
    np.testing.assert_allclose(model.expected_time_to("b"), [np.inf, 0, np.inf])
    np.testing.assert_allclose(model.expected_time_to("b", if_entered=True), [0.5, 0, np.nan])
    np.testing.assert_allclose(model.expected_time_to(["b", "c"]), [0.5, 0, 0])
    # a rule that forbids the other way leaves only paths that arrive
    model = model.with_constraints(ForbiddenEdges([("a", "c")]))
    np.testing.assert_allclose(model.expected_time_to("b"), [0.5, 0, np.inf])
    model = model.with_constraints(StartsIn("a"))
    np.testing.assert_allclose(model.expected_time_to("b", if_entered=True), [0.5, np.nan, np.nan])


@pytest.mark.parametrize("rules", ["none", "memory", "end"])
def test_hazard(rules):
    Q = random_generator(np.random.default_rng(4), 3)
    model, times = model_of(Q, rules), np.array([0.0, 0.3, 0.3, 2.0, 40.0])
    chain = KilledChain(START, Q, compile(RULES[rules], STATES))
    # those from which the end can be reached
    live = expm(chain.Q)[:, chain.accept].sum(axis=1) > 0
    inside = chain.states == 2
    K = chain.Q[np.ix_(~inside & live, ~inside & live)]
    enters = chain.Q[np.ix_(~inside & live, inside & live)].sum(axis=1)
    expected = []
    for time in times:
        v = chain.start[~inside & live] @ expm(K * time)
        expected.append(v @ enters / v.sum())
    np.testing.assert_allclose(model.hazard("c", times), expected, rtol=1e-9)
    if rules == "none":
        curve = [SurvivalDisplay.survival(model, "c", [2.0, 2.0 + d])[:2] for d in (1e-5,)]
        slope = -np.diff(np.log(curve[0]))[0] / 1e-5
        assert model.hazard("c", [2.0])[0] == pytest.approx(slope, rel=1e-4)
        assert model.hazard("c", [0.0], start="b")[0] == pytest.approx(Q[1, 2])


def test_sojourn_times():
    Q = np.array([[-0.5, 0.5, 0], [0.1, -0.3, 0.2], [0.063, 0, -0.063]])
    np.testing.assert_allclose(model_of(Q, "none").sojourn_times(), [2.0, 1 / 0.3, 1 / 0.063])
    # nobody comes back from c: whatever its rate
    forbidden = [("c", "a"), ("c", "b")]
    model = model_of(Q, "none").with_constraints(ForbiddenEdges(forbidden))
    np.testing.assert_allclose(model.sojourn_times(), [2.0, 1 / 0.3, np.inf])


def test_rates_alone_say_nothing_with_a_clock():
    model = model_of(random_generator(np.random.default_rng(0), 3), "none", clock="log")
    for ask in (model.sojourn_times, lambda: model.hazard("c", [1.0])):
        with pytest.raises(ValueError, match="clock='log'"):
            ask()
    model = model_of(random_generator(np.random.default_rng(0), 3), "none")
    with pytest.raises(ValueError, match="into: unknown state 'd'"):
        model.expected_time_to("d")
    with pytest.raises(ValueError, match="not waited for"):
        model.hazard("c", [1.0], start="c")
    with pytest.raises(ValueError, match="never decrease"):
        model.hazard("c", [1.0, 0.5])


def test_times_of_a_hazard_are_numbers():
    model = CTConstrainedHMM.from_parameters([1, 0], [[0, 0.5], [0, 0]], states=["a", "b"])
    with pytest.raises(ValueError, match="times must be numbers"):
        model.hazard("b", ["x"])
