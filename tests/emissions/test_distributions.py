"""Likelihoods against scipy, M-steps against the objective they maximise."""

import copy

import numpy as np
import pytest
from scipy import stats
from sklearn.base import clone

from skchmm.emissions import GMM, Bernoulli, Categorical, Gaussian, Multinomial, Poisson
from skchmm.emissions.gaussian import full_covars

from .cases import CASES, COVARIANCE_TYPES, NAMES, counts, parameters, responsibilities, vectors

each_covariance = pytest.mark.parametrize("kind", COVARIANCE_TYPES)


def covariance(rng, kind, n, d):
    root = rng.standard_normal((n, d, d))
    full = root @ np.swapaxes(root, 1, 2) + 0.5 * np.eye(d)
    return {
        "spherical": full[:, 0, 0],
        "diag": np.diagonal(full, axis1=1, axis2=2).copy(),
        "full": full,
        "tied": full[0],
    }[kind]


def as_matrices(kind, covars, n, d):
    if kind == "tied":
        return np.repeat(covars[None], n, axis=0)
    return full_covars(covars, d)


def marginal_density(x, mean, covar):
    seen = ~np.isnan(x)
    if not seen.any():
        return 0.0
    return stats.multivariate_normal(mean[seen], covar[np.ix_(seen, seen)]).logpdf(x[seen])


@each_covariance
@pytest.mark.parametrize("missing", [0.0, 0.4])
@pytest.mark.parametrize("d", [1, 3])
def test_gaussian_density(kind, missing, d):
    rng = np.random.default_rng(0)
    X = vectors(rng, 40, d, missing)
    means, covars = rng.standard_normal((3, d)), covariance(rng, kind, 3, d)
    emission = Gaussian.from_parameters(means, covars, kind)
    found = emission.log_likelihood(emission.encode(X, reset=False)).dense()
    matrices = as_matrices(kind, covars, 3, d)
    expected = [[marginal_density(x, m, c) for m, c in zip(means, matrices)] for x in X]
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


@each_covariance
@pytest.mark.parametrize("missing", [0.0, 0.4])
def test_mixture_density(kind, missing):
    rng = np.random.default_rng(0)
    X = vectors(rng, 30, 2, missing)
    weights, means = rng.dirichlet(np.ones(3), size=2), rng.standard_normal((2, 3, 2))
    covars = np.stack([covariance(rng, kind, 3, 2) for _ in range(2)])
    emission = GMM.from_parameters(weights, means, covars, kind)
    found = emission.log_likelihood(emission.encode(X, reset=False)).dense()
    for state in range(2):
        matrices = as_matrices(kind, covars[state], 3, 2)
        for x, value in zip(X, found[:, state]):
            parts = [marginal_density(x, m, c) for m, c in zip(means[state], matrices)]
            assert value == pytest.approx(np.log(weights[state] @ np.exp(parts)), abs=1e-9)


@pytest.mark.parametrize("missing", [0.0, 0.4])
def test_poisson_and_multinomial_density(missing):
    rng = np.random.default_rng(0)
    X = counts(rng, 30, 3, missing)
    rates = rng.gamma(2.0, size=(2, 3))
    emission = Poisson.from_parameters(rates)
    found = emission.log_likelihood(emission.encode(X, reset=False)).dense()
    each = stats.poisson.logpmf(X[:, None, :], rates)
    np.testing.assert_allclose(found, np.nansum(each, axis=2), rtol=1e-10)

    X = X[~np.isnan(X).any(axis=1)]
    probabilities = np.array([[0.2, 0.3, 0.5], [0.6, 0.4, 0.0]])
    emission = Multinomial.from_parameters(probabilities)
    found = emission.log_likelihood(emission.encode(X, reset=False)).dense()
    expected = [[stats.multinomial.logpmf(x, x.sum(), p) for p in probabilities] for x in X]
    np.testing.assert_allclose(found, expected, rtol=1e-10)


@each_covariance
@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_large_offset_costs_no_digits(kind, missing):
    rng = np.random.default_rng(0)
    X = vectors(rng, 200, 3, missing)
    X = np.round(X * 2**20) / 2**20  # so that adding the offset is exact
    labels = rng.integers(2, size=200)

    def fit(offset):
        emission = Gaussian(kind)
        E = emission.encode(X + offset, reset=True)
        emission.fit_supervised(E, labels, 2)
        return emission, emission.log_likelihood(E).dense()

    near, log_near = fit(0.0)
    far, log_far = fit(2.0**20)
    np.testing.assert_allclose(far.means_ - 2.0**20, near.means_, atol=1e-6)
    np.testing.assert_allclose(far.covars_, near.covars_, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(log_far, log_near, atol=1e-6)


@each_covariance
def test_gaussian_update_is_the_weighted_mean_and_covariance(kind):
    rng = np.random.default_rng(0)
    X = vectors(rng)
    posteriors = rng.dirichlet(np.ones(3), size=len(X))
    emission = Gaussian(kind)
    emission.maximise(emission.accumulate(emission.encode(X, reset=True), posteriors))
    means, matrices = [], []
    for p in posteriors.T:
        means.append(p @ X / p.sum())
        centred = X - means[-1]
        matrices.append((centred.T * p) @ centred)
    weight = posteriors.sum(axis=0)
    matrices = np.array(matrices)
    each = matrices / weight[:, None, None]
    expected = {
        "full": each,
        "tied": matrices.sum(axis=0) / weight.sum(),
        "diag": np.diagonal(each, axis1=1, axis2=2),
        "spherical": np.trace(each, axis1=1, axis2=2) / 3,
    }
    np.testing.assert_allclose(emission.means_, means, rtol=1e-10)
    np.testing.assert_allclose(emission.covars_, expected[kind], rtol=1e-10)


def perturbed(emission, rng, scale):
    """A copy with parameters moved a little, still valid."""
    moved = copy.deepcopy(emission)
    matrices = getattr(emission, "covariance_type", None) in ("full", "tied")
    for (name, j), value in parameters(emission).items():
        if isinstance(emission, Bernoulli):
            value = np.clip(value + scale * rng.standard_normal(value.shape), 0.01, 0.99)
        elif name in ("probabilities_", "weights_"):
            value = value * np.exp(scale * rng.standard_normal(value.shape))
            value = value / value.sum(axis=-1, keepdims=True)
        elif name == "covars_" and matrices:
            turn = np.eye(value.shape[-1]) + scale * rng.standard_normal(value.shape)
            value = turn @ value @ np.swapaxes(turn, -1, -2)
        elif name in ("covars_", "rates_", "shapes_", "scales_", "sizes_", "dofs_", "kappas_"):
            value = value * np.exp(scale * rng.standard_normal(value.shape))
        else:
            value = value + scale * rng.standard_normal(value.shape)
        if isinstance(getattr(emission, name), list):
            getattr(moved, name)[j] = value
        else:
            setattr(moved, name, value)
    return moved


@pytest.mark.parametrize(
    ("emission", "data"),
    [case[1:] for case in CASES if not case[0].startswith(("gmm", "product"))],
    ids=[name for name in NAMES if not name.startswith(("gmm", "product"))],
)
def test_labelled_fit_is_a_maximum(emission, data):
    rng = np.random.default_rng(0)
    emission = clone(emission)
    E = emission.encode(data(rng), np.array([0, 60, 120]), reset=True)
    labels = rng.integers(2, size=120)
    weights = rng.random(120)
    emission.fit_supervised(E, labels, 2, weights)

    def objective(candidate):
        log_p = candidate.log_likelihood(E).dense()[np.arange(120), labels]
        return weights @ log_p

    best = objective(emission)
    for _ in range(100):
        scale = rng.choice([1e-3, 1e-2, 0.1])
        assert objective(perturbed(emission, rng, scale)) <= best + 1e-7 * abs(best)


@each_covariance
def test_mixture_update_maximises_the_expected_likelihood(kind):
    rng = np.random.default_rng(0)
    emission = GMM(2, covariance_type=kind)
    X = vectors(rng)
    E = emission.encode(X, reset=True)
    emission.initialise(E, None, 2, init="kmeans", random_state=0)
    posteriors, _ = responsibilities(emission, E, 2)
    joint = emission._log_joint(E).reshape(-1, 2, 2)
    shares = np.exp(joint - np.logaddexp.reduce(joint, axis=2)[:, :, None])

    def objective(candidate):
        return np.sum(posteriors[:, :, None] * shares * candidate._log_joint(E).reshape(-1, 2, 2))

    emission.maximise(emission.accumulate(E, posteriors))
    best = objective(emission)
    for _ in range(100):
        scale = rng.choice([1e-3, 1e-2, 0.1])
        assert objective(perturbed(emission, rng, scale)) <= best + 1e-9 * abs(best)


@each_covariance
@pytest.mark.parametrize("model", [Gaussian, GMM])
def test_variance_has_a_floor_that_em_respects(kind, model):
    rng = np.random.default_rng(0)
    # one state is a single repeated point, and two columns are copies of each other
    X = np.vstack([np.zeros((20, 2)), rng.standard_normal((40, 2)) + 5])
    X = np.hstack([X, X[:, :1]])
    emission = model(covariance_type=kind, min_covar=0.01)
    E = emission.encode(X, reset=True)
    emission.initialise(E, None, 3, init="kmeans", random_state=0)
    history = []
    for _ in range(30):
        posteriors, value = responsibilities(emission, E, 3)
        history.append(value)
        emission.maximise(emission.accumulate(E, posteriors))
    assert (np.diff(history) >= -1e-9 * np.abs(history[:-1])).all()
    smallest = np.linalg.eigvalsh(full_covars(emission._components()[1], 3)).min()
    assert smallest == pytest.approx(0.01, rel=1e-6) if kind != "tied" else smallest >= 0.0099999


def test_default_floor_follows_the_scale_of_the_data():
    rng = np.random.default_rng(0)
    X = 1e-6 * rng.standard_normal((100, 1))
    emission = Gaussian()
    emission.fit_supervised(emission.encode(X, reset=True), np.zeros(100, dtype=int), 1)
    assert emission.covars_[0, 0] == pytest.approx(X.var(), rel=1e-9)


@each_covariance
def test_parameters_are_counted(kind):
    n, m, d = 3, 2, 4
    matrix = d * (d + 1) // 2
    eye = np.eye(d)
    covars = {"spherical": np.ones(n), "diag": np.ones((n, d)), "full": [eye] * n, "tied": eye}
    emission = Gaussian.from_parameters(np.zeros((n, d)), covars[kind], kind)
    per_kind = {"spherical": n, "diag": n * d, "full": n * matrix, "tied": matrix}
    assert emission.n_parameters() == n * d + per_kind[kind]
    covars = {k: [v] * n if k == "tied" else np.stack([v] * m, 1) for k, v in covars.items()}
    emission = GMM.from_parameters(np.full((n, m), 0.5), np.zeros((n, m, d)), covars[kind], kind)
    per_kind = {"spherical": n * m, "diag": n * m * d, "full": n * m * matrix, "tied": n * matrix}
    assert emission.n_parameters() == n * m * d + per_kind[kind] + n * (m - 1)
    assert Poisson.from_parameters(np.ones((n, d))).n_parameters() == n * d
    assert Multinomial.from_parameters(np.full((n, d), 0.25)).n_parameters() == n * (d - 1)
    assert Categorical.from_parameters(np.full((n, d), 0.25)).n_parameters() == n * (d - 1)


@each_covariance
def test_gaussian_draws_have_the_right_moments(kind):
    rng = np.random.default_rng(0)
    means, covars = 3 * rng.standard_normal((2, 2)), covariance(rng, kind, 2, 2)
    path = rng.integers(2, size=20_000)
    drawn = Gaussian.from_parameters(means, covars, kind).sample(path, random_state=0)
    matrices = as_matrices(kind, covars, 2, 2)
    for state in range(2):
        rows = drawn[path == state]
        np.testing.assert_allclose(rows.mean(axis=0), means[state], atol=0.15)
        np.testing.assert_allclose(np.cov(rows.T), matrices[state], rtol=0.15, atol=0.15)


def test_other_draws_have_the_right_moments():
    path = np.repeat([0, 1], 10_000)
    rates = np.array([[1.0, 4.0], [9.0, 0.5]])
    drawn = Poisson.from_parameters(rates).sample(path, random_state=0)
    for s in range(2):
        np.testing.assert_allclose(drawn[path == s].mean(axis=0), rates[s], rtol=0.05)
        np.testing.assert_allclose(drawn[path == s].var(axis=0), rates[s], rtol=0.1)
    p = np.array([[0.2, 0.8], [0.9, 0.1]])
    drawn = Multinomial.from_parameters(p, n_trials=5).sample(path, random_state=0)
    assert (drawn.sum(axis=1) == 5).all()
    for s in range(2):
        np.testing.assert_allclose(drawn[path == s].mean(axis=0), 5 * p[s], rtol=0.05)
    mixture = GMM.from_parameters([[0.25, 0.75]], [[[0.0], [8.0]]], np.ones((1, 2, 1)))
    drawn = mixture.sample(np.zeros(10_000, dtype=int), random_state=0)
    assert drawn.mean() == pytest.approx(6.0, abs=0.15)
    assert (drawn < 4).mean() == pytest.approx(0.25, abs=0.02)


def test_poisson_rate_never_reaches_zero():
    emission = Poisson()
    E = emission.encode(np.array([[0], [0], [3]]), reset=True)
    emission.fit_supervised(E, [0, 0, 1], 2)
    assert 0 < emission.rates_[0, 0] < 1e-6
    assert np.isfinite(emission.log_likelihood(E).dense()).all()


def test_multinomial_trials():
    X = np.array([[1, 2], [3, 0], [0, 3]])
    emission = Multinomial(n_trials=3, prior=1.0)
    E = emission.encode(X, reset=True)
    emission.fit_supervised(E, [0, 0, 1], 2, smoothing=0.5)
    np.testing.assert_allclose(emission.emissionprob_, [[4.5 / 7, 2.5 / 7], [0.5 / 4, 3.5 / 4]])
    with pytest.raises(ValueError, match="add up to the number of trials: row 1"):
        emission.encode(np.array([[1, 2], [1, 1]]), reset=False)
    mixed = Multinomial()
    mixed.encode(np.array([[1, 2], [1, 1]]), reset=True)
    mixed.probabilities_ = np.array([[0.5, 0.5]])
    with pytest.raises(ValueError, match="a single n_trials must be given"):
        mixed.sample([0])
    with pytest.raises(ValueError, match="Row 1 of X misses some counts"):
        Multinomial().encode(np.array([[1.0, 2.0], [np.nan, 1.0]]), reset=True)


@pytest.mark.parametrize("emission", [Gaussian(), GMM(), Poisson(), Multinomial()])
def test_numeric_mistakes(emission):
    with pytest.raises(ValueError, match="infinity"):
        emission.encode(np.array([[1.0], [np.inf]]), reset=True)
    with pytest.raises(ValueError, match=r"need numbers.*emission='categorical'"):
        emission.encode(np.array([["a"], ["b"]]), reset=True)
    with pytest.raises(ValueError, match="Complex data not supported"):
        emission.encode(np.array([[1j], [2.0]]), reset=True)


@pytest.mark.parametrize("emission", [Poisson(), Multinomial()])
@pytest.mark.parametrize("value", [-1.0, 0.5])
def test_counts_are_whole_and_nonnegative(emission, value):
    with pytest.raises(ValueError, match=f"need counts.* row 1, column 0 of X is {value:g}"):
        emission.encode(np.array([[1.0], [value]]), reset=True)


def test_unknown_covariance_type():
    with pytest.raises(ValueError, match=r"spherical, diag, full, tied; got 'round'"):
        Gaussian("round").encode(np.zeros((2, 1)), reset=True)


def test_object_arrays_with_none_are_numbers():
    emission = Gaussian()
    E = emission.encode(np.array([[1.0], [None], [3.0]], dtype=object), reset=True)
    emission.fit_supervised(E, [0, 0, 0], 1)
    assert emission.means_[0, 0] == pytest.approx(2.0)


def test_one_dimensional_rows_are_one_column():
    emission = Gaussian()
    emission.encode(np.array([1.0, 2.0]), reset=True)
    assert emission.n_features_in_ == 1


def test_more_columns_than_bits_of_a_pattern():
    rng = np.random.default_rng(0)
    X = vectors(rng, 10, 70, missing=0.1)
    X[1] = np.nan
    emission = Gaussian.from_parameters(np.zeros((1, 70)), np.eye(70)[None], "full")
    found = emission.log_likelihood(emission.encode(X, reset=False)).dense()[:, 0]
    np.testing.assert_allclose(found, np.nansum(stats.norm.logpdf(X), axis=1), rtol=1e-10)
