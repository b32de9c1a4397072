"""The same start values and posteriors give the same updates as hmmlearn's classes."""

import logging

import numpy as np
import pytest

from skchmm.emissions import GMM, Categorical, Gaussian, Multinomial, Poisson

from .cases import COVARIANCE_TYPES, counts, vectors

hmm = pytest.importorskip("hmmlearn.hmm")
logging.getLogger("hmmlearn").setLevel(logging.ERROR)

PRIORS = [{}, {"means_prior": 0.5, "means_weight": 2.0, "covars_prior": 0.1, "covars_weight": 7.0}]


def as_hmmlearn(emission):
    emission._as_hmmlearn = True
    return emission


def their_update(model, X, posteriors, params):
    """One M-step of hmmlearn from the given posteriors."""
    model.params = params
    model._check()
    statistics = model._initialize_sufficient_statistics()
    log_p = model._compute_log_likelihood(X)
    model._accumulate_sufficient_statistics(statistics, X, log_p, posteriors, None, None)
    model._do_mstep(statistics)
    return log_p


def prepared(model, n_states):
    model.startprob_ = np.full(n_states, 1 / n_states)
    model.transmat_ = np.full((n_states, n_states), 1 / n_states)
    return model


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    return rng, vectors(rng), rng.dirichlet(np.ones(3), size=120)


@pytest.mark.parametrize("kind", COVARIANCE_TYPES)
@pytest.mark.parametrize("priors", [{"covars_prior": 1e-2, "covars_weight": 1}, PRIORS[1]])
def test_gaussian(data, kind, priors):
    _, X, posteriors = data
    theirs = prepared(hmm.GaussianHMM(3, kind, random_state=0, init_params="mc", **priors), 3)
    theirs._init(X)
    ours = as_hmmlearn(Gaussian(kind, min_covar=1e-3, **priors))
    E = ours.encode(X, reset=True)
    ours.initialise(E, None, 3, init="kmeans", random_state=0)
    np.testing.assert_allclose(ours.means_, theirs.means_)

    def same_covars():
        ours_full = ours.covars_[None] if kind == "tied" else ours.covars_
        if kind == "spherical":
            ours_full = np.repeat(ours.covars_[:, None], 3, axis=1)
        np.testing.assert_allclose(ours_full, np.broadcast_to(theirs._covars_, ours_full.shape))

    same_covars()
    log_p = their_update(theirs, X, posteriors, "mc")
    np.testing.assert_allclose(ours.log_likelihood(E).dense(), log_p, rtol=1e-9)
    ours.maximise(ours.accumulate(E, posteriors))
    np.testing.assert_allclose(ours.means_, theirs.means_, rtol=1e-9)
    same_covars()


@pytest.mark.parametrize("kind", COVARIANCE_TYPES)
@pytest.mark.parametrize("priors", PRIORS)
def test_mixture(data, kind, priors):
    _, X, posteriors = data
    theirs = hmm.GMMHMM(3, 2, covariance_type=kind, random_state=0, init_params="mcw", **priors)
    prepared(theirs, 3)._init(X)
    ours = as_hmmlearn(GMM(2, covariance_type=kind, min_covar=1e-3, **priors))
    E = ours.encode(X, reset=True)
    ours.initialise(E, None, 3, init="kmeans", random_state=0)
    for _ in range(2):
        for name in ("weights_", "means_", "covars_"):
            np.testing.assert_allclose(getattr(ours, name), getattr(theirs, name), rtol=1e-8)
        log_p = their_update(theirs, X, posteriors, "mcw")
        np.testing.assert_allclose(ours.log_likelihood(E).dense(), log_p, rtol=1e-8)
        ours.maximise(ours.accumulate(E, posteriors))


# Of three columns that are all 1e9 away, no double holds the covariance.
@pytest.mark.parametrize(
    "kind, far", [*((kind, 1e3) for kind in COVARIANCE_TYPES), ("diag", 1e9), ("spherical", 1e9)]
)
def test_a_mixture_that_collapses(data, kind, far):
    """Variances of 1e-14 far from everything else, and a variance of 1 beside an outlier."""
    rng, X, posteriors = data
    X = X.copy()
    X[:30] = far + 1e-7 * max(far / 1e3, 1) * rng.standard_normal((30, X.shape[1]))
    theirs = prepared(hmm.GMMHMM(3, 2, covariance_type=kind, random_state=0), 3)
    theirs._init(X)
    ours = as_hmmlearn(GMM(2, covariance_type=kind))
    ours.n_features_in_ = X.shape[1]
    for _ in range(4):
        for name in ("weights_", "means_", "covars_"):
            setattr(ours, name, np.array(getattr(theirs, name)))
        ours.maximise(ours.accumulate(ours.encode(X, reset=False), posteriors))
        with np.errstate(all="ignore"):
            their_update(theirs, X, posteriors, "mcw")
        np.testing.assert_allclose(ours.means_, theirs.means_, rtol=1e-9)
        np.testing.assert_allclose(ours.covars_, theirs.covars_, rtol=1e-6, atol=1e-20)


@pytest.mark.parametrize("kind", COVARIANCE_TYPES)
def test_a_smallest_variance_is_no_smaller_than_asked_for(kind):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 2))
    X[:100] = 1e4 + 1e-6 * X[:100]
    ours = GMM(2, covariance_type=kind, min_covar=1e-300)
    E = ours.encode(X, reset=True)
    ours.initialise(E, None, 1, init="kmeans", random_state=0)
    ours.covars_ = ours.covars_ / ours.covars_.max()
    for _ in range(20):
        ours.maximise(ours.accumulate(E, np.ones((200, 1))))
    about = [X[:100] - X[:100].mean(axis=0), X[100:] - X[100:].mean(axis=0)]
    matrices = np.array([d.T @ d / 100 for d in about])
    first = np.argmax(ours.means_[0, :, 0])
    expected = {
        "full": matrices,
        "tied": matrices.mean(axis=0)[None],
        "diag": np.diagonal(matrices, axis1=1, axis2=2),
        "spherical": np.diagonal(matrices, axis1=1, axis2=2).mean(axis=1),
    }[kind]
    found = ours.covars_[0] if kind == "tied" else ours.covars_[0][[first, 1 - first]]
    np.testing.assert_allclose(np.squeeze(found), np.squeeze(expected), rtol=1e-6)


@pytest.mark.parametrize("priors", [{}, {"lambdas_prior": 2.0, "lambdas_weight": 30.0}])
def test_poisson(data, priors):
    rng, _, posteriors = data
    X = counts(rng).astype(int)
    theirs = prepared(hmm.PoissonHMM(3, random_state=0, init_params="l", **priors), 3)
    theirs._init(X)
    ours = as_hmmlearn(Poisson(**priors))
    E = ours.encode(X, reset=True)
    ours.initialise(E, None, 3, init="random", random_state=np.random.RandomState(0))
    # their base class draws nothing before the rates when startprob and transmat are kept
    np.testing.assert_allclose(ours.rates_, theirs.lambdas_)
    log_p = their_update(theirs, X, posteriors, "l")
    np.testing.assert_allclose(ours.log_likelihood(E).dense(), log_p)
    ours.maximise(ours.accumulate(E, posteriors))
    np.testing.assert_allclose(ours.lambdas_, theirs.lambdas_)


def test_multinomial(data):
    rng, _, posteriors = data
    X = counts(rng).astype(int)
    theirs = prepared(hmm.MultinomialHMM(3, random_state=0, init_params="e"), 3)
    theirs._init(X)
    ours = as_hmmlearn(Multinomial())
    E = ours.encode(X, reset=True)
    ours.initialise(E, None, 3, init="random", random_state=0)
    np.testing.assert_allclose(ours.emissionprob_, theirs.emissionprob_)
    log_p = their_update(theirs, X, posteriors, "e")
    np.testing.assert_allclose(ours.log_likelihood(E).dense(), log_p)
    ours.maximise(ours.accumulate(E, posteriors))
    np.testing.assert_allclose(ours.emissionprob_, theirs.emissionprob_)


@pytest.mark.parametrize("prior", [1.0, 3.0])
def test_categorical(data, prior):
    rng, _, posteriors = data
    X = rng.integers(5, size=(120, 1))
    theirs = hmm.CategoricalHMM(3, random_state=0, init_params="e", emissionprob_prior=prior)
    prepared(theirs, 3)._init(X)
    ours = Categorical(symbols=5, prior=prior)
    E = ours.encode(X, reset=True)
    ours.initialise(E, None, 3, init="random", random_state=0)
    np.testing.assert_allclose(ours.probabilities_, theirs.emissionprob_)
    their_update(theirs, X, posteriors, "e")
    ours.maximise(ours.accumulate(E, posteriors))
    np.testing.assert_allclose(ours.probabilities_, theirs.emissionprob_)


def test_single_draws_are_the_same():
    rng = np.random.default_rng(0)
    means, p = rng.standard_normal((2, 2)), np.array([[0.2, 0.8], [0.7, 0.3]])
    weights, mixture_means = p, rng.standard_normal((2, 2, 2))
    pairs = []
    theirs = hmm.GaussianHMM(2, "diag")
    theirs.means_, theirs.n_features, theirs.covars_ = means, 2, np.ones((2, 2))
    pairs.append((theirs, Gaussian.from_parameters(means, np.ones((2, 2)))))
    theirs = hmm.GMMHMM(2, 2)
    theirs.weights_, theirs.means_, theirs.n_features = weights, mixture_means, 2
    theirs.covars_ = np.ones((2, 2, 2))
    pairs.append((theirs, GMM.from_parameters(weights, mixture_means, np.ones((2, 2, 2)))))
    theirs = hmm.CategoricalHMM(2)
    theirs.emissionprob_ = p
    pairs.append((theirs, Categorical.from_parameters(p)))
    theirs = hmm.MultinomialHMM(2, n_trials=5)
    theirs.emissionprob_ = p
    pairs.append((theirs, Multinomial.from_parameters(p, n_trials=5)))
    theirs = hmm.PoissonHMM(2)
    theirs.lambdas_ = 3 * p
    pairs.append((theirs, Poisson.from_parameters(3 * p)))
    for theirs, ours in pairs:
        one, two = np.random.RandomState(0), np.random.RandomState(0)
        for state in (0, 1, 1, 0):
            expected = np.ravel(theirs._generate_sample_from_state(state, one))
            np.testing.assert_allclose(ours.sample([state], two)[0], expected)
