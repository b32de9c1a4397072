"""Survival and prevalence: against matrix exponentials and counts."""

import numpy as np
import pytest
from scipy.linalg import expm

from skchmm import ConstrainedHMM, CTConstrainedHMM
from skchmm.constraints import AtMostVisits, EndsIn, MinDuration
from skchmm.plotting import PrevalenceDisplay, SurvivalDisplay
from tests.plotting.reading import legend_texts

STATES = ["well", "ill", "dead"]
Q = np.array([[-0.3, 0.2, 0.1], [0.15, -0.55, 0.4], [0.0, 0.0, 0.0]])
START = np.array([0.7, 0.3, 0.0])
TIMES = np.array([0.0, 0.5, 2.0, 7.0])


@pytest.fixture
def illness():
    return CTConstrainedHMM.from_parameters(START, Q, states=STATES)


def test_survival_is_that_of_the_chain_without_the_state(illness):
    for into, others in (("dead", [0, 1]), ("ill", [0, 2]), (["ill", "dead"], [0])):
        inside = Q[np.ix_(others, others)]
        wanted = [(START[others] @ expm(inside * t)).sum() for t in TIMES]
        found = SurvivalDisplay.survival(illness, into, TIMES)
        np.testing.assert_allclose(found, wanted, rtol=1e-10)


def test_survival_from_a_state(illness):
    found = SurvivalDisplay.survival(illness, "dead", TIMES, start="ill")
    wanted = [expm(Q[:2, :2] * t)[1].sum() for t in TIMES]
    np.testing.assert_allclose(found, wanted, rtol=1e-10)
    with pytest.raises(ValueError, match="'healthy' is none of the states"):
        SurvivalDisplay.survival(illness, "dead", TIMES, start="healthy")


# The chain of (state, illnesses begun) under "ill at most once": well0, ill1, well1, dead.
ONCE = np.array([
    [-0.3, 0.2, 0.0, 0.1], [0.0, -0.55, 0.15, 0.4], [0.0, 0.0, -0.3, 0.1], [0.0, 0.0, 0.0, 0.0],
])  # fmt: skip
ONCE_START = np.array([0.7, 0.3, 0.0, 0.0])


def test_rules_bind_the_path_up_to_the_time_asked_for(illness):
    ruled = illness.with_constraints(AtMostVisits("ill", 1))
    wanted = []
    for t in TIMES:
        at_t = ONCE_START @ expm(ONCE * t)
        wanted.append(at_t[:3].sum() / at_t.sum())
    np.testing.assert_allclose(SurvivalDisplay.survival(ruled, "dead", TIMES), wanted, rtol=1e-9)


def test_expected_shares_are_those_of_paths_that_keep_the_rules(illness):
    plain = PrevalenceDisplay.expected_shares(illness, TIMES)
    np.testing.assert_allclose(plain, [START @ expm(Q * t) for t in TIMES], atol=1e-12)
    ruled = illness.with_constraints([AtMostVisits("ill", 1), EndsIn(["well", "dead"])])
    end = np.array([1.0, 0.0, 1.0, 1.0])
    wanted = []
    for t in TIMES:
        both = (ONCE_START @ expm(ONCE * t)) * (expm(ONCE * (TIMES[-1] - t)) @ end)
        both /= both.sum()
        wanted.append([both[0] + both[2], both[1], both[3]])
    np.testing.assert_allclose(PrevalenceDisplay.expected_shares(ruled, TIMES), wanted, atol=1e-10)


def test_rules_about_observations_are_left_out(illness):
    observed = CTConstrainedHMM.from_parameters(
        START, Q, states=STATES, semantics="observed", constraints=MinDuration("ill", 2)
    )
    np.testing.assert_allclose(
        SurvivalDisplay.survival(observed, "dead", TIMES),
        SurvivalDisplay.survival(illness, "dead", TIMES),
    )


def test_observed_shares_are_those_of_the_nearest_steps_until_the_sequence_ends():
    rng = np.random.default_rng(0)
    times = [np.sort(rng.uniform(0, 9, size=rng.integers(1, 6))) for _ in range(20)]
    y = [rng.choice(STATES, size=len(t)) for t in times]
    at = np.linspace(0, 9, 31)
    shares, n = PrevalenceDisplay.observed_shares(y, times, at, STATES, final=["dead"])
    for row, t in enumerate(at):
        shown = [
            path[::-1][np.argmin(abs(moments - moments[0] - t)[::-1])]
            for path, moments in zip(y, times)
            if t <= moments[-1] - moments[0] or path[-1] == "dead"
        ]
        assert n[row] == len(shown)
        for label, share in zip(STATES, shares[row]):
            assert share == pytest.approx(np.mean([x == label for x in shown]), nan_ok=True)


def test_datetimes_count_in_seconds(illness):
    moments = np.array(["2026-01-01T00:00:00", "2026-01-01T00:00:30"], dtype="datetime64[s]")
    y = [np.array(["well", "ill"])]
    shares, n = PrevalenceDisplay.observed_shares(y, [moments], [0, 14, 30, 31], STATES)
    assert n.tolist() == [1, 1, 1, 0]
    assert shares[:3].argmax(axis=1).tolist() == [0, 0, 1] and np.isnan(shares[3]).all()


def test_pictures_have_a_curve_for_each_name(illness):
    display = SurvivalDisplay.from_estimator(illness, "dead", times=TIMES, start=["well", "ill"])
    assert legend_texts(display.ax_) == ["from well", "from ill"]
    assert display.ax_.get_ylabel() == "P(not yet dead)"
    for line, start in zip(display.ax_.lines, ("well", "ill")):
        np.testing.assert_array_equal(
            line.get_ydata(), SurvivalDisplay.survival(illness, "dead", TIMES, start=start)
        )
    one = SurvivalDisplay.from_estimator(illness, ["ill", "dead"], times=TIMES)
    assert one.ax_.get_legend() is None and one.ax_.get_ylabel() == "P(not yet ill or dead)"
    two = SurvivalDisplay.from_estimator({"a": illness, "b": illness}, "dead", times=TIMES)
    assert legend_texts(two.ax_) == ["a", "b"]


def test_prevalence_has_a_panel_for_each_state(illness):
    y = [["well", "ill", "dead"], ["well", "well", "well"]]
    display = PrevalenceDisplay.from_estimator(illness, y, [[0, 2.5, 7], [0, 1, 4]])
    assert list(display.axes_) == STATES
    expected, observed = display.axes_["ill"].lines
    np.testing.assert_array_equal(expected.get_ydata(), display.expected[:, 1])
    np.testing.assert_array_equal(observed.get_ydata(), display.observed[:, 1])
    assert legend_texts(display.axes_["well"]) == ["expected", "observed"]


def test_of_many_states_the_largest_are_drawn_with_a_note():
    n = 100
    rates = np.full((n, n), 0.01) * np.linspace(1, 2, n)
    np.fill_diagonal(rates, 0)
    model = CTConstrainedHMM.from_parameters(np.full(n, 1 / n), rates)
    expected = PrevalenceDisplay.expected_shares(model, TIMES)
    display = PrevalenceDisplay(TIMES, expected, range(n)).plot()
    assert len(display.axes_) == 12
    assert "88 states with smaller shares are left out" in display.figure_.get_supxlabel()
    assert min(display.axes_) > 80


def test_what_cannot_be_drawn_is_said(illness):
    plain = ConstrainedHMM.from_parameters([1, 0], np.eye(2))
    with pytest.raises(TypeError, match="ConstrainedHMM has no generator_"):
        SurvivalDisplay.survival(plain, 0, TIMES)
    for bad in ([], [1, 0], [-1, 0], [0, np.nan], [[0, 1]]):
        with pytest.raises(ValueError, match="times must be"):
            SurvivalDisplay.survival(illness, "dead", bad)
    with pytest.raises(ValueError, match="the label 'gone'"):
        PrevalenceDisplay.observed_shares([["gone"]], [[0]], TIMES, STATES)
    with pytest.raises(ValueError, match="2 labels and 1 times"):
        PrevalenceDisplay.observed_shares([["ill", "ill"]], [[0]], TIMES, STATES)
    with pytest.raises(ValueError, match="curve 'a' has shape"):
        SurvivalDisplay(TIMES, {"a": [1]}, "dead")
    with pytest.raises(ValueError, match="expected has shape"):
        PrevalenceDisplay(TIMES, [[1]], STATES)
    with pytest.raises(ValueError, match="3 states need as many axes"):
        PrevalenceDisplay(TIMES, np.ones((4, 3)) / 3, STATES).plot(axes=[None])


def test_many_survival_curves_have_a_legend_above():
    labels = [f"state number {k} with a long name" for k in range(12)]
    rates = np.full((12, 12), 0.1) - np.diag([0.1] * 12)
    model = CTConstrainedHMM.from_parameters(np.full(12, 1 / 12), rates, states=labels)
    display = SurvivalDisplay.from_estimator(model, labels[0], times=[0, 1], start=labels[1:])
    display.figure_.canvas.draw()  # a layout that collapses would warn
    colors = {line.get_color() if isinstance(line.get_color(), str) else tuple(line.get_color())
              for line in display.ax_.lines}  # fmt: skip
    assert len(colors) == 11
    assert display.ax_.get_legend().get_window_extent().y0 >= display.ax_.bbox.y1 - 1
