"""Gaussian emission whose parameters are uncertain."""

from typing import Any

import numpy as np

from ..emissions import Frames, Gaussian, numeric
from ..emissions.gaussian import NumericEmission, full_covars


class VariationalGaussian(Gaussian):
    """Real vectors with a normal-Wishart posterior in each state.

    In learning, log densities have expectations in their place. These are log densities at the
    expected parameters plus a number for each state, which is less the more is known of it.
    Values that are missing from a row are hidden variables, with a posterior of their own; a row
    without any value says nothing.
    """

    _log_factors = None  # (n_states,), to be added to log densities
    _about_means = False

    part_steps = property(NumericEmission._part_steps)

    def log_likelihood(self, E: Any) -> Frames:
        frames = super().log_likelihood(E)
        if self._log_factors is None:
            return frames
        table = frames.table + self._log_factors
        if E.observed is not None:
            table[~E.observed.any(axis=1)] = 0.0
        return Frames(table, bounded=frames.bounded)

    def accumulate(
        self, E: Any, posteriors: np.ndarray, offsets: np.ndarray | None = None
    ) -> dict[str, Any]:
        outer = self.covariance_type in ("full", "tied")
        if outer or not E.partly_missing:
            return super().accumulate(E, posteriors, offsets)
        # a row counts as a whole, so what is missing from it enters by its expectation
        if not hasattr(self, "means_"):
            self._start_from_pooled(E, posteriors.shape[1])
        means, covars = self._components()
        found = numeric.moments(
            E, posteriors, self._reference(), outer=True, means=means,
            covars=full_covars(covars, means.shape[1]),
        )  # fmt: skip
        return found | {"second": np.diagonal(found["second"], axis1=1, axis2=2).copy()}

    def count(
        self, E: Any, y_index: Any, n_states: int, weights: Any = None, offsets: Any = None
    ) -> dict[str, Any] | None:
        return None if E.partly_missing else super().count(E, y_index, n_states, weights, offsets)

    def _pooled_covars(self, rows, n_states):
        """Where all states start: the compact covariances of all rows."""
        covariance = self._start_covariance(rows)
        if self.covariance_type == "spherical" and not covariance[0, 0] > 0:
            # hmmlearn starts with the mean of the whole matrix, which need not be positive
            np.fill_diagonal(covariance, np.diagonal(numeric.pooled_covariance(rows)).mean() + 1e-3)
        return numeric.spread_covariance(covariance, self.covariance_type, n_states)
