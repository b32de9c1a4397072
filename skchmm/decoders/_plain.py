"""What the decoders share that are hidden Markov models learned without constraints."""

from collections.abc import Collection, Hashable
from typing import Any, Self

from numpy.typing import ArrayLike

from ..constraints.rules import warn_not_enforced
from ..estimators.likelihood import LikelihoodModel
from ..estimators.questions import QuestionsMixin


class PlainHMM(QuestionsMixin, LikelihoodModel):
    """A hidden Markov model that knows its constraints, but neither learns nor infers with them.

    Subclasses say in `_apply_constraints` what they do with them.
    """

    _enforces = False
    algorithm = "viterbi"
    on_infeasible = "raise"

    def __init__(
        self,
        *,
        n_states: int | None,
        states: Collection[Hashable] | None,
        emission: Any,
        constraints: Any,
        smoothing: float,
        n_iter: int,
        tol: float,
        init: str,
        startprob_fixed: ArrayLike | None,
        transmat_fixed: ArrayLike | None,
        n_init: int,
        max_nodes: int,
        n_jobs: int | None,
        random_state: Any,
        verbose: int,
    ) -> None:
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
        """A fitted model from known parameters; see :meth:`skchmm.ConstrainedHMM.from_parameters`.

        Parameters
        ----------
        startprob : array (S,)
        transmat : array (S, S)
        states : sequence of labels, default 0, 1, ...
        emission : "precomputed" or an Emission that has its parameters
        constraints : as in the constructor
        **params : other parameters of the constructor

        Returns
        -------
        estimator of this class
        """
        return cls._from_parameters((startprob, transmat), states, emission, constraints, params)

    def _conclude(self):
        self.not_enforced_ = self._apply_constraints()
        warn_not_enforced(self, self.not_enforced_)
        return super()._conclude()

    def _apply_constraints(self):
        """Do with the constraints what the decoder does; return those it does not enforce."""
        return []
