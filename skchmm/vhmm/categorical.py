"""Variational hidden Markov model of symbols."""

from collections.abc import Collection, Hashable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state

from ..emissions import Categorical
from ..hmm.categorical import CategoricalHMM
from . import dirichlet
from .base import VariationalBaseHMM
from .divergences import kl_dirichlet


class VariationalCategoricalHMM(VariationalBaseHMM, CategoricalHMM):
    """Hidden Markov model of symbols, learned by variational inference.

    A fit finds a Dirichlet posterior of every distribution. States that the data do not need keep
    their priors: `n_components` is an upper limit of their number. X has one column of symbols:
    whole numbers from 0, as in hmmlearn, or anything hashable.

    Parameters
    ----------
    n_components : int, default=1
        Largest number of states.
    startprob_prior, transmat_prior : float or array, optional
        Parameters of the Dirichlet priors of the start probabilities and of the rows of transition
        probabilities; zero where something is impossible. Default: 1 / n_components.
    emissionprob_prior : float or array, optional
        Parameters of the Dirichlet prior of the symbols of a state. Default: 1 / n_features.
    n_features : int, optional
        Number of symbols; by default, those of the training data.
    algorithm, random_state, verbose, implementation
        See :class:`skchmm.hmm.BaseHMM`.
    n_iter : int, default=100
        Maximum number of iterations.
    tol : float, default=1e-6
        Learning stops when an iteration increases the lower bound by less than this.
    params, init_params : str, default="ste"
        What is learned, and what gets start values: "s" (startprob), "t" (transmat), "e"
        (emissionprob).
    unseen : {"error", "ignore"}, default="error"
        What to do about symbols that are not known: raise, or treat them as missing.
    constraints, states, startprob_fixed, transmat_fixed, on_infeasible, max_nodes, n_jobs
        See :class:`skchmm.hmm.BaseHMM`.
    n_init : int, default=1
        Number of restarts; the one with the highest lower bound is kept.

    Attributes
    ----------
    startprob_prior_, startprob_posterior_ : array (n_components,)
        Parameters of the Dirichlet distributions before and after the data.
    transmat_prior_, transmat_posterior_ : array (n_components, n_components)
    emissionprob_prior_, emissionprob_posterior_ : array (n_components, n_features)
    startprob_, transmat_, emissionprob_ : array
        Expected probabilities, with which the model answers.
    symbols_ : array (n_features,)
        The symbol of each column of `emissionprob_`.
    monitor_ : ConvergenceMonitor
        Its history is the lower bound at the start of each iteration, which never falls.

    See Also
    --------
    VariationalGaussianHMM : Numbers.
    skchmm.hmm.CategoricalHMM : The same by maximum likelihood.

    Examples
    --------
    Two states are enough for a sequence that alternates; the other two stay empty:

    >>> import numpy as np
    >>> from skchmm import vhmm
    >>> X = np.array(list("ab" * 30))[:, None]
    >>> model = vhmm.VariationalCategoricalHMM(4, random_state=0, n_init=5).fit(X)
    >>> used = np.unique(model.predict(X))
    >>> len(used)
    2
    >>> model.emissionprob_posterior_[used].sum(axis=1).round()
    array([31., 31.])
    >>> bool((np.diff(model.monitor_.history) > -1e-9).all())
    True
    """

    _letters = VariationalBaseHMM._letters | {"e": ("emissionprob",)}

    def __init__(
        self,
        n_components: int = 1,
        startprob_prior: ArrayLike | None = None,
        transmat_prior: ArrayLike | None = None,
        emissionprob_prior: ArrayLike | None = None,
        n_features: int | None = None,
        algorithm: str = "viterbi",
        random_state: Any = None,
        n_iter: int = 100,
        tol: float = 1e-6,
        verbose: bool = False,
        params: str = "ste",
        init_params: str = "ste",
        implementation: str = "log",
        *,
        unseen: str = "error",
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
        self.emissionprob_prior = emissionprob_prior
        self.n_features = n_features
        self.unseen = unseen

    @property
    def emissionprob_log_subnorm_(self) -> np.ndarray:
        """E[log p] of the symbols (n_components, n_features)."""
        return dirichlet.expected_logs(self.emissionprob_posterior_)

    def _new_emission(self):
        emission = VariationalCategorical(unseen=self.unseen)
        emission.symbols = self.symbols_
        emission._learn_symbols([emission.symbols])
        return emission

    def _check_and_set_n_features(self, X):
        super()._check_and_set_n_features(X)
        if self.n_features == 0:
            raise ValueError("X holds no symbol: all values are missing.")

    def _set_priors(self, mean=None):
        super()._set_priors()
        self._set_prior("emissionprob", self._shape, 1 / self.n_features)

    @property
    def _shape(self):
        return self.n_components, self.n_features

    def _init_emission(self, X):
        if not self._needs_any("e"):
            return
        self._set_prior("emissionprob", self._shape, 1 / self.n_features)
        rng, n_steps = check_random_state(self.random_state), len(X) / self.n_components
        if self.emissionprob_prior is None or np.ndim(self.emissionprob_prior) == 0:
            prior = np.maximum(self.emissionprob_prior_[0], dirichlet.LEAST)
            drawn = dirichlet.start(rng, prior, n_steps, size=self.n_components)
        else:
            rows = np.maximum(self.emissionprob_prior_, dirichlet.LEAST)
            drawn = np.stack([dirichlet.start(rng, row, n_steps) for row in rows])
        self.emissionprob_posterior_ = drawn

    def _check_posteriors(self):
        super()._check_posteriors()
        self._check_dirichlet("emissionprob", self._shape)

    def _take_means(self):
        super()._take_means()
        self.emissionprob_ = dirichlet.expected(self.emissionprob_posterior_)

    def _posteriors_by_state(self):
        return ["emissionprob_posterior_"]

    def _expect_logs(self, emission):
        emission._expected_logs = self.emissionprob_log_subnorm_

    def _update(self, statistics, letters, emission):
        super()._update(statistics, letters, emission)
        if "e" in letters:
            self._add_counts("emissionprob", statistics["obs"])

    def _divergence(self):
        found = kl_dirichlet(self.emissionprob_posterior_, self.emissionprob_prior_)
        return super()._divergence() + np.sum(found)


class VariationalCategorical(Categorical):
    """Symbols whose distributions are uncertain.

    In learning they have the expectations of log probabilities in place of these.
    """

    _expected_logs = None  # (n_states, n_symbols)
    _keeps_scores = False

    def _log_tables(self):
        if self._expected_logs is None:
            return super()._log_tables()
        return [self._expected_logs[:, None]]
