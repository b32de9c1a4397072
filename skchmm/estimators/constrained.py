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

    The constraints are compiled into a minimal finite controller. Viterbi, forward-backward
    and EM run on the live pairs of a state and what the controller remembers, so every decoded
    path satisfies every constraint, and marginals and likelihoods are exactly those of the paths
    that do.

    Sequences come stacked (an array with ``lengths=``), grouped (an array with ``groups=``, one
    sequence id a row) or as a list of arrays; answers come back in the same form.

    Parameters
    ----------
    n_states : int, optional
        Number of hidden states, where neither `states` nor labels say it.
    states : sequence of labels, optional
        The hidden states, in this order. Default: the labels in y, sorted; without y, 0, 1, ...
    emission : str, Emission or scikit-learn estimator, default="auto"
        "auto" (floating-point columns: Gaussian; anything else: categorical; both: a
        :class:`~skchmm.emissions.Product`), "categorical", "gaussian", "poisson" or another name
        from the user guide, "precomputed" (X is the log-likelihood of every state), an object from
        :mod:`skchmm.emissions`, a classifier (its probabilities divided by the class priors) or a
        density estimator (one clone a state).
    constraints : constraint, Controller, ConstraintMiner or list of them, optional
        What every path must satisfy. A miner learns constraints from the labels seen in `fit`.
    algorithm : {"viterbi", "posterior", "map"}, default="viterbi"
        What `predict` returns. "viterbi": the most probable feasible path. "posterior": the
        feasible path with the largest sum of log marginals. "map": the most probable
        state of each step, which taken together may be infeasible.
    smoothing : float, default=0.5
        Pseudocount of every start, transition and symbol in the supervised fit.
    n_iter : int, default=100
        Most iterations of EM.
    tol : float, default=1e-5
        EM stops when log P(Y, Acc) gains less than this, relative to its size.
    init : {"auto", "kmeans", "random", "fitted"}, default="auto"
        Where EM starts. "auto" is what suits the emission; "fitted" goes on from the
        parameters that the estimator has.
    startprob_fixed, transmat_fixed : array, optional
        Probabilities that are given; NaN where they are to be learned.
    n_init : int, default=1
        Starts of EM, of which the best is kept.
    on_infeasible : {"raise", "warn"}, default="raise"
        What to do with a sequence that has no feasible path: raise
        :class:`~skchmm.InfeasibleSequenceError`, or warn and answer without the constraints.
    max_nodes : int, default=1_000_000
        Largest controller to build.
    n_jobs : int, optional
        Threads over sequences.
    random_state : int, RandomState or None
        For the start of EM, and for sampling.
    verbose : int, default=0
        Print a line per iteration of EM: the objective, its change, and how long the fit can
        last.

    Attributes
    ----------
    classes_ : ndarray (S,)
        The state labels.
    startprob_ : ndarray (S,)
    transmat_ : ndarray (S, S)
    emission_ : Emission
    constraints_ : list
        The constraints, mined ones included.
    controller_ : Controller
        What they compile to.
    graph_ : AugmentedGraph
        Its live nodes and edges: ``graph_.n_nodes``, ``graph_.n_edges``.
    history_ : list of float
        log P(Y, Acc) at each iteration of EM, the last one that of the final parameters;
        after a supervised fit, empty.
    histories_ : list of list of float
        After EM, the history of each of the `n_init` restarts.
    n_iter_ : int
        Iterations that EM took.
    converged_ : bool
    n_features_in_ : int
    feature_names_in_ : ndarray
        Where X had column names.

    Notes
    -----
    The rows of the augmented chain are never renormalised: what they lose is the probability of
    breaking the rules. EM climbs log P(Y, Acc), which also rewards parameters under which
    feasible paths are likely.

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
            How long the sequence will be, where that is known.
        lag : int, default=0
            How many steps later a label is decided.

        Returns
        -------
        ConstrainedStream
        """
        return ConstrainedStream(self, n_steps=n_steps, lag=lag)
