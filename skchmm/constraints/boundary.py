"""Where a path may start and end."""

from .base import Constraint, States, membership


class StartsIn(Constraint):
    """The path starts in one of the states.

    A path satisfies it if and only if x_0 is in A. The controller has 1 state.

    Parameters
    ----------
    states : label or collection of labels
        A.

    See Also
    --------
    EndsIn : The last label.
    Window : States that are allowed only at some times.

    Examples
    --------
    >>> from skchmm import satisfies
    >>> from skchmm.constraints import StartsIn
    >>> satisfies(["A", "B"], StartsIn("A")), satisfies(["B", "A"], StartsIn("A"))
    (True, False)
    """

    def __init__(self, states: States) -> None:
        self.states = states

    def _build(self, states, max_nodes):
        members = self._subset("states", states)
        return membership(states, members, [1, 1], [-1, 1], [False, True])


class EndsIn(Constraint):
    """The path ends in one of the states.

    A path satisfies it if and only if x_T, its last label, is in A. The controller has 2 states,
    in A and not.

    Parameters
    ----------
    states : label or collection of labels
        A.

    See Also
    --------
    StartsIn : The first label.
    VisitBy : A visit before a deadline.

    Examples
    --------
    >>> from skchmm import satisfies
    >>> from skchmm.constraints import EndsIn
    >>> satisfies(["A", "B"], EndsIn("A")), satisfies(["B", "A"], EndsIn("A"))
    (False, True)
    """

    def __init__(self, states: States) -> None:
        self.states = states

    def _build(self, states, max_nodes):
        members = self._subset("states", states)
        return membership(states, members, [1, 1], [0, 0], [False, True])
