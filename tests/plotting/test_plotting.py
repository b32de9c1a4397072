"""The displays draw what they are given."""

import numpy as np
import pytest

from skchmm import ConstrainedHMM
from skchmm.constraints import Precedence
from skchmm.plotting.displays import (
    PALETTE,
    MarginalsDisplay,
    PathDisplay,
    label_colors,
    readable_on,
    runs,
    step_edges,
)

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
from matplotlib import colors as mcolors  # noqa: E402
from matplotlib import pyplot as plt  # noqa: E402


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


@pytest.fixture
def model():
    X = np.array(list("xxyyzzxxyz"))
    y = np.array(list("aabbccaabc"))
    return ConstrainedHMM(constraints=Precedence("a", "b")).fit(X, y, lengths=[6, 4])


def strip_at(display, row, t):
    """The colour that the strip of a row has at time t."""
    for bar in display.ax_.patches:
        left, width = bar.get_x(), bar.get_width()
        inside = left <= t < left + width and bar.get_y() < row < bar.get_y() + bar.get_height()
        if inside:
            return mcolors.to_hex(bar.get_facecolor())
    return None


def test_strips_show_every_step_of_every_path():
    rng = np.random.default_rng(0)
    paths = {name: rng.choice(list("abc"), size=30) for name in ("truth", "one", "two")}
    display = PathDisplay(paths, truth="truth").plot()
    colors = label_colors(display.labels)
    for row, path in enumerate(paths.values()):
        for t, label in enumerate(path):
            assert strip_at(display, row, t + 0.5) == mcolors.to_hex(colors[label])
    assert [t.get_text() for t in display.ax_.get_yticklabels()] == ["truth", "one", "two"]


def test_mistakes_are_underlined():
    display = PathDisplay.from_predictions(list("aabb"), list("abbb"))
    assert display.mistakes("decoded").tolist() == [False, True, False, False]
    red = [bar for bar in display.ax_.patches if bar.get_height() < 0.2]
    assert [(bar.get_x(), bar.get_width()) for bar in red] == [(1, 1)]


def test_from_estimator_decodes(model):
    X, y = np.array(list("xyyz")), np.array(list("abbc"))
    display = PathDisplay.from_estimator(model, X, y)
    assert list(display.paths) == ["truth", "ConstrainedHMM"]
    np.testing.assert_array_equal(display.paths["ConstrainedHMM"], model.predict(X))
    both = PathDisplay.from_estimator({"one": model, "two": model}, X, legend=False)
    assert list(both.paths) == ["one", "two"]
    assert both.labels == model.classes_.tolist()
    assert both.ax_.get_legend() is None


def test_given_axes_times_and_colours():
    _, ax = plt.subplots()
    display = PathDisplay({"p": ["a", "b"]}, times=[10.0, 30.0])
    display.plot(ax, colors={"b": "#123456"})
    assert display.ax_ is ax
    assert ax.get_xlim() == (10.0, 50.0)
    assert strip_at(display, 0, 40.0) == "#123456"


def test_integer_labels_and_labels_that_no_path_has():
    display = PathDisplay({"p": [3, 3, 1]}, labels=[1, 2, 3]).plot()
    assert display.labels == [1, 2, 3]
    assert len(display.ax_.get_legend().get_texts()) == 3


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


def test_small_parts():
    assert runs(np.array([1, 1, 2, 1])) == [(0, 2), (2, 3), (3, 4)]
    assert step_edges([0]).tolist() == [0, 1]
    assert step_edges([0, 2, 3]).tolist() == [0, 2, 3, 4]
    assert readable_on("white") != "white" and readable_on("black") == "white"
