"""Random models give the same answers as hmmlearn's, and learn the same parameters."""

import numpy as np
import pytest

from .cases import (
    CASES,
    IDS,
    IMPLEMENTATIONS,
    LENGTHS,
    LETTERS,
    assert_same_parameters,
    ours,
    pair,
    rows,
    theirs,
)

pytestmark = [
    pytest.mark.filterwarnings("ignore::RuntimeWarning:hmmlearn"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning:hmmlearn"),
]
each_case = pytest.mark.parametrize(("name", "params"), CASES, ids=IDS)
each_implementation = pytest.mark.parametrize("implementation", IMPLEMENTATIONS)


def log_joint(model, X, path):
    log_p = model._compute_log_likelihood(X)[np.arange(len(X)), path].sum()
    starts = np.cumsum([0, *LENGTHS[:-1]])
    inside = np.setdiff1d(np.arange(1, len(X)), starts)
    log_p += np.log(model.startprob_[path[starts]]).sum()
    return log_p + np.log(model.transmat_[path[inside - 1], path[inside]]).sum()


@each_case
@each_implementation
def test_answers(name, params, implementation):
    first, second, X = pair(name, params, implementation=implementation)
    assert second.score(X, LENGTHS) == pytest.approx(first.score(X, LENGTHS), rel=1e-9)
    np.testing.assert_allclose(
        second.predict_proba(X, LENGTHS), first.predict_proba(X, LENGTHS), atol=1e-9
    )
    log_prob, posteriors = second.score_samples(X, LENGTHS)
    assert log_prob == pytest.approx(first.score(X, LENGTHS), rel=1e-9)
    np.testing.assert_allclose(posteriors, second.predict_proba(X, LENGTHS))
    for algorithm in ("viterbi", "map"):
        expected = first.decode(X, LENGTHS, algorithm)
        found = second.decode(X, LENGTHS, algorithm)
        assert found[0] == pytest.approx(expected[0], rel=1e-9)
        if algorithm == "map":
            np.testing.assert_array_equal(found[1], expected[1])
        else:  # of equally good paths either may be found
            assert log_joint(first, X, found[1]) == pytest.approx(expected[0], rel=1e-9)
            assert np.mean(found[1] == expected[1]) > 0.95
    np.testing.assert_array_equal(second.predict(X, LENGTHS), second.decode(X, LENGTHS)[1])
    assert second.aic(X, LENGTHS) == pytest.approx(first.aic(X, LENGTHS), rel=1e-9)
    assert second.bic(X, LENGTHS) == pytest.approx(first.bic(X, LENGTHS), rel=1e-9)
    np.testing.assert_allclose(
        second.get_stationary_distribution(), first.get_stationary_distribution()
    )
    np.testing.assert_allclose(second._compute_log_likelihood(X), first._compute_log_likelihood(X))
    np.testing.assert_allclose(second._compute_likelihood(X), first._compute_likelihood(X))


@each_case
def test_draws(name, params):
    first, second, _ = pair(name, params)
    for options in ({}, {"currstate": 1}):
        X_first, path_first = first.sample(50, random_state=42, **options)
        X_second, path_second = second.sample(50, random_state=42, **options)
        np.testing.assert_array_equal(path_second, path_first)
        np.testing.assert_allclose(X_second, X_first)
        assert X_second.dtype == X_first.dtype
        assert path_second.dtype == path_first.dtype


@each_case
@each_implementation
def test_fit_from_the_same_start_values(name, params, implementation):
    options = {"implementation": implementation, "init_params": "", "n_iter": 14, "tol": 1e-2}
    first, second, X = pair(name, params, **options)
    first.fit(X, LENGTHS)
    second.fit(X, LENGTHS)
    assert_same_parameters(first, second, name)
    np.testing.assert_allclose(second.monitor_.history, first.monitor_.history, rtol=1e-7)
    assert second.monitor_.iter == first.monitor_.iter
    assert second.monitor_.converged == first.monitor_.converged


@each_case
def test_fit_from_the_same_seed(name, params):
    X = rows(name, np.random.default_rng(3))
    made = [getattr(module, name)(3, random_state=5, **params) for module in (theirs, ours)]
    for each in made:
        each.fit(X, LENGTHS)
    assert_same_parameters(*made, name)


@each_case
def test_fit_from_the_same_generator(name, params):
    X = rows(name, np.random.default_rng(4))
    made = [
        getattr(module, name)(3, random_state=np.random.RandomState(1), **params)
        for module in (theirs, ours)
    ]
    for each in made:
        each.fit(X)
    assert_same_parameters(*made, name)


@each_case
def test_each_letter_alone(name, params):
    letters = ["s", "t", *LETTERS[name]]
    for letter in letters:
        if name == "GaussianHMM" and letter == "c":
            continue  # without "m", hmmlearn collects nothing to learn covariances from
        only = {"init_params": "", "n_iter": 4}
        first, second, X = pair(name, {**params, "params": letter}, **only)
        first.fit(X, LENGTHS)
        second.fit(X, LENGTHS)
        assert_same_parameters(first, second, name)


@each_case
def test_priors(name, params):
    rng = np.random.default_rng(8)
    priors = {"startprob_prior": rng.uniform(1, 4, 3), "transmat_prior": rng.uniform(1, 4, (3, 3))}
    if name == "CategoricalHMM":
        priors["emissionprob_prior"] = rng.uniform(1, 3, (3, 4))
    elif name == "PoissonHMM":
        priors |= {"lambdas_prior": 2.0, "lambdas_weight": 30.0}
    elif name in ("GaussianHMM", "GMMHMM"):
        priors |= {"means_prior": 0.5, "means_weight": 2.0, "covars_prior": 0.3, "covars_weight": 7}
    if name == "GMMHMM":
        priors["weights_prior"] = 1.5
    first, second, X = pair(name, {**params, **priors}, init_params="", n_iter=8)
    first.fit(X, LENGTHS)
    second.fit(X, LENGTHS)
    assert_same_parameters(first, second, name)


def test_dirichlet_priors_below_one():
    first, second, X = pair("CategoricalHMM", {"transmat_prior": 0.1, "emissionprob_prior": 0.2})
    for model in (first, second):
        model.init_params = ""
        model.fit(X, LENGTHS)
    assert_same_parameters(first, second, "CategoricalHMM")


def test_a_large_offset_costs_no_digits():
    """Unlike there: variances are not differences of large squares."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 1)) + 5 * rng.integers(2, size=(200, 1))
    near = ours.GaussianHMM(2, random_state=0).fit(X)
    far = ours.GaussianHMM(2, random_state=0).fit(X + 1e8)
    np.testing.assert_allclose(far.covars_, near.covars_, rtol=1e-5)
