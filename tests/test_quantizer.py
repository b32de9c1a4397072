import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from skchmm.quantizer import HashingQuantizer


@parametrize_with_checks([HashingQuantizer()])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@settings(max_examples=60, deadline=None)
@given(
    arrays(float, st.tuples(st.integers(1, 20), st.integers(1, 12)), elements=st.floats(-5, 5)),
    st.integers(2, 5),
    st.sampled_from([1, 2, 16, 64, 97]),
)
def test_symbols_are_the_polynomial_of_the_bins(X, n_bins, n_symbols):
    quantizer = HashingQuantizer(n_bins=n_bins, n_symbols=n_symbols).fit(X)
    D = X.shape[1]
    for row, symbol in zip(X, quantizer.transform(X).ravel()):
        bins = [
            sum(edge <= value for edge in quantizer.bin_edges_[d]) for d, value in enumerate(row)
        ]
        assert symbol == sum(131 ** (D - 1 - d) * int(b) for d, b in enumerate(bins)) % n_symbols


@pytest.mark.parametrize("n_bins", [2, 3, 4, 8])
def test_bins_hold_equally_many_rows(n_bins):
    X = np.random.default_rng(0).gamma(1.0, size=(24 * 5, 1))
    bins = HashingQuantizer(n_bins=n_bins).fit_transform(X).ravel()
    assert np.array_equal(np.bincount(bins), np.full(n_bins, 120 // n_bins))


def test_missing_values_have_a_bin_of_their_own():
    X = np.array([[0.0], [1.0], [2.0], [3.0], [np.nan]])
    assert HashingQuantizer(n_bins=2).fit_transform(X).ravel().tolist() == [0, 0, 1, 1, 2]
    assert (
        HashingQuantizer().fit_transform(np.full((3, 2), np.nan)).ravel().tolist()
        == [(131 * 4 + 4) % 64] * 3
    )
    with pytest.raises(ValueError, match="infinity"):
        HashingQuantizer().fit([[np.inf], [1.0]])


def test_lists_of_sequences_come_back_as_lists():
    rng = np.random.default_rng(0)
    sequences = [rng.normal(size=(n, 3)) for n in (4, 7, 2)]
    quantizer = HashingQuantizer().fit(sequences)
    together = HashingQuantizer().fit_transform(np.concatenate(sequences))
    parts = quantizer.transform(sequences)
    assert [part.shape for part in parts] == [(4, 1), (7, 1), (2, 1)]
    assert np.array_equal(np.concatenate(parts), together)


def test_names_and_pipelines():
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(30, 2)), columns=["x", "y"])
    pipeline = make_pipeline(StandardScaler(), clone(HashingQuantizer(n_symbols=16)))
    symbols = pipeline.fit_transform(X)
    assert symbols.dtype == np.int64
    assert symbols.shape == (30, 1)
    assert symbols.max() < 16
    assert pipeline[-1].get_feature_names_out().tolist() == ["hashingquantizer0"]
    # Standardising moves values and edges alike.
    assert np.array_equal(symbols, HashingQuantizer(n_symbols=16).fit_transform(X))
    framed = HashingQuantizer().set_output(transform="pandas").fit_transform(X)
    assert list(framed.columns) == ["hashingquantizer0"]


@pytest.mark.parametrize(
    "parameters", [{"n_bins": 1}, {"n_bins": 2.5}, {"n_symbols": 0}, {"n_symbols": 262}]
)
def test_says_which_parameter_is_wrong(parameters):
    with pytest.raises(ValueError, match=next(iter(parameters))):
        HashingQuantizer(**parameters).fit([[0.0], [1.0]])
