import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning

from skchmm import (
    ConstrainedHMM,
    HSMMDecoder,
    InfeasibleSequenceError,
    InfeasibleSequenceWarning,
    NotEnforcedWarning,
    satisfies,
)
from skchmm.constraints import (
    AtLeastVisits,
    EndsIn,
    ExactVisits,
    MaxDuration,
    MinDuration,
    NoDwell,
    NoReentry,
    Occupancy,
    Soft,
    StartsIn,
    VisitBy,
    Window,
)
from skchmm.emissions import Frames
from tests.decoders.cases import STATES, toy
from tests.oracles.semi_markov import SemiMarkovEnumeration
from tests.oracles.strategies import constraint_lists


def random_segments(rng, D, S=3, zeros=0.2):
    start = rng.dirichlet(np.ones(S))
    trans = rng.dirichlet(np.ones(S), size=S)
    trans[rng.random((S, S)) < zeros] = 0
    np.fill_diagonal(trans, 0)
    trans[:, 0] += (trans.sum(axis=1) == 0) & (np.arange(S) != 0)
    trans[0, 1] += trans[0].sum() == 0
    durations = rng.dirichlet(np.ones(D), size=S)
    durations[rng.random((S, D)) < zeros] = 0
    durations[:, 0] += durations.sum(axis=1) == 0
    return (
        start,
        trans / trans.sum(axis=1, keepdims=True),
        durations / durations.sum(axis=1, keepdims=True),
    )


def check(parameters, X, constraints):
    """Everything that inference gives, against enumeration."""
    truth = SemiMarkovEnumeration(*parameters, X, STATES, constraints)
    try:
        model = HSMMDecoder.from_parameters(
            *parameters, states=STATES, constraints=constraints, enforce=True
        )
    except ValueError as error:  # constraints that exclude each other
        assert "satisf" in str(error)
        assert not truth.feasible
        return
    np.testing.assert_allclose(model.score(X), truth.log_z, rtol=1e-11, atol=1e-11)
    if not truth.feasible:
        with pytest.raises(InfeasibleSequenceError):
            model.predict(X)
        return
    log_prob, path = model.decode(X)
    best = np.argmax(truth.log_weights)
    np.testing.assert_allclose(log_prob, truth.log_weights[best], rtol=1e-11, atol=1e-11)
    taken = truth.log_weights[truth.paths.index(tuple(STATES.index(x) for x in path))]
    np.testing.assert_allclose(taken, log_prob, rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(model.predict_proba(X), truth.marginals(), atol=1e-12)
    smoothed = model._chain().smooth(Frames(X), np.array([0, len(X)]), counts=True)
    for ours, expected in zip(smoothed.counts, truth.counts()):
        np.testing.assert_allclose(ours, expected, atol=1e-12)


class TestInference:
    @settings(max_examples=60, deadline=None)
    @given(st.integers(0, 10**6), st.integers(1, 6), st.integers(1, 7))
    def test_all_segmentations(self, seed, n_steps, D):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(n_steps, 3))
        X[rng.random(X.shape) < 0.1] = -np.inf
        check(random_segments(rng, D), X, [])

    @settings(max_examples=150, deadline=None)
    @given(
        st.integers(0, 10**6), st.integers(1, 6), st.integers(1, 7),
        constraint_lists(STATES, max_size=3),
    )  # fmt: skip
    def test_feasible_segmentations(self, seed, n_steps, D, constraints):
        rng = np.random.default_rng(seed)
        check(random_segments(rng, D, zeros=0.1), rng.normal(size=(n_steps, 3)), constraints)

    @pytest.mark.parametrize(
        "constraints",
        [
            [Window("a", 2, 5), VisitBy("b", 3)],
            [Occupancy("a", at_least=3, at_most=4)],
            [MinDuration({"a", "b"}, 3), ExactVisits("c", 1)],
            [MaxDuration("a", 2), NoDwell("b")],
        ],
        ids=str,
    )
    @pytest.mark.parametrize("seed", range(3))
    def test_memory_that_moves_within_a_segment(self, seed, constraints):
        rng = np.random.default_rng(seed)
        check(random_segments(rng, 6, zeros=0), rng.normal(size=(8, 3)), constraints)

    def test_extreme_likelihoods_do_not_vanish(self):
        rng = np.random.default_rng(0)
        X = 800.0 * rng.normal(size=(7, 3))
        X[:, 1] -= 5000.0
        check(random_segments(rng, 4, zeros=0), X, [AtLeastVisits("b", 2), EndsIn("b")])

    @pytest.mark.parametrize("huge", [-1e18, -1e30, -1e300, 1e18, 1e30, 1e300])
    def test_huge_scores(self, huge):
        """Where one is forced, digits of the others are lost, but probabilities stay what they are.

        A score that all states share at a step changes nothing.
        """
        for seed in range(20):
            rng = np.random.default_rng(seed)
            parameters = random_segments(rng, 8, zeros=0)
            model = HSMMDecoder.from_parameters(*parameters, states=STATES)
            X = rng.normal(size=(40, 3))
            X[rng.random(X.shape) < 0.4] = huge
            for p in (model.predict_proba(X), *model.predict_proba([X, X[:20]])):
                assert (p >= 0).all()
                np.testing.assert_allclose(p.sum(axis=1), 1.0, rtol=1e-9)
            plain, shared = rng.normal(size=(40, 3)), rng.random((40, 1)) < 0.5
            np.testing.assert_allclose(
                model.predict_proba(np.where(shared, huge, plain)),
                model.predict_proba(np.where(shared, 0.0, plain)),
                atol=1e-9,
            )

    def test_geometric_durations_make_a_markov_chain(self):
        rng = np.random.default_rng(1)
        stay = np.array([0.5, 0.7, 0.2])
        start, trans, _ = random_segments(rng, 1, zeros=0)
        D, T = 40, 40  # as long as the sequence: nothing is cut off but tails never used
        durations = (1 - stay[:, None]) * stay[:, None] ** np.arange(D)
        durations[:, -1] = stay ** (D - 1)
        X = rng.normal(size=(T, 3))
        semi = HSMMDecoder.from_parameters(
            start, trans, durations, states=STATES, constraints=ExactVisits("a", 3), enforce=True
        )
        chain = ConstrainedHMM.from_parameters(
            start, (1 - stay[:, None]) * trans + np.diag(stay), states=STATES,
            constraints=ExactVisits("a", 3),
        )  # fmt: skip
        np.testing.assert_allclose(semi.score(X), chain.score(X), rtol=1e-12)
        np.testing.assert_allclose(semi.predict_proba(X), chain.predict_proba(X), atol=1e-11)
        np.testing.assert_array_equal(semi.predict(X), chain.predict(X))

    def test_many_sequences_and_threads(self):
        rng = np.random.default_rng(2)
        X = [rng.normal(size=(n, 3)) for n in rng.integers(1, 40, 25)]
        parameters = random_segments(rng, 12, zeros=0)
        one = HSMMDecoder.from_parameters(*parameters, states=STATES)
        two = HSMMDecoder.from_parameters(*parameters, states=STATES, n_jobs=2)
        alone = [one.decode(x) for x in X]
        for model in (one, two):
            log_prob, paths = model.decode(X)
            np.testing.assert_array_equal(log_prob, [value for value, _ in alone])
            assert all((a == b).all() for a, (_, b) in zip(paths, alone))
            for together, x in zip(model.predict_proba(X), X):
                np.testing.assert_allclose(together, one.predict_proba(x), atol=1e-12)

    def test_map(self):
        rng = np.random.default_rng(3)
        X = rng.normal(size=(9, 3))
        model = HSMMDecoder.from_parameters(
            *random_segments(rng, 5), states=STATES, algorithm="map"
        )
        best = model.predict_proba(X).argmax(axis=1)
        assert model.predict(X).tolist() == [STATES[i] for i in best]

    @pytest.mark.parametrize("algorithm", ["posterior", "mea"])
    @pytest.mark.parametrize("seed", range(8))
    def test_paths_of_marginals(self, seed, algorithm):
        """Of the segmentations that are possible, the one with the largest sum of marginals."""
        rng = np.random.default_rng(seed)
        rules = [[], [NoReentry("a")], [MaxDuration("a", 2), EndsIn({"b", "c"})]][seed % 3]
        parameters, T = random_segments(rng, 4), [1, 2, 5, 6][seed % 4]
        X = [rng.normal(size=(T, 3)) for _ in range(9)]
        every = [SemiMarkovEnumeration(*parameters, x, STATES, rules) for x in X]
        X = [x for x, truth in zip(X, every) if truth.feasible]
        every = [truth for truth in every if truth.feasible]
        if not X:
            return
        for soft in (None, Soft(StartsIn("b"), 3.0)):
            model = HSMMDecoder.from_parameters(
                *parameters, states=STATES, constraints=[*rules, *([soft] if soft else [])],
                enforce=True, algorithm=algorithm,
            )  # fmt: skip
            for truth, path, table in zip(every, model.predict(X), model.predict_proba(X)):
                if soft is None:
                    np.testing.assert_allclose(table, truth.marginals(), atol=1e-12)
                with np.errstate(divide="ignore"):
                    values = table if algorithm == "mea" else np.log(table)
                sums = {x: values[np.arange(T), list(x)].sum() for x in truth.paths}
                taken = sums[tuple(STATES.index(label) for label in path)]
                np.testing.assert_allclose(taken, max(sums.values()), atol=1e-10)


class TestInfeasible:
    def test_longer_than_max_duration(self):
        X, y = np.zeros(8, dtype=int), np.zeros(8, dtype=int)
        with pytest.warns(UserWarning, match="longer than max_duration=4"):
            model = HSMMDecoder(4).fit(X, y)
        with pytest.raises(InfeasibleSequenceError, match="segment longer than max_duration=4"):
            model.predict(X)
        assert HSMMDecoder(8).fit(X, y).predict(X).tolist() == [0] * 8

    def test_warning_and_answer_without_constraints(self):
        X, y = toy()
        make = HSMMDecoder(
            10, constraints=AtLeastVisits("a", 50), enforce=True, on_infeasible="warn"
        )
        with pytest.warns(InfeasibleSequenceWarning, match="no feasible path"):
            answer = make.fit(X, y).predict(X)
        free = HSMMDecoder(10).fit(X, y).predict(X)
        assert all((a == b).all() for a, b in zip(answer, free))

    def test_error_names_the_constraints(self):
        X, y = toy()
        model = HSMMDecoder(10, constraints=AtLeastVisits("a", 50), enforce=True).fit(X, y)
        with pytest.raises(InfeasibleSequenceError, match=r"AtLeastVisits\('a', 50\).*max_dur"):
            model.predict(X)


class TestConstraints:
    def test_not_enforced_says_so_once(self):
        X, y = toy()
        with pytest.warns(NotEnforcedWarning, match="enforce=True") as caught:
            model = HSMMDecoder(10, constraints=EndsIn("a")).fit(X, y)
        assert len(caught) == 1
        assert model.not_enforced_ == [EndsIn("a")]
        model.predict(X)
        np.testing.assert_array_equal(
            model.log_likelihood(X), HSMMDecoder(10).fit(X, y).log_likelihood(X)
        )

    def test_enforced_paths_satisfy_them(self):
        X, y = toy(20)
        rules = [EndsIn("a"), ExactVisits("b", 2), Window("c", 2, 30)]
        model = HSMMDecoder(10, constraints=rules, enforce=True).fit(X, y)
        assert model.not_enforced_ == []
        assert all(satisfies(path.tolist(), rules, STATES) for path in model.predict(X))
        assert (model.log_feasibility(X) < 0).all()

    def test_other_constraints_on_the_same_model(self):
        X, y = toy()
        model = HSMMDecoder(10, enforce=True).fit(X, y).with_constraints(EndsIn("a"))
        assert all(path[-1] == "a" for path in model.predict(X))


class TestSupervised:
    def test_counts_of_segments(self):
        y = [list("aabaacc"), list("bbbb"), list("aac")]
        X = [[*"xxyxxzz"], [*"yyyy"], [*"xxz"]]
        model = HSMMDecoder(5, smoothing=0.5).fit(X, y)
        np.testing.assert_allclose(model.startprob_, np.array([2.5, 1.5, 0.5]) / 4.5)
        np.testing.assert_allclose(
            model.transmat_, [[0, 1.5 / 4, 2.5 / 4], [1.5 / 2, 0, 0.5 / 2], [0.5, 0.5, 0]]
        )
        # state a: three complete segments of 2; state c: none complete, cut after 2 and after 1.
        np.testing.assert_allclose(model.durations_[0], np.array([1, 4, 1, 1, 1]) / 8)
        hazard = [1 / 6, 1 / 4, 1 / 3, 1 / 2, 1]
        left = np.cumprod([1.0, *(1 - np.array(hazard[:-1]))])
        np.testing.assert_allclose(model.durations_[2], hazard * left)

    @pytest.mark.parametrize("family", ["empirical", "poisson", "negative_binomial", "geometric"])
    def test_durations_maximise_the_likelihood(self, family):
        from skchmm.inference.durations import _pmf, fit_durations, survival

        rng = np.random.default_rng(0)
        complete, cut = np.zeros((2, 1, 30))
        np.add.at(complete[0], np.minimum(rng.poisson(6, 40), 29), 1)
        np.add.at(cut[0], np.minimum(rng.poisson(3, 10), 29), 1)

        def value(p):
            with np.errstate(divide="ignore", invalid="ignore"):
                return np.nansum(complete * np.log(p)) + np.nansum(cut * np.log(survival(p)))

        best = fit_durations(family, complete, cut)
        np.testing.assert_allclose(best.sum(), 1)
        for _ in range(200):
            if family == "empirical":
                other = best * rng.lognormal(0, 0.1, best.shape)
                other /= other.sum()
            else:
                n = 2 if family == "negative_binomial" else 1
                other = _pmf(family, rng.normal(0, 2, n), 30)[None]
            assert value(other) <= value(best) + 1e-6

    def test_recovers_a_parametric_family(self):
        from skchmm.inference.durations import fit_durations

        rng = np.random.default_rng(0)
        drawn = rng.poisson(9, 4000)
        complete = np.bincount(drawn, minlength=60)[None, :60].astype(float)
        fitted = fit_durations("poisson", complete, np.zeros_like(complete))
        assert abs(fitted[0] @ np.arange(60) - drawn.mean()) < 1e-4

    def test_nothing_seen(self):
        X, y = toy()
        for family in ("empirical", "poisson", "negative_binomial", "geometric"):
            model = HSMMDecoder(
                6, states=["a", "b", "c", "d"], duration=family, duration_smoothing=0.0
            ).fit(X, y)
            np.testing.assert_allclose(model.durations_.sum(axis=1), 1)
            assert np.isfinite(model.log_likelihood(X)).all()

    def test_weights_are_copies(self):
        X, y = toy()
        weights = np.array([1, 2, 0, 3, 1, 1])
        copies = np.repeat(np.arange(6), weights)
        weighted = HSMMDecoder(8).fit(X, y, sample_weight=weights)
        copied = HSMMDecoder(8).fit([X[i] for i in copies], [y[i] for i in copies])
        np.testing.assert_allclose(weighted.durations_, copied.durations_)
        np.testing.assert_allclose(weighted.transmat_, copied.transmat_)


def em(model, X, y=None, **params):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(X, y, **params)


class TestEM:
    @pytest.mark.parametrize("family", ["empirical", "poisson", "negative_binomial", "geometric"])
    @pytest.mark.parametrize("rules", [None, [EndsIn(0), ExactVisits(1, 2)]], ids=["free", "rules"])
    def test_likelihood_never_goes_down(self, family, rules):
        rng = np.random.default_rng(0)
        X = [rng.integers(0, 3, n) for n in rng.integers(6, 20, 6)]
        model = HSMMDecoder(
            8, n_states=3, duration=family, constraints=rules, enforce=True, n_iter=15, tol=0,
            random_state=0,
        )  # fmt: skip
        em(model, X, sample_weight=rng.integers(1, 3, 6))
        assert len(model.history_) == 16
        assert np.all(np.diff(model.history_) >= -1e-8 * np.abs(model.history_[0]))
        assert model.history_[-1] > model.history_[0]

    def test_one_iteration_by_enumeration(self):
        from skchmm.inference.durations import fit_durations

        rng = np.random.default_rng(4)
        start, trans, durations = random_segments(rng, 4, zeros=0)
        X = [rng.normal(size=(n, 3)) for n in (3, 5, 6)]
        model = HSMMDecoder.from_parameters(start, trans, durations, states=STATES, n_iter=1, tol=0)
        model.set_params(init="fitted", smoothing=0)
        em(model, X)
        truth = [SemiMarkovEnumeration(start, trans, durations, x, STATES) for x in X]
        np.testing.assert_allclose(model.history_[0], sum(t.log_z for t in truth))
        first = sum(t.marginals()[0] for t in truth)
        np.testing.assert_allclose(model.startprob_, first / first.sum())
        changes, complete, cut = (sum(parts) for parts in zip(*(t.counts() for t in truth)))
        np.testing.assert_allclose(model.transmat_, changes / changes.sum(axis=1, keepdims=True))
        np.testing.assert_allclose(
            model.durations_, fit_durations("empirical", complete, cut), atol=1e-12
        )

    def test_known_labels_are_held(self):
        X, y = toy()
        partly = [np.where(np.arange(len(p)) % 3 == 0, None, p.astype(object)) for p in y]
        model = em(HSMMDecoder(8, n_iter=5, tol=0), X, partly)
        assert np.all(np.diff(model.history_) >= -1e-8)
        assert model.score(X, y) > 0.8

    def test_finds_durations(self):
        rng = np.random.default_rng(0)
        y = [np.repeat(np.arange(12) % 2, rng.integers(8, 11, 12)) for _ in range(10)]
        X = [rng.normal(4.0 * path, 1.0)[:, None] for path in y]
        model = em(HSMMDecoder(20, n_states=2, random_state=0), X)
        inside = model.durations_[:, 7:10].sum(axis=1)
        assert (inside > 0.9).all()


@pytest.mark.parametrize(
    "params, message",
    [
        ({"max_duration": 0}, "max_duration must be an integer >= 1"),
        ({"duration": "normal"}, "duration must be one of"),
        ({"duration_smoothing": -1}, "duration_smoothing must not be negative"),
        ({"algorithm": "best"}, "algorithm must be one of"),
        ({"smoothing": -1}, "smoothing must not be negative"),
    ],
)
def test_bad_parameters(params, message):
    X, y = toy()
    with pytest.raises(ValueError, match=message):
        HSMMDecoder(**params).fit(X, y)


def test_bad_known_parameters():
    start, trans = np.full(2, 0.5), np.array([[0, 1.0], [1, 0]])
    with pytest.raises(ValueError, match="zero on the diagonal"):
        HSMMDecoder.from_parameters(start, np.full((2, 2), 0.5), np.ones((2, 1)))
    with pytest.raises(ValueError, match="one row for each of the 2 states"):
        HSMMDecoder.from_parameters(start, trans, np.ones((3, 1)))
    with pytest.raises(ValueError, match="sum to 1"):
        HSMMDecoder.from_parameters(start, trans, np.ones((2, 3)))


def test_has_no_questions_of_markov_chains():
    assert not hasattr(HSMMDecoder(), "kbest")
    assert not hasattr(HSMMDecoder(), "sample")
