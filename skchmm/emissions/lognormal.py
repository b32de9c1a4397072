"""Positive numbers whose logarithms are normally distributed."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .base import Frames
from .gaussian import Gaussian, NumericEmission
from .numeric import check_values
from .reading import read_numeric


class LogNormal(Gaussian):
    """Positive numbers whose logarithms are normally distributed in each state.

    Missing values (``NaN``) are marginalised out exactly, one by one. The parameters are those of
    `Gaussian`, and all of them speak of the logarithms.

    Parameters
    ----------
    covariance_type : {"diag", "spherical", "full", "tied"}, default="diag"
        One variance per state and column, one per state, one matrix per state, or one for all.
    min_covar : float or None, default=None
        Smallest variance in any direction. By default a millionth of each column's variance in the
        training data.
    means_prior, means_weight : float or array, default=0
        Mean of a normal prior on the means, and its weight in observations.
    covars_prior, covars_weight : float or array, default=0
        Parameters of a prior on the covariances, as in `Gaussian`.

    Attributes
    ----------
    means_ : ndarray of shape (n_states, n_features)
        The means of the logarithms; ``exp(means_)`` are the medians of the numbers.
    covars_ : ndarray
        The covariances of the logarithms, in the shapes that `Gaussian` has.

    See Also
    --------
    Gamma : Other positive numbers.

    Examples
    --------
    >>> import numpy as np
    >>> from skchmm.emissions import LogNormal
    >>> emission = LogNormal()
    >>> E = emission.encode(np.array([[1.0], [4.0], [10.0], [1000.0]]), reset=True)
    >>> np.exp(emission.fit_supervised(E, [0, 0, 1, 1], n_states=2).means_).ravel()
    array([  2., 100.])
    """

    def encode(self, X: Any, offsets: np.ndarray | None = None, *, reset: bool) -> Any:
        values = read_numeric(X, "LogNormal")
        check_values(values, values > 0, "numbers above 0", "LogNormal", X)
        logs = np.log(values)
        rows = super().encode(logs, offsets, reset=reset)
        # densities of the numbers are those of their logarithms over the numbers
        rows.sums = logs.sum(axis=1) if rows.observed is None else np.nansum(logs, axis=1)
        return rows

    part_steps = property(NumericEmission._part_steps)

    def log_likelihood(self, E: Any) -> Frames:
        frames = super().log_likelihood(E)
        return Frames(frames.table - E.sums[:, None], bounded=frames.bounded)

    def sample(self, path: ArrayLike, random_state: Any = None) -> np.ndarray:
        return np.exp(super().sample(path, random_state))
