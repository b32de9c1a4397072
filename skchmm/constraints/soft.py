"""Soft rules: a path may break them, at a price."""

import math
import numbers
from collections.abc import Collection, Hashable
from typing import Any

from ..controller import Controller, everything
from ..controller.soft import MAX_SOFT, SoftController, broken_once, soften
from ..sequences.labels import check_states
from .base import Constraint, is_constraint, short
from .limits import build_all
from .logic import build, labels_of, spec_of


class Soft(Constraint):
    """A rule that may be broken, at a price.

    A path that breaks the rule pays `weight`, once; with ``each=True`` it pays for every break.
    Among the paths that keep all hard rules, P(x | Y) is proportional to
    P(x, Y) exp(-cost(x)), where the cost of a path is the sum over the soft rules.

    Parameters
    ----------
    constraint : constraint or Controller
        The rule.
    weight : float or "learn"
        What a break costs, in nats: a weight of w divides the odds of a path by e^w. At least 0,
        and finite (a rule that must hold is given without `Soft`). ``"learn"`` estimates it by
        maximum likelihood from labels, in ``fit(X, y)``; see ``soft_weights_`` of the estimator.
    each : bool, default=False
        Whether every break counts. Possible for these rules:

        ================================  =====================================================
        rule                              breaks of a path x
        ================================  =====================================================
        ``ForbiddenEdges(edges)``         times t with (x_t, x_{t+1}) in edges
        ``Precedence(before, after)``     times t with x_t in after and no s < t with x_s in
                                          before
        ``NoDwell(states)``               times t with x_t and x_{t+1} both in A
        ``AtMostVisits(states, k)``       entries beyond the k-th
        ``NoReentry(states)``             entries beyond the first
        ``MaxDuration(states, k)``        over all runs in A, steps beyond the k-th
        ``Occupancy(states, at_most=k)``  steps in A beyond the k-th
        ``Window(states, start, stop)``   times t with x_t in A outside the window
        ================================  =====================================================

    See Also
    --------
    skchmm.ConstrainedHMM : ``on_infeasible="relax"`` breaks hard rules, only where it must.
    skchmm.ConstraintMiner : ``soft=True`` finds soft rules and their weights.

    Examples
    --------
    >>> from skchmm import ConstrainedHMM
    >>> from skchmm.constraints import NoReentry, Soft
    >>> model = ConstrainedHMM.from_parameters(
    ...     [0.5, 0.5], [[0.8, 0.2], [0.2, 0.8]], states=["a", "b"],
    ...     constraints=Soft(NoReentry("a"), 2.0))
    >>> weak, strong = [[0, -1], [-1, 0], [0, -1]], [[0, -9], [-9, 0], [0, -9]]
    >>> model.predict(weak).tolist(), model.predict(strong).tolist()
    (['a', 'a', 'a'], ['a', 'b', 'a'])
    """

    _label_parameters = ()

    def __init__(
        self, constraint: Constraint | Controller, weight: float | str, *, each: bool = False
    ) -> None:
        self.constraint = constraint
        self.weight = weight
        self.each = each

    def __setattr__(self, name, value):
        """Refuse at once what can have no meaning."""
        if name == "weight":
            _check_weight(value)
        elif name == "each" and value not in (True, False):
            raise ValueError(f"Soft: each must be True or False, got {value!r}.")
        elif name == "constraint":
            _check_rule(value)
        super().__setattr__(name, value)

    @property
    def learned(self) -> bool:
        """Whether the weight is to be learned."""
        return self.weight == "learn"

    def labels(self) -> list[Hashable]:
        """The labels that the rule names, each once, in order."""
        return labels_of(self.constraint)

    def controller(
        self, states: Collection[Hashable], max_nodes: int = 1_000_000
    ) -> SoftController:
        """The controller that counts the breaks of the rule.

        Parameters
        ----------
        states : sequence of labels
            All state labels.
        max_nodes : int, default=1_000_000
            The largest automaton to build.

        Returns
        -------
        SoftController
            It accepts every path.
        """
        return add_soft(everything(check_states(states)), [self], max_nodes)

    def _build(self, states, max_nodes):
        """What the rule forbids as long as nobody pays: nothing."""
        self.count(states, max_nodes)  # which checks the parameters
        return everything(states)

    def count(self, states: Collection[Hashable], max_nodes: int) -> Any:
        """The automaton of its breaks."""
        if not self.each:
            if isinstance(self.constraint, Controller):
                return broken_once(self.constraint.over(states).minimal())
            return broken_once(self.constraint.controller(states, max_nodes))
        breaks = None
        if isinstance(self.constraint, Constraint):
            build(self.constraint, states, max_nodes)  # which checks the parameters
            breaks = self.constraint._breaks(states, max_nodes)
        if breaks is None:
            raise self._error(
                "each=True needs a rule whose breaks can be counted: ForbiddenEdges, Precedence, "
                "NoDwell, AtMostVisits, NoReentry, MaxDuration, Occupancy with at_most alone, or "
                "Window; with each=False the rule costs its weight once"
            )
        return breaks

    def _plain(self, name):
        return getattr(self, name)

    def _normal(self, name):
        return getattr(self, name)

    def to_spec(self) -> dict[str, Any]:
        """The rule as a plain dictionary that JSON and YAML can hold."""
        spec = {"type": "Soft", "constraint": spec_of(self.constraint), "weight": self.weight}
        return spec | ({"each": True} if self.each else {})

    @classmethod
    def _from_fields(cls, fields):
        from .spec import read

        return cls(**fields | {"constraint": read(fields["constraint"])})

    def _refuse(self, *_: Any) -> Any:
        raise ValueError(
            f"{short(self)}: a soft rule cannot be part of &, | or ~: it forbids no path, so that "
            "there is nothing to combine. Soften the combination instead, as in "
            "Soft(a & b, weight), or list the rules: constraints=[a, Soft(b, weight)]."
        )

    __and__ = __rand__ = __or__ = __ror__ = __invert__ = _refuse


def _check_weight(weight):
    if isinstance(weight, str) and weight == "learn":
        return
    if isinstance(weight, bool) or not isinstance(weight, numbers.Real):
        raise ValueError(f"Soft: weight must be a number or 'learn', got {weight!r}.")
    if not 0 <= weight < math.inf:
        raise ValueError(
            f"Soft: weight must be at least 0 and finite, got {weight!r}; a rule that must hold is "
            "given without Soft."
        )


def _check_rule(rule):
    if isinstance(rule, (Soft, SoftController)):
        raise ValueError("Soft: the rule is soft already.")
    if not is_constraint(rule):
        raise ValueError(f"Soft: constraint must be a constraint or a Controller, got {rule!r}.")


def add_soft(controller, soft, max_nodes):
    """The controller of hard rules that also counts the breaks of soft ones.

    A weight that is still to be learned is 0.
    """
    if len(soft) > MAX_SOFT:
        raise ValueError(f"There are {len(soft)} soft rules; at most {MAX_SOFT} are possible.")
    rules = build_all(soft, lambda rule: rule.count(controller.states, max_nodes), max_nodes)
    weights = [0.0 if rule.learned else float(rule.weight) for rule in soft]
    names = [short(rule) for rule in soft]
    return soften(controller, rules, weights, names=names, max_nodes=max_nodes)
