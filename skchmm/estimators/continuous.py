"""CTConstrainedHMM: a hidden Markov model in continuous time whose paths obey constraints.

What the methods here do once they have read times is in likelihood.py and base.py; `kbest`,
`explain` and other questions are in continuous_questions.py, draws in continuous_sampling.py.
"""

from collections.abc import Collection, Hashable
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from .._numbers import check_flag, is_one_of
from ..constraints.compile import flatten
from ..constraints.rules import warn_not_enforced
from ..continuous.semantics import SEMANTICS, check_jump_path, split_jump_rules
from ..controller import everything
from ..sequences.clocks import ClockTimes, GapMap, check_clock
from ..sequences.times import read_times
from .continuous_chunks import CTChunksMixin
from .continuous_marginals import CTMarginalsMixin
from .continuous_questions import CTQuestionsMixin
from .continuous_sampling import CTSamplingMixin
from .em import with_callbacks
from .intervals import IntervalsMixin
from .likelihood import LikelihoodModel
from .passage import PassageMixin
from .rates import Rates, generator_of, warn_if_biased, warn_if_no_entry
from .residuals import ResidualsMixin


class CTConstrainedHMM(
    CTMarginalsMixin, CTQuestionsMixin, CTSamplingMixin, PassageMixin, CTChunksMixin,
    ResidualsMixin, IntervalsMixin, LikelihoodModel,
):  # fmt: skip
    """Hidden Markov model in continuous time, exact under path constraints.

    The hidden state can jump at any time, with the rates of a generator. The observations come at
    irregular times. Give these as ``times=`` to `fit`, `predict` and the other methods: numbers,
    datetimes or timedeltas, one per row, in the same form as the rows. All that can have happened
    between two observations is taken into account, except what the constraints forbid.

    Parameters
    ----------
    n_states, states, emission, constraints, algorithm
        As in :class:`~skchmm.ConstrainedHMM`.
    semantics : {"path", "observed", "masked"}, default="path"
        What the constraints apply to. "path": all states that are visited, in their order, also
        between observations. "observed": the states at the observation times, where each
        observation is a step; between them the chain is free. Rules that count steps (`CoolDown`,
        `MinDuration`, `Window`...) have a meaning only there. Under "path", two neighbouring
        observations may show a forbidden edge, because the path went through a third state
        between them; under "observed" they never do. "masked": forbidden edges are zeros of the
        generator, and all other constraints are ignored, with a warning (a simple baseline).
    clock : None, "log" or positive float, default=None
        How a gap between observations counts: as it is, as log(1 + gap), or as that power of the
        gap. With one exponential clock a change of state is the more likely the longer a gap is,
        in proportion to its length at first. Where gaps are long because nothing happens, as with
        event-driven sensors, "log" or a power below 1 fits better. Unlike a power, "log" depends on
        the unit of time: it is nearly linear in gaps far below one unit (a second for datetimes)
        and nearly constant in gaps far above. See Notes.
    exact_entry : label or collection of labels, optional
        States whose entry is observed at the very time at which it happens, as the day of a death
        is known. The first row of a sequence at which no other state is possible (by the emission,
        or by what is known of its label) then counts with the density of the jump at its time;
        all other rows show the state at a visit. These states are never left: their rates are 0.
    panel : bool, default=False
        What labels that are all known say. False: each lasts until the next, so jumps are counted.
        True: they are the states at visits, and what happened between is not known, so EM learns
        the rates with the labels held.
    smoothing : float, default=0.5
        Pseudocount of every start, symbol and target of a jump, in the labelled fit and in EM. It
        says where jumps go and not how often they happen: a state is left as often as it was,
        jumps over time. Only one that the labels show left less than once gets this share of a
        jump more, in the mean time between jumps in the data.
    n_iter, tol, init, n_init
        Settings of EM, as in :class:`~skchmm.ConstrainedHMM`.
    startprob_fixed : array (S,), optional
        Known probabilities, which stay as they are; NaN where they are to be learned.
    generator_fixed : array (S, S), optional
        Known rates off the diagonal, which stay as they are; NaN where they are to be learned, 0
        for a jump that cannot happen.
    startprob_prior : float or array (S,), optional
        Parameters of a Dirichlet prior, as in :class:`~skchmm.ConstrainedHMM`.
    generator_prior : float, array (S, S) or pair of arrays, optional
        Parameters of Dirichlet priors of where the jumps from each state go; or a tuple of jumps
        (S, S) and times (S,): as if so many jumps had been seen in so much time spent in each state
        before. The prior ``(t[:, None] * Q, t)`` keeps to known rates Q.
    on_infeasible, max_nodes, n_jobs, random_state, verbose
        As in :class:`~skchmm.ConstrainedHMM`.

    Attributes
    ----------
    classes_ : ndarray (S,)
        The state labels.
    startprob_ : ndarray (S,)
        Probability of each state at the first observation.
    generator_ : ndarray (S, S)
        Q: the rates of jumps per unit of `times` (per second for datetimes), or of the `clock`.
        Rows sum to 0. The rate of a jump that the rules forbid is how often paths would break them:
        no path that the model returns makes such a jump, and a rate above 0 comes from `smoothing`.
        With ``smoothing=0``, or a 0 in `generator_fixed`, it is 0.
    emission_, constraints_, controller_, graph_, history_, n_iter_, converged_
        As in :class:`~skchmm.ConstrainedHMM`.
    not_enforced_ : list
        With ``semantics="masked"``, the constraints that a mask cannot express.

    See Also
    --------
    ConstrainedHMM : The hidden Markov model with exact inference under constraints.
    HSMMDecoder : A semi-Markov model: explicit durations.

    Notes
    -----
    Under "path", inference runs on the reachable pairs of a state and the controller's memory.
    Their generator is Q without the jumps that the constraints forbid. It is never renormalised:
    the missing mass is the probability of breaking a rule. `decode` finds the most probable such
    pairs at the observation times, and returns their states.

    The likelihood takes O(edges) for each term of a uniformised series and needs no matrix
    exponential per gap. Gaps that occur often and very long gaps are computed once. The expected
    jumps and times that EM needs are integrals over the gaps; those of frequent and of long gaps
    are summed before they are integrated.

    A time of zero between two rows is allowed. The two rows then have the same state.

    A `clock` starts anew at every observation: a time w after it, it has moved on by log(1 + w) or
    by a power of w, and the generator acts on what it shows. All times that a model takes and
    gives stay those of the user. The times of jumps (`sample`, `sample_posterior`, `decode_path`)
    are read off the clock within their gap, so in `decode_path` they are the times at which the
    clock shows the expected readings; `predict_proba` moves the clock on to each time of `at`, and
    `expected_duration` integrates these marginals over the user's time.

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
    >>> X, times = np.array(list("xz")), [0.0, 5.0]
    >>> model.predict_proba(X, times=times, at=[2.5]).round(2)
    array([[0.23, 0.43, 0.34]])
    >>> model.probability(ForbiddenEdges([("b", "a")]), X, times=times).round(2)
    array([0.91])
    >>> model.sample_paths(5.0, 2, random_state=0)
    [<JumpPath: a -> b -> c>, <JumpPath: c>]
    >>> [path.tolist() for _, path in model.kbest(X, 2, times=times)]
    [['a', 'c'], ['a', 'b']]
    >>> print(model.explain(X, times=times))
    Sequence 0 (2 steps) has a feasible path.
    >>> X, y = model.sample(times=times, random_state=0)
    """

    # Times belong to the sequences, so routing needs no set_*_request for them.
    __metadata_request__fit = {"times": True}
    __metadata_request__partial_fit = {"times": True}
    __metadata_request__predict = {"times": True}
    __metadata_request__predict_proba = {"times": True, "at": None}
    __metadata_request__predict_log_proba = {"times": True}
    __metadata_request__score = {"times": True}

    _parameter_names = Rates.names
    _dynamics_of = Rates

    def __init__(
        self,
        n_states: int | None = None,
        *,
        states: Collection[Hashable] | None = None,
        emission: Any = "auto",
        constraints: Any = None,
        semantics: str = "path",
        clock: str | float | None = None,
        exact_entry: Any = None,
        panel: bool = False,
        algorithm: str = "viterbi",
        smoothing: float = 0.5,
        n_iter: int = 100,
        tol: float = 1e-5,
        init: str = "auto",
        startprob_fixed: ArrayLike | None = None,
        generator_fixed: ArrayLike | None = None,
        startprob_prior: ArrayLike | None = None,
        generator_prior: Any = None,
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
        self.semantics = semantics
        self.clock = clock
        self.exact_entry = exact_entry
        self.panel = panel
        self.algorithm = algorithm
        self.smoothing = smoothing
        self.n_iter = n_iter
        self.tol = tol
        self.init = init
        self.startprob_fixed = startprob_fixed
        self.generator_fixed = generator_fixed
        self.startprob_prior = startprob_prior
        self.generator_prior = generator_prior
        self.n_init = n_init
        self.on_infeasible = on_infeasible
        self.max_nodes = max_nodes
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _check_parameters(self):
        super()._check_parameters()
        if not is_one_of(self.semantics, SEMANTICS):
            raise ValueError(f"semantics must be one of {SEMANTICS}, got {self.semantics!r}.")
        check_clock(self.clock)
        check_flag(self.panel, "panel")
        if self.exact_entry is not None and self.clock is not None:
            raise ValueError(
                f"exact_entry needs clock=None, got clock={self.clock!r}: the clock starts anew at "
                "every observation, so a jump has no density in the time of the user."
            )

    # ------------------------------------------------------------- the chain
    def _dynamics(self):
        return Rates(self, self._mask)

    def _compile(self, constraints):
        self._mask, self.not_enforced_ = None, []
        if self.semantics != "masked":
            super()._compile(constraints)
            return
        self.constraints_, states = flatten(constraints), self.classes_.tolist()
        self._refuse_soft("semantics='masked'")
        self._mask, self.not_enforced_ = split_jump_rules(self.constraints_, states, self.max_nodes)
        warn_not_enforced(self, self.not_enforced_)
        self.controller_ = everything(tuple(states))
        self._chains = {}

    def _check_controller(self, controller, constraints):
        if self.semantics == "path":
            check_jump_path(controller, constraints, self.classes_.tolist(), self.max_nodes)

    @property
    def _rules(self):
        return self.constraints_ if self._mask is None else []

    def _learned(self, parameters, emission, history, converged):
        super()._learned(parameters, emission, history, converged)
        self._unmasked = self.generator_

    def _conclude(self):
        if self._mask is not None:
            self.generator_ = generator_of(np.where(self._mask, 0.0, self.generator_))
        return super()._conclude()

    def _release(self):
        self.generator_ = self._unmasked

    # -------------------------------------------------------------- learning
    @property
    def _counts_labels(self):
        return not self.panel

    def _fit_labelled(self, emission, data):
        super()._fit_labelled(emission, data)
        if self._timed:
            warn_if_biased(data, self._dynamics().exact)

    def _fit_em(self, emission, data, progress):
        super()._fit_em(emission, data, progress)
        warn_if_no_entry(self, data)

    # --------------------------------------------------------------- reading
    def _read(self, X, lengths, groups, *, times=None, reset=False):
        sequences = super()._read(X, lengths, groups, reset=reset)
        if reset:
            self._timed = times is not None
        elif times is None and self._timed:
            raise ValueError(
                "times is missing: give the time of each row, in the unit of the times that the "
                "model was fitted with."
            )
        return self._at(sequences, times)

    def _at(self, sequences, times):
        """The sequences with their times, on the clock of the model."""
        times = read_times(times, sequences)
        if self.clock is not None:
            times = ClockTimes(times, sequences.offsets, GapMap(self.clock))
        return sequences.at(times)

    @with_callbacks
    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        times: Any = None,
        lengths: Collection[int] | None = None,
        groups: Any = None,
        **weights: Any,
    ) -> Self:
        """Learn from labelled, unlabelled or partly labelled sequences.

        Parameters
        ----------
        X : sequences in any of the three forms
        y : labels in the same form, optional
            With all labels: jumps counted over the time spent, with pseudocount `smoothing`;
            a state is taken to last until the next observation, and a warning says where that
            makes rates too low (see `panel`). Without: EM. Partly missing (None, NaN, or -1 among
            integers), or a set of labels where one of them is right: EM with what is known held.
        times : numbers, datetimes or timedeltas, one per row, in the same form
            Must not decrease within a sequence. Without them the rows are one unit apart.
        lengths : sequence of int, optional
        groups : sequence, optional
        sample_weight : sequence of float, optional
            One weight per sequence for a list, else one per row, constant within a sequence.

        Returns
        -------
        self
        """
        return self._fit_sequences(X, y, lengths, groups, weights, times=times)

    # ------------------------------------------------------------- inference
    def predict(
        self,
        X: Any,
        times: Any = None,
        *,
        lengths: Collection[int] | None = None,
        groups: Any = None,
        known: Any = None,
    ) -> np.ndarray | list[np.ndarray]:
        """The decoded label of each observation.

        Parameters
        ----------
        X, times, lengths, groups : the sequences
        known : labels in the form of y, optional
            As in :meth:`skchmm.ConstrainedHMM.predict`.

        Returns
        -------
        labels, in the form in which the sequences came
        """
        return self._predict_sequences(
            self._hold(self._read(X, lengths, groups, times=times), known)
        )

    def decode(
        self,
        X: Any,
        times: Any = None,
        *,
        lengths: Collection[int] | None = None,
        groups: Any = None,
        known: Any = None,
    ) -> tuple[float | np.ndarray, np.ndarray | list[np.ndarray]]:
        """The most probable augmented states at the observations, and their log probabilities.

        Parameters
        ----------
        X, times, lengths, groups, known : as in `predict`

        Returns
        -------
        log_prob : float for a single stacked sequence, else ndarray (n_sequences,)
            log P(augmented states at the observations, Y, Acc).
        path : labels, in the form in which the sequences came
        """
        return self._decode_sequences(
            self._hold(self._read(X, lengths, groups, times=times), known)
        )

    # ------------------------------------------------------ other ways to get one
    @classmethod
    def from_parameters(
        cls,
        startprob: ArrayLike,
        generator: ArrayLike,
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
        model = cls._from_parameters((startprob, generator), states, emission, constraints, params)
        model._timed = True
        return model
