"""Learning in continuous time: counts, exact EM, recovery, given rates, masks."""

import numpy as np
import pytest

from skchmm import CTConstrainedHMM, InfeasibleSequenceError, NotEnforcedWarning
from skchmm.constraints import (
    AtMostVisits,
    CoolDown,
    ExactVisits,
    ForbiddenEdges,
    NoReentry,
    Precedence,
)
from skchmm.emissions import Categorical, Gaussian
from tests.continuous.oracle import random_generator

STATES = ["a", "b", "c"]


def draw(seed, n_sequences=40, length=12, constraints=None, noise=0.15, scale=1.0):
    rng = np.random.default_rng(seed)
    Q = random_generator(rng, 3, scale=scale)
    B = np.full((3, 1, 3), noise / 2)
    B[np.arange(3), 0, np.arange(3)] = 1 - noise
    model = CTConstrainedHMM.from_parameters(
        np.ones(3) / 3, Q, states=STATES, constraints=constraints,
        emission=Categorical.from_parameters(B, symbols=["x", "y", "z"]),
    )  # fmt: skip
    times = [np.cumsum(rng.exponential(0.4, size=length)) for _ in range(n_sequences)]
    X, y = model.sample(times=times, random_state=seed)
    return model, X, y, times


def test_labelled_streams_are_counted():
    """Jumps over times by hand; pseudocounts say where jumps go, not how often they happen."""
    y = [np.array(list("aabca")), np.array(list("bb"))]
    times = [np.array([0.0, 1.0, 3.0, 3.5, 7.5]), np.array([10.0, 16.0])]
    X = [np.array(list("xxyzx")), np.array(list("yy"))]
    plain = CTConstrainedHMM(smoothing=0).fit(X, y, times=times)
    jumps = np.array([[0, 1, 0], [0, 0, 1], [1, 0, 0.0]])
    stays = np.array([1.0 + 2.0, 0.5 + 6.0, 4.0])
    expected = jumps / stays[:, None]
    np.testing.assert_allclose(plain.generator_ - np.diag(np.diag(plain.generator_)), expected)
    np.testing.assert_allclose(plain.generator_.sum(axis=1), 0, atol=1e-12)
    np.testing.assert_allclose(plain.startprob_, [0.5, 0.5, 0.0])
    smooth = CTConstrainedHMM(smoothing=0.5).fit(X, y, times=times)
    targets = (jumps + 0.5) / 2.0  # one jump from each state, and two halves of one
    expected = (jumps.sum(axis=1) / stays)[:, None] * targets
    off = ~np.eye(3, dtype=bool)
    np.testing.assert_allclose(smooth.generator_[off], expected[off])
    hours = CTConstrainedHMM(smoothing=0.5).fit(X, y, times=[t / 3600 for t in times])
    np.testing.assert_allclose(hours.generator_, smooth.generator_ * 3600)


def test_states_that_labels_hardly_show():
    """A state never left gets half a jump in the mean time, one never seen the mean rate."""
    y, times = [np.array(list("aabbb"))], [np.array([0.0, 1.0, 3.0, 6.0, 10.0])]
    X = [np.array(list("xxyyy"))]
    model = CTConstrainedHMM(states=list("abc"), smoothing=0.5).fit(X, y, times=times)
    mean = 10.0 / 1  # one jump in ten units of time
    leaving = -np.diag(model.generator_)
    np.testing.assert_allclose(leaving, [1 / 3.0, 0.5 / (7.0 + 0.5 * mean), 1 / mean])
    np.testing.assert_allclose(model.generator_[0, 1:] * 3.0, [1.5 / 2, 0.5 / 2])
    np.testing.assert_allclose(model.generator_[1, [0, 2]], leaving[1] / 2)
    plain = CTConstrainedHMM(states=list("abc"), smoothing=0).fit(X, y, times=times)
    np.testing.assert_allclose(-np.diag(plain.generator_), [1 / 3.0, 0.0, 0.0])
    # two rows at one time with different labels: no time was spent in the first
    at_once = CTConstrainedHMM(smoothing=0).fit(X[0][1:], y[0][1:], times=[0.0, 0.0, 1.0, 2.0])
    np.testing.assert_allclose(-np.diag(at_once.generator_), [1 / 2.0, 0.0])


def test_the_rates_of_short_states_are_not_diluted():
    rng = np.random.default_rng(0)
    lengths = np.where(np.arange(200) % 2, 100.0, 1.0)
    times, y = np.concatenate([[0.0], np.cumsum(lengths)]), np.arange(201) % 2
    for S in (2, 12):
        model = CTConstrainedHMM(states=list(range(S)), smoothing=0.5)
        model.fit(rng.normal(size=(201, 1)), y, times=times)
        np.testing.assert_allclose(-np.diag(model.generator_)[:2], [1.0, 0.01])


@pytest.mark.parametrize("semantics", ["path", "observed"])
@pytest.mark.parametrize("rules", [None, [AtMostVisits("a", 3), Precedence("b", "c")]])
def test_em_never_goes_down(rules, semantics):
    _, X, y, times = draw(0, n_sequences=15, constraints=rules)
    rng = np.random.default_rng(0)
    weights = rng.choice([0.0, 0.5, 2.0], size=len(X))
    for init, labels, weight in [("random", None, None), ("auto", "some", weights)]:
        partly = None
        if labels:
            partly = [np.where(rng.random(len(each)) < 0.3, each, None) for each in y]
        model = CTConstrainedHMM(
            states=STATES, constraints=rules, semantics=semantics, init=init, n_iter=25, tol=0,
            random_state=1, smoothing=0.5 if labels else 0,
        )  # fmt: skip
        with pytest.warns(Warning, match="converge"):
            model.fit(X, partly, times=times, sample_weight=weight)
        history = np.array(model.history_)
        assert (np.diff(history) >= -1e-9 * np.abs(history[1:])).all()
        used = np.ones(len(X)) if weight is None else weight
        if labels is None:
            total = model.log_likelihood(X, times) @ used
            np.testing.assert_allclose(total, history[-1])


def test_em_never_goes_down_with_gaussians_and_odd_gaps():
    rng = np.random.default_rng(5)
    times = [np.cumsum(rng.choice([0.0, 1e-6, 0.5, 0.5, 30.0, 500.0], size=20)) for _ in range(6)]
    X = [rng.normal(size=(20, 2)) + rng.integers(0, 2, size=(20, 1)) * 4 for _ in times]
    model = CTConstrainedHMM(
        3, emission=Gaussian(), constraints=AtMostVisits(0, 6), n_iter=15, tol=0, random_state=0
    )
    # rows at one time share their state, which must not be impossible
    with pytest.warns(Warning, match="converge"):
        model.fit(X, times=times)
    assert (np.diff(model.history_) >= -1e-8 * np.abs(model.history_[1:])).all()


def test_em_is_a_fixed_point_of_its_own_statistics():
    """At convergence the rates are expected jumps over expected times."""
    _, X, _, times = draw(2, n_sequences=10)
    model = CTConstrainedHMM(
        states=STATES, n_iter=3000, tol=1e-13, random_state=0, init="random", smoothing=0
    ).fit(X, times=times)
    sequences = model._read(X, None, None, times=times)
    smoothed = model._chain().smooth(model._frames(sequences), sequences.offsets, counts=True)
    off = ~np.eye(3, dtype=bool)
    found = (smoothed.counts.jumps / smoothed.counts.stays[:, None])[off]
    np.testing.assert_allclose(found, model.generator_[off], rtol=1e-2, atol=1e-3)


def test_em_recovers_the_generator_as_the_sample_grows():
    errors = []
    for n_sequences in (25, 300):
        truth, X, _, times = draw(7, n_sequences=n_sequences, length=15, noise=0.05, scale=0.6)
        model = CTConstrainedHMM(
            states=STATES, emission=truth.emission_, n_iter=500, tol=1e-5, n_jobs=2
        )
        model.set_params(init="fitted")
        model.classes_, model.emission_ = truth.classes_, truth.emission_
        model.startprob_, model.generator_ = (
            np.ones(3) / 3,
            random_generator(np.random.default_rng(0), 3),
        )
        model.fit(X, times=times)
        errors.append(np.abs(model.generator_ - truth.generator_).max())
    assert errors[1] < 0.5 * errors[0] and errors[1] < 0.25


def test_forbidden_jumps_are_never_expected():
    rules = [ForbiddenEdges([("a", "c"), ("c", "b")])]
    truth, X, y, times = draw(3, n_sequences=20, constraints=rules, noise=0.02)
    model = CTConstrainedHMM(
        states=STATES, emission=truth.emission_, constraints=rules, n_iter=300, tol=1e-6,
        smoothing=1e-9,
    )  # fmt: skip
    partly = [np.where(np.arange(len(each)) % 2 == 0, each, None) for each in y]
    model.fit(X, partly, times=times)
    # all that they get is the pseudocount
    assert 0 < model.generator_[0, 2] < 1e-8 and 0 < model.generator_[2, 1] < 1e-8
    assert (model.generator_[1, [0, 2]] > 0).all()


def test_given_rates_are_kept():
    _, X, y, times = draw(1, n_sequences=10)
    nan = np.nan
    fixed = np.array([[nan, 0.0, nan], [nan, nan, nan], [2.5, nan, nan]])
    for labels, params in [(y, {}), (None, {"n_iter": 5, "tol": 1e9})]:
        model = CTConstrainedHMM(
            states=STATES, generator_fixed=fixed, startprob_fixed=[nan, nan, 0.0], **params
        )
        model.fit(X, labels, times=times)
        assert model.generator_[0, 1] == 0.0 and model.generator_[2, 0] == 2.5
        assert model.startprob_[2] == 0.0
        np.testing.assert_allclose(model.generator_.sum(axis=1), 0, atol=1e-12)
    with pytest.raises(ValueError, match="not a rate"):
        CTConstrainedHMM(generator_fixed=-np.ones((3, 3))).fit(X, y, times=times)


def test_the_mask():
    _, X, y, times = draw(1, n_sequences=10)
    rules = [ForbiddenEdges([("a", "c")]), NoReentry("b")]
    with pytest.warns(NotEnforcedWarning, match="NoReentry"):
        model = CTConstrainedHMM(constraints=rules, semantics="masked").fit(X, y, times=times)
    assert model.generator_[0, 2] == 0.0 and model.generator_[0, 1] > 0
    assert model.not_enforced_ == [NoReentry("b")]
    assert model.graph_.n_nodes == 3
    free = CTConstrainedHMM().fit(X, y, times=times)
    np.testing.assert_allclose(model.generator_[[1, 2]], free.generator_[[1, 2]])
    with pytest.warns(NotEnforcedWarning):
        again = CTConstrainedHMM(
            states=STATES, constraints=rules, semantics="masked", n_iter=3, tol=1e9
        )
        again.fit(X, times=times)
    assert again.generator_[0, 2] == 0.0
    truth = CTConstrainedHMM.from_parameters(
        np.ones(3) / 3, free.generator_, states=STATES, constraints=rules[0], semantics="masked"
    )
    assert truth.generator_[0, 2] == 0.0
    np.testing.assert_array_equal(truth.with_constraints(None).generator_, free.generator_)


def test_masks_do_not_need_step_rules():
    _, X, y, times = draw(1, n_sequences=5)
    with pytest.warns(NotEnforcedWarning, match="CoolDown"):
        CTConstrainedHMM(constraints=CoolDown("a", 2), semantics="masked").fit(X, y, times=times)


def test_a_labelled_sequence_that_breaks_the_rules():
    X, y = [np.array(list("xyx"))], [np.array(["a", "b", "a"], dtype=object)]
    y[0][1] = None
    model = CTConstrainedHMM(states=STATES, constraints=[ExactVisits("a", 2)], n_iter=2, tol=1e9)
    model.fit(X, y, times=[[0.0, 1.0, 2.0]])  # b or c in between
    labels = [np.array(["a", "b", "a", None], dtype=object)]
    with pytest.raises(InfeasibleSequenceError, match="no feasible path"):
        CTConstrainedHMM(states=STATES, constraints=[NoReentry("a")]).fit(
            [np.array(list("xyxx"))], labels, times=[[0.0, 1.0, 2.0, 3.0]]
        )


def test_rates_that_are_far_too_fast_for_the_gaps():
    # Rates per year beside times in seconds: a bad start, but without overflows.
    exam = Categorical.from_parameters([[0.8, 0.2, 0], [0.2, 0.8, 0], [0, 0, 1]], list("xyz"))
    fixed = [[np.nan] * 3, [0, np.nan, np.nan], [0, 0, np.nan]]
    model = CTConstrainedHMM.from_parameters(
        [0.8, 0.2, 0], [[0, 0.1, 0.1], [0, 0, 0.1], [0, 0, 0]], states=STATES, emission=exam,
        generator_fixed=fixed, init="fitted", n_iter=4, tol=1e9,
    )  # fmt: skip
    rng = np.random.default_rng(0)
    times = [np.cumsum(rng.exponential(3e7, size=6)) for _ in range(20)]
    X = [rng.choice(list("xy"), size=6) for _ in times]
    model.fit(X, times=times)
    assert np.isfinite(model.generator_).all()
    assert model.history_ == sorted(model.history_)
