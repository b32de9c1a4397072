"""Variational hidden Markov model of real vectors."""

from collections.abc import Collection, Hashable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.metrics import pairwise_distances_argmin

from ..emissions import numeric
from ..hmm.gaussian import GaussianHMM
from ..hmm.hooks import LEARNING_HOOKS, overridden
from . import normal_wishart
from .base import VariationalBaseHMM
from .emission import VariationalGaussian


class VariationalGaussianHMM(VariationalBaseHMM, GaussianHMM):
    """Hidden Markov model of real vectors, learned by variational inference.

    A fit finds a normal-Wishart posterior of mean and precision of every state. States that the
    data do not need keep their priors: `n_components` is an upper limit of their number.

    Parameters
    ----------
    n_components : int, default=1
        Largest number of states.
    covariance_type : {"full", "tied", "diag", "spherical"}, default="full"
        "full": one matrix per state; "tied": one matrix for all states; "diag": one variance per
        state and column; "spherical": one variance per state.
    startprob_prior, transmat_prior : float or array, optional
        Parameters of the Dirichlet priors of the start probabilities and of the rows of transition
        probabilities; zero where something is impossible. Default: 1 / n_components.
    means_prior : float or array (n_features,) or (n_components, n_features), optional
        Mean of the normal prior of the means. Default: the mean of the training data.
    beta_prior : float or array (n_components,), optional
        Weight of that prior, in observations. Default: 1.
    dof_prior : float or array (n_components,), optional
        Degrees of freedom of the Wishart prior of the precisions, more than n_features - 1; a
        number if tied. Default: n_features.
    scale_prior : float or array, optional
        Inverse scale of the Wishart prior, in the shape of `scale_prior_`: about `dof_prior` times
        the covariance that is expected. Default: 1e-3 times the identity.
    algorithm, random_state, verbose, implementation
        See :class:`skchmm.hmm.BaseHMM`.
    n_iter : int, default=100
        Maximum number of iterations.
    tol : float, default=1e-6
        Learning stops when an iteration increases the lower bound by less than this.
    params, init_params : str, default="stmc"
        What is learned, and what gets start values: "s" (startprob), "t" (transmat), "m" (means),
        "c" (covars).
    constraints, states, startprob_fixed, transmat_fixed, on_infeasible, max_nodes, n_jobs
        See :class:`skchmm.hmm.BaseHMM`.
    n_init : int, default=1
        Number of restarts; the one with the highest lower bound is kept.

    Attributes
    ----------
    startprob_prior_, startprob_posterior_ : array (n_components,)
        Parameters of the Dirichlet distributions before and after the data.
    transmat_prior_, transmat_posterior_ : array (n_components, n_components)
    means_prior_, means_posterior_ : array (n_components, n_features)
    beta_prior_, beta_posterior_ : array (n_components,)
    dof_prior_, dof_posterior_ : array (n_components,), or float if tied
    scale_prior_, scale_posterior_ : array
        Of shape (n_components,) if spherical, (n_components, n_features) if diag,
        (n_components, n_features, n_features) if full, (n_features, n_features) if tied.
    startprob_, transmat_, means_ : array
        Expected values, with which the model answers.
    covars_ : array (n_components, n_features, n_features)
        Inverses of the expected precisions.
    monitor_ : ConvergenceMonitor
        Its history is the lower bound at the start of each iteration, which never falls. As in
        hmmlearn, log(2 pi) / 2 per value of X has yet to be subtracted.

    See Also
    --------
    VariationalCategoricalHMM : Symbols.
    skchmm.hmm.GaussianHMM : The same by maximum likelihood.

    Examples
    --------
    Of five states, two are used:

    >>> import numpy as np
    >>> from skchmm import vhmm
    >>> rng = np.random.default_rng(0)
    >>> X = np.concatenate([rng.normal(0, 1, (60, 1)), rng.normal(8, 1, (60, 1))])
    >>> model = vhmm.VariationalGaussianHMM(5, random_state=0, n_init=5, tol=1e-4).fit(X)
    >>> used = np.unique(model.predict(X))
    >>> np.sort(model.means_posterior_[used].ravel()).round()
    array([0., 8.])
    >>> bool((np.diff(model.monitor_.history) > -1e-9).all())
    True
    """

    _letters = VariationalBaseHMM._letters | {"m": ("means", "beta"), "c": ("dof", "scale")}
    _emission_parameters = {"m": ("means_posterior_", "means_"), "c": ("_covars_", "covars_")}
    _surveyed = None  # moments of all chunks, while a model is learned from these

    def __init__(
        self,
        n_components: int = 1,
        covariance_type: str = "full",
        startprob_prior: ArrayLike | None = None,
        transmat_prior: ArrayLike | None = None,
        means_prior: ArrayLike | None = None,
        beta_prior: ArrayLike | None = None,
        dof_prior: ArrayLike | None = None,
        scale_prior: ArrayLike | None = None,
        algorithm: str = "viterbi",
        random_state: Any = None,
        n_iter: int = 100,
        tol: float = 1e-6,
        verbose: bool = False,
        params: str = "stmc",
        init_params: str = "stmc",
        implementation: str = "log",
        *,
        constraints: Any = None,
        states: Collection[Hashable] | None = None,
        startprob_fixed: ArrayLike | None = None,
        transmat_fixed: ArrayLike | None = None,
        n_init: int = 1,
        on_infeasible: str = "raise",
        max_nodes: int = 1_000_000,
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(
            n_components,
            startprob_prior,
            transmat_prior,
            algorithm,
            random_state,
            n_iter,
            tol,
            verbose,
            params,
            init_params,
            implementation,
            constraints=constraints,
            states=states,
            startprob_fixed=startprob_fixed,
            transmat_fixed=transmat_fixed,
            n_init=n_init,
            on_infeasible=on_infeasible,
            max_nodes=max_nodes,
            n_jobs=n_jobs,
        )
        self.covariance_type = covariance_type
        self.means_prior = means_prior
        self.beta_prior = beta_prior
        self.dof_prior = dof_prior
        self.scale_prior = scale_prior

    @property
    def means_(self) -> np.ndarray:
        """Expected means (n_components, n_features)."""
        return self.means_posterior_

    @means_.setter
    def means_(self, means):
        self.means_posterior_ = means

    def _new_emission(self):
        emission = VariationalGaussian(self.covariance_type, min_covar=1e-3)
        if overridden(self, *LEARNING_HOOKS):
            emission._shift = np.zeros(self.n_features)  # their statistics are plain sums
        return emission

    # ------------------------------------------------------------ posteriors
    def _posterior(self):
        return self._normal_wishart("posterior")

    def _normal_wishart(self, kind):
        values = (getattr(self, f"{name}_{kind}_") for name in ("means", "beta", "dof", "scale"))
        return normal_wishart.NormalWishart(self.covariance_type, *values)

    def _set_priors(self, mean=None):
        super()._set_priors()
        self._set_means_prior(mean)
        self._set_scale_prior()

    def _set_means_prior(self, mean):
        S, d = self.n_components, self.n_features
        self.means_prior_ = normal_wishart.spread(self.means_prior, mean, (S, d), "means_prior")
        self.beta_prior_ = normal_wishart.spread(self.beta_prior, 1.0, (S,), "beta_prior")

    def _set_scale_prior(self):
        S, d = self.n_components, self.n_features
        shape = () if self.covariance_type == "tied" else (S,)
        dof = normal_wishart.spread(self.dof_prior, float(d), shape, "dof_prior")
        self.dof_prior_ = dof if shape else float(dof)
        given = 1e-3 if self.scale_prior is None else self.scale_prior
        self.scale_prior_ = normal_wishart.spread_scale(given, self.covariance_type, S, d)

    def _init_emission(self, X):
        means, scales = self._needs_any("m"), self._needs_any("c")
        if not (means or scales):
            return
        emission, S, d = self._emission(without="mc"), self.n_components, self.n_features
        rows = emission.encode(X, reset=True)
        filled = numeric.filled_rows(rows)
        centres = numeric.start_centres(
            filled, S, init="kmeans", random_state=self.random_state, max_rows=None
        )
        nearest = pairwise_distances_argmin(filled, centres) if len(filled) else []
        counts = np.bincount(np.asarray(nearest, dtype=int), minlength=S).astype(float)
        if means:
            moments = self._surveyed
            self._set_means_prior(emission._shift if moments is None else moments.mean)
            self.means_posterior_ = centres
            self.beta_posterior_ = np.maximum(counts, 1.0)
        if scales:
            self._set_scale_prior()
            dof = counts.sum() if self.covariance_type == "tied" else counts
            self.dof_posterior_ = np.maximum(dof, d)
            covars = emission._pooled_covars(rows, S)
            if not np.isfinite(covars).all():
                raise ValueError("X is too large: its squares are no numbers. Rescale the columns.")
            if self.covariance_type in ("full", "tied"):
                covars = normal_wishart.definite(covars)
            self.scale_posterior_ = normal_wishart.times(self.dof_posterior_, covars)

    def _take_survey(self, rows):
        self._surveyed = rows

    def _check_posteriors(self):
        super()._check_posteriors()
        numeric_shape = self.n_components, self.n_features
        for kind in ("prior", "posterior"):
            checked = normal_wishart.checked(self._normal_wishart(kind), kind, *numeric_shape)
            for name in ("means", "beta", "dof", "scale"):
                setattr(self, f"{name}_{kind}_", getattr(checked, name))

    def _take_means(self):
        super()._take_means()
        self._covars_ = normal_wishart.times(1 / np.asarray(self.dof_posterior_),
                                             self.scale_posterior_)  # fmt: skip

    def _posteriors_by_state(self):
        names = ["means_posterior_", "beta_posterior_"]
        tied = self.covariance_type == "tied"
        return names if tied else [*names, "dof_posterior_", "scale_posterior_"]

    def _expect_logs(self, emission):
        emission._log_factors = self._posterior().log_factors()

    def _update(self, statistics, letters, emission):
        super()._update(statistics, letters, emission)
        if not ("m" in letters or "c" in letters):
            return
        moments = self._as_emission_names(statistics)
        found = self._normal_wishart("prior").after(
            moments, emission._reference(), self._posterior(), "m" in letters, "c" in letters
        )
        for name in ("means", "beta", "dof", "scale"):
            setattr(self, f"{name}_posterior_", getattr(found, name))

    def _divergence(self):
        found = self._posterior().divergence(self._normal_wishart("prior"))
        return super()._divergence() + found

    def _get_n_fit_scalars_per_param(self):
        """As hmmlearn counts them: parameters of posteriors."""
        found = super()._get_n_fit_scalars_per_param()
        S, tied = self.n_components, self.covariance_type == "tied"
        return found | {"m": found["m"] + S, "c": found["c"] + (1 if tied else S)}
