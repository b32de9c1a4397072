"""States and components that collapse onto few rows: EM never falls, and ends without an error."""

import warnings

import numpy as np
import pytest

from skchmm import ConstrainedHMM
from skchmm.emissions import GMM, Gaussian
from skchmm.hmm import GMMHMM, GaussianHMM

KINDS = ["diag", "spherical", "full", "tied"]


def rows(case, far):
    X = np.random.default_rng(3).standard_normal((24, 3))
    if case == "equal":
        X[:] = far
    elif case == "constant column":
        X[:, 0] = far
    elif case == "dependent columns":
        X[:, 1] = 3 * X[:, 0]
    elif case == "twice each":
        X[12:] = X[:12]
    elif case == "narrow":
        X[:8] = far + 1e-9 * X[:8]
    else:
        X[5] = far
    return X


CASES = ["equal", "constant column", "dependent columns", "twice each", "narrow", "outlier"]


def never_falls(history):
    """By no more than the rounding of its sum."""
    history = np.asarray(history)
    assert np.isfinite(history).all()
    assert (np.diff(history) >= -1e-9 * np.maximum(1.0, np.abs(history[1:]))).all()


@pytest.mark.parametrize("prior", [{}, {"means_weight": 1.0, "means_prior": 0.5}])
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("make", [Gaussian, GMM])
@pytest.mark.parametrize("kind", KINDS)
def test_the_objective_never_falls(kind, make, case, prior):
    for min_covar in (0.0, 1e-300, 1e-12, None):
        for far in (0.01, 1e4):
            for missing in (False, True):
                X = rows(case, far)
                if missing:
                    X[::5, 2] = np.nan
                emission = make(covariance_type=kind, min_covar=min_covar, **prior)
                model = ConstrainedHMM(3, emission=emission, n_iter=25, tol=0.0, random_state=0)
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # of what rounding ends
                    model.fit(X)
                never_falls(model.history_)


def test_what_rounding_would_lower_is_taken_back():
    """The parameters are those of the last value of the history."""
    X = rows("dependent columns", 1.0)
    model = ConstrainedHMM(
        2, emission=Gaussian("full", min_covar=0.0), n_iter=60, tol=0.0, random_state=0,
        smoothing=0.0,
    )  # fmt: skip
    with pytest.warns(match="min_covar|did not converge"):
        model.fit(X)
    assert model.log_likelihood(X) == pytest.approx(model.history_[-1], rel=1e-12)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("kind", ["diag", "full", "tied"])
def test_models_under_hmmlearns_names(kind, case, caplog):
    X = rows(case, 100.0)
    params = {"covariance_type": kind, "random_state": 0, "n_iter": 40, "tol": 0.0}
    mixture = GMMHMM(2, 2, min_covar=1e-8, **params).fit(X)
    single = GaussianHMM(2, min_covar=1e-8, covars_prior=0.0, **params).fit(X)
    for model in (mixture, single):
        never_falls(model.monitor_.history)
        assert model.score(X) >= model.monitor_.history[-1] - 1e-6 * abs(model.score(X))


@pytest.mark.parametrize("kind", ["full", "tied"])
@pytest.mark.parametrize("prior", [0.5, 0.9, 2.0])
def test_priors_on_probabilities_do_not_excuse_rounding(kind, prior):
    """With one state and one component they say nothing, so that the likelihood cannot fall."""
    for seed in range(10):
        X = np.random.default_rng(seed).standard_normal((40, 3))
        X[:, 1] = 2 * X[:, 0]
        model = GMMHMM(
            1, 1, covariance_type=kind, min_covar=1e-12, n_iter=20, tol=0.0, random_state=0,
            transmat_prior=prior, weights_prior=prior, startprob_prior=prior,
        )  # fmt: skip
        never_falls(model.fit(X).monitor_.history)


def test_labelled_rows_of_a_mixture():
    X = rows("twice each", 1.0)
    y = np.arange(len(X)) % 2
    for kind in KINDS:
        model = ConstrainedHMM(2, emission=GMM(3, covariance_type=kind, min_covar=1e-300))
        model.fit(X, y)
        assert np.isfinite(model.log_likelihood(X))
