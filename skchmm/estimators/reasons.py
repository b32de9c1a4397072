"""Why a model has no answer, and what its constraints cost."""

from collections.abc import Collection
from typing import Any

from ..inference.explain import Explanation
from .asking import AskingMixin


class ReasonsMixin(AskingMixin):
    """`explain` and `constraint_costs`, for a `LikelihoodModel` in discrete time."""

    def explain(
        self,
        X: Any,
        *,
        lengths: Collection[int] | None = None,
        groups: Any = None,
        known: Any = None,
    ) -> Explanation | list[Explanation]:
        """Why sequences have no feasible path.

        Parameters
        ----------
        X, lengths, groups, known : the sequences and what is known of their labels
            As in `predict`.

        Returns
        -------
        Explanation for a single stacked sequence, else a list of them
            The smallest set of constraints (and zeros of the model) that together leave no path
            of that length, and where the last path dies; a feasible sequence is said to be so.

        Examples
        --------
        >>> import numpy as np
        >>> from skchmm import ConstrainedHMM
        >>> from skchmm.constraints import AtLeastVisits, EndsIn, StartsIn
        >>> model = ConstrainedHMM.from_parameters(
        ...     [0.5, 0.5], [[0.8, 0.2], [0.4, 0.6]], states=["a", "b"],
        ...     constraints=[StartsIn("a"), AtLeastVisits("a", 3), EndsIn("b")])
        >>> print(model.explain(np.zeros((4, 2))))
        Sequence 0 (4 steps) has no feasible path. These leave none, taken together:
          AtLeastVisits('a', 3)
        The last path dies at step 0: whatever is observed after it, none can be completed in 4 \
steps. Some paths reach the end but may not end there.
        """
        return self._explain(self._hold(self._read(X, lengths, groups), known))

    def constraint_costs(
        self, X: Any, *, lengths: Collection[int] | None = None, groups: Any = None
    ) -> Any:
        """What each constraint costs each sequence: what would be gained without it.

        A wrong rule has a high cost on the sequences that break it.

        Parameters
        ----------
        X, lengths, groups : the sequences

        Returns
        -------
        pandas.DataFrame
            One row per sequence and constraint: ``sequence`` (number or id), ``constraint`` (as
            text), ``log_prob_gain`` (of the most probable path) and ``log_likelihood_gain`` (of
            log P(Y, Acc)) if only this constraint is dropped. Infinite if dropping it makes an
            infeasible sequence feasible, 0 if the sequence stays infeasible.
        """
        return self._constraint_costs(self._read(X, lengths, groups))
