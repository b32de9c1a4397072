"""Directions with a von Mises distribution."""

from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import i0e, i1e
from scipy.stats import vonmises

from .columns import ColumnEmission, falling_root
from .scales import Positive, Real

_KAPPAS = (1e-8, 1e6)


class VonMises(ColumnEmission):
    """Directions in radians, each column with a von Mises distribution in each state.

    Angles that differ by a full turn are the same direction. Missing values (``NaN``) are
    marginalised out, one by one. A concentration is at most a million, which is a standard
    deviation of a thousandth.

    Attributes
    ----------
    locs_ : ndarray of shape (n_states, n_features)
        The mean directions, from -pi to pi.
    kappas_ : ndarray of shape (n_states, n_features)
        The concentrations: 0 is uniform, large ones are like one over a variance.

    See Also
    --------
    Gaussian : Numbers, one Gaussian per state.
    Product : Columns of different kinds, such as a direction and a speed.

    Examples
    --------
    >>> import numpy as np
    >>> from skchmm.emissions import VonMises
    >>> emission = VonMises()
    >>> E = emission.encode(np.array([[0.1], [6.1], [3.0], [3.4]]), reset=True)
    >>> emission.fit_supervised(E, [0, 0, 1, 1], n_states=2).locs_.ravel().round(2)
    array([-0.04, -3.08])
    """

    _neutral: ClassVar[dict[str, float]] = {"locs_": 0.0, "kappas_": 1.0}
    _needs = "directions in radians"

    @classmethod
    def from_parameters(cls, locs: ArrayLike, kappas: ArrayLike, **params: Any) -> Self:
        """A fitted emission from known mean directions and concentrations.

        Parameters
        ----------
        locs, kappas : array (n_states, n_features)
        **params : other parameters of the constructor

        Returns
        -------
        emission of this class
        """
        return cls._known(params, locs=(locs, {}), kappas=(kappas, {"at_least": 0}))

    def _coordinates(self, X):
        return np.hstack([np.cos(X), np.sin(X)])

    def _log_density(self, x, loc, kappa):
        # cos(a) - 1 without losing digits where a is small
        angle = -2 * np.sin((x - loc) / 2) ** 2
        return kappa * angle - np.log(2 * np.pi * i0e(kappa))

    def _cdf(self, x, loc, kappa):
        """From -pi on; scipy counts turns."""
        x = (x + np.pi) % (2 * np.pi) - np.pi
        return vonmises.cdf(x - loc, kappa) - vonmises.cdf(-np.pi - loc, kappa)

    def _terms(self, X):
        yield "cos", np.cos(X)
        yield "sin", np.sin(X)

    def _fit_sums(self, sums, old, columns, smoothing):
        length = np.minimum(np.hypot(sums["cos"], sums["sin"]) / sums["weight"], 1.0)

        def slope(kappa):
            ratio = i1e(kappa) / i0e(kappa)
            return length - ratio, ratio / kappa + ratio**2 - 1

        start = length * (2 - length**2) / np.maximum(1 - length**2, 1e-12)
        return np.arctan2(sums["sin"], sums["cos"]), falling_root(slope, *_KAPPAS, start)

    def scales(self) -> dict[str, Any]:
        return {
            "locs_": partial(Real, unit=1 / np.sqrt(1 + self.kappas_)),
            "kappas_": Positive,
        }

    def _draw(self, rng, loc, kappa):
        return (rng.vonmises(loc, kappa) + np.pi) % (2 * np.pi) - np.pi
