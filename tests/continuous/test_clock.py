"""Clocks: gaps go through a map before the generator sees them; all times stay the user's."""

import numpy as np
import pytest
from scipy.stats import kstest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from skchmm import CTConstrainedHMM
from skchmm.constraints import AtMostVisits, ForbiddenEdges, Precedence
from skchmm.emissions import Categorical
from skchmm.sequences.clocks import GapMap
from tests.continuous.oracle import exponential, random_generator

STATES = ["a", "b", "c"]
COINS = Categorical.from_parameters(np.full((3, 2), 0.5))
# Clock -> what it makes of a gap, and back.
MAPS = {
    "log": (np.log1p, np.expm1),
    0.3: (lambda g: g**0.3, lambda r: r ** (1 / 0.3)),
    2.0: (np.square, np.sqrt),
}
RULES = {
    "path": [AtMostVisits("a", 3), Precedence("b", "c")],
    "observed": [ForbiddenEdges([("a", "c")])],
}


def problem(seed=0, n=6):
    rng = np.random.default_rng(seed)
    generator, startprob = random_generator(rng, 3), rng.dirichlet(np.ones(3))
    times = 5 + np.cumsum(rng.exponential(1.5, size=n))
    times[2] = times[1]  # a gap of zero
    X = np.log(rng.random((n, 3)))
    X[2] = X[1]
    return startprob, generator, times, X


def shown(times, forward):
    """What a clock shows at each observation, from the definition."""
    return np.concatenate([[0.0], np.cumsum([forward(v - u) for u, v in zip(times, times[1:])])])


def model_of(startprob, generator, clock=None, semantics="path", **params):
    return CTConstrainedHMM.from_parameters(
        startprob, generator, states=STATES, constraints=RULES[semantics], semantics=semantics,
        clock=clock, **params,
    )  # fmt: skip


@pytest.mark.parametrize("clock", MAPS)
def test_the_map_and_back(clock):
    gaps = np.array([0.0, 1e-6, 0.3, 1.0, 40.0, 1e4])
    gap_map, (forward, back) = GapMap(clock), MAPS[clock]
    np.testing.assert_allclose(gap_map.forward(gaps), forward(gaps))
    np.testing.assert_allclose(gap_map.back(gap_map.forward(gaps)), gaps, rtol=1e-9)
    np.testing.assert_allclose(gap_map.back(gaps[:3]), back(gaps[:3]))
    assert (np.diff(gap_map.forward(gaps)) > 0).all()


@pytest.mark.parametrize("semantics", RULES)
@pytest.mark.parametrize("clock", MAPS)
def test_answers_are_those_for_the_readings_of_the_clock(clock, semantics):
    startprob, generator, times, X = problem()
    model = model_of(startprob, generator, clock, semantics)
    plain = model_of(startprob, generator, None, semantics)
    readings = shown(times, MAPS[clock][0])
    for method in ("log_likelihood", "predict_proba", "predict_log_proba", "log_feasibility"):
        np.testing.assert_allclose(
            getattr(model, method)(X, times), getattr(plain, method)(X, readings), rtol=1e-9
        )
    assert model.predict(X, times).tolist() == plain.predict(X, readings).tolist()
    for (p, path), (q, other) in zip(model.kbest(X, 4, times), plain.kbest(X, 4, readings)):
        assert path.tolist() == other.tolist() and p == pytest.approx(q)
    # several sequences, each with a clock of its own, one of them with a single row
    many, every = [X, X[:1], X[:4]], [times, times[:1], times[:4] + 100]
    expected = [model.log_likelihood(x, t)[0] for x, t in zip(many, every)]
    np.testing.assert_allclose(model.log_likelihood(many, every), expected)


@pytest.mark.filterwarnings("ignore:The label changes")
@pytest.mark.parametrize("clock", MAPS)
def test_what_is_learned_is_learned_from_the_readings(clock):
    startprob, generator, _, _ = problem()
    rng = np.random.default_rng(1)
    every = [10 + np.cumsum(rng.exponential(2.0, size=15)) for _ in range(8)]
    readings = [shown(times, MAPS[clock][0]) for times in every]
    X, y = model_of(startprob, generator, emission=COINS).sample(times=readings, random_state=0)
    X = [path == "a" for path in y]
    some = [np.where(rng.random(len(path)) < 0.5, path, None) for path in y]
    for labels in (y, some, None):
        model = CTConstrainedHMM(states=STATES, clock=clock, n_iter=4, tol=np.inf, random_state=0)
        plain = clone(model).set_params(clock=None)
        model.fit(X, labels, times=every)
        plain.fit(X, labels, times=readings)
        np.testing.assert_allclose(model.generator_, plain.generator_, rtol=1e-8)
        np.testing.assert_allclose(model.history_, plain.history_, rtol=1e-8)


@pytest.mark.parametrize("semantics", RULES)
@pytest.mark.parametrize("clock", MAPS)
def test_marginals_between_observations(clock, semantics):
    """Within a gap the clock has moved on by the map of the time since the observation."""
    startprob, generator, times, X = problem()
    forward, readings = MAPS[clock][0], shown(times, MAPS[clock][0])
    grid = np.concatenate([times[:-1] + 0.3 * np.diff(times), times])
    inside = [readings[k] + forward(grid[k] - times[k]) for k in range(len(times) - 1)]
    found = model_of(startprob, generator, clock, semantics).predict_proba(X, times, at=grid)
    plain = model_of(startprob, generator, None, semantics)
    expected = plain.predict_proba(X, readings, at=np.concatenate([inside, readings]))
    np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-10)
    with pytest.raises(ValueError, match="before the first observation"):
        model_of(startprob, generator, clock, semantics).predict_proba(X, times, at=[times[0] - 1])


def test_marginals_between_observations_by_exponentials():
    startprob, generator, _, _ = problem()
    X, times = np.log([[0.2, 0.5, 0.3], [0.4, 0.1, 0.5]]), [3.0, 10.0]
    model = CTConstrainedHMM.from_parameters(startprob, generator, clock="log")
    for w in (0.0, 0.4, 3.0, 7.0):
        left, right = np.log1p(w), np.log1p(7.0) - np.log1p(w)
        mass = (startprob * np.exp(X[0])) @ exponential(generator * left)
        mass = mass * (exponential(generator * right) @ np.exp(X[1]))
        found = model.predict_proba(X, times, at=[3.0 + w])[0]
        np.testing.assert_allclose(found, mass / mass.sum(), rtol=1e-8)


# ------------------------------------------------------------------------ times of jumps
@pytest.mark.parametrize("clock", MAPS)
def test_jumps_come_when_the_clock_says_so(clock):
    """From a to b for good: P(no jump until w after an observation) is exp(-q map(w))."""
    q, forward = 0.4, MAPS[clock][0]
    model = CTConstrainedHMM.from_parameters(
        [1, 0], [[-q, q], [0, 0]], states=["a", "b"], clock=clock
    )
    paths = model.sample_paths(8.0, 800, random_state=0)
    first = np.array([path.times[1] if path.n_jumps else 8.0 for path in paths])
    assert all(path.times[0] == 0 and path.end == 8.0 for path in paths)

    def never_before(w):
        return 1 - np.where(w < 8.0, np.exp(-q * forward(w)), 0.0)

    assert (
        kstest(first[first < 8.0], lambda w: never_before(w) / never_before(7.9999)).pvalue > 0.01
    )
    assert np.mean(first == 8.0) == pytest.approx(np.exp(-q * forward(8.0)), abs=0.05)


@pytest.mark.parametrize("semantics", RULES)
@pytest.mark.parametrize("clock", MAPS)
def test_paths_are_told_in_the_times_of_the_user(clock, semantics):
    startprob, generator, times, X = problem()
    model = model_of(startprob, generator, clock, semantics)
    decoded = model.decode_path(X, times)
    plain = model_of(startprob, generator, None, semantics)
    readings, back = shown(times, MAPS[clock][0]), MAPS[clock][1]
    other = plain.decode_path(X, readings)
    assert decoded.states.tolist() == other.states.tolist()
    assert decoded.log_prob == pytest.approx(other.log_prob)
    gap = np.searchsorted(readings, other.times, side="right") - 1
    np.testing.assert_allclose(decoded.times, times[gap] + back(other.times - readings[gap]))
    assert decoded.times[0] == times[0] and decoded.end == times[-1]
    labels, paths = model.sample_posterior(X, 30, times, random_state=0, return_paths=True)
    coins = model_of(startprob, generator, clock, semantics, emission=COINS)
    _, y, drawn = coins.sample(times=[times] * 5, random_state=0, return_paths=True)
    for path, states in [*zip(paths, labels), *zip(drawn, y), (decoded, model.predict(X, times))]:
        assert path.at(times).tolist() == states.tolist()
        assert (np.diff(path.times) >= 0).all()
        assert path.times[0] == times[0] and path.times[-1] <= path.end == times[-1]


def test_datetimes_stay_datetimes():
    startprob, generator, times, X = problem()
    seconds = np.round(times, 3)
    dates = np.datetime64("2024-03-30T22:00", "ns") + (seconds * 1e9).astype("timedelta64[ns]")
    model = model_of(startprob, generator / 3, "log")
    path, numbers = model.decode_path(X, dates), model.decode_path(X, seconds)
    np.testing.assert_allclose(
        (path.times - dates[0]) / np.timedelta64(1, "s"), numbers.times - seconds[0], atol=1e-6
    )
    np.testing.assert_allclose(
        model.predict_proba(X, dates, at=dates[[0]] + np.timedelta64(500, "ms")),
        model.predict_proba(X, seconds, at=seconds[[0]] + 0.5),
        rtol=1e-6,
    )


@pytest.mark.parametrize("semantics", RULES)
@pytest.mark.parametrize("clock", MAPS)
def test_expected_time_is_the_integral_of_the_marginals(clock, semantics):
    startprob, generator, times, X = problem()
    model = model_of(startprob, generator, clock, semantics)
    found = model.expected_duration(["a", "b"], X, times)

    # a grid that is finest near the observations, where maps are steepest
    even = np.linspace(0, 1, 301)
    shares = even**3 * (10 - 15 * even + 6 * even**2)
    grid = (times[:-1, None] + np.diff(times)[:, None] * shares).clip(max=times[1:, None])
    marginals = model.predict_proba(X, times, at=grid.ravel())[:, :2].sum(axis=1)
    integral = np.trapezoid(marginals.reshape(grid.shape), grid, axis=1).sum()
    assert found.steps[0] == pytest.approx(integral, rel=1e-3)
    whole = model.expected_duration(STATES, X, times)
    assert whole.steps[0] == pytest.approx(times[-1] - times[0])
    plain = model_of(startprob, generator, None, semantics)
    readings = shown(times, MAPS[clock][0])
    assert found.visits == pytest.approx(plain.expected_duration(["a", "b"], X, readings).visits)
    as_it_is = model_of(startprob, generator, 1.0, semantics).expected_duration("a", X, times)
    assert as_it_is.steps == pytest.approx(plain.expected_duration("a", X, times).steps, rel=1e-8)


# -------------------------------------------------------------------------------- values
@pytest.mark.parametrize("clock", [0, -1.0, np.nan, np.inf, "sqrt", True, [1.0], "None"])
def test_what_is_no_clock(clock):
    with pytest.raises(ValueError, match=r"clock must be None .* 'log' .* positive number"):
        CTConstrainedHMM(clock=clock).fit([["x", "y"]], [["a", "b"]], times=[[0.0, 1.0]])
    with pytest.raises(ValueError, match="clock must be"):
        CTConstrainedHMM.from_parameters([1.0], [[0.0]], clock=clock)


def test_gaps_that_a_power_cannot_hold():
    model = CTConstrainedHMM.from_parameters([0.5, 0.5], [[-1, 1], [1, -1]], clock=200.0)
    for gap, into in ((1e3, "inf"), (1e-3, "0")):
        with pytest.raises(ValueError, match=f"turns a gap of {gap:g} into {into}"):
            model.predict(np.zeros((2, 2)), [0.0, gap])


def test_a_grid_of_clocks():
    startprob, generator, _, _ = problem()
    rng = np.random.default_rng(0)
    times = [np.cumsum(rng.exponential(size=12)) for _ in range(6)]
    _, y = model_of(startprob, generator, emission=COINS).sample(times=times, random_state=0)
    X = [path == "a" for path in y]
    search = GridSearchCV(CTConstrainedHMM(), {"clock": [None, "log", 0.5]}, cv=2)
    search.fit(X, y)
    assert len(search.cv_results_["params"]) == 3
