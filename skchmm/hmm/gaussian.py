"""Hidden Markov model of real vectors."""

from collections.abc import Collection, Hashable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .._numbers import check_choice
from ..emissions import Gaussian
from ..emissions.gaussian import full_covars
from ..emissions.numeric import COVARIANCE_TYPES
from .base import BaseHMM
from .covariances import check_covars
from .hooks import LEARNING_HOOKS, learn, overridden


class GaussianHMM(BaseHMM):
    """Hidden Markov model with Gaussian emissions.

    Parameters
    ----------
    n_components : int, default=1
        Number of states.
    covariance_type : {"diag", "spherical", "full", "tied"}, default="diag"
        "diag": one variance per state and column; "spherical": one variance per state; "full":
        one matrix per state; "tied": one matrix for all states.
    min_covar : float, default=1e-3
        Added to the variances at the start.
    startprob_prior, transmat_prior : float or array, default=1.0
        Parameters of the Dirichlet priors of `startprob_` and of the rows of `transmat_`.
    means_prior, means_weight : float or array, default=0
        Mean and precision of the normal prior of `means_`.
    covars_prior, covars_weight : float or array, default=1e-2 and 1
        Parameters of the prior of `covars_`: inverse gamma for spherical and diag, inverse Wishart
        for full and tied.
    algorithm, random_state, n_iter, tol, verbose, implementation
        See :class:`BaseHMM`.
    params, init_params : str, default="stmc"
        What EM updates, and what gets start values: "s" (startprob), "t" (transmat), "m" (means),
        "c" (covars).
    constraints, states, startprob_fixed, transmat_fixed, smoothing, n_init, on_infeasible, \
max_nodes, n_jobs
        See :class:`BaseHMM`.

    Attributes
    ----------
    startprob_ : array (n_components,)
    transmat_ : array (n_components, n_components)
    means_ : array (n_components, n_features)
    covars_ : array (n_components, n_features, n_features)
        Reads as matrices. Set it in the compact form of `covariance_type`: (n_components,) if
        spherical, (n_components, n_features) if diag, (n_features, n_features) if tied.
    monitor_ : ConvergenceMonitor

    See Also
    --------
    GMMHMM : Numbers, a mixture of Gaussians per state.
    skchmm.ConstrainedHMM : The hidden Markov model with exact inference under constraints.

    Examples
    --------
    >>> import numpy as np
    >>> from skchmm import hmm
    >>> X = np.array([[0.1], [0.0], [0.2], [5.1], [4.9], [5.0]])
    >>> model = hmm.GaussianHMM(2, random_state=0).fit(X)
    >>> np.sort(model.means_.ravel()).round(2)
    array([0.1, 5. ])
    """

    _emission_parameters = {"m": ("means_", "means_"), "c": ("_covars_", "covars_")}
    means_prior: Any

    def __init__(
        self,
        n_components: int = 1,
        covariance_type: str = "diag",
        min_covar: float = 1e-3,
        startprob_prior: ArrayLike = 1.0,
        transmat_prior: ArrayLike = 1.0,
        means_prior: ArrayLike = 0,
        means_weight: ArrayLike = 0,
        covars_prior: ArrayLike = 1e-2,
        covars_weight: ArrayLike = 1,
        algorithm: str = "viterbi",
        random_state: Any = None,
        n_iter: int = 10,
        tol: float = 1e-2,
        verbose: bool = False,
        params: str = "stmc",
        init_params: str = "stmc",
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
        self.covariance_type = covariance_type
        self.min_covar = min_covar
        self.means_prior = means_prior
        self.means_weight = means_weight
        self.covars_prior = covars_prior
        self.covars_weight = covars_weight

    @property
    def covars_(self) -> np.ndarray:
        """Covariances as matrices (n_components, n_features, n_features)."""
        covars = self._covars_
        if self.covariance_type == "tied":
            return np.repeat(covars[None], self.n_components, axis=0)
        spherical = self.covariance_type == "spherical"
        return full_covars(covars, self._n_columns() if spherical else covars.shape[-1])

    @covars_.setter
    def covars_(self, covars):
        self._covars_ = check_covars(covars, self.covariance_type, self.n_components)

    def _check_parameters(self):
        super()._check_parameters()
        check_choice(self.covariance_type, "covariance_type", COVARIANCE_TYPES)

    def _new_emission(self):
        emission = Gaussian(
            self.covariance_type,
            min_covar=self.min_covar,
            means_prior=self.means_prior,
            means_weight=self.means_weight,
            covars_prior=self.covars_prior,
            covars_weight=self.covars_weight,
        )
        emission._keep_means = "m" not in self.params and hasattr(self, "means_")
        if overridden(self, *LEARNING_HOOKS):
            # their statistics are plain sums
            emission._shift, emission._about_means = np.zeros(self._n_columns()), False
        return emission

    def _check(self):
        super()._check()
        if self.covariance_type not in COVARIANCE_TYPES:
            raise ValueError(f"covariance_type must be one of {COVARIANCE_TYPES}")
        self.means_ = np.asarray(self.means_)
        if self.means_.ndim != 2 or len(self.means_) != self.n_components:
            raise ValueError(
                "means_ must have shape (n_components, n_features), with n_components="
                f"{self.n_components}, not {self.means_.shape}."
            )
        learn(self, "n_features", self.means_.shape[1])

    def _as_hmmlearn_names(self, statistics):
        weight = statistics["weight"]
        post = weight[:, 0] if (weight == weight[:, :1]).all() else weight
        return {"post": post, "obs": statistics["first"], self._second: statistics["second"]}

    def _as_emission_names(self, statistics):
        obs, post = statistics["obs"], statistics["post"]
        post = post if post.ndim == 2 else np.repeat(post[:, None], obs.shape[1], axis=1)
        return {"weight": post, "first": obs, "second": statistics[self._second]}

    @property
    def _second(self):
        return "obs*obs.T" if self.covariance_type in ("full", "tied") else "obs**2"

    def _get_n_fit_scalars_per_param(self):
        S, d = self.n_components, self.n_features
        matrix = d * (d + 1) // 2
        c = {"spherical": S, "diag": S * d, "full": S * matrix, "tied": matrix}
        return super()._get_n_fit_scalars_per_param() | {
            "m": S * d,
            "c": c.get(self.covariance_type, 0),
        }
