"""hmmlearn's conventions: attributes, start values, warnings, errors, stopping."""

import logging
import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skchmm import InfeasibleSequenceError, hmm

rng = np.random.default_rng(0)
X = rng.standard_normal((60, 2)) + 4 * rng.integers(2, size=(60, 1))
LENGTHS = [20, 15, 25]
START, TRANS = np.array([0.6, 0.4]), np.array([[0.7, 0.3], [0.4, 0.6]])


def dice():
    model = hmm.CategoricalHMM(2)
    model.startprob_, model.transmat_ = START, TRANS
    model.emissionprob_ = np.array([[0.1, 0.4, 0.5], [0.6, 0.3, 0.1]])
    return model


# ------------------------------------------------------------------ monitor
def test_monitor_before_and_after_fit():
    model = hmm.GaussianHMM(2, tol=0.5, n_iter=7, random_state=0)
    monitor = model.monitor_
    assert (monitor.tol, monitor.n_iter, monitor.iter, len(monitor.history)) == (0.5, 7, 0, 0)
    model.fit(X)
    assert model.monitor_ is monitor
    assert monitor.iter == len(monitor.history) == model.n_iter_ > 0
    assert monitor.converged
    assert model.history_ == list(monitor.history)
    assert (np.diff(monitor.history) > -1e-9).all()


def test_parameters_set_before_fit_take_effect():
    model = hmm.GaussianHMM(2, random_state=0, n_iter=200)
    assert model.monitor_.tol == 1e-2
    loose = model.set_params(tol=50.0).fit(X).monitor_.iter
    tight = model.set_params(tol=1e-9).fit(X).monitor_.iter
    assert loose < tight
    assert model.monitor_.tol == 1e-9


def test_a_monitor_of_ones_own_is_left_alone():
    class Three(hmm.ConvergenceMonitor):
        @property
        def converged(self):
            return self.iter == 3

    model = hmm.GaussianHMM(2, random_state=0, n_iter=50, tol=1e-12)
    model.monitor_ = Three(1, 1, False)
    model.set_params(tol=1e-3).fit(X)
    assert model.monitor_.iter == 3
    assert model.monitor_.tol == 1
    direct = hmm.GaussianHMM(2, random_state=0, n_iter=50)
    direct.monitor_.n_iter = 2
    assert direct.fit(X).monitor_.iter == 2


def test_verbose_prints_to_standard_error(capsys):
    model = hmm.GaussianHMM(2, random_state=0, verbose=True, n_iter=4, tol=-1).fit(X)
    out, err = capsys.readouterr()
    assert out == ""
    assert len(err.splitlines()) == model.monitor_.iter == 4


def test_a_falling_likelihood_is_reported(caplog):
    monitor = hmm.ConvergenceMonitor(1e-2, 10, False)
    monitor.report(-1.0)
    monitor.report(-2.0)
    assert "not converging" in caplog.text
    assert "history=[-1.0, -2.0]" in repr(monitor)


# --------------------------------------------------------------- parameters
def test_zeros_survive_em():
    model = hmm.GaussianHMM(3, init_params="mc", random_state=0, n_iter=20)
    model.startprob_ = np.array([1.0, 0.0, 0.0])
    model.transmat_ = np.array([[0.5, 0.5, 0.0], [0.0, 0.5, 0.5], [0.0, 0.0, 1.0]])
    zeros = model.startprob_ == 0, model.transmat_ == 0
    model.fit(X, LENGTHS)
    assert (model.startprob_[zeros[0]] == 0).all()
    assert (model.transmat_[zeros[1]] == 0).all()
    np.testing.assert_allclose(model.transmat_.sum(axis=1), 1)


@pytest.mark.parametrize("kind", ["spherical", "diag", "full", "tied"])
def test_covars_read_full_and_write_compact(kind):
    model = hmm.GaussianHMM(2, kind)
    model.means_, model.n_features = np.zeros((2, 3)), 3
    given = {
        "spherical": np.array([1.0, 2.0]),
        "diag": np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]),
        "full": np.stack([np.eye(3), 2 * np.eye(3)]),
        "tied": np.diag([1.0, 2.0, 3.0]),
    }[kind]
    model.covars_ = given
    np.testing.assert_array_equal(model._covars_, given)
    assert model.covars_.shape == (2, 3, 3)
    expected = {
        "spherical": [np.eye(3), 2 * np.eye(3)],
        "diag": [np.diag(row) for row in np.atleast_2d(given)],
        "full": given,
        "tied": [given, given],
    }[kind]
    np.testing.assert_array_equal(model.covars_, expected)
    given *= 2  # a copy was taken
    assert not np.array_equal(model._covars_, given)


@pytest.mark.parametrize(
    ("kind", "covars"),
    [
        ("spherical", [1.0]),
        ("spherical", [1.0, -1.0]),
        ("spherical", [[1.0, 2.0], [1.0, 1.0]]),
        ("diag", [1.0, 1.0]),
        ("diag", [[1.0], [0.0]]),
        ("full", np.ones((2, 2))),
        ("full", np.ones((2, 2, 3))),
        ("full", -np.stack([np.eye(2)] * 2)),
        ("tied", [[1.0, 2.0], [0.0, 1.0]]),
        ("other", [1.0]),
    ],
)
def test_covars_that_are_none(kind, covars):
    with pytest.raises(ValueError, match=r"covar"):
        hmm.GaussianHMM(2, kind).covars_ = covars


@pytest.mark.parametrize(
    ("attribute", "value"),
    [
        ("startprob_", [0.5, 0.4]),
        ("startprob_", [1.0]),
        ("transmat_", np.eye(3)),
        ("transmat_", np.ones((2, 2))),
        ("emissionprob_", [[1.0]]),
        ("emissionprob_", np.ones((2, 3))),
    ],
)
def test_parameters_that_do_not_fit(attribute, value):
    model = dice()
    model.n_features = 3
    setattr(model, attribute, value)
    with pytest.raises(ValueError, match=attribute):
        model.predict([[0], [1]])


@pytest.mark.parametrize(
    ("attribute", "value"),
    [
        ("means_", np.zeros((2, 2))),
        ("weights_", np.ones((2, 2))),
        ("weights_", np.ones((2, 3)) / 3),
        ("covars_", np.ones((2, 2))),
        ("covars_", -np.ones((2, 2, 1))),
    ],
)
def test_mixture_parameters_that_do_not_fit(attribute, value):
    model = hmm.GMMHMM(2, 2)
    model.startprob_, model.transmat_ = START, TRANS
    model.weights_, model.means_ = np.full((2, 2), 0.5), np.zeros((2, 2, 1))
    model.covars_ = np.ones((2, 2, 1))
    model._check()
    setattr(model, attribute, value)
    with pytest.raises(ValueError, match=r"covars|weights_|means_"):
        model.score(np.zeros((3, 1)))


def test_nothing_works_before_there_are_parameters():
    for model in (hmm.GaussianHMM(2), hmm.CategoricalHMM(2), hmm.PoissonHMM(2)):
        for method in ("predict", "score", "decode", "predict_proba", "score_samples"):
            with pytest.raises(NotFittedError):
                getattr(model, method)([[0], [1]])
        with pytest.raises(NotFittedError):
            model.sample(3)
        with pytest.raises(NotFittedError):
            model.get_stationary_distribution()


def test_overwritten_start_values_and_too_little_data_are_reported(caplog):
    model = hmm.GaussianHMM(2, init_params="s", random_state=0)
    model.startprob_ = START
    model.fit(X)
    assert [r.getMessage() for r in caplog.records if "will be overwritten" in r.getMessage()]
    caplog.clear()
    hmm.GaussianHMM(3, "full", random_state=0, n_iter=0).fit(X[:5])
    assert "degenerate solution" in caplog.text
    assert all(record.levelno == logging.WARNING for record in caplog.records)


def test_symbols():
    model = hmm.CategoricalHMM(2, n_features=5, random_state=0)
    with pytest.raises(ValueError, match="integers"):
        model.fit([[0.0], [1.0]])
    with pytest.raises(ValueError, match="nonnegative"):
        model.fit([[0], [-1]])
    with pytest.raises(ValueError, match="Largest symbol is 7"):
        model.fit([[0], [7]])
    model.fit([[0], [1], [3]])
    assert model.emissionprob_.shape == (2, 5)
    assert clone(model).n_features == 5
    other = hmm.CategoricalHMM(2, random_state=0).fit([[0], [3]])
    assert other.n_features == 4
    assert other.get_params()["n_features"] is None
    assert other.fit([[0], [5]]).n_features == 6


def test_counts():
    with pytest.raises(ValueError, match="number of trials"):
        hmm.MultinomialHMM(2, n_trials=3).fit([[1, 1], [1, 2]])
    with pytest.raises(ValueError, match="nonnegative integers"):
        hmm.MultinomialHMM(2).fit([[0.5, 0.5]])
    model = hmm.MultinomialHMM(2, random_state=0).fit([[1, 1], [1, 2], [0, 2]])
    assert model.n_trials.tolist() == [2, 3, 2]
    with pytest.raises(ValueError, match="single n_trials"):
        model.sample(2)
    model.n_trials = None
    with pytest.raises(ValueError, match="n_trials must be set"):
        model.score([[1, 1]])
    for bad in (hmm.PoissonHMM(2), hmm.MultinomialHMM(2)):
        with pytest.raises(ValueError, match="Negative values"):
            bad.fit([[1, -1], [0, 0]])


def test_unknown_names_of_algorithms():
    with pytest.raises(ValueError, match="Unknown decoder 'best'"):
        dice().decode([[0]], algorithm="best")
    with pytest.raises(ValueError, match="Unknown decoder"):
        hmm.GaussianHMM(algorithm="best").fit(X)
    with pytest.raises(ValueError, match="implementation"):
        hmm.GaussianHMM(implementation="exact").fit(X)


def test_scaling_underflows_where_log_does_not():
    outlier = X.copy()
    outlier[7] = 1e4

    def model(implementation):
        made = hmm.GaussianHMM(2, init_params="", implementation=implementation, n_iter=3)
        made.startprob_, made.transmat_ = START, TRANS
        made.means_, made.covars_ = np.array([[0.0, 0.0], [4.0, 4.0]]), np.ones((2, 2))
        return made

    for call in ("fit", "score", "score_samples", "predict_proba"):
        with pytest.raises(ValueError, match="underflow"):
            getattr(model("scaling"), call)(outlier)
    model("log").fit(outlier)
    assert np.isfinite(model("log").score(outlier))
    np.testing.assert_array_equal(
        model("scaling").predict(outlier), model("log").predict(outlier)
    )  # Viterbi does not scale


def test_impossible_sequences_are_never_answered():
    model = dice()
    model.emissionprob_ = np.array([[1.0, 0.0, 0.0], [0.5, 0.5, 0.0]])
    assert model.score([[0], [2]]) == -np.inf
    np.testing.assert_array_equal(model.log_likelihood([[0], [2], [1]], [2, 1])[0], -np.inf)
    for method in ("predict", "decode", "predict_proba", "score_samples"):
        with pytest.raises(InfeasibleSequenceError, match="probability zero"):
            getattr(model, method)([[0], [2]])
    model.implementation = "scaling"
    with pytest.raises(ValueError, match="underflow"):
        model.score([[0], [2]])


# -------------------------------------------------------------- input forms
def test_lengths_by_position_and_by_name():
    model = hmm.GaussianHMM(2, random_state=0)
    one = model.fit(X, LENGTHS).score(X, LENGTHS)
    assert model.fit(X, lengths=LENGTHS).score(X, lengths=LENGTHS) == one
    assert model.fit(X, np.array(LENGTHS)).score(X, tuple(LENGTHS)) == one
    pieces = np.split(X, np.cumsum(LENGTHS)[:-1])
    assert model.fit(pieces).score(pieces) == pytest.approx(one)
    groups = np.repeat(["a", "b", "c"], LENGTHS)
    assert model.fit(X, groups=groups).score(X, groups=groups) == pytest.approx(one)
    assert [len(path) for path in model.predict(pieces)] == LENGTHS
    np.testing.assert_array_equal(np.concatenate(model.predict(pieces)), model.predict(X, LENGTHS))
    with pytest.raises(ValueError, match="lengths sum to 59"):
        model.fit(X, [20, 39])
    assert hmm.GaussianHMM(random_state=0).fit(X, np.ones(60, dtype=int)).monitor_.iter > 0


def test_labels_by_position_and_by_name():
    y = np.repeat([0, 1, 0], LENGTHS)
    model = hmm.GaussianHMM(2)
    by_position = model.fit(X, y).transmat_
    by_name = model.fit(X, y=y).transmat_
    np.testing.assert_array_equal(by_position, by_name)
    assert model.score(X, y) == np.mean(model.predict(X) == y)
    with_lengths = model.fit(X, y, lengths=LENGTHS).transmat_
    assert not np.array_equal(by_name, with_lengths)


def test_inside_scikit_learn():
    search = GridSearchCV(hmm.GaussianHMM(random_state=0), {"n_components": [1, 2]}, cv=3).fit(X)
    assert search.best_params_ == {"n_components": 2}
    pipeline = make_pipeline(StandardScaler(), hmm.GaussianHMM(2, random_state=0)).fit(X)
    assert pipeline.predict(X).shape == (60,)
    model = pipeline[-1]
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert list(again.monitor_.history) == list(model.monitor_.history)


def test_named_states():
    model = dice().set_params(states=["rain", "sun"])
    assert model.predict([[0], [1], [2]]).tolist() == ["sun", "rain", "rain"]
    assert model.classes_.tolist() == ["rain", "sun"]
    _, path = model.sample(4, random_state=0, currstate="sun")
    assert path[0] == "sun"
    with pytest.raises(ValueError, match="not a state"):
        model.sample(2, currstate="snow")
    with pytest.raises(ValueError, match="states names 3 states"):
        model.set_params(states=["a", "b", "c"]).predict([[0]])
    with pytest.raises(ValueError, match="distinct"):
        model.set_params(states=["a", "a"]).predict([[0]])
    unnumbered = hmm.GaussianHMM(states=["low", "high"], random_state=0).fit(X)
    assert unnumbered.n_components == 2
    assert clone(unnumbered).n_components == 1


def test_from_parameters():
    emission = dice().emission_
    model = hmm.CategoricalHMM.from_parameters(START, TRANS, emission=emission, states=["a", "b"])
    assert model.predict([[0], [1], [2]]).tolist() == ["b", "a", "a"]


def test_paths_with_the_largest_marginals():
    model = dice()
    data = rng.integers(3, size=(12, 1))
    posteriors = model.predict_proba(data)
    value, path = model.decode(data, algorithm="posterior")
    assert value == pytest.approx(np.log(posteriors[np.arange(12), path]).sum())
    np.testing.assert_array_equal(path, posteriors.argmax(axis=1))  # nothing is forbidden
    model.algorithm = "map"
    np.testing.assert_array_equal(model.predict(data), posteriors.argmax(axis=1))
    np.testing.assert_allclose(model.predict_log_proba(data), np.log(posteriors))
