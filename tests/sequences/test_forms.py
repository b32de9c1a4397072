import timeit

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from sklearn.exceptions import DataConversionWarning

from skchmm._kernels.shared.threads import Allowed
from skchmm.sequences import (
    holds_sequences,
    read_label_pair,
    read_label_sequences,
    read_labels,
    read_rows,
    read_sequences,
    read_weights,
)

lengths_lists = st.lists(st.integers(1, 6), min_size=1, max_size=6)


def rows_of(lengths, columns):
    n = sum(lengths)
    return np.arange(n) if columns == 0 else np.arange(n * columns).reshape(n, columns)


def cut(values, lengths):
    return np.split(values, np.cumsum(lengths)[:-1])


@settings(max_examples=100, deadline=None)
@given(lengths_lists, st.integers(0, 3))
def test_all_forms_give_the_same_rows(lengths, columns):
    rows = rows_of(lengths, columns)
    groups = np.repeat([f"id{i}" for i in range(len(lengths))], lengths)
    forms = {
        "stacked": read_sequences(rows, lengths=lengths),
        "grouped": read_sequences(rows, groups=groups),
        "list": read_sequences(cut(rows, lengths)),
    }
    for form, sequences in forms.items():
        assert sequences.form == form
        assert sequences.offsets.dtype == np.int64
        np.testing.assert_array_equal(sequences.X, rows)
        np.testing.assert_array_equal(sequences.lengths, lengths)
        assert (sequences.n_steps, sequences.n_sequences) == (sum(lengths), len(lengths))
        back = sequences.restore(rows)
        if form == "list":
            assert isinstance(back, list)
            for one, expected in zip(back, cut(rows, lengths), strict=True):
                np.testing.assert_array_equal(one, expected)
        else:
            assert back is rows


def test_stacked_alone_is_one_sequence_and_not_copied():
    X = np.zeros((5, 2))
    sequences = read_sequences(X)
    assert sequences.X is X
    assert sequences.offsets.tolist() == [0, 5]


def test_stacked_alone_costs_next_to_nothing():
    X = np.zeros((5, 2))
    assert min(timeit.repeat(lambda: read_sequences(X), number=1000, repeat=5)) < 0.02


@pytest.mark.parametrize(
    ("X", "expected"),
    [
        ([np.array([0, 1]), np.array([1, 1])], True),
        ((np.zeros((2, 3)), np.zeros((2, 3))), True),
        (np.array([np.zeros(2), np.zeros(3)], dtype=object), True),
        ([pd.DataFrame({"a": [1, 2]})], True),
        ([pd.Series([1, 2])], True),
        ([["a", "b"], ["b", "a"]], True),
        ([[None, "b"], ["b", "a"]], True),
        ([[[1, 2], [3, 4]], [[5, 6], [7, 8]]], True),
        ([[1, 2, 3], [4, 5]], True),
        ([[1, 2], [3, 4]], False),
        ([[1.0, float("nan")], [3, 4]], False),
        ([1, 2, 3], False),
        (["a", "b", None], False),
        (["word", "list"], False),
        (np.array(["a", None], dtype=object), False),
        (np.array([["a", "b"], ["b", "a"]], dtype=object), False),
        ([np.array(1), np.array(2)], False),
        (np.zeros((3, 2)), False),
        (pd.DataFrame({"a": [1, 2]}), False),
    ],
)
def test_what_counts_as_a_list_of_sequences(X, expected):
    assert holds_sequences(X) is expected
    assert (read_sequences(X).form == "list") is expected


def test_lists_of_numbers_are_a_2d_array():
    np.testing.assert_array_equal(read_sequences([[1, 2], [3, 4]]).X, [[1, 2], [3, 4]])


def test_lists_of_lists_are_sequences_of_rows():
    sequences = read_sequences([[[1, 2], [3, 4]], [[5, 6]]])
    np.testing.assert_array_equal(sequences.X, [[1, 2], [3, 4], [5, 6]])
    assert sequences.offsets.tolist() == [0, 2, 3]


def test_missing_symbols_stay_missing():
    assert read_sequences(["a", None, "b"]).X.tolist() == ["a", None, "b"]
    mixed = read_sequences(["a", float("nan"), 1]).X
    assert mixed.dtype == object
    assert mixed[1] != mixed[1]
    assert mixed[2] == 1
    both = read_sequences([["a", "b"], [None, None]]).X
    assert both.tolist() == ["a", "b", None, None]


def test_strings_and_numbers_of_different_sequences_are_not_mixed_up():
    assert read_sequences([np.array(["a", "bcd"]), np.array([1])]).X.tolist() == ["a", "bcd", 1]


def test_dataframes_keep_columns_and_dtypes():
    frame = pd.DataFrame({"x": [0.5, 1.5], "n": [1, 2], "s": pd.Categorical(["u", "v"])})
    assert read_sequences(frame).X is frame
    sequences = read_sequences([frame, frame.iloc[:1]])
    assert sequences.offsets.tolist() == [0, 2, 3]
    assert list(sequences.X.columns) == ["x", "n", "s"]
    assert sequences.X.dtypes.tolist() == frame.dtypes.tolist()
    assert sequences.X["n"].tolist() == [1, 2, 1]


def test_dataframe_and_array_together_become_an_array():
    sequences = read_sequences([pd.DataFrame({"a": [1.0], "b": [2.0]}), np.array([[3.0, 4.0]])])
    np.testing.assert_array_equal(sequences.X, [[1, 2], [3, 4]])


def test_nullable_series_give_none():
    series = pd.Series([1, None, 3], dtype="Int64")
    assert read_sequences(series).X.tolist() == [1, None, 3]
    assert read_sequences(pd.Series(["a", "b"])).X.tolist() == ["a", "b"]


def test_anything_with_array_is_read():
    class Wrapped:
        def __array__(self, dtype=None, copy=None):
            return np.ones((4, 2), dtype=dtype)

    assert read_sequences(Wrapped()).X.shape == (4, 2)


def test_groups_keep_their_ids_for_messages():
    sequences = read_sequences(np.zeros(4), groups=["p", "p", "q", "r"])
    assert [sequences.describe(i) for i in range(3)] == [
        "sequence 'p'",
        "sequence 'q'",
        "sequence 'r'",
    ]
    assert read_sequences(np.zeros(3), lengths=[1, 2]).describe(1) == "sequence 1"


def test_groups_of_a_list_are_for_the_splitter():
    X = [np.zeros(2), np.zeros(3)]
    assert read_sequences(X, groups=["p", "q"]).form == "list"
    with pytest.raises(ValueError, match="list of 2 sequences, which needs no groups"):
        read_sequences(X, groups=[0, 0, 1, 1, 1])


@pytest.mark.parametrize(
    ("X", "options", "message"),
    [
        (np.zeros(5), {"lengths": [2, 2]}, "lengths sum to 4 but X has 5 rows"),
        (np.zeros(5), {"lengths": [5, 0]}, r"lengths\[1\] is 0"),
        (np.zeros(5), {"lengths": [6, -1]}, r"lengths\[1\] is -1"),
        (np.zeros(5), {"lengths": [2.0, 3.0]}, "1-d sequence of integers"),
        (np.zeros(5), {"lengths": 5}, "1-d sequence of integers"),
        (np.zeros(5), {"lengths": [2**70]}, "1-d sequence of integers"),
        (np.zeros(5), {"lengths": [2**50]}, "lengths sum to 1125899906842624"),
        (np.zeros(5), {"lengths": [2**62] * 4 + [5]}, "lengths sum to 18446744073709551621"),
        (np.zeros(5), {"lengths": np.array([2**62] * 4 + [5])}, "sum to 18446744073709551621"),
        (np.zeros(5), {"lengths": []}, "1-d sequence of integers"),
        (np.zeros(2), {"lengths": [2], "groups": [0, 0]}, "give only one of them"),
        (np.zeros(3), {"groups": [0, 0]}, "groups has 2 ids but X has 3 rows"),
        (np.zeros(4), {"groups": ["a", "b", "b", "a"]}, "'a' appears again at row 3"),
        (np.zeros(4), {"groups": [7, 7, 3, 7]}, "7 appears again at row 3"),
        (np.zeros(2), {"groups": [1.0, np.nan]}, "no id for row 1"),
        (np.zeros(2), {"groups": ["a", None]}, "no id for row 1"),
        (np.zeros((2, 2)), {"groups": np.zeros((2, 2))}, "groups should be a 1d array"),
        ([np.zeros(2)], {"lengths": [2]}, "give no lengths"),
        (np.zeros((0, 2)), {}, r"0 sample\(s\)"),
        ([], {}, "X is empty"),
        ([np.zeros(2), np.zeros(0)], {}, r"X\[1\] is empty"),
        ([["a"], []], {}, r"X\[1\] is empty"),
        ([np.zeros((2, 3)), np.zeros((2, 2))], {}, r"X\[0\] is with 3 .*X\[1\] is with 2 column"),
        ([np.zeros((2, 3)), np.zeros(2)], {}, r"X\[1\] is 1-d"),
        ([np.zeros((2, 3, 4))], {}, r"X\[0\] has 3 dimensions"),
        (np.zeros((2, 3, 4)), {}, r"X has 3 dimensions.* list\(X\)"),
        (np.array(1.0), {}, "X has 0 dimensions"),
        ("ACGT", {}, r"X is a string, which is one symbol: write list\(X\)"),
        (
            [pd.DataFrame({"a": [1]}), pd.DataFrame({"b": [1]})],
            {},
            r"X\[0\] has \['a'\], X\[1\] has \['b'\]",
        ),
    ],
)
def test_wrong_input_is_named(X, options, message):
    with pytest.raises(ValueError, match=message):
        read_sequences(X, **options)


@pytest.mark.parametrize("X", [csr_array(np.eye(2)), [csr_array(np.eye(2))]])
def test_sparse_input_is_refused(X):
    with pytest.raises(TypeError, match="dense data is required"):
        read_sequences(X)


def test_labels_follow_the_form():
    stacked = read_sequences(np.zeros((3, 2)))
    assert read_labels(["a", None, "b"], stacked).tolist() == ["a", None, "b"]
    assert read_labels(pd.Series(["a", "c", "b"]), stacked).tolist() == ["a", "c", "b"]
    listed = read_sequences([np.zeros((2, 1)), np.zeros((1, 1))])
    assert read_labels([[0, 1], [1]], listed).tolist() == [0, 1, 1]
    assert read_labels([["a", "bb"], [None]], listed).tolist() == ["a", "bb", None]
    assert np.isnan(read_labels([np.array([0, 1]), np.array([np.nan])], listed)[2])
    assert read_rows([[0.0, 0.5], [2.0]], listed, "times").tolist() == [0.0, 0.5, 2.0]


def test_a_column_of_labels_is_read_with_a_warning():
    with pytest.warns(DataConversionWarning):
        y = read_labels(np.array([[0], [1]]), read_sequences(np.zeros((2, 1))))
    assert y.tolist() == [0, 1]


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        (np.zeros((3, 1)), [0, 1], "y has 2 values but X has 3 rows"),
        (np.zeros((3, 1)), [np.array([0, 1]), np.array([1])], "y is a list of sequences but X"),
        (np.zeros((3, 1)), np.zeros((3, 2)), "y should be a 1d array"),
        ([np.zeros((3, 1))], [0, 1, 1], "X is a list of 1 sequences, so y must be a list of 1"),
        ([np.zeros((3, 1))], [[0, 1, 1], [0]], "y has 2 sequences but X has 1"),
        ([np.zeros(3), np.zeros(2)], [[0, 1, 1], [0]], r"y\[1\] has 1 values but X\[1\] has 2"),
    ],
)
def test_labels_that_do_not_fit_are_named(X, y, message):
    with pytest.raises(ValueError, match=message):
        read_labels(y, read_sequences(X))


def test_weights():
    listed = read_sequences([np.zeros(3), np.zeros(2)])
    stacked = read_sequences(np.zeros(5), lengths=[3, 2])
    assert read_weights(None, stacked).tolist() == [1, 1]
    assert read_weights(2, stacked).tolist() == [2, 2]
    assert read_weights([0.5, 2], listed).tolist() == [0.5, 2]
    assert read_weights([0.5, 0.5, 0.5, 2, 2], stacked).tolist() == [0.5, 2]
    with pytest.raises(ValueError, match="differs between the rows of sequence 1"):
        read_weights([1, 1, 1, 2, 3], stacked)
    with pytest.raises(ValueError, match=r"expected \(2,\), one per sequence"):
        read_weights([1, 1, 1, 2, 2], listed)
    with pytest.raises(ValueError, match=r"expected \(5,\), one per row"):
        read_weights([1, 2], stacked)
    for bad in ([-1, 1], [np.nan, 1], [np.inf, 1]):
        with pytest.raises(ValueError, match="finite weights that are not negative"):
            read_weights(bad, listed)


def test_label_paths_alone():
    # Labels are never 2-d, so a list of lists is a list of paths even if it is rectangular.
    assert read_label_sequences([[0, 1], [1, 0]]).n_sequences == 2
    assert read_label_sequences([0, 1, 1, 0]).n_sequences == 1
    y_true, y_pred, sequences = read_label_pair([["a", "b"], ["c"]], [["a", "a"], ["c"]])
    assert (y_true.tolist(), y_pred.tolist()) == (["a", "b", "c"], ["a", "a", "c"])
    assert sequences.offsets.tolist() == [0, 2, 3]
    with pytest.raises(ValueError, match=r"y_pred\[1\] has 2 values but y_true\[1\] has 1"):
        read_label_pair([["a", "b"], ["c"]], [["a", "a"], ["c", "c"]])
    with pytest.raises(ValueError, match="y is empty"):
        read_label_sequences([])


def test_many_short_sequences_are_read_fast():
    X = [np.zeros((5, 2)) for _ in range(10_000)]
    assert min(timeit.repeat(lambda: read_sequences(X), number=1, repeat=5)) < 0.1


def test_polars():
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({"a": [1, 2], "b": [0.5, 1.0]})
    assert read_sequences(frame).X is frame
    assert read_sequences([frame, frame]).X.shape == (4, 2)
    assert read_sequences(frame["a"]).X.tolist() == [1, 2]


DTYPES = ["i1", "u2", "i8", "f4", "f8", "?", "U3", "S2", "M8[D]", "c16", "O", ">i4"]


@pytest.mark.parametrize("n_threads", [1, 2])
@pytest.mark.parametrize("columns", [(), (1,), (3,)])
@pytest.mark.parametrize("dtype", DTYPES)
def test_lists_of_arrays_of_all_kinds(dtype, columns, n_threads):
    rng = np.random.default_rng(0)
    lengths = rng.integers(1, 30, 70)
    items = [rng.integers(0, 2, (n, *columns)).astype(dtype) for n in lengths]
    with Allowed(n_threads):
        sequences = read_sequences(items)
    expected = np.concatenate(items)
    assert sequences.X.dtype == expected.dtype
    np.testing.assert_array_equal(sequences.X, expected)
    np.testing.assert_array_equal(sequences.lengths, lengths)
    for part, item in zip(sequences.restore(sequences.X), items, strict=True):
        assert part.base is not None
        assert part.shape == item.shape
        np.testing.assert_array_equal(part, item)


def test_lists_of_strings_without_letters():
    for dtype in ("U0", "S0"):
        nothing = np.empty(1000, dtype=[("a", dtype)])["a"]  # itemsize 0
        assert set(read_sequences([nothing, nothing]).X.tolist()) <= {"", b""}


def test_lists_of_arrays_that_are_not_alike():
    rng = np.random.default_rng(0)
    wide = rng.normal(size=(8, 6))
    for items in (
        [wide, wide[:, ::-1], wide[::2]],
        [wide, np.asfortranarray(wide), wide[:0:-1]],
        [wide, wide.astype(np.float32)],
        [wide.astype(">f8"), wide],
        [wide[:, 0], wide[:, 1]],
        [wide],
    ):
        sequences = read_sequences(items)
        np.testing.assert_array_equal(sequences.X, np.concatenate(items))
        assert sequences.lengths.tolist() == list(map(len, items))
    with pytest.raises(ValueError, match=r"X\[1\] is empty"):
        read_sequences([wide, wide[:0]])
    with pytest.raises(ValueError, match="same columns"):
        read_sequences([wide, wide[:, :5]])
    with pytest.raises(ValueError, match="same columns"):
        read_sequences([wide, wide[:, 0]])


def test_restored_parts_are_views_that_outlive_the_rest():
    sequences = read_sequences([np.arange(3), np.arange(4)])
    values = np.arange(14.0).reshape(7, 2)
    first, second = sequences.restore(values)
    second[0, 1] = 77
    assert values[3, 1] == 77
    del values
    assert first.tolist() == [[0, 1], [2, 3], [4, 5]]
    values = np.arange(7)
    values.flags.writeable = False
    assert not any(part.flags.writeable for part in sequences.restore(values))
