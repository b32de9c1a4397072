"""Waiting times with an exponential distribution."""

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from .columns import ColumnEmission, typical_size
from .scales import Positive


class Exponential(ColumnEmission):
    """Numbers from 0 on, each column exponentially distributed with a rate of its own per state.

    Missing values (``NaN``) are marginalised out, one by one. No mean is below a millionth of its
    column's mean in the training data, so that a state of zeros has a density.

    Attributes
    ----------
    rates_ : ndarray of shape (n_states, n_features)
        One over the mean.

    See Also
    --------
    Gamma : Has a parameter of shape too.

    Examples
    --------
    >>> import numpy as np
    >>> from skchmm.emissions import Exponential
    >>> emission = Exponential()
    >>> E = emission.encode(np.array([[0.5], [1.5], [4.0], [6.0]]), reset=True)
    >>> emission.fit_supervised(E, [0, 0, 1, 1], n_states=2).rates_.ravel()
    array([1. , 0.2])
    """

    _neutral: ClassVar[dict[str, float]] = {"rates_": 1.0}
    _needs = "numbers from 0 on"

    @classmethod
    def from_parameters(cls, rates: ArrayLike, **params: Any) -> Self:
        """A fitted emission from known rates.

        Parameters
        ----------
        rates : array (n_states, n_features)
        **params : other parameters of the constructor

        Returns
        -------
        emission of this class
        """
        return cls._known(params, rates=(rates, {"above": 0}))

    def _allows(self, values):
        return values >= 0

    def _look_at(self, rows):
        self._least = 1e-6 * typical_size(rows)

    def _log_density(self, x, rate):
        return np.log(rate) - rate * x

    def _cdf(self, x, rate):
        return -np.expm1(-rate * x)

    def _terms(self, X):
        yield "sum", X

    def _fit_sums(self, sums, old, columns, smoothing):
        least = getattr(self, "_least", np.full(self.n_features_in_, np.finfo(float).tiny))
        return (1.0 / np.maximum(sums["sum"] / sums["weight"], least[columns]),)

    def scales(self) -> dict[str, Any]:
        return {"rates_": Positive}

    def _draw(self, rng, rate):
        return rng.exponential(1.0 / rate)
