"""What the decoders share that are hidden Markov models learned without constraints."""

from types import SimpleNamespace

from .._answers import AnswersMixin
from ..constrained import ConstrainedHMM
from ..exceptions import InfeasibleSequenceError
from ._rules import warn_not_enforced, without

# What does not ask about the constraints.
KEPT = (
    "expected_duration", "kbest", "probability", "sample", "sample_posterior", "visit_distribution",
)  # fmt: skip


@without(AnswersMixin, keep=KEPT)
class PlainHMM(ConstrainedHMM):
    """A hidden Markov model that knows its constraints, but neither learns nor infers with them.

    Subclasses say in `_apply_constraints` what they do with them.
    """

    algorithm = "viterbi"
    on_infeasible = "raise"

    def __init__(
        self,
        *,
        n_states,
        states,
        emission,
        constraints,
        smoothing,
        n_iter,
        tol,
        init,
        startprob_fixed,
        transmat_fixed,
        n_init,
        max_nodes,
        n_jobs,
        random_state,
        verbose,
    ):
        self.n_states = n_states
        self.states = states
        self.emission = emission
        self.constraints = constraints
        self.smoothing = smoothing
        self.n_iter = n_iter
        self.tol = tol
        self.init = init
        self.startprob_fixed = startprob_fixed
        self.transmat_fixed = transmat_fixed
        self.n_init = n_init
        self.max_nodes = max_nodes
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X, y=None, *, lengths=None, groups=None, **weights):
        """Learn a hidden Markov model; see :meth:`skchmm.ConstrainedHMM.fit`.

        The constraints have no part in it.

        Parameters
        ----------
        X : sequences in any of the three forms
        y : labels in the same form, optional
            Without them, or where some are missing, EM.
        lengths : sequence of int, optional
        groups : sequence, optional
        sample_weight : sequence of float, optional

        Returns
        -------
        self
        """
        super().fit(X, y, lengths=lengths, groups=groups, **weights)
        return self._conclude()

    def _constrain(self, constraints):
        return super()._constrain(constraints)._conclude()

    def _conclude(self):
        self._last = SimpleNamespace()  # of the last call of predict
        self.not_enforced_ = self._apply_constraints()
        warn_not_enforced(self, self.not_enforced_)
        return self

    def _apply_constraints(self):
        """Do with the constraints what the decoder does; return those it does not enforce."""
        return []

    def _chain(self, startprob=None, transmat=None, *, constrained=True):
        return super()._chain(startprob, transmat, constrained=False)

    def _report_infeasible(self, sequences, bad):
        raise InfeasibleSequenceError(self._explain_briefly(sequences, bad[0], len(bad)))

    def _explain_briefly(self, sequences, s, n_bad=1):
        others = f" (and {n_bad - 1} more)" if n_bad > 1 else ""
        return (
            f"{sequences.describe(s).capitalize()}{others} has probability zero under the model: "
            "its observations or transitions are impossible."
        )
