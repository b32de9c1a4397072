"""Likelihoods, marginals and best paths equal dense exponentials and enumeration."""

import pickle

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.integrate import quad_vec

from skchmm import (
    ConstrainedHMM,
    CTConstrainedHMM,
    InfeasibleSequenceError,
    compile,
)
from skchmm.constraints import (
    AtLeastVisits,
    AtMostVisits,
    CoolDown,
    EndsIn,
    ExactVisits,
    ForbiddenEdges,
    NoReentry,
    Occupancy,
    Precedence,
    Regex,
    StageMonotone,
    StartsIn,
    Transitions,
    Window,
)
from skchmm.continuous.generator import Gaps
from skchmm.emissions import Frames
from skchmm.inference.settings import settings as sizes
from tests.continuous.oracle import KilledChain, ObservedPaths, exponential, random_generator

STATES = ["a", "b", "c"]
JUMP_RULES = [
    [],
    [ForbiddenEdges([("a", "c")])],
    [ExactVisits("b", 1), Precedence("a", "c")],
    [AtMostVisits(["a", "b"], 2)],
    [Transitions(3)],
    [StageMonotone(["a", "b", "c"], allow_backward=False)],
    [NoReentry("a"), EndsIn("c")],
    [AtLeastVisits("c", 2) | StartsIn("b")],
    [Regex("a+ (b+ a+)* c*")],  # last: the predicates do not know it
]
STEP_RULES = [[CoolDown("a", 1)], [Occupancy("b", at_least=1, at_most=2)], [Window("c", 1, 3)]]
# The ways of computing: as it comes, with the deepest sums, and in log space.
LEVELS = [sizes.negligible, sizes.negligible[-1:], ()]


@st.composite
def problems(draw, rules):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    generator = random_generator(rng, 3, sparse=draw(st.booleans()), scale=rng.choice([0.1, 1, 30]))
    startprob = rng.dirichlet(np.ones(3))
    T = draw(st.integers(1, 4))
    gap = st.one_of(st.floats(0, 3), st.sampled_from([0.0, 1e-9, 1.0, 1.0, 40.0, 100.0]))
    times = np.cumsum([0.0] + [draw(gap) for _ in range(T - 1)])
    gaps = np.diff(times, prepend=0.0)
    log_b = np.log(rng.random((T, 3))) * draw(st.sampled_from([1.0, 5.0]))
    return startprob, generator, gaps, log_b, draw(st.sampled_from(rules))


def model_of(startprob, generator, constraints, **params):
    return CTConstrainedHMM.from_parameters(
        startprob, generator, states=STATES, constraints=constraints, **params
    )


def close(value, expected, rtol=1e-9, atol=1e-10):
    np.testing.assert_allclose(value, expected, rtol=rtol, atol=atol)


def test_the_exponential_of_the_oracle():
    """Against scalars, a two-state chain in closed form, and the product of halves."""
    rng = np.random.default_rng(0)
    stay = exponential(np.array([[-0.8, 0.0], [1e-9, -0.7]]) * 40)
    np.testing.assert_allclose(np.log(np.diagonal(stay)), [-32.0, -28.0], rtol=1e-13)
    a, b = 0.3, 2.0
    for gap in (1e-6, 0.1, 3.0, 50.0):
        P = exponential(np.array([[-a, a], [b, -b]]) * gap)
        leave = -np.expm1(-(a + b) * gap) / (a + b)
        np.testing.assert_allclose(P, [[1 - a * leave, a * leave], [b * leave, 1 - b * leave]])
    Q = random_generator(rng, 4, sparse=True) * 7
    np.testing.assert_allclose(exponential(Q), exponential(Q / 2) @ exponential(Q / 2), rtol=1e-12)
    np.testing.assert_allclose(exponential(np.zeros((2, 2))), np.eye(2))


@settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck))
@given(problem=problems(JUMP_RULES), levels=st.sampled_from(LEVELS))
def test_path_equals_the_killed_generator(problem, levels):
    startprob, generator, gaps, log_b, rules = problem
    truth = KilledChain(startprob, generator, compile(rules, STATES))
    model = model_of(startprob, generator, rules)
    times = np.cumsum(gaps)
    z = truth.passes(gaps, log_b)[2]
    old = sizes.negligible
    sizes.negligible = levels
    try:
        log_z = model.log_likelihood(log_b, times)[0]
        if z < 1e-250:
            return  # beyond the truth's precision
        close(log_z, np.log(z), 1e-8, 1e-8)
        close(model.predict_proba(log_b, times), truth.marginals(gaps, log_b), 1e-6, 1e-8)
    finally:
        sizes.negligible = old
    best = max(log_p for log_p, _ in truth.all_paths(gaps, log_b))
    log_prob, path = model.decode(log_b, times)
    close(log_prob, best, 1e-8, 1e-8)
    mine = [log_p for log_p, states in truth.all_paths(gaps, log_b)
            if [STATES[i] for i in states] == path.tolist()]  # fmt: skip
    close(max(mine), best, 1e-8, 1e-8)


@settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck))
@given(problem=problems(JUMP_RULES[:-1] + STEP_RULES), levels=st.sampled_from(LEVELS))
def test_observed_equals_enumeration(problem, levels):
    startprob, generator, gaps, log_b, rules = problem
    truth = ObservedPaths(startprob, generator, gaps, log_b, STATES, rules)
    model = model_of(startprob, generator, rules, semantics="observed")
    times = np.cumsum(gaps)
    if truth.weights.sum() < 1e-250:  # beyond the truth's precision
        assert model.log_likelihood(log_b, times)[0] < -500
        return
    old = sizes.negligible
    sizes.negligible = levels
    try:
        close(model.log_likelihood(log_b, times)[0], np.log(truth.weights.sum()), 1e-8, 1e-8)
        close(model.predict_proba(log_b, times), truth.marginals(3), 1e-6, 1e-8)
    finally:
        sizes.negligible = old
    log_prob, path = model.decode(log_b, times)
    close(log_prob, np.log(truth.weights.max()), 1e-8, 1e-8)
    index = truth.paths.index(tuple(STATES.index(x) for x in path))
    close(truth.weights[index], truth.weights.max(), 1e-8)


@pytest.mark.parametrize("levels", LEVELS)
@pytest.mark.parametrize("semantics", ["path", "observed"])
@pytest.mark.parametrize(
    "rules", [[], [ExactVisits("b", 1), Precedence("a", "c")], [Transitions(3)]]
)
def test_expected_jumps_and_times_equal_integrals(rules, semantics, levels, monkeypatch):
    """E[jumps i -> j] and E[time in i], by quadrature of the definition."""
    monkeypatch.setattr(sizes, "negligible", levels)
    rng = np.random.default_rng(3)
    generator, startprob = random_generator(rng, 3), rng.dirichlet(np.ones(3))
    gaps = np.array([0.0, 0.7, 2.5, 0.0, 0.7, 25.0])
    log_b = np.log(rng.random((6, 3)))
    model = model_of(startprob, generator, rules, semantics=semantics)
    if semantics == "path":
        chain = KilledChain(startprob, generator, compile(rules, STATES))
        Q, states = chain.Q, chain.states
        alpha, beta, z = chain.passes(gaps, log_b)
        weights = [
            np.outer(alpha[t - 1], np.exp(log_b)[t][states] * beta[t]) / z for t in range(1, 6)
        ]
    else:
        Q, states = generator, np.arange(3)
        truth = ObservedPaths(startprob, generator, gaps, log_b, STATES, rules)
        weights = []
        for t in range(1, 6):
            P, W = exponential(Q * gaps[t]), np.zeros((3, 3))
            for path, p in zip(truth.paths, truth.weights):
                W[path[t - 1], path[t]] += p / truth.weights.sum()
            weights.append(np.divide(W, P, out=np.zeros_like(W), where=P > 0))
    total = np.zeros_like(Q)
    for W, gap in zip(weights, gaps[1:]):
        if gap > 0:
            total += quad_vec(
                lambda x, W=W, gap=gap: exponential(Q * x).T @ W @ exponential(Q * (gap - x)).T,
                0, gap, epsabs=1e-7, epsrel=1e-7,
            )[0]  # fmt: skip
    jumps, stays = np.zeros((3, 3)), np.zeros(3)
    for a, i in enumerate(states):
        stays[i] += total[a, a]
        for b, j in enumerate(states):
            if a != b:
                jumps[i, j] += total[a, b] * Q[a, b]
    smoothed = model._chain().smooth(
        Frames(log_b, gaps=gaps), np.array([0, 6]), counts=True, seq_weights=np.array([2.0])
    )
    close(smoothed.counts.jumps, 2 * jumps, 1e-5, 1e-6)
    close(smoothed.counts.stays, 2 * stays, 1e-5, 1e-6)
    close(smoothed.counts.stays.sum(), 2 * gaps.sum(), 1e-9)


def test_many_equal_gaps_take_the_short_way(monkeypatch):
    """Gaps that come often have a matrix of their own; the answers are the same without."""
    rng = np.random.default_rng(0)
    generator = random_generator(rng, 3)
    model = model_of(np.ones(3) / 3, generator, [AtMostVisits("b", 4)])
    gaps = rng.choice([0.5, 2.0, 37.0], size=300)
    frames = Frames(np.log(rng.random((300, 3))), gaps=gaps)
    offsets = np.array([0, 100, 180, 300])
    plan = model._chain().plan(Gaps(gaps, offsets), 1e-30, True)
    assert plan.n_factors > 2
    fast = model._chain().smooth(frames, offsets, counts=True)
    monkeypatch.setattr(sizes, "matrix_bytes", 0)
    slow = model._chain().smooth(frames, offsets, counts=True, n_jobs=2)
    for one, other in zip([*fast[:2], *fast.counts], [*slow[:2], *slow.counts]):
        close(one, other, 1e-9, 1e-12)


@pytest.mark.parametrize("algorithm", ["viterbi", "posterior", "mea", "map"])
def test_equal_gaps_give_the_discrete_model(algorithm):
    rng = np.random.default_rng(5)
    generator, startprob = random_generator(rng, 3), rng.dirichlet(np.ones(3))
    rules = [CoolDown("a", 1), ExactVisits("b", 1), StartsIn(["a", "c"])]
    X = [np.log(rng.random((n, 3))) for n in (5, 1, 9)]
    times = [np.arange(len(x)) for x in X]
    discrete = ConstrainedHMM.from_parameters(
        startprob, exponential(generator), states=STATES, constraints=rules, algorithm=algorithm,
        on_infeasible="warn",
    )  # fmt: skip
    model = model_of(startprob, generator, rules, semantics="observed", algorithm=algorithm,
                     on_infeasible="warn")  # fmt: skip
    with pytest.warns(Warning, match="no feasible path|has no feasible"):
        expected = discrete.predict(X)
    with pytest.warns(Warning, match="no feasible path|has no feasible"):
        np.testing.assert_array_equal(
            np.concatenate(model.predict(X, times)), np.concatenate(expected)
        )
    close(model.log_likelihood(X, times), discrete.log_likelihood(X))
    close(model.log_feasibility(X, times), discrete.log_feasibility(X))
    good = [0, 2]
    for s in good:
        close(model.predict_proba(X[s], times[s]), discrete.predict_proba(X[s]))
        for (a, path), (b, other) in zip(model.kbest(X[s], 4, times[s]), discrete.kbest(X[s], 4)):
            close(a, b)
            assert path.tolist() == other.tolist()


@pytest.mark.parametrize(("algorithm", "scale"), [("posterior", np.log), ("mea", np.asarray)])
def test_other_algorithms_are_the_best_feasible_sums(algorithm, scale):
    rng = np.random.default_rng(8)
    generator = random_generator(rng, 3, sparse=True)
    rules = [ExactVisits("b", 1)]
    model = model_of(np.ones(3) / 3, generator, rules, algorithm=algorithm)
    gaps = np.array([0.0, 1.0, 0.3, 0.0, 2.0])
    log_b = np.log(rng.random((5, 3)))
    marginals = model.predict_proba(log_b, np.cumsum(gaps))
    truth = KilledChain(np.ones(3) / 3, generator, compile(rules, STATES))
    scores = {
        states: scale([marginals[t, i] for t, i in enumerate(states)]).sum()
        for _, states in truth.all_paths(gaps, log_b)
    }
    path = model.predict(log_b, np.cumsum(gaps))
    close(scores[tuple(STATES.index(x) for x in path)], max(scores.values()))


# ------------------------------------------------------------------------- extremes
def two_states(rate_ab, rate_ba):
    return [[-rate_ab, rate_ab], [rate_ba, -rate_ba]]


@pytest.mark.parametrize("gap", 10.0 ** np.arange(-9, 10, 3))
def test_short_and_long_gaps(gap):
    """Against the closed form of two states, 1e-9 to 1e9 holding times."""
    a, b = 1.0, 0.25
    model = CTConstrainedHMM.from_parameters([1.0, 0.0], two_states(a, b))
    X = np.array([[0.0, 0.0], [-np.inf, 0.0]])
    leave = a / (a + b) * -np.expm1(-(a + b) * gap)
    close(model.log_likelihood(X, [0.0, gap])[0], np.log(leave), 1e-12, 1e-13)
    smoothed = model._chain().smooth(
        Frames(X, gaps=np.array([0.0, gap])), np.array([0, 2]), counts=True
    )
    close(smoothed.counts.stays.sum(), gap, 1e-9, 0)
    # jumps there minus jumps back is 1, whatever happened
    close(
        smoothed.counts.jumps[0, 1] - smoothed.counts.jumps[1, 0], 1.0, max(1e-9, gap * 1e-13), 1e-9
    )
    if gap >= 1e6:
        close(smoothed.counts.jumps[0, 1], gap * a * b / (a + b), 1e-5)


@pytest.mark.parametrize("gap", 10.0 ** np.arange(-9, 10, 3))
def test_nothing_may_happen(gap):
    """Staying put for 1e9 holding times has a probability that no double can hold."""
    rates = two_states(1.0, 3.0)
    for semantics, factor in (("path", 3.0), ("observed", None)):
        model = CTConstrainedHMM.from_parameters(
            [0.5, 0.5], rates, constraints=Transitions(0), semantics=semantics
        )
        X = np.array([[-np.inf, 0.0], [0.0, 0.0]])
        if factor:
            close(model.log_likelihood(X, [0.0, gap])[0], np.log(0.5) - factor * gap, 1e-9, 1e-12)
            close(model.decode(X, [0.0, gap])[0], np.log(0.5) - factor * gap, 1e-9, 1e-12)
            close(model.predict_proba(X, [0.0, gap]), [[0, 1], [0, 1]])


def test_everything_must_happen_at_once():
    """25 jumps in a millionth of a holding time: (t^25 / 25!) times the rates."""
    S, t = 26, 1e-6
    rates = np.zeros((S, S))
    rates[np.arange(S - 1), np.arange(1, S)] = 1.0
    rates -= np.diag(rates.sum(axis=1))
    model = CTConstrainedHMM.from_parameters(np.eye(S)[0], rates, constraints=EndsIn(S - 1))
    X = np.zeros((3, S))
    expected = 25 * np.log(2 * t) - np.log(np.arange(1.0, 26)).sum()
    close(model.log_likelihood(X, [0.0, t, 2 * t])[0], expected, 1e-6, 0)
    smoothed = model._chain().smooth(
        Frames(X, gaps=np.array([0.0, t, t])), np.array([0, 3]), counts=True
    )
    close(smoothed.counts.jumps[np.arange(25), np.arange(1, 26)], np.ones(25), 1e-8)
    close(smoothed.counts.stays.sum(), 2 * t, 1e-8, 0)
    assert model.decode_path(X, [0.0, t, 2 * t]).states.tolist() == list(range(S))


def test_a_stiff_generator():
    """Rates a factor of 1e9 apart."""
    generator = np.array([[-1e9, 1e9, 0.0], [2e9, -2e9 - 1.0, 1.0], [1e-3, 0.0, -1e-3]])
    model = model_of([1.0, 0.0, 0.0], generator, [AtMostVisits("c", 1)])
    X = np.array([[0.0, 0.0, 0.0], [-np.inf, -np.inf, 0.0]])
    # the fast pair is in balance at once: it is left for c at rate 1/3
    expected = np.log((1 / 3) * (np.exp(-1e-3) - np.exp(-1 / 3)) / (1 / 3 - 1e-3))
    close(model.log_likelihood(X, [0.0, 1.0])[0], expected, 1e-6, 0)


def test_mass_that_all_but_vanishes():
    """What is accepted in the end is e^-2000 of what seemed likely on the way."""
    T = 40
    model = model_of(
        np.ones(3) / 3, two := random_generator(np.random.default_rng(1), 3), [AtMostVisits("a", 1)]
    )
    assert two.shape == (3, 3)
    X = np.zeros((T, 3))
    X[:, 1] = -50.0
    X[::2, 0], X[1::2, 1] = -60.0, -110.0
    X[-1] = [-np.inf, -np.inf, 0.0]
    times = np.arange(T) * 0.2
    values = []
    for levels in LEVELS:
        old, sizes.negligible = sizes.negligible, levels
        values.append((model.log_likelihood(X, times)[0], model.predict_proba(X, times)))
        sizes.negligible = old
    for value, marginals in values[:-1]:
        close(value, values[-1][0], 1e-10)
        close(marginals, values[-1][1], 1e-7, 1e-9)


def test_absorbing_states():
    generator = np.array([[-1.0, 0.5, 0.5], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    model = model_of([1.0, 0.0, 0.0], generator, None)
    X = np.array([[0.0, 0.0, 0.0], [-np.inf, 0.0, -np.inf], [0.0, 0.0, 0.0]])
    close(model.log_likelihood(X, [0, 1.0, 1e9])[0], np.log(0.5 * -np.expm1(-1.0)))
    assert model.predict(X, [0, 1.0, 1e9]).tolist() == ["a", "b", "b"]
    still = model_of([0.5, 0.5, 0.0], np.zeros((3, 3)), None)
    assert still.predict(X, [0, 1.0, 2.0]).tolist() == ["b"] * 3
    assert still.graph_.n_edges == 0


def test_infeasible_sequences():
    generator = np.array([[-1.0, 1.0, 0.0], [0.0, -1.0, 1.0], [0.0, 0.0, 0.0]])
    back = np.array([[-np.inf, 0.0, -np.inf], [0.0, -np.inf, -np.inf]])
    model = model_of(np.ones(3) / 3, generator, None)
    assert model.log_likelihood(back, [0, 1])[0] == -np.inf
    with pytest.raises(InfeasibleSequenceError):
        model.predict(back, [0, 1])
    rules = [ForbiddenEdges([("a", "c")]), AtMostVisits("b", 0), EndsIn("c"), StartsIn("a")]
    with pytest.raises(ValueError, match="No path"):
        model_of(np.ones(3) / 3, generator, rules)
    full = random_generator(np.random.default_rng(0), 3)
    strict = model_of(np.ones(3) / 3, full, [NoReentry("a")], on_infeasible="warn")
    again = np.array([[0.0, -np.inf, -np.inf], [-np.inf, 0.0, -np.inf], [0.0, -np.inf, -np.inf]])
    with pytest.warns(Warning, match="sequence|Sequence"):
        assert strict.predict(again, [0, 1, 2]).tolist() == ["a", "b", "a"]
    why = strict.explain(again, [0, 1, 2])
    assert why.constraints == [NoReentry("a")] and why.model_parts == ["observations"]
    assert sorted(why.steps) == [0, 1, 2] and why.position == why.forward_position == 2
    # at one and the same time there is one and the same state
    with pytest.raises(InfeasibleSequenceError):
        model_of(np.ones(3) / 3, full, None).predict(again[:2], [1.0, 1.0])
    assert strict.explain(again[:2], [0, 1]).feasible


# ------------------------------------------------------------------- between observations
@pytest.mark.parametrize("semantics", ["path", "observed"])
def test_marginals_between_observations(semantics):
    rng = np.random.default_rng(2)
    generator, startprob = random_generator(rng, 3), rng.dirichlet(np.ones(3))
    rules = [ExactVisits("b", 1)]
    gaps, log_b = np.array([0.0, 1.0, 2.0, 0.5]), np.log(rng.random((4, 3)))
    times = 10 + np.cumsum(gaps)
    model = model_of(startprob, generator, rules, semantics=semantics)
    grid = np.array([10.0, 10.25, 11.0, 12.2, 12.9, 13.5, 10.7])
    found = model.predict_proba(log_b, times, at=grid)
    close(found.sum(axis=1), np.ones(len(grid)))
    for row, s in zip(found, grid):
        t = min(int(np.searchsorted(times, s, side="right")), 3)
        left, right = s - times[t - 1], times[t] - s
        if semantics == "path":
            truth = KilledChain(startprob, generator, compile(rules, STATES))
            alpha, beta, z = truth.passes(gaps, log_b)
            b = np.exp(log_b)[t][truth.states]
            mass = (
                (alpha[t - 1] @ exponential(truth.Q * left))
                * (exponential(truth.Q * right) @ (b * beta[t]))
                / z
            )
            expected = [mass[truth.states == i].sum() for i in range(3)]
        else:
            truth = ObservedPaths(startprob, generator, gaps, log_b, STATES, rules)
            P, L, R = (exponential(generator * x) for x in (gaps[t], left, right))
            expected = np.zeros(3)
            for path, p in zip(truth.paths, truth.weights / truth.weights.sum()):
                i, j = path[t - 1], path[t]
                expected += p * L[i] * R[:, j] / P[i, j]
        close(row, expected, 1e-8)


def test_other_questions():
    rng = np.random.default_rng(4)
    generator, startprob = random_generator(rng, 3), rng.dirichlet(np.ones(3))
    log_b, times = np.log(rng.random((4, 3))), np.array([0.0, 1.0, 1.5, 4.0])
    model = model_of(startprob, generator, [AtMostVisits("b", 2)])
    both = model_of(startprob, generator, [AtMostVisits("b", 2), EndsIn("a")])
    gain = both.log_likelihood(log_b, times) - model.log_likelihood(log_b, times)
    close(model.probability(EndsIn("a"), log_b, times), np.exp(gain))
    visits = model.visit_distribution("b", log_b, times)
    assert visits.shape == (1, 3)
    close(visits.sum(), 1.0)
    duration = model.expected_duration("b", log_b, times)
    close(duration.visits, visits @ np.arange(3))
    total = sum(model.expected_duration(x, log_b, times).steps for x in STATES)
    close(total, 4.0)
    costs = model.constraint_costs(log_b, times)
    free = model_of(startprob, generator, None)
    close(
        costs.log_likelihood_gain,
        free.log_likelihood(log_b, times) - model.log_likelihood(log_b, times),
    )
    assert not hasattr(model, "stream")


def test_kbest_lists_distinct_labels():
    rng = np.random.default_rng(6)
    generator = random_generator(rng, 3)
    rules = [AtMostVisits("b", 1)]
    gaps, log_b = np.array([0.0, 1.0, 0.4]), np.log(rng.random((3, 3)))
    best = {}
    for log_p, states in KilledChain(np.ones(3) / 3, generator, compile(rules, STATES)).all_paths(
        gaps, log_b
    ):
        best[states] = max(best.get(states, -np.inf), log_p)
    expected = sorted(best.items(), key=lambda item: -item[1])
    model = model_of(np.ones(3) / 3, generator, rules)
    found = model.kbest(log_b, 100, np.cumsum(gaps))
    assert len(found) == len(expected)
    for (log_prob, path), (states, log_p) in zip(found, expected):
        close(log_prob, log_p)
        assert path.tolist() == [STATES[i] for i in states]


def test_fitted_models_can_be_stored():
    model = model_of(
        np.ones(3) / 3, random_generator(np.random.default_rng(0), 3), [NoReentry("a")]
    )
    log_b, times = np.log(np.random.default_rng(1).random((5, 3))), [0, 1, 50, 51, 200]
    expected = model.predict_proba(log_b, times)
    copy = pickle.loads(pickle.dumps(model))
    close(copy.predict_proba(log_b, times), expected)
    assert copy.predict(log_b, times).tolist() == model.predict(log_b, times).tolist()


def test_the_smallest_gap_there_is():
    """State 1 is visited twice: at the first observation, left, and reached again."""
    rates = np.array([[-1.0, 0.6, 0.4], [0.4, -0.5, 0.1], [0.2, 0.5, -0.7]])
    model = CTConstrainedHMM.from_parameters(
        [0.0, 1.0, 0.0], rates, constraints=[ExactVisits(1, 2), EndsIn(1)]
    )
    X = np.zeros((2, 3))
    once_more = 0.4 * 0.6 + 0.1 * 0.5
    for gap in (5e-324, 1e-310, 1e-200):
        expected = np.log(once_more / 2) + 2 * np.log(gap)
        np.testing.assert_allclose(model.log_likelihood(X, [0.0, gap]), expected, rtol=1e-12)
        np.testing.assert_allclose(model.predict_proba(X, [0.0, gap])[:, 1], 1.0, rtol=1e-12)
