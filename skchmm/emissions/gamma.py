"""Positive numbers with a gamma distribution."""

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import digamma, gammainc, gammaln, polygamma

from .columns import ColumnEmission, falling_root
from .scales import Positive

# The variance is the squared mean over the shape: bounds from a constant to nearly all at zero.
_SHAPES = (1e-6, 1e6)


class Gamma(ColumnEmission):
    """Positive numbers, each column gamma distributed in each state.

    Missing values (``NaN``) are marginalised out, one by one. A shape is at most a million, so that
    a state of equal numbers has a density.

    Attributes
    ----------
    shapes_, scales_ : ndarray of shape (n_states, n_features)
        The mean is their product.

    See Also
    --------
    Exponential : The shape is 1.
    LogNormal : The logarithms are normally distributed.

    Examples
    --------
    >>> import numpy as np
    >>> from skchmm.emissions import Gamma
    >>> emission = Gamma()
    >>> E = emission.encode(np.array([[1.0], [3.0], [20.0], [30.0]]), reset=True)
    >>> emission.fit_supervised(E, [0, 0, 1, 1], n_states=2).shapes_.ravel().round(2)
    array([ 3.63, 24.66])
    >>> (emission.shapes_ * emission.scales_).ravel()
    array([ 2., 25.])
    """

    _neutral: ClassVar[dict[str, float]] = {"shapes_": 1.0, "scales_": 1.0}
    _needs = "numbers above 0"

    @classmethod
    def from_parameters(cls, shapes: ArrayLike, scales: ArrayLike, **params: Any) -> Self:
        """A fitted emission from known shapes and scales.

        Parameters
        ----------
        shapes, scales : array (n_states, n_features)
        **params : other parameters of the constructor

        Returns
        -------
        emission of this class
        """
        return cls._known(params, shapes=(shapes, {"above": 0}), scales=(scales, {"above": 0}))

    def _allows(self, values):
        return values > 0

    def _coordinates(self, X):
        return np.log(np.where(X > 0, X, 1.0))  # a column without any values has zeros

    def _log_density(self, x, shape, scale):
        return (shape - 1) * np.log(x) - x / scale - gammaln(shape) - shape * np.log(scale)

    def _cdf(self, x, shape, scale):
        return gammainc(shape, x / scale)

    def _terms(self, X):
        yield "sum", X
        yield "logs", np.log(X)

    def _fit_sums(self, sums, old, columns, smoothing):
        mean = sums["sum"] / sums["weight"]
        spread = np.log(mean) - sums["logs"] / sums["weight"]

        def slope(shape):
            return np.log(shape) - digamma(shape) - spread, 1 / shape - polygamma(1, shape)

        # exact for large and for small spreads
        start = 0.5 / np.maximum(spread, 1e-12)
        shape = falling_root(slope, *_SHAPES, start)
        return shape, mean / shape

    def scales(self) -> dict[str, Any]:
        return {"shapes_": Positive, "scales_": Positive}

    def _draw(self, rng, shape, scale):
        return np.maximum(rng.gamma(shape, scale), np.finfo(float).tiny)
