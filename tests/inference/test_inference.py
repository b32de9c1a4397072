"""Decoding, smoothing and likelihoods equal enumeration over all paths."""

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from skchmm import ConstrainedHMM, InfeasibleSequenceError
from skchmm.constraints import AtLeastVisits, EndsIn, ExactVisits, Occupancy, Segments
from skchmm.emissions import Frames, Precomputed
from skchmm.inference.settings import settings as sizes
from tests.oracles.enumeration import Enumeration
from tests.oracles.predicates import holds
from tests.oracles.strategies import compositions

STATES = ["A", "B", "C", "D"]


@st.composite
def problems(draw, max_states=4, max_steps=6):
    """A random chain, scores and constraints; extreme and zero probabilities among them."""
    S = draw(st.integers(1, max_states))
    T = draw(st.integers(1, max_steps if S < 4 else 5))
    states = STATES[:S]
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    constraints = draw(st.lists(compositions(states, depth=1), max_size=3))
    sparse = draw(st.booleans())
    scale = draw(st.sampled_from([1.0, 30.0, 2000.0]))

    def rows(*shape):
        p = rng.dirichlet(np.ones(S), size=shape)
        if sparse:
            p = p * (rng.random(p.shape) < 0.7)
            p[p.sum(axis=-1) == 0] = 1.0
        return p / p.sum(axis=-1, keepdims=True)

    log_b = np.log(rng.random((T, S))) * scale
    if sparse:
        log_b[rng.random((T, S)) < 0.1] = -np.inf
    return states, rows(), rows(S), log_b, constraints


def build(states, startprob, transmat, constraints, **params):
    """The model, or None where the constraints contradict each other."""
    try:
        return ConstrainedHMM.from_parameters(
            startprob, transmat, states=states, constraints=constraints, **params
        )
    except ValueError as error:
        assert "No path" in str(error) or "no path" in str(error), error
        return None


@settings(max_examples=1500, deadline=None, suppress_health_check=list(HealthCheck))
@given(problem=problems(), block=st.sampled_from([1, 1 << 27]), fill=st.sampled_from([0, 9]))
@example(problem=(["A"], np.ones(1), np.ones((1, 1)), np.zeros((1, 1)), []), block=1, fill=0)
def test_equals_enumeration(problem, block, fill):
    states, startprob, transmat, log_b, constraints = problem
    truth = Enumeration(startprob, transmat, log_b, states, constraints)
    free = Enumeration(startprob, transmat, log_b, states)
    model = build(states, startprob, transmat, constraints)
    if model is None:
        assert not truth.feasible
        return
    table_bytes, sizes.table_bytes = sizes.table_bytes, block
    lanes_fill, sizes.lanes_fill = sizes.lanes_fill, fill
    try:
        if not truth.feasible:
            for ask in (model.predict, model.decode, model.predict_proba):
                with pytest.raises(InfeasibleSequenceError):
                    ask(log_b)
            assert model.log_likelihood(log_b)[0] == -np.inf
            assert model.log_feasibility(log_b)[0] == -np.inf
            return
        close = {"rtol": 1e-8, "atol": 1e-8}
        log_prob, path = model.decode(log_b)
        np.testing.assert_allclose(log_prob, truth.log_max, **close)
        indices = tuple(states.index(x) for x in path)
        assert holds(constraints, list(path))
        np.testing.assert_allclose(
            truth.log_weights[truth.paths.index(indices)], truth.log_max, **close
        )
        np.testing.assert_allclose(model.log_likelihood(log_b)[0], truth.log_z, **close)
        np.testing.assert_allclose(
            model.log_feasibility(log_b)[0], truth.log_z - free.log_z, rtol=1e-8, atol=1e-8
        )
        marginals = truth.marginals()
        np.testing.assert_allclose(model.predict_proba(log_b), marginals, **close)
        check_posterior_path(model, truth, marginals, log_b, states)
        chain = model._chain()
        smoothed = chain.smooth(
            model._frames(model._read(log_b, None, None)), np.array([0, len(log_b)]), counts=True
        )
        np.testing.assert_allclose(smoothed.counts.transitions, truth.transitions(), **close)
    finally:
        sizes.table_bytes = table_bytes
        sizes.lanes_fill = lanes_fill


def check_posterior_path(model, truth, marginals, log_b, states):
    """Feasible paths maximise the sum of log marginals ("posterior") or of marginals ("mea")."""
    model.set_params(algorithm="posterior")
    path = [states.index(x) for x in model.predict(log_b)]
    with np.errstate(divide="ignore"):
        log_marginals = np.log(marginals)
    steps = np.arange(len(path))
    best = max(log_marginals[steps, list(p)].sum() for p in truth.paths)
    assert tuple(path) in truth.paths
    assert log_marginals[steps, path].sum() >= best - 1e-6 * max(1.0, abs(best))
    model.set_params(algorithm="mea")
    path = [states.index(x) for x in model.predict(log_b)]
    best = max(marginals[steps, list(p)].sum() for p in truth.paths)
    assert tuple(path) in truth.paths
    assert marginals[steps, path].sum() >= best - 1e-8
    model.set_params(algorithm="map")
    chosen = [states.index(x) for x in model.predict(log_b)]
    np.testing.assert_allclose(marginals[steps, chosen], marginals.max(axis=1), atol=1e-8)
    model.set_params(algorithm="viterbi")


def exact_log_sum(terms):
    """log of a sum of exp, in exact-ish arithmetic, for a reference."""
    from decimal import Decimal, getcontext

    getcontext().prec = 60
    return float(sum(Decimal(x).exp() for x in terms).ln())


@pytest.fixture(params=["lanes", "one at a time"])
def lanes(request, monkeypatch):
    """With 8 sequences at a time wherever possible, and without."""
    monkeypatch.setattr(sizes, "lanes_fill", 0 if request.param == "lanes" else 9)
    return request.param


@pytest.mark.parametrize("gap", [1.0, 300.0, 800.0, 5000.0, 20000.0])
def test_feasible_mass_far_below_the_infeasible(gap, lanes):
    """A state must be visited that costs e^-gap: log Z, path and marginals stay exact."""
    T = 6
    log_b = np.zeros((T, 3))
    log_b[:, 1] = -gap - np.arange(T)  # better early than late, but never good
    startprob, transmat = np.full(3, 1 / 3), np.full((3, 3), 1 / 3)
    truth = Enumeration(startprob, transmat, log_b, ["a", "b", "c"], AtLeastVisits("b", 2))
    model = ConstrainedHMM.from_parameters(
        startprob, transmat, states=["a", "b", "c"], constraints=AtLeastVisits("b", 2)
    )
    reference = exact_log_sum(truth.log_weights)
    np.testing.assert_allclose(model.log_likelihood(log_b)[0], reference, rtol=1e-8)
    np.testing.assert_allclose(model.decode(log_b)[0], truth.log_max, rtol=1e-12)
    np.testing.assert_allclose(model.predict_proba(log_b), truth.marginals(), atol=1e-8)


def test_a_path_that_looks_lost_half_way(lanes):
    """Two states that never meet: the one that is e^-3000 behind half way wins in the end."""
    T = 400
    log_b = np.zeros((T, 2))
    log_b[: T // 2, 1] = -15.0
    log_b[T // 2 :, 0] = -15.1
    model = ConstrainedHMM.from_parameters([0.5, 0.5], np.eye(2))
    first, second = np.log(0.5) - 15.1 * T / 2, np.log(0.5) - 15.0 * T / 2
    reference = exact_log_sum([first, second])
    np.testing.assert_allclose(model.log_likelihood(log_b)[0], reference, rtol=1e-12)
    assert (model.predict(log_b) == 1).all()
    np.testing.assert_allclose(model.predict_proba(log_b)[:, 0], np.exp(first - reference))


@pytest.mark.parametrize("weight", [1e-20, 1e-50, 1e-150, 1e-300])
def test_small_weights_after_small_emissions(weight, lanes):
    """No emission alone is extreme, but with the weight that follows the product is no double."""
    startprob = [0.5, 0.0, 0.0, 0.0, 0.5]
    transmat = np.zeros((5, 5))
    transmat[[0, 1], [1, 2]] = transmat[[0, 1], 4] = 0.5
    transmat[2, 3:] = weight, 1 - weight
    transmat[3, 3] = transmat[4, 4] = 1.0
    log_b = np.zeros((5, 5))
    log_b[:3, :4] = [[-225.0], [-225.0], [-200.0]]
    log_b[4, 4] = -np.inf
    model = ConstrainedHMM.from_parameters(startprob, transmat, constraints=EndsIn([3, 4]))
    log_prob, path = model.decode(log_b)
    assert path.tolist() == [0, 1, 2, 3, 3]
    np.testing.assert_allclose(model.log_likelihood(log_b)[0], log_prob, rtol=1e-12)
    np.testing.assert_allclose(model.predict_proba(log_b), np.eye(5)[path], atol=1e-8)


def test_what_a_row_has_lost_stays_lost_when_it_is_scaled_up(lanes):
    """The accepted state has few digits left in a row whose total is small itself."""
    log_b = np.array([[-792.43, -520.97, -64.5, -576.5]])
    startprob = np.array([1e-5, 1 - 1e-5, 0.0, 0.0])
    model = ConstrainedHMM.from_parameters(
        startprob, np.full((4, 4), 0.25), constraints=EndsIn([0, 3])
    )
    expected = np.log(1e-5) - 792.43
    np.testing.assert_allclose(model.log_likelihood(log_b)[0], expected, rtol=1e-12)


def test_long_sequences_in_blocks_agree_with_whole_tables(monkeypatch):
    rng = np.random.default_rng(0)
    log_b = rng.normal(size=(3001, 3)) * 5
    model = ConstrainedHMM.from_parameters(
        np.full(3, 1 / 3), rng.dirichlet(np.ones(3), size=3), constraints=ExactVisits(1, 40)
    )
    whole = model.predict(log_b), model.predict_proba(log_b), model.log_likelihood(log_b)
    monkeypatch.setattr(sizes, "table_bytes", 1)
    blocks = model.predict(log_b), model.predict_proba(log_b), model.log_likelihood(log_b)
    np.testing.assert_array_equal(whole[0], blocks[0])
    np.testing.assert_allclose(whole[1], blocks[1], rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(whole[2], blocks[2], rtol=1e-12)


@pytest.mark.parametrize("n_jobs", [2, 3, -1])
def test_threads_change_nothing(n_jobs, lanes):
    rng = np.random.default_rng(0)
    X = [rng.normal(size=(rng.integers(1, 60), 3)) for _ in range(50)]
    X = [x * (1000.0 if k % 7 == 0 else 1.0) for k, x in enumerate(X)]
    make = {"states": [0, 1, 2], "constraints": Occupancy(0, at_most=30)}
    one = ConstrainedHMM.from_parameters(np.full(3, 1 / 3), np.full((3, 3), 1 / 3), **make)
    many = one.with_constraints(one.constraints).set_params(n_jobs=n_jobs)
    for a, b in zip(one.predict(X), many.predict(X)):
        np.testing.assert_array_equal(a, b)
    for a, b in zip(one.predict_proba(X), many.predict_proba(X)):
        np.testing.assert_allclose(a, b, rtol=1e-12)
    np.testing.assert_allclose(one.log_likelihood(X), many.log_likelihood(X), rtol=1e-12)


def test_ties_go_to_the_lowest_state(lanes):
    model = ConstrainedHMM.from_parameters(
        np.full(3, 1 / 3), np.full((3, 3), 1 / 3), constraints=Segments(1)
    )
    assert model.predict(np.zeros((5, 3))).tolist() == [0] * 5
    model = model.with_constraints(None)
    assert model.predict(np.zeros((5, 3))).tolist() == [0] * 5
    log_b = np.zeros((5, 3))
    log_b[:, 0] = -1.0
    assert model.predict(log_b).tolist() == [1] * 5


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_an_emission_that_gives_too_few_rows_is_an_error(n_jobs):
    class Forgetful(Precomputed):
        def log_likelihood(self, E):
            return Frames(E[:-1])

    X = np.zeros((60, 2))
    model = ConstrainedHMM.from_parameters(
        [0.5, 0.5], np.full((2, 2), 0.5), emission=Forgetful(), n_jobs=n_jobs
    )
    for method in (model.predict, model.predict_proba, model.log_likelihood, model.fit):
        with pytest.raises(ValueError, match="log-likelihoods of 59 steps, but there are 60"):
            method(X, lengths=[20, 30, 10])
