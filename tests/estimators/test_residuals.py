"""Pseudo-residuals against their definition, and that they are uniform under the model."""

import itertools

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from skchmm import ConstrainedHMM, CTConstrainedHMM, satisfies
from skchmm.constraints import AtMostVisits, NoReentry, Precedence
from skchmm.emissions import (
    Categorical,
    Gaussian,
    Poisson,
)

from ..emissions.cases import KNOWN

START, TRANSMAT = [0.6, 0.4], [[0.7, 0.3], [0.2, 0.8]]
RULES = {
    "free": None,
    "rules": [Precedence("b", "a"), NoReentry("a")],
    "counts": [AtMostVisits("b", 1)],
}


def enumerated(model, log_p, cdf, kind):
    """Sums over all paths that the rules allow."""
    T, S = log_p.shape
    found = np.empty(T)
    for t in range(T):
        weights = np.full(S, -np.inf)
        for path in itertools.product(range(S), repeat=T):
            if not satisfies([model.classes_[s] for s in path], model.constraints_):
                continue
            logs = np.log(model.startprob_[path[0]])
            logs += sum(np.log(model.transmat_[i, j]) for i, j in itertools.pairwise(path))
            seen = range(t) if kind == "forecast" else (k for k in range(T) if k != t)
            logs += sum(log_p[k, path[k]] for k in seen)
            weights[path[t]] = np.logaddexp(weights[path[t]], logs)
        weights = np.exp(weights - weights.max())
        found[t] = cdf[t] @ weights / weights.sum()
    return found


@pytest.mark.parametrize("kind", ["ordinary", "forecast"])
@pytest.mark.parametrize("rules", RULES)
def test_definition(kind, rules):
    emission = Gaussian.from_parameters([[0.0], [60.0]], [[1.0], [4.0]])
    model = ConstrainedHMM.from_parameters(
        START, TRANSMAT, states=["a", "b"], emission=emission, constraints=RULES[rules]
    )
    X = np.array([[58.0], [61.0], [0.5], [-1.0], [62.0]])[: 4 if rules == "rules" else 5]
    laws = [stats.norm(0, 1), stats.norm(60, 2)]
    log_p = np.stack([law.logpdf(X[:, 0]) for law in laws], axis=1)
    cdf = np.stack([law.cdf(X[:, 0]) for law in laws], axis=1)
    expected = enumerated(model, log_p, cdf, kind)
    np.testing.assert_allclose(model.pseudo_residuals(X, kind=kind)[:, 0], expected, atol=1e-9)


def test_states_that_cannot_have_produced_a_symbol_are_expected_all_the_same():
    emission = Categorical.from_parameters([[1.0, 0.0], [0.0, 1.0]])
    model = ConstrainedHMM.from_parameters(START, TRANSMAT, states=["a", "b"], emission=emission)
    X = np.array([0, 1, 1])
    expected = 0.5 * np.array([0.7, 0.0, 0.0]) + 0.0
    for t in range(3):
        # given the neighbours, which are known
        weights = np.array([1.0, 1.0])
        weights = weights * (START if t == 0 else np.array(TRANSMAT)[X[t - 1]])
        weights = weights * (1.0 if t == 2 else np.array(TRANSMAT)[:, X[t + 1]])
        share = weights[0] / weights.sum()
        expected[t] = share / 2 if X[t] == 0 else share + (1 - share) / 2
    np.testing.assert_allclose(model.pseudo_residuals(X)[:, 0], expected, atol=1e-12)


@pytest.mark.parametrize("name", KNOWN)
@pytest.mark.parametrize("kind", ["ordinary", "forecast"])
def test_uniform_under_the_model(name, kind):
    model = ConstrainedHMM.from_parameters(START, TRANSMAT, emission=KNOWN[name])
    X, _ = model.sample(3000, random_state=0)
    residuals = model.pseudo_residuals(X, kind=kind, random_state=1)
    assert residuals.shape == (3000, KNOWN[name].n_features_in_)
    for column in residuals.T:
        assert stats.kstest(column, "uniform").pvalue > 1e-3
    # the model with its states' parts exchanged is wrong
    other = ConstrainedHMM.from_parameters(
        [0.9, 0.1], [[0.95, 0.05], [0.6, 0.4]], emission=KNOWN[name]
    )
    wrong = other.pseudo_residuals(X, kind="forecast", random_state=1)
    assert min(stats.kstest(column, "uniform").pvalue for column in wrong.T) < 1e-3


def test_forecasts_are_uniform_under_rules():
    rules = [Precedence("b", "a"), NoReentry("a")]
    emission = Gaussian.from_parameters([[0.0], [2.0]], [[1.0], [1.0]])
    model = ConstrainedHMM.from_parameters(
        START, TRANSMAT, states=["a", "b"], emission=emission, constraints=rules
    )
    X, _ = model.sample(8, 400, random_state=0)
    for kind in ("ordinary", "forecast"):
        residuals = np.concatenate(model.pseudo_residuals(X, kind=kind))[:, 0]
        assert stats.kstest(residuals, "uniform").pvalue > 1e-3


@pytest.mark.parametrize("semantics", ["path", "observed"])
def test_continuous_time(semantics):
    emission = Gaussian.from_parameters([[0.0], [3.0]], [[1.0], [1.0]])
    model = CTConstrainedHMM.from_parameters(
        START, [[-0.5, 0.5], [0.3, -0.3]], emission=emission, semantics=semantics
    )
    times = np.cumsum(np.random.default_rng(0).exponential(size=(40, 30)), axis=1)
    X, _ = model.sample(times=list(times), random_state=0)
    for kind in ("ordinary", "forecast"):
        residuals = np.concatenate(model.pseudo_residuals(X, kind=kind, times=list(times)))[:, 0]
        assert stats.kstest(residuals, "uniform").pvalue > 1e-3


def test_missing_values_mid_points_and_forms():
    model = ConstrainedHMM.from_parameters(START, TRANSMAT, emission=KNOWN["product"])
    X = model.sample(6, random_state=0)[0].astype(float)
    X[2, 1] = np.nan
    X[3] = np.nan
    residuals = model.pseudo_residuals(X)
    np.testing.assert_array_equal(np.isnan(residuals), np.isnan(X))
    parts = model.pseudo_residuals([X[:4], X[4:]])
    assert [part.shape for part in parts] == [(4, 3), (2, 3)]
    one = ConstrainedHMM.from_parameters([1.0], [[1.0]], emission=Poisson.from_parameters([[2.0]]))
    middle = stats.poisson(2).cdf([2, 0]) - stats.poisson(2).pmf([2, 0]) / 2
    np.testing.assert_allclose(one.pseudo_residuals(np.array([[2], [0]]))[:, 0], middle)


def test_mistakes():
    model = ConstrainedHMM.from_parameters(START, TRANSMAT)
    with pytest.raises(ValueError, match="no distribution function"):
        model.pseudo_residuals(np.zeros((2, 2)))
    with pytest.raises(ValueError, match="kind must be 'ordinary' or 'forecast'"):
        model.pseudo_residuals(np.zeros((2, 2)), kind="normal")
    X, y = np.array(list("aabbab")), np.array(list("xxyyxy"))
    deep = ConstrainedHMM(emission=Categorical(order=1)).fit(X, y)
    with pytest.raises(ValueError, match="use kind='forecast'"):
        deep.pseudo_residuals(X)
    assert deep.pseudo_residuals(X, kind="forecast").shape == (6, 1)
    frame = pd.DataFrame({"x": [1.0, 2.0, 9.0, 8.0], "s": list("aabb")})
    mixed = ConstrainedHMM().fit(frame, list("uuvv"))
    assert mixed.pseudo_residuals(frame).shape == (4, 2)
