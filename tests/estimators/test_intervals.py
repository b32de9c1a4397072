"""Confidence intervals against second differences of the likelihood, and against R's msm."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from skchmm import ConstrainedHMM, CTConstrainedHMM
from skchmm.constraints import NoReentry
from skchmm.emissions import (
    Gaussian,
    Poisson,
)
from skchmm.emissions.scales import scales_of
from skchmm.estimators.intervals import Coordinates
from skchmm.estimators.likelihood import Data

from ..emissions.cases import KNOWN

START, TRANSMAT = np.array([0.6, 0.4]), np.array([[0.8, 0.2], [0.3, 0.7]])
Z = stats.norm.ppf(0.975)


def second_differences(function, n, h=1e-3):
    """Of a function of n numbers, at zero."""
    eye = h * np.eye(n)
    return np.array(
        [
            [
                (function(a + b) - function(a - b) - function(b - a) + function(-a - b))
                / (4 * h * h)
                for b in eye
            ]
            for a in eye
        ]
    )


def test_poisson_in_discrete_time_by_definition():
    """Log odds of start and transitions and log rates are the coordinates."""
    model = ConstrainedHMM.from_parameters(
        START, TRANSMAT, emission=Poisson.from_parameters([[2.0], [7.0]]), random_state=0
    )
    X, _ = model.sample([40, 30, 20, 15, 30])
    model = ConstrainedHMM(2, emission="poisson", tol=1e-13, n_iter=2000, random_state=0).fit(X)

    def moved(by):
        odds = np.array([0.0, by[0]])
        start = model.startprob_ * np.exp(odds)
        rows = model.transmat_ * np.exp([[0.0, by[1]], [0.0, by[2]]])
        rates = model.emission_.rates_ * np.exp(by[3:, None])
        other = ConstrainedHMM.from_parameters(
            start / start.sum(), rows / rows.sum(axis=1, keepdims=True),
            emission=Poisson.from_parameters(rates),
        )  # fmt: skip
        return other.log_likelihood(X).sum()

    deviation = Z * np.sqrt(np.diagonal(np.linalg.inv(-second_differences(moved, 5))))
    found = model.confidence_intervals(X)
    assert list(found) == ["startprob_", "transmat_", "rates_"]
    lower, upper = found["rates_"]
    expected = model.emission_.rates_[:, 0] * np.exp(np.outer([-1, 1], deviation[3:]))
    np.testing.assert_allclose([lower[:, 0], upper[:, 0]], expected, rtol=1e-4)
    for name, values, mine in (
        ("startprob_", model.startprob_[1], deviation[0]),
        ("transmat_", model.transmat_[:, 1], deviation[1:3]),
    ):
        odds = values / (1 - values) * np.exp(np.multiply.outer([-1, 1], mine))
        bounds = [bound[..., 1] for bound in found[name]]
        np.testing.assert_allclose(bounds, odds / (1 + odds), rtol=1e-4)
    # of two that sum to 1, one interval is the mirror image of the other
    lower, upper = found["transmat_"]
    np.testing.assert_allclose(lower[:, 0], 1 - upper[:, 1], rtol=1e-9)


def test_rates_in_continuous_time_by_definition():
    generator = np.array([[-0.5, 0.3, 0.2], [0.4, -0.7, 0.3], [0.0, 0.0, 0.0]])
    emission = Gaussian.from_parameters([[0.0], [3.0], [6.0]], np.ones((3, 1)))
    model = CTConstrainedHMM.from_parameters([1.0, 0.0, 0.0], generator, emission=emission)
    rng = np.random.default_rng(0)
    times = [np.cumsum(rng.exponential(size=8)) for _ in range(40)]
    X, _ = model.sample(times=times, random_state=0)
    fixed = np.where(generator > 0, np.nan, 0.0)
    model = CTConstrainedHMM(
        3, emission=emission, init="fitted", startprob_fixed=[1.0, 0.0, 0.0],
        generator_fixed=fixed, tol=1e-13, n_iter=3000, smoothing=0,
    )  # fmt: skip
    known = CTConstrainedHMM.from_parameters([1.0, 0.0, 0.0], generator, emission=emission)
    for name in ("startprob_", "generator_", "emission_", "classes_", "n_features_in_"):
        setattr(model, name, getattr(known, name))
    model.fit(X, times=times)
    pairs = [(0, 1), (0, 2), (1, 0), (1, 2)]

    def moved(by):
        Q = np.zeros((3, 3))
        for (i, j), b in zip(pairs, by):
            Q[i, j] = model.generator_[i, j] * np.exp(b)
        means = model.emission_.means_ + by[4:7, None]
        covars = model.emission_.covars_ * np.exp(by[7:, None])
        other = CTConstrainedHMM.from_parameters(
            [1.0, 0.0, 0.0], Q, emission=Gaussian.from_parameters(means, covars)
        )
        return other.log_likelihood(X, times=times).sum()

    covariance = np.linalg.inv(-second_differences(moved, 10))
    deviation = Z * np.sqrt(np.diagonal(covariance))
    found = model.confidence_intervals(X, times=times)
    for k, (i, j) in enumerate(pairs):
        expected = model.generator_[i, j] * np.exp(deviation[k] * np.array([-1, 1]))
        np.testing.assert_allclose([b[i, j] for b in found["generator_"]], expected, rtol=1e-3)
    np.testing.assert_allclose(
        found["means_"][1] - model.emission_.means_, deviation[4:7, None], rtol=1e-3
    )
    exits = np.array([model.generator_[0, 1], model.generator_[0, 2]])
    slopes = exits / exits.sum()
    spread = Z * np.sqrt(slopes @ covariance[:2, :2] @ slopes)
    np.testing.assert_allclose(
        [b[0, 0] for b in found["generator_"]], -exits.sum() * np.exp([spread, -spread]), rtol=1e-3
    )
    for bound in (*found["startprob_"], found["generator_"][0][2]):
        assert np.isin(bound, [0.0, 1.0]).all()  # given


@pytest.mark.parametrize("name", KNOWN)
def test_scores_are_derivatives_of_the_likelihood(name):
    model = ConstrainedHMM.from_parameters(START, TRANSMAT, emission=KNOWN[name])
    X, _ = model.sample([30, 20], random_state=0)
    sequences = model._read(X, None, None)
    data = Data(
        sequences, None, None, model.emission_.encode(sequences.X, sequences.offsets, reset=False)
    )
    coordinates = Coordinates(model, data)

    def value(by):
        (start, transmat), emission = coordinates.at(by)
        other = ConstrainedHMM.from_parameters(start, transmat, emission=emission)
        return other.log_likelihood(X).sum()

    n, h = coordinates.n_free, 1e-5
    assert n == model.n_parameters_
    expected = [(value(h * e) - value(-h * e)) / (2 * h) for e in np.eye(n)]
    np.testing.assert_allclose(coordinates.score(np.zeros(n)), expected, rtol=1e-4, atol=1e-4)
    assert all(
        scale.moved(np.zeros(scale.n_free)) == pytest.approx(scale.values)
        for *_, scale in scales_of(model.emission_)
    )


def test_msm_finds_the_same_rates_and_intervals():
    """The package msm of R on the same data; tests/oracles/msm has what was run."""
    folder = Path(__file__).parent.parent / "oracles" / "msm"
    oracle = json.loads((folder / "msm.json").read_text())
    table = pd.read_csv(folder / "illness_death.csv")
    X, data = table[["marker"]].to_numpy(), {"times": table["time"], "groups": table["subject"]}
    known = CTConstrainedHMM.from_parameters(
        [1.0, 0.0, 0.0], [[0.0, 0.25, 0.1], [0.15, 0.0, 0.3], [0.0, 0.0, 0.0]],
        emission=Gaussian.from_parameters([[0.0], [2.0], [5.0]], [[1.0], [0.64], [0.25]]),
        init="fitted", startprob_fixed=[1.0, 0.0, 0.0], tol=1e-12, n_iter=3000, smoothing=0,
        generator_fixed=[[0.0, np.nan, np.nan], [np.nan, 0.0, np.nan], [0.0, 0.0, 0.0]],
    )  # fmt: skip
    model = known.fit(X, **data)
    assert -2 * model.score(X, **data) == pytest.approx(oracle["minus_2_log_likelihood"], abs=1e-4)
    intervals = model.confidence_intervals(X, **data)
    pairs = ([0, 0, 1, 1], [1, 2, 0, 2])
    rates = [matrix[pairs] for matrix in (model.generator_, *intervals["generator_"])]
    np.testing.assert_allclose(rates, oracle["rates"], rtol=2e-3)
    means = [m[:, 0] for m in (model.emission_.means_, *intervals["means_"])]
    deviations = [np.sqrt(v[:, 0]) for v in (model.emission_.covars_, *intervals["covars_"])]
    expected = np.array(oracle["mean_sd"])
    np.testing.assert_allclose(means, expected[:, ::2], atol=2e-3)
    np.testing.assert_allclose(deviations, expected[:, 1::2], rtol=2e-3)


def test_labels_and_rules():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 1)) + 4 * np.repeat([0, 1, 0], 20)[:, None]
    y = np.repeat([0, 1, 0], 20)
    model = ConstrainedHMM(constraints=NoReentry(1), smoothing=0.0).fit(X, y)
    lower, upper = model.confidence_intervals(X, y)["means_"]
    for state in (0, 1):
        mine = X[y == state, 0]
        error = Z * mine.std() / np.sqrt(len(mine))
        np.testing.assert_allclose(
            [lower[state, 0], upper[state, 0]], mine.mean() + [-error, error], rtol=1e-5
        )
    lower, upper = model.confidence_intervals(X, y, level=0.5)["transmat_"]
    assert ((lower < model.transmat_) & (model.transmat_ < upper)).all()
    assert (lower > 0).all()
    assert (upper < 1).all()


def test_bootstrap_agrees_where_there_are_many_data():
    model = ConstrainedHMM.from_parameters(
        START, TRANSMAT, emission=Gaussian.from_parameters([[0.0], [4.0]], [[1.0], [1.0]])
    )
    X, _ = model.sample([60] * 6, random_state=1)
    X[0][3] = np.nan
    model = ConstrainedHMM(2, tol=1e-8, random_state=0).fit(X)
    exact = model.confidence_intervals(X)
    drawn = model.confidence_intervals(X, method="bootstrap", n_draws=60, random_state=0)
    again = model.confidence_intervals(X, method="bootstrap", n_draws=60, random_state=0)
    assert list(exact) == list(drawn)
    np.testing.assert_array_equal(drawn["means_"], again["means_"])
    for name in ("transmat_", "means_"):
        width = exact[name][1] - exact[name][0]
        assert (np.abs(np.subtract(exact[name], drawn[name])) < 0.5 * width).all()


def test_bootstrap_in_continuous_time_and_of_tables():
    emission = Poisson.from_parameters([[1.0], [8.0]])
    model = CTConstrainedHMM.from_parameters(START, [[-0.5, 0.5], [0.3, -0.3]], emission=emission)
    times = [np.cumsum(np.random.default_rng(s).exponential(size=20)) for s in range(5)]
    X, _ = model.sample(times=times, random_state=0)
    found = model.confidence_intervals(
        X, times=times, method="bootstrap", n_draws=5, random_state=0
    )
    assert (found["generator_"][0][0, 1] > 0) and (found["generator_"][1][0, 0] < 0)
    frame = pd.DataFrame(
        {
            "x": np.r_[np.zeros(20), np.full(20, 5.0)] + np.random.default_rng(0).normal(size=40),
            "s": list("ab" * 10 + "bc" * 10),
        }
    )
    table = ConstrainedHMM(2, random_state=0, tol=1e-9, n_iter=500).fit(frame)
    for method in ("information", "bootstrap"):
        names = table.confidence_intervals(frame, method=method, n_draws=4, random_state=0)
        assert {"x__means_", "s__probabilities_"} < set(names)


def test_mistakes():
    X = np.random.default_rng(0).normal(size=(20, 1))
    model = ConstrainedHMM(2, random_state=0, n_iter=5, tol=1.0).fit(X)
    with pytest.raises(ValueError, match="method must be"):
        model.confidence_intervals(X, method="jackknife")
    for level in (95, None, "high"):
        with pytest.raises(ValueError, match="level must be between 0 and 1"):
            model.confidence_intervals(X, level=level)
    with pytest.raises(ValueError, match="n_draws must be"):
        model.confidence_intervals(X, method="bootstrap", n_draws=0)
