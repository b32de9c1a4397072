"""ConstrainedHMM: a hidden Markov model whose paths obey constraints."""

import warnings
from copy import copy, deepcopy

import numpy as np
from sklearn.utils.validation import check_is_fitted

from . import emissions
from ._answers import AnswersMixin
from ._base import SequenceEstimator
from ._learning import LearningMixin
from ._threads import Allowed, threads_of
from .constraints.compile import compile, flatten
from .emissions import Frames
from .emissions.base import PendingFrames, steps_in_part
from .exceptions import InfeasibleSequenceError, InfeasibleSequenceWarning
from .graph import AugmentedGraph
from .inference import Chain, best_feasible_path, check_frames, labelled, steps_at_once


class ConstrainedHMM(LearningMixin, AnswersMixin, SequenceEstimator):
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
        "auto" (floating-point columns: Gaussian; anything else: categorical), "categorical",
        "gaussian", "gmm", "multinomial", "poisson", "precomputed" (X is the log-likelihood of
        every state), an object from :mod:`skchmm.emissions`, a classifier (its probabilities
        divided by the class priors) or a density estimator (one clone a state).
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
        Print the progress of EM.

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

    _in_parts = True  # whether the chain takes frames in parts

    def __init__(
        self,
        n_states=None,
        *,
        states=None,
        emission="auto",
        constraints=None,
        algorithm="viterbi",
        smoothing=0.5,
        n_iter=100,
        tol=1e-5,
        init="auto",
        startprob_fixed=None,
        transmat_fixed=None,
        n_init=1,
        on_infeasible="raise",
        max_nodes=1_000_000,
        n_jobs=None,
        random_state=None,
        verbose=0,
    ):
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

    # ------------------------------------------------------------- the chain
    def _chain(self, startprob=None, transmat=None, *, constrained=True):
        """The chain for these parameters; graphs are kept as long as the support stays."""
        startprob = self.startprob_ if startprob is None else startprob
        transmat = self.transmat_ if transmat is None else transmat
        chain = self._chains.get(constrained)
        if chain is not None and chain.has(startprob, transmat):
            return chain
        start_support, support = startprob > 0, transmat > 0
        graph = None if chain is None else chain.graph
        if graph is None or not graph.matches(start_support, support):
            if constrained:
                graph = AugmentedGraph(
                    self.controller_, start_support, support, max_nodes=self.max_nodes
                )
            else:
                graph = AugmentedGraph.unconstrained(
                    self.controller_.states, start_support, support
                )
        chain = self._chains[constrained] = Chain(graph, startprob, transmat)
        return chain

    def _frames(self, sequences):
        emission = self.emission_
        encoded = emission.encode(sequences.X, sequences.offsets, reset=False)
        frames = emission.log_likelihood(encoded)
        check_frames(frames, len(self.classes_), sequences.n_steps)
        if not (frames.bounded or frames.table.max(initial=-np.inf) < np.inf):  # NaN too
            raise ValueError(
                f"{emission} gives log-likelihoods that are NaN or infinite: its parameters "
                "are not valid, or do not suit X."
            )
        return frames

    def _pending(self, sequences):
        """Frames, computed in parts where that gives the same."""
        if self._in_parts and sequences.n_sequences > 1:
            n_steps, n_states = sequences.n_steps, len(self.classes_)
            shares = self.emission_._shares_work
            if not shares or n_steps > steps_at_once(n_states):
                least = steps_in_part(self.emission_)
                if least is not None and (shares or n_steps > 2 * least):
                    return PendingFrames(
                        lambda begin, end: self._frames(sequences.part(begin, end)),
                        sequences.n_sequences, n_steps, n_states, None if shares else least,
                    )  # fmt: skip
        with Allowed(threads_of(self.n_jobs)):
            return self._frames(sequences)

    # ------------------------------------------------------------- inference
    def predict(self, X, *, lengths=None, groups=None):
        """The decoded label path of each sequence.

        Parameters
        ----------
        X, lengths, groups : the sequences

        Returns
        -------
        labels, in the form in which the sequences came
        """
        sequences = self._read(X, lengths, groups)
        if self.algorithm == "viterbi":
            frames = self._pending(sequences)
            return sequences.restore(self._decode(sequences, frames, self.classes_)[0])
        return sequences.restore(labelled(self._predict_index(sequences), self.classes_))

    def decode(self, X, *, lengths=None, groups=None):
        """The most probable feasible paths and their log probabilities.

        Returns
        -------
        log_prob : float for a single stacked sequence, else ndarray (n_sequences,)
            log P(path, Y).
        path : labels, in the form in which the sequences came
        """
        sequences = self._read(X, lengths, groups)
        path, log_prob = self._decode(sequences, self._pending(sequences), self.classes_)
        single = sequences.form == "stacked" and sequences.n_sequences == 1
        return float(log_prob[0]) if single else log_prob, sequences.restore(path)

    def predict_proba(self, X, *, lengths=None, groups=None):
        """P(x_t | Y, Acc): exact smoothed marginals over the feasible paths.

        Returns
        -------
        ndarray (n_steps, S), or a list of them; columns as in `classes_`
        """
        sequences = self._read(X, lengths, groups)
        return sequences.restore(self._posteriors(sequences, self._pending(sequences)))

    def predict_log_proba(self, X, *, lengths=None, groups=None):
        """Logarithm of `predict_proba`."""
        sequences = self._read(X, lengths, groups)
        with np.errstate(divide="ignore"):
            logs = np.log(self._posteriors(sequences, self._pending(sequences)))
        return sequences.restore(logs)

    def log_likelihood(self, X, *, lengths=None, groups=None):
        """log P(Y, Acc) of each sequence, -inf for one without a feasible path.

        Returns
        -------
        ndarray (n_sequences,)
        """
        sequences = self._read(X, lengths, groups)
        return self._chain().log_likelihood(
            self._pending(sequences), sequences.offsets, n_jobs=self.n_jobs
        )

    def log_feasibility(self, X, *, lengths=None, groups=None):
        """log P(Acc | Y) of each sequence: how likely the rules are, given the data alone.

        Returns
        -------
        ndarray (n_sequences,), -inf where there is no feasible path
        """
        sequences = self._read(X, lengths, groups)
        frames, offsets = self._frames(sequences), sequences.offsets
        with_rules = self._chain().log_likelihood(frames, offsets, n_jobs=self.n_jobs)
        without = self._chain(constrained=False).log_likelihood(frames, offsets, n_jobs=self.n_jobs)
        impossible = np.isneginf(without)  # whatever the rules
        return np.where(impossible, -np.inf, with_rules - np.where(impossible, 0.0, without))

    def _predict_index(self, sequences):
        """State indices of `predict`, flat."""
        frames = self._pending(sequences)
        if self.algorithm == "viterbi":
            return self._decode(sequences, frames)[0]
        posteriors = self._posteriors(sequences, frames)
        if self.algorithm == "map":
            return posteriors.argmax(axis=1)
        if self.algorithm != "posterior":
            self._check_parameters()
        with np.errstate(divide="ignore"):
            frames = Frames(np.log(posteriors))
        graph = self._chain().graph
        path, score = best_feasible_path(graph, frames, sequences.offsets, n_jobs=self.n_jobs)
        bad = np.flatnonzero(np.isneginf(score))
        if len(bad):  # only sequences answered without the constraints
            graph = self._chain(constrained=False).graph
            free, _ = best_feasible_path(graph, frames, sequences.offsets, n_jobs=self.n_jobs)
            _replace(path, free, sequences.offsets, bad)
        return path

    def _decode(self, sequences, frames, labels=None):
        """Paths of labels, or of state indices, and their log probabilities."""
        path, log_prob = self._chain().decode(
            frames, sequences.offsets, labels=labels, n_jobs=self.n_jobs
        )
        bad = np.flatnonzero(np.isneginf(log_prob))
        if len(bad):
            self._report_infeasible(sequences, bad)
            free, free_prob = self._chain(constrained=False).decode(
                frames, sequences.offsets, labels=labels, n_jobs=self.n_jobs
            )
            self._check_possible(sequences, free_prob)
            _replace(path, free, sequences.offsets, bad)
            log_prob[bad] = free_prob[bad]
        return path, log_prob

    def _posteriors(self, sequences, frames):
        smoothed = self._chain().smooth(frames, sequences.offsets, n_jobs=self.n_jobs)
        bad = np.flatnonzero(np.isneginf(smoothed.log_z))
        if len(bad):
            self._report_infeasible(sequences, bad)
            free = self._chain(constrained=False).smooth(
                frames, sequences.offsets, n_jobs=self.n_jobs
            )
            self._check_possible(sequences, free.log_z)
            _replace(smoothed.posteriors, free.posteriors, sequences.offsets, bad)
        return smoothed.posteriors

    # ---------------------------------------------------------- infeasibility
    def _report_infeasible(self, sequences, bad):
        message = self._explain_briefly(sequences, bad[0], len(bad))
        message += " Which of them conflict, and where, says the method explain."
        if self.on_infeasible != "warn":
            raise InfeasibleSequenceError(message)
        warnings.warn(
            message + " They are answered without the constraints.",
            InfeasibleSequenceWarning,
            stacklevel=4,
        )

    def _check_possible(self, sequences, log_prob):
        bad = np.flatnonzero(np.isneginf(log_prob))
        if len(bad):
            raise InfeasibleSequenceError(
                f"{sequences.describe(bad[0]).capitalize()} has probability zero under the model, "
                "with or without constraints: its observations or transitions are impossible."
            )

    def _explain_briefly(self, sequences, s, n_bad=1):
        others = f" (and {n_bad - 1} more)" if n_bad > 1 else ""
        rules = ", ".join(map(repr, self.constraints_[:8])) or "none"
        if len(self.constraints_) > 8:
            rules += f" and {len(self.constraints_) - 8} more"
        return (
            f"{sequences.describe(s).capitalize()} of {sequences.lengths[s]} steps{others} has no "
            f"feasible path. The constraints are {rules}."
        )

    # ------------------------------------------------------ other ways to get one
    @classmethod
    def from_parameters(
        cls, startprob, transmat, *, states=None, emission="precomputed", constraints=None, **params
    ):
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
        ConstrainedHMM
        """
        startprob = _probabilities(startprob, 1, "startprob")
        transmat = _probabilities(transmat, 2, "transmat")
        S = len(startprob)
        if transmat.shape != (S, S):
            raise ValueError(
                f"transmat has shape {transmat.shape}; startprob has {S} states, so it must be "
                f"{(S, S)}."
            )
        model = cls(states=states, emission=emission, constraints=constraints, **params)
        model._check_parameters()
        model.classes_ = np.arange(S) if states is None else model._choose_classes(None)
        if len(model.classes_) != S:
            raise ValueError(f"states has {len(model.classes_)} labels but startprob has {S}.")
        model.emission_ = emissions.resolve(emission)
        if model.emission_ is not emission and not isinstance(emission, str):
            model.emission_ = deepcopy(emission)
        model.n_features_in_ = _features_of(model.emission_, S)
        model.startprob_, model.transmat_ = startprob, transmat
        model.history_, model.n_iter_, model.converged_ = [], 0, True
        return model._constrain(constraints)

    def with_constraints(self, constraints):
        """The same fitted model under other constraints.

        Returns
        -------
        ConstrainedHMM
        """
        check_is_fitted(self)
        model = copy(self)
        model.constraints = constraints
        return model._constrain(constraints)

    def _constrain(self, constraints):
        self.constraints_ = flatten(constraints)
        self.controller_ = compile(
            self.constraints_, self.classes_.tolist(), max_nodes=self.max_nodes
        )
        self._chains = {}
        self.graph_ = self._chain().graph
        return self

    def __sklearn_is_fitted__(self):
        return hasattr(self, "transmat_")


def _replace(values, others, offsets, chosen):
    for s in chosen:
        values[offsets[s] : offsets[s + 1]] = others[offsets[s] : offsets[s + 1]]


def _probabilities(values, ndim, name):
    values = np.array(values, dtype=np.float64)
    if values.ndim != ndim or not np.isfinite(values).all() or (values < 0).any():
        raise ValueError(f"{name} must be a {ndim}-d array of probabilities.")
    if (np.abs(values.sum(axis=-1) - 1) > 1e-6).any():
        raise ValueError(f"{name} must sum to 1; the sums are {values.sum(axis=-1).tolist()}.")
    return values


def _features_of(emission, n_states):
    if isinstance(emission, emissions.Precomputed):
        return n_states
    if not hasattr(emission, "n_features_in_"):
        raise ValueError(
            f"{emission} has no parameters yet; use {type(emission).__name__}.from_parameters(...) "
            "or a fitted emission."
        )
    return emission.n_features_in_
