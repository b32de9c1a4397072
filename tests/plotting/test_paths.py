"""Paths and marginals: every step is drawn, at its time, however many there are."""

import numpy as np
import pandas as pd
import pytest

from skchmm import CTConstrainedHMM
from skchmm.plotting import MarginalsDisplay, PathDisplay, label_colors, style
from skchmm.plotting.style import MISTAKE, MOST_COLUMNS, PALETTE, readable_on, runs, step_edges
from tests.plotting.reading import bars, color_at, is_inside, legend_texts

matplotlib = pytest.importorskip("matplotlib")
from matplotlib import colors as mcolors  # noqa: E402
from matplotlib import dates as mdates  # noqa: E402
from matplotlib import pyplot as plt  # noqa: E402


@pytest.fixture
def timed():
    X, y = np.array(list("xxyyzz")), np.array(list("aabbcc"))
    times = np.array([0, 1, 3, 4, 7, 8.5])
    return CTConstrainedHMM(states=list("abc")).fit([X], [y], times=[times])


def test_strips_show_every_step_of_every_path():
    rng = np.random.default_rng(0)
    paths = {name: rng.choice(list("abc"), size=30) for name in ("truth", "one", "two")}
    display = PathDisplay(paths, truth="truth").plot()
    colors = label_colors(display.labels)
    for row, path in enumerate(paths.values()):
        for t, label in enumerate(path):
            assert color_at(display.ax_, row, t + 0.5) == mcolors.to_hex(colors[label])
    assert [t.get_text() for t in display.ax_.get_yticklabels()] == ["truth", "one", "two"]


def test_mistakes_are_underlined():
    display = PathDisplay.from_predictions(list("aabb"), list("abbb"))
    assert display.mistakes("decoded").tolist() == [False, True, False, False]
    red = [(left, right) for left, right, *_, color in bars(display.ax_) if color == MISTAKE]
    assert red == [(1, 2)]
    assert legend_texts(display.ax_)[-1] == "differs from truth"


def test_from_estimator_decodes(model):
    X, y = np.array(list("xyyz")), np.array(list("abbc"))
    display = PathDisplay.from_estimator(model, X, y)
    assert list(display.paths) == ["truth", "ConstrainedHMM"]
    np.testing.assert_array_equal(display.paths["ConstrainedHMM"], model.predict(X))
    both = PathDisplay.from_estimator({"one": model, "two": model}, X, legend=False)
    assert list(both.paths) == ["one", "two"]
    assert both.labels == model.classes_.tolist()
    assert both.ax_.get_legend() is None


def test_best_paths_and_what_they_lack(model):
    X = np.array(list("xyyz"))
    display = PathDisplay.from_kbest(model, X, 3)
    found = model.kbest(X, 3)
    assert next(iter(display.paths)) == "best" == display.truth
    for name, (log_prob, path) in zip(display.paths, found):
        np.testing.assert_array_equal(display.paths[name], path)
        if name != "best":
            assert float(name.split()[1]) == pytest.approx(log_prob - found[0][0], abs=0.006)
    assert legend_texts(display.ax_)[-1] == "differs from the best"


def test_draws_are_those_of_the_model(model):
    X = np.array(list("xyyz"))
    display = PathDisplay.from_samples(model, X, 12, random_state=3)
    drawn = model.sample_posterior(X, 12, random_state=3)
    np.testing.assert_array_equal(np.stack(list(display.paths.values())), drawn)
    assert display.figure_.get_figheight() < 5


def test_times_end_where_the_data_end():
    _, ax = plt.subplots()
    display = PathDisplay({"p": ["a", "b", "a"]}, times=[10.0, 30.0, 32.0])
    display.plot(ax, colors={"b": "#123456"})
    assert display.ax_ is ax
    assert ax.get_xlim() == (10.0, 32.0)
    assert color_at(ax, 0, 20.5) == color_at(ax, 0, 30.5) == "#123456"
    assert color_at(ax, 0, 19.5) == color_at(ax, 0, 31.5) == PALETTE[0]


@pytest.mark.parametrize("kind", [PathDisplay, MarginalsDisplay])
def test_continuous_time(kind, timed):
    X, times = np.array(list("xyyz")), np.array([0.0, 0.5, 4.0, 9.0])
    display = kind.from_estimator(timed, X, times=times)
    assert display.ax_.get_xlim() == (0, 9)
    if kind is PathDisplay:
        np.testing.assert_array_equal(display.paths["CTConstrainedHMM"], timed.predict(X, times))
        assert len(PathDisplay.from_kbest(timed, X, 2, times=times).paths) == 2
        assert len(PathDisplay.from_samples(timed, X, 2, times=times, random_state=0).paths) == 2
    else:
        np.testing.assert_allclose(display.probabilities, timed.predict_proba(X, times))


@pytest.mark.parametrize(
    "times",
    [
        pd.date_range("2026-03-01", periods=4, freq="h"),
        pd.Series(pd.date_range("2026-03-01", periods=4, freq="h", tz="UTC")),
        np.array(["2026-03-01T00", "2026-03-01T01", "2026-03-01T02", "2026-03-01T03"], "M8[h]"),
        [pd.Timestamp("2026-03-01").to_pydatetime() + pd.Timedelta(hours=k) for k in range(4)],
    ],
    ids=["index", "time zone", "numpy", "datetime"],
)
def test_dates(times):
    start = mdates.date2num(np.datetime64("2026-03-01"))
    path = PathDisplay({"p": list("aabb")}, times=times).plot()
    bands = MarginalsDisplay(np.full((4, 2), 0.5), "ab", times=times).plot()
    for display in (path, bands):
        np.testing.assert_allclose(display.ax_.get_xlim(), [start, start + 3 / 24])
        formatter = display.ax_.xaxis.get_major_formatter()
        assert isinstance(formatter, mdates.ConciseDateFormatter)
    assert color_at(path.ax_, 0, start + 1.4 / 24) == PALETTE[0]
    assert color_at(path.ax_, 0, start + 1.6 / 24) == PALETTE[1]


def test_timedeltas_are_seconds():
    display = PathDisplay({"p": list("ab")}, times=np.array([0, 2], "m8[m]")).plot()
    assert display.ax_.get_xlim() == (0, 120) and display.ax_.get_xlabel() == "seconds"


def test_integer_labels_and_labels_that_no_path_has():
    display = PathDisplay({"p": [3, 3, 1]}, labels=[1, 2, 3]).plot()
    assert display.labels == [1, 2, 3]
    assert legend_texts(display.ax_) == ["1", "2", "3"]


def test_a_million_steps_are_reduced_with_a_note():
    n = 1_000_000
    rng = np.random.default_rng(0)
    path = rng.choice(3, size=n, p=[0.2, 0.5, 0.3])
    other = path.copy()
    other[n // 2] = 3 - path[n // 2]
    display = PathDisplay({"truth": path, "decoded": other}, truth="truth").plot()
    drawn = bars(display.ax_)
    assert len(drawn) <= 2 * MOST_COLUMNS + 2
    assert color_at(display.ax_, 0, n / 3) == label_colors(display.labels)[1]
    (red,) = [bar for bar in drawn if bar[4] == MISTAKE]
    assert red[0] <= n // 2 < red[1] and red[1] - red[0] <= n / MOST_COLUMNS
    assert "up to 500 to a column" in display.ax_.get_xlabel()
    few = PathDisplay({"p": np.repeat([0, 1], n // 2)}).plot()
    assert len(bars(few.ax_)) == 2 and few.ax_.get_xlabel() == ""


def test_long_marginals_are_averaged():
    n = 10 * MOST_COLUMNS
    p = np.random.default_rng(0).random(n)
    display = MarginalsDisplay(np.column_stack([p, 1 - p]), "ab").plot()
    top = display.ax_.collections[0].get_paths()[0].vertices
    inside = top[np.abs(top[:, 0] - 45) < 1e-9, 1]
    assert len(inside) == 0 and "mean of up to 10" in display.ax_.get_xlabel()
    at_first = top[(top[:, 0] == 0) & (top[:, 1] > 0), 1]
    np.testing.assert_allclose(at_first, p[:10].mean())
    assert display.ax_.get_xlim() == (0, n)


def test_twenty_long_labels_stay_in_the_figure():
    labels = [f"a rather long label that goes on and on, number {k}" for k in range(20)]
    display = PathDisplay({"p": np.repeat(labels, 7)}).plot()
    assert is_inside(display.ax_.get_legend(), display.figure_)
    assert len(set(legend_texts(display.ax_))) == 20
    assert display.ax_.get_position().height * display.figure_.get_figheight() > 0.4


def test_a_hundred_labels_are_named_by_share():
    display = PathDisplay({"p": [*range(100), *[57] * 9]}, labels=range(100)).plot()
    assert legend_texts(display.ax_)[0] == "57"
    assert legend_texts(display.ax_)[-1] == "… and 76 more"
    assert is_inside(display.ax_.get_legend(), display.figure_)
    p = np.full((5, 100), 0.5 / 99)
    p[:, 3] = 0.5
    bands = MarginalsDisplay(p, range(100)).plot()
    assert legend_texts(bands.ax_)[0] == "3" and legend_texts(bands.ax_)[-1] == "77 others"
    tops = [band.get_paths()[0].vertices[:, 1].max() for band in bands.ax_.collections]
    assert max(tops) == pytest.approx(1)


def test_marginals_fill_the_axes(model):
    X = np.array(list("xyyz"))
    display = MarginalsDisplay.from_estimator(model, X)
    np.testing.assert_allclose(display.probabilities, model.predict_proba(X))
    assert display.ax_.get_xlim() == (0, 4) and display.ax_.get_ylim() == (0, 1)
    assert len(display.ax_.collections) == 3


def test_more_labels_than_the_palette_has():
    colors = label_colors(range(2 * len(PALETTE)))
    assert len({mcolors.to_hex(c) for c in colors.values()}) == 2 * len(PALETTE)


def test_wrong_input_is_named():
    with pytest.raises(ValueError, match=r"one length; got \{'a': 1, 'b': 2\}"):
        PathDisplay({"a": [0], "b": [0, 1]})
    with pytest.raises(ValueError, match="names none of the paths"):
        PathDisplay({"a": [0]}, truth="b")
    with pytest.raises(ValueError, match=r"need \(n_steps, 3\)"):
        MarginalsDisplay([[0.5, 0.5]], list("abc"))
    with pytest.raises(ValueError, match=r"times has shape \(3,\); 2 steps need \(2,\)"):
        PathDisplay({"a": [0, 1]}, times=[1, 2, 3])


def test_small_parts():
    assert runs(np.array([1, 1, 2, 1])) == [(0, 2), (2, 3), (3, 4)]
    assert step_edges(None, 2).tolist() == [0, 1, 2]
    assert step_edges([4]).tolist() == [3.5, 4.5]
    assert step_edges([0, 2, 3]).tolist() == [0, 1, 2.5, 3]
    assert readable_on("white") != "white" and readable_on("black") == "white"


def test_long_labels_are_told_apart_by_the_part_that_differs():
    long = [f"Waiting for the approval of department number {k:02d} (external)" for k in range(20)]
    names = style.told_apart(long)
    assert len(set(names)) == 20 and max(map(len, names)) <= style.LONGEST
    assert all(name.startswith("Waiting") and f"{k:02d}" in name for k, name in enumerate(names))
    ends = [f"{'the same beginning ' * 3}{end}" for end in ("left", "right")]
    assert all(end in name for end, name in zip(("left", "right"), style.told_apart(ends)))
    assert style.told_apart(["a", 7, "a"]) == ["a", "7", "a"]
