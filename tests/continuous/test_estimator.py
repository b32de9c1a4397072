"""CTConstrainedHMM as a scikit-learn estimator: checks, routing, input forms, kinds of times."""

from datetime import timedelta

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_score
from sklearn.utils.estimator_checks import parametrize_with_checks

from skchmm import CTConstrainedHMM
from skchmm.constraints import ForbiddenEdges, NoReentry
from skchmm.emissions import Categorical
from tests.estimators.test_estimator_checks import EXPECTED_FAILURES


@parametrize_with_checks(
    [CTConstrainedHMM()],
    expected_failed_checks=lambda estimator: EXPECTED_FAILURES,
)
def test_estimator_checks(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X, y, times = [], [], []
    for n in (7, 5, 9, 6, 8, 7):
        times.append(np.cumsum(rng.exponential(size=n)))
        y.append(np.repeat(np.array(["a", "b", "c"]), [n // 3, n // 3, n - 2 * (n // 3)]))
        X.append(np.char.add(y[-1], rng.choice(["", "!"], size=n)))
    return X, y, times


def fitted(data, **params):
    X, y, times = data
    rules = [NoReentry("b"), ForbiddenEdges([("c", "a")])]
    return CTConstrainedHMM(constraints=rules, **params).fit(X, y, times=times)


@pytest.mark.parametrize("semantics", ["path", "observed", "masked"])
@pytest.mark.filterwarnings("ignore::skchmm.NotEnforcedWarning")
def test_the_three_forms_agree(data, semantics):
    X, y, times = data
    lengths = [len(x) for x in X]
    groups = np.repeat(np.arange(len(X)) * 10, lengths)
    flat = np.concatenate(X), np.concatenate(y), np.concatenate(times)
    listed = fitted(data, semantics=semantics)
    stacked = clone(listed).fit(*flat[:2], times=flat[2], lengths=lengths)
    grouped = clone(listed).fit(*flat[:2], times=flat[2], groups=groups)
    for other in (stacked, grouped):
        np.testing.assert_array_equal(other.generator_, listed.generator_)
    answers = listed.predict(X, times=times)
    assert isinstance(answers, list)
    np.testing.assert_array_equal(
        np.concatenate(answers), grouped.predict(flat[0], times=flat[2], groups=groups)
    )
    np.testing.assert_array_equal(
        np.concatenate(answers), stacked.predict(flat[0], flat[2], lengths=lengths)
    )
    np.testing.assert_allclose(
        np.concatenate(listed.predict_proba(X, times=times)),
        stacked.predict_proba(flat[0], times=flat[2], lengths=lengths),
    )
    np.testing.assert_allclose(
        listed.log_likelihood(X, times), grouped.log_likelihood(flat[0], flat[2], groups=groups)
    )


def kinds_of_times():
    start = pd.Timestamp("2024-03-30 22:00")
    return {
        "datetime64": lambda s: np.datetime64("2024-03-30") + (s * 1e3).astype("timedelta64[ms]"),
        "timedelta64": lambda s: (s * 1e3).astype("timedelta64[ms]"),
        "Timestamps": lambda s: [start + pd.Timedelta(milliseconds=int(x * 1e3)) for x in s],
        "Series": lambda s: pd.Series(start + pd.to_timedelta((s * 1e3).astype(int), unit="ms")),
        "zoned": lambda s: pd.Series(
            start + pd.to_timedelta((s * 1e3).astype(int), unit="ms")
        ).dt.tz_localize("Europe/Paris"),
        "datetimes": lambda s: [
            start.to_pydatetime() + timedelta(milliseconds=int(x * 1e3)) for x in s
        ],
        "timedeltas": lambda s: [timedelta(milliseconds=int(x * 1e3)) for x in s],
        "integers": lambda s: (s * 1e3).astype(int),
    }


@pytest.mark.parametrize("kind", list(kinds_of_times()))
def test_kinds_of_times(data, kind):
    X, y, times = data
    times = [np.floor(t * 1e3) / 1e3 for t in times]
    given = [kinds_of_times()[kind](t + 1e-6) for t in times]
    unit = 1e-3 if kind == "integers" else 1.0
    expected = fitted((X, y, times))
    model = fitted((X, y, given))
    np.testing.assert_allclose(model.generator_ / unit, expected.generator_, rtol=1e-9)
    flat = np.concatenate([np.asarray(g) for g in given])
    lengths = [len(x) for x in X]
    np.testing.assert_allclose(
        model.log_likelihood(np.concatenate(X), flat, lengths=lengths),
        expected.log_likelihood(X, times),
    )
    grid = [g.iloc[[0, -1]] if hasattr(g, "iloc") else [g[0], g[-1]] for g in given]
    grid = [np.asarray(g) for g in grid]
    at_ends = model.predict_proba(X, times=given, at=grid)
    for each, whole in zip(at_ends, model.predict_proba(X, times=given)):
        np.testing.assert_allclose(each, whole[[0, -1]])
    path = model.decode_path(X[0], given[0])
    assert path.times[0] == np.asarray(given[0])[0]
    assert path.at(np.asarray(given[0])).tolist() == model.predict(X[0], given[0]).tolist()


def test_times_that_cannot_be(data):
    X, y, times = data
    bad = [t.copy() for t in times]
    bad[2][4] -= 5
    with pytest.raises(ValueError, match="step 4 of sequence 2 comes"):
        fitted((X, y, bad))
    bad = [t.copy() for t in times]
    bad[1][3] = np.nan
    with pytest.raises(ValueError, match="step 3 of sequence 1 has no time"):
        fitted((X, y, bad))
    with pytest.raises(ValueError, match="step 1 of sequence 0 has no time"):
        fitted(data).predict(X[0][:2], [np.datetime64("2024-01-01"), np.datetime64("NaT", "s")])
    model = fitted(data)
    with pytest.raises(ValueError, match="times is missing"):
        model.predict(X)
    with pytest.raises(ValueError, match=r"pandas\.to_datetime"):
        model.predict(X[0][:2], ["2024-01-01", "2024-01-02"])
    with pytest.raises(ValueError, match="times has 3 values"):
        model.predict(X[0][:2], [1, 2, 3])
    with pytest.raises(ValueError, match="before the first observation of sequence 0"):
        model.predict_proba(X[0], times[0], at=[times[0][0] - 1])


def test_without_times_rows_are_one_unit_apart(data):
    X, y, _ = data
    times = [np.arange(len(x)) for x in X]
    model = CTConstrainedHMM().fit(X, y)
    other = CTConstrainedHMM().fit(X, y, times=times)
    np.testing.assert_array_equal(model.generator_, other.generator_)
    np.testing.assert_array_equal(model.predict(X[0]), model.predict(X[0], times[0]))


def test_times_are_routed(data):
    X, y, times = data
    lengths = [len(x) for x in X]
    groups = np.repeat(np.arange(len(X)), lengths)
    flat = np.concatenate(X), np.concatenate(y), np.concatenate(times)
    lenient = Categorical(unseen="ignore")
    with sklearn.config_context(enable_metadata_routing=True):
        search = GridSearchCV(
            CTConstrainedHMM(emission=lenient, constraints=NoReentry("b")),
            {"smoothing": [0.1, 1.0]},
            cv=GroupKFold(3),
            error_score="raise",
        )
        search.fit(*flat[:2], times=flat[2], groups=groups)
        scores = cross_val_score(
            CTConstrainedHMM(emission=lenient), *flat[:2], cv=GroupKFold(2), error_score="raise",
            params={"times": flat[2], "groups": groups},
        )  # fmt: skip
    assert search.best_score_ > 0.5 and (scores > 0.5).all()


def test_regular_times_are_seen_to_be_regular(data):
    X, _, _ = data
    sequences = fitted(data)._read(X[0], None, None, times=np.arange(len(X[0])) * 0.1)
    assert len(np.unique(sequences.times.gaps[1:])) == 1


def test_a_replaced_generator_with_negative_rates():
    times = np.arange(4.0)
    model = CTConstrainedHMM(emission="categorical").fit([0, 1, 0, 1], list("abab"), times=times)
    model.generator_ = np.array([[1.0, -1.0], [1.0, -1.0]])
    with pytest.raises(ValueError, match="negative rate off its diagonal"):
        model.predict([0, 1, 0, 1], times=times)
