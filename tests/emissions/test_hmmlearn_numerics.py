"""The same start values and posteriors give the same updates as hmmlearn's classes."""

import logging

import numpy as np
import pytest

from skchmm import ConstrainedHMM
from skchmm.emissions import GMM, Categorical, Gaussian, Multinomial, Poisson
from skchmm.hmm import GMMHMM, GaussianHMM

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


# ----------------------------------------------------------------- collapse, iteration by iteration
LONG = np.longdouble


def log_sum(values, axis):
    peak = values.max(axis=axis, keepdims=True)
    return (peak + np.log(np.exp(values - peak).sum(axis=axis, keepdims=True))).squeeze(axis)


@np.errstate(divide="ignore")
def precise_history(X, model, kind, transmat_prior, n_iter):
    """Log-likelihoods of hmmlearn's EM from its start values, of two columns, in long doubles."""
    X = X.astype(LONG)
    names = ("startprob_", "transmat_", "weights_", "means_", "covars_")
    start, transmat, weights, means, covars = (np.array(getattr(model, n), LONG) for n in names)
    history = []
    for _ in range(n_iter):
        if kind in ("spherical", "diag"):
            full = (covars[:, :, None] if kind == "spherical" else covars)[..., None] * np.eye(2)
        else:
            full = covars if kind == "full" else np.repeat(covars[:, None], len(weights[0]), axis=1)
        apart = X[:, None, None, :] - means
        a, b, c = full[..., 0, 0], full[..., 0, 1], full[..., 1, 1]
        determinant = a * c - b * b
        u, v = apart[..., 0], apart[..., 1]
        square = (c * u * u - 2 * b * u * v + a * v * v) / determinant
        joint = (
            np.log(weights) - (2 * np.log(LONG(2) * LONG(np.pi)) + np.log(determinant) + square) / 2
        )
        log_p, steps = log_sum(joint, 2), np.log(transmat)
        ahead, back = np.zeros_like(log_p), np.zeros_like(log_p)
        ahead[0] = np.log(start) + log_p[0]
        for t in range(1, len(X)):
            ahead[t] = log_sum(ahead[t - 1][:, None] + steps, 0) + log_p[t]
        for t in range(len(X) - 2, -1, -1):
            back[t] = log_sum(steps + log_p[t + 1] + back[t + 1], 1)
        found = log_sum(ahead[-1], 0)
        history.append(float(found))
        posteriors = np.exp(ahead + back - found)
        pairs = ahead[:-1, :, None] + steps + (log_p[1:] + back[1:])[:, None] - found
        counts = np.maximum(np.exp(pairs).sum(axis=0) + transmat_prior - 1, 0)
        shares = np.exp(joint - log_p[:, :, None]) * posteriors[:, :, None]
        mixture = shares.sum(axis=0)
        scatter = np.einsum("tsm,tsmi,tsmj->smij", shares, apart, apart)
        squares = np.diagonal(scatter, axis1=2, axis2=3)
        covars = {
            "spherical": squares.sum(axis=2) / (2 * (mixture + 1) - weights.shape[1]),
            "diag": squares / mixture[..., None],
            "tied": scatter.sum(axis=1) / mixture.sum(axis=1)[:, None, None],
            "full": scatter / mixture[..., None, None],
        }[kind]
        start, transmat = posteriors[0], counts / counts.sum(axis=1, keepdims=True)
        means = np.einsum("tsm,ti->smi", shares, X) / mixture[..., None]
        weights = mixture / posteriors.sum(axis=0)[:, None]
    return np.array(history)


@pytest.mark.skipif(np.finfo(LONG).eps > 1e-18, reason="long doubles are doubles here")
@pytest.mark.parametrize("transmat_prior", [1.0, 0.3])
@pytest.mark.parametrize("kind", COVARIANCE_TYPES)
def test_em_goes_on_while_a_mixture_collapses(kind, transmat_prior):
    """Variances fall to 1e-15, a thousand away from the other rows; no digit of note is lost."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 2))
    X[:30] = 1e3 + 1e-7 * X[:30]
    params = {"covariance_type": kind, "random_state": 0, "n_iter": 12, "tol": 0.0}
    theirs = hmm.GMMHMM(2, 2, transmat_prior=transmat_prior, **params)
    theirs._init(X)
    theirs._check()
    expected = precise_history(X, theirs, kind, transmat_prior, 12)
    ours = GMMHMM(2, 2, transmat_prior=transmat_prior, **params).fit(X)
    found = np.array(ours.monitor_.history)
    assert np.min(np.abs(ours.covars_)) < 1e-13
    # The first matrix of a collapse is a long axis, to the means before, and a tiny one.
    atol = {"full": 1e-2, "tied": 1e-2}.get(kind, 1e-8)
    np.testing.assert_allclose(found, expected[: len(found)], rtol=0, atol=atol)


@pytest.mark.parametrize("kind", COVARIANCE_TYPES)
def test_a_gaussian_on_equal_rows_keeps_a_variance_that_rounding_explains(kind):
    """Rows of a state that are all the same, away from the others, and no prior to hold it."""
    X = np.repeat([[0.1, 0.7], [3.3, 5.1], [-2.9, 1.3]], [7, 5, 6], axis=0)
    params = {"init_params": "st", "covars_prior": 0.0, "n_iter": 20, "tol": 0.0}
    ours = GaussianHMM(3, kind, random_state=0, **params)
    ours.means_ = X[[0, 7, 12]] + 0.01
    unit = np.eye(2) if kind in ("full", "tied") else np.ones(2)
    ours.covars_ = unit if kind == "tied" else np.ones(3) if kind == "spherical" else [unit] * 3
    ours.fit(X)
    history = np.array(ours.monitor_.history)
    assert np.isfinite(history).all()
    assert (np.diff(history) > -0.05 * np.abs(history).max()).all()
    assert history[-1] > 200  # 36 numbers that are known to some digits
    np.testing.assert_allclose(np.sort(ours.means_[:, 0]), [-2.9, 0.1, 3.3], rtol=1e-12)


@pytest.mark.parametrize("kind", ["diag", "spherical", "full"])
@pytest.mark.parametrize("far", [1e6, 1e12])
def test_an_outlier_costs_the_other_states_no_digits(kind, far):
    X = np.random.default_rng(0).standard_normal((200, 1))
    X[7] = far
    model = GaussianHMM(2, kind, covars_prior=0, covars_weight=0, random_state=0, n_iter=3).fit(X)
    near = np.argmin(np.abs(model.means_[:, 0]))
    assert model.covars_[near, 0, 0] == pytest.approx(np.delete(X, 7).var(), rel=1e-9)
    assert model.means_[near, 0] == pytest.approx(np.delete(X, 7).mean(), rel=1e-9)


@pytest.mark.parametrize("kind", ["diag", "spherical", "full"])
@pytest.mark.parametrize("labelled", [True, False])
def test_a_narrow_state_far_from_the_others(kind, labelled):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 1))
    X[:50] = 1e4 + 1e-6 * X[:50]
    y = (np.arange(200) < 50) * 1
    model = ConstrainedHMM(2, emission=Gaussian(kind, min_covar=1e-300), random_state=0)
    emission = model.fit(X, y if labelled else None).emission_
    narrow = np.argmax(emission.means_[:, 0])
    expected = np.mean((X[:50] - X[:50].mean()) ** 2)
    assert np.ravel(emission.covars_)[narrow] == pytest.approx(expected, rel=1e-6)
