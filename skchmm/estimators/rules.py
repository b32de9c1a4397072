"""The constraints of an estimator: compiling them, checking them, replacing them."""

from copy import copy
from typing import Any, Self

from sklearn.utils.validation import check_is_fitted

from ..constraints.compile import compile, flatten
from ..constraints.soft import Soft
from ..controller import SoftController, everything
from .softness import check_weights


class RulesMixin:
    """What a `SequenceEstimator` does with its constraints, other than to enforce them."""

    constraints: Any
    _takes_soft = True  # whether it knows what to do with soft rules

    def _compile(self, constraints):
        """Take these constraints as those of the model, before its parameters are learned."""
        states, self._chains = self.classes_.tolist(), {}
        self.__dict__.pop("soft_weights_", None)
        if constraints is None:
            self.constraints_, self.controller_ = [], everything(states)
            return
        self.constraints_ = flatten(constraints)
        if not self._takes_soft:
            self._refuse_soft(type(self).__name__)
        self.controller_ = compile(
            self.constraints_, states, max_nodes=self.max_nodes, verbose=self.verbose
        )
        if isinstance(self.controller_, SoftController):
            self.soft_weights_ = self.controller_.weights
        self._check_controller(self.controller_, self.constraints_)

    def _refuse_soft(self, who):
        if any(isinstance(rule, Soft) for rule in self.constraints_):
            raise ValueError(
                f"{who} takes no soft rules; ConstrainedHMM, CTConstrainedHMM, HSMMDecoder, "
                "PerceptronCRF and skchmm.hmm do."
            )

    def _check_controller(self, controller, constraints):
        """Refuse constraints that have no meaning for the model."""

    def _conclude(self):
        """What follows once parameters and constraints are there."""
        check_weights(self.constraints_)
        self._chain()
        return self

    def with_constraints(self, constraints: Any) -> Self:
        """The same fitted model under other constraints.

        Parameters
        ----------
        constraints : as in the constructor

        Returns
        -------
        estimator of the same class
        """
        check_is_fitted(self)
        model = copy(self)
        model.constraints = constraints
        model._release()
        model._compile(constraints)
        return model._conclude()

    def _release(self):
        """Take back what constraints have done to the parameters."""

    @property
    def _rules(self):
        """The hard constraints that the controller is made of."""
        return [rule for rule in self.constraints_ if not isinstance(rule, Soft)]

    @property
    def _has_rules(self):
        return self._enforces and not all(isinstance(rule, Soft) for rule in self.constraints_)
