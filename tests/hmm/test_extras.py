"""What hmmlearn has not: labels, missing values, given probabilities, restarts, weights."""

import numpy as np
import pytest

from skchmm import ConstrainedHMM, hmm
from skchmm.emissions import Gaussian

from .cases import CASES, IDS, LENGTHS, assert_same_parameters, model, ours, parameters, rows

each_case = pytest.mark.parametrize(("name", "params"), CASES, ids=IDS)
nan = np.nan


def start(name, params, seed=0, **more):
    rng = np.random.default_rng(seed)
    made = model(ours, name, params, parameters(name, params, rng), **more)
    return made, rows(name, rng)


# ------------------------------------------------------------ given entries
@each_case
def test_given_probabilities_are_kept(name, params):
    start_fixed = np.array([0.25, nan, 0.0])
    trans_fixed = np.array([[0.9, nan, nan], [nan, nan, nan], [0.0, 0.0, 1.0]])
    made, X = start(
        name, params, init_params="", startprob_fixed=start_fixed, transmat_fixed=trans_fixed
    )
    made.fit(X, LENGTHS)
    np.testing.assert_allclose(made.startprob_, [0.25, 0.75, 0.0])
    given = ~np.isnan(trans_fixed)
    np.testing.assert_allclose(made.transmat_[given], trans_fixed[given])
    np.testing.assert_allclose(made.transmat_.sum(axis=1), 1)
    made.transmat_fixed = np.eye(2)
    with pytest.raises(ValueError, match="transmat_fixed has shape"):
        made.fit(X)


# ------------------------------------------------------------------- labels
@each_case
def test_all_labels_known(name, params):
    _, X = start(name, params)
    y = np.random.default_rng(1).integers(3, size=len(X))
    fitted = getattr(hmm, name)(3, smoothing=0.0, **params).fit(X, y, lengths=LENGTHS)
    firsts = np.cumsum([0, *LENGTHS[:-1]])
    np.testing.assert_allclose(fitted.startprob_, np.bincount(y[firsts], minlength=3) / 4)
    counts = np.zeros((3, 3))
    for t in np.setdiff1d(np.arange(1, len(X)), firsts):
        counts[y[t - 1], y[t]] += 1
    np.testing.assert_allclose(fitted.transmat_, counts / counts.sum(axis=1, keepdims=True))
    if name == "GaussianHMM":
        np.testing.assert_allclose(fitted.means_, [X[y == k].mean(axis=0) for k in range(3)])
    if name == "PoissonHMM":
        np.testing.assert_allclose(fitted.lambdas_, [X[y == k].mean(axis=0) for k in range(3)])
    if name == "CategoricalHMM":
        shares = [np.bincount(X[y == k, 0], minlength=4) / (y == k).sum() for k in range(3)]
        np.testing.assert_allclose(fitted.emissionprob_, shares)
    assert 0 <= fitted.score(X, y, lengths=LENGTHS) <= 1


def test_labels_and_smoothing_as_in_constrained_hmm():
    rng = np.random.default_rng(0)
    y = np.repeat(["low", "high", "low"], 20)
    X = rng.normal(size=(60, 2)) + 3.0 * (y == "high")[:, None]
    made = hmm.GaussianHMM(covars_prior=0, covars_weight=0).fit(X, y)
    other = ConstrainedHMM(emission=Gaussian(min_covar=0)).fit(X, y)
    assert made.n_components == 2
    assert made.classes_.tolist() == other.classes_.tolist() == ["high", "low"]
    np.testing.assert_allclose(made.transmat_, other.transmat_)
    np.testing.assert_allclose(made.means_, other.emission_.means_)
    np.testing.assert_allclose(made._covars_, other.emission_.covars_)
    np.testing.assert_array_equal(made.predict(X), other.predict(X))
    with pytest.raises(ValueError, match="n_components=3"):
        hmm.GaussianHMM(3).fit(X, y)
    named = hmm.GaussianHMM(states=["high", "low", "off"]).fit(X, y)
    assert named.startprob_.shape == (3,)


@each_case
def test_some_labels_known(name, params):
    made, X = start(name, params, random_state=0, n_iter=30)
    if name in ("GaussianHMM", "GMMHMM"):
        X = X + 20 * (np.arange(len(X)) % 3)[:, None]
    y = np.where(np.random.default_rng(2).random(len(X)) < 0.7, np.arange(len(X)) % 3, -1)
    made.init_params = "".join(set(made.params))
    made.fit(X, y, lengths=LENGTHS)
    history = np.array(made.monitor_.history)
    slack = 1e-8 if name in ("CategoricalHMM", "PoissonHMM", "MultinomialHMM") else 1.0
    assert (np.diff(history) > -slack).all()
    if name in ("GaussianHMM", "GMMHMM"):  # the labels say which state is which
        np.testing.assert_array_equal(made.predict(X, LENGTHS), np.arange(len(X)) % 3)


def test_known_labels_are_held():
    X = np.array([[0], [1], [0], [1]] * 5)
    y = np.full(20, -1)
    y[::4] = 1
    made = hmm.CategoricalHMM(2, random_state=0, params="", n_iter=1)
    made.fit(X, y)
    log_p = made._compute_log_likelihood(X)
    log_p[::4, 0] = -np.inf
    alpha = np.log(made.startprob_) + log_p[0]
    for t in range(1, 20):
        alpha = np.logaddexp.reduce(alpha[:, None] + np.log(made.transmat_), axis=0) + log_p[t]
    assert made.monitor_.history[0] == pytest.approx(np.logaddexp.reduce(alpha))


# ----------------------------------------------------------- missing values
@each_case
def test_missing_values(name, params):
    made, X = start(name, params)
    rng = np.random.default_rng(3)
    X = X.astype(float)
    X[rng.random(len(X)) < 0.3] = nan
    gap = np.isnan(X[:, 0])
    made._check()
    np.testing.assert_allclose(made._compute_log_likelihood(X)[gap], 0, atol=1e-12)
    assert made.predict(X, LENGTHS).shape == (len(X),)
    np.testing.assert_allclose(made.predict_proba(X, LENGTHS).sum(axis=1), 1)
    made.set_params(random_state=0, init_params="".join(set(made.params))).fit(X, LENGTHS)
    assert np.isfinite(made.score(X, LENGTHS))
    for attribute in ("startprob_", "transmat_"):
        assert np.isfinite(getattr(made, attribute)).all()


def test_symbols_of_any_kind_and_unseen_ones():
    X = np.array(list("abacabadabacaba"))
    made = hmm.CategoricalHMM(2, random_state=0).fit(X)
    assert made.symbols_.tolist() == list("abcd")
    assert made.emissionprob_.shape == (2, 4)
    drawn, _ = made.sample(10, random_state=0)
    assert set(drawn.ravel()) <= set("abcd")
    with pytest.raises(ValueError, match="'z'"):
        made.predict(np.array(list("abz")))
    made.unseen = "ignore"
    as_missing = made.predict_proba(np.array(["a", None, "b"], dtype=object))
    np.testing.assert_allclose(made.predict_proba(np.array(list("azb"))), as_missing)
    numbers = hmm.CategoricalHMM(2, random_state=0, unseen="ignore").fit([[0], [1], [2], [0]])
    assert np.isfinite(numbers.score([[0], [9]]))
    by_hand = hmm.CategoricalHMM(2)
    by_hand.startprob_, by_hand.transmat_ = [0.5, 0.5], [[0.5, 0.5], [0.5, 0.5]]
    by_hand.emissionprob_, by_hand.symbols_ = [[0.9, 0.1], [0.1, 0.9]], ["x", "y"]
    assert by_hand.predict(["y", "x"]).tolist() == [1, 0]


# --------------------------------------------- restarts, weights, likelihood
def test_restarts_keep_the_best(caplog):
    caplog.set_level("ERROR")
    X = np.random.default_rng(5).integers(4, size=(80, 1))
    one = hmm.CategoricalHMM(3, random_state=0, n_iter=20).fit(X)
    many = hmm.CategoricalHMM(3, random_state=0, n_iter=20, n_init=6).fit(X)
    assert many.score(X) >= one.score(X)
    assert many.random_state == 0
    assert many.monitor_.iter == len(many.monitor_.history)
    again = hmm.CategoricalHMM(3, random_state=0, n_iter=20, n_init=6).fit(X)
    np.testing.assert_array_equal(again.emissionprob_, many.emissionprob_)
    with pytest.raises(ValueError, match="n_init"):
        hmm.CategoricalHMM(3, n_init=0).fit(X)


@each_case
def test_a_weight_is_a_number_of_copies(name, params):
    weighted, X = start(name, params, init_params="", n_iter=4)
    copied = start(name, params, init_params="", n_iter=4)[0]
    pieces = np.split(X, np.cumsum(LENGTHS)[:-1])
    weighted.fit(pieces, sample_weight=[2, 1, 0, 3])
    copied.fit([pieces[0]] * 2 + [pieces[1]] + [pieces[3]] * 3)
    assert_same_parameters(copied, weighted, name, atol=1e-8)
    with pytest.raises(TypeError, match="colour"):
        copied.fit(X, colour=1)


@each_case
def test_likelihood_of_each_sequence_and_threads(name, params):
    made, X = start(name, params, init_params="", n_iter=3)
    pieces = np.split(X, np.cumsum(LENGTHS)[:-1])
    each = made.log_likelihood(X, LENGTHS)
    np.testing.assert_allclose(each, [made.score(piece) for piece in pieces])
    parallel = start(name, params, init_params="", n_iter=3, n_jobs=2)[0].fit(X, LENGTHS)
    assert_same_parameters(made.fit(X, LENGTHS), parallel, name, atol=1e-10)


def test_rows_without_transitions_keep_what_they_have():
    made = hmm.CategoricalHMM(3, init_params="", n_iter=20)
    made.startprob_ = np.array([1.0, 0.0, 0.0])
    made.transmat_ = np.array([[0.5, 0.5, 0.0], [0.0, 1.0, 0.0], [0.2, 0.3, 0.5]])
    made.emissionprob_ = np.full((3, 2), 0.5)
    made.fit([[0], [1], [1], [0]])
    np.testing.assert_array_equal(made.transmat_[2], [0.2, 0.3, 0.5])
    assert np.isfinite(made.emissionprob_).all()
    np.testing.assert_allclose(made.transmat_.sum(axis=1), 1)
    assert made.predict([[0], [1]]).shape == (2,)
    gaussian = hmm.GaussianHMM(2, init_params="", n_iter=5)
    gaussian.startprob_, gaussian.transmat_ = np.array([1.0, 0.0]), np.eye(2)
    gaussian.means_, gaussian.covars_ = np.array([[0.0], [9.0]]), np.ones((2, 1))
    gaussian.fit(np.array([[0.1], [0.2], [-0.3]]))
    assert gaussian.means_[1] == 9.0
    assert np.isfinite(gaussian.covars_).all()


def test_only_covariances_are_learned_about_the_means_that_stay():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 2))
    for kind in ("spherical", "diag", "full", "tied"):
        made = hmm.GaussianHMM(1, kind, params="c", init_params="", covars_prior=0, n_iter=1)
        made.startprob_, made.transmat_ = [1.0], [[1.0]]
        made.means_ = np.array([[1.0, -1.0]])
        made.covars_ = {"spherical": [1.0], "diag": [[1.0, 1.0]], "full": [np.eye(2)]}.get(
            kind, np.eye(2)
        )
        made.fit(X)
        about = (X - made.means_).T @ (X - made.means_) / len(X)
        expected = {"spherical": np.eye(2) * np.diag(about).mean(), "diag": about * np.eye(2)}
        np.testing.assert_allclose(made.covars_[0], expected.get(kind, about))
        np.testing.assert_array_equal(made.means_, [[1.0, -1.0]])
