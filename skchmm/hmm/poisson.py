"""Hidden Markov model of counts."""

from collections.abc import Collection, Hashable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..emissions import Poisson
from ..emissions.reading import read_numeric
from .base import BaseHMM, check_not_negative
from .hooks import learn


class PoissonHMM(BaseHMM):
    """Hidden Markov model with Poisson emissions.

    Parameters
    ----------
    n_components : int, default=1
        Number of states.
    startprob_prior, transmat_prior : float or array, default=1.0
        Parameters of the Dirichlet priors of `startprob_` and of the rows of `transmat_`.
    lambdas_prior, lambdas_weight : float or array, default=0.0
        Parameters of a gamma prior of the rates: as if `lambdas_prior` events had been seen in
        `lambdas_weight` steps.
    algorithm, random_state, n_iter, tol, verbose, implementation
        See :class:`BaseHMM`.
    params, init_params : str, default="stl"
        What EM updates, and what gets start values: "s" (startprob), "t" (transmat), "l" (lambdas).
    constraints, states, startprob_fixed, transmat_fixed, smoothing, n_init, on_infeasible, \
max_nodes, n_jobs
        See :class:`BaseHMM`.

    Attributes
    ----------
    startprob_ : array (n_components,)
    transmat_ : array (n_components, n_components)
    lambdas_ : array (n_components, n_features)
        The rates.
    monitor_ : ConvergenceMonitor

    See Also
    --------
    CategoricalHMM : Symbols.
    MultinomialHMM : Counts with a total.

    Examples
    --------
    >>> from skchmm import hmm
    >>> X = [[0], [1], [0], [9], [8], [11]]
    >>> model = hmm.PoissonHMM(2, random_state=0).fit(X)
    >>> states = model.predict(X)
    >>> bool((states[:3] == states[0]).all() and (states[3:] != states[0]).all())
    True
    """

    _emission_parameters = {"l": ("lambdas_", "rates_")}

    def __init__(
        self,
        n_components: int = 1,
        startprob_prior: ArrayLike = 1.0,
        transmat_prior: ArrayLike = 1.0,
        lambdas_prior: ArrayLike = 0.0,
        lambdas_weight: ArrayLike = 0.0,
        algorithm: str = "viterbi",
        random_state: Any = None,
        n_iter: int = 10,
        tol: float = 1e-2,
        verbose: bool = False,
        params: str = "stl",
        init_params: str = "stl",
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
        self.lambdas_prior = lambdas_prior
        self.lambdas_weight = lambdas_weight

    def _new_emission(self):
        return Poisson(lambdas_prior=self.lambdas_prior, lambdas_weight=self.lambdas_weight)

    def _check_and_set_n_features(self, X):
        super()._check_and_set_n_features(X)
        check_not_negative(read_numeric(X, "Poisson"))

    def _check(self):
        super()._check()
        self.lambdas_ = np.atleast_2d(self.lambdas_)
        n_features = getattr(self, "n_features", self.lambdas_.shape[1])
        if self.lambdas_.shape != (self.n_components, n_features):
            raise ValueError(
                "lambdas_ must have shape (n_components, n_features) = "
                f"{(self.n_components, n_features)}, not {self.lambdas_.shape}."
            )
        learn(self, "n_features", n_features)

    def _as_hmmlearn_names(self, statistics):
        weight = statistics["weight"]
        post = weight[:, 0] if (weight == weight[:, :1]).all() else weight
        return {"post": post, "obs": statistics["events"]}

    def _as_emission_names(self, statistics):
        obs, post = statistics["obs"], statistics["post"]
        post = post if post.ndim == 2 else np.repeat(post[:, None], obs.shape[1], axis=1)
        return {"weight": post, "events": obs}

    def _get_n_fit_scalars_per_param(self):
        rates = self.n_components * self.n_features
        return super()._get_n_fit_scalars_per_param() | {"l": rates}

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        return tags
