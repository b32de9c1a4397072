"""Pictures of models: transitions, rates, controllers, histories, durations."""

import itertools

import numpy as np
import pytest

import skchmm
from skchmm import ConstrainedHMM, CTConstrainedHMM, hmm
from skchmm.constraints import AllDifferent, MinDuration, Precedence
from skchmm.plotting import (
    ControllerDisplay,
    DurationDisplay,
    HistoryDisplay,
    JumpPathDisplay,
    SequenceDisplay,
    TransitionDisplay,
    durations,
)
from tests.plotting.reading import bars, legend_texts, texts

matplotlib = pytest.importorskip("matplotlib")
from matplotlib import colors as mcolors  # noqa: E402
from matplotlib import pyplot as plt  # noqa: E402
from matplotlib.patches import Circle, FancyArrowPatch  # noqa: E402


def brightness(color):
    return np.dot(mcolors.to_rgb(color), (0.299, 0.587, 0.114))


def test_transition_graph_has_an_arrow_for_each_change(model):
    display = TransitionDisplay.from_estimator(model, threshold=0)
    arrows = [p for p in display.ax_.patches if isinstance(p, FancyArrowPatch)]
    changes = model.transmat_ - np.diag(np.diag(model.transmat_))
    assert len(arrows) == np.count_nonzero(changes > 0) == len(display.arrows())
    widths = [arrow.get_linewidth() for arrow in arrows]
    values = [value for *_, value in display.arrows()]
    np.testing.assert_array_equal(
        np.argsort(widths, kind="stable"), np.argsort(values, kind="stable")
    )
    for label, stay in zip(model.classes_, np.diag(model.transmat_)):
        assert f"{label}\nstays {stay:.2f}" in texts(display.ax_)


def test_small_arrows_are_left_out_with_a_note():
    matrix = [[0.5, 0.499, 0.001], [0.5, 0.5, 0], [1, 0, 0]]
    display = TransitionDisplay(matrix, "abc").plot(threshold=0.01)
    assert "1 arrows below 0.01 are left out" in texts(display.ax_)
    assert sum(isinstance(p, FancyArrowPatch) for p in display.ax_.patches) == 3


def test_generator_says_how_long_a_state_lasts():
    Q = np.array([[-0.5, 0.5], [0.0, 0.0]])
    model = CTConstrainedHMM.from_parameters([1, 0], Q, states=["a", "b"])
    display = TransitionDisplay.from_estimator(model)
    assert display.generator and display.arrows() == [(0, 1, 0.5)]
    assert {"a\nstays for 2", "b\nstays for good"} <= set(texts(display.ax_))
    table = TransitionDisplay.from_estimator(model, kind="matrix")
    np.testing.assert_array_equal(table.ax_.images[0].get_array(), [[0, 0.5], [0, 0]])


def test_a_hundred_states_are_a_table():
    matrix = np.random.default_rng(0).dirichlet(np.ones(100), size=100)
    display = TransitionDisplay(matrix, range(100)).plot()
    np.testing.assert_array_equal(display.ax_.images[0].get_array(), matrix)
    assert 20 <= len(display.ax_.get_yticks()) <= 50
    assert texts(display.ax_) == []
    with pytest.raises(ValueError, match="kind must be one of"):
        display.plot(kind="pie")
    with pytest.raises(ValueError, match=r"2 labels need \(2, 2\)"):
        TransitionDisplay(matrix, "ab")


def test_small_controllers_are_graphs():
    controller = skchmm.compile(Precedence("a", "b"), list("abc"))
    display = ControllerDisplay(controller).plot()
    circles = [p for p in display.ax_.patches if isinstance(p, Circle)]
    assert len(circles) == len(controller.accept) + sum(controller.accept)


def test_large_controllers_are_tables_of_edges():
    controller = skchmm.compile(AllDifferent(), list("abcdef"))
    display = ControllerDisplay(controller).plot()
    (points,) = display.ax_.collections
    edges = {}
    for q, label in itertools.product(range(len(controller.accept)), range(6)):
        for there in {int(table[q, label]) for table in controller.tables} - {-1}:
            edges[there, q] = edges.get((there, q), 0) + 1
    drawn = {
        tuple(map(int, place)): n for place, n in zip(points.get_offsets(), points.get_array())
    }
    assert drawn == edges
    assert f"{len(controller.accept)} states" in display.ax_.get_title()
    with pytest.raises(ValueError, match="kind must be"):
        display.plot(kind="pie")


@pytest.mark.parametrize("style", ["default", "dark_background"])
def test_lines_are_seen_on_any_background(style, model):
    with plt.style.context(style):
        ground = brightness(plt.rcParams["figure.facecolor"])
        for display in (
            ControllerDisplay.from_estimator(model),
            TransitionDisplay.from_estimator(model, threshold=0),
        ):
            arrows = [p for p in display.ax_.patches if isinstance(p, FancyArrowPatch)]
            assert arrows
            for arrow in arrows:
                assert abs(brightness(arrow.get_edgecolor()) - ground) > 0.5
    ax = plt.figure(facecolor="#111111").add_subplot()
    model.controller_.plot(ax)
    circles = [p for p in ax.patches if isinstance(p, Circle)]
    assert all(brightness(circle.get_edgecolor()) > 0.5 for circle in circles)
    assert all(brightness(text.get_color()) > 0.5 for text in ax.texts if text.get_text())


def test_history_of_every_restart():
    X = [np.random.default_rng(k).normal(size=(10, 1)) for k in range(3)]
    model = ConstrainedHMM(2, n_init=3, tol=1e-3, init="random", random_state=0).fit(X)
    display = HistoryDisplay.from_estimator(model)
    lines = [line for line in display.ax_.lines if len(line.get_xdata()) > 1]
    assert [list(line.get_ydata()) for line in lines] == model.histories_
    assert model.histories_[display.best] == model.history_
    assert legend_texts(display.ax_) == [f"restart {display.best + 1}, the best of 3"]
    later = HistoryDisplay(model.histories_).plot(skip=2)
    assert min(line.get_xdata()[0] for line in later.ax_.lines) >= 2
    with pytest.raises(ValueError, match="not learned by EM"):
        HistoryDisplay([[]])


def test_history_of_an_hmmlearn_model():
    X = np.random.default_rng(0).normal(size=(30, 1))
    model = hmm.GaussianHMM(2, n_iter=4, tol=0, random_state=0).fit(X)
    display = HistoryDisplay.from_estimator(model)
    assert list(display.ax_.lines[0].get_ydata()) == model.history_
    assert display.ax_.get_legend() is None


def test_durations_of_data_and_model():
    y = [np.array(list("aaabbbbab")), np.array(list("bbbaaa"))]
    X = [np.where(path == "a", "x", "y") for path in y]
    model = ConstrainedHMM().fit(X, y).with_constraints(MinDuration("a", 3))
    display = DurationDisplay.from_estimator(model, y)
    assert {k: sorted(v) for k, v in display.observed.items()} == {"a": [1, 3, 3], "b": [1, 3, 4]}
    _, drawn = model.sample([9, 6] * 20, random_state=0)
    expected = DurationDisplay.lengths_of(drawn)
    assert {k: list(v) for k, v in display.expected.items()} == expected
    for label, ax in display.axes_.items():
        heights = [bar.get_height() for bar in ax.containers[0]]
        assert sum(heights) == pytest.approx(1)
        assert f"{label}  (n = 3)" == ax.get_title()


def test_durations_of_many_labels():
    observed = {k: np.ones(k + 1, dtype=int) for k in range(30)}
    display = DurationDisplay(observed).plot()
    assert list(display.axes_) == list(range(18, 30))
    assert "18 labels" in display.figure_.get_supxlabel()


def test_jump_paths():
    times = np.datetime64("2026-01-01") + np.array([0, 1, 5, 6], "m8[D]")
    X, y = np.array(list("xxyy")), np.array(list("aabb"))
    model = CTConstrainedHMM(states=["a", "b"]).fit([X], [y], times=[times])
    display = JumpPathDisplay.from_estimator(model, X, times, n_samples=3, random_state=0)
    assert list(display.paths) == ["decoded", "draw 1", "draw 2", "draw 3"]
    decoded = model.decode_path(X, times)
    assert display.paths["decoded"].states.tolist() == decoded.states.tolist()
    first = matplotlib.dates.date2num(times)
    np.testing.assert_allclose(display.ax_.get_xlim(), [first[0], first[-1]])
    stays = [bar[:2] for bar in bars(display.ax_) if bar[2] < 0 < bar[3] or bar[3] < 0 < bar[2]]
    expected = matplotlib.dates.date2num(np.append(decoded.times, decoded.end))
    np.testing.assert_allclose(stays, np.column_stack([expected[:-1], expected[1:]]))
    assert "ticks: observations" in display.ax_.get_xlabel()
    alone = JumpPathDisplay(decoded).plot(legend=False)
    assert list(alone.paths) == ["path"]
    assert list(JumpPathDisplay([decoded, decoded]).paths) == ["path 1", "path 2"]


@pytest.mark.parametrize("scores", ["precomputed", "classifier"])
def test_durations_of_models_whose_observations_cannot_be_drawn(scores):
    from sklearn.naive_bayes import GaussianNB

    rng = np.random.default_rng(0)
    y = [np.repeat(rng.permutation(["a", "b"]), rng.integers(6, 15, size=2)) for _ in range(30)]
    X = [(path == "a")[:, None] + rng.normal(size=(len(path), 1)) for path in y]
    if scores == "classifier":
        model = ConstrainedHMM(emission=GaussianNB(), constraints=MinDuration("a", 5)).fit(X, y)
    else:
        model = ConstrainedHMM.from_parameters(
            [0.5, 0.5], [[0.9, 0.1], [0.1, 0.9]], states=["a", "b"],
            constraints=MinDuration("a", 5),
        )  # fmt: skip
    display = DurationDisplay.from_estimator(model, y)
    assert set(display.expected) == {"a", "b"}
    drawn = durations._draw(model, [len(path) for path in y], 0)
    assert [len(path) for path in drawn] == [len(path) for path in y]
    assert all(skchmm.satisfies(path, MinDuration("a", 5), ["a", "b"]) for path in drawn)


def test_of_many_arrows_the_largest_are_drawn():
    n = 40
    rng = np.random.default_rng(0)
    matrix = rng.dirichlet(np.ones(n), size=n)
    display = TransitionDisplay(matrix, list(range(n))).plot(kind="graph", threshold=0)
    arrows = [p for p in display.ax_.patches if isinstance(p, FancyArrowPatch)]
    assert len(arrows) == 300
    assert f"the 300 largest of {n * (n - 1)} arrows" in texts(display.ax_)


def test_long_labels_of_a_controller_are_in_a_key():
    labels = [f"a label that is long, number {k}" for k in range(4)]
    controller = skchmm.compile(Precedence(labels[2], labels[0]), labels)
    ax = ControllerDisplay(controller).plot().ax_
    key = next(text for text in texts(ax) if "\n" in text)
    assert key.splitlines() == [f"#{k + 1}  {labels[k]}" for k in (1, 2, 3)]
    assert not any("number" in text for text in texts(ax) if text != key)
    short = ControllerDisplay(skchmm.compile(Precedence("c", "a"), list("abcd"))).plot().ax_
    assert not any("#" in text for text in texts(short))


def test_of_many_labels_those_that_are_seen_are_named():
    labels = [f"s{k}" for k in range(40)]
    rates = np.full((40, 40), 0.01) - np.diag([0.01] * 40)
    X = np.full((3, 40), -9.0)
    X[[0, 1, 2], [30, 35, 38]] = 0.0
    timed = CTConstrainedHMM.from_parameters(np.full(40, 1 / 40), rates, states=labels)
    display = JumpPathDisplay.from_estimator(timed, X, times=[0, 1, 5])
    assert legend_texts(display.ax_) == ["s30", "s35", "s38"]
    model = ConstrainedHMM.from_parameters(
        np.full(40, 1 / 40), np.full((40, 40), 1 / 40), states=labels
    )
    figure = SequenceDisplay.from_estimator(model, X).figure_
    named = [text.get_text() for text in figure.legends[0].get_texts()]
    assert {"s30", "s35", "s38"} <= set(named)
