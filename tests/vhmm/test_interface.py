"""What the variational models take and answer beyond hmmlearn, and what they refuse."""

import logging
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.estimator_checks import parametrize_with_checks

from skchmm import InfeasibleSequenceError, satisfies, vhmm
from skchmm.constraints import AtMostVisits, EndsIn, ExactVisits, NoReentry, StartsIn
from skchmm.hmm import ConvergenceMonitor
from tests.estimators.test_estimator_checks import EXPECTED_FAILURES

from .cases import CASES, IDS, KINDS, make, posteriors, rows

each_case = pytest.mark.parametrize(("name", "params"), CASES, ids=IDS)


@pytest.fixture(autouse=True)
def quiet(caplog):
    caplog.set_level(logging.ERROR, logger="skchmm.hmm")


def data(name, seed=0, n=60):
    return rows(name, n, np.random.default_rng(seed))


def never_falls(model):
    history = np.array(model.monitor_.history)
    assert np.isfinite(history).all()
    return (np.diff(history) > -1e-10 * np.maximum(np.abs(history[:-1]), 1)).all()


def assert_same(first, second, **tolerance):
    for attribute, value in posteriors(first).items():
        np.testing.assert_allclose(
            getattr(second, attribute), value, err_msg=attribute, **tolerance
        )


@parametrize_with_checks(
    [vhmm.VariationalGaussianHMM(n_iter=5, covariance_type=kind) for kind in ("full", "diag")],
    expected_failed_checks=lambda estimator: EXPECTED_FAILURES,
)
def test_estimator_checks(estimator, check):
    check(estimator)


class TestBesidesHmmlearn:
    @each_case
    def test_clone_pickle_and_params(self, name, params):
        model = make(name, params, random_state=0, n_iter=5)
        assert set(vars(model)) == set(model.get_params())
        with pytest.raises(NotFittedError):
            model.predict(data(name))
        X = data(name)
        model.fit(X)
        again = pickle.loads(pickle.dumps(model))
        np.testing.assert_array_equal(again.predict(X), model.predict(X))
        assert_same(model, again)
        assert_same(model, clone(model).fit(X))
        assert again.set_params(init_params="", n_iter=1).fit(X).monitor_.iter == 1

    @each_case
    def test_rules_are_kept(self, name, params):
        rules = [StartsIn("a"), ExactVisits("b", 1), EndsIn("c")]
        X = data(name)
        model = make(
            name, params, states=list("abc"), constraints=rules, random_state=0, n_iter=20
        ).fit(X, [20, 40])
        assert never_falls(model)
        for part in np.split(model.predict(X, [20, 40]), [20]):
            assert satisfies(part.tolist(), rules, list("abc"))
        _, path = model.sample(12, random_state=0)
        assert satisfies(path.tolist(), rules, list("abc"))
        # every sequence starts in a, and b is entered once
        np.testing.assert_allclose(model.startprob_posterior_, [2 + 1 / 3, 1 / 3, 1 / 3])

    @each_case
    def test_what_no_path_can_do(self, name, params):
        model = make(name, params, constraints=ExactVisits(1, 30), random_state=0)
        with pytest.raises(InfeasibleSequenceError, match="ExactVisits"):
            model.fit(data(name, n=20))
        assert not hasattr(model, "startprob_posterior_")

    @each_case
    def test_restarts_keep_the_highest_bound(self, name, params):
        X = data(name)
        many = make(name, params, 4, random_state=0, n_init=4, n_iter=10, tol=-1).fit(X)
        rng = np.random.RandomState(0)
        seeds = [0, *(rng.randint(2**31 - 1) for _ in range(3))]
        each = [make(name, params, 4, random_state=s, n_iter=10, tol=-1).fit(X) for s in seeds]
        best = max(each, key=lambda m: m._compute_lower_bound(m._do_estep(X, [60])[1]))
        assert_same(best, many)

    @each_case
    def test_labels(self, name, params):
        rng = np.random.default_rng(1)
        y = np.repeat(rng.permutation(3), 20)
        X = data(name)
        if name == "VariationalGaussianHMM":
            X = X + 9 * y[:, None]
        names = np.array(["low", "mid", "top"])
        model = make(name, params, 1, random_state=0).fit(X, names[y])
        assert model.classes_.tolist() == ["low", "mid", "top"]
        counts = np.zeros((3, 3))
        np.add.at(counts, (y[:-1], y[1:]), 1)
        np.testing.assert_allclose(model.transmat_posterior_, 1 / 3 + counts)
        partly = y.copy()
        partly[rng.random(60) < 0.6] = -1
        model = make(name, params, random_state=0).fit(X, partly)
        assert never_falls(model)
        if name == "VariationalGaussianHMM":
            assert np.mean(model.predict(X) == y) > 0.9

    @each_case
    def test_counting_labels_as_they_come(self, name, params):
        X, y = data(name), np.random.default_rng(2).integers(3, size=60)
        fixed = {} if name == "VariationalCategoricalHMM" else {"means_prior": 0.0}
        whole = make(name, params, **fixed).fit(X, y, lengths=[25, 35])
        parts = make(name, params, **fixed)
        for part in (slice(25), slice(25, 60)):
            parts.partial_fit(X[part], y[part])
        assert_same(whole, parts, rtol=1e-9)
        np.testing.assert_array_equal(parts.predict(X), whole.predict(X))

    @each_case
    def test_chunks(self, name, params):
        X, options = data(name), {"random_state": 0, "n_iter": 6, "tol": -1}
        whole = make(name, params, **options).fit(X, [25, 35])
        chunks = make(name, params, **options).fit_chunks([X[:25], X[25:]])
        assert_same(whole, chunks, rtol=1e-9)
        np.testing.assert_allclose(chunks.monitor_.history, whole.monitor_.history)
        before = make(name, params, random_state=0, n_iter=5, tol=-1).fit(X, [25, 35])
        statistics = before.e_step(X[:25]) + before.e_step(X[25:])
        assert_same(whole, before.m_step(statistics), rtol=1e-9)
        assert before.monitor_.history[-1] == pytest.approx(whole.monitor_.history[-1])

    @each_case
    def test_weights_are_copies(self, name, params):
        X, options = data(name), {"random_state": 0, "n_iter": 6, "tol": -1}
        start = make(name, params, random_state=0, n_iter=1).fit(X, [25, 35])
        weighted, copied = (pickle.loads(pickle.dumps(start)) for _ in range(2))
        weights = np.repeat([2.0, 1.0], [25, 35])
        weighted.set_params(init_params="", **options).fit(X, [25, 35], sample_weight=weights)
        copied.set_params(init_params="", **options)
        copied.fit(np.concatenate([X[:25], X]), [25, 25, 35])
        assert_same(copied, weighted, rtol=1e-9)

    @each_case
    def test_known_probabilities(self, name, params):
        start, trans = np.full(3, np.nan), np.full((3, 3), np.nan)
        start[2], trans[0, 1], trans[1] = 0.25, 0.0, [0.2, 0.5, 0.3]
        X = data(name)
        options = {"startprob_fixed": start, "transmat_fixed": trans, "n_iter": 15, "tol": -1}
        model = make(name, params, random_state=0, **options).fit(X, [30, 30])
        assert never_falls(model)
        assert model.startprob_[2] == 0.25
        assert model.startprob_.sum() == pytest.approx(1)
        np.testing.assert_allclose(model.transmat_[1], trans[1])
        assert model.transmat_[0, 1] == 0
        np.testing.assert_allclose(model.transmat_.sum(axis=1), 1)

    @each_case
    def test_a_zero_in_a_prior_forbids(self, name, params):
        prior = np.full((3, 3), 0.5)
        prior[0, 2] = prior[1, 1] = 0
        X = data(name)
        model = make(name, params, transmat_prior=prior, random_state=0, n_iter=15, tol=-1).fit(X)
        assert never_falls(model)
        assert model.transmat_posterior_[0, 2] == model.transmat_[1, 1] == 0
        path = model.predict(X)
        assert not ((path[:-1] == 0) & (path[1:] == 2)).any()

    @pytest.mark.parametrize("kind", KINDS)
    def test_missing_numbers(self, kind):
        rng = np.random.default_rng(3)
        X = data("VariationalGaussianHMM")
        X[rng.random(X.shape) < 0.2] = np.nan
        X[7] = np.nan
        model = vhmm.VariationalGaussianHMM(3, kind, random_state=0, n_iter=30, tol=-1).fit(X)
        assert never_falls(model)
        seen = np.count_nonzero(~np.isnan(X).all(axis=1))  # a row counts once, or not at all
        assert (model.beta_posterior_ - model.beta_prior_).sum() == pytest.approx(seen)

    def test_missing_symbols_and_names(self):
        X = np.array(list("abcabbca") * 6, dtype=object)
        X[::7] = None
        model = vhmm.VariationalCategoricalHMM(2, random_state=0).fit(X)
        assert never_falls(model)
        assert model.symbols_.tolist() == ["a", "b", "c"]
        counted = model.emissionprob_posterior_ - model.emissionprob_prior_
        assert counted.sum() == pytest.approx(np.count_nonzero(X != None))  # noqa: E711

    def test_a_monitor_of_ones_own(self):
        class Twice(ConvergenceMonitor):
            @property
            def converged(self):
                return self.iter == 2

        model = vhmm.VariationalGaussianHMM(2, random_state=0)
        model.monitor_ = Twice(0.0, 50, False)
        assert len(model.fit(data("VariationalGaussianHMM")).monitor_.history) == 2

    def test_steps_that_subclasses_override_are_called(self):
        class Own(vhmm.VariationalGaussianHMM):
            def _compute_subnorm_log_likelihood(self, X):
                self.called = True
                return super()._compute_subnorm_log_likelihood(X)

            def _compute_lower_bound(self, curr_logprob):
                return super()._compute_lower_bound(curr_logprob) + 5.0

        class Counts(vhmm.VariationalGaussianHMM):
            def _accumulate_sufficient_statistics(
                self, stats, X, lattice, posteriors, fwdlattice, bwdlattice
            ):
                assert not np.isnan(fwdlattice).any()
                super()._accumulate_sufficient_statistics(
                    stats, X, lattice, posteriors, fwdlattice, bwdlattice
                )

        X = data("VariationalGaussianHMM")
        options = {"random_state": 1, "n_iter": 6, "tol": -1}
        plain = vhmm.VariationalGaussianHMM(2, **options).fit(X)
        for kind in (Own, Counts):
            model = kind(2, **options).fit(X)
            assert_same(plain, model, rtol=1e-8)
            added = 5.0 if kind is Own else 0.0
            np.testing.assert_allclose(
                np.array(model.monitor_.history), np.array(plain.monitor_.history) + added
            )
        assert Own(2, **options).fit(X).called

    def test_tiny_priors_do_not_make_anything_impossible(self):
        """exp E[log p] may be no double; hmmlearn has zeros there."""
        X = np.array([[0], [1], [2], [0], [1], [2]])
        rules = [StartsIn(2), NoReentry(2)]
        model = vhmm.VariationalCategoricalHMM(
            3, 1e-4, 1e-4, 1e-4, random_state=0, constraints=rules, n_iter=20, tol=-1
        ).fit(X)
        assert never_falls(model)
        assert satisfies(model.predict(X).tolist(), rules, [0, 1, 2])


class TestRefusals:
    @pytest.mark.parametrize("X", [np.array(0.0), 3, [], np.empty((0, 1))], ids=repr)
    @pytest.mark.parametrize("kind", ["VariationalGaussianHMM", "VariationalCategoricalHMM"])
    def test_no_rows(self, kind, X):
        for y in (None, [0, 1], np.array([], dtype=int)):
            with pytest.raises((ValueError, TypeError), match=r"(?i)x|sequence|array|row"):
                getattr(vhmm, kind)(2).fit(X, y)

    def test_squares_that_are_no_numbers(self):
        X = 1e170 * data("VariationalGaussianHMM")
        with (
            np.errstate(over="ignore", invalid="ignore"),
            pytest.raises(ValueError, match="too large"),
        ):
            vhmm.VariationalGaussianHMM(1).fit(X)

    def test_no_symbol(self):
        with pytest.raises(ValueError, match="no symbol"):
            vhmm.VariationalCategoricalHMM(2).fit(np.array([None, None]))

    @pytest.mark.parametrize("kind", KINDS)
    @pytest.mark.parametrize(
        ("params", "message"),
        [
            ({"dof_prior": 1.0}, "dof_prior_ must be more than n_features - 1 = 1"),
            ({"beta_prior": 0.0}, "beta_prior_ must be positive"),
            ({"scale_prior": -1.0}, "scale_prior_ must be"),
            ({"scale_prior": np.ones((5, 5))}, "scale_prior has shape"),
            ({"means_prior": np.ones(3)}, "means_prior has shape"),
            ({"means_prior": "high"}, "means_prior"),
            ({"startprob_prior": [1.0, -1.0, 1.0]}, "startprob_prior_"),
            ({"transmat_prior": np.zeros((3, 3))}, "transmat_prior_ needs a positive"),
            ({"transmat_prior": np.ones((2, 2))}, "transmat_prior has shape"),
            ({"transmat_prior": np.nan}, "transmat_prior_ must be finite"),
        ],
    )
    def test_priors(self, kind, params, message):
        with pytest.raises(ValueError, match=message):
            vhmm.VariationalGaussianHMM(3, kind, **params).fit(data("VariationalGaussianHMM"))

    def test_numbers_stand_for_all_states(self):
        X = data("VariationalGaussianHMM")
        for kind in KINDS:
            model = vhmm.VariationalGaussianHMM(
                3, kind, means_prior=[1.0, 2.0], beta_prior=2.0, dof_prior=4.0, scale_prior=0.5,
                n_iter=1,
            ).fit(X)  # fmt: skip
            np.testing.assert_array_equal(model.means_prior_, [[1, 2]] * 3)
            np.testing.assert_array_equal(model.beta_prior_, [2, 2, 2])
            assert np.all(model.dof_prior_ == 4)
            expected = 0.5 * np.eye(2) if kind in ("full", "tied") else 0.5
            np.testing.assert_array_equal(model.scale_prior_ - expected, 0)

    def test_parameters_without_posteriors_cannot_be_learned_from(self):
        model = vhmm.VariationalGaussianHMM(2, "diag")
        model.startprob_, model.transmat_ = [0.5, 0.5], np.full((2, 2), 0.5)
        model.means_, model.covars_ = [[0.0], [4.0]], [[1.0], [1.0]]
        assert model.predict([[0.1], [4.2]]).tolist() == [0, 1]
        with pytest.raises(NotFittedError, match="no posteriors"):
            model.e_step([[0.1], [4.2]])


# ------------------------------------------------------------- degenerate data
@pytest.mark.parametrize("prior", [None, 1.0])
def test_a_bound_that_rounding_lowers(prior):
    """It is no likelihood, so that nothing is taken back for it."""
    X = 1e6 * np.random.default_rng(0).normal(size=(2, 2)) + 3e6
    model = vhmm.VariationalGaussianHMM(
        2, "full", random_state=0, n_iter=6, tol=-1, startprob_prior=prior, transmat_prior=prior
    )
    assert len(model.fit(X).monitor_.history) == 6


@settings(max_examples=25, deadline=None)
@given(
    kind=st.sampled_from(["symbols", *KINDS]), S=st.integers(1, 5), n=st.integers(1, 7),
    d=st.integers(1, 3), same=st.booleans(), large=st.sampled_from([1.0, 1e-6, 1e6, 1e12]),
    holes=st.booleans(), ruled=st.booleans(), seed=st.integers(0, 99),
)  # fmt: skip
def test_little_data(kind, S, n, d, same, large, holes, ruled, seed):
    """One state, one step, one value, more states than rows: it learns, and the bound climbs."""
    rng = np.random.default_rng(seed)
    rules = [AtMostVisits(0, 1), EndsIn(0)] if ruled else None
    options = {"random_state": seed, "n_iter": 6, "tol": -1, "constraints": rules}
    if kind == "symbols":
        X = np.zeros((n, 1), dtype=int) if same else rng.integers(3, size=(n, 1))
        model = vhmm.VariationalCategoricalHMM(S, **options).fit(X)
    else:
        X = np.ones((n, d)) if same else rng.normal(size=(n, d))
        X = large * X + 3 * large
        if holes:
            X[rng.random(X.shape) < 0.4] = np.nan
        model = vhmm.VariationalGaussianHMM(S, kind, **options).fit(X)
    history = np.array(model.monitor_.history)
    assert np.isfinite(history).all()
    # directions without any scatter have that of the prior, which may drown in the others
    spread = np.max(np.linalg.cond(model.scale_posterior_)) if kind in ("full", "tied") else 1.0
    slack = np.maximum(1e-9 * np.maximum(np.abs(history[:-1]), 1), 1e-15 * spread)
    assert spread > 1e12 or (np.diff(history) > -slack).all()
    path = model.predict(X)
    assert len(path) == n
    assert rules is None or satisfies(path.tolist(), rules, list(range(S)))
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1)
    for value in posteriors(model).values():
        assert np.isfinite(value).all()


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10_000), case=st.sampled_from(CASES), S=st.integers(2, 4))
def test_it_never_falls_on_random_data(seed, case, S):
    rng = np.random.default_rng(seed)
    name, params = case
    X = rows(name, 50, rng)
    label = int(rng.integers(S))
    rules = [None, NoReentry(label), AtMostVisits(label, 2), StartsIn(label)][rng.integers(4)]
    weights = np.repeat(rng.uniform(0.2, 3, size=3), [10, 15, 25])
    model = make(name, params, S, random_state=seed, n_iter=15, tol=-1, constraints=rules)
    assert never_falls(model.fit(X, [10, 15, 25], sample_weight=weights))
