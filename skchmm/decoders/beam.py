"""BeamRejectionDecoder: beam search that rejects what a step can see."""

from collections.abc import Collection, Hashable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .._kernels.other.beam import beam_search
from .._numbers import is_whole
from ..constraints.compile import compile
from ..constraints.rules import split_local_rules
from ..exceptions import InfeasibleSequenceError, InfeasibleSequenceWarning, warn
from ..inference.chain import labelled
from ..inference.levels import add_levels, take_off_levels
from ..inference.schedule import spread
from ._plain import PlainHMM


class BeamRejectionDecoder(PlainHMM):
    """Hidden Markov model decoded by beam search with rejection of forbidden steps.

    At every step the `beam_width` best hypotheses are extended. An extension that breaks a rule at
    this step is rejected. A single step can break ``ForbiddenEdges`` (and other rules on
    neighbouring labels, such as ``NoDwell``), ``NoReentry``, ``StageMonotone`` and ``Precedence``.
    Rules that are decided only at the end of a path (how often, how long, where it ends) are not
    enforced, because there is no look-ahead. They are listed in ``not_enforced_``, and `fit` warns.

    Hypotheses with the same state and the same memory of the rules have the same future. Only the
    better one of them is kept. So a beam that is as wide as the number of such pairs is exact under
    the rules that it enforces. Only decoding uses the constraints: learning, `predict_proba` and
    `log_likelihood` are those of the hidden Markov model without them.

    Parameters
    ----------
    beam_width : int or None, default=64
        Hypotheses to keep at each step; None keeps all.
    n_states : int, optional
        Number of hidden states; required if neither `states` nor y is given.
    states : sequence of labels, optional
        The hidden states, in this order. Default: the labels in y, sorted; without y, 0, 1, ...
    emission : str, Emission or scikit-learn estimator, default="auto"
        As in :class:`~skchmm.ConstrainedHMM`.
    constraints : constraint, Controller, ConstraintMiner or list of them, optional
    on_infeasible : {"warn", "raise"}, default="warn"
        What to do with a sequence in which every hypothesis was rejected, which may happen where
        feasible paths exist: answer with the best path without rules and warn
        (:class:`~skchmm.InfeasibleSequenceWarning`), or raise
        :class:`~skchmm.InfeasibleSequenceError`.
    smoothing, n_iter, tol, init, startprob_fixed, transmat_fixed, n_init, max_nodes, n_jobs, \
random_state, verbose
        As in :class:`~skchmm.ConstrainedHMM`.

    Attributes
    ----------
    classes_ : ndarray (S,)
    startprob_ : ndarray (S,)
    transmat_ : ndarray (S, S)
    emission_ : Emission
    constraints_ : list
    not_enforced_ : list
        The constraints that no single step can break.
    local_controller_ : Controller
        The controller of the other constraints, which rejects extensions.
    history_, n_iter_, converged_
        Of EM.

    See Also
    --------
    skchmm.ConstrainedHMM : enforces all constraints, exactly.

    Examples
    --------
    >>> import numpy as np
    >>> from skchmm import BeamRejectionDecoder
    >>> from skchmm.constraints import NoReentry
    >>> X, y = np.array(list("xxyyxxyy")), np.array(list("aabbaabb"))
    >>> model = BeamRejectionDecoder(constraints=NoReentry("a")).fit(X, y)
    >>> model.predict(np.array(list("xyyyx")))
    array(['a', 'b', 'b', 'b', 'b'], dtype='<U1')
    """

    _takes_soft = False

    def __init__(
        self,
        beam_width: int = 64,
        *,
        n_states: int | None = None,
        states: Collection[Hashable] | None = None,
        emission: Any = "auto",
        constraints: Any = None,
        on_infeasible: str = "warn",
        smoothing: float = 0.5,
        n_iter: int = 100,
        tol: float = 1e-5,
        init: str = "auto",
        startprob_fixed: ArrayLike | None = None,
        transmat_fixed: ArrayLike | None = None,
        n_init: int = 1,
        max_nodes: int = 1_000_000,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        super().__init__(
            n_states=n_states,
            states=states,
            emission=emission,
            constraints=constraints,
            smoothing=smoothing,
            n_iter=n_iter,
            tol=tol,
            init=init,
            startprob_fixed=startprob_fixed,
            transmat_fixed=transmat_fixed,
            n_init=n_init,
            max_nodes=max_nodes,
            n_jobs=n_jobs,
            random_state=random_state,
            verbose=verbose,
        )
        self.beam_width = beam_width
        self.on_infeasible = on_infeasible

    def _check_parameters(self):
        super()._check_parameters()
        width = self.beam_width
        # numpy's timedelta64 is an np.integer.
        if width is not None and not (is_whole(width) and width >= 1):
            raise ValueError(f"beam_width must be an integer >= 1 or None, got {width!r}.")

    def _apply_constraints(self):
        states = self.classes_.tolist()
        local, others = split_local_rules(self.constraints_, states, self.max_nodes)
        # Every one of these rules accepts wherever it is not yet broken, so that compiling them
        # together cuts off nothing in advance.
        self.local_controller_ = compile(local, states, max_nodes=self.max_nodes)
        return others

    def _best_paths(self, sequences, frames, labels=None):
        frames = frames.whole()
        path, log_prob = self._search(frames, sequences.offsets)
        dead = np.flatnonzero(np.isneginf(log_prob))
        if len(dead):
            free, free_prob = super()._best_paths(sequences, frames)
            self._report_dead(sequences, dead)
            for s in dead:
                steps = slice(*sequences.offsets[s : s + 2])
                path[steps], log_prob[s] = free[steps], free_prob[s]
        return labelled(path, labels), log_prob

    def _search(self, frames, offsets):
        self._check_parameters()
        startprob, transmat = parameters = self._parameters()
        self._check_values(parameters)
        rules = self.local_controller_
        if rules.tables.shape[2] != len(self.classes_):
            raise ValueError(f"local_controller_ is for the states {list(rules.states)}.")
        rules.check_lengths(offsets)
        path = np.empty(frames.n_steps, dtype=np.int32)
        log_prob = np.empty(len(offsets) - 1)
        frames, levels = take_off_levels(frames)
        rows = frames.index
        width = np.iinfo(np.int32).max if self.beam_width is None else self.beam_width
        with np.errstate(divide="ignore"):
            log_trans, log_start = np.log(transmat), np.log(startprob)

        def run(begin, end):
            beam_search(
                rules.tables, rules.epochs, log_trans, log_start, frames.table, rows, offsets,
                begin, end, width, path, log_prob,
            )  # fmt: skip

        spread(run, offsets, self.n_jobs)
        add_levels(log_prob, levels, frames, offsets)
        return path, log_prob

    def _report_dead(self, sequences, dead):
        others = f" (and {len(dead) - 1} more)" if len(dead) > 1 else ""
        message = (
            f"Every hypothesis of {sequences.describe(dead[0])}{others} was rejected: widen the "
            f"beam (beam_width={self.beam_width}) or look at the constraints."
        )
        if self.on_infeasible != "warn":
            raise InfeasibleSequenceError(message)
        warn(message + " The best path without rules is returned.", InfeasibleSequenceWarning)
