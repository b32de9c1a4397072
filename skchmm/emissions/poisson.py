"""Counts with a Poisson distribution."""

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaincc
from sklearn.utils import check_random_state

from .._numbers import names_priors
from . import numeric
from .base import NEGLIGIBLE, Emission, Frames, check_path, check_posteriors, given, learned
from .counts import read_counts
from .priors import check_prior
from .scales import Positive

# A rate of zero would make one later event impossible.
_MIN_RATE = 1e-10


class Poisson(Emission):
    """Counts: each column has a Poisson distribution, with one rate per state and column.

    Missing counts (``NaN``) are marginalised out, one by one.

    Parameters
    ----------
    lambdas_prior, lambdas_weight : float or array, default=0
        Parameters of a gamma prior: as if `lambdas_prior` events had been seen in `lambdas_weight`
        steps before.

    Attributes
    ----------
    rates_ : ndarray of shape (n_states, n_features)
        Also under hmmlearn's name, ``lambdas_``.

    See Also
    --------
    Multinomial : Counts with a total.
    Categorical : Symbols.

    Examples
    --------
    >>> import numpy as np
    >>> from skchmm.emissions import Poisson
    >>> emission = Poisson()
    >>> E = emission.encode(np.array([[0], [2], [7], [9]]), reset=True)
    >>> emission.fit_supervised(E, [0, 0, 1, 1], n_states=2).rates_.ravel()
    array([1., 8.])
    """

    def __init__(self, *, lambdas_prior: ArrayLike = 0.0, lambdas_weight: ArrayLike = 0.0) -> None:
        self.lambdas_prior = lambdas_prior
        self.lambdas_weight = lambdas_weight

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
        emission = cls(**params)
        emission.rates_ = given(rates, "rates", ndim=2, at_least=0)
        emission.n_features_in_ = emission.rates_.shape[1]
        return emission

    @property
    def lambdas_(self) -> np.ndarray:
        return self.rates_

    @lambdas_.setter
    def lambdas_(self, rates):
        self.rates_ = rates

    def encode(self, X: Any, offsets: np.ndarray | None = None, *, reset: bool) -> Any:
        for name in ("lambdas_prior", "lambdas_weight") if reset else ():
            check_prior(getattr(self, name), name)
        rows = read_counts(X, "Poisson")
        self._check_columns(rows.X.shape[1], reset=reset)
        return rows

    def initialise(
        self,
        E: Any,
        offsets: np.ndarray | None,
        n_states: int,
        *,
        init: str,
        random_state: Any = None,
    ) -> None:
        self._check_init(init, ["random", "kmeans"])
        n_columns = E.X.shape[1]
        if init == "kmeans":
            self.rates_ = np.maximum(
                numeric.start_centres(
                    numeric.filled_rows(E), n_states, init=init, random_state=random_state
                ),
                _MIN_RATE,
            )
            return
        values = E.X if E.observed is None else E.X[E.observed]
        mean, variance = (values.mean(), values.var()) if values.size else (1.0, 1.0)
        if mean == 0 or variance == 0:
            mean, variance = max(mean, 0.1), max(mean, 0.1)
        # the gamma distribution with the moments of the data
        rates = check_random_state(random_state).gamma(
            shape=mean**2 / variance, scale=variance / mean, size=(n_states, n_columns)
        )
        self.rates_ = np.maximum(rates, _MIN_RATE)

    def log_likelihood(self, E: Any) -> Frames:
        rates = learned(self, "rates_", 2, E.counts.shape[1])
        rates = np.maximum(rates, np.finfo(float).tiny)
        log_p = E.counts @ np.log(rates).T
        log_p -= E.log_factorials[:, None]
        log_p -= rates.sum(axis=1) if E.observed is None else E.observed @ rates.T
        return Frames(log_p)

    def accumulate(
        self, E: Any, posteriors: np.ndarray, offsets: np.ndarray | None = None
    ) -> dict[str, Any]:
        posteriors = check_posteriors(posteriors, len(E.X))
        if E.observed is None:
            weight = np.repeat(posteriors.sum(axis=0)[:, None], E.X.shape[1], axis=1)
        else:
            weight = posteriors.T @ E.observed
        return {"weight": weight, "events": posteriors.T @ E.counts}

    @names_priors("lambdas_prior", "lambdas_weight")
    def maximise(self, statistics: dict[str, Any], *, smoothing: float = 0.0) -> None:
        weight, events = statistics["weight"], statistics["events"]
        if self._as_hmmlearn:
            # there, the prior is weighed against the steps of all states together
            scale = weight.sum(axis=0) / np.where(weight > 0, weight, 1.0)
            weight, events = weight * scale, events * scale
        total = weight + self.lambdas_weight
        seen = total > NEGLIGIBLE
        rates = (events + self.lambdas_prior) / np.where(seen, total, 1.0)
        if hasattr(self, "rates_"):
            old = self.rates_
        else:
            pooled = weight.sum(axis=0)
            old = np.where(pooled > 0, events.sum(axis=0) / np.where(pooled > 0, pooled, 1.0), 1.0)
        self.rates_ = np.maximum(np.where(seen, rates, old), _MIN_RATE)

    def log_prior(self, *, smoothing: float = 0.0) -> float:
        rates = np.asarray(self.rates_, dtype=float)
        return float(np.sum(self.lambdas_prior * np.log(rates) - self.lambdas_weight * rates))

    def cdf(self, E: Any) -> tuple[np.ndarray, np.ndarray]:
        """P(count below) and P(count not above) of every count, (n_steps, n_columns, n_states)."""
        rates = learned(self, "rates_", 2, E.X.shape[1]).T
        x = E.X[:, :, None]
        return gammaincc(np.maximum(x, 0), rates), gammaincc(x + 1, rates)

    def n_parameters(self) -> int:
        return np.size(self.rates_)

    def scales(self) -> dict[str, Any]:
        return {"rates_": Positive}

    def sample(self, path: ArrayLike, random_state: Any = None) -> np.ndarray:
        rates = given(self.rates_, "rates_", ndim=2, at_least=0)
        return check_random_state(random_state).poisson(rates[check_path(path, len(rates))])
