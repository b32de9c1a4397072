"""Numbers with heavy tails: Student's t distribution."""

from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import minimize_scalar
from scipy.special import digamma, gammaln, polygamma, stdtr

from . import numeric
from .base import check_posteriors, one_hot
from .columns import ColumnEmission, falling_root, observed_rows
from .scales import Positive, Real

_DOFS = (0.1, 1e4)  # beyond, hardly to be told from a normal distribution
_START = 4.0  # degrees of freedom that EM starts with
_MAX_STEPS = 500


class StudentT(ColumnEmission):
    """Numbers with outliers: each column has a t distribution in each state.

    A t distribution is a normal one whose precision varies from value to value; EM weighs a value
    by what its precision is expected to be, so outliers count little. Missing values (``NaN``) are
    marginalised out, one by one. No scale is below a thousandth of its column's standard deviation
    in the training data, and the degrees of freedom are from 0.1 to 10,000.

    Attributes
    ----------
    locs_, scales_ : ndarray of shape (n_states, n_features)
        The centres, and what takes the place of standard deviations.
    dofs_ : ndarray of shape (n_states, n_features)
        Degrees of freedom: 1 has Cauchy's tails, large ones are normal.

    See Also
    --------
    Gaussian : Without outliers.

    Examples
    --------
    >>> import numpy as np
    >>> from skchmm.emissions import StudentT
    >>> emission = StudentT()
    >>> X = np.array([[-1.0], [0.0], [1.0], [0.5], [-0.5], [90.0]])
    >>> E = emission.encode(X, reset=True)
    >>> bool(abs(emission.fit_supervised(E, [0] * 6, n_states=1).locs_[0, 0]) < 0.3)
    True
    """

    _neutral: ClassVar[dict[str, float]] = {"locs_": 0.0, "scales_": 1.0, "dofs_": _START}

    @classmethod
    def from_parameters(
        cls, locs: ArrayLike, scales: ArrayLike, dofs: ArrayLike, **params: Any
    ) -> Self:
        """A fitted emission from known centres, scales and degrees of freedom.

        Parameters
        ----------
        locs, scales, dofs : array (n_states, n_features)
        **params : other parameters of the constructor

        Returns
        -------
        emission of this class
        """
        return cls._known(
            params, locs=(locs, {}), scales=(scales, {"above": 0}), dofs=(dofs, {"above": 0})
        )

    def _look_at(self, rows):
        mean, variance = numeric.column_moments(rows)
        self._moments = mean, np.where(variance > 0, variance, 1.0)

    def _log_density(self, x, loc, scale, dof):
        return log_density(((x - loc) / scale) ** 2, scale, dof)

    def _cdf(self, x, loc, scale, dof):
        return stdtr(dof, (x - loc) / scale)

    # --------------------------------------------------------------- learning
    def initialise(
        self,
        E: Any,
        offsets: np.ndarray | None,
        n_states: int,
        *,
        init: str,
        random_state: Any = None,
    ) -> None:
        super().initialise(E, offsets, n_states, init=init, random_state=random_state)
        self.dofs_ = np.full(np.shape(self.locs_), _START)

    def accumulate(
        self, E: Any, posteriors: np.ndarray, offsets: np.ndarray | None = None
    ) -> dict[str, Any]:
        posteriors = check_posteriors(posteriors, len(E.X))
        if not hasattr(self, "locs_"):
            self._start_from_pooled(E, posteriors.shape[1])
        sums = np.zeros((5, posteriors.shape[1], E.X.shape[1]))
        for j, where in observed_rows(E):
            loc, scale, dof = (values[:, j] for values in self._arrays())
            centred = E.X[where, j][:, None] - loc
            precision, logarithm = expected_precision((centred / scale) ** 2, dof)
            weights = posteriors[where]
            weighted = weights * precision
            for total, values in zip(
                sums,
                (weights, weighted, weighted * centred, weighted * centred**2,
                 weights * (logarithm - precision)),
            ):  # fmt: skip
                total[:, j] = values.sum(axis=0)
        return dict(zip(("weight", "precision", "first", "second", "information"), sums))

    def _start_from_pooled(self, E, n_states):
        mean, variance = getattr(self, "_moments", numeric.column_moments(E))
        self.locs_ = np.repeat(mean[None], n_states, axis=0)
        self.scales_ = np.sqrt(np.repeat(np.maximum(variance, self._least())[None], n_states, 0))
        self.dofs_ = np.full(self.locs_.shape, _START)

    def _least(self):
        """The smallest square of a scale, by column."""
        if hasattr(self, "_moments"):
            return 1e-6 * self._moments[1]
        return np.full(self.n_features_in_, np.finfo(float).tiny)

    def _fit_sums(self, sums, old, columns, smoothing):
        step = sums["first"] / sums["precision"]
        square = (sums["second"] - step * sums["first"]) / sums["weight"]
        scale = np.sqrt(np.maximum(square, self._least()[columns]))
        information = sums["information"] / sums["weight"]

        def slope(dof):
            half = dof / 2
            value = np.log(half) - digamma(half) + 1 + information
            return value, 1 / dof - polygamma(1, half) / 2

        return old[0] + step, scale, falling_root(slope, *_DOFS, old[2])

    def fit_supervised(
        self,
        E: Any,
        y_index: ArrayLike,
        n_states: int,
        weights: ArrayLike | None = None,
        *,
        offsets: np.ndarray | None = None,
        smoothing: float = 0.0,
        random_state: Any = None,
    ) -> Self:
        posteriors = one_hot(y_index, n_states, weights)
        if not hasattr(self, "locs_"):
            self._start_from_pooled(E, n_states)
            # states without labels, too, have what fits the rows that have some
            pooled = self._fit_states(E, posteriors.sum(axis=1, keepdims=True))
            self._set([np.repeat(values, n_states, axis=0) for values in pooled])
        self._set(self._fit_states(E, posteriors))
        return self

    def _set(self, parameters):
        for name, values in zip(self._neutral, parameters):
            setattr(self, name, values)

    def _fit_states(self, E, posteriors):
        found = [values[: posteriors.shape[1]].copy() for values in self._arrays()]
        least = self._least()
        for j, where in observed_rows(E):
            for state, weights in enumerate(posteriors[where].T):
                used = weights > 0
                if used.any():
                    best = fit_values(E.X[where, j][used], weights[used], least[j])
                    for values, value in zip(found, best):
                        values[state, j] = value
        return found

    def scales(self) -> dict[str, Any]:
        return {
            "locs_": partial(Real, unit=self.scales_),
            "scales_": Positive,
            "dofs_": Positive,
        }

    def _draw(self, rng, loc, scale, dof):
        return loc + scale * rng.standard_normal(dof.shape) / np.sqrt(rng.chisquare(dof) / dof)


def log_density(square, scale, dof):
    """Of values whose squared distance from the centre is ``square`` squared scales."""
    constant = gammaln((dof + 1) / 2) - gammaln(dof / 2) - np.log(scale * np.sqrt(np.pi * dof))
    return constant - (dof + 1) / 2 * np.log1p(square / dof)


def expected_precision(square, dof):
    """Expectations of the latent precision of a value, and of its logarithm."""
    rate = (dof + square) / 2
    return (dof + 1) / 2 / rate, digamma((dof + 1) / 2) - np.log(rate)


def fit_values(x, weights, least):
    """Location, scale and degrees of freedom that fit weighted values best.

    Location and scale take EM steps, the degrees of freedom the best value given these.
    """
    total = weights.sum()
    order = np.argsort(x)
    loc = x[order[np.searchsorted(np.cumsum(weights[order]), total / 2).clip(max=len(x) - 1)]]
    square = max(np.dot(weights, (x - loc) ** 2) / total, least)
    dof, last = _START, -np.inf
    for _ in range(_MAX_STEPS):
        precision = expected_precision((x - loc) ** 2 / square, dof)[0] * weights
        loc = loc + np.dot(precision, x - loc) / precision.sum()
        # over the sum of precisions, not of weights: this is as monotone, and faster
        square = max(np.dot(precision, (x - loc) ** 2) / precision.sum(), least)
        found = minimize_scalar(
            partial(_loss, (x - loc) ** 2 / square, weights / total, np.sqrt(square)),
            bounds=np.log(np.clip([dof / 8, dof * 8], *_DOFS)),
            method="bounded",
            options={"xatol": 1e-9},
        )
        dof = float(np.exp(found.x))
        if -found.fun - last < 1e-14 * max(1.0, abs(last)):
            break
        last = -found.fun
    return loc, np.sqrt(square), dof


def _loss(square, weights, scale, log_dof):
    return -np.dot(weights, log_density(square, scale, np.exp(log_dof)))
