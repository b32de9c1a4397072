import time

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from skchmm import Controller
from skchmm._kernels.data import segments
from skchmm.constraints import AtMostVisits, EndsIn, Precedence, StartsIn
from skchmm.metrics import (
    segment_f1_score,
    sequence_accuracy_score,
    sequence_macro_f1_score,
    trajectory_validity_rate,
)
from tests.oracles import metrics as oracle
from tests.oracles.predicates import holds
from tests.oracles.strategies import constraint_lists

LABELS = {"str": ["up", "down", "rest"], "int": [0, 1, 5], "far": [3, 10**12, -(10**12)]}
PAIR_SCORES = [
    (sequence_accuracy_score, oracle.accuracy),
    (sequence_macro_f1_score, oracle.macro_f1),
]


@st.composite
def pairs(draw, max_steps=20):
    """A true and a predicted path, in runs, so that segments of all lengths come up."""
    labels = LABELS[draw(st.sampled_from(sorted(LABELS)))][: draw(st.integers(1, 3))]
    n = draw(st.integers(1, max_steps))
    run = st.tuples(st.sampled_from(labels), st.integers(1, 5))

    def path():
        runs = draw(st.lists(run, min_size=n, max_size=n))
        return [label for label, length in runs for _ in range(length)][:n]

    return path(), path()


pair_lists = st.lists(pairs(), min_size=1, max_size=4)


def forms(pairs_of_one_type):
    """The same pairs as (y_true, y_pred, options) in all three forms."""
    true = [x for x, _ in pairs_of_one_type]
    predicted = [x for _, x in pairs_of_one_type]
    lengths = [len(x) for x in true]
    stacked = [np.concatenate([np.array(x) for x in paths]) for paths in (true, predicted)]
    yield true, predicted, {}
    yield [np.array(x) for x in true], [np.array(x, dtype=object) for x in predicted], {}
    yield *stacked, {"lengths": lengths}
    yield *stacked, {"groups": np.repeat(np.arange(len(lengths)), lengths)}
    yield pd.Series(stacked[0]), stacked[1].tolist(), {"lengths": lengths}


def same_type(many):
    return [(x, p) for x, p in many if type(x[0]) is type(many[0][0][0])]


@settings(max_examples=150, deadline=None)
@given(pair_lists)
def test_accuracy_and_macro_f1_are_as_defined(many):
    many = same_type(many)
    for score, definition in PAIR_SCORES:
        expected = [definition(x, predicted) for x, predicted in many]
        for y_true, y_pred, options in forms(many):
            values = score(y_true, y_pred, average=None, **options)
            np.testing.assert_allclose(values, expected, rtol=1e-12)
            assert score(y_true, y_pred, **options) == pytest.approx(np.mean(expected))


@settings(max_examples=300, deadline=None)
@given(pair_lists, st.one_of(st.integers(0, 25), st.floats(0, 1.5)))
@example([(["a"], ["a"])], 0.1)  # one step
@example([(["a"], ["b"])], 0.1)
@example([(["a"] * 7, ["a"] * 7)], 0)  # one label
@example([(list("abaca"), list("acaba"))], 2)  # ties between pairs at equal distance
@example([(list("ababababab"), list("bababababa"))], 1)
@example([(list("aaaaaaaaab"), list("ababababab"))], 1.0)  # segments inside a segment
def test_segment_f1_is_as_defined(many, tolerance):
    many = same_type(many)
    expected = []
    for x, predicted in many:
        steps = tolerance if isinstance(tolerance, int) else tolerance * (len(x) - 1)
        expected.append(oracle.segment_f1(x, predicted, steps))
    for y_true, y_pred, options in forms(many):
        values = segment_f1_score(y_true, y_pred, tolerance, average=None, **options)
        np.testing.assert_allclose(values, expected, rtol=1e-12)


def test_matching_is_as_defined_on_longer_paths():
    rng = np.random.default_rng(0)
    for stay in (0.0, 0.3, 0.6, 0.9):
        for tolerance in (0, 3, 30, 150):
            x, predicted = (random_path(rng, 150, 2, stay) for _ in range(2))
            expected = oracle.segment_f1(x.tolist(), predicted.tolist(), tolerance)
            assert segment_f1_score(x, predicted, tolerance) == pytest.approx(expected)


def test_ties_go_to_the_earlier_true_segment_then_to_the_earlier_predicted_one():
    # Each true segment is one step from two predicted ones. Taken in order all four find a match;
    # if the later predicted one came first, the last true segment would be left over.
    assert segment_f1_score(list("abab"), list("baba"), 1) == 1.0
    assert segment_f1_score(list("aaaba"), list("ababb"), 2) == 6 / 7


def test_tolerance_is_a_fraction_or_steps():
    x, predicted = ["a"] * 10 + ["b"] * 11, ["a"] * 12 + ["b"] * 9  # T = 20, two steps off
    assert segment_f1_score(x, predicted) == 1.0
    assert segment_f1_score(x, predicted, 0.09) == 0.0
    assert segment_f1_score(x, predicted, 2) == 1.0
    assert segment_f1_score(x, predicted, np.int64(1)) == 0.0
    assert segment_f1_score(x, predicted, 1.0) == 1.0
    for bad in (-1, -0.5, np.nan, np.inf, "0.1", True, None):
        with pytest.raises(ValueError, match="tolerance must be"):
            segment_f1_score(x, predicted, bad)


@pytest.mark.parametrize("kind", [float, np.float32, np.float64])
def test_a_fraction_of_the_sequence_is_the_decimal_as_written(kind):
    # T is 100: at a tolerance of k / 100 segments that are k steps off match, k + 1 do not.
    for k in range(1, 50):
        truth = ["a"] * 50 + ["b"] * 51
        for off, score in ((k, 1.0), (k + 1, 0.0)):
            if off < 50:
                decoded = ["a"] * (50 - off) + ["b"] * (51 + off)
                assert segment_f1_score(truth, decoded, kind(f"0.{k:02d}")) == score, (k, off)


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_validity_is_what_the_constraints_say(data):
    states = data.draw(st.sampled_from([["a", "b", "c"], [0, 1, 2]]))
    constraints = data.draw(constraint_lists(states))
    path = st.lists(st.sampled_from(states), min_size=1, max_size=6)
    paths = data.draw(st.lists(path, min_size=1, max_size=5))
    expected = [float(all(holds(c, x) for c in constraints)) for x in paths]
    for y_pred, _, options in forms([(x, x) for x in paths]):
        values = trajectory_validity_rate(y_pred, constraints, average=None, **options)
        assert values.tolist() == expected
        rate = trajectory_validity_rate(y_pred, constraints, **options)
        assert rate == pytest.approx(np.mean(expected))


def test_validity_of_labels_that_only_one_side_knows():
    # 'z' is in no path, 'c' in no constraint.
    paths = [["a", "c"], ["c", "b"]]
    rules = [Precedence("a", "b"), AtMostVisits("z", 1)]
    assert trajectory_validity_rate(paths, rules, average=None).tolist() == [1, 0]
    assert trajectory_validity_rate(paths, None) == 1.0
    assert trajectory_validity_rate(paths, []) == 1.0


def test_validity_under_a_contradiction_is_zero():
    assert trajectory_validity_rate(["a", "b"], [StartsIn("a"), StartsIn("b")]) == 0.0


def test_validity_by_a_controller():
    even = Controller(["a", "b"], [[1, 0], [0, 1]], [True, False])
    paths = [["a", "b", "a"], ["a"]]
    assert trajectory_validity_rate(paths, even, average=None).tolist() == [1, 0]
    assert trajectory_validity_rate(paths, [even, EndsIn("b")]) == 0.0


@pytest.mark.parametrize("score", [*(score for score, _ in PAIR_SCORES), segment_f1_score])
class TestErrors:
    @pytest.mark.parametrize(
        "y_true",
        [
            ["a", None, "b"],
            [0.0, np.nan, 1.0],
            [0, -1, 1],
            pd.Series(["a", None, "b"]),
            np.array([0, -1, 1], dtype=object),
        ],
    )
    def test_missing_label(self, score, y_true):
        with pytest.raises(ValueError, match="y_true has no label at step 1"):
            score(y_true, y_true)

    def test_missing_prediction(self, score):
        with pytest.raises(ValueError, match="y_pred has no label at step 0"):
            score(["a", "b"], [None, "b"])

    def test_lengths_of_paths_differ(self, score):
        with pytest.raises(ValueError, match="y_pred has 1 values but y_true has 2 rows"):
            score([0, 1], [0])

    def test_types_differ(self, score):
        with pytest.raises(TypeError, match="labels of the same type"):
            score([0, 1], ["0", "1"])

    def test_average(self, score):
        with pytest.raises(ValueError, match="average must be 'mean' or None"):
            score([0], [0], average="macro")

    def test_a_predicted_label_may_be_minus_one(self, score):
        assert 0 <= score([0, 1], [0, -1]) < 1


def random_path(rng, n, n_labels, stay):
    change = rng.random(n) >= stay
    last_change = np.maximum.accumulate(np.where(change, np.arange(n), 0))
    return rng.integers(0, n_labels, n)[last_change]


@pytest.mark.unsanitized
@pytest.mark.parametrize(("n_labels", "stay"), [(2, 0.0), (5, 0.5), (5, 0.99)])
def test_a_million_steps(n_labels, stay):
    rng = np.random.default_rng(0)
    x, predicted = (random_path(rng, 10**6, n_labels, stay) for _ in range(2))
    start = time.perf_counter()
    segment_f1_score(x, predicted)
    sequence_macro_f1_score(x, predicted)
    sequence_accuracy_score(x, predicted)
    assert time.perf_counter() - start < 5  # about 0.3 s; the rest is for busy machines


@pytest.mark.unsanitized
def test_many_segments_far_apart():
    # All true segments left of all predicted ones: the candidates of a pair list would be 10^10.
    n = 400_000
    x, predicted = np.zeros((2, n), dtype=np.int32)
    x[: n // 2 : 2] = 1
    predicted[n // 2 :: 2] = 1
    start = time.perf_counter()
    counts = segments.match_segments(x, predicted, np.array([0, n]), np.array([n]), 2)
    assert time.perf_counter() - start < 5
    assert counts[0, 0] >= n // 4


MISSING = [None, np.nan, pd.NA, pd.NaT]
SCORES = [sequence_accuracy_score, sequence_macro_f1_score, segment_f1_score]


@pytest.mark.parametrize("nothing", MISSING, ids=str)
@pytest.mark.parametrize("score", SCORES, ids=lambda score: score.__name__)
def test_every_kind_of_missing_label_is_said_to_be_one(score, nothing):
    for known in (["a", "b"], [0, 1]):
        with_gap = [[*known, nothing], pd.Series([*known, nothing], dtype=object)]
        for y in with_gap:
            with pytest.raises(ValueError, match="y_true has no label at step 2"):
                score(y, [*known, known[0]])
            with pytest.raises(ValueError, match="y_pred has no label at step 2"):
                score([*known, known[0]], y)
            with pytest.raises(ValueError, match="y_pred has no label at step 2"):
                trajectory_validity_rate(y, None)


def test_pandas_columns_with_gaps():
    for dtype, values in (("Int64", [0, None, 1]), ("string", ["a", None, "b"])):
        with pytest.raises(ValueError, match="y_true has no label at step 1"):
            sequence_accuracy_score(pd.Series(values, dtype=dtype), [0, 0, 1])


@pytest.mark.parametrize("score", SCORES, ids=lambda score: score.__name__)
def test_what_cannot_be_scored(score):
    for nothing in ([], np.array([]), [[]]):
        with pytest.raises(ValueError, match="empty"):
            score(nothing, nothing)
    with pytest.raises(ValueError, match="next to each other"):
        score(["a", "b", "a"], ["a", "b", "a"], groups=[1, 2, 1])
    with pytest.raises(ValueError, match="no id for row 1"):
        score(["a", "b"], ["a", "b"], groups=[1, pd.NA])
    with pytest.raises(ValueError, match="lengths sum to 5"):
        score(["a", "b"], ["a", "b"], lengths=[5])
