"""Columns of yes and no."""

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from .columns import ColumnEmission
from .scales import Unit


class Bernoulli(ColumnEmission):
    """Columns of 0 and 1, or of False and True, independent of each other given the state.

    Missing values (``NaN``, ``None``) are marginalised out, one by one.

    Attributes
    ----------
    probabilities_ : ndarray of shape (n_states, n_features)
        Probability of a 1.

    See Also
    --------
    Categorical : Any symbols.

    Examples
    --------
    >>> import numpy as np
    >>> from skchmm.emissions import Bernoulli
    >>> emission = Bernoulli()
    >>> E = emission.encode(np.array([[0], [1], [1], [1]]), reset=True)
    >>> emission.fit_supervised(E, [0, 0, 1, 1], n_states=2).probabilities_.ravel()
    array([0.5, 1. ])
    """

    _neutral: ClassVar[dict[str, float]] = {"probabilities_": 0.5}
    _discrete = True
    _needs = "0 and 1 (or False and True)"

    @classmethod
    def from_parameters(cls, probabilities: ArrayLike, **params: Any) -> Self:
        """A fitted emission from known probabilities of a 1."""
        emission = cls._known(params, probabilities=(probabilities, {"at_least": 0}))
        if (emission.probabilities_ > 1).any():
            raise ValueError(f"probabilities must not be above 1, got {probabilities!r}.")
        return emission

    def _allows(self, values):
        return (values == 0) | (values == 1)

    def _log_density(self, x, probability):
        with np.errstate(divide="ignore"):
            return np.where(x == 1, np.log(probability), np.log1p(-probability))

    def _cdf(self, x, probability):
        return np.where(x < 0, 0.0, np.where(x < 1, 1 - probability, 1.0))

    def _terms(self, X):
        yield "ones", X

    def _fit_sums(self, sums, old, columns, smoothing):
        share = (sums["ones"] + smoothing) / (sums["weight"] + 2 * smoothing)
        return (np.minimum(share, 1.0),)  # rounding may leave it just above

    def log_prior(self, *, smoothing: float = 0.0) -> float:
        if smoothing == 0:
            return 0.0
        p = np.clip(self.probabilities_, np.finfo(float).tiny, 1 - np.finfo(float).epsneg)
        return float(smoothing * (np.log(p) + np.log1p(-p)).sum())

    def scales(self) -> dict[str, Any]:
        return {"probabilities_": Unit}

    def _draw(self, rng, probability):
        return (rng.random_sample(probability.shape) < probability).astype(np.int64)
