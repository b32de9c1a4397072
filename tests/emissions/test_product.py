"""Tables with columns of different kinds."""

import copy
import pickle

import numpy as np
import pandas as pd
import polars
import pytest
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skchmm import ConstrainedHMM, CTConstrainedHMM, HSMMDecoder, TopologyMaskedHMM
from skchmm.constraints import NoReentry, Precedence
from skchmm.emissions import Categorical, Gamma, Gaussian, Poisson, Product, VonMises


def table(n=60, seed=0, library=pd):
    rng = np.random.default_rng(seed)
    y = np.repeat(["a", "b", "a"], [n // 3, n // 3, n - 2 * (n // 3)])
    b = y == "b"
    return library.DataFrame(
        {
            "sky": np.where(rng.random(n) < np.where(b, 0.9, 0.2), "rain", "sun"),
            "x": rng.normal(np.where(b, 2.0, 0.0)),
            "y": rng.normal(np.where(b, -2.0, 0.0)),
            "drops": rng.poisson(np.where(b, 6.0, 1.0)),
            "gust": rng.gamma(2.0, np.where(b, 4.0, 1.0)),
        }
    ), y


PARTS = {"sky": Categorical(), ("x", "y"): Gaussian("full"), "drops": "poisson", "gust": Gamma()}
both_libraries = pytest.mark.parametrize("library", [pd, polars], ids=["pandas", "polars"])


@both_libraries
def test_log_likelihood_is_the_sum_of_the_parts(library):
    X, y = table(library=library)
    codes = (y == "b").astype(int)
    product = Product(PARTS)
    E = product.encode(X, reset=True)
    total = 0.0
    for columns, kind in {**PARTS, "drops": Poisson()}.items():
        part = clone(kind)
        rows = part.encode(
            X[list(columns) if isinstance(columns, tuple) else [columns]], reset=True
        )
        part.fit_supervised(rows, codes, 2)
        total = total + part.log_likelihood(rows).dense()
    product.fit_supervised(E, codes, 2)
    np.testing.assert_allclose(product.log_likelihood(E).dense(), total, rtol=1e-12)
    assert product.n_parameters() == 2 * (1 + 5 + 1 + 2)


@both_libraries
def test_columns_come_in_any_order_and_others_are_ignored(library):
    X, y = table(library=library)
    model = ConstrainedHMM(emission=Product(PARTS), constraints=NoReentry("b")).fit(X, y)
    expected = model.predict_proba(X)
    names = ["gust", "y", "sky", "drops", "x"]
    other = X[names] if library is pd else X.select(names)
    np.testing.assert_array_equal(model.predict_proba(other), expected)
    more = X.assign(note="n") if library is pd else X.with_columns(note=polars.lit("n"))
    np.testing.assert_array_equal(model.predict_proba(more), expected)
    with pytest.raises(ValueError, match=r"no column\(s\) named 'gust'; its columns are \['sky'"):
        model.predict(X[["sky", "x", "y", "drops"]])
    with pytest.warns(UserWarning), pytest.raises(ValueError, match="X is not a dataframe"):
        model.predict(X.to_numpy())


@both_libraries
def test_draws_are_tables_that_can_be_learned_from(library):
    X, y = table(library=library)
    model = ConstrainedHMM(emission=Product(PARTS), random_state=0).fit(X, y)
    drawn, path = model.sample(300)
    assert type(drawn) is type(X)
    assert list(drawn.columns) == list(X.columns)
    assert set(drawn["sky"]) <= {"rain", "sun"}
    again = ConstrainedHMM(emission=Product(PARTS)).fit(drawn, path)
    np.testing.assert_allclose(
        again.emission_.emissions_["drops"].rates_,
        model.emission_.emissions_["drops"].rates_,
        rtol=0.3,
    )
    several, _ = model.sample([3, 4])
    assert [len(item) for item in several] == [3, 4]
    assert model.predict(several)[1].shape == (4,)


def test_columns_by_number():
    X, y = table()
    rows = X.to_numpy(dtype=object)
    by_number = Product({0: "categorical", (1, 2): Gaussian("full"), 3: "poisson", 4: "gamma"})
    found = ConstrainedHMM(emission=by_number).fit(rows, y)
    expected = ConstrainedHMM(emission=Product(PARTS)).fit(X, y)
    np.testing.assert_allclose(found.predict_proba(rows), expected.predict_proba(X), rtol=1e-12)
    assert found.sample(5)[0].shape == (5, 5)
    with pytest.raises(ValueError, match="expecting 5 features"):
        found.predict(rows[:, :4])
    few = ConstrainedHMM(emission=Product({1: "gaussian", 3: "poisson"})).fit(rows, y)
    drawn = few.sample(4, random_state=0)[0]
    assert [value is None for value in drawn[0]] == [True, False, True, False, True]
    assert few.predict(drawn).shape == (4,)
    numbers = np.abs(np.random.default_rng(0).normal(size=(60, 2)))
    model = ConstrainedHMM(emission=Product({0: "gaussian", 1: "gamma"})).fit(numbers, y)
    assert model.sample(4)[0].dtype == np.float64


def test_missing_values_a_column_at_a_time():
    X, y = table()
    X = X.astype({"drops": float})
    full = ConstrainedHMM(emission=Product(PARTS)).fit(X, y)
    X.loc[5, "sky"] = None
    X.loc[6, "x"] = X.loc[7, "drops"] = X.loc[8, "gust"] = np.nan
    X.loc[9] = [None, np.nan, np.nan, np.nan, np.nan]
    E = full.emission_.encode(X, reset=False)
    log_p = full.emission_.log_likelihood(E).dense()
    assert np.isfinite(log_p).all()
    assert (log_p[9] == 0).all()
    assert np.isfinite(
        ConstrainedHMM(2, emission=Product(PARTS), n_iter=3, tol=1.0).fit(X).history_
    ).all()


@both_libraries
@pytest.mark.parametrize("rules", [None, [Precedence(0, 1)]], ids=["free", "rules"])
def test_em_never_falls_and_finds_the_states(library, rules):
    X, y = table(150, library=library)
    model = ConstrainedHMM(2, emission=Product(PARTS), constraints=rules, random_state=0, tol=1e-8)
    model.fit(X)
    assert (np.diff(model.history_) >= -1e-9 * np.abs(model.history_[:-1])).all()
    same = np.mean((model.predict(X) == 1) == (y == "b"))
    assert max(same, 1 - same) > 0.9


def test_other_models_take_it():
    X, y = table()
    times = np.cumsum(np.random.default_rng(0).exponential(size=60))
    continuous = CTConstrainedHMM(emission=Product(PARTS), n_iter=2, tol=1.0)
    assert continuous.fit(X, y, times=times).predict(X, times=times).shape == (60,)
    drawn = continuous.sample(times=[0.0, 1.0, 3.5], random_state=0)
    assert list(drawn[0].columns) == list(X.columns)
    for model in (HSMMDecoder(emission=Product(PARTS)), TopologyMaskedHMM(emission=Product(PARTS))):
        assert np.mean(model.fit(X, y).predict(X) == y) > 0.9


def test_pipelines_and_searches_reach_into_it():
    X, y = table(90)
    scale = ColumnTransformer(
        [("scale", StandardScaler(), ["x", "y"])],
        remainder="passthrough",
        verbose_feature_names_out=False,
    ).set_output(transform="pandas")
    model = make_pipeline(scale, ConstrainedHMM(emission=Product(PARTS)))
    assert np.mean(model.fit(X, y).predict(X) == y) > 0.9
    search = GridSearchCV(
        ConstrainedHMM(emission=Product(PARTS)),
        {"emission__x_y__covariance_type": ["diag", "full"]},
        cv=[(np.arange(90), np.arange(90))],
    )
    search.fit(X, y)
    assert search.best_params_["emission__x_y__covariance_type"] in ("diag", "full")
    assert PARTS["x", "y"].covariance_type == "full"


def test_parameters():
    product = Product({"x": Gaussian(), ("a", "b"): "poisson"})
    params = product.get_params()
    assert params["x__covariance_type"] == "diag"
    assert params["a_b"] == "poisson"
    product.set_params(x__covariance_type="full", a_b=VonMises())
    assert product.emissions["x"].covariance_type == "full"
    assert isinstance(product.emissions["a", "b"], VonMises)
    assert clone(product).emissions["x"] is not product.emissions["x"]
    with pytest.raises(ValueError, match="Invalid parameter 'z' for"):
        product.set_params(z=1)
    assert (
        repr(product) == "Product({'x': Gaussian(covariance_type='full'), ('a', 'b'): VonMises()})"
    )


def test_mistakes():
    X, y = table()
    for parts, message in [
        ({}, "takes a dictionary"),
        ([Gaussian()], "takes a dictionary"),
        ({"x": Gaussian(), ("x", "y"): Gaussian()}, "'x' has two emissions"),
        ({"x": Gaussian(), 1: Gaussian()}, "all names or all numbers"),
        ({1.5: Gaussian()}, "names or numbers from 0 on"),
        ({"x": "auto"}, "need an emission of their own"),
        ({7: Gaussian()}, "no column 7: it has 5"),
        ({"sky": Gaussian()}, "In the column 'sky': Gaussian emissions need numbers"),
        ({"x": "gamma"}, "In the column 'x': Gamma emissions need numbers above 0.* column 'x'"),
    ]:
        with pytest.raises((TypeError, ValueError), match=message):
            ConstrainedHMM(emission=Product(parts)).fit(X, y)


def test_known_parts_make_a_known_product():
    known = Product.from_parameters(
        {
            "sky": Categorical.from_parameters([[0.9, 0.1], [0.2, 0.8]], symbols=["sun", "rain"]),
            "drops": Poisson.from_parameters([[1.0], [5.0]]),
        }
    )
    model = ConstrainedHMM.from_parameters([0.5, 0.5], [[0.9, 0.1], [0.1, 0.9]], emission=known)
    X = pd.DataFrame({"drops": [0, 1, 9, 8], "sky": ["sun", "sun", "rain", "rain"]})
    np.testing.assert_array_equal(model.predict(X), [0, 0, 1, 1])
    assert list(model.sample(3, random_state=0)[0].columns) == ["sky", "drops"]
    with pytest.raises(ValueError, match="must be a fitted emission of 2 columns"):
        Product.from_parameters({("a", "b"): Poisson.from_parameters([[1.0]])})


@both_libraries
def test_auto_builds_it_and_says_so(library):
    X, y = table(library=library)
    model = ConstrainedHMM().fit(X, y)
    assert (
        repr(model.emission_)
        == "Product({('x', 'y', 'drops', 'gust'): Gaussian(), 'sky': Categorical()})"
    )
    assert np.mean(model.predict(X) == y) > 0.9
    rows = np.array(X.to_numpy(), dtype=object)
    assert repr(ConstrainedHMM().fit(rows, y).emission_) == (
        "Product({(1, 2, 3, 4): Gaussian(), 0: Categorical()})"
    )
    flags = pd.DataFrame({"x": np.arange(6.0), "on": [True, False] * 3})
    assert repr(ConstrainedHMM().fit(flags, list("aabbaa")).emission_) == (
        "Product({'x': Gaussian(), 'on': Categorical()})"
    )
    assert isinstance(ConstrainedHMM().fit(X[["x", "drops"]], y).emission_, Gaussian)


def test_a_classifier_may_be_a_part():
    X, y = table()
    parts = {("x", "y"): LogisticRegression(), "sky": "categorical"}
    model = ConstrainedHMM(emission=Product(parts)).fit(X, y)
    assert np.mean(model.predict(X) == y) > 0.8
    with pytest.raises(ValueError, match="learned from labels only"):
        ConstrainedHMM(2, emission=Product(parts)).fit(X)


def test_copies_answer_alike():
    X, y = table()
    model = ConstrainedHMM(emission=Product(PARTS)).fit(X, y)
    for again in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


def test_skops_saves_several_columns_of_one_emission():
    io = pytest.importorskip("skops.io")
    X, y = table()
    model = ConstrainedHMM(emission=Product(PARTS)).fit(X, y)
    data = io.dumps(model)
    again = io.loads(data, trusted=io.get_untrusted_types(data=data))
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    assert list(again.emission.emissions) == list(PARTS)
    assert list(again.emission_.emissions_) == list(PARTS)
