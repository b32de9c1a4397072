"""Numeric columns that are independent given the state, each with one distribution per state.

A family of distributions (`Gamma`, `VonMises` ...) says which values it allows, the density of a
column, what is summed up over rows, and which parameters fit such sums best.
"""

from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state

from . import numeric
from .base import (
    NEGLIGIBLE,
    Emission,
    Frames,
    check_path,
    check_posteriors,
    given,
    learned,
    one_hot,
)
from .reading import read_numeric

# The share of a start state that is spread over all rows, so that no value is impossible.
_SPREAD = 0.2


class ColumnEmission(Emission):
    """Base class of the families. Every parameter has the shape (n_states, n_features)."""

    default_init = "kmeans"

    # The parameters in the order of `from_parameters`, and what each has without any data.
    _neutral: ClassVar[dict[str, float]] = {}
    _discrete = False  # True: the values are whole numbers
    _needs = "numbers"  # the values that the family allows, in words

    @classmethod
    def _known(cls, params, **values):
        """A fitted emission; ``values`` are pairs of an array and its bounds, as in `given`."""
        emission = cls(**params)
        shapes = {}
        for name, (value, bounds) in values.items():
            value = given(value, name, ndim=2, **bounds)
            shapes[name] = value.shape
            setattr(emission, f"{name}_", value)
        _check_one_shape(shapes)
        emission.n_features_in_ = value.shape[1]
        return emission

    # ---------------------------------------------------------------- reading
    def encode(self, X: Any, offsets: np.ndarray | None = None, *, reset: bool) -> Any:
        values = read_numeric(X, type(self).__name__)
        self._check_columns(values.shape[1], reset=reset)
        numeric.check_values(values, self._allows(values), self._needs, type(self).__name__, X)
        rows = numeric.Rows(values)
        if reset:
            self._look_at(rows)
        return rows

    def _allows(self, values):
        """Which values are possible; missing ones may be said to be or not."""
        return np.ones(values.shape, dtype=bool)

    def _look_at(self, rows):
        """Remember what bounds on the parameters depend on."""

    # ---------------------------------------------------------------- scoring
    def log_likelihood(self, E: Any) -> Frames:
        parameters = self._arrays(E.X.shape[1])
        log_p = np.zeros((len(E.X), len(parameters[0])))
        for j, where in observed_rows(E):
            log_p[where] += self._log_density(
                E.X[where, j][:, None], *(values[:, j] for values in parameters)
            )
        return Frames(log_p)

    def _arrays(self, n_columns=None):
        found = [learned(self, name, 2, n_columns) for name in self._neutral]
        _check_one_shape(dict(zip(self._neutral, (values.shape for values in found))))
        return found

    def _log_density(self, x, *parameters):
        """Log-density of values (n, 1) under the parameters (n_states,) of their column."""
        raise NotImplementedError

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
        self._check_init(init, ["kmeans", "random"])
        rng = check_random_state(random_state)
        X = E.X if E.observed is None else np.where(E.observed, E.X, numeric.column_moments(E)[0])
        labels = numeric.start_labels(
            self._coordinates(X), n_states, init=init, random_state=random_state
        )
        for name in self._neutral:
            if hasattr(self, name):
                delattr(self, name)
        # states that got no rows must differ too, or they would stay the same for ever
        spread = rng.dirichlet(np.ones(n_states), size=len(X))
        posteriors = (1 - _SPREAD) * one_hot(labels, n_states) + _SPREAD * spread
        self.maximise(self.accumulate(E, posteriors))

    def _coordinates(self, X):
        """The rows as points whose distances mean something."""
        return X

    def accumulate(
        self, E: Any, posteriors: np.ndarray, offsets: np.ndarray | None = None
    ) -> dict[str, Any]:
        posteriors = check_posteriors(posteriors, len(E.X))
        observed = np.ones(E.X.shape) if E.observed is None else E.observed.astype(np.float64)
        X = E.X if E.observed is None else np.where(E.observed, E.X, 1.0)
        sums = {name: posteriors.T @ (observed * values) for name, values in self._terms(X)}
        return {"weight": posteriors.T @ observed, **sums}

    def _terms(self, X):
        """Pairs of a name and what is summed up under it, one number per value of X (n, d)."""
        raise NotImplementedError

    def maximise(self, statistics: dict[str, Any], *, smoothing: float = 0.0) -> None:
        seen = statistics["weight"] > NEGLIGIBLE
        if hasattr(self, next(iter(self._neutral))):
            found = [values.copy() for values in self._arrays()]
        else:  # states without rows take those of all states
            found = [np.full(seen.shape, neutral) for neutral in self._neutral.values()]
            statistics = {
                name: np.where(
                    seen.reshape(seen.shape + (1,) * (values.ndim - 2)), values, values.sum(axis=0)
                )
                for name, values in statistics.items()
            }
            seen = statistics["weight"] > NEGLIGIBLE
        of_seen = {name: values[seen] for name, values in statistics.items()}
        old = [values[seen] for values in found]
        best = self._fit_sums(of_seen, old, np.nonzero(seen)[1], smoothing)
        for name, values, fitted in zip(self._neutral, found, best):
            values[seen] = fitted
            setattr(self, name, values)

    def _fit_sums(self, sums, old, columns, smoothing):
        """Parameters that fit sums best, each (n,); ``columns`` are those that the sums are of."""
        raise NotImplementedError

    # -------------------------------------------------------------- questions
    def cdf(self, E: Any) -> tuple[np.ndarray, np.ndarray]:
        """P(value below) and P(value not above) of every value, (n_steps, n_columns, n_states)."""
        parameters = self._arrays(E.X.shape[1])
        below, upto = np.full((2, *E.X.shape, len(parameters[0])), np.nan)
        for j, where in observed_rows(E):
            x, mine = E.X[where, j][:, None], [values[:, j] for values in parameters]
            upto[where, j] = self._cdf(x, *mine)
            below[where, j] = self._cdf(x - 1, *mine) if self._discrete else upto[where, j]
        return below, upto

    def _cdf(self, x, *parameters):
        """P(value not above x), for x (n, 1) and the parameters (n_states,) of its column."""
        raise NotImplementedError

    def n_parameters(self) -> int:
        return sum(values.size for values in self._arrays())

    def sample(self, path: ArrayLike, random_state: Any = None) -> np.ndarray:
        parameters = self._arrays()
        path = check_path(path, len(parameters[0]))
        rng = check_random_state(random_state)
        for name, values in zip(self._neutral, parameters):
            given(values, name)
        try:
            return self._draw(rng, *(values[path] for values in parameters))
        except ValueError as error:
            raise ValueError(
                f"{self} cannot be drawn from, its parameters are not valid: {error}."
            ) from None

    def _draw(self, rng, *parameters):
        """One value for every entry of the parameters."""
        raise NotImplementedError


def _check_one_shape(shapes):
    if len(set(shapes.values())) > 1:
        raise ValueError(
            "The parameters must have one shape, (n_states, n_features); got "
            + ", ".join(f"{shape} for {name}" for name, shape in shapes.items())
            + "."
        )


def observed_rows(rows):
    """Pairs of a column and its rows that have a value, as an index."""
    for j in range(rows.X.shape[1]):
        yield j, slice(None) if rows.observed is None else np.flatnonzero(rows.observed[:, j])


def typical_size(rows):
    """The mean absolute value of each column, 1 where that is 0 or nothing is observed."""
    sizes = numeric.column_moments(numeric.Rows(np.abs(rows.X)))[0]
    return np.where(sizes > 0, sizes, 1.0)


def falling_root(function, low, high, start):
    """Where a function that falls through zero does so: Newton steps within a shrinking bracket.

    Parameters
    ----------
    function : callable
        Positive numbers (n,) -> values (n,) and derivatives (n,).
    low, high : float or ndarray
        Positive bounds; the answer is a bound where the function does not change its sign.
    start : ndarray (n,)

    Returns
    -------
    ndarray (n,)
    """
    x = np.clip(np.array(start, dtype=np.float64), low, high)
    low, high = np.full(x.shape, low, dtype=np.float64), np.full(x.shape, high, dtype=np.float64)
    at_low, at_high = function(low)[0] <= 0, function(high)[0] >= 0
    low_bound, high_bound = low.copy(), high.copy()
    for _ in range(100):
        value, slope = function(x)
        low, high = np.where(value > 0, x, low), np.where(value > 0, high, x)
        # Newton's step for the logarithm of x, which is nearer to a straight line
        step = np.divide(-value, slope * x, out=np.full(x.shape, np.nan), where=slope < 0)
        new = x * np.exp(np.clip(step, -3, 3))
        done = np.abs(step) <= 1e-10  # what is left is about its square
        inside = (new > low) & (new < high)  # not so where it is NaN
        x = np.where(inside | done, new, np.sqrt(low) * np.sqrt(high))
        if (done | at_low | at_high).all():
            break
    return np.where(at_low, low_bound, np.where(at_high, high_bound, x))
