"""CTConstrainedHMM: a hidden Markov model in continuous time whose paths obey constraints."""

from copy import deepcopy

import numpy as np

from . import emissions
from ._ct_answers import CTAnswersMixin
from ._ct_learning import CTLearningMixin, generator_of
from ._gapped_observed import ObservedChain
from ._gapped_path import PathChain
from ._semantics import check_jump_path, reachable, split_jump_rules
from ._times import Timed, TimedSequences, of_frames, timed
from .constrained import ConstrainedHMM, _features_of, _probabilities, _replace
from .constraints.compile import compile, flatten
from .constraints.tables import trivial
from .decoders._rules import warn_not_enforced
from .graph import AugmentedGraph


class CTConstrainedHMM(CTLearningMixin, CTAnswersMixin, ConstrainedHMM):
    """Hidden Markov model in continuous time, exact under path constraints.

    The hidden state jumps at any time, with the rates of a generator; observations come at
    irregular times, given as ``times=`` in `fit`, `predict` and the rest (numbers, datetimes or
    timedeltas, one a row, in the same form as the rows). Between observations everything that can
    have happened is taken into account, and nothing that the constraints forbid.

    Parameters
    ----------
    n_states, states, emission, constraints, algorithm
        As in :class:`~skchmm.ConstrainedHMM`.
    semantics : {"path", "observed", "masked"}, default="path"
        What the constraints bind. "path": the states that are visited, in their order, between
        observations too. "observed": the states at the observation times, each a step; between
        them the chain is free. Rules that count steps (`CoolDown`, `MinDuration`, `Window`...)
        only have a meaning there. Two neighbouring observations may show a forbidden
        edge under "path", when the path went through a third state; never under "observed".
        "masked": forbidden edges are zeros of the generator, all other constraints are
        ignored, with a warning (the topology-masked baseline).
    smoothing : float, default=0.5
        Pseudocount of every start, jump and symbol in the supervised fit. The time that goes with
        a pseudo-jump is the mean time between jumps in the data.
    n_iter, tol, init, n_init
        Of EM, as in :class:`~skchmm.ConstrainedHMM`.
    startprob_fixed : array (S,), optional
        Probabilities that are given; NaN where they are to be learned.
    generator_fixed : array (S, S), optional
        Rates that are given, off the diagonal; NaN where they are to be learned, 0 for a jump that
        cannot happen.
    on_infeasible, max_nodes, n_jobs, random_state, verbose
        As in :class:`~skchmm.ConstrainedHMM`.

    Attributes
    ----------
    classes_ : ndarray (S,)
        The state labels.
    startprob_ : ndarray (S,)
        Of the state at the first observation.
    generator_ : ndarray (S, S)
        Q: rates of jumps, per unit of `times` (per second for datetimes); rows sum to 0.
    emission_, constraints_, controller_, graph_, history_, n_iter_, converged_
        As in :class:`~skchmm.ConstrainedHMM`.
    not_enforced_ : list
        With ``semantics="masked"``, the constraints that a mask cannot express.

    Notes
    -----
    Under "path" the chain of the live pairs of a state and what the controller remembers has the
    generator Q without the jumps that the constraint forbids; it is never renormalised, and what
    it loses is the probability of breaking the rules. `decode` gives the most probable such
    pairs at the observation times, and returns their states.

    The likelihood takes O(edges) for each term of a uniformised series and needs no matrix
    exponential for a gap; gaps that come often and very long ones are dealt with once. Expected
    jumps and times, for EM, are integrals over the gaps; what is long or comes often is
    summed before it is integrated.

    A time of zero between two rows is allowed: they then share their state.

    Examples
    --------
    >>> import numpy as np
    >>> from skchmm import CTConstrainedHMM
    >>> from skchmm.constraints import ForbiddenEdges
    >>> X, y = np.array(list("xxyyzzx")), np.array(list("aabbcca"))
    >>> times = np.array([0.0, 1.5, 2.0, 4.0, 4.5, 6.0, 9.0])
    >>> model = CTConstrainedHMM(constraints=ForbiddenEdges([("a", "c")]))
    >>> model = model.fit(X, y, times=times)
    >>> model.predict(np.array(list("xyz")), times=[0.0, 1.0, 5.0])
    array(['a', 'b', 'c'], dtype='<U1')
    >>> model.decode_path(np.array(list("xz")), times=[0.0, 5.0])
    <JumpPath: a -> b -> c>
    """

    # Times belong to the sequences, so routing needs no set_*_request for them.
    __metadata_request__fit = {"times": True}
    __metadata_request__predict = {"times": True}
    __metadata_request__predict_proba = {"times": True, "at": None}
    __metadata_request__predict_log_proba = {"times": True}
    __metadata_request__score = {"times": True}

    _in_parts = False

    def __init__(
        self,
        n_states=None,
        *,
        states=None,
        emission="auto",
        constraints=None,
        semantics="path",
        algorithm="viterbi",
        smoothing=0.5,
        n_iter=100,
        tol=1e-5,
        init="auto",
        startprob_fixed=None,
        generator_fixed=None,
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
        self.semantics = semantics
        self.algorithm = algorithm
        self.smoothing = smoothing
        self.n_iter = n_iter
        self.tol = tol
        self.init = init
        self.startprob_fixed = startprob_fixed
        self.generator_fixed = generator_fixed
        self.n_init = n_init
        self.on_infeasible = on_infeasible
        self.max_nodes = max_nodes
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    # ------------------------------------------------------------- the chain
    def _compile(self):
        """The controller of the constraints, as `semantics` reads them."""
        states = self.classes_.tolist()
        self._mask, self.not_enforced_ = None, []
        self._chains = {}
        if self.semantics == "masked":
            self._mask, self.not_enforced_ = split_jump_rules(
                self.constraints_, states, self.max_nodes
            )
            warn_not_enforced(self, self.not_enforced_)
            self.controller_ = trivial(tuple(states))
            return
        self.controller_ = compile(self.constraints_, states, max_nodes=self.max_nodes)
        if self.semantics == "path":
            check_jump_path(self.controller_, self.constraints_, states, self.max_nodes)

    def _chain(self, startprob=None, generator=None, *, constrained=True):
        """The chain for these parameters; graphs are kept as long as the support stays."""
        startprob = self.startprob_ if startprob is None else startprob
        generator = self.generator_ if generator is None else generator
        chain = self._chains.get(constrained)
        if chain is None or not chain.has(startprob, generator):
            controller = self.controller_ if constrained else trivial(self.controller_.states)
            graph = None if chain is None else chain.graph
            chain = self._new_chain(controller, startprob, generator, graph)
            self._chains[constrained] = chain
        return chain

    def _new_chain(self, controller, startprob, generator, graph=None):
        observed = self.semantics == "observed"
        start_support = startprob > 0
        support = reachable(generator) if observed else generator > 0
        if graph is None or not graph.matches(start_support, support):
            graph = AugmentedGraph(controller, start_support, support, max_nodes=self.max_nodes)
        return (ObservedChain if observed else PathChain)(graph, startprob, generator)

    def _build_chain(self, controller, constraints, chain):
        """The chain of a further controller that some constraints have gone into."""
        if self.semantics != "observed":
            states = self.classes_.tolist()
            check_jump_path(controller, constraints, states, self.max_nodes)
        return self._new_chain(controller, chain.start, chain.generator)

    def _constrain(self, constraints):
        self.constraints_ = flatten(constraints)
        self._compile()
        if self._mask is not None:
            self._unmasked = self.__dict__.get("_unmasked", self.generator_)
            self.generator_ = generator_of(np.where(self._mask, 0.0, self._unmasked))
        self.graph_ = self._chain().graph
        return self

    # ------------------------------------------------------------- reading
    def _read(self, X, lengths, groups, *, reset=False):
        X, times = (X.X, X.times) if isinstance(X, Timed) else (X, None)
        sequences = super()._read(X, lengths, groups, reset=reset)
        if reset:
            self._timed = times is not None
        elif times is None and self._timed:
            raise ValueError(
                "times is missing: give the time of each row, in the unit of the times that the "
                "model was fitted with."
            )
        return TimedSequences(sequences, times)

    def _frames(self, sequences):
        return of_frames(super()._frames(sequences), sequences.gaps)

    # ------------------------------------------------------------- inference
    def predict(self, X, times=None, *, lengths=None, groups=None):
        """The decoded label of each observation.

        Parameters
        ----------
        X, times, lengths, groups : the sequences

        Returns
        -------
        labels, in the form in which the sequences came
        """
        return super().predict(timed(X, times), lengths=lengths, groups=groups)

    def decode(self, X, times=None, *, lengths=None, groups=None):
        """The most probable augmented states at the observations, and their log probabilities.

        Returns
        -------
        log_prob : float for a single stacked sequence, else ndarray (n_sequences,)
            log P(augmented states at the observations, Y, Acc).
        path : labels, in the form in which the sequences came
        """
        return super().decode(timed(X, times), lengths=lengths, groups=groups)

    def predict_proba(self, X, times=None, *, at=None, lengths=None, groups=None):
        """P(x_t | Y, Acc): exact smoothed marginals, at the observations or at other times.

        Parameters
        ----------
        X, times, lengths, groups : the sequences
        at : times, or a list with the times of each sequence, optional
            Any times between the first and the last observation of a sequence. Default: the
            observations.

        Returns
        -------
        ndarray (n_steps, S), or a list of them; columns as in `classes_`
            With `at`, one row a time: an array for a single stacked sequence, else a list.
        """
        X = timed(X, times)
        if at is None:
            return super().predict_proba(X, lengths=lengths, groups=groups)
        sequences = self._read(X, lengths, groups)
        answers = self._marginals_at(sequences, at)
        single = sequences.form == "stacked" and sequences.n_sequences == 1
        return answers[0] if single else answers

    def predict_log_proba(self, X, times=None, *, lengths=None, groups=None):
        """Logarithm of `predict_proba`."""
        return super().predict_log_proba(timed(X, times), lengths=lengths, groups=groups)

    def log_likelihood(self, X, times=None, *, lengths=None, groups=None):
        """log P(Y, Acc) of each sequence, -inf for one without a feasible path.

        Returns
        -------
        ndarray (n_sequences,)
        """
        return super().log_likelihood(timed(X, times), lengths=lengths, groups=groups)

    def log_feasibility(self, X, times=None, *, lengths=None, groups=None):
        """log P(Acc | Y) of each sequence: how likely the rules are, given the data alone.

        Returns
        -------
        ndarray (n_sequences,), -inf where there is no feasible path
        """
        return super().log_feasibility(timed(X, times), lengths=lengths, groups=groups)

    def score(self, X, y=None, *, times=None, lengths=None, groups=None, sample_weight=None):
        """Accuracy of `predict` on labelled steps; without y, log P(Y, Acc) of all sequences.

        Parameters
        ----------
        X, times, lengths, groups : the sequences
        y : labels, optional
            Steps whose label is missing do not count.
        sample_weight : sequence of float, optional
            As in `fit`.

        Returns
        -------
        float
        """
        return super().score(
            timed(X, times), y, lengths=lengths, groups=groups, sample_weight=sample_weight
        )

    def _predict_index(self, sequences):
        """State indices of `predict`, flat."""
        if self.algorithm != "posterior":
            return super()._predict_index(sequences)
        posteriors = self._posteriors(sequences, self._frames(sequences))
        with np.errstate(divide="ignore"):
            frames = of_frames(emissions.Frames(np.log(posteriors)), sequences.gaps)
        chain, offsets = self._chain(), sequences.offsets
        nodes, score = chain.best_feasible(frames, offsets, n_jobs=self.n_jobs)
        path = chain.states_of(nodes)
        bad = np.flatnonzero(np.isneginf(score))
        if len(bad):  # only sequences answered without the constraints
            free = self._chain(constrained=False)
            nodes, _ = free.best_feasible(frames, offsets, n_jobs=self.n_jobs)
            _replace(path, free.states_of(nodes), offsets, bad)
        return path

    # ------------------------------------------------------ other ways to get one
    @classmethod
    def from_parameters(
        cls,
        startprob,
        generator,
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
        generator : array (S, S)
            Rates off the diagonal; the diagonal is minus their sum, and may be left at zero.
        states : sequence of labels, default 0, 1, ...
        emission : "precomputed" or an Emission that has its parameters
        constraints : as in the constructor
        **params : other parameters of the constructor

        Returns
        -------
        CTConstrainedHMM
        """
        startprob = _probabilities(startprob, 1, "startprob")
        S = len(startprob)
        generator = _check_generator(generator, S)
        model = cls(states=states, emission=emission, constraints=constraints, **params)
        model._check_parameters()
        model.classes_ = np.arange(S) if states is None else model._choose_classes(None)
        if len(model.classes_) != S:
            raise ValueError(f"states has {len(model.classes_)} labels but startprob has {S}.")
        model.emission_ = emissions.resolve(emission)
        if model.emission_ is not emission and not isinstance(emission, str):
            model.emission_ = deepcopy(emission)
        model.n_features_in_ = _features_of(model.emission_, S)
        model.startprob_, model.generator_ = startprob, generator
        model.history_, model.n_iter_, model.converged_ = [], 0, True
        model._timed = True
        return model._constrain(constraints)

    def __sklearn_is_fitted__(self):
        return hasattr(self, "generator_")


def _check_generator(generator, n_states):
    generator = np.array(generator, dtype=np.float64)
    if generator.shape != (n_states, n_states):
        raise ValueError(
            f"generator has shape {generator.shape}; startprob has {n_states} states, so it must "
            f"be {(n_states, n_states)}."
        )
    rates = generator - np.diag(np.diag(generator))
    if not np.isfinite(generator).all() or (rates < 0).any():
        raise ValueError("generator must hold rates that are not negative off its diagonal.")
    exits, diagonal = rates.sum(axis=1), np.diag(generator)
    wrong = (diagonal != 0) & (np.abs(exits + diagonal) > 1e-6 * np.maximum(exits, -diagonal))
    if wrong.any():
        raise ValueError(
            "The rows of generator must sum to 0 (or its diagonal be left at 0); the sums are "
            f"{generator.sum(axis=1).tolist()}."
        )
    return generator_of(rates)
