"""Panel data, exact deaths and lost follow-up, against R's msm; tests/oracles/msm has what ran."""

import json
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.linalg import expm

from skchmm import CTConstrainedHMM
from skchmm.emissions import Categorical
from skchmm.plotting import PrevalenceDisplay, SurvivalDisplay

FOLDER = Path(__file__).parent.parent / "oracles" / "msm"
STATES = ["well", "mild", "severe", "dead"]
ALIVE = frozenset(STATES[:3])
NAN = np.nan
POSSIBLE = np.array([[0, NAN, 0, NAN], [NAN, 0, NAN, NAN], [0, NAN, 0, NAN], [0, 0, 0, 0]])
LEARNING = {"startprob_fixed": [1, 0, 0, 0], "smoothing": 0, "n_iter": 2000, "tol": 1e-13}


@pytest.fixture(scope="module")
def oracle():
    return json.loads((FOLDER / "panel.json").read_text())


@pytest.fixture(scope="module")
def table():
    return pd.read_csv(FOLDER / "panel.csv")


def known_states(column):
    known = np.empty(len(column), dtype=object)
    known[:] = [ALIVE if s == 99 else STATES[s - 1] for s in column]
    return known


def seen_states(column):
    return np.array([None if s == 99 else STATES[s - 1] for s in column], dtype=object)


def fit_panel(table, **params):
    y, data = known_states(table["state"]), {"times": table["time"], "groups": table["subject"]}
    X = seen_states(table["state"])
    model = CTConstrainedHMM(
        states=STATES, panel=True, generator_fixed=POSSIBLE, **(LEARNING | params)
    ).fit(X, y, **data)
    return model, -2 * model.log_likelihood(X, known=y, **data).sum()


@pytest.fixture(scope="module")
def exact(table):
    return fit_panel(table, exact_entry="dead")


def test_exact_deaths_and_censored_states(exact, oracle, table):
    model, minus_2_log_likelihood = exact
    assert minus_2_log_likelihood == pytest.approx(oracle["minus_2_log_likelihood"], abs=1e-5)
    np.testing.assert_allclose(model.generator_, oracle["rates"], rtol=1e-4)
    X, y = seen_states(table["state"]), known_states(table["state"])
    data = {"times": table["time"], "groups": table["subject"]}
    lower, upper = model.confidence_intervals(X, y, **data)["generator_"]
    off = np.isnan(POSSIBLE)
    np.testing.assert_allclose(lower[off], np.array(oracle["lower"])[off], rtol=2e-3)
    np.testing.assert_allclose(upper[off], np.array(oracle["upper"])[off], rtol=2e-3)


def test_times_and_survival(exact, oracle):
    model, _ = exact
    np.testing.assert_allclose(model.sojourn_times(), [*oracle["sojourn"], np.inf], rtol=1e-4)
    np.testing.assert_allclose(
        model.expected_time_to("dead"), [*oracle["time_to_death"], 0.0], rtol=1e-4
    )
    np.testing.assert_allclose(
        model.expected_time_to(["severe", "dead"])[:2], oracle["time_to_severe_or_death"], rtol=1e-4
    )
    times = [1, 5, 12]
    expected = oracle["survival_from_1"]
    np.testing.assert_allclose(
        SurvivalDisplay.survival(model, "dead", times, start="well"), expected, rtol=1e-4
    )
    one_visit = model.predict_proba(["well"], times=[3.0], at=np.add(times, 3.0))
    np.testing.assert_allclose(1 - one_visit[:, 3], expected, rtol=1e-4)


def test_deaths_that_are_found_at_visits(table, oracle):
    model, minus_2_log_likelihood = fit_panel(table)
    expected = oracle["visits"]
    assert minus_2_log_likelihood == pytest.approx(expected["minus_2_log_likelihood"], abs=1e-5)
    np.testing.assert_allclose(model.generator_, expected["rates"], rtol=1e-3)


@pytest.mark.parametrize("semantics", ["path", "observed"])
def test_states_that_are_seen_with_error(table, oracle, semantics):
    expected = oracle["hidden"]
    errors = np.array(expected["errors"])
    exam = Categorical.from_parameters(np.diag(1 - errors.sum(axis=1)) + errors, symbols=STATES)
    model = CTConstrainedHMM.from_parameters(
        [1, 0, 0, 0], expected["rates"], states=STATES, emission=exam, exact_entry="dead",
        semantics=semantics,
    )  # fmt: skip
    X, known = seen_states(table["seen"]), np.full(len(table), None)
    known[table["seen"] == 99] = ALIVE
    found = model.log_likelihood(X, known=known, times=table["time"], groups=table["subject"])
    assert -2 * found.sum() == pytest.approx(expected["minus_2_log_likelihood"], abs=1e-5)


def test_prevalence(table, oracle):
    expected, at = oracle["prevalence"], [0, 1, 2.5, 5, 8]
    seen = table[table["state"] != 99]
    groups = [group for _, group in seen.groupby("subject")]
    y = [[STATES[s - 1] for s in group["state"]] for group in groups]
    times = [group["time"].to_numpy() for group in groups]
    shares, _ = PrevalenceDisplay.observed_shares(y, times, at, STATES, final=["dead"])
    np.testing.assert_allclose(100 * shares, expected["observed"], atol=1e-6)
    model = CTConstrainedHMM.from_parameters([1, 0, 0, 0], expected["rates"], states=STATES)
    found = PrevalenceDisplay.expected_shares(model, at)
    np.testing.assert_allclose(100 * found, expected["expected"], atol=1e-4)


def test_prevalence_with_exact_deaths():
    """Nobody is dead before the day of death, nor known to be alive after being lost."""
    y = [["well", "dead"], ["well", {"well", "mild"}]]
    times, at = [[0.0, 4.0], [0.0, 6.0]], [0, 3, 4, 9]
    shares, n = PrevalenceDisplay.observed_shares(
        y, times, at, STATES, final=["dead"], exact=["dead"]
    )
    assert n.tolist() == [2, 1, 1, 1]
    assert shares[:, [0, 3]].tolist() == [[1, 0], [1, 0], [0, 1], [0, 1]]


def test_heart_transplants_of_msm():
    """The likelihood of the data that come with msm, where R and msm are installed."""
    script = """
    suppressMessages(library(msm))
    Q <- rbind(c(0, 0.13, 0, 0.04), c(0.22, 0, 0.34, 0.05), c(0, 0.13, 0, 0.3), c(0, 0, 0, 0))
    fit <- msm(state ~ years, subject = PTNUM, data = cav, qmatrix = Q, deathexact = 4,
               fixedpars = TRUE)
    cat(sprintf("%.8f\\n", fit$minus2loglik))
    write.csv(cav[, c("PTNUM", "years", "state")], row.names = FALSE)
    """
    if shutil.which("Rscript") is None:
        pytest.skip("needs R")
    done = subprocess.run(["Rscript", "-e", script], capture_output=True, text=True, check=False)
    if done.returncode and "no package" in done.stderr:
        pytest.skip("needs the package msm of R")
    expected, _, *rows = done.stdout.splitlines()
    subject, times, state = np.array([row.split(",") for row in rows], dtype=float).T
    rates = [[0, 0.13, 0, 0.04], [0.22, 0, 0.34, 0.05], [0, 0.13, 0, 0.3], [0, 0, 0, 0]]
    model = CTConstrainedHMM.from_parameters(
        [1, 0, 0, 0], rates, states=STATES, exact_entry="dead",
        emission=Categorical.from_parameters(np.eye(4), symbols=STATES),
    )  # fmt: skip
    X = seen_states(state.astype(int))
    found = -2 * model.score(X, times=times, groups=subject)
    assert found == pytest.approx(float(expected), abs=1e-6)


# --------------------------------------------------------------------- rates from labels
def test_visits_make_counted_rates_too_low():
    """EM is the remedy, as the warning says; the truth is known here."""
    Q = np.array([[-1.0, 1.0], [0.6, -0.6]])
    P = expm(Q)
    rng, y = np.random.default_rng(0), [0]
    for _ in range(3000):
        y.append(rng.choice(2, p=P[y[-1]]))
    X, y, times = np.array(y), np.array(y), np.arange(3001.0)
    with pytest.warns(UserWarning, match=r"changes in \d+% of the gaps.*panel=True") as caught:
        counted = CTConstrainedHMM(smoothing=0).fit(X, y, times=times)
    said = int(str(caught[0].message).split("too low, by ")[1].split("%")[0]) / 100
    truth = -np.trace(Q)
    assert 0.2 < said < 1 + np.trace(counted.generator_) / truth
    panel = CTConstrainedHMM(smoothing=0, panel=True, tol=1e-10, n_iter=500).fit(X, y, times=times)
    assert -np.trace(panel.generator_) == pytest.approx(truth, rel=0.1)
    np.testing.assert_allclose(expm(panel.generator_), empirical(y), atol=1e-4)


def empirical(y):
    counts = np.zeros((2, 2))
    np.add.at(counts, (y[:-1], y[1:]), 1)
    return counts / counts.sum(axis=1, keepdims=True)


def test_panel_has_no_partial_fit():
    with pytest.raises(ValueError, match="panel=True"):
        CTConstrainedHMM(panel=True).partial_fit([0, 1], [0, 1], times=[0.0, 1.0])
