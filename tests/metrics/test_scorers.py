import pickle

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import BaseEstimator
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold, cross_val_score, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skchmm.constraints import AtMostVisits, EndsIn, StartsIn
from skchmm.metrics import (
    accuracy_scorer,
    macro_f1_scorer,
    make_segment_f1_scorer,
    make_tvr_scorer,
    segment_f1_score,
    segment_f1_scorer,
    sequence_accuracy_score,
    sequence_macro_f1_score,
    trajectory_validity_rate,
    tvr_scorer,
)
from skchmm.sequences import read_labels, read_sequences

ALL = {
    "accuracy": accuracy_scorer,
    "macro_f1": macro_f1_scorer,
    "tvr": tvr_scorer,
    "segment_f1": segment_f1_scorer,
}
RULES = [AtMostVisits("b", 1), StartsIn("a")]


class NearestMean(BaseEstimator):
    """Labels each step by the nearest class mean, but its first step always by its `first`."""

    def __init__(self, first="a", constraints=None):
        self.first = first
        self.constraints = constraints

    def fit(self, X, y, *, lengths=None, groups=None):
        sequences = read_sequences(X, lengths=lengths, groups=groups)
        y = read_labels(y, sequences)
        self.classes_ = np.unique(y)
        self.means_ = np.array([sequences.X[y == c].mean(axis=0) for c in self.classes_])
        self.constraints_ = self.constraints
        return self

    def predict(self, X, *, lengths=None, groups=None):
        sequences = read_sequences(X, lengths=lengths, groups=groups)
        distance = np.abs(sequences.X[:, None] - self.means_).sum(axis=2)
        path = self.classes_[distance.argmin(axis=1)]
        path[sequences.offsets[:-1]] = self.first
        return sequences.restore(path)


@pytest.fixture(scope="module")
def data():
    """Ten noisy sequences as a list, and where each step belongs."""
    rng = np.random.default_rng(0)
    y = [np.repeat(["a", "b", "a"], rng.integers(2, 6, 3)) for _ in range(10)]
    X = [(one == "b")[:, None] + rng.normal(scale=0.6, size=(len(one), 2)) for one in y]
    return X, y, np.repeat(np.arange(10), [len(one) for one in y])


def expected_scores(model, X, y):
    y_pred = model.predict(X)
    return {
        "accuracy": sequence_accuracy_score(y, y_pred),
        "macro_f1": sequence_macro_f1_score(y, y_pred),
        "tvr": trajectory_validity_rate(y_pred, RULES),
        "segment_f1": segment_f1_score(y, y_pred),
    }


def test_scorers_are_the_scores_of_the_prediction_in_all_forms(data):
    X, y, groups = data
    model = NearestMean(constraints=RULES).fit(X, y)
    expected = expected_scores(model, X, y)
    assert 0 < expected["tvr"] < 1
    stacked, labels = np.concatenate(X), np.concatenate(y)
    for name, scorer in ALL.items():
        assert scorer(model, X, y) == expected[name]
        assert scorer(model, stacked, labels, groups=groups) == expected[name]
        lengths = [len(one) for one in y]
        assert scorer(model, stacked, labels, lengths=lengths) == expected[name]


def test_cross_validation_of_lists_with_all_scorers_at_once(data):
    X, y, _ = data
    model = NearestMean(constraints=RULES)
    cv = KFold(5)
    result = cross_validate(model, X, y, cv=cv, scoring=ALL, error_score="raise")
    for fold, (train, test) in enumerate(cv.split(X)):
        fitted = model.fit([X[i] for i in train], [y[i] for i in train])
        expected = expected_scores(fitted, [X[i] for i in test], [y[i] for i in test])
        for name in ALL:
            assert result[f"test_{name}"][fold] == expected[name]
    single = cross_val_score(model, X, y, cv=cv, scoring=tvr_scorer, error_score="raise")
    np.testing.assert_array_equal(single, result["test_tvr"])


def test_groups_reach_scorer_and_pipeline_by_metadata_routing(data):
    X, y, groups = data
    stacked, labels = np.concatenate(X), np.concatenate(y)
    cv = GroupKFold(5)
    with config_context(enable_metadata_routing=True):
        model = NearestMean(constraints=RULES)
        model.set_fit_request(groups=True).set_predict_request(groups=True)
        pipeline = make_pipeline(StandardScaler(), model)
        result = cross_validate(
            pipeline, stacked, labels, cv=cv, scoring=ALL, params={"groups": groups},
            error_score="raise",
        )  # fmt: skip
        for fold, (train, test) in enumerate(cv.split(stacked, labels, groups)):
            fitted = pipeline.fit(stacked[train], labels[train], groups=groups[train])
            cuts = np.flatnonzero(np.diff(groups[test])) + 1
            y_true = np.split(labels[test], cuts)
            y_pred = np.split(fitted.predict(stacked[test], groups=groups[test]), cuts)
            assert result["test_accuracy"][fold] == sequence_accuracy_score(y_true, y_pred)
            assert result["test_tvr"][fold] == trajectory_validity_rate(y_pred, RULES)
            assert result["test_segment_f1"][fold] == segment_f1_score(y_true, y_pred)


def test_search_by_validity_with_groups(data):
    X, y, groups = data
    stacked, labels = np.concatenate(X), np.concatenate(y)
    with config_context(enable_metadata_routing=True):
        model = NearestMean(constraints=RULES)
        model.set_fit_request(groups=True).set_predict_request(groups=True)
        search = GridSearchCV(
            make_pipeline(StandardScaler(), model),
            {"nearestmean__first": ["b", "a"]},
            scoring=tvr_scorer,
            cv=GroupKFold(3),
            error_score="raise",
        ).fit(stacked, labels, groups=groups)
        assert search.best_params_ == {"nearestmean__first": "a"}
        assert search.cv_results_["mean_test_score"][0] == 0.0
        # The search itself can be scored, its predict takes no groups though.
        y_pred = search.best_estimator_.predict(stacked, groups=groups)
        assert tvr_scorer(search, stacked, groups=groups) == trajectory_validity_rate(
            y_pred, RULES, groups=groups
        )


def test_search_over_lists_and_constraints(data):
    X, y, _ = data
    grid = {"constraints": [RULES, [EndsIn("nowhere")]]}
    search = GridSearchCV(NearestMean(), grid, scoring=tvr_scorer, cv=3, error_score="raise")
    search.fit(X, y)
    assert search.best_params_["constraints"] == RULES
    assert search.cv_results_["mean_test_score"][1] == 0.0
    assert search.score(X, y) == trajectory_validity_rate(search.predict(X), RULES)


def test_groups_of_a_list_go_to_the_splitter_only(data):
    X, y, _ = data
    subjects = np.repeat(np.arange(5), 2)
    with config_context(enable_metadata_routing=True):
        scores = cross_val_score(
            NearestMean(constraints=RULES).set_fit_request(groups=True),
            X,
            y,
            cv=GroupKFold(5),
            scoring=accuracy_scorer,
            params={"groups": subjects},
            error_score="raise",
        )
    assert scores.shape == (5,)


def test_classifiers_of_single_rows_can_be_scored_too(data):
    X, y, groups = data
    stacked, labels = np.concatenate(X), np.concatenate(y)
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(stacked, labels)
    expected = sequence_accuracy_score(labels, model.predict(stacked), groups=groups)
    assert accuracy_scorer(model, stacked, labels, groups=groups) == expected
    with pytest.raises(ValueError, match=r"LogisticRegression has no constraints_.*make_tvr_scor"):
        tvr_scorer(model, stacked, labels, groups=groups)
    assert 0 <= make_tvr_scorer(RULES)(model, stacked, labels, groups=groups) <= 1


def test_validity_needs_no_truth_but_the_others_do(data):
    X, y, _ = data
    model = NearestMean(constraints=RULES).fit(X, y)
    assert tvr_scorer(model, X) == tvr_scorer(model, X, y)
    with pytest.raises(ValueError, match="accuracy_scorer compares with the true paths"):
        accuracy_scorer(model, X)


def test_made_scorers_use_their_own_options(data):
    X, y, _ = data
    model = NearestMean(constraints=RULES).fit(X, y)
    y_pred = model.predict(X)
    assert make_segment_f1_scorer(3)(model, X, y) == segment_f1_score(y, y_pred, tolerance=3)
    rule = AtMostVisits("a", 2)
    assert make_tvr_scorer(rule)(model, X, y) == trajectory_validity_rate(y_pred, rule)
    assert make_tvr_scorer(None)(model, X, y) == 1.0


@pytest.mark.parametrize(
    ("scorer", "text"),
    [
        (accuracy_scorer, "accuracy_scorer"),
        (tvr_scorer, "tvr_scorer"),
        (make_segment_f1_scorer(0.05), "make_segment_f1_scorer(0.05)"),
        (make_tvr_scorer([StartsIn("a")]), "make_tvr_scorer([StartsIn('a')])"),
    ],
)
def test_scorers_print_and_pickle(scorer, text, data):
    X, y, _ = data
    model = NearestMean(constraints=RULES).fit(X, y)
    assert repr(scorer) == text
    copy = pickle.loads(pickle.dumps(scorer))
    assert repr(copy) == text
    assert copy(model, X, y) == scorer(model, X, y)


def test_other_requests_make_a_copy(data):
    X, y, groups = data
    other = tvr_scorer.set_score_request(groups=None)
    asked = {"lengths": True, "groups": True, "times": True}
    assert tvr_scorer.get_metadata_routing().score.requests == asked
    assert other.get_metadata_routing().score.requests == asked | {"groups": None}
    with pytest.raises(TypeError, match="can ask for lengths, groups and times, not for weights"):
        tvr_scorer.set_score_request(weights=True)
    with config_context(enable_metadata_routing=True), pytest.raises(UnsetMetadataPassedError):
        cross_val_score(
            NearestMean().set_fit_request(groups=True),
            np.concatenate(X),
            np.concatenate(y),
            scoring=other,
            cv=GroupKFold(3),
            params={"groups": groups},
        )
