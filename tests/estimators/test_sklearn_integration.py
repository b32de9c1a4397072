"""At home in scikit-learn: pipelines, searches, dataframes, saving, the HTML repr."""

import html
import pickle
import re
from pathlib import Path

import joblib
import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn import config_context
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    KFold,
    cross_val_score,
    cross_validate,
)
from sklearn.neighbors import KernelDensity
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler

import skchmm
from skchmm import ConstrainedHMM, ConstraintMiner, CTConstrainedHMM, _documentation, hmm
from skchmm.constraints import (
    AtMostVisits,
    EndsIn,
    ExactVisits,
    LTLf,
    MinDuration,
    Precedence,
    Regex,
    StageMonotone,
    StartsIn,
    VisitBy,
)
from skchmm.emissions import Categorical, Gaussian
from skchmm.metrics import (
    accuracy_scorer,
    macro_f1_scorer,
    segment_f1_scorer,
    trajectory_validity_rate,
    tvr_scorer,
)

RULES = [Precedence("a", "b"), AtMostVisits("b", 1), StartsIn("a")]
SCORERS = {
    "accuracy": accuracy_scorer,
    "macro_f1": macro_f1_scorer,
    "tvr": tvr_scorer,
    "segment_f1": segment_f1_scorer,
}
DECODERS = [
    skchmm.BeamRejectionDecoder,
    skchmm.HSMMDecoder,
    skchmm.PerceptronCRF,
    skchmm.PostHocFilter,
    skchmm.TopologyMaskedHMM,
]


@pytest.fixture(scope="module")
def listed():
    """Fifteen noisy sequences of a, b, a again, as lists."""
    rng = np.random.default_rng(0)
    y = [np.repeat(["a", "b", "a"], rng.integers(3, 8, 3)) for _ in range(15)]
    X = [2.0 * (one == "b")[:, None] + rng.normal(scale=0.8, size=(len(one), 2)) for one in y]
    return X, y


@pytest.fixture(scope="module")
def grouped(listed):
    X, y = listed
    groups = np.repeat([f"subject {k}" for k in range(len(y))], [len(one) for one in y])
    return np.concatenate(X), np.concatenate(y), groups


@pytest.fixture
def routing():
    with config_context(enable_metadata_routing=True):
        yield


def same(one, other):
    return all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))


class TestPipelines:
    def test_scaler_and_model_with_groups(self, grouped, listed, routing):
        rows, labels, groups = grouped
        pipe = Pipeline(
            [
                ("scale", StandardScaler()),
                ("model", ConstrainedHMM(emission="gaussian", constraints=RULES)),
            ]
        ).fit(rows, labels, groups=groups)
        scaled = [pipe[:-1].transform(one) for one in listed[0]]
        alone = ConstrainedHMM(emission="gaussian", constraints=RULES).fit(scaled, listed[1])
        predicted = pipe.predict(rows, groups=groups)
        np.testing.assert_array_equal(predicted, np.concatenate(alone.predict(scaled)))
        np.testing.assert_allclose(
            pipe.predict_proba(rows, groups=groups), np.concatenate(alone.predict_proba(scaled))
        )
        assert pipe.score(rows, labels, groups=groups) == np.mean(predicted == labels)
        assert trajectory_validity_rate(predicted, RULES, groups=groups) == 1.0

    def test_weights_are_routed_on_request(self, grouped, routing):
        rows, labels, groups = grouped
        weights = np.where(groups == "subject 0", 5.0, 1.0)
        model = ConstrainedHMM(constraints=RULES)
        model.set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        pipe = make_pipeline(StandardScaler().set_fit_request(sample_weight=False), model)
        pipe.fit(rows, labels, groups=groups, sample_weight=weights)
        scaled = pipe[0].transform(rows)
        expected = clone(model).fit(scaled, labels, groups=groups, sample_weight=weights)
        np.testing.assert_allclose(pipe[-1].transmat_, expected.transmat_)
        correct = pipe.predict(rows, groups=groups) == labels
        score = pipe.score(rows, labels, groups=groups, sample_weight=weights)
        np.testing.assert_allclose(score, np.average(correct, weights=weights))

    def test_columns_of_a_dataframe(self, grouped, routing):
        rows, labels, groups = grouped
        frame = pd.DataFrame(rows, columns=["u", "v"])
        frame["level"] = np.where(rows[:, 0] > 1, "high", "low")
        columns = ColumnTransformer(
            [("number", StandardScaler(), ["u", "v"]), ("symbol", OneHotEncoder(), ["level"])]
        )
        pipe = make_pipeline(
            columns, ConstrainedHMM(emission=LogisticRegression(), constraints=RULES)
        )
        scores = cross_val_score(
            pipe, frame, labels, cv=GroupKFold(3), scoring=tvr_scorer, params={"groups": groups},
            error_score="raise",
        )  # fmt: skip
        assert scores.tolist() == [1.0] * 3

    def test_functions_of_rows_and_of_lists(self, grouped, listed, routing):
        rows, labels, groups = grouped
        model = ConstrainedHMM(constraints=RULES)
        by_row = make_pipeline(FunctionTransformer(np.tanh), model)
        by_row.fit(rows, labels, groups=groups)
        by_list = make_pipeline(FunctionTransformer(tanh_of_each), model)
        by_list.fit(*listed)
        assert by_list.score(*listed) == by_row.score(rows, labels, groups=groups)
        scores = cross_val_score(by_list, *listed, cv=5, scoring=tvr_scorer, error_score="raise")
        assert scores.tolist() == [1.0] * 5


def tanh_of_each(sequences):
    return [np.tanh(one) for one in sequences]


class TestCrossValidation:
    def test_lists(self, listed):
        scores = cross_val_score(
            ConstrainedHMM(constraints=RULES), *listed, cv=5, scoring=tvr_scorer,
            error_score="raise",
        )  # fmt: skip
        assert scores.tolist() == [1.0] * 5

    def test_all_scorers_at_once_and_groups(self, listed, grouped, routing):
        X, y = listed
        rows, labels, groups = grouped
        model = ConstrainedHMM(constraints=RULES)
        by_list = cross_validate(model, X, y, cv=KFold(5), scoring=SCORERS, error_score="raise")
        subjects = np.unique(groups)
        folds = [
            (np.flatnonzero(~np.isin(groups, chosen)), np.flatnonzero(np.isin(groups, chosen)))
            for chosen in ([f"subject {k}" for k in test] for _, test in KFold(5).split(subjects))
        ]
        by_group = cross_validate(
            model, rows, labels, cv=folds, scoring=SCORERS, params={"groups": groups},
            error_score="raise",
        )  # fmt: skip
        for name in SCORERS:
            np.testing.assert_allclose(by_group[f"test_{name}"], by_list[f"test_{name}"])
        spread = cross_validate(
            model, rows, labels, cv=GroupKFold(5), scoring=SCORERS, params={"groups": groups},
            error_score="raise",
        )  # fmt: skip
        assert spread["test_tvr"].tolist() == [1.0] * 5


class TestSearch:
    @pytest.mark.parametrize(
        ("model", "grid"),
        [
            (ConstrainedHMM(), {"constraints": [None, RULES, [StartsIn("b")]]}),
            (ConstrainedHMM(constraints=AtMostVisits("b", 1)), {"constraints__k": [0, 1, 2]}),
            (
                ConstrainedHMM(constraints=AtMostVisits("b", 1) & MinDuration("b", 1)),
                {"constraints__0__k": [0, 1], "constraints__1__k": [1, 2]},
            ),
            (ConstrainedHMM(constraints=RULES), {"smoothing": [0.1, 0.5, 2.0]}),
            (
                ConstrainedHMM(emission=Gaussian(), constraints=RULES),
                {"emission__covariance_type": ["diag", "full", "tied", "spherical"]},
            ),
            (ConstrainedHMM(emission=Gaussian()), {"emission": ["gaussian", KernelDensity()]}),
        ],
        ids=["constraints", "k", "nested k", "smoothing", "covariance", "emission"],
    )
    def test_grids(self, model, grid, listed):
        before = repr(model)
        search = GridSearchCV(model, grid, cv=3, scoring=accuracy_scorer, error_score="raise")
        search.fit(*listed)
        for params, score in zip(
            search.cv_results_["params"], search.cv_results_["mean_test_score"], strict=True
        ):
            one = clone(model).set_params(**clone(params, safe=False))
            scores = cross_val_score(one, *listed, cv=3, scoring=accuracy_scorer)
            np.testing.assert_allclose(scores.mean(), score)
        assert repr(model) == before
        assert search.best_score_ > 0.8
        best = search.best_estimator_
        assert same(search.predict(listed[0]), best.predict(listed[0]))

    def test_default_score_with_groups(self, grouped, routing):
        rows, labels, groups = grouped
        pipe = make_pipeline(StandardScaler(), ConstrainedHMM(constraints=RULES))
        grid = {"constrainedhmm__constraints": [None, RULES]}
        search = GridSearchCV(pipe, grid, cv=GroupKFold(3), error_score="raise")
        search.fit(rows, labels, groups=groups)
        assert search.best_estimator_.score(rows, labels, groups=groups) > 0.8
        if (
            sklearn.__version__ >= "1.7"
        ):  # before, a search handed nothing to the score of a pipeline
            assert search.score(rows, labels, groups=groups) > 0.8

    def test_in_processes(self, listed):
        grid = {"smoothing": [0.1, 1.0]}
        results = [
            GridSearchCV(ConstrainedHMM(constraints=RULES), grid, cv=3, n_jobs=n_jobs).fit(*listed)
            for n_jobs in (None, 2)
        ]
        one, other = (result.cv_results_["mean_test_score"] for result in results)
        np.testing.assert_array_equal(one, other)

    def test_a_miner_sees_the_training_fold_only(self, listed):
        """One sequence breaks a rule that all the others obey."""
        X, y = [*listed[0], listed[0][0]], [*listed[1], np.repeat("b", len(listed[1][0]))]
        model = ConstrainedHMM(constraints=ConstraintMiner(min_presence=0.5))
        folds = list(KFold(4).split(X))
        result = cross_validate(
            model, X, y, cv=folds, scoring=tvr_scorer, return_estimator=True, error_score="raise"
        )
        for (train, _), fitted in zip(folds, result["estimator"], strict=True):
            mined = ConstraintMiner(min_presence=0.5).fit([y[i] for i in train]).constraints_
            assert fitted.constraints_ == mined
            assert (len(X) - 1 in train) != (Precedence("a", "b") in mined)
        assert result["test_score"].tolist() == [1.0] * 4
        assert model.get_params()["constraints__min_presence"] == 0.5

    def test_search_over_a_miner(self, listed):
        search = GridSearchCV(
            ConstrainedHMM(constraints=ConstraintMiner()),
            {"constraints__min_presence": [0.5, 0.9], "constraints__max_visits": [1, 5]},
            cv=3, scoring=tvr_scorer, error_score="raise",
        ).fit(*listed)  # fmt: skip
        assert search.best_score_ == 1.0


class TestDataframes:
    def test_pandas(self, grouped, listed):
        rows, labels, groups = grouped
        frame = pd.DataFrame(rows, columns=["u", "v"], index=np.arange(len(rows))[::-1])
        y, ids = pd.Series(labels, index=frame.index), pd.Series(groups, index=frame.index)
        model = ConstrainedHMM(constraints=RULES).fit(frame, y, groups=ids)
        assert model.feature_names_in_.tolist() == ["u", "v"]
        assert model.n_features_in_ == 2
        plain = ConstrainedHMM(constraints=RULES).fit(rows, labels, groups=groups)
        expected = plain.predict(rows, groups=groups)
        np.testing.assert_array_equal(model.predict(frame, groups=ids), expected)
        frames = [part for _, part in frame.groupby(groups, sort=False)]
        assert same(model.predict(frames), plain.predict(listed[0]))
        with pytest.raises(ValueError, match="feature names"):
            model.predict(frame[["v", "u"]], groups=ids)
        with pytest.warns(UserWarning, match="valid feature names"):
            model.predict(rows, groups=groups)

    def test_polars(self, grouped):
        polars = pytest.importorskip("polars")
        rows, labels, groups = grouped
        frame = polars.DataFrame({"u": rows[:, 0], "v": rows[:, 1]})
        y, ids = polars.Series(labels.tolist()), polars.Series(groups.tolist())
        model = ConstrainedHMM(constraints=RULES).fit(frame, y, groups=ids)
        plain = ConstrainedHMM(constraints=RULES).fit(rows, labels, groups=groups)
        expected = plain.predict(rows, groups=groups)
        np.testing.assert_array_equal(model.predict(frame, groups=ids), expected)
        frames = [part for _, part in frame.group_by(ids, maintain_order=True)]
        assert np.array_equal(np.concatenate(model.predict(frames)), expected)
        # scikit-learn 1.6 reads names by a protocol that polars has dropped since
        if sklearn.__version__ >= "1.7" or hasattr(frame, "__dataframe__"):
            assert model.feature_names_in_.tolist() == ["u", "v"]
            with pytest.raises(ValueError, match="feature names"):
                model.predict(frame.select("v", "u"), groups=ids)

    def test_scaler_that_keeps_the_dataframe(self, grouped, routing):
        rows, labels, groups = grouped
        frame = pd.DataFrame(rows, columns=["u", "v"])
        pipe = make_pipeline(StandardScaler(), ConstrainedHMM(constraints=RULES))
        pipe.set_output(transform="pandas").fit(frame, labels, groups=groups)
        assert pipe[-1].feature_names_in_.tolist() == ["u", "v"]


def fitted_models(X, y):
    """All kinds, with the keywords that their predict needs."""
    symbols = [np.where(one > 1, "high", "low") for one in X]
    composed = [ExactVisits("b", 1) & ~EndsIn({"b"}) | StageMonotone(["a", {"b"}]), VisitBy("b", 9)]
    yield ConstrainedHMM(constraints=RULES).fit(X, y), X, {}
    yield ConstrainedHMM(constraints=composed).fit(X, y), X, {}
    languages = [Regex("a+ b+ a+"), LTLf("F b")]
    symbolic = ConstrainedHMM(emission=Categorical(1), constraints=languages)
    yield symbolic.fit(symbols, y), symbols, {}
    yield ConstrainedHMM(emission=LogisticRegression()).fit(X, y), X, {}
    yield ConstrainedHMM(constraints=ConstraintMiner()).fit(X, y), X, {}
    yield ConstrainedHMM(2, n_iter=3, tol=np.inf, random_state=0).fit(X), X, {}
    for decoder in DECODERS:
        yield decoder(constraints=StartsIn("a")).fit(X, y), X, {}
    times = [np.arange(len(one)) * 0.5 for one in X]
    constrained = CTConstrainedHMM(constraints=RULES)
    yield constrained.fit(X, y, times=times), X, {"times": times}
    rows = np.concatenate(X)
    yield hmm.GaussianHMM(2, n_iter=3, random_state=0, constraints=StartsIn(0)).fit(rows), rows, {}


# What skops asks about besides names in skchmm; the user guide lists them.
TRUSTED_ELSEWHERE = {"collections.deque"}


@pytest.mark.filterwarnings("ignore::skchmm.NotEnforcedWarning")
class TestSaving:
    def test_pickle_joblib_and_clone(self, listed, tmp_path):
        for model, X, keywords in fitted_models(*listed):
            expected = model.predict(X, **keywords)
            copies = [pickle.loads(pickle.dumps(model))]
            joblib.dump(model, tmp_path / "model.joblib", compress=3)
            copies.append(joblib.load(tmp_path / "model.joblib"))
            for copy in copies:
                assert same(copy.predict(X, **keywords), expected)
                assert repr(copy) == repr(model)
            fresh = clone(model)
            assert not hasattr(fresh, "transmat_")
            assert repr(fresh) == repr(model)

    def test_skops(self, listed):
        skops = pytest.importorskip("skops.io")
        for model, X, keywords in fitted_models(*listed):
            data = skops.dumps(model)
            asked = set(skops.get_untrusted_types(data=data))
            foreign = {name for name in asked if not name.startswith("skchmm.")}
            assert foreign <= (TRUSTED_ELSEWHERE if isinstance(model, hmm.BaseHMM) else set())
            copy = skops.loads(data, trusted=sorted(asked))
            assert same(copy.predict(X, **keywords), model.predict(X, **keywords))
        guide = Path(__file__).parents[2] / "doc" / "user_guide" / "model_selection.rst"
        assert all(name in guide.read_text() for name in TRUSTED_ELSEWHERE)


class TestHTML:
    def test_shows_the_parameters(self):
        text = ConstrainedHMM(constraints=RULES)._repr_html_()
        assert "ConstrainedHMM" in text
        assert "Precedence('a', 'b')" in html.unescape(text)
        assert "skchmm" not in str(re.findall('href="([^"]*)"', text))

    def test_pipelines_and_searches(self, listed):
        pipe = make_pipeline(StandardScaler(), ConstrainedHMM(constraints=RULES))
        search = GridSearchCV(pipe, {"constrainedhmm__smoothing": [1]})
        assert "ConstrainedHMM" in search._repr_html_()
        assert "ConstrainedHMM" in ConstrainedHMM().fit(*listed)._repr_html_()

    @pytest.mark.parametrize(
        "estimator",
        [
            ConstrainedHMM,
            CTConstrainedHMM,
            *DECODERS,
            ConstraintMiner,
            skchmm.HashingQuantizer,
            hmm.CategoricalHMM,
            hmm.GaussianHMM,
            hmm.GMMHMM,
            hmm.MultinomialHMM,
            hmm.PoissonHMM,
        ],
        ids=lambda estimator: estimator.__name__,
    )
    def test_links_to_a_page_that_the_documentation_has(self, estimator, monkeypatch):
        monkeypatch.setattr(_documentation, "ADDRESS", "https://example.org/skchmm")
        links = re.findall('href="(https://example[^"#]*)', estimator()._repr_html_())
        pages = {f"https://example.org/skchmm/api/generated/{name}.html" for name in listed_names()}
        assert links
        assert set(links) <= pages


def listed_names():
    """Full names of what the API reference has a page for."""
    text = (Path(__file__).parents[2] / "doc" / "api.rst").read_text()
    module = ""
    for line in text.splitlines():
        if line.startswith(".. currentmodule::"):
            module = line.split("::")[1].strip()
        elif re.fullmatch(r" {3}[A-Za-z][\w.]*", line):
            yield f"{module}.{line.strip()}"
