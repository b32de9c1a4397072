"""Counts with a negative binomial distribution."""

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betainc, digamma, gammaln, polygamma

from .base import check_posteriors, sum_by
from .columns import ColumnEmission, falling_root, observed_rows
from .counts import is_count
from .scales import Positive

_MIN_MEAN = 1e-10  # a mean of zero would make one later event impossible
_MIN_SIZE = 1e-6
_LARGE_SIZE = 1e6  # times the mean: hardly to be told from a Poisson distribution


class NegativeBinomial(ColumnEmission):
    """Counts that vary more than Poisson counts do, each column on its own given the state.

    The variance is ``means_ + means_**2 / sizes_``. Counts that vary no more than Poisson counts do
    get a size so large that the two distributions are nearly the same. Missing counts (``NaN``) are
    marginalised out, one by one.

    Attributes
    ----------
    means_, sizes_ : ndarray of shape (n_states, n_features)
        `scipy.stats.nbinom` calls the size ``n``, and its ``p`` is ``size / (size + mean)``.

    See Also
    --------
    Poisson : The variance is the mean.

    Examples
    --------
    >>> import numpy as np
    >>> from skchmm.emissions import NegativeBinomial
    >>> emission = NegativeBinomial()
    >>> E = emission.encode(np.array([[0], [1], [9], [14], [2], [25]]), reset=True)
    >>> emission.fit_supervised(E, [0, 0, 0, 1, 1, 1], n_states=2).means_.ravel().round(2)
    array([ 3.33, 13.67])
    >>> emission.sizes_.ravel().round(2)
    array([0.51, 1.53])
    """

    _neutral: ClassVar[dict[str, float]] = {"means_": 1.0, "sizes_": 1.0}
    _discrete = True
    _needs = "counts (0, 1, 2, ...)"

    @classmethod
    def from_parameters(cls, means: ArrayLike, sizes: ArrayLike, **params: Any) -> Self:
        """A fitted emission from known means and sizes.

        Parameters
        ----------
        means, sizes : array (n_states, n_features)
        **params : other parameters of the constructor

        Returns
        -------
        emission of this class
        """
        return cls._known(params, means=(means, {"above": 0}), sizes=(sizes, {"above": 0}))

    def _allows(self, values):
        return is_count(values)

    def _log_density(self, x, mean, size):
        log_p = log_rising(size, x) - gammaln(x + 1) - size * np.log1p(mean / size)
        return log_p + x * np.log(mean / (size + mean))

    def _cdf(self, x, mean, size):
        return np.where(x < 0, 0.0, betainc(size, np.maximum(x, 0) + 1, size / (size + mean)))

    def accumulate(
        self, E: Any, posteriors: np.ndarray, offsets: np.ndarray | None = None
    ) -> dict[str, Any]:
        posteriors = check_posteriors(posteriors, len(E.X))
        n_states, n_columns = posteriors.shape[1], E.X.shape[1]
        tallies = np.zeros((n_states, n_columns, len(NODES)))
        for j, where in observed_rows(E):
            tallies[:, j] = tally(E.X[where, j], posteriors[where]).T
        return {"weight": tallies.sum(axis=-1), "tallies": tallies}

    def _fit_sums(self, sums, old, columns, smoothing):
        weights = sums["tallies"] / sums["weight"][:, None]
        mean, square = weights @ NODES, weights @ NODES**2
        # a mean of zero says nothing about the size, nor do counts that vary less than Poisson ones
        some, wide = mean > _MIN_MEAN, square - mean**2 > mean * (1 + 1e-9)
        mean = np.maximum(mean, _MIN_MEAN)
        size = np.where(some, _LARGE_SIZE * (1 + mean), old[1])
        if wide.any():
            size[wide] = _best_size(weights[wide], mean[wide], square[wide])
        return mean, size

    def scales(self) -> dict[str, Any]:
        return {"means_": Positive, "sizes_": Positive}

    def _draw(self, rng, mean, size):
        return rng.poisson(rng.gamma(size, mean / size))


def _best_size(weights, mean, square):
    """The size that fits counts best, their mean being known."""
    used = weights.any(axis=0)
    weights, nodes = weights[:, used], NODES[used]

    def slope(size):
        first, second = _rising_derivatives(size[:, None], nodes)
        value = (weights * first).sum(axis=1) - np.log1p(mean / size)
        return value, (weights * second).sum(axis=1) + mean / (size * (size + mean))

    start = mean**2 / (square - mean**2 - mean)
    return falling_root(slope, _MIN_SIZE, _LARGE_SIZE * (1 + mean), start)


# ------------------------------------------------------------- ratios of gamma functions
def log_rising(size, x):
    """log of size (size + 1) ... (size + x - 1); differences of logarithms lose digits if large."""
    small = np.minimum(size, 100.0)
    exact = gammaln(small + x) - gammaln(small)
    large = np.maximum(size, 100.0)
    series = (large - 0.5) * np.log1p(x / large) + x * (np.log(large + x) - 1)
    series += _stirling(large + x) - _stirling(large)
    return np.where(size < 100, exact, series)


def _stirling(z):
    return (1 / 12 - (1 / 360 - 1 / (1260 * z**2)) / z**2) / z


def _rising_derivatives(size, x):
    """First and second derivatives of `log_rising` by its size."""
    small, large = np.minimum(size, 100.0), np.maximum(size, 100.0)
    far = large + x
    first = np.where(
        size < 100,
        digamma(small + x) - digamma(small),
        np.log1p(x / large) + x / (2 * large * far) + _tail(far) - _tail(large),
    )
    second = np.where(
        size < 100,
        polygamma(1, small + x) - polygamma(1, small),
        -x / (large * far) + 0.5 / far**2 - 0.5 / large**2 + (1 / far**3 - 1 / large**3) / 6,
    )
    return first, second


def _tail(z):
    return -(1 / 12 - (1 / 120 - 1 / (252 * z**2)) / z**2) / z**2


# ------------------------------------------------------------------- tables of counts
# Sums of a smooth function over counts are wanted for functions that are not known yet, from
# statistics of a size that does not depend on the data. Small counts are tallied one by one. The
# weight of a large one is shared among the Chebyshev nodes of its octave such that the sums of
# functions that are smooth in the logarithm stay the same to 12 digits.
_EXACT, _OCTAVES, _PER_OCTAVE = 64, 47, 12
_UNIT = np.cos(np.pi * (np.arange(_PER_OCTAVE) + 0.5) / _PER_OCTAVE)
_SHARES = np.sin(np.pi * (np.arange(_PER_OCTAVE) + 0.5) / _PER_OCTAVE) * (-1.0) ** np.arange(
    _PER_OCTAVE
)
NODES = np.concatenate(
    [np.arange(_EXACT), *(_EXACT * 2.0 ** (k + (_UNIT + 1) / 2) for k in range(_OCTAVES))]
)


def tally(counts, weights):
    """Weights (n, S) of counts (n,) as weights of `NODES`, (len(NODES), S)."""
    large = counts >= _EXACT
    index = np.where(large, len(NODES), counts).astype(np.int32)
    tallies = sum_by(index, weights, len(NODES) + 1)[:-1]
    if large.any():
        logs = np.log2(counts[large] / _EXACT)
        octave = np.minimum(logs.astype(np.int64), _OCTAVES - 1)
        shares = _interpolation(2 * (logs - octave) - 1)
        for k in range(_PER_OCTAVE):
            node = (_EXACT + octave * _PER_OCTAVE + k).astype(np.int32)
            tallies += sum_by(node, weights[large] * shares[:, k, None], len(NODES))
    return tallies


def _interpolation(points):
    """The share (n, nodes) of each Chebyshev node in the interpolation at points from -1 to 1."""
    distance = points[:, None] - _UNIT
    hit = distance == 0
    shares = _SHARES / np.where(hit, 1.0, distance)
    shares = np.where(hit.any(axis=1, keepdims=True), hit, shares)
    return shares / shares.sum(axis=1, keepdims=True)
