"""hmmlearn's ``stats``: densities of Gaussians."""

import numpy as np
from numpy.typing import ArrayLike

from ..emissions import Gaussian


def log_multivariate_normal_density(
    X: ArrayLike, means: ArrayLike, covars: ArrayLike, covariance_type: str = "diag"
) -> np.ndarray:
    """Log densities (n_samples, n_components) of rows under a set of Gaussians.

    Parameters
    ----------
    X : array (n_samples, n_features)
    means : array (n_components, n_features)
    covars : array
        In the compact form of `covariance_type`.
    covariance_type : {"diag", "spherical", "tied", "full"}
    """
    emission = Gaussian.from_parameters(means, covars, covariance_type)
    return emission.log_likelihood(emission.encode(np.asarray(X, float), reset=False)).dense()
