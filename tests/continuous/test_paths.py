"""Decoded jump paths are the most likely ones; draws follow the constrained law."""

from itertools import product

import numpy as np
import pytest

from skchmm import CTConstrainedHMM, InfeasibleSequenceError, compile, satisfies
from skchmm.constraints import (
    AtMostVisits,
    CoolDown,
    EndsIn,
    ExactVisits,
    ForbiddenEdges,
    Precedence,
    Segments,
    Transitions,
)
from skchmm.continuous.generator import Generator
from skchmm.continuous.jumps import most_likely_jumps, order_probability
from skchmm.emissions import Categorical
from tests.continuous.oracle import KilledChain, ObservedPaths, exponential, random_generator

STATES = ["a", "b", "c"]


def model_of(startprob, generator, constraints, **params):
    return CTConstrainedHMM.from_parameters(
        startprob, generator, states=STATES, constraints=constraints, **params
    )


def chain_exponential(Q, order, gap):
    """P(exactly these jumps), by the exponential of the chain that makes them in turn."""
    n = len(order)
    chain = np.diag([Q[i, i] for i in order]).astype(float)
    for k in range(n - 1):
        chain[k, k + 1] = Q[order[k], order[k + 1]]
    return exponential(chain * gap)[0, -1]


def orders(S, first, last, most):
    """All orders of states from first to last with at most so many jumps."""
    for n in range(most + 1):
        for inner in product(range(S), repeat=max(n - 1, 0)):
            order = [first, *inner, last] if n else [first]
            if order[-1] == last and all(a != b for a, b in zip(order, order[1:])):
                yield order


@pytest.mark.parametrize("seed", range(3))
def test_order_of_jumps_is_the_most_likely(seed):
    rng = np.random.default_rng(seed)
    Q = random_generator(rng, 3, scale=rng.choice([0.3, 1.0]))
    rates = Generator.of_states(Q)
    for first, last, gap in product([0], range(3), [0.1, 0.5, 2.0]):
        nodes, log_prob, stays, exact = most_likely_jumps(rates, first, last, gap)
        assert exact
        probabilities = {tuple(o): chain_exponential(Q, o, gap) for o in orders(3, first, last, 6)}
        np.testing.assert_allclose(np.exp(log_prob), max(probabilities.values()), rtol=1e-9)
        np.testing.assert_allclose(probabilities[tuple(nodes)], np.exp(log_prob), rtol=1e-9)
        np.testing.assert_allclose(stays.sum(), gap)


def test_expected_stays_given_the_order():
    """Two equal rates share the time; between unequal ones the slow one has more."""
    Q = np.array([[-1.0, 1.0, 0.0], [0.0, -1.0, 1.0], [0.0, 0.0, 0.0]])
    rates = Generator.of_states(Q)
    _, stays = order_probability(rates, [0, 1], 2.0)
    np.testing.assert_allclose(stays, [1.0, 1.0])
    _, stays = order_probability(rates, [1, 2], 50.0)  # 1 is left after an exponential time
    np.testing.assert_allclose(stays, [1.0, 49.0])


@pytest.mark.parametrize("semantics", ["path", "observed"])
def test_decode_path_fills_in_what_was_not_seen(semantics):
    rng = np.random.default_rng(0)
    Q = random_generator(rng, 3)
    rules = [ForbiddenEdges([("a", "c")]), AtMostVisits("b", 2)]
    model = model_of(np.ones(3) / 3, Q, rules, semantics=semantics)
    log_b = np.full((4, 3), -8.0)
    log_b[np.arange(4), [0, 2, 2, 1]] = 0.0
    times = np.array([3.0, 4.0, 4.5, 7.0])
    log_prob, labels = model.decode(log_b, times)
    path = model.decode_path(log_b, times)
    assert path.at(times).tolist() == labels.tolist()
    assert path.times[0] == 3.0 and path.end == 7.0 and (np.diff(path.times) >= 0).all()
    assert path.log_prob <= log_prob + 1e-12
    assert [s[0] for s in path.segments] == path.states.tolist()
    assert len(path.segments) == path.n_jumps + 1
    if semantics == "path":
        assert labels.tolist()[:2] == ["a", "c"]
        assert path.states.tolist()[:3] == ["a", "b", "c"]
        assert satisfies(path.states.tolist(), rules, STATES)
    else:
        assert satisfies(labels.tolist(), rules, STATES)


def test_decode_path_over_very_long_gaps():
    Q = random_generator(np.random.default_rng(1), 3)
    model = model_of(np.ones(3) / 3, Q, [ForbiddenEdges([("a", "c")])])
    log_b = np.full((2, 3), -np.inf)
    log_b[0, 0] = log_b[1, 2] = 0.0
    path = model.decode_path(log_b, [0.0, 1e6])
    assert path.states.tolist() == ["a", "b", "c"] and not path.exact


def test_several_sequences_and_forms():
    Q = random_generator(np.random.default_rng(1), 3)
    model = model_of(np.ones(3) / 3, Q, [ExactVisits("b", 1)])
    X = [np.zeros((3, 3)), np.zeros((1, 3))]
    paths = model.decode_path(X, [[0, 1, 2], [5.0]])
    assert isinstance(paths, list) and paths[1].states.tolist() == ["b"]
    flat = model.decode_path(np.zeros((4, 3)), [0, 1, 2, 5.0], lengths=[3, 1])
    assert flat[0].states.tolist() == paths[0].states.tolist()


# -------------------------------------------------------------------------------- draws
N_DRAWS = 3000


def frequencies(labels):
    values, counts = np.unique(np.array(labels), axis=0, return_counts=True)
    return {tuple(v.tolist()): c / len(labels) for v, c in zip(values, counts)}


def agrees(found, expected, n):
    """Frequencies within five standard errors of all probabilities."""
    assert set(found) <= {k for k, p in expected.items() if p > 0}
    for key, p in expected.items():
        assert abs(found.get(key, 0.0) - p) < 5 * np.sqrt(p * (1 - p) / n) + 1e-9, key


@pytest.mark.parametrize(
    "rules", [[], [ExactVisits("b", 1), Precedence("a", "c")], [Transitions(2)]]
)
def test_draws_of_jump_paths(rules):
    rng = np.random.default_rng(0)
    Q, startprob = random_generator(rng, 3), rng.dirichlet(np.ones(3))
    emission = Categorical.from_parameters(np.eye(3)[:, None], symbols=STATES)
    model = model_of(startprob, Q, rules, emission=emission)
    times = np.array([2.0, 2.5, 4.0])
    X, y, paths = model.sample(times=times, n_sequences=N_DRAWS, random_state=0, return_paths=True)
    assert all(satisfies(p.states.tolist(), rules, STATES) for p in paths)
    assert all(p.at(times).tolist() == labels.tolist() for p, labels in zip(paths, y))
    assert all(x.ravel().tolist() == labels.tolist() for x, labels in zip(X, y))
    truth = KilledChain(startprob, Q, compile(rules, STATES))
    expected = {}
    for log_p, states in truth.all_paths(np.array([0.0, 0.5, 1.5]), np.zeros((3, 3))):
        labels = tuple(STATES[i] for i in states)
        expected[labels] = expected.get(labels, 0.0) + np.exp(log_p)
    total = sum(expected.values())
    agrees(frequencies(y), {k: p / total for k, p in expected.items()}, N_DRAWS)
    X, y = model.sample([2, 5], random_state=0)
    assert [len(x) for x in X] == [len(labels) for labels in y] == [2, 5]
    assert model.sample(3, random_state=0)[1].shape == (3,)
    # the number of jumps and the time spent agree with their expectations
    blank = np.tile([STATES[0]], 2)
    model.emission_ = Categorical.from_parameters(np.full((3, 1, 3), 1 / 3), symbols=STATES)
    for label in STATES:
        expected = model.expected_duration(label, blank, [2.0, 4.0])
        spent = [sum(stop - start for x, start, stop in p.segments if x == label) for p in paths]
        visits = [p.states.tolist().count(label) for p in paths]
        for draws, mean in ((spent, expected.steps[0]), (visits, expected.visits[0])):
            assert abs(np.mean(draws) - mean) < 5 * np.std(draws) / np.sqrt(N_DRAWS) + 1e-9


def test_draws_under_observed_semantics():
    rng = np.random.default_rng(1)
    Q, startprob = random_generator(rng, 3), rng.dirichlet(np.ones(3))
    rules = [CoolDown("a", 1), EndsIn(["a", "b"])]
    model = model_of(startprob, Q, rules, semantics="observed")
    times = np.array([0.0, 0.5, 2.0, 2.1])
    sequences, _ = model._observation_times(None, times, 800)
    y, paths = model._draw(sequences, np.random.RandomState(0))
    truth = ObservedPaths(
        startprob, Q, np.diff(times, prepend=0.0), np.zeros((4, 3)), STATES, rules
    )
    expected = dict(zip(truth.paths, truth.weights / truth.weights.sum()))
    agrees(frequencies(y), expected, 800)
    assert all(p.at(times).tolist() == [STATES[i] for i in path] for p, path in zip(paths[:50], y))


@pytest.mark.parametrize("semantics", ["path", "observed"])
def test_posterior_draws(semantics):
    rng = np.random.default_rng(2)
    Q, startprob = random_generator(rng, 3), rng.dirichlet(np.ones(3))
    rules = [ExactVisits("b", 1)]
    log_b, times = np.log(rng.random((3, 3))), np.array([0.0, 0.5, 2.0])
    gaps = np.diff(times, prepend=0.0)
    model = model_of(startprob, Q, rules, semantics=semantics)
    drawn = model.sample_posterior(log_b, N_DRAWS, times, random_state=0)
    if semantics == "path":
        expected = {}
        for log_p, states in KilledChain(startprob, Q, compile(rules, STATES)).all_paths(
            gaps, log_b
        ):
            expected[states] = expected.get(states, 0.0) + np.exp(log_p)
    else:
        truth = ObservedPaths(startprob, Q, gaps, log_b, STATES, rules)
        expected = dict(zip(truth.paths, truth.weights))
    total = sum(expected.values())
    expected = {tuple(STATES[i] for i in k): p / total for k, p in expected.items()}
    agrees(frequencies(drawn), expected, N_DRAWS)
    labels, paths = model.sample_posterior(log_b, 300, times, random_state=1, return_paths=True)
    assert all(p.at(times).tolist() == x.tolist() for p, x in zip(paths, labels))
    if semantics == "path":
        assert all(satisfies(p.states.tolist(), rules, STATES) for p in paths)
        visits = [sum(x != "b" for x in p.states) for p in paths]
        mean = sum(model.expected_duration(x, log_b, times).visits[0] for x in "ac")
        assert abs(np.mean(visits) - mean) < 5 * np.std(visits) / np.sqrt(300)


def test_long_draws_and_rare_events():
    Q = random_generator(np.random.default_rng(3), 3)
    model = model_of(np.ones(3) / 3, Q, [Segments(30)])
    for duration in (0.01, 300.0):
        path = model.sample_paths(duration, random_state=0)[0]
        assert path.n_jumps == 29 and path.end == duration and path.times[-1] <= duration
    free = model_of(np.ones(3) / 3, Q, None)
    path = free.sample_paths(500.0, random_state=0)[0]
    spent = {x: sum(b - a for label, a, b in path.segments if label == x) for x in STATES}
    stationary = exponential(Q * 1000)[0]
    np.testing.assert_allclose([spent[x] / 500 for x in STATES], stationary, atol=0.1)


def test_sampling_errors():
    model = model_of([1.0, 0.0, 0.0], np.diag([1.0, 1.0], 1) - np.diag([1.0, 1.0, 0.0]), None)
    with pytest.raises(ValueError, match="either length"):
        model.sample()
    with pytest.raises(ValueError, match="cannot be sampled"):
        model.sample(3)
    with pytest.raises(ValueError, match="number of observations"):
        model.sample(0)
    with pytest.raises(ValueError, match="duration"):
        model.sample_paths(-1)
    strict = model.with_constraints(Transitions(2))
    with pytest.raises(InfeasibleSequenceError):
        strict.sample_paths(0.0)
    assert strict.sample_paths(1.0, 3, random_state=0)[2].states.tolist() == STATES
