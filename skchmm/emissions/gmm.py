"""Gaussian mixture emission."""

from copy import copy
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state

from .._numbers import check_at_least, names_priors
from . import numeric
from .base import (
    NEGLIGIBLE,
    Frames,
    check_labels,
    check_path,
    check_posteriors,
    given,
    learned,
    one_hot,
)
from .gaussian import NumericEmission, check_covars, given_covars
from .priors import log_dirichlet, log_inverse_wishart

_BATCH = 65_536


class GMM(NumericEmission):
    """Real vectors, in each state distributed as a mixture of Gaussians.

    Missing values (``NaN``) are marginalised out exactly, one by one, also when learning.

    Parameters
    ----------
    n_components : int, default=2
        Number of Gaussians per state.
    covariance_type : {"diag", "spherical", "full", "tied"}, default="diag"
        Tied: all components of a state share one matrix.
    min_covar : float or None, default=None
        Smallest variance in any direction. By default a millionth of each column's variance in the
        training data. EM maximises the likelihood subject to it.
    weights_prior : float or array, default=1.0
        Parameters of a Dirichlet prior on the weights.
    means_prior, means_weight : float or array, default=0
        Mean of a normal prior on the means, and its weight in observations.
    covars_prior, covars_weight : float, array or None, default=None
        Parameters of a prior on the covariances: inverse gamma for spherical and diag, inverse
        Wishart for full and tied, parameterised as in hmmlearn. None is maximum likelihood.

    Attributes
    ----------
    weights_ : ndarray of shape (n_states, n_components)
    means_ : ndarray of shape (n_states, n_components, n_features)
    covars_ : ndarray
        Of shape (n_states, n_components) if spherical, (n_states, n_components, n_features) if
        diag, (n_states, n_components, n_features, n_features) if full,
        (n_states, n_features, n_features) if tied.

    See Also
    --------
    Gaussian : Numbers, one Gaussian per state.
    DensityEmission : A density estimator per state.

    Examples
    --------
    >>> import numpy as np
    >>> from skchmm.emissions import GMM
    >>> emission = GMM(n_components=2)
    >>> E = emission.encode(np.array([[0.0], [0.1], [5.0], [5.1]]), reset=True)
    >>> emission.initialise(E, None, 1, init="kmeans", random_state=0)
    >>> sorted(emission.means_.ravel().round(2).tolist())
    [0.05, 5.05]
    """

    def __init__(
        self,
        n_components: int = 2,
        *,
        covariance_type: str = "diag",
        min_covar: float | None = None,
        weights_prior: ArrayLike = 1.0,
        means_prior: ArrayLike = 0.0,
        means_weight: ArrayLike = 0.0,
        covars_prior: ArrayLike | None = None,
        covars_weight: ArrayLike | None = None,
    ) -> None:
        self.n_components = n_components
        self.covariance_type = covariance_type
        self.min_covar = min_covar
        self.weights_prior = weights_prior
        self.means_prior = means_prior
        self.means_weight = means_weight
        self.covars_prior = covars_prior
        self.covars_weight = covars_weight

    @classmethod
    def from_parameters(
        cls,
        weights: ArrayLike,
        means: ArrayLike,
        covars: ArrayLike,
        covariance_type: str = "diag",
        **params: Any,
    ) -> Self:
        """A fitted emission from known weights, means and compact covariances.

        Parameters
        ----------
        weights : array (n_states, n_components)
        means : array (n_states, n_components, n_features)
        covars : array
            In the shape of `covars_`.
        covariance_type : {"spherical", "diag", "full", "tied"}, default="diag"
        **params : other parameters of the constructor

        Returns
        -------
        emission of this class
        """
        weights = given(weights, "weights", ndim=2, at_least=0, rows_sum_to_1=True)
        emission = cls(weights.shape[1], covariance_type=covariance_type, **params)
        emission._check_parameters()
        emission.weights_ = weights
        emission.means_ = given(means, "means", ndim=3)
        emission.covars_ = given_covars(covars, covariance_type)
        emission.n_features_in_ = emission.means_.shape[2]
        emission._components()  # raises where they do not fit
        return emission

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
        X = numeric.filled_rows(E)
        labels = numeric.start_labels(
            X, n_states, init=init, random_state=random_state, max_rows=self._max_kmeans_rows()
        )
        self._start(E, X, labels, n_states, init, random_state)

    def _check_parameters(self):
        super()._check_parameters()
        check_at_least(self.n_components, "n_components", 1)

    def _start(self, E, X, labels, n_states, init, random_state):
        """Means from the rows of each state, uniform weights, pooled covariance."""
        covariance = self._start_covariance(E)
        means = []
        for state in range(n_states):
            rows = X[labels == state]
            means.append(
                numeric.start_centres(
                    rows if len(rows) else X,
                    self.n_components,
                    init=init,
                    random_state=random_state,
                    max_rows=self._max_kmeans_rows(),
                )
            )
        self.means_ = np.stack(means)
        self.weights_ = np.full((n_states, self.n_components), 1.0 / self.n_components)
        covars = numeric.spread_covariance(covariance, self.covariance_type, self.n_components)
        self.covars_ = np.repeat(covars[None], n_states, axis=0)

    part_steps = property(NumericEmission._part_steps)

    def log_likelihood(self, E: Any) -> Frames:
        n_states, n_components = learned(self, "weights_", 2).shape
        log_p = np.empty((len(E.X), n_states))
        for batch, rows in self._row_batches(E):
            joint = self._log_joint(rows).reshape(-1, n_states, n_components)
            log_p[batch] = _log_sum(*_scaled(joint))
        return Frames(log_p)

    def accumulate(
        self, E: Any, posteriors: np.ndarray, offsets: np.ndarray | None = None
    ) -> dict[str, Any]:
        n_states, n_components = np.shape(self.weights_)
        outer = self.covariance_type in ("full", "tied")
        means, covars = self._components()
        centres = self._centres()
        posteriors = check_posteriors(posteriors, len(E.X))
        total: Any = None
        for batch, rows in self._row_batches(E):
            joint = self._log_joint(rows).reshape(-1, n_states, n_components)
            weights = _shares(_scaled(joint)[1]) * posteriors[batch, :, None]
            weights = weights.reshape(len(rows.X), -1)
            some = numeric.moments(rows, weights, centres, outer=outer, means=means, covars=covars)
            # rows without any value belong to a state, but say nothing about its components
            present = slice(None) if rows.observed is None else rows.observed.any(axis=1)
            some["mixture"] = weights[present].sum(axis=0)
            total = some if total is None else {key: total[key] + some[key] for key in total}
        return {key: v.reshape(n_states, n_components, *v.shape[1:]) for key, v in total.items()}

    @names_priors("weights_prior", "means_prior", "means_weight", "covars_prior", "covars_weight")
    def maximise(self, statistics: dict[str, Any], *, smoothing: float = 0.0) -> None:
        mixture = statistics["mixture"]
        shape = mixture.shape
        centres = np.broadcast_to(self._centres(), (shape[0] * shape[1], self.means_.shape[2]))
        centres = centres.reshape(self.means_.shape)
        weights = np.maximum(mixture + self.weights_prior - 1.0, 0.0)
        alive = weights.sum(axis=1, keepdims=True) > NEGLIGIBLE
        weights = np.where(
            alive, weights / np.where(alive, weights.sum(axis=1, keepdims=True), 1.0), self.weights_
        )
        precision = np.broadcast_to(self.means_weight, shape)[:, :, None]
        prior = np.broadcast_to(self.means_prior, centres.shape) - centres
        total = statistics["weight"] + precision
        seen = total > NEGLIGIBLE
        old = self.means_ - centres
        means = np.where(
            seen, (precision * prior + statistics["first"]) / np.where(seen, total, 1.0), old
        )
        if self._keep_means:
            means = old
        # hmmlearn takes the scatter about the means before the update
        about = old if self._as_hmmlearn else means
        covars = self._covars_from(statistics, about, means - prior, precision)
        self.weights_, self.means_, self.covars_ = weights, means + centres, covars

    def _covars_from(self, statistics, centres, from_prior, precision):
        kind = self.covariance_type
        outer = kind in ("full", "tied")
        _, n_components, d = centres.shape
        weight = statistics["weight"]
        scatter = numeric.scatter_about(statistics, centres, outer=outer)
        first, second = self._covars_prior(d)
        if outer:
            scatter += precision[..., None] * from_prior[..., :, None] * from_prior[..., None, :]
            weight = weight[:, :, 0]
            if kind == "tied":
                scatter, weight = scatter.sum(axis=1), weight.sum(axis=1)
            scatter = scatter + np.swapaxes(np.broadcast_to(first, scatter.shape), -1, -2)
            added = np.broadcast_to(second, weight.shape) + d + 1
            total = weight + added + (n_components if kind == "tied" else 1)
            weight, total = weight[..., None, None], total[..., None, None]
        else:
            scatter += precision * from_prior**2
            total = weight + 1.0
            if kind == "spherical":
                scatter, weight, total = (v.sum(axis=2) for v in (scatter, weight, total))
            scatter = scatter + 2.0 * np.broadcast_to(second, scatter.shape)
            total = total + 2.0 * (np.broadcast_to(first, scatter.shape) + 1.0)
        seen = (weight > NEGLIGIBLE) & (total > NEGLIGIBLE)
        covars = np.where(seen, scatter / np.where(seen, total, 1.0), self.covars_)
        one = {"spherical": (), "diag": (d,)}.get(kind, (d, d))
        axis = 1 if kind == "tied" else None
        rounding = numeric.rounding(statistics, self.means_, axis=axis).reshape(-1, d)
        floor = np.maximum(self._floor(), rounding)
        return numeric.floor_covars(covars.reshape(-1, *one), floor).reshape(covars.shape)

    def log_prior(self, *, smoothing: float = 0.0) -> float:
        means, covars = learned(self, "means_", 3), learned(self, "covars_")
        shape, d, kind = means.shape[:2], means.shape[2], self.covariance_type
        precision = np.broadcast_to(self.means_weight, shape)[:, :, None]
        apart = means - self.means_prior
        first, second = self._covars_prior(d)
        if kind in ("full", "tied"):
            scatter = precision[..., None] * apart[..., :, None] * apart[..., None, :]
            scatter = scatter.sum(axis=1) if kind == "tied" else scatter
            scatter = scatter + np.swapaxes(np.broadcast_to(first, scatter.shape), -1, -2)
            more = d + 1 + (shape[1] if kind == "tied" else 1)
            added = np.broadcast_to(second, scatter.shape[:-2]) + more
        else:
            scatter, added = precision * apart**2, np.ones(means.shape)
            if kind == "spherical":
                scatter, added = scatter.sum(axis=2), added.sum(axis=2)
            scatter = scatter + 2.0 * np.broadcast_to(second, scatter.shape)
            added = added + 2.0 * (np.broadcast_to(first, scatter.shape) + 1.0)
        weights = log_dirichlet(np.asarray(self.weights_prior) - 1.0, np.asarray(self.weights_))
        return weights + log_inverse_wishart(added, scatter, covars)

    def _covars_prior(self, d):
        """hmmlearn's two prior parameters; those that cancel from the update stand for None."""
        m = self.n_components
        none = {
            "full": (0.0, -(d + 2.0)),
            "tied": (0.0, -(m + d + 1.0)),
            "diag": (-1.5, 0.0),
            "spherical": (-(m + 2.0) / 2 if self._as_hmmlearn else -(d + 2.0) / 2, 0.0),
        }[self.covariance_type]
        given = self.covars_prior, self.covars_weight
        return tuple(default if value is None else value for value, default in zip(given, none))

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
        labels = check_labels(y_index, n_states)
        if E.observed is not None:
            labels = labels[E.observed.any(axis=1)]
        before = copy(self)
        self._start(E, numeric.filled_rows(E), labels, n_states, "kmeans", random_state)
        if hasattr(before, "means_"):
            unseen = np.setdiff1d(np.arange(n_states), labels)
            for name in ("weights_", "means_", "covars_"):
                getattr(self, name)[unseen] = getattr(before, name)[unseen]
        self._fit_labelled(E, one_hot(y_index, n_states, weights))
        return self

    def n_parameters(self) -> int:
        n_states, n_components, d = self.means_.shape
        matrix = d * (d + 1) // 2
        k = n_states * n_components
        covars = {"spherical": k, "diag": k * d, "full": k * matrix, "tied": n_states * matrix}
        return k * d + covars[self.covariance_type] + n_states * (n_components - 1)

    def sample(self, path: ArrayLike, random_state: Any = None) -> np.ndarray:
        rng = check_random_state(random_state)
        means, covars = self._components_to_draw_from()
        weights = given(self.weights_, "weights_", at_least=0, rows_sum_to_1=True)
        n_states, n_components = weights.shape
        path = check_path(path, n_states)
        rows = np.empty((len(path), means.shape[1]))
        for state in np.unique(path):
            where = np.flatnonzero(path == state)
            chosen = rng.choice(n_components, len(where), p=weights[state])
            for c in np.unique(chosen):
                k = state * n_components + c
                here = where[chosen == c]
                rows[here] = rng.multivariate_normal(means[k], covars[k], len(here))
        return rows

    def _components(self):
        """Means and covariances of all components of all states in one row."""
        n_states, n_components, d = learned(self, "means_", 3).shape
        covars = learned(self, "covars_")
        if np.shape(self.weights_) != (n_states, n_components):
            raise ValueError(
                f"weights must have the shape {(n_states, n_components)} for the means that are "
                f"given; it is {np.shape(self.weights_)}."
            )
        check_covars(covars, self.covariance_type, (n_states, n_components), d)
        if self.covariance_type == "tied":
            covars = np.repeat(covars, n_components, axis=0)
        else:
            covars = covars.reshape(n_states * n_components, *covars.shape[2:])
        return np.reshape(self.means_, (-1, d)), covars

    def _log_joint(self, rows):
        means, covars = self._components()
        with np.errstate(divide="ignore"):
            return numeric.log_densities(rows, means, covars) + np.log(np.ravel(self.weights_))

    def _row_batches(self, E):
        if len(E.X) <= _BATCH:
            return [(slice(None), E)]
        starts = range(0, len(E.X), _BATCH)
        return ((slice(i, i + _BATCH), numeric.Rows(E.X[i : i + _BATCH])) for i in starts)


def _scaled(log_joint):
    """Peak over the components (last axis), and the components relative to it."""
    # component by component: numpy reduces a short last axis slowly
    peak = log_joint[:, :, 0].copy()
    for m in range(1, log_joint.shape[2]):
        np.maximum(peak, log_joint[:, :, m], out=peak)
    peak[~np.isfinite(peak)] = 0.0
    return peak, np.exp(log_joint - peak[:, :, None])


def _total(relative):
    total = relative[:, :, 0].copy()
    for m in range(1, relative.shape[2]):
        total += relative[:, :, m]
    return total


def _log_sum(peak, relative):
    with np.errstate(divide="ignore"):
        return peak + np.log(_total(relative))


def _shares(relative):
    """Share of each component; equal shares where all are impossible."""
    total = _total(relative)
    relative[total == 0] = 1.0
    total[total == 0] = relative.shape[2]
    return relative / total[:, :, None]
