"""Subclasses written for hmmlearn work, and give what they give there."""

import numpy as np
import pytest
from scipy.stats import expon

from skchmm import hmm as ours

from .cases import theirs

their_base = pytest.importorskip("hmmlearn.base")

LENGTHS = [30, 20, 50]


def vectors():
    rng = np.random.default_rng(0)
    return rng.standard_normal((100, 2)) + 4 * rng.integers(2, size=(100, 1))


def symmetric(module):
    """A constrained M-step that also looks at the statistics."""

    class Symmetric(module.GaussianHMM):
        def _do_mstep(self, stats):
            super()._do_mstep(stats)
            counts = stats["trans"] + stats["trans"].T
            self.transmat_ = counts / counts.sum(axis=1, keepdims=True)
            self.seen = stats["obs"] / stats["post"][:, None], stats["nobs"]

    return Symmetric


def weighted(module):
    """Every sequence but the first counts half."""

    class Weighted(module.GaussianHMM):
        def _initialize_sufficient_statistics(self):
            stats = super()._initialize_sufficient_statistics()
            assert (stats["obs"] == 0).all()
            stats["calls"] = 0
            return stats

        def _accumulate_sufficient_statistics(
            self, stats, X, lattice, posteriors, fwdlattice, bwdlattice
        ):
            weight = 1.0 if stats["calls"] == 0 else 0.5
            stats["calls"] += 1
            assert lattice.shape == posteriors.shape == (len(X), self.n_components)
            stats["post"] += weight * posteriors.sum(axis=0)
            stats["obs"] += weight * posteriors.T @ X

        def _do_mstep(self, stats):
            self.means_ = stats["obs"] / stats["post"][:, None]

    return Weighted


@pytest.mark.parametrize("make", [symmetric, weighted])
@pytest.mark.parametrize("implementation", ["log", "scaling"])
def test_learning_hooks(make, implementation):
    X, fitted = vectors(), []
    for module in (theirs, ours):
        model = make(module)(2, random_state=1, n_iter=4, tol=-1, implementation=implementation)
        fitted.append(model.fit(X, LENGTHS))
    first, second = fitted
    np.testing.assert_allclose(second.means_, first.means_, atol=1e-8)
    np.testing.assert_allclose(second.transmat_, first.transmat_, atol=1e-8)
    if make is symmetric:
        np.testing.assert_allclose(second.seen[0], first.seen[0], atol=1e-8)
        assert second.seen[1] == first.seen[1] == 3


def exponential(base, use_likelihood):
    """An emission of one's own, all hooks included."""

    class ExponentialHMM(base):
        def _init(self, X, lengths=None):
            super()._init(X, lengths)
            if self._needs_init("r", "rates_"):
                self.rates_ = np.linspace(0.5, 2, self.n_components) / X.mean()

        def _check(self):
            super()._check()
            if (np.asarray(self.rates_) <= 0).any():
                raise ValueError("rates_ must be positive")

        def _get_n_fit_scalars_per_param(self):
            S = self.n_components
            return {"s": S - 1, "t": S * (S - 1), "r": S}

        def _generate_sample_from_state(self, state, random_state):
            return [random_state.exponential(1 / self.rates_[state])]

        def _initialize_sufficient_statistics(self):
            stats = super()._initialize_sufficient_statistics()
            stats["post"] = np.zeros(self.n_components)
            stats["sum"] = np.zeros(self.n_components)
            return stats

        def _accumulate_sufficient_statistics(
            self, stats, X, lattice, posteriors, fwdlattice, bwdlattice
        ):
            super()._accumulate_sufficient_statistics(
                stats, X, lattice, posteriors, fwdlattice, bwdlattice
            )
            stats["post"] += posteriors.sum(axis=0)
            stats["sum"] += posteriors.T @ X[:, 0]

        def _do_mstep(self, stats):
            super()._do_mstep(stats)
            if "r" in self.params:
                self.rates_ = stats["post"] / stats["sum"]

    if use_likelihood:
        ExponentialHMM._compute_likelihood = lambda self, X: expon.pdf(X, scale=1 / self.rates_)
    else:
        ExponentialHMM._compute_log_likelihood = lambda self, X: expon.logpdf(
            X, scale=1 / self.rates_
        )
    return ExponentialHMM


@pytest.mark.parametrize("use_likelihood", [True, False])
@pytest.mark.parametrize("implementation", ["log", "scaling"])
def test_an_emission_of_ones_own(use_likelihood, implementation):
    rng = np.random.default_rng(5)
    X = rng.exponential(np.repeat([1.0, 8.0, 1.0, 8.0, 1.0], 20))[:, None]
    models = []
    for base in (their_base.BaseHMM, ours.BaseHMM):
        model = exponential(base, use_likelihood)(
            2, random_state=2, n_iter=6, implementation=implementation, params="str",
            init_params="str",
        )  # fmt: skip
        models.append(model.fit(X, LENGTHS))
    first, second = models
    np.testing.assert_allclose(second.rates_, first.rates_, rtol=1e-8)
    np.testing.assert_allclose(second.transmat_, first.transmat_, atol=1e-8)
    np.testing.assert_array_equal(second.predict(X, LENGTHS), first.predict(X, LENGTHS))
    assert second.score(X, LENGTHS) == pytest.approx(first.score(X, LENGTHS))
    assert second.aic(X, LENGTHS) == pytest.approx(first.aic(X, LENGTHS))
    expected, found = first.sample(10, random_state=3), second.sample(10, random_state=3)
    np.testing.assert_allclose(found[0], expected[0])
    np.testing.assert_array_equal(found[1], expected[1])
    second.rates_ = [-1.0, 1.0]
    with pytest.raises(ValueError, match="positive"):
        second.predict(X)


def test_an_emission_of_ones_own_under_constraints_and_with_labels():
    from skchmm.constraints import AtMostVisits

    rng = np.random.default_rng(5)
    X = rng.exponential(np.repeat([1.0, 8.0, 1.0, 8.0, 1.0], 20))[:, None]
    made = exponential(ours.BaseHMM, False)
    model = made(2, random_state=2, params="str", init_params="str").fit(X)
    long_state = int(np.argmin(model.rates_))
    model.constraints = AtMostVisits(long_state, 1)
    path = model.predict(X)
    assert np.sum((path == long_state) & (np.r_[-1, path[:-1]] != long_state)) <= 1
    y = np.repeat([0, 1, 0, 1, 0], 20)
    labelled = made(2, params="str", init_params="str").fit(X, y=y)
    np.testing.assert_allclose(
        labelled.rates_, [1 / X[y == 0].mean(), 1 / X[y == 1].mean()], rtol=1e-10
    )


def test_a_likelihood_without_an_emission_must_be_defined():
    model = ours.BaseHMM(2)
    model.startprob_, model.transmat_ = [0.5, 0.5], [[0.5, 0.5], [0.5, 0.5]]
    X, path = model.sample(5, random_state=0)
    assert X.shape == (5, 0)
    assert len(path) == 5
    with pytest.raises(NotImplementedError, match="_compute_log_likelihood"):
        model.score(np.zeros((3, 1)))


def test_start_values_of_ones_own():
    class Split(ours.GaussianHMM):
        def _init(self, X, lengths=None):
            super()._init(X, lengths)
            self.means_ = np.quantile(X, [0.1, 0.9], axis=0)

        def _check_and_set_n_features(self, X):
            super()._check_and_set_n_features(X)
            self.checked = self.n_features

    model = Split(2, n_iter=0).fit(vectors())
    np.testing.assert_array_equal(model.means_, np.quantile(vectors(), [0.1, 0.9], axis=0))
    assert model.checked == 2


@pytest.mark.parametrize("covariance_type", ["diag", "full", "tied", "spherical"])
def test_densities_of_parameters_that_were_set_by_hand(covariance_type):
    X = np.random.default_rng(0).normal(size=(9, 2))
    found = []
    for module in (ours, theirs):
        model = module.GaussianHMM(2, covariance_type=covariance_type)
        model.means_ = np.array([[0.0, 1.0], [2.0, 0.5]])
        eye = np.eye(2)
        model.covars_ = {
            "diag": np.ones((2, 2)), "full": np.stack([eye, eye]), "tied": eye,
            "spherical": np.ones(2),
        }[covariance_type]  # fmt: skip
        found.append(model._compute_log_likelihood(X))
    np.testing.assert_allclose(*found, rtol=1e-12)


def test_a_class_that_draws_from_another_model_has_random_numbers_of_its_own():
    X = np.random.default_rng(0).normal(size=(30, 1))
    inner = ours.GaussianHMM(2, n_iter=2, random_state=0).fit(X)

    class Outer(ours.GaussianHMM):
        def _generate_sample_from_state(self, state, random_state):
            inner.sample(3, random_state=0)
            return super()._generate_sample_from_state(state, random_state)

    outer = Outer(2, n_iter=2, random_state=0).fit(X)
    plain = ours.GaussianHMM(2, n_iter=2, random_state=0).fit(X)
    for found, expected in zip(outer.sample(20), plain.sample(20)):
        np.testing.assert_array_equal(found, expected)
    rows, _ = plain.sample(20, random_state=np.random.RandomState(0))
    np.testing.assert_array_equal(rows, plain.sample(20)[0])
