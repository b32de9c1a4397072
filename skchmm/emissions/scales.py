"""Parameters on scales without bounds, where a normal approximation makes sense.

A positive number is on the scale of its logarithm, probabilities that sum to 1 on that of their
logarithms relative to the largest of them, and so on. Intervals are found there and brought back,
so they never leave what is possible.
"""

import numpy as np

# What is nearer to a bound than this is taken to lie on it, and to be known.
ON_BOUND = 1e-8


class Scale:
    """Parameters (n_states, ...) and their free coordinates on a scale without bounds.

    Parameters
    ----------
    values : ndarray
        The parameters.
    free : ndarray of bool, optional
        Which of them are not given.
    unit : array, optional
        What one step is; see `Real`.
    shared : bool
        Whether the parameters concern all states.

    Attributes
    ----------
    n_free : int
    rows : ndarray (n_free,)
        The row (state) of each coordinate; -1 where it concerns all states.
    slots : ndarray (n_free,)
        Coordinates of different rows with the same slot can be moved together.
    """

    def __init__(self, values, free=None, *, unit=None, shared=False):
        self.values = np.array(values, dtype=np.float64)
        self.unit = (
            np.ones(self.values.shape) if unit is None else np.broadcast_to(unit, self.values.shape)
        )
        free = np.ones(self.values.shape, dtype=bool) if free is None else free
        self.free = self._choose(free)
        self.index = np.argwhere(self.free)
        self.n_free = len(self.index)
        self.rows = self.index[:, 0] if self.n_free else np.empty(0, dtype=np.int64)
        if shared:
            self.rows, self.slots = np.full(self.n_free, -1), np.arange(self.n_free)
            return
        shape = self.values.shape[1:] or (1,)
        rest = self.index[:, 1:] if self.values.ndim > 1 else np.zeros((self.n_free, 1), dtype=int)
        self.slots = np.ravel_multi_index(tuple(rest.T), shape) if self.n_free else self.rows

    def _choose(self, free):
        return free

    def moved(self, by):
        """The parameters with their free coordinates (n_free,) moved."""
        raise NotImplementedError

    def interval(self, covariance, z):
        """Lower and upper bounds (2, ...) from the covariance of the free coordinates."""
        raise NotImplementedError

    def _spread(self, numbers):
        out = np.zeros(self.values.shape)
        out[self.free] = numbers
        return out

    def _bounds(self, deviation, bound):
        """What ``bound`` says of minus and plus the deviation; the value where it is known."""
        both = [np.where(self.free, bound(sign * deviation), self.values) for sign in (-1, 1)]
        return np.stack(both)


class Real(Scale):
    """Numbers; coordinates are in multiples of their unit."""

    def moved(self, by):
        return self.values + self.unit * self._spread(by)

    def interval(self, covariance, z):
        deviation = self._spread(z * np.sqrt(np.diagonal(covariance)))
        return self._bounds(deviation, lambda d: self.values + self.unit * d)


class Positive(Scale):
    """Positive numbers, by their logarithms."""

    def _choose(self, free):
        return free & (self.values > ON_BOUND * ON_BOUND)

    def moved(self, by):
        return self.values * np.exp(self._spread(by))

    def interval(self, covariance, z):
        deviation = self._spread(z * np.sqrt(np.diagonal(covariance)))
        return self._bounds(deviation, lambda d: self.values * np.exp(d))


class Unit(Scale):
    """Numbers between 0 and 1, by their odds."""

    def _choose(self, free):
        return free & (self.values > ON_BOUND) & (self.values < 1 - ON_BOUND)

    def _odds(self, by):
        value = np.where(self.free, self.values, 0.5)
        odds = value / (1 - value) * np.exp(by)
        return np.where(np.isinf(odds), 1.0, odds / (1 + odds))

    def moved(self, by):
        return np.where(self.free, self._odds(self._spread(by)), self.values)

    def interval(self, covariance, z):
        return self._bounds(self._spread(z * np.sqrt(np.diagonal(covariance))), self._odds)


class Simplex(Scale):
    """Probabilities that sum to 1 along the last axis, relative to the largest free one."""

    def _choose(self, free):
        free = free & (self.values > ON_BOUND)
        free &= free.sum(axis=-1, keepdims=True) > 1
        self.shared = free
        largest = np.where(free, self.values, -1.0).argmax(axis=-1)
        reference = np.arange(self.values.shape[-1]) == largest[..., None]
        return free & ~reference

    def moved(self, by):
        weights = self.values * np.exp(self._spread(by))
        left = np.where(self.shared, self.values, 0.0).sum(axis=-1, keepdims=True)
        total = np.where(self.shared, weights, 0.0).sum(axis=-1, keepdims=True)
        scaled = weights * left / np.where(total > 0, total, 1.0)
        return np.where(self.shared, scaled, self.values)

    def score(self, values, counts):
        """Derivatives of the sum of counts times log probabilities, at ``values``."""
        shared = np.where(self.shared, values, 0.0)
        total = shared.sum(axis=-1, keepdims=True)
        seen = np.where(self.shared, counts, 0.0).sum(axis=-1, keepdims=True)
        return (counts - shared / np.where(total > 0, total, 1.0) * seen)[self.free]

    def interval(self, covariance, z):
        shape = self.values.shape
        number = np.full(shape, -1)
        number[self.free] = np.arange(self.n_free)
        number, shared = number.reshape(-1, shape[-1]), self.shared.reshape(-1, shape[-1])
        lower, upper = np.repeat(self.values.reshape(1, -1, shape[-1]), 2, axis=0)
        for row, (numbers, mine) in enumerate(zip(number, shared)):
            if not mine.any():
                continue
            p = lower[row].copy()
            share = np.where(mine, p, 0.0) / p[mine].sum()
            used = np.flatnonzero(numbers >= 0)
            # derivatives of the log odds of each entry by the coordinates of its row
            slopes = (np.eye(shape[-1])[:, used] - share[used]) / np.maximum(1 - p, 1e-300)[:, None]
            block = covariance[np.ix_(numbers[used], numbers[used])]
            with np.errstate(invalid="ignore"):
                deviation = z * np.sqrt(np.einsum("ki,ij,kj->k", slopes, block, slopes))
            deviation = np.where(np.isnan(deviation), np.inf, deviation)
            odds = p / np.maximum(1 - p, 1e-300)
            with np.errstate(over="ignore", invalid="ignore"):
                low, high = odds * np.exp(-deviation), odds * np.exp(deviation)
                high = np.where(np.isinf(high), 1.0, high / (1 + high))
            lower[row], upper[row] = np.where(mine, [low / (1 + low), high], p)
        return np.stack([lower.reshape(shape), upper.reshape(shape)])


class Generator(Positive):
    """Rates off the diagonal of a generator, by their logarithms."""

    def _choose(self, free):
        return super()._choose(free) & ~np.eye(len(self.values), dtype=bool)

    def moved(self, by):
        rates = super().moved(by)
        np.fill_diagonal(rates, 0.0)
        np.fill_diagonal(rates, -rates.sum(axis=1))
        return rates

    def score(self, values, jumps, stays):
        """Derivatives of the log probability of jumps and times spent, at ``values``."""
        return (jumps - stays[:, None] * values)[self.free]

    def interval(self, covariance, z):
        bounds = super().interval(covariance, z)
        for i in range(len(self.values)):
            mine = np.flatnonzero(self.rows == i)
            exit_rate = -self.values[i, i]
            if len(mine) and exit_rate > 0:
                slopes = self.values[i, self.index[mine, 1]] / exit_rate
                deviation = z * np.sqrt(slopes @ covariance[np.ix_(mine, mine)] @ slopes)
                bounds[:, i, i] = -exit_rate * np.exp([deviation, -deviation])
        return bounds


class Covariances(Scale):
    """Symmetric matrices (..., d, d): variances by their logarithms, covariances by multiples."""

    def _choose(self, free):
        return free & np.tri(self.values.shape[-1], dtype=bool)

    def _parts(self, by):
        diagonal = np.eye(self.values.shape[-1], dtype=bool)
        variances = np.diagonal(self.values, axis1=-2, axis2=-1)
        unit = np.sqrt(variances[..., :, None] * variances[..., None, :])
        with np.errstate(over="ignore"):
            return np.where(diagonal, self.values * np.exp(by), self.values + unit * by)

    def _symmetric(self, lower):
        strict = np.tril(lower, -1)
        return np.tril(lower) + np.swapaxes(strict, -1, -2)

    def moved(self, by):
        return self._symmetric(self._parts(self._spread(by)))

    def interval(self, covariance, z):
        deviation = self._spread(z * np.sqrt(np.diagonal(covariance)))
        return self._symmetric(np.stack([self._parts(-deviation), self._parts(deviation)]))


def scales_of(emission, prefix=""):
    """(name, owner, attribute, position in it or None, Scale) of every free parameter."""
    if hasattr(emission, "emissions_"):
        return [
            found
            for columns, part in emission.emissions_.items()
            for found in scales_of(part, f"{prefix}{emission.name_of(columns)}__")
        ]
    found = []
    for attribute, make in emission.scales().items():
        values = getattr(emission, attribute)
        if isinstance(values, list):
            for j, table in enumerate(values):
                found.append((f"{prefix}{attribute}[{j}]", emission, attribute, j, make(table)))
        else:
            found.append((f"{prefix}{attribute}", emission, attribute, None, make(values)))
    return found
