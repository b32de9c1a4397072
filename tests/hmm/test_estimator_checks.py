"""scikit-learn's checks on hmmlearn's classes."""

import logging
import pickle
from copy import copy

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import parametrize_with_checks

from skchmm import hmm
from tests.estimators.test_estimator_checks import EXPECTED_FAILURES


class PoissonHMM(hmm.PoissonHMM):
    def _read(self, X, lengths, groups, *, reset=False):
        return super()._read(_counts(X), lengths, groups, reset=reset)


class MultinomialHMM(hmm.MultinomialHMM):
    def _read(self, X, lengths, groups, *, reset=False):
        X = _counts(X)
        if isinstance(X, np.ndarray) and X.dtype.kind == "f" and X.ndim == 2:
            X = np.where(np.isnan(X).any(axis=1, keepdims=True), np.nan, X)  # a row or nothing
        return super()._read(X, lengths, groups, reset=reset)


def _counts(X):
    """The checks draw real numbers where these models take counts."""
    if hasattr(X, "columns") or np.iscomplexobj(X) or not isinstance(X, (np.ndarray, list)):
        return X
    try:
        return np.rint(np.asarray(X, dtype=float))
    except (TypeError, ValueError):
        return X


@pytest.fixture(autouse=True)
def quiet(caplog):
    caplog.set_level(logging.ERROR, logger="skchmm.hmm")


@parametrize_with_checks(
    [hmm.GaussianHMM(), hmm.GMMHMM(), PoissonHMM(), MultinomialHMM()],
    expected_failed_checks=lambda estimator: EXPECTED_FAILURES,
)
def test_estimator_checks(estimator, check):
    check(estimator)


def test_one_column_of_symbols():
    """The checks have no such data, and skip an estimator whose tags ask for it."""
    assert not get_tags(hmm.CategoricalHMM()).input_tags.two_d_array
    model = hmm.CategoricalHMM(2, random_state=0)
    assert set(vars(model)) == set(model.get_params())
    with pytest.raises(NotFittedError):
        model.predict([[0], [1]])
    X = np.random.default_rng(0).integers(3, size=(30, 1))
    before = {name: copy(value) for name, value in model.get_params().items()}
    assert model.fit(X) is model
    assert model.get_params() == before
    state = dict(vars(model))
    path = model.predict(X)
    assert vars(model) == state
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(X), path)
    np.testing.assert_array_equal(clone(model).fit(X).predict(X), path)
    with pytest.raises(ValueError, match="one column"):
        model.fit(np.zeros((4, 2), dtype=int))
