"""Values of every kind come in as plain arrays: masks, byte orders, gaps of all libraries."""

import warnings
from datetime import datetime

import numpy as np
import pandas as pd
import pytest

from skchmm import ConstrainedHMM, CTConstrainedHMM
from skchmm.emissions import GMM, Categorical, Gaussian, Multinomial, Poisson, Precomputed
from skchmm.sequences import (
    read_label_sequences,
    read_labels,
    read_sequences,
    read_step_weights,
    read_weights,
)
from skchmm.sequences.values import as_array, concatenate, is_missing, plain

polars = pytest.importorskip("polars")

MISSING = [None, np.nan, float("nan"), np.float32("nan"), pd.NA, pd.NaT, np.ma.masked,
           np.datetime64("NaT", "s"), np.timedelta64("NaT", "s")]  # fmt: skip


@pytest.mark.parametrize("gap", MISSING, ids=repr)
def test_what_is_missing(gap):
    assert is_missing(gap)
    values = np.empty(2, dtype=object)
    values[:] = ["a", gap]
    found = plain(values)
    assert found[0] == "a"
    assert found[1] is None or found[1] != found[1]


@pytest.mark.parametrize(
    "value", ["", 0, False, -1, "nan", (), datetime(2020, 1, 1), b"", [np.nan]]
)
def test_what_is_not_missing(value):
    assert not is_missing(value)
    assert not is_missing(np.array([1.0, np.nan]))


@pytest.mark.parametrize(
    ("values", "gap"),
    [
        (np.array([1.5, 99.0, 2.5]), np.nan),
        (np.array([1.5, 99.0, 2.5], dtype=np.float32), np.nan),
        (np.array([1, 99, 2**60]), None),
        (np.array(["a", "zz", "b"]), None),
        (np.array([True, True, False]), None),
        (np.array(["a", 99, None], dtype=object), None),
        (np.array(["2020-01-01", "2099-01-01", "2020-01-02"], dtype="M8[D]"), "NaT"),
        (np.array([1, 99, 2], dtype="m8[s]"), "NaT"),
    ],
    ids=lambda v: str(getattr(v, "dtype", "")),
)
def test_what_a_mask_hides_is_missing(values, gap):
    masked = np.ma.array(values, mask=[0, 1, 0])
    before = masked.copy()
    found = plain(masked)
    assert type(found) is np.ndarray
    assert is_missing(found[1])
    assert found[0] == values[0]
    assert found[2] == values[2]
    assert (masked.data == before.data).all()
    for read in (lambda: read_sequences(masked).X, lambda: read_sequences([masked, masked]).X[:3]):
        assert [is_missing(v) for v in read()] == [False, True, values[2] is None]
    assert plain(np.ma.array(values)).dtype == values.dtype  # nothing masked: as it was


def test_masked_rows_are_not_learned_from():
    X = np.ma.array([[1.0], [99.0], [2.0], [3.0]], mask=[[0], [1], [0], [0]])
    holes = X.filled(np.nan)
    for emission in (Gaussian(), GMM(1), Poisson(), "auto"):
        model = ConstrainedHMM(2, emission=emission, random_state=0, n_iter=2, tol=-1)
        with pytest.warns(UserWarning, match="converge"):
            one = model.fit(X).log_likelihood(X)
        with pytest.warns(UserWarning, match="converge"):
            other = model.fit(holes).log_likelihood(holes)
        assert one == pytest.approx(other)
    symbols = np.ma.array(list("abca"), mask=[0, 0, 1, 0])
    labels = np.ma.array([0, 1, 7, 1], mask=[0, 0, 1, 0])
    model = ConstrainedHMM(emission="categorical", n_iter=0)
    for form in (lambda v: v, lambda v: [v, v]):
        model.fit(form(symbols), form(labels))
        assert model.classes_.tolist() == [0, 1]
        assert model.emission_.symbols_.tolist() == ["a", "b"]


def test_masked_ids_weights_lengths_and_times_are_errors():
    mask = [0, 0, 1, 0]
    rows = read_sequences(np.zeros(4))
    with pytest.raises(ValueError, match="groups has no id for row 2"):
        read_sequences(np.zeros(4), groups=np.ma.array([0, 0, 1, 1], mask=mask))
    with pytest.raises(ValueError, match="sample_weight must hold finite weights"):
        read_weights(np.ma.array(np.ones(4), mask=mask), rows)
    with pytest.raises(ValueError, match="lengths must be a 1-d sequence of integers"):
        read_sequences(np.zeros(4), lengths=np.ma.array([2, 2], mask=[0, 1]))
    model = CTConstrainedHMM.from_parameters(
        [0.5, 0.5], [[-1, 1], [1, -1]], emission=Categorical.from_parameters(np.eye(2))
    )
    for times in (
        np.ma.array(np.arange(4.0), mask=mask),
        np.ma.array(np.arange(4), mask=mask),
        np.ma.array(np.arange(4).astype("m8[s]"), mask=mask),
        [0, 1, pd.NA, 3],
        [0, 1, None, 3],
        pd.Series([0, 1, None, 3], dtype="Int64"),
        polars.Series([0, 1, None, 3]),
        pd.Series(pd.to_datetime(["2020-01-01", "2020-01-02", None, "2020-01-03"])),
        np.array([0, 1, "NaT", 3], dtype="m8[h]"),
        np.array([datetime(2020, 1, 1), datetime(2020, 1, 2), np.datetime64("NaT", "s"),
                  datetime(2020, 1, 3)], dtype=object),
    ):  # fmt: skip
        with pytest.raises(ValueError, match="step 2 of sequence 0 has no time"):
            model.predict(np.array([0, 1, 0, 1]), times)


@pytest.mark.parametrize("X", [np.array(list("abca")), np.array(["ab", "b", "c", "ab"])])
def test_strings_of_the_other_byte_order(X):
    swapped = X.astype(X.dtype.newbyteorder())
    assert not swapped.dtype.isnative
    for read in (lambda v: v, lambda v: [v], lambda v: [v, v]):
        assert read_sequences(read(swapped)).X.dtype.isnative
    emission = Categorical()
    E = emission.encode(X, reset=True)
    np.testing.assert_array_equal(emission.encode(swapped, reset=False).index, E.index)
    assert list(Categorical(symbols=swapped[:3])._given_symbols(1)[0]) == list(X[:3])


@pytest.mark.parametrize(
    "dtype", [">f8", "<f8", "f2", "f4", "g", ">f4", "i1", ">i2", "u8", "?", "O"]
)
def test_numbers_of_every_kind(dtype):
    X = np.array([[1], [0], [1], [1], [0]])
    other = X.astype(dtype)
    for emission in ("gaussian", "gmm", "poisson", "multinomial", "categorical"):
        model = ConstrainedHMM(2, emission=emission, random_state=0, n_iter=0)
        expected = model.fit(X.astype(float)).log_likelihood(X)
        assert model.fit(other).log_likelihood(other) == pytest.approx(expected)
        assert model.log_likelihood([other, other]) == pytest.approx([expected[0]] * 2)
    scores = -np.hstack([X, 2 * X]).astype(float)
    model = ConstrainedHMM.from_parameters([0.5, 0.5], np.full((2, 2), 0.5))
    if np.dtype(dtype).kind not in "ub":
        found = model.predict_proba(scores.astype(dtype))
        np.testing.assert_allclose(found, model.predict_proba(scores))


@pytest.mark.parametrize("emission", [Gaussian(), GMM(), Poisson(), Multinomial(), Precomputed()])
@pytest.mark.parametrize(
    "X",
    [
        np.array([[1], [2]], dtype="m8[s]"),
        np.array([[1], [2]], dtype="M8[s]"),
        pd.DataFrame({"t": pd.to_datetime(["2020-01-01", "2020-01-02"])}),
        np.array([[datetime(2020, 1, 1)], [datetime(2020, 1, 2)]]),
        np.array([["a"], ["b"]]),
        np.array([[1 + 2j], [2]]),
        np.array([[{}], [1]], dtype=object),
        np.array([[10**400], [1]], dtype=object),
    ],
    ids=lambda X: str(getattr(X, "dtype", "frame")),
)
def test_what_is_not_a_number(emission, X):
    with pytest.raises(ValueError, match=r"number|Complex|times|too large"):
        emission.encode(X, reset=True)


SYMBOLS = {
    "list": ["a", np.nan, "b"],
    "NA": ["a", pd.NA, "b"],
    "objects": np.array(["a", float("nan"), "b"], dtype=object),
    "string": pd.Series(["a", None, "b"], dtype="string"),
    "str": pd.Series(["a", None, "b"]),
    "category": pd.Series(["a", None, "b"], dtype="category"),
    "index": pd.Index(["a", None, "b"]),
    "polars": polars.Series(["a", None, "b"]),
    "polars category": polars.Series(["a", None, "b"], dtype=polars.Categorical),
    "masked": np.ma.array(["a", "q", "b"], mask=[0, 1, 0]),
    "numpy strings": np.array(["a", np.nan, "b"], dtype=np.dtypes.StringDType(na_object=np.nan)),
}


@pytest.mark.parametrize("values", SYMBOLS.values(), ids=SYMBOLS)
def test_gaps_among_strings(values):
    """As observations they are missing, as labels unknown, as ids of sequences an error."""
    model = ConstrainedHMM(emission="categorical").fit(values, [0, 1, 0])
    assert model.emission_.symbols_.tolist() == ["a", "b"]
    expected = model.log_likelihood(["a", None, "b"])
    assert model.log_likelihood(values) == pytest.approx(expected)
    assert model.log_likelihood([values, values]) == pytest.approx([*expected, *expected])
    labelled = ConstrainedHMM(n_iter=1, tol=np.inf).fit(np.array([0, 1, 0]), values)
    assert labelled.classes_.tolist() == ["a", "b"]
    with pytest.raises(ValueError, match="groups has no id for row 1"):
        read_sequences(np.zeros(3), groups=values)


NUMBERS = {
    "Int64": pd.Series([1, None, 2], dtype="Int64"),
    "boolean": pd.Series([True, None, False], dtype="boolean"),
    "polars": polars.Series([1, None, 2]),
    "polars boolean": polars.Series([True, None, False]),
    "masked": np.ma.array([1, 9, 2], mask=[0, 1, 0]),
    "objects": np.array([1, pd.NA, 2], dtype=object),
}


@pytest.mark.parametrize("values", NUMBERS.values(), ids=NUMBERS)
def test_gaps_among_whole_numbers(values):
    """They stay whole: symbols, not measurements; and counts where the emission counts."""
    frame = {pd.Series: pd.DataFrame, polars.Series: polars.DataFrame}.get(type(values))
    table = np.ma.reshape(values, (-1, 1)) if frame is None else frame({"a": values})
    for X in (values, table):
        model = ConstrainedHMM(2, n_iter=0).fit(X)
        assert isinstance(model.emission_, Categorical)
        assert len(model.emission_.symbols_) == 2
        rates = Poisson()
        E = rates.encode(X, reset=True)
        assert E.observed.ravel().tolist() == [True, False, True]


def test_large_whole_numbers_beside_gaps_keep_their_digits():
    large = 2**60 + 1
    for column in (pd.Series([large, None], dtype="Int64"), polars.Series([large, None])):
        assert read_sequences(column).X.tolist() == [large, None]


def test_gaps_in_weights():
    rows = read_sequences(np.zeros(3))
    for weights in (pd.Series([1, None, 2], dtype="Int64"), [1, pd.NA, 1], [1, None, 1]):
        with pytest.raises(ValueError, match="finite weights"):
            read_weights(weights, rows)
    held = np.empty(3, dtype=object)
    held[:] = [np.array(1j), 1, 1]
    for weights in (
        held,
        np.timedelta64(3, "h"),
        "abc",
        ["a"] * 3,
        [1j] * 3,
        {},
        [[1], [2, 3]],
        object(),
        1j,
        ["1"] * 3,
    ):
        with pytest.raises(ValueError, match="sample_weight"):
            read_step_weights(weights, rows)


def test_lists_of_strings_are_one_sequence_of_symbols():
    words = read_sequences(["walk", "run"])
    assert words.offsets.tolist() == [0, 2]
    with pytest.raises(ValueError, match=r"A string in X is one symbol.*\[list\(string\) for"):
        read_labels([["a", "b", "c"], ["a", "b", "b"]], read_sequences(["xyz", "xyy"]))
    with pytest.raises(ValueError, match=r"y has 6 values but X has 2 rows.*one symbol"):
        read_labels(list("abcabb"), read_sequences(["xyz", "xyy"]))
    letters = ConstrainedHMM().fit([list("xyz"), list("xyy")], [list("abc"), list("abb")])
    with pytest.raises(ValueError, match=r"'zyx' in row 0.*A string is one symbol.*list\('zyx'\)"):
        letters.predict(["zyx", "xy"])
    with pytest.raises(ValueError, match="'word' in row 0") as caught:
        letters.predict(["word"])
    assert "one symbol" not in str(caught.value)


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (["abc", ["a", "b"]], r"X\[0\] is 'abc', but X is a list of sequences"),
        ([["a", "b"], "ab"], r"X\[1\] is 'ab', but X is a list of sequences"),
        ([np.zeros(2), 3.0], r"X\[1\] is 3.0, but X is a list of sequences"),
        ([[1, 2], None], r"X\[1\] is None, but X is a list of sequences"),
        ([[[1, 2], [3]], [[1, 2]]], r"X\[0\] is neither one value per row nor rows of the same"),
        (b"abc", "X is a string"),
        ({"a": [1]}, "X has 0 dimensions"),
        (None, "X has 0 dimensions"),
    ],
    ids=repr,
)
def test_lists_of_this_and_that(X, message):
    with pytest.raises(ValueError, match=message):
        read_sequences(X)


def test_numbers_beside_strings_stay_numbers():
    assert read_sequences([[1, "a"], [2, "b"]]).X.tolist() == [1, "a", 2, "b"]
    assert as_array([(1, "a"), (2, "b")], "X").tolist() == [[1, "a"], [2, "b"]]
    assert concatenate([np.array(["a"]), np.array([1])]).tolist() == ["a", 1]
    assert read_label_sequences([["a", 1], [None, "b"]]).X.tolist() == ["a", 1, None, "b"]


@pytest.mark.parametrize(
    "lengths",
    [
        [2, [2]],
        [None, 4],
        [2.0, 2.0],
        "22",
        ["2", "2"],
        [True] * 4,
        [[2, 2]],
        {2: 2},
        -1,
        [2, np.nan],
    ],
    ids=repr,
)
def test_lengths_that_are_no_lengths(lengths):
    with pytest.raises(ValueError, match="lengths must be a 1-d sequence of integers"):
        read_sequences(np.zeros(4), lengths=lengths)


def test_lengths_of_every_library():
    for lengths in (pd.Series([2, 2], dtype="Int64"), polars.Series([2, 2]), (2, 2), range(2, 3),
                    np.array([2, 2], dtype=object), np.array([2, 2], dtype=">i4")):  # fmt: skip
        n = 2 * len(lengths)
        assert read_sequences(np.zeros(n), lengths=lengths).lengths.tolist() == [2] * len(lengths)


def test_groups_that_are_no_groups():
    with pytest.raises(ValueError, match="groups must hold ids"):
        read_sequences(np.zeros(2), groups=[{}, {}])
    with pytest.raises(ValueError, match="groups is neither one value per row nor"):
        read_sequences(np.zeros(2), groups=[[1], [1, 2]])
    with pytest.raises(ValueError, match="no id for row 1"):
        read_sequences(np.zeros(2), groups=np.array(["2020-01-01", "NaT"], dtype="M8[D]"))
    with pytest.raises(ValueError, match="which needs no groups"):
        read_sequences([np.zeros(2), np.zeros(3)], groups=1)


def test_sets_of_labels_are_values():
    """A set may stand for one of several labels, so it is no sequence."""
    y = read_labels([{"a", "b"}, "a", None], read_sequences(np.zeros(3)))
    assert y.tolist() == [{"a", "b"}, "a", None]


def test_times_without_a_unit():
    """The generic unit of numpy, under which newer versions make no values any more."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        nothing, bare = np.datetime64("NaT"), np.arange(2).astype("m8")
        several = np.array(["NaT", "NaT"], dtype="M8")
    model = CTConstrainedHMM.from_parameters([0.5, 0.5], [[-1, 1], [1, -1]])
    for times in ([np.datetime64("2024-01-01"), nothing], [nothing] * 2, several,
                  np.array([datetime(2024, 1, 1), nothing], dtype=object)):  # fmt: skip
        with pytest.raises(ValueError, match="has no time"):
            model.predict(np.zeros((2, 2)), times)
    with pytest.raises(ValueError, match="without a unit"):
        model.predict(np.zeros((2, 2)), bare)
    assert is_missing(nothing)
    assert read_sequences(["a", nothing]).X.tolist() == ["a", None]


def test_records_beside_other_values():
    records = np.array([(0, 0.5)], dtype=[("a", "i4"), ("b", "f8")])
    others = np.array([(0, 0.5)], dtype=[("c", "i4"), ("b", "f8")])
    assert concatenate([records, np.array([1.0])]).tolist() == [(0, 0.5), 1.0]
    assert concatenate([records, others]).tolist() == [(0, 0.5), (0, 0.5)]
    assert len(concatenate([records, records])) == 2


def test_masked_values_in_a_list_are_missing():
    hidden = np.ma.masked_array(0, mask=True)
    assert as_array([hidden, np.ma.masked, np.ma.masked_array(3)], "X").tolist() == [None, None, 3]
