"""HSMMDecoder: a hidden semi-Markov model, with or without enforced constraints."""

from collections.abc import Collection, Hashable
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from .._numbers import check_at_least, check_flag, is_one_of, is_real
from ..constraints.rules import warn_not_enforced
from ..estimators.em import with_callbacks
from ..estimators.likelihood import LikelihoodModel
from ..inference.durations import FAMILIES
from ._segments import Segments


class HSMMDecoder(LikelihoodModel):
    """Hidden semi-Markov model: segments of one state with explicit durations.

    A path is a sequence of segments. Each segment has a state, which differs from the state before,
    and a duration, which is drawn from the distribution of its state. So this model can say "about
    20 steps", which no hidden Markov model can. The last segment is cut by the end of the sequence:
    it is only known that it lasted at least so long. Learning takes this into account by Kaplan and
    Meier's estimate, decoding by the survival function of the durations. The first segment is
    assumed to begin with the sequence.

    Parameters
    ----------
    max_duration : int, default=200
        Longest segment. Longer segments in the training labels are counted as this long. A path
        that stays longer in a state has probability zero.
    duration : {"empirical", "poisson", "negative_binomial", "geometric"}, default="empirical"
        Family of the durations. The parametric ones describe the duration minus 1, cut off at
        `max_duration` and renormalised.
    duration_smoothing : float, default=1.0
        Pseudocount of every duration in the supervised fit, for ``duration="empirical"``.
    n_states : int, optional
        Number of hidden states; required if neither `states` nor y is given.
    states : sequence of labels, optional
        The hidden states, in this order. Default: the labels in y, sorted; without y, 0, 1, ...
    emission : str, Emission or scikit-learn estimator, default="auto"
        As in :class:`~skchmm.ConstrainedHMM`.
    constraints : constraint, Controller, ConstraintMiner or list of them, optional
    enforce : bool, default=False
        Whether every path must satisfy the constraints. If so, learning, decoding and marginals are
        exactly those of the semi-Markov chain on feasible paths; otherwise the constraints are
        listed in ``not_enforced_``, and `fit` warns.
    algorithm : {"viterbi", "posterior", "mea", "map"}, default="viterbi"
        What `predict` returns: the most probable path, the feasible path with the largest sum of
        log marginals or of marginals, or the most probable state of each step.
    smoothing : float, default=0.5
        Pseudocount of every start, change of state and symbol, in the supervised fit and in EM.
    on_infeasible : {"raise", "warn", "relax"}, default="raise"
        With ``enforce=True``, what to do with a sequence that has no feasible path.
    n_iter, tol, init, n_init, max_nodes, n_jobs, random_state, verbose
        As in :class:`~skchmm.ConstrainedHMM`.

    Attributes
    ----------
    classes_ : ndarray (S,)
    startprob_ : ndarray (S,)
    transmat_ : ndarray (S, S)
        Probabilities of the next segment's state; the diagonal is zero.
    durations_ : ndarray (S, max_duration)
        P(a segment lasts 1, 2, ... steps).
    emission_ : Emission
    constraints_, not_enforced_ : list
    graph_ : AugmentedGraph
    history_, n_iter_, converged_
        Of EM.

    See Also
    --------
    ConstrainedHMM : The hidden Markov model with exact inference under constraints.

    Notes
    -----
    Decoding takes O(T (nodes x max_duration + edges)): O(T S (D + S)) without constraints.

    Examples
    --------
    >>> import numpy as np
    >>> from skchmm import HSMMDecoder
    >>> y = [np.repeat(list("abab"), 5) for _ in range(10)]
    >>> X = [np.where(path == "a", "x", "y") for path in y]
    >>> model = HSMMDecoder(max_duration=10).fit(X, y)
    >>> model.durations_[0].argmax() + 1
    np.int64(5)
    >>> model.predict([np.array(list("xxyxxyyyyy"))])
    [array(['a', 'a', 'a', 'a', 'a', 'b', 'b', 'b', 'b', 'b'], dtype='<U1')]
    """

    _dynamics_of = Segments
    _parameter_names = Segments.names

    def __init__(
        self,
        max_duration: int = 200,
        *,
        duration: str = "empirical",
        duration_smoothing: float = 1.0,
        n_states: int | None = None,
        states: Collection[Hashable] | None = None,
        emission: Any = "auto",
        constraints: Any = None,
        enforce: bool = False,
        algorithm: str = "viterbi",
        smoothing: float = 0.5,
        n_iter: int = 100,
        tol: float = 1e-5,
        init: str = "auto",
        n_init: int = 1,
        on_infeasible: str = "raise",
        max_nodes: int = 1_000_000,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.max_duration = max_duration
        self.duration = duration
        self.duration_smoothing = duration_smoothing
        self.n_states = n_states
        self.states = states
        self.emission = emission
        self.constraints = constraints
        self.enforce = enforce
        self.algorithm = algorithm
        self.smoothing = smoothing
        self.n_iter = n_iter
        self.tol = tol
        self.init = init
        self.n_init = n_init
        self.on_infeasible = on_infeasible
        self.max_nodes = max_nodes
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _check_parameters(self):
        super()._check_parameters()
        check_at_least(self.max_duration, "max_duration", 1)
        check_flag(self.enforce, "enforce")
        if not is_one_of(self.duration, FAMILIES):
            raise ValueError(f"duration must be one of {FAMILIES}, got {self.duration!r}.")
        if not (is_real(self.duration_smoothing) and 0 <= self.duration_smoothing < np.inf):
            raise ValueError(
                "duration_smoothing must not be negative, nor anything but a number; got "
                f"{self.duration_smoothing!r}."
            )

    @property
    def _enforces(self):
        return self.enforce

    @property
    def _impossible(self):
        return (
            "its observations are impossible, or it needs a segment longer than "
            f"max_duration={self.max_duration}."
        )

    @property
    def _note(self):
        return f" No segment is longer than max_duration={self.max_duration}."

    # -------------------------------------------------------------- learning
    @with_callbacks
    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        lengths: Collection[int] | None = None,
        groups: Any = None,
        **weights: Any,
    ) -> Self:
        """Learn from labelled, unlabelled or partly labelled sequences.

        Parameters
        ----------
        X : sequences in any of the three forms
        y : labels in the same form, optional
            With all labels: counts of segments with pseudocounts. Without: EM, which uses them
            too, but for those of durations. Partly missing, or a set of labels where one of them is
            right: EM with what is known held.
        lengths : sequence of int, optional
        groups : sequence, optional
        sample_weight : sequence of float, optional
            One weight per sequence for a list, else one per row. A segment counts with the weight
            of its first step.

        Returns
        -------
        self
        """
        return self._fit_sequences(X, y, lengths, groups, weights)

    def _conclude(self):
        self.not_enforced_ = [] if self.enforce else list(self.constraints_)
        warn_not_enforced(self, self.not_enforced_, "enforce=True makes it")
        return super()._conclude()

    # ------------------------------------------------------ other ways to get one
    @classmethod
    def from_parameters(
        cls,
        startprob: ArrayLike,
        transmat: ArrayLike,
        durations: ArrayLike,
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
            With zeros on the diagonal.
        durations : array (S, D)
            P(a segment lasts 1, ..., D steps); D becomes `max_duration`.
        states : sequence of labels, default 0, 1, ...
        emission : "precomputed" or an Emission that has its parameters
        constraints : as in the constructor
        **params : other parameters of the constructor

        Returns
        -------
        HSMMDecoder
        """
        params = {"max_duration": np.shape(np.atleast_1d(durations))[-1], **params}
        return cls._from_parameters(
            (startprob, transmat, durations), states, emission, constraints, params
        )
