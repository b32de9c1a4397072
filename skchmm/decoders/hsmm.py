"""HSMMDecoder: a hidden semi-Markov model, with or without enforced constraints."""

import warnings

import numpy as np

from .._answers import AnswersMixin
from .._estimation import normalise
from ..constrained import ConstrainedHMM
from ..graph import AugmentedGraph
from ._durations import FAMILIES, fit_durations, geometric
from ._rules import warn_not_enforced, without
from ._semi_markov import Segments, SemiMarkovChain


@without(AnswersMixin)
class HSMMDecoder(ConstrainedHMM):
    """Hidden semi-Markov model: segments of one state with explicit durations.

    A path is a row of segments. Each has a state, different from that of the segment before, and
    a duration drawn from the distribution of its state, so that "about 20 steps" can be said,
    which no hidden Markov model can. The last segment is cut by the end of the sequence: all that
    is known is that it lasted at least so long, and that is what counts, in learning (by Kaplan and
    Meier's estimate) and in decoding (by the survival function of the durations). The first
    segment is taken to begin with the sequence.

    Parameters
    ----------
    max_duration : int, default=200
        Longest segment. Longer ones in the training labels count as that long; a path that stays
        longer in a state than that has probability zero.
    duration : {"empirical", "poisson", "negative_binomial", "geometric"}, default="empirical"
        Family of the durations. The parametric ones describe the duration minus 1, cut off at
        `max_duration` and renormalised.
    duration_smoothing : float, default=1.0
        Pseudocount of every duration in the supervised fit, for ``duration="empirical"``.
    n_states : int, optional
        Number of hidden states, where neither `states` nor labels say it.
    states : sequence of labels, optional
        The hidden states, in this order. Default: the labels in y, sorted; without y, 0, 1, ...
    emission : str, Emission or scikit-learn estimator, default="auto"
        As in :class:`~skchmm.ConstrainedHMM`.
    constraints : constraint, Controller, ConstraintMiner or list of them, optional
    enforce : bool, default=False
        Whether every path must satisfy the constraints. If so, learning, decoding and marginals are
        exactly those of the semi-Markov chain on feasible paths; otherwise the constraints are
        listed in ``not_enforced_``, and `fit` warns.
    algorithm : {"viterbi", "map"}, default="viterbi"
        What `predict` returns: the most probable path, or the most probable state of each step.
    smoothing : float, default=0.5
        Pseudocount of every start, change of state and symbol in the supervised fit.
    on_infeasible : {"raise", "warn"}, default="raise"
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

    startprob_fixed = transmat_fixed = None

    _in_parts = False

    def __init__(
        self,
        max_duration=200,
        *,
        duration="empirical",
        duration_smoothing=1.0,
        n_states=None,
        states=None,
        emission="auto",
        constraints=None,
        enforce=False,
        algorithm="viterbi",
        smoothing=0.5,
        n_iter=100,
        tol=1e-5,
        init="auto",
        n_init=1,
        on_infeasible="raise",
        max_nodes=1_000_000,
        n_jobs=None,
        random_state=None,
        verbose=0,
    ):
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
        if self.algorithm == "posterior":
            raise ValueError("algorithm must be 'viterbi' or 'map' for HSMMDecoder.")
        if not (isinstance(self.max_duration, (int, np.integer)) and self.max_duration >= 1):
            raise ValueError(f"max_duration must be an integer >= 1, got {self.max_duration!r}.")
        if self.duration not in FAMILIES:
            raise ValueError(f"duration must be one of {FAMILIES}, got {self.duration!r}.")
        if not self.duration_smoothing >= 0:
            raise ValueError(
                f"duration_smoothing must not be negative, got {self.duration_smoothing!r}."
            )

    # ------------------------------------------------------------- the chain
    def _chain(self, startprob=None, segments=None, *, constrained=True):
        """The semi-Markov chain for these parameters; graphs are kept while the support stays."""
        constrained = constrained and self.enforce
        startprob = self.startprob_ if startprob is None else startprob
        if segments is None:
            segments = Segments(self.transmat_, self.durations_)
        chain = self._chains.get(constrained)
        if chain is None or not chain.has(startprob, segments):
            graph = self._graph(startprob, segments.transmat, constrained)
            chain = self._chains[constrained] = SemiMarkovChain(graph, startprob, segments)
        return chain

    def _graph(self, startprob, transmat, constrained):
        start_support, support = startprob > 0, (transmat > 0) | np.eye(len(startprob), dtype=bool)
        chain = self._chains.get(constrained)
        if chain is not None and chain.graph.matches(start_support, support):
            return chain.graph
        if constrained:
            return AugmentedGraph(
                self.controller_, start_support, support, max_nodes=self.max_nodes
            )
        return AugmentedGraph.unconstrained(self.controller_.states, start_support, support)

    def _explain_briefly(self, sequences, s, n_bad=1):
        if self.enforce and self.constraints_:
            brief = super()._explain_briefly(sequences, s, n_bad)
            return f"{brief} No segment is longer than max_duration={self.max_duration}."
        others = f" (and {n_bad - 1} more)" if n_bad > 1 else ""
        return (
            f"{sequences.describe(s).capitalize()}{others} has probability zero under the model: "
            "its observations are impossible, or it needs a segment longer than "
            f"max_duration={self.max_duration}."
        )

    # -------------------------------------------------------------- learning
    def fit(self, X, y=None, *, lengths=None, groups=None, **weights):
        """Learn from labelled, unlabelled or partly labelled sequences.

        Parameters
        ----------
        X : sequences in any of the three forms
        y : labels in the same form, optional
            With all labels: counts of segments with pseudocounts. Without: EM, which does not use
            the pseudocounts. Partly missing: EM with the known labels held.
        lengths : sequence of int, optional
        groups : sequence, optional
        sample_weight : sequence of float, optional
            One weight a sequence for a list, else one a row; a segment counts with the weight of
            its first step.

        Returns
        -------
        self
        """
        super().fit(X, y, lengths=lengths, groups=groups, **weights)
        return self._conclude()

    def _conclude(self):
        self.not_enforced_ = [] if self.enforce else list(self.constraints_)
        warn_not_enforced(self, self.not_enforced_, "enforce=True makes it")
        return self

    def _fit_labelled(self, emission, data):
        S, D = len(self.classes_), self.max_duration
        states, lengths, is_last, first = label_runs(data.codes, data.offsets)
        if (lengths > D).any():
            warnings.warn(
                f"{(lengths > D).sum()} segments of the labels are longer than max_duration={D} "
                f"(up to {lengths.max()} steps); such segments can never be decoded.",
                UserWarning,
                stacklevel=4,
            )
        weights = data.step_weights[first]
        starts = np.zeros(S)
        begins = np.append(True, is_last[:-1])
        np.add.at(starts, states[begins], weights[begins])
        transitions = np.zeros((S, S))
        follows = np.flatnonzero(~is_last)
        np.add.at(transitions, (states[follows], states[follows + 1]), weights[follows + 1])
        counts = np.zeros((2, S, D))
        np.add.at(counts, (is_last.astype(int), states, np.minimum(lengths, D) - 1), weights)
        self.startprob_ = normalise(starts + self.smoothing)
        self.transmat_ = off_diagonal(transitions + self.smoothing)
        self.durations_ = fit_durations(self.duration, *counts, smoothing=self.duration_smoothing)
        emission.fit_supervised(
            data.encoded, data.codes, S, data.step_weights, offsets=data.offsets,
            smoothing=self.smoothing, random_state=self.random_state,
        )  # fmt: skip
        self.emission_ = emission
        self.history_, self.n_iter_, self.converged_ = [], 0, True

    # EM has three parts in its parameters: starts, segments and emission.
    def _fit_em(self, emission, data, context):
        super()._fit_em(emission, data, context)
        self.transmat_, self.durations_ = self.transmat_

    def _start_em(self, emission, data, random_state):
        startprob, transmat, emission = super()._start_em(emission, data, random_state)
        if self.init == "fitted":
            return startprob, Segments(transmat, self.durations_.copy()), emission
        # Several segments a sequence, and every duration possible.
        S, D = transmat.shape[0], self.max_duration
        means = np.full(S, min(np.diff(data.offsets).mean() / (2 * S), D / 2))
        if self.init == "random" or self.n_init > 1:
            means = means * random_state.uniform(0.5, 2.0, size=S)
        durations = np.stack([geometric(1.0 + mean, D) for mean in means])
        return startprob, Segments(off_diagonal(transmat), durations), emission

    def _m_step(self, parameters, expected, data):
        startprob, segments, emission = parameters
        startprob, _, emission = super()._m_step(
            (startprob, segments.transmat, emission), expected, data
        )
        smoothed = expected.smoothed
        transmat = off_diagonal(smoothed.transitions, segments.transmat)
        durations = fit_durations(
            self.duration, smoothed.complete, smoothed.cut, old=segments.durations
        )
        return startprob, Segments(transmat, durations), emission

    # ------------------------------------------------------ other ways to get one
    @classmethod
    def from_parameters(
        cls,
        startprob,
        transmat,
        durations,
        *,
        states=None,
        emission="precomputed",
        constraints=None,
        **params,
    ):
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
        durations = np.array(durations, dtype=np.float64)
        S = len(startprob)
        if durations.ndim != 2 or len(durations) != S or durations.shape[1] == 0:
            raise ValueError(f"durations must have one row for each of the {S} states.")
        if not (durations >= 0).all() or (np.abs(durations.sum(axis=1) - 1) > 1e-6).any():
            raise ValueError("The rows of durations must be probabilities that sum to 1.")
        if np.diagonal(transmat).any():
            raise ValueError(
                "transmat must be zero on the diagonal: a segment ends where the state changes."
            )
        return super().from_parameters(
            startprob, transmat, states=states, emission=emission, constraints=constraints,
            max_duration=durations.shape[1], **params,
        )._with_durations(durations)  # fmt: skip

    def _with_durations(self, durations):
        self.durations_ = durations
        return self

    def _constrain(self, constraints):
        if not hasattr(self, "durations_"):  # they follow when all else has been checked
            self.durations_ = np.full((len(self.classes_), self.max_duration), np.nan)
        return super()._constrain(constraints)._conclude()


def label_runs(codes, offsets):
    """Maximal runs of one label: (label, length, whether last of its sequence, first step)."""
    new = np.ones(len(codes), dtype=bool)
    new[1:] = codes[1:] != codes[:-1]
    new[offsets[:-1]] = True
    first = np.flatnonzero(new)
    stop = np.append(first[1:], len(codes))
    return codes[first], stop - first, np.isin(stop, offsets[1:]), first


def off_diagonal(counts, old=None):
    """Rows of counts as probabilities of other states; a single state has none."""
    S = len(counts)
    fixed = np.full((S, S), np.nan)
    np.fill_diagonal(fixed, 0.0)
    return np.zeros((1, 1)) if S == 1 else normalise(counts, fixed, old)
