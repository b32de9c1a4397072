"""The one adapter of hmmlearn's interface: parameters, what is derived from them, checks.

`fit` is in learning.py, its steps under hmmlearn's names in steps.py, and what a model answers in
answers.py; a subclass only says which emission it has.
"""

import string
from collections.abc import Collection, Hashable
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from .._numbers import check_choice, check_n_states, is_one_of, is_whole
from ..constraints.compile import compile, flatten
from ..controller import Controller, SoftController, everything
from ..emissions import Emission
from ..emissions.base import numbers_of
from ..emissions.priors import check_prior
from ..estimators.base import ALGORITHMS
from ..estimators.likelihood import LikelihoodModel
from ..estimators.reasons import ReasonsMixin
from ..estimators.softness import check_weights
from ..sequences.labels import label_array, read_states
from .answers import AnswersMixin
from .chunks import HMMChunksMixin
from .hooks import (
    HookedEmission,
    Learned,
    learn,
    overridden,
    refuse_what_is_never_called,
    stacked,
)
from .learning import LearningMixin
from .monitor import ConvergenceMonitor


class BaseHMM(LearningMixin, HMMChunksMixin, AnswersMixin, ReasonsMixin, LikelihoodModel):
    """A hidden Markov model with hmmlearn's interface and no emission of its own.

    Derive from it and define ``_compute_log_likelihood(X)``; to learn an emission as well, also
    ``_init``, ``_accumulate_sufficient_statistics`` and ``_do_mstep``.

    Parameters
    ----------
    n_components : int, default=1
        Number of states. If `states` or labels are given, 1 means: as many as these name.
    startprob_prior, transmat_prior : float or array, default=1.0
        Parameters of the Dirichlet priors of `startprob_` and of the rows of `transmat_`.
    algorithm : {"viterbi", "map", "posterior", "mea"}, default="viterbi"
        What `predict` and `decode` return: the most probable path; the most probable state of each
        step; the feasible path with the largest sum of log marginals; that with the largest sum of
        marginals.
    random_state : int, RandomState or None
        For start values and sampling.
    n_iter : int, default=10
        Maximum number of EM iterations.
    tol : float, default=1e-2
        EM stops when an iteration increases the log-likelihood by less than this.
    verbose : bool, default=False
        Print each iteration to standard error.
    params, init_params : str
        What EM updates, and what gets start values from the data: letters out of "s" (startprob),
        "t" (transmat) and those of the emission. Default: everything.
    implementation : {"log", "scaling"}, default="log"
        The computations are the same; with "scaling", `fit` and the probabilities raise ValueError
        where hmmlearn's scaled recursions underflow.
    constraints : constraint, Controller, ConstraintMiner or list of them, optional
        What every path must satisfy; see :mod:`skchmm.constraints`.
    states : sequence of labels, optional
        Names of the states, for constraints, labels and answers. Default: 0, 1, ...
    startprob_fixed, transmat_fixed : array, optional
        Known probabilities, which stay as they are; NaN where they are to be learned.
    smoothing : float, default=0.5
        Pseudocount of every start, transition and symbol when `fit` is given all labels.
    n_init : int, default=1
        Number of EM restarts; the best one is kept.
    on_infeasible : {"raise", "warn", "relax"}, default="raise"
        What to do with a sequence that has no feasible path.
    max_nodes : int, default=1_000_000
        Largest controller to build.
    n_jobs : int, optional
        Number of threads; they share the sequences. None means 1, -1 all cores.

    See Also
    --------
    CategoricalHMM, GaussianHMM, GMMHMM, MultinomialHMM, PoissonHMM

    Examples
    --------
    >>> import numpy as np
    >>> from skchmm import hmm
    >>> class LaplaceHMM(hmm.BaseHMM):
    ...     def _compute_log_likelihood(self, X):
    ...         return -np.abs(X - self.centres_) - np.log(2)
    >>> model = LaplaceHMM(2)
    >>> model.startprob_, model.transmat_ = [0.5, 0.5], [[0.9, 0.1], [0.1, 0.9]]
    >>> model.centres_ = np.array([0.0, 5.0])
    >>> model.predict([[0.3], [-1.0], [4.0], [6.0]])
    array([0, 0, 1, 1])
    """

    # letter of params -> (attribute of the model, attribute of the emission)
    _emission_parameters: dict[str, tuple[str, str]] = {}

    _prior_names: tuple[str, ...] = ("startprob_prior", "transmat_prior")
    startprob_prior: Any
    transmat_prior: Any

    n_components = Learned()
    n_features = Learned()

    # What fit notes, under names that subclasses written for hmmlearn do not use.
    _skchmm_transitions = None  # expected of the sequence that is being learned from
    _skchmm_labels = None  # of states, found in y
    # constraints as given, and as they came out of mining
    _skchmm_mined: tuple[Any, Any] = (None, None)
    # what it was compiled from, and itself
    _skchmm_controller: tuple[Any, Any] = (None, None)
    _not_saved = ("_chains", "graph_", "_skchmm_controller")
    # of EM, and the rule that it was made for, None if by the user
    _skchmm_monitor: tuple[Any, Any] = (None, None)

    def __init__(
        self,
        n_components: int = 1,
        startprob_prior: ArrayLike = 1.0,
        transmat_prior: ArrayLike = 1.0,
        algorithm: str = "viterbi",
        random_state: Any = None,
        n_iter: int = 10,
        tol: float = 1e-2,
        verbose: bool = False,
        params: str = string.ascii_letters,
        init_params: str = string.ascii_letters,
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
        self.smoothing = smoothing
        self.n_init = n_init
        self.on_infeasible = on_infeasible
        self.max_nodes = max_nodes
        self.n_jobs = n_jobs

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        refuse_what_is_never_called(cls)

    @classmethod
    def from_parameters(
        cls,
        startprob: Collection[float],
        transmat: ArrayLike,
        *,
        states: Collection[Hashable] | None = None,
        emission: Any = None,
        constraints: Any = None,
        **params: Any,
    ) -> Self:
        """A model from known parameters, as when they are set by hand.

        Parameters
        ----------
        startprob : array (S,)
        transmat : array (S, S)
        states, constraints : as in the constructor
        emission : Emission that has its parameters, optional
        **params : other parameters of the constructor

        Returns
        -------
        model of this class
        """
        model = cls(len(startprob), states=states, constraints=constraints, **params)
        model.startprob_, model.transmat_ = startprob, transmat
        if emission is not None:
            model._take(emission)
        model._check()
        return model

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters as they were given, whatever `fit` has learned."""
        params = super().get_params(deep)
        for name in params:
            if isinstance(getattr(type(self), name, None), Learned):
                params[name] = vars(self)[name]
        return params

    # ------------------------------------------------------- what is derived
    @property
    def monitor_(self) -> ConvergenceMonitor:
        """What EM reported."""
        if self._skchmm_monitor[0] is None:
            monitor = ConvergenceMonitor(self.tol, self.n_iter, self.verbose)
            self._skchmm_monitor = (monitor, self._stopping_rule())
        return self._skchmm_monitor[0]

    @monitor_.setter
    def monitor_(self, monitor):
        self._skchmm_monitor = (monitor, None)

    def _stopping_rule(self):
        return {"tol": self.tol, "n_iter": self.n_iter, "verbose": self.verbose}

    @property
    def history_(self) -> list[float]:
        """Log-likelihood at the start of each iteration of EM."""
        return list(self.monitor_.history)

    @property
    def n_iter_(self) -> int:
        """Iterations that EM took."""
        return self.monitor_.iter

    @property
    def converged_(self) -> bool:
        """Whether EM stopped by itself."""
        return bool(self.monitor_.converged)

    @property
    def classes_(self) -> np.ndarray:
        """The state labels."""
        if self.states is not None:
            return label_array(self.states)
        labels = self._skchmm_labels
        return np.arange(self.n_components) if labels is None else labels

    @property
    def constraints_(self) -> list:
        """The constraints as a flat list, mined ones included."""
        if self.constraints is None:
            return []
        given, found = self._skchmm_mined
        return found if given is self.constraints else flatten(self.constraints)

    @property
    def controller_(self) -> Controller:
        """What the constraints compile to."""
        constraints, states = self.constraints_, self.classes_.tolist()
        key = (constraints, states, self.max_nodes)
        if self._skchmm_controller[0] != key:
            controller = everything(states)
            if constraints:
                controller = compile(constraints, states, max_nodes=self.max_nodes)
            self._skchmm_controller, self._chains = (key, controller), {}
        return self._skchmm_controller[1]

    @property
    def graph_(self) -> Any:
        """The live nodes and edges of the constrained chain."""
        return self._chain().graph

    @property
    def emission_(self) -> Emission:
        """The emission with the parameters of the model."""
        if overridden(self, "_compute_log_likelihood", "_compute_likelihood"):
            return HookedEmission(self, self._emission())
        emission = self._emission()
        return HookedEmission(self) if emission is None else emission

    def _compile(self, constraints):
        if constraints is not None:
            self._skchmm_mined = (self.constraints, flatten(constraints))

    _take_constraints = _compile

    def _conclude(self):
        self._chain()
        return self

    @property
    def soft_weights_(self) -> np.ndarray:
        """The weights of the soft rules, in their order in `constraints_`."""
        if not isinstance(self.controller_, SoftController):
            raise AttributeError("There are no soft rules, so that there is no soft_weights_.")
        return self.controller_.weights

    def _chain(self, parameters=None, *, constrained=True):
        check_weights(self.constraints_)
        self.controller_  # noqa: B018, what was compiled for other constraints is forgotten
        return super()._chain(parameters, constrained=constrained)

    # ------------------------------------------------------------- emissions
    def _new_emission(self):
        """The emission of the class, without its parameters; None if it has none."""
        return None

    def _n_columns(self):
        """Known from data, or from parameters that were set by hand."""
        for name in ("means_", "lambdas_", "emissionprob_"):
            if not hasattr(self, "n_features") and hasattr(self, name):
                return np.shape(getattr(self, name))[-1]
        return self.n_features

    def _emission(self, without=""):
        """The emission with the parameters that there are, those of some letters left out."""
        emission = self._new_emission()
        if emission is None:
            return None
        emission._as_hmmlearn = True
        for letter, (name, inner) in self._emission_parameters.items():
            if letter not in without and hasattr(self, name):
                setattr(emission, inner, numbers_of(getattr(self, name), name))
        emission.n_features_in_ = self._n_columns()
        return emission

    def _take(self, emission, letters=None):
        """Take over the parameters of an emission."""
        for letter, (name, inner) in self._emission_parameters.items():
            if letters is None or letter in letters:
                setattr(self, name, getattr(emission, inner))

    def _compute_likelihood(self, X):
        return np.exp(self._compute_log_likelihood(X))

    def _compute_log_likelihood(self, X):
        if overridden(self, "_compute_likelihood"):
            with np.errstate(divide="ignore"):
                return np.log(self._compute_likelihood(X))
        emission = self._emission()
        if emission is None:
            raise NotImplementedError(
                f"{type(self).__name__} must define _compute_log_likelihood(X)."
            )
        return emission.log_likelihood(emission.encode(X, reset=False)).dense()

    # ---------------------------------------------------------------- checks
    def __sklearn_is_fitted__(self):
        names = ["startprob_", "transmat_", *(n for n, _ in self._emission_parameters.values())]
        return all(hasattr(self, name) for name in names)

    def _read(self, X, lengths, groups, *, reset=False):
        if not reset:
            if not self.__sklearn_is_fitted__():
                check_is_fitted(self)  # slow
            self._check()
        return self._read_rows(self._stacked(X, lengths), lengths, groups, reset)

    def _stacked(self, X, lengths):
        if not isinstance(X, (list, tuple)):
            return X
        return stacked(X, lengths, self.__sklearn_tags__().input_tags.one_d_array)

    def _check_features(self, X, reset):
        if len(X.shape) == 1 and not self.__sklearn_tags__().input_tags.one_d_array:
            raise ValueError(
                "Expected 2D array, got 1D array instead. Reshape your data either using "
                "X.reshape(-1, 1) if it has a single feature or X.reshape(1, -1) if it is a single "
                "step."
            )
        if reset or hasattr(self, "n_features_in_"):
            super()._check_features(X, reset)
        # otherwise the parameters were set by hand, and the emission checks the columns

    def _check_parameters(self):
        if not is_one_of(self.algorithm, ALGORITHMS):
            raise ValueError(f"Unknown decoder {self.algorithm!r}; use one of {ALGORITHMS}.")
        self._check_choices()
        self._check_learning()
        check_choice(self.implementation, "implementation", ("log", "scaling"))
        for name in ("params", "init_params"):
            letters = getattr(self, name)
            if not (
                isinstance(letters, (str, list, tuple, set, frozenset))
                and all(isinstance(letter, str) for letter in letters)
            ):
                raise ValueError(f"{name} must be a string of letters, got {letters!r}.")
        self._check_priors()

    def _check_priors(self, *shapes):
        for name, shape in zip(self._prior_names, shapes or (None,) * len(self._prior_names)):
            value = getattr(self, name)
            if not (isinstance(value, (int, float)) and abs(value) < 1e300):
                check_prior(value, name, shape)

    def _check_states(self):
        """As many states as labels, where the user has named them."""
        given = vars(self)["n_components"]
        if not is_whole(given) or given < 1:
            raise ValueError(f"n_components must be a positive integer, got {given!r}.")
        check_n_states(given)
        if self.states is None:
            return
        states = read_states(self.states)
        if given not in (1, len(states)):
            raise ValueError(f"n_components={given}, but states names {len(states)} states.")
        learn(self, "n_components", len(states))

    def _check_sum_1(self, name):
        sums = np.add.reduce(numbers_of(getattr(self, name), name), axis=-1)
        # as np.allclose, faster
        if not all(abs(total - 1) <= 1e-5 + 1e-8 for total in sums.ravel().tolist()):
            raise ValueError(f"{name} must sum to 1; the sums are {np.array2string(sums)}.")

    def _check(self):
        """Raise ValueError where parameters do not fit together."""
        self._check_states()
        S = self.n_components
        self.startprob_ = np.asarray(self.startprob_)
        if self.startprob_.shape != (S,):
            raise ValueError(
                f"startprob_ must have length n_components={S}, not shape {self.startprob_.shape}."
            )
        self._check_sum_1("startprob_")
        self.transmat_ = np.asarray(self.transmat_)
        if self.transmat_.shape != (S, S):
            raise ValueError(
                "transmat_ must have shape (n_components, n_components) = "
                f"{(S, S)}, not {self.transmat_.shape}."
            )
        self._check_sum_1("transmat_")

    def _get_n_fit_scalars_per_param(self):
        """Free parameters under each letter."""
        S = self.n_components
        return {"s": S - 1, "t": S * (S - 1)}


# hmmlearn's own names.
_BaseHMM = BaseHMM
DECODER_ALGORITHMS = frozenset(("viterbi", "map"))


def check_not_negative(X):
    if np.nanmin(X, initial=0.0) < 0:
        raise ValueError("Negative values in data: symbol counts should be nonnegative integers.")
