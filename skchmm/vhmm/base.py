"""What the variational models share: posteriors of starts and transitions, the bound, the steps.

The posterior of all parameters and paths is approximated by q(parameters) q(paths). The E-step
finds q(paths): forward-backward, with exp E[log p] in the place of every probability p, so that
rows sum to less than 1. The M-step adds expected counts to the parameters of the priors. Each
maximises the lower bound given the other, so it never falls; with constraints, sums are over the
feasible paths and the bound is one of log P(Y, Acc). See MacKay (1997) and Beal (2003).
"""

from collections.abc import Collection, Hashable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import NotFittedError
from sklearn.utils import check_random_state

from ..emissions import Frames
from ..emissions.base import one_hot
from ..estimators.em import emission_part
from ..estimators.transitions import count_labels
from ..hmm.base import BaseHMM
from ..hmm.hooks import HookedEmission, overridden
from ..inference.log_chain import LogChain
from . import dirichlet
from .divergences import kl_dirichlet


class VariationalBaseHMM(BaseHMM):
    """Hidden Markov model whose parameters have posteriors, with hmmlearn's interface.

    Parameters
    ----------
    n_components : int, default=1
        Largest number of states. If `states` or labels are given, 1 means: as many as these name.
    startprob_prior, transmat_prior : float or array, optional
        Parameters of the Dirichlet priors of the start probabilities and of the rows of transition
        probabilities; zero where something is impossible. Default: 1 / n_components.
    algorithm, random_state, verbose, implementation
        See :class:`skchmm.hmm.BaseHMM`.
    n_iter : int, default=100
        Maximum number of iterations.
    tol : float, default=1e-6
        Learning stops when an iteration increases the lower bound by less than this.
    params, init_params : str
        What is learned, and what gets start values: letters out of "s" (startprob), "t" (transmat)
        and those of the emission. Default: everything.
    constraints, states, startprob_fixed, transmat_fixed, on_infeasible, max_nodes, n_jobs
        See :class:`skchmm.hmm.BaseHMM`.
    n_init : int, default=1
        Number of restarts; the one with the highest lower bound is kept.

    See Also
    --------
    VariationalCategoricalHMM, VariationalGaussianHMM

    Examples
    --------
    >>> from skchmm import vhmm
    >>> issubclass(vhmm.VariationalGaussianHMM, vhmm.VariationalBaseHMM)
    True
    >>> model = vhmm.VariationalCategoricalHMM(2, random_state=0).fit([[0], [1], [1], [0]])
    >>> float(model.transmat_posterior_.sum().round(6))  # priors of 1 / 2, and three transitions
    5.0
    """

    _prior_names = ()
    smoothing = 0.0  # the priors do it

    def __init__(
        self,
        n_components: int = 1,
        startprob_prior: ArrayLike | None = None,
        transmat_prior: ArrayLike | None = None,
        algorithm: str = "viterbi",
        random_state: Any = None,
        n_iter: int = 100,
        tol: float = 1e-6,
        verbose: bool = False,
        params: str = "ste",
        init_params: str = "ste",
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
        self.n_components = n_components
        self.startprob_prior = startprob_prior
        self.transmat_prior = transmat_prior
        self.algorithm = algorithm
        self.random_state = random_state
        self.n_iter = n_iter
        self.tol = tol
        self.verbose = verbose
        self.params = params
        self.init_params = init_params
        self.implementation = implementation
        self.constraints = constraints
        self.states = states
        self.startprob_fixed = startprob_fixed
        self.transmat_fixed = transmat_fixed
        self.n_init = n_init
        self.on_infeasible = on_infeasible
        self.max_nodes = max_nodes
        self.n_jobs = n_jobs

    # ------------------------------------------------------------ posteriors
    # Letter of params -> what priors and posteriors are called, without "_prior_", "_posterior_".
    _letters: dict[str, tuple[str, ...]] = {"s": ("startprob",), "t": ("transmat",)}

    def _distribution_names(self):
        parts = [part for parts in self._letters.values() for part in parts]
        return [f"{part}_{kind}_" for part in parts for kind in ("prior", "posterior")]

    def _learned_names(self):
        return [*self._distribution_names(), *super()._learned_names()]

    def _needs_any(self, letter):
        """Whether the priors and posteriors of a letter get values."""
        names = [f"{p}_{kind}_" for p in self._letters[letter] for kind in ("posterior", "prior")]
        return any(self._needs_init(letter, name) for name in names)

    @property
    def startprob_subnorm_(self) -> np.ndarray:
        """exp E[log p] of the starts (n_components,), which sum to less than 1."""
        return np.exp(self._log_weights()[0])

    @property
    def transmat_subnorm_(self) -> np.ndarray:
        """exp E[log p] of the transitions (n_components, n_components)."""
        return np.exp(self._log_weights()[1])

    def _log_weights(self):
        posteriors = self.startprob_posterior_, self.transmat_posterior_
        return tuple(dirichlet.expected_logs(a, f) for a, f in zip(posteriors, self._fixed()))

    def _take_means(self):
        """Set the parameters that answers are given with: the expected ones."""
        start_fixed, trans_fixed = self._fixed()
        self.startprob_ = dirichlet.expected(self.startprob_posterior_, start_fixed)
        self.transmat_ = dirichlet.expected(self.transmat_posterior_, trans_fixed)

    # ----------------------------------------------------------- start values
    def _set_priors(self, mean=None):
        """Set all priors; `mean` is that of the rows, where numbers are learned from."""
        S = self.n_components
        self._set_prior("startprob", (S,), 1 / S)
        self._set_prior("transmat", (S, S), 1 / S)

    def _set_prior(self, part, shape, default):
        prior = dirichlet.prior_of(getattr(self, f"{part}_prior"), default, shape, f"{part}_prior")
        setattr(self, f"{part}_prior_", prior)

    def _init(self, X, lengths=None):
        """Priors and start values for what `init_params` names and for what is not there yet."""
        self._check_and_set_n_features(X)
        S, n_sequences = self.n_components, 1 if lengths is None else len(lengths)
        rng, even = check_random_state(self.random_state), np.full(self.n_components, 1 / S)
        if self._needs_any("s"):
            self._set_prior("startprob", (S,), 1 / S)
            self.startprob_posterior_ = dirichlet.start(rng, even, n_sequences)
        if self._needs_any("t"):
            self._set_prior("transmat", (S, S), 1 / S)
            self.transmat_posterior_ = dirichlet.start(rng, even, len(X) / S, size=S)
        self._warn_if_few(X)
        self._init_emission(X)
        self._check_posteriors()
        self._take_means()

    def _init_emission(self, X):
        """The same for the emission."""

    def _check_posteriors(self):
        """Raise ValueError where priors and posteriors do not fit; make arrays of them."""
        S = self.n_components
        fixed = dict(zip(("startprob", "transmat"), self._fixed()))
        self._check_dirichlet("startprob", (S,), fixed["startprob"])
        self._check_dirichlet("transmat", (S, S), fixed["transmat"])

    def _check_dirichlet(self, part, shape, fixed=None):
        names = f"{part}_prior_", f"{part}_posterior_"
        prior, posterior = (dirichlet.checked(getattr(self, n), shape, n) for n in names)
        prior = dirichlet.without_given(prior, prior, fixed)
        dirichlet.check_rows(prior, fixed, names[0])
        setattr(self, names[0], prior)
        posterior = dirichlet.without_given(posterior, prior, fixed)
        if ((prior > 0) & (posterior == 0)).any():
            raise ValueError(f"{names[1]} must be positive where {names[0]} is.")
        setattr(self, names[1], posterior)

    def _start_from_labels(self, data):
        """Posteriors of what the known labels show; states without any keep their start values."""
        emission, S = self._emission(), self.n_components
        posteriors = one_hot(data.codes, S, data.step_weights)
        encoded = emission.encode(data.sequences.X, data.offsets, reset=False)
        starts, transitions = count_labels(data.codes, data.offsets, S, data.step_weights)
        statistics = {"start": starts, "trans": transitions}
        self._add(statistics, emission.accumulate(encoded, posteriors, data.offsets))
        names = self._posteriors_by_state()
        before = {name: getattr(self, name) for name in names}
        self._update(statistics, self.init_params, emission)
        unseen = posteriors.sum(axis=0) == 0
        for name, old in before.items():
            mixed = getattr(self, name).copy()
            mixed[unseen] = old[unseen]
            setattr(self, name, mixed)
        self._take_means()

    def _posteriors_by_state(self):
        """Names of posteriors of the emission that have one row per state."""
        return []

    _counts_labels = False  # with all labels, the first iteration finds the exact posterior

    def _estimate(self, emission, values):
        """Posteriors from sums of labelled sequences."""
        survey = vars(self).pop("_surveyed", None)
        self._set_priors(getattr(survey, "mean", None))
        for part in (part for parts in self._letters.values() for part in parts):
            setattr(self, f"{part}_posterior_", getattr(self, f"{part}_prior_"))
        self._check_posteriors()
        counts = [value for name, value in values.items() if name.startswith("labels ")]
        statistics = dict(zip(("start", "trans"), counts))
        self._add(statistics, emission_part(values))
        self._update(statistics, "".join(self._letters), emission)
        self._take_means()
        self._check()

    # ---------------------------------------------------------------- E-step
    _takes_plain_steps = False

    def _learning_chain(self):
        self.controller_  # noqa: B018, what was compiled for other constraints is forgotten
        logs, kept = self._log_weights(), self._chains.get(True)
        supports = tuple(weights > -np.inf for weights in logs)
        graph = None if kept is None else kept.graph
        if graph is None or not graph.matches(*supports):
            graph = self._graph(True, *supports)
        chain = self._chains[True] = LogChain(graph, *logs)
        return chain

    def _learning_emission(self):
        if not all(hasattr(self, name) for name in self._distribution_names()):
            raise NotFittedError(
                f"This {type(self).__name__} has parameters but no posteriors: call fit first."
            )
        emission = self._emission()
        if overridden(self, "_compute_subnorm_log_likelihood", "_compute_subnorm_likelihood"):
            return SubnormEmission(self, emission)
        self._expect_logs(emission)
        return emission

    def _expect_logs(self, emission):
        """Let the emission give E[log p] of rows."""

    def _compute_subnorm_log_likelihood(self, X):
        """E[log p] of rows under every state."""
        if overridden(self, "_compute_subnorm_likelihood"):
            with np.errstate(divide="ignore"):
                return np.log(self._compute_subnorm_likelihood(X))
        emission = self._emission()
        self._expect_logs(emission)
        return emission.log_likelihood(emission.encode(X, reset=False)).dense()

    def _compute_subnorm_likelihood(self, X):
        return np.exp(self._compute_subnorm_log_likelihood(X))

    # ---------------------------------------------------------------- M-step
    def _do_mstep(self, stats):
        """The posteriors that `params` names: priors and statistics."""
        self._update(stats, self.params, self._emission())
        self._take_means()

    def _update(self, statistics, letters, emission):
        """Posteriors of some letters; `emission` is what the statistics were collected by."""
        if "s" in letters:
            self._add_counts("startprob", statistics["start"])
        if "t" in letters:
            self._add_counts("transmat", statistics["trans"])

    def _add_counts(self, part, counts):
        prior = getattr(self, f"{part}_prior_")
        setattr(self, f"{part}_posterior_", prior + np.where(prior > 0, counts, 0.0))

    # ------------------------------------------------------------- the bound
    def _compute_lower_bound(self, curr_logprob):
        """The lower bound of log P(Y, Acc), given the sum of the E-step over all paths."""
        return float(curr_logprob - self._divergence())

    def _divergence(self):
        """KL(posterior || prior) of all parameters."""
        found = kl_dirichlet(self.startprob_posterior_, self.startprob_prior_)
        return found + np.sum(kl_dirichlet(self.transmat_posterior_, self.transmat_prior_))


class SubnormEmission(HookedEmission):
    """What a subclass computes in place of E[log p], as an emission."""

    def log_likelihood(self, E):
        pieces, _ = E
        found = [self.model._compute_subnorm_log_likelihood(X) for X in pieces]
        return Frames(np.concatenate(found))
