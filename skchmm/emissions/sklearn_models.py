"""Emissions made of scikit-learn models: what they share, and one density estimator per state."""

from copy import copy
from typing import Any, NoReturn, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import has_fit_parameter

from ..sequences.values import as_array, missing_in
from .base import Emission, Frames, check_labels, check_path, check_weights
from .vocabulary import columns_of


class _RawRows:
    """Rows as the user gave them, in two dimensions, and which of them are missing as a whole."""

    def __init__(self, X):
        if not hasattr(X, "columns"):
            X = as_array(X, "X")
            X = X.reshape(-1, 1) if X.ndim == 1 else X
        self.X = X
        self.missing = np.logical_and.reduce([missing_in(column) for column in columns_of(X)])

    def take(self, rows):
        if len(rows) == len(self.missing):
            return self.X
        return self.X.iloc[rows] if hasattr(self.X, "iloc") else self.X[rows]


class ModelEmission(Emission):
    """An emission that leaves learning, and missing values in part of a row, to another model."""

    needs_labels = True

    def encode(self, X: Any, offsets: np.ndarray | None = None, *, reset: bool) -> Any:
        rows = _RawRows(X)
        self._check_columns(rows.X.shape[1], reset=reset)
        return rows

    def initialise(
        self,
        E: Any,
        offsets: np.ndarray | None,
        n_states: int,
        *,
        init: str | None = None,
        random_state: Any = None,
    ) -> None:
        self._refuse()

    def accumulate(
        self, E: Any, posteriors: np.ndarray, offsets: np.ndarray | None = None
    ) -> dict[str, Any]:
        self._refuse()

    def maximise(self, statistics: dict[str, Any], *, smoothing: float = 0.0) -> None:
        self._refuse()

    def _refuse(self) -> NoReturn:
        raise ValueError(
            f"{type(self).__name__} is learned from labelled rows only: EM cannot fit it. Pass y "
            "to fit, or use an emission of skchmm.emissions such as Gaussian()."
        )

    def _labelled(self, E, y_index, n_states, weights):
        y_index = check_labels(y_index, n_states)
        if len(y_index) != len(E.missing):
            raise ValueError(f"There are {len(y_index)} labels, but {len(E.missing)} rows.")
        weights = check_weights(np.ones(len(y_index)) if weights is None else weights, len(y_index))
        known = np.flatnonzero((y_index >= 0) & (weights > 0) & ~E.missing)
        if len(known) == 0:
            raise ValueError(f"{type(self).__name__} needs at least one labelled, observed row.")
        return known, y_index[known], weights[known]

    def n_parameters(self) -> int:
        raise ValueError(
            f"The number of parameters of {type(self).__name__} is not known, so there is no AIC "
            "or BIC; compare models by cross-validation."
        )


def fit_clone(model, X, weights, y=None):
    """A clone of a model, fitted to rows with weights."""
    model = clone(model)
    arguments = (X,) if y is None else (X, y)
    if np.all(weights == weights[0]):
        return model.fit(*arguments)
    if not has_fit_parameter(model, "sample_weight"):
        raise ValueError(f"{type(model).__name__} does not take sample_weight.")
    return model.fit(*arguments, sample_weight=weights)


class DensityEmission(ModelEmission):
    """Any density estimator with ``score_samples``, one clone per state.

    Rows in which all values are missing are marginalised out; other missing values are left to the
    estimator.

    Parameters
    ----------
    estimator : scikit-learn density estimator
        Such as `KernelDensity` or `GaussianMixture`.

    Attributes
    ----------
    estimators_ : list of one fitted clone per state
        The clone of a state without training rows is fitted to the rows of all states.

    See Also
    --------
    ClassifierEmission : The probabilities of a classifier.
    GMM : Numbers, a mixture of Gaussians per state.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.neighbors import KernelDensity
    >>> from skchmm.emissions import DensityEmission
    >>> emission = DensityEmission(KernelDensity(bandwidth=0.5))
    >>> E = emission.encode(np.array([[0.0], [0.5], [3.0], [4.0]]), reset=True)
    >>> emission.fit_supervised(E, [0, 0, 1, 1], n_states=2)
    DensityEmission(estimator=KernelDensity(bandwidth=0.5))
    >>> emission.log_likelihood(E).dense().argmax(axis=1)
    array([0, 0, 1, 1])
    """

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator

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
        known, labels, weights = self._labelled(E, y_index, n_states, weights)
        estimators = [self._fit_state(E, known, labels, weights, s) for s in range(n_states)]
        if None in estimators:
            pooled = fit_clone(self.estimator, E.take(known), weights)
            estimators = [pooled if estimator is None else estimator for estimator in estimators]
        self.estimators_ = estimators
        return self

    def _fit_state(self, E, known, labels, weights, state):
        of_state = labels == state
        if not of_state.any():
            return None
        try:
            return fit_clone(self.estimator, E.take(known[of_state]), weights[of_state])
        except ValueError as error:
            raise ValueError(
                f"{self.estimator!r} cannot be fitted to the {of_state.sum()} training rows of "
                f"state number {state}: {error}"
            ) from error

    def log_likelihood(self, E: Any) -> Frames:
        log_p = np.zeros((len(E.missing), len(self.estimators_)))
        present = np.flatnonzero(~E.missing)
        if len(present):
            X = E.take(present)
            for state, estimator in enumerate(self.estimators_):
                log_p[present, state] = estimator.score_samples(X)
        return Frames(log_p)

    def sample(self, path: ArrayLike, random_state: Any = None) -> np.ndarray:
        if not hasattr(self.estimator, "sample"):
            raise ValueError(f"{self.estimator!r} has no method to sample.")
        rng = check_random_state(random_state)
        path = check_path(path, len(self.estimators_))
        rows = np.empty((len(path), self.n_features_in_))
        for state in np.unique(path):
            where = np.flatnonzero(path == state)
            # a mixture returns its draws sorted by component
            rows[rng.permutation(where)] = _draw(self.estimators_[state], len(where), rng)
        return rows


def _draw(estimator, n, rng):
    seed = int(rng.randint(2**31 - 1))
    if "random_state" in estimator.get_params():
        drawn = copy(estimator).set_params(random_state=seed).sample(n)
    else:
        drawn = estimator.sample(n, random_state=seed)
    return drawn[0] if isinstance(drawn, tuple) else drawn
