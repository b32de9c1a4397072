"""Gaussian emission."""

from copy import copy
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr
from sklearn.utils import check_random_state

from .._numbers import is_one_of, is_real, names_priors
from . import numeric
from .base import (
    NEGLIGIBLE,
    Emission,
    Frames,
    check_path,
    given,
    is_plain,
    learned,
    one_hot,
)
from .priors import check_prior, log_inverse_wishart
from .reading import read_numeric
from .scales import Covariances, Positive, Real, Simplex

_MAX_SUPERVISED_STEPS = 200


class NumericEmission(Emission):
    """What Gaussian and Gaussian-mixture emissions share: reading rows, shift and floor."""

    default_init = "kmeans"
    _keep_means = False  # True: learn the covariances about means that stay as they are
    _about_means = True  # False: moments are always taken about one point

    # Each class that scores rows says it itself; see `steps_in_part`.
    def _part_steps(self) -> int | None:
        full = self.covariance_type in ("full", "tied")
        if full and self.n_features_in_ > numeric.MAX_FULL_COLUMNS:
            return None  # BLAS rounds as it suits the number of rows
        return 10_000

    def encode(self, X: Any, offsets: np.ndarray | None = None, *, reset: bool) -> Any:
        self._check_parameters()
        rows = _read_rows(X, type(self).__name__)
        self._check_columns(rows.X.shape[1], reset=reset)
        if reset:
            self._check_priors()
            # sums of squares are taken about this point, so that a large offset costs no digits
            self._shift, self._variances = numeric.column_moments(rows)
        return rows

    def survey(self, X: Any) -> Any:
        """What encoding notes of rows, in a form that adds up."""
        return numeric.Moments.of(_read_rows(X, type(self).__name__))

    def settle(self, survey: Any, like: Any = None) -> None:
        """Take note of a survey, as encoding does of its rows; `like` one that has sums already."""
        self._check_columns(len(survey.mean), reset=True)
        self._check_priors()
        self._shift = survey.mean if like is None else like._shift
        self._variances = survey.variances

    def _check_parameters(self):
        if not is_one_of(self.covariance_type, numeric.COVARIANCE_TYPES):
            raise ValueError(
                f"covariance_type must be one of {', '.join(numeric.COVARIANCE_TYPES)}; "
                f"got {self.covariance_type!r}."
            )
        if not (self.min_covar is None or is_real(self.min_covar)):
            raise ValueError(f"min_covar must be None or a number, got {self.min_covar!r}.")

    def _check_priors(self):
        for name in ("weights_prior", "means_prior", "means_weight", "covars_prior",
                     "covars_weight"):  # fmt: skip
            value = getattr(self, name, None)
            if value is None or (isinstance(value, (int, float)) and abs(value) < 1e300):
                continue
            check_prior(value, name)

    def _floor(self):
        """The smallest variance of each column."""
        d = self.n_features_in_
        if self._as_hmmlearn:
            return np.zeros(d)
        if self.min_covar is not None:
            return np.full(d, float(self.min_covar))
        variances = getattr(self, "_variances", None)
        if variances is None:  # the parameters were set by hand
            matrices = full_covars(self._components()[1], d)
            variances = np.diagonal(matrices, axis1=1, axis2=2).mean(axis=0)
        return 1e-6 * np.where(variances > 0, variances, 1.0)

    def _start_covariance(self, rows):
        extra = (
            self._floor() if self.min_covar is None else np.full(rows.X.shape[1], self.min_covar)
        )
        covariance = numeric.pooled_covariance(rows) + np.diag(extra)
        if self.covariance_type == "spherical" and self._as_hmmlearn:
            np.fill_diagonal(covariance, covariance.mean())
        if numeric.n_filled(rows) < 2:
            covariance = np.eye(len(covariance))
        if not self._as_hmmlearn:  # steps that follow tell variances from rounding as well
            least = np.maximum(self._floor(), numeric.precision(rows, covariance))
            covariance = numeric.floor_covars(covariance[None], least[None])[0]
        return covariance

    def _max_kmeans_rows(self):
        return None if self._as_hmmlearn else numeric.MAX_KMEANS_ROWS

    def _reference(self):
        if hasattr(self, "_shift"):
            return self._shift
        return self.means_.reshape(-1, self.means_.shape[-1]).mean(axis=0)

    def _centres(self):
        """Where moments are taken about, (d,) or one row for each component.

        Sums of squares about a point that is c away have an error of about 1e-16 c^2. Where there
        is a floor, that is little beside it; else a component may be as narrow as it likes.
        """
        any_width = self._as_hmmlearn or self.min_covar is not None
        if any_width and self._about_means and hasattr(self, "means_"):
            return np.reshape(self.means_, (-1, np.shape(self.means_)[-1]))
        return self._reference()

    def _components_to_draw_from(self):
        """Means and matrices of all components; NaN, say, is an error."""
        means, covars = self._components()
        matrices = given(full_covars(covars, means.shape[1]), "covars_")
        given(np.diagonal(matrices, axis1=1, axis2=2), "The variances in covars_", at_least=0)
        return given(means, "means_"), matrices

    def cdf(self, E: Any) -> tuple[np.ndarray, np.ndarray]:
        """P(value below) of every value by itself, (n_steps, n_columns, n_states), twice."""
        means, covars = self._components()
        variances = np.diagonal(full_covars(covars, means.shape[1]), axis1=1, axis2=2)
        upto = ndtr((E.X[:, :, None] - means.T) / np.sqrt(variances.T))
        if hasattr(self, "weights_"):  # a mixture
            upto = (upto.reshape(*E.X.shape, *self.weights_.shape) * self.weights_).sum(axis=-1)
        return upto, upto

    def scales(self) -> dict[str, Any]:
        variances = np.diagonal(
            full_covars(self._components()[1], self.n_features_in_), axis1=1, axis2=2
        )
        deviations = np.sqrt(variances).reshape(np.shape(self.means_))
        found = {"means_": partial(Real, unit=deviations), "covars_": Positive}
        if self.covariance_type in ("full", "tied"):
            shared = np.ndim(self.covars_) == 2
            found["covars_"] = partial(Covariances, shared=shared)
        return {"weights_": Simplex, **found} if hasattr(self, "weights_") else found

    def _fit_labelled(self, E, posteriors):
        """EM over what the labels leave open: missing values and mixture components."""
        known = posteriors.sum(axis=1) > 0
        last = -np.inf
        for _ in range(_MAX_SUPERVISED_STEPS):
            before = copy(self)
            self.maximise(self.accumulate(E, posteriors))
            log_p = self.log_likelihood(E).dense()[known]
            current = np.sum(posteriors[known] * np.where(posteriors[known] > 0, log_p, 0.0))
            current += self.log_prior()
            if current < last:  # by rounding
                vars(self).update(vars(before))
            if current == -np.inf or current - last < 1e-9 * max(1.0, abs(current)):
                break
            last = current


class Gaussian(NumericEmission):
    """Real vectors, normally distributed in each state.

    Missing values (``NaN``) are marginalised out exactly, one by one, also when learning.

    Parameters
    ----------
    covariance_type : {"diag", "spherical", "full", "tied"}, default="diag"
        "diag": one variance per state and column; "spherical": one variance per state; "full":
        one matrix per state; "tied": one matrix for all states.
    min_covar : float or None, default=None
        Smallest variance in any direction. By default a millionth of each column's variance in the
        training data. EM maximises the likelihood subject to it.
    means_prior, means_weight : float or array, default=0
        Mean of a normal prior on the means, and its weight in observations.
    covars_prior, covars_weight : float or array, default=0
        Parameters of a prior on the covariances: inverse gamma for spherical and diag, inverse
        Wishart for full and tied, entering the update as in hmmlearn. 0 is maximum likelihood.

    Attributes
    ----------
    means_ : ndarray of shape (n_states, n_features)
    covars_ : ndarray
        Of shape (n_states,) if spherical, (n_states, n_features) if diag,
        (n_states, n_features, n_features) if full, (n_features, n_features) if tied.

    See Also
    --------
    GMM : Numbers, a mixture of Gaussians per state.
    DensityEmission : A density estimator per state.

    Examples
    --------
    >>> import numpy as np
    >>> from skchmm.emissions import Gaussian
    >>> emission = Gaussian()
    >>> E = emission.encode(np.array([[0.0], [2.0], [10.0], [14.0]]), reset=True)
    >>> emission.fit_supervised(E, [0, 0, 1, 1], n_states=2).means_.ravel()
    array([ 1., 12.])
    >>> emission.covars_.ravel()
    array([1., 4.])
    """

    def __init__(
        self,
        covariance_type: str = "diag",
        *,
        min_covar: float | None = None,
        means_prior: ArrayLike = 0,
        means_weight: ArrayLike = 0,
        covars_prior: ArrayLike = 0,
        covars_weight: ArrayLike = 0,
    ) -> None:
        self.covariance_type = covariance_type
        self.min_covar = min_covar
        self.means_prior = means_prior
        self.means_weight = means_weight
        self.covars_prior = covars_prior
        self.covars_weight = covars_weight

    @classmethod
    def from_parameters(
        cls, means: ArrayLike, covars: ArrayLike, covariance_type: str = "diag", **params: Any
    ) -> Self:
        """A fitted emission from known means and compact covariances.

        Parameters
        ----------
        means : array (n_states, n_features)
        covars : array
            In the shape of `covars_`.
        covariance_type : {"spherical", "diag", "full", "tied"}, default="diag"
        **params : other parameters of the constructor

        Returns
        -------
        emission of this class
        """
        emission = cls(covariance_type, **params)
        emission._check_parameters()
        emission.means_ = given(means, "means", ndim=2)
        emission.covars_ = given_covars(covars, covariance_type)
        emission.n_features_in_ = emission.means_.shape[1]
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
        self.means_ = numeric.start_centres(
            numeric.filled_rows(E),
            n_states,
            init=init,
            random_state=random_state,
            max_rows=self._max_kmeans_rows(),
        )
        self.covars_ = numeric.spread_covariance(
            self._start_covariance(E), self.covariance_type, n_states
        )

    part_steps = property(NumericEmission._part_steps)
    _shares_work = True

    def log_likelihood(self, E: Any) -> Frames:
        means, covars = self._components()
        # rows are finite, so only parameters can spoil a sum of negative squares
        bounded = covars.ndim < 3 and np.isfinite(means).all() and np.isfinite(covars).all()
        return Frames(numeric.log_densities(E, means, covars), bounded=bounded)

    def accumulate(
        self, E: Any, posteriors: np.ndarray, offsets: np.ndarray | None = None
    ) -> dict[str, Any]:
        outer = self.covariance_type in ("full", "tied")
        means = covars = None
        if outer and E.partly_missing:
            if not hasattr(self, "means_"):
                self._start_from_pooled(E, posteriors.shape[1])
            means, covars = self._components()
        centres = self._centres()
        return numeric.moments(E, posteriors, centres, outer=outer, means=means, covars=covars)

    def maximise(self, statistics: dict[str, Any], *, smoothing: float = 0.0) -> None:
        self._maximise(statistics, self._centres())

    def estimate(self, statistics: dict[str, Any], *, smoothing: float = 0.0) -> None:
        self._maximise(statistics, self._reference())

    @names_priors("means_prior", "means_weight", "covars_prior", "covars_weight")
    def _maximise(self, statistics, shift):
        """The parameters from moments about a shift, (d,) or (n_states, d)."""
        weight, first = statistics["weight"], statistics["first"]
        prior = self.means_prior - shift
        old = self.means_ - shift if hasattr(self, "means_") else _pooled_mean(statistics)
        seen = weight + self.means_weight > NEGLIGIBLE
        total = np.where(seen, weight + self.means_weight, 1.0)
        means = np.where(seen, (self.means_weight * prior + first) / total, old)
        if self._keep_means:
            means = old
        covars = self._covars_from(statistics, means, means - prior, shift)
        self.means_, self.covars_ = means + shift, covars

    def _covars_from(self, statistics, means, from_prior, shift):
        weight = statistics["weight"]
        outer = self.covariance_type in ("full", "tied")
        scatter = numeric.scatter_about(statistics, means, outer=outer)
        precision = np.broadcast_to(self.means_weight, weight.shape)
        if outer:
            scatter += precision[:, :1, None] * from_prior[:, :, None] * from_prior[:, None, :]
            added = np.maximum(np.asarray(self.covars_weight) - means.shape[1], 0)
            weight = weight[:, :1, None]
        else:
            scatter += precision * from_prior**2
            added = np.maximum(np.asarray(self.covars_weight) - 1, 0)
        if self.covariance_type == "tied":
            scatter, weight = scatter.sum(axis=0, keepdims=True), weight.sum(axis=0, keepdims=True)
        numerator, total = self.covars_prior + scatter, added + weight
        if self.covariance_type == "spherical":
            numerator = numerator.sum(axis=1)
            total = np.broadcast_to(total, scatter.shape).sum(axis=1)
            weight = weight.sum(axis=1)
        if not outer and np.any(self.covars_prior):
            total = np.maximum(total, 1e-5)  # a state that dies out must not get infinite variance
        seen = weight > NEGLIGIBLE
        covars = np.where(
            seen, numerator / np.where(seen, total, 1.0), self._old_covars(statistics)
        )
        tied = self.covariance_type == "tied"
        rounding = numeric.rounding(statistics, means + shift, axis=0 if tied else None)
        covars = numeric.floor_covars(covars, np.maximum(self._floor(), rounding))
        return covars[0] if tied else covars

    def log_prior(self, *, smoothing: float = 0.0) -> float:
        if not any(map(np.any, (self.means_weight, self.covars_prior, self.covars_weight))):
            return 0.0
        means, covars = self._components()
        n_states, d = means.shape
        apart = means - self.means_prior
        precision = np.broadcast_to(self.means_weight, means.shape)
        if self.covariance_type not in ("full", "tied"):
            scatter = self.covars_prior + precision * apart**2
            added = np.broadcast_to(np.maximum(np.asarray(self.covars_weight) - 1, 0), means.shape)
            variances = covars if covars.ndim == 2 else np.repeat(covars[:, None], d, axis=1)
            return log_inverse_wishart(added, scatter, variances)
        scatter = precision[:, :1, None] * apart[:, :, None] * apart[:, None, :]
        added = np.maximum(np.asarray(self.covars_weight) - d, 0)
        if self.covariance_type == "tied":
            scatter, covars, n_states = scatter.sum(axis=0, keepdims=True), covars[:1], 1
        added = np.broadcast_to(np.reshape(added, -1), (n_states,))
        return log_inverse_wishart(added, self.covars_prior + scatter, covars)

    def _old_covars(self, statistics):
        if not hasattr(self, "covars_"):
            pooled = _pooled_covars(statistics, self.covariance_type in ("full", "tied"))
            return pooled.mean() if self.covariance_type == "spherical" else pooled
        return self.covars_[None] if self.covariance_type == "tied" else self.covars_

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
        counted = self.count(E, y_index, n_states, weights)
        if counted is None:
            self._fit_labelled(E, one_hot(y_index, n_states, weights))
            return self
        self.estimate(counted)
        if np.ndim(self._centres()) == 2:  # now that the means are known
            self.maximise(self.accumulate(E, one_hot(y_index, n_states, weights)))
        return self

    def count(
        self,
        E: Any,
        y_index: ArrayLike,
        n_states: int,
        weights: ArrayLike | None = None,
        offsets: np.ndarray | None = None,
    ) -> dict[str, Any] | None:
        """Statistics of labelled rows that add up; None where these are not enough."""
        if self.covariance_type in ("full", "tied") and E.partly_missing:
            return None  # what is missing is learned by EM
        outer = self.covariance_type in ("full", "tied")
        posteriors = one_hot(y_index, n_states, weights)
        return numeric.moments(E, posteriors, self._reference(), outer=outer)

    def n_parameters(self) -> int:
        n_states, d = self.means_.shape
        matrix = d * (d + 1) // 2
        covars = {
            "spherical": n_states,
            "diag": n_states * d,
            "full": n_states * matrix,
            "tied": matrix,
        }
        return n_states * d + covars[self.covariance_type]

    def sample(self, path: ArrayLike, random_state: Any = None) -> np.ndarray:
        rng = check_random_state(random_state)
        means, covars = self._components_to_draw_from()
        path = check_path(path, len(means))
        rows = np.empty((len(path), means.shape[1]))
        for state in np.unique(path):
            where = np.flatnonzero(path == state)
            rows[where] = rng.multivariate_normal(means[state], covars[state], len(where))
        return rows

    def _components(self):
        """Means and one covariance per state."""
        means, covars = learned(self, "means_", 2), learned(self, "covars_")
        check_covars(covars, self.covariance_type, means.shape[:1], means.shape[1])
        if self.covariance_type == "tied":
            covars = np.repeat(covars[None], len(means), axis=0)
        return means, covars

    def _start_from_pooled(self, E, n_states):
        self.means_ = np.repeat(numeric.column_moments(E)[0][None], n_states, axis=0)
        self.covars_ = numeric.spread_covariance(
            self._start_covariance(E), self.covariance_type, n_states
        )


def _read_rows(X, emission):
    """Like `read_numeric`, as `Rows`; plain arrays without anything missing are looked at once."""
    if is_plain(X) and X.size:
        return numeric.Rows(X, complete=True)
    return numeric.Rows(read_numeric(X, emission))


def given_covars(covars, covariance_type):
    """Covariances that the user knows; variances are positive, matrices are checked when used."""
    above = 0 if covariance_type in ("spherical", "diag") else None
    return given(covars, "covars", above=above)


def check_covars(covars, covariance_type, components, d):
    """Compact covariances of so many components, (n,) or (n_states, n_components), fit them."""
    tied = components[:-1]  # of a single Gaussian a state, one for all states
    shape = {
        "spherical": components,
        "diag": (*components, d),
        "full": (*components, d, d),
        "tied": (*tied, d, d),
    }[covariance_type]
    if covars.shape != shape:
        raise ValueError(
            f"covars must have the shape {shape} for covariance_type={covariance_type!r} and the "
            f"means that are given; it is {covars.shape}."
        )


def full_covars(covars, d):
    """Compact covariances as matrices (k, d, d)."""
    if covars.ndim == 3:
        return covars
    variances = covars[:, None] if covars.ndim == 1 else covars
    return np.eye(d) * np.broadcast_to(variances, (len(covars), d))[:, :, None]


def _pooled_mean(statistics):
    total = statistics["weight"].sum(axis=0)
    return statistics["first"].sum(axis=0) / np.where(total > NEGLIGIBLE, total, 1.0)


def _pooled_covars(statistics, outer):
    """Covariance of the rows of all states together; the identity without any."""
    together = {name: values.sum(axis=0) for name, values in statistics.items()}
    scatter = numeric.scatter_about(together, _pooled_mean(statistics), outer=outer)
    total = together["weight"][:1, None] if outer else together["weight"]
    unit = np.eye(len(scatter)) if outer else np.ones(len(scatter))
    return np.where(total > NEGLIGIBLE, scatter / np.where(total > NEGLIGIBLE, total, 1.0), unit)
