"""The distributions of numeric columns against scipy.stats, and what no data may break."""

import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize, stats
from sklearn.base import clone

from skchmm import ConstrainedHMM
from skchmm.constraints import AtMostVisits, Precedence
from skchmm.emissions import (
    Bernoulli,
    Exponential,
    Gamma,
    LogNormal,
    NegativeBinomial,
    StudentT,
    VonMises,
)
from skchmm.emissions.columns import falling_root
from skchmm.emissions.negative_binomial import NODES, log_rising, tally

from .cases import responsibilities

# name -> scipy's distribution, some parameters of three states and two columns, and values
FAMILIES = {
    "bernoulli": (
        Bernoulli,
        lambda p: stats.bernoulli(p),
        ([[0.2, 0.9], [0.5, 0.01], [1.0, 0.0]],),
        lambda rng, n: rng.integers(2, size=(n, 2)).astype(float),
    ),
    "exponential": (
        Exponential,
        lambda rate: stats.expon(scale=1 / rate),
        ([[0.1, 3.0], [1.0, 1e-5], [20.0, 1e4]],),
        lambda rng, n: rng.exponential(2.0, size=(n, 2)),
    ),
    "gamma": (
        Gamma,
        lambda shape, scale: stats.gamma(shape, scale=scale),
        ([[0.1, 3.0], [1.0, 500.0], [2.0, 1e4]], [[1.0, 2.0], [0.1, 0.01], [3.0, 1e-4]]),
        lambda rng, n: rng.gamma(2.0, 3.0, size=(n, 2)),
    ),
    "lognormal": (
        LogNormal,
        lambda mean, covar: stats.lognorm(np.sqrt(covar), scale=np.exp(mean)),
        ([[0.1, 3.0], [1.0, -2.0], [2.0, 0.0]], [[1.0, 2.0], [0.1, 0.01], [3.0, 1e-4]]),
        lambda rng, n: rng.gamma(2.0, 3.0, size=(n, 2)),
    ),
    "negative_binomial": (
        NegativeBinomial,
        lambda mean, size: stats.nbinom(size, size / (size + mean)),
        ([[0.1, 3.0], [1.0, 50.0], [900.0, 1e4]], [[1.0, 0.2], [0.01, 40.0], [3.0, 150.0]]),
        lambda rng, n: rng.poisson(rng.gamma(0.8, 60.0, size=(n, 2))).astype(float),
    ),
    "student_t": (
        StudentT,
        lambda loc, scale, dof: stats.t(dof, loc, scale),
        (
            [[0.1, 3.0], [1.0, -50.0], [9.0, 1e4]],
            [[1.0, 0.2], [0.01, 40.0], [3.0, 1.0]],
            [[1.0, 0.3], [4.0, 30.0], [1e3, 2.0]],
        ),
        lambda rng, n: 5 + 3 * rng.standard_t(2.5, size=(n, 2)),
    ),
    "von_mises": (
        VonMises,
        lambda loc, kappa: stats.vonmises(kappa, loc),
        ([[0.1, 3.0], [1.0, -3.0], [0.0, 2.0]], [[1.0, 0.2], [1e-5, 40.0], [300.0, 5e3]]),
        lambda rng, n: rng.vonmises(1.0, 2.0, size=(n, 2)) + 2 * np.pi * rng.integers(3),
    ),
}
each_family = pytest.mark.parametrize("name", FAMILIES)


def log_density(frozen, x):
    return frozen.logpmf(x) if hasattr(frozen, "logpmf") else frozen.logpdf(x)


def encoded(emission, X):
    return emission.encode(X, reset=True)


@each_family
def test_log_likelihood_is_that_of_scipy(name):
    family, frozen, parameters, values = FAMILIES[name]
    emission = family.from_parameters(*parameters)
    X = values(np.random.default_rng(0), 40)
    X[3, 1] = X[5, 0] = np.nan
    X[7] = np.nan
    parameters = np.asarray(parameters)
    expected = np.array(
        [
            [
                sum(
                    log_density(frozen(*parameters[:, s, j]), X[t, j])
                    for j in range(2)
                    if not np.isnan(X[t, j])
                )
                for s in range(3)
            ]
            for t in range(40)
        ]
    )
    found = emission.log_likelihood(emission.encode(X, reset=False)).dense()
    np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-8)


@each_family
def test_draws_have_the_distribution(name):
    family, frozen, parameters, _ = FAMILIES[name]
    emission = family.from_parameters(*parameters)
    drawn = emission.sample(np.full(4000, 1), random_state=0)
    for j, column in enumerate(drawn.T):
        law = frozen(*np.asarray(parameters)[:, 1, j])
        if hasattr(law, "logpmf"):
            # distance of the two distribution functions
            points = np.unique(column)
            share = np.searchsorted(np.sort(column), points, side="right") / len(column)
            assert np.abs(share - law.cdf(points)).max() < 0.03
        elif name == "von_mises":
            # scipy's function counts turns; both start at -pi
            points = np.sort(column)
            share = np.arange(1, len(points) + 1) / len(points)
            low = law.cdf(-np.pi)
            assert np.abs(share - (law.cdf(points) - low)).max() < 0.03
        else:
            assert stats.kstest(column, law.cdf).pvalue > 1e-4


def best_by_scipy(frozen, x, weights, start, transform):
    def loss(theta):
        value = -np.dot(weights, log_density(frozen(*transform(theta)), x)) / weights.sum()
        return value if np.isfinite(value) else 1e10

    options = {"maxiter": 20_000, "maxfev": 20_000, "xatol": 1e-7, "fatol": 1e-13}
    found = optimize.minimize(loss, start, method="Nelder-Mead", options=options)
    return transform(found.x), -found.fun


TRANSFORMS = {
    "bernoulli": ([0.0], lambda t: (1 / (1 + np.exp(-t[0])),)),
    "exponential": ([0.0], lambda t: (np.exp(t[0]),)),
    "gamma": ([0.0, 0.0], lambda t: tuple(np.exp(t))),
    "lognormal": ([0.0, 0.0], lambda t: (t[0], np.exp(t[1]))),
    "negative_binomial": ([3.0, 0.0], lambda t: tuple(np.exp(t))),
    "student_t": ([4.0, 0.0, 1.0], lambda t: (t[0], np.exp(t[1]), np.exp(t[2]))),
    "von_mises": ([0.5, 0.0], lambda t: (t[0], np.exp(t[1]))),
}


@each_family
def test_weighted_fit_is_the_maximum_that_scipy_finds(name):
    family, frozen, _, values = FAMILIES[name]
    rng = np.random.default_rng(1)
    X = values(rng, 150)
    X[::7, 1] = np.nan
    weights = rng.gamma(1.0, size=150)
    labels = np.arange(150) % 2
    emission = family()
    emission.fit_supervised(encoded(emission, X), labels, 2, weights)
    names = [f"{key}_" for key in _names(family)]
    for state, j in ((0, 1), (1, 0)):
        used = (labels == state) & ~np.isnan(X[:, j])
        best, value = best_by_scipy(frozen, X[used, j], weights[used], *TRANSFORMS[name])
        found = [getattr(emission, key)[state, j] for key in names]
        mine = np.dot(weights[used], log_density(frozen(*found), X[used, j])) / weights[used].sum()
        assert mine >= value - 1e-10
        np.testing.assert_allclose(found, best, rtol=2e-4, atol=2e-4)


def _names(family):
    return ["means", "covars"] if family is LogNormal else [n.rstrip("_") for n in family._neutral]


@each_family
def test_errors_name_column_and_value(name):
    family = FAMILIES[name][0]
    bad = {"bernoulli": 2.0, "exponential": -1.0, "negative_binomial": 1.5}.get(name, -3.0)
    X = pd.DataFrame({"speed": [1.0, 0.0, 1.0], "wait": [1.0, 1.0, bad]})
    if name in ("gamma", "lognormal"):
        X.loc[1, "speed"] = 1.0
    if name in ("student_t", "von_mises"):
        X = X.astype(object)
        X.loc[2, "wait"] = "long"
        with pytest.raises(ValueError, match="need numbers"):
            family().encode(X, reset=True)
        return
    message = rf"{family.__name__} emissions need .*, but row 2, column 'wait' of X is {bad:g}\."
    with pytest.raises(ValueError, match=message):
        family().encode(X, reset=True)
    with pytest.raises(ValueError, match="row 2, column 1 of X"):
        family().encode(X.to_numpy(), reset=True)


@each_family
def test_parameters_that_are_none_are_refused(name):
    family, _, parameters, _ = FAMILIES[name]
    for i, wrong in enumerate(parameters):
        broken = [np.array(values) for values in parameters]
        broken[i] = np.full(np.shape(wrong), np.nan)
        with pytest.raises(ValueError, match="finite"):
            family.from_parameters(*broken)
        if len(parameters) > 1:
            broken[i] = np.ones((3, 5))
            with pytest.raises(ValueError, match="shape"):
                family.from_parameters(*broken)
    with pytest.raises(ValueError):
        family.from_parameters(*([[-5.0, 5.0]] for _ in parameters))


DEGENERATE = {
    "constant": np.ones((12, 1)),
    "one value": np.array([[1.0]] + [[np.nan]] * 11),
    "all missing": np.full((12, 1), np.nan),
    "two values": np.tile([[0.0], [1.0]], (6, 1)),
    "zeros": np.zeros((12, 1)),
}


@each_family
@pytest.mark.parametrize("data", DEGENERATE)
def test_degenerate_data_give_no_nan(name, data):
    family, X = FAMILIES[name][0], DEGENERATE[data]
    if name in ("gamma", "lognormal"):
        X = X + 1.0
    emission = family()
    E = encoded(emission, X)
    labelled = clone(emission)
    labelled.fit_supervised(encoded(labelled, X), np.zeros(12, dtype=int), 2)
    for model in (emission, labelled):
        if model is emission:
            model.initialise(E, None, 3, init="kmeans", random_state=0)
            for _ in range(4):
                posteriors, value = responsibilities(model, E, 3)
                assert np.isfinite(value)
                model.maximise(model.accumulate(E, posteriors))
        for key in _names(family):
            assert np.isfinite(getattr(model, f"{key}_")).all()
        assert not np.isnan(model.log_likelihood(E).dense()).any()


@each_family
@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 10**6), scale=st.floats(-3, 3), with_rules=st.booleans())
def test_em_never_falls_with_and_without_rules(name, seed, scale, with_rules):
    family, _, _, values = FAMILIES[name]
    rng = np.random.default_rng(seed)
    X = values(rng, 60)
    if name in ("exponential", "gamma", "lognormal", "student_t"):
        X *= np.exp(scale)
    X[rng.random(X.shape) < 0.15] = np.nan
    rules = [Precedence(0, 1), AtMostVisits(2, 25)] if with_rules else None
    model = ConstrainedHMM(
        3, emission=family(), constraints=rules, n_iter=15, tol=0.0, random_state=seed
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        history = model.fit([X[:25], X[25:]]).history_
    assert np.isfinite(history).all()
    assert (np.diff(history) >= -1e-9 * np.abs(history[:-1])).all()


@pytest.mark.parametrize("size", [1e-3, 0.7, 50.0, 99.9, 100.1, 3e4, 1e9])
def test_log_rising_is_a_sum_of_logarithms(size):
    for x in (0, 1, 7, 300):
        expected = np.log(size + np.arange(x)).sum()
        np.testing.assert_allclose(log_rising(size, x), expected, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("size", [1e-3, 0.7, 50.0, 3e4])
def test_tallies_keep_the_sums_of_smooth_functions(size):
    rng = np.random.default_rng(0)
    counts = np.concatenate([np.arange(200.0), rng.integers(2**50, size=50), [2.0**53]])
    weights = rng.random((len(counts), 2))
    found = log_rising(size, NODES) @ tally(counts, weights)
    np.testing.assert_allclose(found, log_rising(size, counts) @ weights, rtol=1e-11)


def test_counts_like_poisson_get_a_large_size():
    emission = NegativeBinomial()
    E = encoded(emission, np.array([[3.0], [4.0], [3.0], [4.0]]))
    emission.fit_supervised(E, [0, 0, 0, 0], 1)
    poisson = stats.poisson(3.5).logpmf([3, 4, 3, 4])
    np.testing.assert_allclose(emission.log_likelihood(E).dense()[:, 0], poisson, atol=1e-5)


def test_roots_at_the_bounds_and_between():
    targets = np.array([0.0, 1.0, 2.5, 100.0])
    found = falling_root(lambda x: (targets - x**3, -3 * x**2), 0.5, 3.0, np.full(4, 2.9))
    np.testing.assert_allclose(found, [0.5, 1.0, 2.5 ** (1 / 3), 3.0], rtol=1e-12)


def test_booleans_and_names():
    X = np.array([[True], [False], [None], [True]], dtype=object)
    emission = Bernoulli()
    emission.fit_supervised(encoded(emission, X), [0, 0, 0, 0], 1)
    assert emission.probabilities_[0, 0] == pytest.approx(2 / 3)
    for name in FAMILIES:
        assert type(ConstrainedHMM(emission=name).emission) is str
        model = ConstrainedHMM(2, emission=name, n_iter=2, tol=1.0, random_state=0)
        model.fit(np.tile([[1.0], [1.0], [1.0]], (4, 1)))
        assert isinstance(model.emission_, FAMILIES[name][0])


def test_smoothing_counts_ones_and_zeros():
    emission = Bernoulli()
    E = encoded(emission, np.array([[1.0], [1.0]]))
    emission.fit_supervised(E, [0, 0], 1, smoothing=1.0)
    assert emission.probabilities_[0, 0] == pytest.approx(0.75)
