"""Hidden Markov model of real vectors from mixtures."""

from collections.abc import Collection, Hashable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .._numbers import check_at_least, check_choice
from ..emissions import GMM
from ..emissions.numeric import COVARIANCE_TYPES
from .base import BaseHMM
from .covariances import check_mixture_covars
from .hooks import learn


class GMMHMM(BaseHMM):
    """Hidden Markov model with Gaussian mixture emissions.

    Parameters
    ----------
    n_components : int, default=1
        Number of states.
    n_mix : int, default=1
        Number of Gaussians per state.
    min_covar : float, default=1e-3
        Added to the variances at the start.
    startprob_prior, transmat_prior : float or array, default=1.0
        Parameters of the Dirichlet priors of `startprob_` and of the rows of `transmat_`.
    weights_prior : float or array, default=1.0
        Parameters of the Dirichlet prior of the rows of `weights_`.
    means_prior, means_weight : float or array, default=0.0
        Mean and precision of the normal prior of `means_`.
    covars_prior, covars_weight : float or array, optional
        Parameters of the prior of `covars_`: inverse gamma for spherical and diag, inverse Wishart
        for full and tied. Default: those without effect.
    covariance_type : {"diag", "spherical", "full", "tied"}, default="diag"
        Tied: the Gaussians of a state share one matrix.
    algorithm, random_state, n_iter, tol, verbose, implementation
        See :class:`BaseHMM`.
    params, init_params : str, default="stmcw"
        What EM updates, and what gets start values: "s" (startprob), "t" (transmat), "m" (means),
        "c" (covars), "w" (weights).
    constraints, states, startprob_fixed, transmat_fixed, smoothing, n_init, on_infeasible, \
max_nodes, n_jobs
        See :class:`BaseHMM`.

    Attributes
    ----------
    startprob_ : array (n_components,)
    transmat_ : array (n_components, n_components)
    weights_ : array (n_components, n_mix)
    means_ : array (n_components, n_mix, n_features)
    covars_ : array
        Of shape (n_components, n_mix) if spherical, (n_components, n_mix, n_features) if diag,
        (n_components, n_mix, n_features, n_features) if full, (n_components, n_features,
        n_features) if tied.
    monitor_ : ConvergenceMonitor

    See Also
    --------
    GaussianHMM : Numbers, one Gaussian per state.
    skchmm.ConstrainedHMM : The hidden Markov model with exact inference under constraints.

    Examples
    --------
    >>> import numpy as np
    >>> from skchmm import hmm
    >>> X = np.concatenate([np.tile([[0.0], [1.0]], (20, 1)), np.tile([[8.0], [9.0]], (20, 1))])
    >>> model = hmm.GMMHMM(2, n_mix=2, random_state=0).fit(X)
    >>> overall = (model.weights_[:, :, None] * model.means_).sum(axis=1)
    >>> np.sort(overall.ravel()).round(2)
    array([0.5, 8.5])
    """

    _emission_parameters = {
        "m": ("means_", "means_"),
        "c": ("covars_", "covars_"),
        "w": ("weights_", "weights_"),
    }

    def __init__(
        self,
        n_components: int = 1,
        n_mix: int = 1,
        min_covar: float = 1e-3,
        startprob_prior: ArrayLike = 1.0,
        transmat_prior: ArrayLike = 1.0,
        weights_prior: ArrayLike = 1.0,
        means_prior: ArrayLike = 0.0,
        means_weight: ArrayLike = 0.0,
        covars_prior: ArrayLike | None = None,
        covars_weight: ArrayLike | None = None,
        algorithm: str = "viterbi",
        covariance_type: str = "diag",
        random_state: Any = None,
        n_iter: int = 10,
        tol: float = 1e-2,
        verbose: bool = False,
        params: str = "stmcw",
        init_params: str = "stmcw",
        implementation: str = "log",
        *,
        constraints: Any = None,
        states: Collection[Hashable] | None = None,
        startprob_fixed: ArrayLike | None = None,
        transmat_fixed: ArrayLike | None = None,
        smoothing: float = 0.5,
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
            smoothing=smoothing,
            n_init=n_init,
            on_infeasible=on_infeasible,
            max_nodes=max_nodes,
            n_jobs=n_jobs,
        )
        self.n_mix = n_mix
        self.min_covar = min_covar
        self.weights_prior = weights_prior
        self.means_prior = means_prior
        self.means_weight = means_weight
        self.covars_prior = covars_prior
        self.covars_weight = covars_weight
        self.covariance_type = covariance_type

    @property
    def partial_fit(self) -> Any:
        """There is none: mixtures are not learned from sums over labelled rows."""
        raise AttributeError(
            "GMMHMM cannot be learned from labels chunk by chunk: it needs to see all rows at once."
        )

    def _check_parameters(self):
        super()._check_parameters()
        check_at_least(self.n_mix, "n_mix", 1)
        check_choice(self.covariance_type, "covariance_type", COVARIANCE_TYPES)

    def _new_emission(self):
        emission = GMM(
            self.n_mix,
            covariance_type=self.covariance_type,
            min_covar=self.min_covar,
            weights_prior=self.weights_prior,
            means_prior=self.means_prior,
            means_weight=self.means_weight,
            covars_prior=self.covars_prior,
            covars_weight=self.covars_weight,
        )
        emission._keep_means = "m" not in self.params and hasattr(self, "means_")
        return emission

    def _check(self):
        super()._check()
        if self.covariance_type not in COVARIANCE_TYPES:
            raise ValueError(f"covariance_type must be one of {COVARIANCE_TYPES}")
        S, m = self.n_components, self.n_mix
        self.means_ = np.asarray(self.means_)
        if not hasattr(self, "n_features") and self.means_.ndim == 3:
            learn(self, "n_features", self.means_.shape[2])
        d = getattr(self, "n_features", None)
        if self.means_.shape != (S, m, d):
            raise ValueError(
                "means_ must have shape (n_components, n_mix, n_features) = "
                f"{(S, m, d)}, not {self.means_.shape}."
            )
        self.weights_ = np.asarray(self.weights_)
        if self.weights_.shape != (S, m):
            raise ValueError(
                f"weights_ must have shape (n_components, n_mix) = {(S, m)}, not "
                f"{self.weights_.shape}."
            )
        self._check_sum_1("weights_")
        self.covars_ = check_mixture_covars(self.covars_, self.covariance_type, (S, m, d))

    def _get_n_fit_scalars_per_param(self):
        S, m, d = self.n_components, self.n_mix, self.n_features
        matrix = d * (d + 1) // 2
        c = {"spherical": S * m, "diag": S * m * d, "full": S * m * matrix, "tied": S * matrix}
        return super()._get_n_fit_scalars_per_param() | {
            "m": S * m * d,
            "c": c.get(self.covariance_type, 0),
            "w": m - 1,  # as hmmlearn counts them, so that aic and bic are the same
        }
