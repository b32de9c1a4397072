"""Emissions made of scikit-learn models, and the choice of an emission."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.mixture import GaussianMixture
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KernelDensity, KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from skchmm.emissions import (
    GMM,
    Categorical,
    ClassifierEmission,
    DensityEmission,
    Gaussian,
    Multinomial,
    Poisson,
    Precomputed,
    resolve,
)


@pytest.fixture
def labelled():
    rng = np.random.default_rng(0)
    labels = rng.choice(3, p=[0.6, 0.3, 0.1], size=150)
    return rng.standard_normal((150, 2)) + 2 * labels[:, None], labels


class TestClassifier:
    def test_likelihood_is_posterior_over_prior(self, labelled):
        X, labels = labelled
        emission = ClassifierEmission(LogisticRegression())
        E = emission.encode(X, reset=True)
        emission.fit_supervised(E, labels, 3)
        model = LogisticRegression().fit(X, labels)
        expected = np.log(model.predict_proba(X) / (np.bincount(labels) / 150))
        np.testing.assert_allclose(emission.log_likelihood(E).dense(), expected)
        assert emission.classifier is not emission.classifier_

    def test_unknown_labels_and_weights(self, labelled):
        X, labels = labelled
        emission = ClassifierEmission(GaussianNB())
        E = emission.encode(X, reset=True)
        hidden = np.where(np.arange(150) < 30, -1, labels)
        weights = np.random.default_rng(1).random(150)
        emission.fit_supervised(E, hidden, 3, weights)
        model = GaussianNB().fit(X[30:], labels[30:], sample_weight=weights[30:])
        np.testing.assert_allclose(emission.classifier_.theta_, model.theta_)
        np.testing.assert_allclose(emission.priors_, model.class_prior_)
        with pytest.raises(ValueError, match="KNeighborsClassifier does not take sample_weight"):
            ClassifierEmission(KNeighborsClassifier()).fit_supervised(E, labels, 3, weights)
        with pytest.raises(ValueError, match="at least one labelled"):
            emission.fit_supervised(E, np.full(150, -1), 3)

    def test_label_never_seen(self, labelled):
        X, labels = labelled
        emission = ClassifierEmission(GaussianNB(), min_proba=1e-9)
        E = emission.encode(X, reset=True)
        emission.fit_supervised(E, np.where(labels == 1, 3, labels), 5)
        log_p = emission.log_likelihood(E).dense()
        np.testing.assert_allclose(log_p[:, [1, 4]], np.log(1e-9))
        assert np.isfinite(log_p).all()

    def test_one_class_only(self, labelled):
        X, _ = labelled
        emission = ClassifierEmission(LogisticRegression())
        E = emission.encode(X, reset=True)
        emission.fit_supervised(E, np.ones(150, dtype=int), 2)
        np.testing.assert_array_equal(emission.log_likelihood(E).dense().argmax(axis=1), 1)

    def test_probability_zero_does_not_forbid(self, labelled):
        X, labels = labelled
        emission = ClassifierEmission(RandomForestClassifier(5, random_state=0))
        E = emission.encode(X, reset=True)
        log_p = emission.fit_supervised(E, labels, 3).log_likelihood(E).dense()
        assert (emission.classifier_.predict_proba(X) == 0).any()
        assert np.isfinite(log_p).all()

    def test_missing_rows(self, labelled):
        X, labels = labelled
        X = X.copy()
        X[[0, 7]] = np.nan
        emission = ClassifierEmission(GaussianNB())
        E = emission.encode(X, reset=True)
        emission.fit_supervised(E, labels, 3)
        log_p = emission.log_likelihood(E).dense()
        assert (log_p[[0, 7]] == 0).all()
        assert (log_p[1] != 0).all()

    def test_symbols_and_dataframes(self):
        words = np.array(["in", "out", "in", None], dtype=object)
        model = make_pipeline(OneHotEncoder(), LogisticRegression())
        emission = ClassifierEmission(model)
        E = emission.encode(words, reset=True)
        emission.fit_supervised(E, [0, 1, 0, 1], 2)
        np.testing.assert_array_equal(
            emission.log_likelihood(E).dense()[:3].argmax(axis=1), [0, 1, 0]
        )
        frame = pd.DataFrame({"word": words, "again": words})
        emission = ClassifierEmission(model)
        E = emission.encode(frame, reset=True)
        emission.fit_supervised(E, [0, 1, 0, 1], 2)
        log_p = emission.log_likelihood(emission.encode(frame, reset=False)).dense()
        np.testing.assert_array_equal(log_p[3], 0)

    def test_refusals(self, labelled):
        X, labels = labelled
        emission = ClassifierEmission(GaussianNB())
        E = emission.encode(X, reset=True)
        for call in (
            lambda: emission.accumulate(E, np.ones((150, 2))),
            lambda: emission.maximise({}),
            lambda: emission.initialise(E, None, 2, init="random"),
        ):
            with pytest.raises(ValueError, match="labelled rows only: EM cannot fit it"):
                call()
        with pytest.raises(ValueError, match="cannot be sampled"):
            emission.sample([0])
        with pytest.raises(ValueError, match="no AIC"):
            emission.n_parameters()
        with pytest.raises(ValueError, match="has no predict_proba"):
            ClassifierEmission(RidgeClassifier()).fit_supervised(E, labels, 3)
        with pytest.raises(ValueError, match="X has 1 features"):
            emission.encode(X[:, :1], reset=False)


class TestDensity:
    def test_one_clone_a_state(self, labelled):
        X, labels = labelled
        emission = DensityEmission(KernelDensity(bandwidth=0.7))
        E = emission.encode(X, reset=True)
        log_p = emission.fit_supervised(E, labels, 3).log_likelihood(E).dense()
        for state in range(3):
            expected = KernelDensity(bandwidth=0.7).fit(X[labels == state]).score_samples(X)
            np.testing.assert_allclose(log_p[:, state], expected)

    def test_label_never_seen_uses_all_rows(self, labelled):
        X, labels = labelled
        emission = DensityEmission(KernelDensity())
        E = emission.encode(X, reset=True)
        log_p = emission.fit_supervised(E, labels, 4).log_likelihood(E).dense()
        np.testing.assert_allclose(log_p[:, 3], KernelDensity().fit(X).score_samples(X))

    @pytest.mark.parametrize("model", [KernelDensity(bandwidth=0.3), GaussianMixture(2)])
    def test_draws(self, labelled, model):
        X, labels = labelled
        emission = DensityEmission(model)
        emission.fit_supervised(emission.encode(X, reset=True), labels, 3)
        path = np.repeat([0, 2, 0], 400)
        drawn = emission.sample(path, random_state=0)
        np.testing.assert_array_equal(drawn, emission.sample(path, random_state=0))
        for state in (0, 2):
            expected = X[labels == state].mean(axis=0)
            np.testing.assert_allclose(drawn[path == state].mean(axis=0), expected, atol=0.3)
        halves = drawn[:400].mean(axis=0), drawn[800:].mean(axis=0)
        np.testing.assert_allclose(*halves, atol=0.3)

    def test_refusals(self, labelled):
        X, labels = labelled
        emission = DensityEmission(GaussianMixture(20))
        E = emission.encode(X[:30], reset=True)
        with pytest.raises(ValueError, match=r"cannot be fitted to the .* training rows of state"):
            emission.fit_supervised(E, labels[:30], 3)
        with pytest.raises(ValueError, match="EM cannot fit it"):
            emission.accumulate(E, np.ones((30, 3)))


class TestResolve:
    @pytest.mark.parametrize(
        ("name", "kind"),
        [
            ("categorical", Categorical),
            ("gaussian", Gaussian),
            ("gmm", GMM),
            ("multinomial", Multinomial),
            ("poisson", Poisson),
            ("precomputed", Precomputed),
        ],
    )
    def test_names(self, name, kind):
        assert type(resolve(name)) is kind

    @pytest.mark.parametrize(
        ("X", "kind"),
        [
            (np.array([[1.0, 2.0]]), Gaussian),
            (np.array([1.0, np.nan], dtype=np.float32), Gaussian),
            (np.array([[1, 2]]), Categorical),
            (np.array(["a"]), Categorical),
            (np.array([True]), Categorical),
            (np.array([1.5, None], dtype=object), Gaussian),
            (np.array([[1.5, 2]], dtype=object), Gaussian),
            (np.array([1, None, np.nan], dtype=object), Categorical),
            (np.array(["a", np.nan], dtype=object), Categorical),
            (np.array([None, None], dtype=object), Categorical),
            (pd.DataFrame({"a": [1.0], "b": [2.0]}), Gaussian),
            (pd.DataFrame({"a": [1.0], "b": [2]}), Gaussian),
            (pd.DataFrame({"a": ["x"], "b": [2]}), Categorical),
            (pd.DataFrame({"a": pd.Categorical(["x"])}), Categorical),
            (pd.DataFrame({"a": pd.array([1.5, None], dtype="Float64")}), Gaussian),
        ],
    )
    def test_auto(self, X, kind):
        assert type(resolve("auto", X)) is kind

    def test_auto_of_numbers_and_symbols(self):
        found = resolve("auto", pd.DataFrame({"a": [1.0], "b": ["x"]}))
        assert repr(found) == "Product({'a': Gaussian(), 'b': Categorical()})"

    def test_objects_are_cloned(self):
        given = Gaussian("full", min_covar=0.1)
        given.means_ = np.zeros((1, 1))
        found = resolve(given)
        assert found is not given
        assert found.get_params() == given.get_params()
        assert not hasattr(found, "means_")

    def test_models(self):
        assert isinstance(resolve(LogisticRegression()), ClassifierEmission)
        assert isinstance(
            resolve(make_pipeline(StandardScaler(), GaussianNB())), ClassifierEmission
        )
        assert isinstance(resolve(KernelDensity()), DensityEmission)
        found = resolve(LogisticRegression(C=3.0))
        assert found.get_params()["classifier__C"] == 3.0
        assert clone(found).set_params(classifier__C=1.0).classifier.C == 1.0
        pickle.loads(pickle.dumps(found))

    def test_mistakes(self):
        with pytest.raises(ValueError, match=r"Unknown emission 'gauss'.*'gaussian', 'gmm'"):
            resolve("gauss")
        with pytest.raises(TypeError, match="neither a name"):
            resolve(KMeans())
        with pytest.raises(TypeError, match=r"write Gaussian\(\)"):
            resolve(Gaussian)
        with pytest.raises(ValueError, match="Complex data not supported"):
            resolve("auto", np.array([[1j]]))
