"""Classifiers that are fitted already, their scale and priors."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skchmm import ConstrainedHMM, CTConstrainedHMM, HSMMDecoder
from skchmm.constraints import NoReentry
from skchmm.emissions import ClassifierEmission, Product


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    y = np.repeat(["walk", "sit", "walk", "lie"], [40, 30, 20, 10])
    X = (
        rng.normal(size=(100, 2))
        + 2 * np.array([{"walk": 0, "sit": 1, "lie": 2}[s] for s in y])[:, None]
    )
    return X, y


STATES = ["walk", "sit", "lie"]


@pytest.mark.parametrize("wrap", ["frozen", "prefit", "pipeline"])
def test_log_likelihood_is_posterior_over_prior(data, wrap):
    X, y = data
    known = LogisticRegression().fit(X, y)
    if wrap == "pipeline":
        known = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y)
    emission = (
        ClassifierEmission(known, prefit=True) if wrap == "prefit" else FrozenEstimator(known)
    )
    model = ConstrainedHMM(states=STATES, emission=emission).fit(X, y)
    priors = np.array([np.mean(y == s) for s in STATES])
    order = [known.classes_.tolist().index(s) for s in STATES]
    expected = np.log(known.predict_proba(X)[:, order] / priors)
    E = model.emission_.encode(X, reset=False)
    np.testing.assert_allclose(model.emission_.log_likelihood(E).dense(), expected)
    np.testing.assert_allclose(model.emission_.priors_, priors)
    assert np.mean(model.predict(X) == y) > 0.8


def test_no_labels_are_needed(data):
    X, y = data
    known = GaussianNB().fit(X, y)
    model = ConstrainedHMM(
        states=STATES, emission=FrozenEstimator(known), constraints=NoReentry("sit")
    )
    model.fit(X)
    assert (np.diff(model.history_) >= -1e-9 * np.abs(model.history_[:-1])).all()
    order = [known.classes_.tolist().index(s) for s in STATES]
    np.testing.assert_allclose(
        model.emission_.priors_, known.predict_proba(X)[:, order].mean(axis=0)
    )
    assert np.mean(model.predict(X) == y) > 0.8
    partly = np.where(np.arange(100) % 2, y, None)
    assert (
        np.mean(
            ConstrainedHMM(states=STATES, emission=FrozenEstimator(known)).fit(X, partly).predict(X)
            == y
        )
        > 0.8
    )
    parts = Product({(0, 1): FrozenEstimator(known)})
    assert np.mean(ConstrainedHMM(states=STATES, emission=parts).fit(X).predict(X) == y) > 0.8


def test_scale_and_priors(data):
    X, y = data
    known = GaussianNB().fit(X, y)
    priors = {"lie": 0.2, "sit": 0.3, "walk": 0.5}

    def scores(**options):
        emission = ClassifierEmission(known, prefit=True, **options)
        emission.name_states(STATES)
        E = emission.encode(X, reset=True)
        emission.initialise(E, None, 3)
        return emission.log_likelihood(E).dense()

    order = [known.classes_.tolist().index(s) for s in STATES]
    expected = np.log(np.maximum(known.predict_proba(X)[:, order], 1e-12)) - np.log([0.5, 0.3, 0.2])
    np.testing.assert_allclose(scores(priors=priors), expected)
    np.testing.assert_allclose(scores(priors=[5, 3, 2]), expected)
    np.testing.assert_allclose(scores(priors=priors, scale=0.3), 0.3 * expected)
    assert not scores(scale=0.0).any()
    learned = ClassifierEmission(GaussianNB(), priors=priors, scale=0.5)
    model = ConstrainedHMM(states=STATES, emission=learned).fit(X, y)
    np.testing.assert_allclose(model.emission_.priors_, [0.5, 0.3, 0.2])


def test_a_search_over_the_scale_keeps_the_classifier(data):
    X, y = data
    known = GaussianNB().fit(X, y)
    model = ConstrainedHMM(states=STATES, emission=ClassifierEmission(known, prefit=True))
    assert clone(model).emission.classifier is known
    search = GridSearchCV(
        model, {"emission__scale": [0.1, 1.0]}, cv=[(np.arange(100), np.arange(100))]
    ).fit(X, y)
    assert search.best_estimator_.emission_.classifier_ is known


def test_known_parameters_and_other_models(data):
    X, y = data
    known = GaussianNB().fit(X, y)
    emission = ClassifierEmission.from_parameters(known, [0.6, 0.3, 0.1])
    transmat = 0.8 * np.eye(3) + 0.2 / 3
    model = ConstrainedHMM.from_parameters(
        np.full(3, 1 / 3), transmat, states=STATES, emission=emission
    )
    assert np.mean(model.predict(X) == y) > 0.8
    with pytest.raises(ValueError, match="no parameters yet"):
        ConstrainedHMM.from_parameters(np.full(3, 1 / 3), transmat, states=STATES, emission=known)
    times = np.arange(100.0)
    continuous = CTConstrainedHMM(states=STATES, emission=FrozenEstimator(known))
    assert np.mean(continuous.fit(X, y, times=times).predict(X, times=times) == y) > 0.8
    assert np.mean(HSMMDecoder(emission=FrozenEstimator(known)).fit(X, y).predict(X) == y) > 0.8


def test_mistakes(data):
    X, y = data
    known = GaussianNB().fit(X, y)
    with pytest.raises(ValueError, match=r"\['lie'\] are not among the states \['walk', 'sit'\]"):
        ConstrainedHMM(states=STATES[:2], emission=FrozenEstimator(known)).fit(X)
    with pytest.raises(NotFittedError, match="said to be fitted already"):
        ConstrainedHMM(emission=ClassifierEmission(GaussianNB(), prefit=True)).fit(X, y)
    for options, message in [
        ({"scale": -1.0}, "scale must be a number from 0 on"),
        ({"scale": np.nan}, "scale must be a number from 0 on"),
        ({"priors": [0.5, 0.5]}, "priors must be 3 numbers above 0"),
        ({"priors": [0.5, 0.5, 0.0]}, "priors must be 3 numbers above 0"),
        ({"priors": {"walk": 1.0}}, r"priors are those of \['walk'\], but the states are"),
    ]:
        with pytest.raises(ValueError, match=message):
            ConstrainedHMM(emission=ClassifierEmission(GaussianNB(), **options)).fit(X, y)


def test_scores_between_0_and_1_are_asked_about():
    X = np.tile([[0.3, 0.4], [0.9, 0.8]], (6, 1))
    model = ConstrainedHMM.from_parameters([0.5, 0.5], np.full((2, 2), 0.5))
    with pytest.warns(UserWarning, match=r"between 0 and 1.*did you mean numpy.log\(X\)"):
        model.predict(X)
    with pytest.warns(UserWarning, match="did you mean"):
        model.predict(pd.DataFrame(X))
    model.predict(X - 1)
    model.predict(X[:3])  # which may be chance
    model.predict(np.zeros((2, 2)))


def test_the_logarithm_of_zero_is_named():
    model = ConstrainedHMM.from_parameters([0.5, 0.5], np.full((2, 2), 0.5))
    with pytest.raises(ValueError, match=r"at step 1 .*-inf, the logarithm of zero"):
        model.predict(np.array([[-1.0, -2.0], [-np.inf, -np.inf]]))
