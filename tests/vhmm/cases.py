"""Small variational models and data."""

import numpy as np

from skchmm import vhmm

KINDS = ["full", "tied", "diag", "spherical"]
NUMBERS = [("VariationalGaussianHMM", {"covariance_type": kind}) for kind in KINDS]
CASES = [("VariationalCategoricalHMM", {}), *NUMBERS]
IDS = ["symbols", *KINDS]
POSTERIORS = ["startprob_posterior_", "transmat_posterior_"]
OF_EMISSION = {
    "VariationalCategoricalHMM": ["emissionprob_posterior_"],
    "VariationalGaussianHMM": [
        "means_posterior_", "beta_posterior_", "dof_posterior_", "scale_posterior_"
    ],
}  # fmt: skip


def make(name, params, n_components=3, **more):
    return getattr(vhmm, name)(n_components, **params, **more)


def rows(name, n, rng):
    if name == "VariationalCategoricalHMM":
        return rng.integers(4, size=(n, 1))
    return rng.standard_normal((n, 2)) + 3 * np.repeat(rng.integers(3, size=n), 4)[:n, None]


def constant(name, X):
    """What hmmlearn's bound of Gaussians has too much."""
    known = 0 if name == "VariationalCategoricalHMM" else X.size
    return 0.5 * known * np.log(2 * np.pi)


def posteriors(model):
    names = [*POSTERIORS, *OF_EMISSION[type(model).__name__]]
    return {name: np.asarray(getattr(model, name)) for name in names}
