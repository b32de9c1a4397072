"""Tables and arrays of other libraries are read as what they hold."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from skchmm import ConstrainedHMM

RNG = np.random.default_rng(0)
A = RNG.normal(size=(60, 2))
S = np.array(["x", "y", "z"])[RNG.integers(3, size=60)]
Y = RNG.integers(2, size=60)
GROUPS = np.repeat(["u", "v", "w"], 20)


class LikeZarr:
    """An array that is somewhere else, and comes when it is asked for."""

    def __init__(self, values):
        self.values, self.shape, self.dtype = values, values.shape, values.dtype
        self.ndim = values.ndim

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self.values, dtype=dtype)

    def __len__(self):
        return len(self.values)

    def __getitem__(self, key):
        return self.values[key]


def arrow(make):
    def convert(values):
        return make(pytest.importorskip("pyarrow"), values)

    return convert


TABLES = {
    "arrow table": arrow(lambda pa, X: pa.table({"a": X[:, 0], "b": X[:, 1]})),
    "arrow batch": arrow(
        lambda pa, X: pa.table({"a": X[:, 0], "b": X[:, 1]}).to_batches()[0],
    ),
    "polars": lambda X: pl.DataFrame({"a": X[:, 0], "b": X[:, 1]}),
    "pandas": lambda X: pd.DataFrame(X, columns=["a", "b"]),
    "pandas, its own types": lambda X: pd.DataFrame(X, columns=["a", "b"]).convert_dtypes(),
    "zarr": LikeZarr,
}


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("missing", [False, True])
def test_numbers(name, missing):
    X = A.copy()
    if missing:
        X[3], X[7, 1] = np.nan, np.nan
    model = ConstrainedHMM().fit(X, Y, groups=GROUPS)
    table = TABLES[name](X)
    found = ConstrainedHMM().fit(table, Y, groups=GROUPS)
    np.testing.assert_array_equal(found.emission_.means_, model.emission_.means_)
    np.testing.assert_array_equal(
        found.predict(table, groups=GROUPS), model.predict(X, groups=GROUPS)
    )
    if name != "zarr":
        assert found.feature_names_in_.tolist() == ["a", "b"]


SYMBOLS = {
    "arrow": arrow(lambda pa, s: pa.array(s)),
    "arrow, in chunks": arrow(lambda pa, s: pa.chunked_array([s[:11], s[11:]])),
    "arrow dictionary": arrow(lambda pa, s: pa.array(s).dictionary_encode()),
    "polars": lambda s: pl.Series(s),
    "pandas": lambda s: pd.Series(s, dtype="string"),
    "categories": lambda s: pd.Series(s, dtype="category"),
    "zarr": lambda s: LikeZarr(np.asarray(s)),
}


@pytest.mark.parametrize("name", SYMBOLS)
def test_symbols(name):
    expected = ConstrainedHMM().fit(S, Y, groups=GROUPS).emission_.probabilities_
    convert = SYMBOLS[name]
    found = ConstrainedHMM().fit(convert(S), convert(Y.astype(str)), groups=convert(GROUPS))
    np.testing.assert_array_equal(found.emission_.probabilities_, expected)


def test_whole_numbers_of_arrow_stay_whole_beside_gaps():
    pa = pytest.importorskip("pyarrow")
    column = pa.chunked_array([[0, 1, None], [2, 2, 1]])
    for X in (column, pa.table({"a": column})):
        model = ConstrainedHMM(2, n_iter=0, random_state=0).fit(X)
        assert model.emission_.symbols_.tolist() == [0, 1, 2]


def test_dask_is_not_loaded_without_a_word():
    class Lazy:
        def __dask_graph__(self):
            return {}

    model = ConstrainedHMM().fit(S, Y, groups=GROUPS)
    for call in (
        lambda: model.predict(Lazy()),
        lambda: model.fit(Lazy()),
        lambda: model.fit(S, Lazy()),
        lambda: model.predict(S, groups=Lazy()),
    ):
        with pytest.raises(TypeError, match=r"Dask collection.*fit_chunks"):
            call()
