"""Rows of counts, for the Poisson and multinomial emissions."""

from functools import cached_property

import numpy as np
from scipy.special import gammaln

from .numeric import Rows, check_values
from .reading import read_numeric


class CountRows(Rows):
    """Rows of counts.

    Attributes
    ----------
    counts : ndarray of shape (n, d)
        The counts, 0 where they are missing.
    log_factorials : ndarray of shape (n,)
        Sum of log(count!) over a row: the part of the likelihood without parameters.
    log_coefficients : ndarray of shape (n,)
        Logarithms of the multinomial coefficients of the rows.
    """

    def __init__(self, X):
        super().__init__(X)
        self.counts = X if self.observed is None else np.where(self.observed, X, 0.0)
        self.log_factorials = gammaln(self.counts + 1.0).sum(axis=1)

    @cached_property
    def log_coefficients(self):
        return gammaln(self.counts.sum(axis=1) + 1.0) - self.log_factorials

    def part(self, begin, end):
        return CountRows(self.X[begin:end])


def read_counts(X, emission):
    """Like `read_numeric`, for nonnegative whole numbers, as `CountRows`."""
    counts = read_numeric(X, emission)
    check_values(counts, is_count(counts), "counts (0, 1, 2, ...)", emission, X)
    return CountRows(counts)


def is_count(values):
    return (values >= 0) & (values == np.rint(values))
