"""ConstrainedHMM: a hidden Markov model whose paths obey constraints.

`fit`, `log_likelihood` and `score` are in likelihood.py, `predict`, `decode`, `predict_proba`,
`log_feasibility` and `with_constraints` in base.py, `kbest`, `sample` and other questions in
questions.py, `explain` and `constraint_costs` in reasons.py, `aic` and its like in criteria.py,
`pseudo_residuals` in residuals.py, `confidence_intervals` in intervals.py.
"""

from collections.abc import Collection, Hashable
from typing import Any, Self

from numpy.typing import ArrayLike

from ..inference.stream import ConstrainedStream
from .intervals import IntervalsMixin
from .likelihood import LikelihoodModel
from .questions import QuestionsMixin
from .reasons import ReasonsMixin
from .residuals import ResidualsMixin


class ConstrainedHMM(QuestionsMixin, ReasonsMixin, ResidualsMixin, IntervalsMixin, LikelihoodModel):
    """Hidden Markov model with exact inference and learning under path constraints.

    The constraints are compiled into a minimal finite automaton, the controller. Viterbi,
    forward-backward and EM run on the reachable pairs of a state and the controller's memory. So
    every decoded path satisfies every constraint, and marginals and likelihoods are exactly those
    of the paths that satisfy them.

    Sequences come stacked (an array with ``lengths=``), grouped (an array with ``groups=``, one
    sequence id per row) or as a list of arrays; answers come back in the same form.

    Parameters
    ----------
    n_states : int, optional
        Number of hidden states; required if neither `states` nor y is given.
    states : sequence of labels, optional
        The hidden states, in this order. Default: the labels in y, sorted; without y, 0, 1, ...
    emission : str, Emission or scikit-learn estimator, default="auto"
        "auto" (floating-point columns: Gaussian; anything else: categorical; both: a
        :class:`~skchmm.emissions.Product`), "categorical", "gaussian", "poisson" or another name
        from the user guide, "precomputed" (X is the log-likelihood of every state), an object from
        :mod:`skchmm.emissions`, a classifier (its probabilities divided by the class priors) or a
        density estimator (one clone per state).
    constraints : constraint, Controller, ConstraintMiner or list of them, optional
        What every path must satisfy; a :class:`~skchmm.constraints.Soft` one may be broken, at
        a price. A miner learns constraints from the labels seen in `fit`.
    algorithm : {"viterbi", "posterior", "mea", "map"}, default="viterbi"
        What `predict` returns. "viterbi": the most probable feasible path. "posterior": the
        feasible path with the largest sum of log marginals. "mea": the feasible path with the
        largest sum of marginals, so the largest expected number of right labels. "map": the most
        probable state of each step; these states together may break a rule. Of equally good paths,
        each returns the one whose last label comes first in `classes_`, and so on backwards.
    smoothing : float, default=0.5
        Pseudocount of every start, transition and symbol, in the labelled fit and in each step of
        EM, so that no probability becomes zero by accident. Transitions that the constraints
        exclude get no more than this. Probabilities that are zero where EM starts
        (``init="fitted"``), and given ones, stay as they are.
    n_iter : int, default=100
        Maximum number of EM iterations.
    tol : float, default=1e-5
        EM stops when an iteration increases `history_` by less than this share of it.
    init : {"auto", "kmeans", "random", "fitted"}, default="auto"
        Where EM starts. "auto" chooses what suits the emission; "fitted" continues from the
        parameters that the estimator already has.
    startprob_fixed, transmat_fixed : array, optional
        Known probabilities, which stay as they are; NaN where they are to be learned.
    startprob_prior, transmat_prior : float or array, optional
        Parameters of Dirichlet priors of the starts (S,) and of the transitions from each state
        (S, S), which add prior - 1 to the counts, besides `smoothing`; 1 is flat. A prior around
        known probabilities p that weighs as much as n transitions is ``1 + n * p``.
    n_init : int, default=1
        Number of EM restarts; the best one is kept.
    on_infeasible : {"raise", "warn", "relax"}, default="raise"
        What to do with a sequence that has no feasible path. "raise":
        :class:`~skchmm.InfeasibleSequenceError`. "warn": warn and answer without the constraints.
        "relax": answer with the most probable of the paths that break the fewest hard
        constraints, and warn which of them are broken, and where (see `relaxed_`). Constraints
        that contradict each other are a ValueError in any case.
    max_nodes : int, default=1_000_000
        Largest controller to build.
    n_jobs : int, optional
        Number of threads; they share the sequences. None means 1, -1 all cores.
    random_state : int, RandomState or None
        For the start of EM, and for sampling.
    verbose : int, default=0
        Whether to print one line per EM iteration (the objective, its change, and how long the
        fit can still take), and how far long predictions and compilations are.

    Attributes
    ----------
    classes_ : ndarray (S,)
        The state labels.
    startprob_ : ndarray (S,)
    transmat_ : ndarray (S, S)
    emission_ : Emission
    constraints_ : list
        The constraints, including the mined ones.
    controller_ : Controller
        The automaton that the constraints compile to.
    graph_ : AugmentedGraph
        The reachable pairs of a state and the controller's memory, and the edges between them:
        ``graph_.n_nodes``, ``graph_.n_edges``.
    history_ : list of float
        What EM maximises, at each iteration; the last value belongs to the final parameters:
        log P(Y, Acc) plus the log density of the prior (pseudocounts times log probabilities, and
        the priors of the emission), up to a constant. Acc is the event that the path obeys all
        rules. With ``smoothing=0`` and no priors it is log P(Y, Acc). Empty after a supervised fit.
    histories_ : list of list of float
        After EM, the history of each of the `n_init` restarts.
    n_iter_ : int
        Number of EM iterations that were run.
    converged_ : bool
    soft_weights_ : ndarray
        The weights of the soft rules, in their order in `constraints_`, learned ones included.
        Only where there are soft rules.
    relaxed_ : list
        With ``on_infeasible="relax"``, the sequences of the last call that had no feasible path:
        for each of them ``sequence``, ``n_steps`` and ``broken``, a list of (constraint, step).
    n_features_in_ : int
    feature_names_in_ : ndarray
        The column names of X, if it had any. (Those of polars 2 need scikit-learn 1.9.)

    See Also
    --------
    CTConstrainedHMM : The same for irregular times.
    ConstraintMiner : Learns constraints from labelled sequences.
    ConstrainedStream : Decoding while the data arrive.
    compile : Compile constraints into a controller.

    Notes
    -----
    The rows of the augmented chain are never renormalised: the missing mass is the probability of
    breaking a rule. EM maximises the joint probability of the data and the rules, P(Y, Acc), times
    the prior: `smoothing` is the Dirichlet prior with parameters ``1 + smoothing``. This also
    rewards parameters that make the rules likely; the user guide on learning says when that goes
    wrong and what to do.

    Examples
    --------
    >>> import numpy as np
    >>> from skchmm import ConstrainedHMM
    >>> from skchmm.constraints import ExactVisits, Precedence
    >>> X = [np.array(list("xxyyzz")), np.array(list("xyyz"))]
    >>> y = [np.array(list("aabbcc")), np.array(list("abbc"))]
    >>> model = ConstrainedHMM(constraints=[Precedence("a", "b"), ExactVisits("b", 1)]).fit(X, y)
    >>> model.predict([np.array(list("xyxyz"))])
    [array(['a', 'b', 'b', 'b', 'c'], dtype='<U1')]

    A model whose parameters are known needs no data; here X is the log-likelihood of each state:

    >>> model = ConstrainedHMM.from_parameters(
    ...     [0.5, 0.5], [[0.8, 0.2], [0.4, 0.6]], states=["a", "b"],
    ...     constraints=Precedence("a", "b"))
    >>> X = np.log([[0.5, 0.5], [0.1, 0.9], [0.3, 0.7]])
    >>> log_prob, path = model.decode(X)
    >>> path.tolist(), round(float(np.exp(log_prob)), 4)
    (['a', 'b', 'b'], 0.0189)
    >>> model.predict_proba(X)[1].round(2), model.predict_log_proba(X)[1].round(2)
    (array([0.24, 0.76]), array([-1.43, -0.27]))
    >>> np.exp(model.log_likelihood(X)).round(4), np.exp(model.log_feasibility(X)).round(3)
    (array([0.0319]), array([0.294]))
    >>> model.score(X, y=["a", "b", "b"])
    1.0
    >>> model.with_constraints([]).predict(X).tolist()
    ['b', 'b', 'b']

    What else a model can be asked:

    >>> model.sample_posterior(X, n_samples=500, random_state=0).shape
    (500, 3)
    >>> model.visit_distribution("b", X, max_visits=2).round(2)
    array([[0.15, 0.85, 0.  ]])
    >>> model.expected_duration("b", X).steps.round(2)
    array([1.44])
    >>> model.constraint_costs(X)["log_likelihood_gain"].round(2).tolist()
    [1.23]
    >>> stream = model.stream()
    >>> stream.push(X[0]).proba
    array([1., 0.])
    """

    def __init__(
        self,
        n_states: int | None = None,
        *,
        states: Collection[Hashable] | None = None,
        emission: Any = "auto",
        constraints: Any = None,
        algorithm: str = "viterbi",
        smoothing: float = 0.5,
        n_iter: int = 100,
        tol: float = 1e-5,
        init: str = "auto",
        startprob_fixed: ArrayLike | None = None,
        transmat_fixed: ArrayLike | None = None,
        startprob_prior: ArrayLike | None = None,
        transmat_prior: ArrayLike | None = None,
        n_init: int = 1,
        on_infeasible: str = "raise",
        max_nodes: int = 1_000_000,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.n_states = n_states
        self.states = states
        self.emission = emission
        self.constraints = constraints
        self.algorithm = algorithm
        self.smoothing = smoothing
        self.n_iter = n_iter
        self.tol = tol
        self.init = init
        self.startprob_fixed = startprob_fixed
        self.transmat_fixed = transmat_fixed
        self.startprob_prior = startprob_prior
        self.transmat_prior = transmat_prior
        self.n_init = n_init
        self.on_infeasible = on_infeasible
        self.max_nodes = max_nodes
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @classmethod
    def from_parameters(
        cls,
        startprob: ArrayLike,
        transmat: ArrayLike,
        *,
        states: Collection[Hashable] | None = None,
        emission: Any = "precomputed",
        constraints: Any = None,
        **params: Any,
    ) -> Self:
        """A fitted model from known parameters; no data needed.

        Parameters
        ----------
        startprob : array (S,)
        transmat : array (S, S)
        states : sequence of labels, default 0, 1, ...
        emission : "precomputed" or an Emission that has its parameters
            For example ``Categorical.from_parameters(...)``.
        constraints : as in the constructor
        **params : other parameters of the constructor

        Returns
        -------
        estimator of this class
        """
        return cls._from_parameters((startprob, transmat), states, emission, constraints, params)

    def stream(self, n_steps: int | None = None, *, lag: int = 0) -> ConstrainedStream:
        """An object that takes the observations of one sequence as they come.

        Parameters
        ----------
        n_steps : int, optional
            The length of the sequence, if it is known.
        lag : int, default=0
            How many steps later a label is decided.

        Returns
        -------
        ConstrainedStream
        """
        return ConstrainedStream(self, n_steps=n_steps, lag=lag)
