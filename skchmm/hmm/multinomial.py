"""Hidden Markov model of rows of counts."""

from collections.abc import Collection, Hashable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..emissions import Multinomial
from ..emissions.reading import read_numeric
from .base import BaseHMM, check_not_negative
from .hooks import Learned, learn


class MultinomialHMM(BaseHMM):
    """Hidden Markov model with multinomial emissions: each row of X counts the outcomes of trials.

    For one symbol per step, use :class:`CategoricalHMM`.

    Parameters
    ----------
    n_components : int, default=1
        Number of states.
    n_trials : int or array of int, optional
        The sum of each row of the training data; by default, the sum that it has.
    startprob_prior, transmat_prior : float or array, default=1.0
        Parameters of the Dirichlet priors of `startprob_` and of the rows of `transmat_`.
    algorithm, random_state, n_iter, tol, verbose, implementation
        See :class:`BaseHMM`.
    params, init_params : str, default="ste"
        What EM updates, and what gets start values: "s" (startprob), "t" (transmat), "e"
        (emissionprob).
    constraints, states, startprob_fixed, transmat_fixed, smoothing, n_init, on_infeasible, \
max_nodes, n_jobs
        See :class:`BaseHMM`.

    Attributes
    ----------
    startprob_ : array (n_components,)
    transmat_ : array (n_components, n_components)
    emissionprob_ : array (n_components, n_features)
    monitor_ : ConvergenceMonitor

    See Also
    --------
    CategoricalHMM : Symbols.
    PoissonHMM : Counts without a bound.

    Examples
    --------
    >>> import numpy as np
    >>> from skchmm import hmm
    >>> model = hmm.MultinomialHMM(2, n_trials=5)
    >>> model.startprob_ = [0.6, 0.4]
    >>> model.transmat_ = [[0.8, 0.2], [0.2, 0.8]]
    >>> model.emissionprob_ = [[0.5, 0.3, 0.2], [0.1, 0.1, 0.8]]
    >>> model.predict([[3, 1, 1], [2, 3, 0], [0, 1, 4]])
    array([0, 0, 1])
    """

    _emission_parameters = {"e": ("emissionprob_", "probabilities_")}

    n_trials = Learned()

    def __init__(
        self,
        n_components: int = 1,
        n_trials: ArrayLike | None = None,
        startprob_prior: ArrayLike = 1.0,
        transmat_prior: ArrayLike = 1.0,
        algorithm: str = "viterbi",
        random_state: Any = None,
        n_iter: int = 10,
        tol: float = 1e-2,
        verbose: bool = False,
        params: str = "ste",
        init_params: str = "ste",
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
        self.n_trials = n_trials

    def _check_parameters(self):
        super()._check_parameters()
        if self.n_trials is not None:
            Multinomial()._set_trials(self.n_trials)

    def _new_emission(self):
        # rows to decode may sum up to anything: only the training data must fit n_trials
        emission = Multinomial()
        emission._set_trials(self.n_trials)
        return emission

    def _check_and_set_n_features(self, X):
        super()._check_and_set_n_features(X)
        X = read_numeric(X, "Multinomial")
        check_not_negative(X)
        totals = X.sum(axis=1)
        present = ~np.isnan(totals)
        if (X[present] != np.rint(X[present])).any():
            raise ValueError("Symbol counts should be nonnegative integers")
        if self.n_trials is None:
            learn(self, "n_trials", totals[present].astype(int))
        elif np.size(self.n_trials) not in (1, len(totals)) or (
            (totals != np.ravel(self.n_trials))[present].any()
        ):
            raise ValueError("Total count for each sample should add up to the number of trials")

    def _check(self):
        super()._check()
        self.emissionprob_ = np.atleast_2d(self.emissionprob_)
        n_features = getattr(self, "n_features", self.emissionprob_.shape[1])
        if self.emissionprob_.shape != (self.n_components, n_features):
            raise ValueError(
                "emissionprob_ must have shape (n_components, n_features) = "
                f"{(self.n_components, n_features)}, not {self.emissionprob_.shape}."
            )
        learn(self, "n_features", n_features)
        self._check_sum_1("emissionprob_")
        if self.n_trials is None:
            raise ValueError("n_trials must be set")

    def _as_hmmlearn_names(self, statistics):
        return {"obs": statistics["counts"]}

    def _as_emission_names(self, statistics):
        return {"counts": statistics["obs"]}

    def _get_n_fit_scalars_per_param(self):
        e = self.n_components * (self.n_features - 1)
        return super()._get_n_fit_scalars_per_param() | {"e": e}

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        return tags
