"""Pictures of sequences: overview, segment confusion, conflicts and costs of rules."""

import numpy as np
import pandas as pd
import pytest

from skchmm import ConstrainedHMM
from skchmm.constraints import AtLeastVisits, MinDuration, NoReentry, StartsIn, VisitBy
from skchmm.plotting import (
    ExplanationDisplay,
    PathDisplay,
    RuleCostDisplay,
    SegmentConfusionDisplay,
    SequenceDisplay,
)
from tests.plotting.reading import is_inside, legend_texts, texts


@pytest.fixture
def numeric():
    rng = np.random.default_rng(0)
    y = [np.repeat(["low", "high", "low"], 8) for _ in range(4)]
    X = [np.column_stack([rng.normal(3 * (path == "high")), rng.normal(size=24)]) for path in y]
    return ConstrainedHMM(constraints=MinDuration("high", 4)).fit(X, y), X[0], y[0]


def test_signal_paths_and_marginals_share_their_time(numeric):
    model, X, y = numeric
    times = pd.date_range("2026-01-01", periods=24, freq="min")
    display = SequenceDisplay.from_estimator(model, X, y, times=times, names=["u", "v"])
    assert list(display.axes_) == ["signal", "paths", "marginals"]
    assert len({ax.get_xlim() for ax in display.axes_.values()}) == 1
    lines = display.axes_["signal"].lines
    np.testing.assert_array_equal([line.get_ydata() for line in lines], X.T)
    assert legend_texts(display.axes_["signal"]) == ["u", "v"]
    assert legend_texts(display.figure_) == ["high", "low", "differs from truth"]
    np.testing.assert_array_equal(display.paths.paths["decoded"], model.predict(X))
    np.testing.assert_allclose(display.marginals.probabilities, model.predict_proba(X))


def test_symbols_are_a_strip_and_marginals_optional(model):
    X = np.array(list("xyyz"))
    display = SequenceDisplay(X, PathDisplay({"p": list("abbc")})).plot()
    assert list(display.axes_) == ["signal", "paths"]
    assert set(texts(display.axes_["signal"])) == {"x", "y", "z"}
    frame = pd.DataFrame({"u": [0.5, 2.0], "v": [1.0, 1.0]})
    assert SequenceDisplay(frame, PathDisplay({"p": list("ab")})).names == ["u", "v"]
    assert "marginals" in SequenceDisplay.from_estimator(model, X).axes_


def test_long_signals_keep_their_extremes():
    n = 50_000
    signal = np.random.default_rng(0).normal(size=n)
    signal[12_345] = 99.0
    display = SequenceDisplay(signal, PathDisplay({"p": np.zeros(n, dtype=int)})).plot()
    (line,) = display.axes_["signal"].lines
    assert line.get_ydata().max() == 99.0 and len(line.get_ydata()) < 5_000
    assert "up to 25 to a column" in display.axes_["paths"].get_xlabel()


def test_many_signals_are_cut_with_a_note():
    display = SequenceDisplay(np.zeros((9, 40)), PathDisplay({"p": list("aaabbbccc")})).plot()
    signal = display.axes_["signal"]
    assert len(signal.lines) == 8
    assert signal.get_legend().get_title().get_text() == "8 of 40 signals"
    assert is_inside(signal.get_legend(), display.figure_)


def test_each_segment_counts_once():
    true = [list("aaabbbbc"), list("ba")]
    decoded = [list("aabbbaac"), list("bb")]
    display = SegmentConfusionDisplay.from_predictions(true, decoded)
    # bbbb became bbaa: a tie, which goes to the label that comes first
    assert display.labels == ["a", "b", "c"]
    assert display.counts.tolist() == [[1, 1, 0], [0, 2, 0], [0, 0, 1]]
    flat = SegmentConfusionDisplay.from_predictions(
        list("aaabbbbcba"), list("aabbbaacbb"), lengths=[8, 2]
    )
    assert flat.counts.tolist() == display.counts.tolist()
    shares = display.ax_.images[0].get_array()
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    assert sorted(texts(display.ax_)) == ["1", "1", "1", "2"]
    with pytest.raises(ValueError, match="same lengths"):
        SegmentConfusionDisplay.from_predictions([list("ab")], [list("a")])


def test_segment_confusion_of_an_estimator(numeric):
    model, X, y = numeric
    display = SegmentConfusionDisplay.from_estimator(model, X, y)
    assert display.labels == model.classes_.tolist() and display.counts.sum() == 3


def test_explanation_shows_where_paths_die():
    model = ConstrainedHMM.from_parameters(
        [0.5, 0.5, 0],
        [[0.8, 0.2, 0], [0.1, 0.6, 0.3], [0.1, 0.2, 0.7]],
        states=["a", "b", "c"],
        constraints=[StartsIn("a"), VisitBy("c", 6), MinDuration("b", 8), NoReentry("a")],
    )
    X = np.zeros((12, 3))
    display = ExplanationDisplay.from_estimator(model, X)
    conflict = model.explain(X)
    assert [text for text, _ in display.rows] == [repr(rule) for rule in conflict.constraints]
    assert display.rows[-1][1] == conflict.position
    assert all(position is None for _, position in display.rows[:-1])
    widths = [bar.get_width() for bar in display.ax_.patches]
    assert widths == [12] * (len(widths) - 1) + [conflict.position]
    assert f"the last path dies at step {conflict.position}" in texts(display.ax_)
    with pytest.raises(ValueError, match="has a feasible path"):
        ExplanationDisplay.from_estimator(model.with_constraints(None), X)


def test_explanation_names_the_observations():
    X = np.zeros((5, 2))
    X[3, 0] = -np.inf
    model = ConstrainedHMM.from_parameters(
        [1, 0], [[0.5, 0.5], [0.5, 0.5]], states=["a", "b"], constraints=MinDuration("a", 9)
    )
    display = ExplanationDisplay.from_estimator(model, X)
    assert "step 3 only b" in display.ax_.get_xlabel()


def test_costs_of_rules_by_sequence(model):
    pytest.importorskip("pandas")
    X = [np.array(list(word)) for word in ("xyz", "yyx", "x", "yx")]
    ruled = model.with_constraints([StartsIn("a"), AtLeastVisits("b", 1)])
    costs = ruled.constraint_costs(X)
    display = RuleCostDisplay.from_estimator(ruled, X)
    for k, rule in enumerate(display.rules):
        expected = costs[costs["constraint"] == rule]["log_prob_gain"].to_numpy()
        np.testing.assert_array_equal(display.values[k], expected)
    image = display.ax_.images[0].get_array()
    np.testing.assert_array_equal(np.ma.getmaskarray(image), np.isinf(display.values))
    assert np.isinf(display.values).any() == ("black" in display.ax_.get_xlabel())


def test_costs_of_many_sequences():
    values = np.random.default_rng(0).random(500)
    costs = pd.DataFrame(
        {"sequence": np.arange(500), "constraint": "rule", "log_prob_gain": values}
    )
    display = RuleCostDisplay(costs).plot()
    shown = display.ax_.images[0].get_array()[0]
    np.testing.assert_array_equal(shown, np.sort(values)[::-1][:60])
    assert display.ax_.get_xlabel() == "the 60 of 500 sequences that pay most"
