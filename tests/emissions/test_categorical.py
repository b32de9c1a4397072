"""Symbols, contexts and counts, against dictionaries."""

import pickle
from collections import Counter
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

from skchmm import ConstrainedHMM
from skchmm.emissions import Categorical

OFFSETS = np.array([0, 5, 6, 12, 20])


def context_of(sequence, t, order):
    """The known symbols just before step t, newest last, at most ``order`` of them."""
    context = []
    for symbol in reversed(sequence[max(0, t - order) : t]):
        if symbol is None:
            break
        context.insert(0, symbol)
    return tuple(context)


def walk(X, offsets, order):
    """(step, symbol, context) of every observed step."""
    for a, b in pairwise(offsets):
        sequence = list(X[a:b])
        for t, symbol in enumerate(sequence):
            if symbol is not None:
                yield a + t, symbol, context_of(sequence, t, order)


def lookup(emission, state, context, symbol, order):
    table = emission.probabilities_
    symbols = list(emission.symbols_)
    index = [-1] * (order - len(context)) + [symbols.index(c) for c in context]
    return table[(state, *index, symbols.index(symbol))]


def random_symbols(seed, missing=0.2):
    rng = np.random.default_rng(seed)
    X = rng.choice(np.array(["x", "y", "z"], dtype=object), size=20)
    X[rng.random(20) < missing] = None
    return X, rng


@pytest.mark.parametrize("order", [0, 1, 2, 3])
@pytest.mark.parametrize("seed", range(3))
def test_likelihood_looks_up_symbol_and_context(order, seed):
    X, _ = random_symbols(seed)
    emission = Categorical(order)
    E = emission.encode(X, OFFSETS, reset=True)
    emission.initialise(E, OFFSETS, 2, init="random", random_state=seed)
    log_p = emission.log_likelihood(E).dense()
    seen = set()
    for t, symbol, context in walk(X, OFFSETS, order):
        seen.add(t)
        for state in range(2):
            expected = np.log(lookup(emission, state, context, symbol, order))
            assert log_p[t, state] == pytest.approx(expected)
    missing = sorted(set(range(20)) - seen)
    assert (log_p[missing] == 0).all()


@pytest.mark.parametrize("order", [0, 1, 2])
@pytest.mark.parametrize("smoothing", [0.0, 0.5])
def test_labelled_fit_counts(order, smoothing):
    X, rng = random_symbols(7)
    labels = rng.integers(2, size=20)
    emission = Categorical(order)
    E = emission.encode(X, OFFSETS, reset=True)
    emission.fit_supervised(E, labels, 2, smoothing=smoothing, offsets=OFFSETS)
    pairs, contexts = Counter(), Counter()
    for t, symbol, context in walk(X, OFFSETS, order):
        pairs[labels[t], context, symbol] += 1
        contexts[labels[t], context] += 1
    for (state, context), total in contexts.items():
        for symbol in emission.symbols_:
            expected = (pairs[state, context, symbol] + smoothing) / (total + 3 * smoothing)
            assert lookup(emission, state, context, symbol, order) == pytest.approx(expected)
    np.testing.assert_allclose(emission.probabilities_.sum(axis=-1), 1.0)


def test_pseudocount_decides_for_complete_contexts_without_counts():
    emission = Categorical(1, symbols=["a", "b"])
    E = emission.encode(np.array(["a", "a", "a"]), reset=True)
    emission.fit_supervised(E, [0, 0, 0], 1, smoothing=0.5)
    np.testing.assert_allclose(emission.probabilities_[0, 1], [0.5, 0.5])


def test_unseen_contexts_fall_back_on_shorter_ones():
    emission = Categorical(2)
    E = emission.encode(np.array(list("aabaab")), reset=True)
    emission.fit_supervised(E, [0] * 6, 1)
    # after "bb", never seen, as after any single "b"; after nothing known at the start: "a"
    np.testing.assert_allclose(emission.probabilities_[0, 1, 1], [1.0, 0.0])
    np.testing.assert_allclose(emission.probabilities_[0, -1, -1], [1.0, 0.0])
    # only "b" known, never seen with nothing before it
    np.testing.assert_allclose(emission.probabilities_[0, -1, 1], [1.0, 0.0])


def test_prior_is_a_dirichlet():
    emission = Categorical(prior=np.array([[3.0, 1.0], [1.0, 1.0]]))
    E = emission.encode(np.array(["a", "b", "b", "a"]), reset=True)
    emission.fit_supervised(E, [0, 0, 1, 1], 2)
    np.testing.assert_allclose(emission.probabilities_, [[0.75, 0.25], [0.5, 0.5]])


@pytest.mark.parametrize("n", [6, 400])
def test_several_columns_multiply(n):
    rng = np.random.default_rng(0)
    X = np.empty((n, 3), dtype=object)
    X[:, 0] = rng.choice(["a", "b"], size=n)
    X[:, 1] = rng.integers(4, size=n)
    X[:, 2] = rng.choice([True, False], size=n)
    X[0] = ["a", 0, True]
    X[1, 1] = None
    emission = Categorical()
    E = emission.encode(X, reset=True)
    emission.initialise(E, None, 2, init="random", random_state=0)
    found = emission.log_likelihood(E)
    expected = 0.0
    for j in range(3):
        single = Categorical()
        part = single.encode(X[:, j], reset=True)
        single.probabilities_ = emission.probabilities_[j]
        expected = expected + single.log_likelihood(part).dense()
    np.testing.assert_allclose(found.dense(), expected)
    if n == 400:
        assert len(found.table) <= 2 * 5 * 2  # equal rows share their likelihood
    posteriors = rng.dirichlet(np.ones(2), size=n)
    counts = emission.accumulate(E, posteriors)
    for j in range(3):
        for code, symbol in enumerate(emission.symbols_[j]):
            where = np.array([value == symbol and value is not None for value in X[:, j]])
            np.testing.assert_allclose(
                counts[f"counts_{j}"][:, code], posteriors[where].sum(axis=0)
            )


def test_many_columns_and_big_vocabularies():
    rng = np.random.default_rng(0)
    X = rng.integers(1000, size=(50, 12))
    emission = Categorical()
    E = emission.encode(X, reset=True)
    emission.initialise(E, None, 2, init="random", random_state=0)
    expected = sum(
        np.log(p[:, np.searchsorted(s, X[:, j])]).T
        for j, (p, s) in enumerate(zip(emission.probabilities_, emission.symbols_))
    )
    np.testing.assert_allclose(emission.log_likelihood(E).dense(), expected)


@pytest.mark.parametrize(
    "column",
    [
        np.array(["u", "v", "u", "w"]),
        np.array(["u", "v", "u", "w"], dtype=object),
        np.array([b"u", b"v", b"u", b"w"]),
        np.array([5, -3, 5, 10**12]),
        np.array([5, 2, 5, 7], dtype=np.uint8),
        np.array([True, False, True, False]),
        np.array([0.5, 1.0, 0.5, 2.0]),
        np.array(["a", 1, "a", 2.5], dtype=object),
        np.array(["2020-01-01", "2020-02-01", "2020-01-01", "2021-01-01"], dtype="datetime64[D]"),
        pd.Series(["u", "v", "u", "w"]),
        pd.Series(["u", "v", "u", "w"], dtype="category"),
        pd.Series([1, 2, 1, 3], dtype="Int64"),
    ],
    ids=lambda column: str(column.dtype),
)
def test_any_kind_of_symbol(column):
    emission = Categorical()
    E = emission.encode(column, reset=True)
    emission.fit_supervised(E, [0, 1, 2, 3], 4)
    values = list(column)
    for state, value in enumerate(values):
        drawn = emission.sample([state], random_state=0)[0, 0]
        assert drawn == value
    log_p = emission.log_likelihood(emission.encode(column, reset=False)).dense()
    assert (np.isfinite(log_p) == [[a == b for b in values] for a in values]).all()


@pytest.mark.parametrize(
    "column",
    [
        np.array(["u", None, "v"], dtype=object),
        np.array(["u", np.nan, "v"], dtype=object),
        np.array(["u", pd.NA, "v"], dtype=object),
        np.array([1.0, np.nan, 2.0]),
        np.array(["2020-01-01", "NaT", "2020-02-01"], dtype="datetime64[D]"),
        pd.Series(["u", None, "v"]),
        pd.Series(["u", None, "v"], dtype="category"),
        pd.Series([1, None, 2], dtype="Int64"),
        pd.Series(["u", None, "v"], dtype="string"),
    ],
    ids=lambda column: str(column.dtype),
)
def test_every_kind_of_gap(column):
    emission = Categorical()
    E = emission.encode(column, reset=True)
    assert len(emission.symbols_) == 2
    emission.initialise(E, None, 2, init="random", random_state=0)
    log_p = emission.log_likelihood(E).dense()
    assert (log_p[1] == 0).all()
    assert (log_p[[0, 2]] < 0).all()


def test_whole_floats_and_integers_are_the_same_symbols():
    emission = Categorical()
    emission.encode(np.array([0.0, 1.0, np.nan]), reset=True)
    assert emission.symbols_.dtype == np.int64
    emission.encode(np.array([1, 0]), reset=False)
    emission.encode(np.array([1, None], dtype=object), reset=False)


def test_dataframe_columns():
    frame = pd.DataFrame({"base": ["A", "C", None], "depth": [1, 2, 2], "kind": ["k", "k", "l"]})
    frame["kind"] = frame["kind"].astype("category")
    emission = Categorical()
    E = emission.encode(frame, reset=True)
    assert emission.n_features_in_ == 3
    emission.initialise(E, None, 2, init="random", random_state=0)
    assert emission.sample([0, 1]).shape == (2, 3)


@pytest.mark.parametrize("train", [np.array(["a", "b"]), np.array([0, 1])])
def test_unseen_symbols(train):
    other = np.array(["a", "q"]) if train.dtype.kind == "U" else np.array([0, 7])
    emission = Categorical()
    emission.encode(train, reset=True)
    pattern = rf"the symbol {other[1].item()!r} in row 1, .*2 known symbols.*unseen='ignore'"
    with pytest.raises(ValueError, match=pattern):
        emission.encode(other, reset=False)
    emission = Categorical(unseen="ignore")
    E = emission.encode(train, reset=True)
    emission.initialise(E, None, 2, init="random", random_state=0)
    log_p = emission.log_likelihood(emission.encode(other, reset=False)).dense()
    assert (log_p[1] == 0).all()
    assert (log_p[0] < 0).all()


def test_symbols_can_be_listed():
    emission = Categorical(symbols=["c", "a", "b"])
    E = emission.encode(np.array(["a", "a"]), reset=True)
    emission.fit_supervised(E, [0, 0], 1, smoothing=1.0)
    assert list(emission.symbols_) == ["c", "a", "b"]
    np.testing.assert_allclose(emission.probabilities_, [[0.2, 0.6, 0.2]])
    emission.encode(np.array(["c"]), reset=False)
    with pytest.raises(ValueError, match="the symbol 'd'"):
        Categorical(symbols=["a"]).encode(np.array(["d"]), reset=True)
    emission = Categorical(symbols=[[0, 1], ["x", "y"]])
    emission.encode(np.array([[1, "x"]], dtype=object), reset=True)
    assert list(emission.symbols_[1]) == ["x", "y"]
    with pytest.raises(ValueError, match="2 columns of symbols, but X has 1"):
        emission.encode(np.array([[1]]), reset=True)


def test_probabilities_set_by_hand():
    emission = Categorical(symbols=3)
    emission.probabilities_ = np.array([[0.2, 0.3, 0.5], [0.1, 0.1, 0.8]])
    E = emission.encode(np.array([[2], [0]]), reset=False)
    expected = np.log(emission.probabilities_[:, [2, 0]].T)
    np.testing.assert_allclose(emission.log_likelihood(E).dense(), expected)
    named = Categorical.from_parameters([[0.2, 0.8]], symbols=["no", "yes"])
    E = named.encode(np.array(["yes"]), reset=False)
    assert named.log_likelihood(E).dense()[0, 0] == pytest.approx(np.log(0.8))
    with pytest.raises(ValueError, match="2 columns, but there are 3 symbols"):
        Categorical.from_parameters([[0.2, 0.8]], symbols=3)


@pytest.mark.parametrize("order", [0, 1, 2])
def test_draws_follow_the_probabilities(order):
    X, _ = random_symbols(0, missing=0.0)
    emission = Categorical(order)
    E = emission.encode(X, OFFSETS, reset=True)
    emission.initialise(E, OFFSETS, 2, init="random", random_state=0)
    path = np.random.default_rng(0).integers(2, size=20_000)
    drawn = emission.sample(path, random_state=0)[:, 0]
    E = emission.encode(drawn, reset=True)
    again = Categorical(order)
    again.fit_supervised(again.encode(drawn, reset=True), path, 2)
    complete = (slice(None), *[slice(3)] * order)
    np.testing.assert_allclose(
        again.probabilities_[complete], emission.probabilities_[complete], atol=0.07
    )


def test_parameters_are_counted():
    emission = Categorical(2)
    E = emission.encode(np.array(list("abcabc")), reset=True)
    emission.initialise(E, None, 4, init="random", random_state=0)
    assert emission.n_parameters() == 4 * (1 + 3 + 9) * 2


def test_mistakes():
    with pytest.raises(ValueError, match="unseen must be 'error' or 'ignore', got 'skip'"):
        Categorical(unseen="skip").encode(np.array(["a"]), reset=True)
    with pytest.raises(ValueError, match=r"order must be 0, 1, 2, ..., got -1"):
        Categorical(-1).encode(np.array(["a"]), reset=True)
    with pytest.raises(ValueError, match="inf is not a symbol"):
        Categorical().encode(np.array([1.0, np.inf]), reset=True)
    with pytest.raises(ValueError, match="Complex data not supported"):
        Categorical().encode(np.array([1j]), reset=True)
    with pytest.raises(ValueError, match="must be hashable"):
        Categorical().encode(np.array([["a"], {}, None], dtype=object), reset=True)
    with pytest.raises(ValueError, match="use a lower order or fewer symbols"):
        Categorical(5).encode(np.arange(100), reset=True)
    with pytest.raises(ValueError, match="3 dimensions"):
        Categorical().encode(np.zeros((1, 1, 1), dtype=int), reset=True)


@pytest.mark.parametrize("dtype", ["i1", "u1", "i2", "u4", "i4", "i8", "u8", ">i8"])
def test_whole_numbers_of_any_type(dtype):
    X = np.array([[3, 9], [5, 9], [4, 8], [3, 8]], dtype=dtype)
    emission = Categorical(symbols=[[3, 4, 5], [8, 9]])
    E = emission.encode(X, reset=True)
    rows = E.cells if E.index is None else E.cells[E.index]
    np.testing.assert_array_equal(rows, [[0, 1], [2, 1], [1, 0], [0, 0]])
    single = Categorical(symbols=[3, 4, 5])
    np.testing.assert_array_equal(single.encode(X[:, :1], reset=True).index, [0, 2, 1, 0])
    X[2, 0] = np.iinfo(dtype).max
    with pytest.raises(ValueError, match=f"symbol {X[2, 0]} in row 2, which"):
        single.encode(X[:, 0], reset=False)


def test_numbers_too_large_for_a_sign_are_not_negative_ones():
    emission = Categorical(symbols=[-2, -1])
    with pytest.raises(ValueError, match="symbol 18446744073709551615 in row 0"):
        emission.encode(np.array([2**64 - 1], dtype=np.uint64), reset=True)


def test_letters():
    """Single characters are looked up by code point; the answers are those of any other string."""
    X = np.array(list("ACGTΩ") + [""])
    emission = Categorical(symbols=["A", "C", "G", "T", "Ω", "", "AC"])
    letters = emission.encode(np.tile(X, 3)[::2], reset=True)
    strings = emission.encode(np.tile(X, 3)[::2].astype("U2"), reset=False)
    np.testing.assert_array_equal(letters.index, strings.index)
    with pytest.raises(ValueError, match="symbol 'N' in row 1"):
        emission.encode(np.array(["A", "N"]), reset=False)
    ignoring = Categorical(symbols=["A", "C"], unseen="ignore")
    found = ignoring.encode(np.array(list("ACxACA")), reset=True)
    assert found.index.tolist() == [0, 1, 2, 0, 1, 0]


@pytest.mark.parametrize("order", [0, 1, 2])
@pytest.mark.parametrize("symbols", [["T", "H"], [3, 1], [True, False], [2.5, 0.5], ["T", 1]])
def test_probabilities_keep_the_order_of_the_symbols(symbols, order):
    """Column i belongs to the i-th symbol that was given, in scores, draws, counts and priors."""
    rng = np.random.default_rng(0)
    table = rng.dirichlet([1, 1], size=(2, *[3] * order))
    for given in (symbols, np.array(symbols, dtype=object), tuple(symbols)):
        emission = Categorical.from_parameters(table, symbols=given, order=order)
        assert list(emission.symbols_) == symbols
        for kind in (object, None):
            X = np.array(symbols if kind is None else [*symbols, None], dtype=kind)
            if kind is None and X.dtype.kind == "U" and "T" in symbols and 1 in symbols:
                continue
            one_each = np.concatenate([np.arange(len(X)), np.arange(1, len(X) + 1)[-1:]])
            log_p = emission.log_likelihood(emission.encode(X, one_each, reset=False)).dense()
            first = table[(slice(None), *[-1] * order)]
            np.testing.assert_allclose(np.exp(log_p[:2]), first.T)
        sure = np.zeros_like(table)
        sure[0, ..., 0] = sure[1, ..., 1] = 1.0
        drawn = Categorical.from_parameters(sure, symbols=given, order=order).sample([0, 1, 0])
        assert drawn[:, 0].tolist() == [symbols[0], symbols[1], symbols[0]]
    emission = Categorical(order, symbols=symbols, prior=np.array([[3.0, 1.0]]))
    X = np.array(symbols, dtype=object)
    emission.fit_supervised(emission.encode(X, [0, 1, 2], reset=True), [0, 0], 1, offsets=[0, 1, 2])
    start = emission.probabilities_[(0, *[-1] * order)]
    np.testing.assert_allclose(start, [0.75, 0.25])


def test_probabilities_of_several_columns_keep_the_order_of_the_symbols():
    emission = Categorical.from_parameters(
        [[[0.9, 0.1]], [[0.2, 0.3, 0.5]]], symbols=[["T", "H"], [2, 0, 1]]
    )
    E = emission.encode(np.array([["H", 2], ["T", 1]], dtype=object), reset=False)
    found = np.exp(emission.log_likelihood(E).dense()[:, 0])
    np.testing.assert_allclose(found, [0.1 * 0.2, 0.9 * 0.5])


def test_symbols_set_by_hand_keep_their_order():
    emission = Categorical(symbols=[7, 5, 6])
    emission.probabilities_ = np.array([[0.5, 0.2, 0.3]])
    E = emission.encode(np.array([5, 6, 7], dtype=np.int32), reset=False)
    np.testing.assert_allclose(np.exp(emission.log_likelihood(E).dense()[:, 0]), [0.2, 0.3, 0.5])


@pytest.mark.parametrize(
    "symbols", [["a", "a"], ["a", None], [1.0, np.nan], 2.5, True, -1, np.zeros((2, 2)), [[0], {}]]
)
def test_symbols_that_cannot_be_listed(symbols):
    with pytest.raises(ValueError, match=r"symbols|Symbols"):
        Categorical(symbols=symbols).encode(np.array(["a"]), reset=True)


def test_a_set_of_symbols_is_sorted():
    emission = Categorical(symbols={"b", "c", "a"})
    emission.encode(np.array(["a"]), reset=True)
    assert list(emission.symbols_) == ["a", "b", "c"]


def test_symbols_of_another_kind_than_those_that_were_learned():
    emission = Categorical(unseen="ignore")
    emission.encode(np.array(["a", "b"]), reset=True)
    assert emission.encode(np.array([np.nan, 1.0]), reset=False).index.tolist() == [2, 2]
    emission.encode(np.array([1, 2], dtype="M8[D]"), reset=True)
    assert emission.encode(np.array([1, 2]), reset=False).index.tolist() == [2, 2]
    strict = Categorical()
    strict.encode(np.array(["a", "b"]), reset=True)
    assert strict.encode(np.array([np.nan, np.nan]), reset=False).index.tolist() == [2, 2]


def test_tables_are_never_read_beyond_their_end():
    """Rows that were encoded for more symbols than there are probabilities."""
    emission = Categorical()
    E = emission.encode(np.array(["a", "b", "c", "d"]), reset=True)
    emission.fit_supervised(E, [0, 1, 0, 1], 2)
    emission.probabilities_ = emission.probabilities_[:, :2]
    with pytest.raises(ValueError, match=r"encoded for \[4\] pairs"):
        emission.log_likelihood(E)
    other = Categorical.from_parameters([[0.5, 0.5]])
    with pytest.raises(ValueError, match=r"encoded for \[4\] pairs"):
        other.accumulate(E, np.ones((4, 1)))
    with pytest.raises(ValueError, match="there are 4 steps"):
        Categorical.from_parameters(np.full((1, 4), 0.25)).accumulate(E, np.ones((3, 1)))


def test_probabilities_that_change_in_place_are_noticed():
    emission = Categorical.from_parameters([[0.5, 0.5], [0.1, 0.9]])
    E = emission.encode(np.array([0, 1]), reset=False)
    for _ in range(3):  # what they were is kept from the second call on
        np.testing.assert_allclose(
            np.exp(emission.log_likelihood(E).dense()), emission.probabilities_.T
        )
    emission.log_likelihood(E).table[:] = 7.0  # the frames are the caller's
    emission.probabilities_[1] = [0.2, 0.8]
    for _ in range(3):
        np.testing.assert_allclose(
            np.exp(emission.log_likelihood(E).dense()), emission.probabilities_.T
        )
    assert set(vars(pickle.loads(pickle.dumps(emission)))) == set(emission.__getstate__())


@pytest.mark.parametrize("kind", ["m8[s]", "M8[s]", "M8[ns]"])
def test_numbers_and_times_are_not_symbols_of_one_column(kind):
    model = ConstrainedHMM(emission="categorical").partial_fit([0, 1, 1], [0, 1, 1])
    with pytest.raises(ValueError, match="times in some rows only"):
        model.partial_fit(np.zeros(3, kind), [0, 1, 1])


def test_symbols_that_are_numbers_of_different_types_are_in_order():
    X = np.array([np.float16(1.5), 65520.0, 3, np.float32(2.5)], dtype=object)
    emission = ConstrainedHMM(emission="categorical").fit([X], [list("abab")]).emission_
    assert [float(symbol) for symbol in emission.symbols_] == [1.5, 2.5, 3.0, 65520.0]
