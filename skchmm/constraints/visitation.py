"""How often a set of states is entered, and how many steps are spent in it."""

import numpy as np

from ..controller import everything
from .base import Constraint, States, count_breaks, membership


def count_entries(constraint, states, at_least, at_most, max_nodes):
    """The controller of ``at_least <= entries <= at_most`` (None: no upper bound).

    Controller state 2c is outside A after c entries, 2c - 1 inside A on the c-th: a label in A
    moves from even to odd, a label outside from odd to even.
    """
    members = constraint._subset("states", states)
    if at_most is None and at_least == 0:
        return everything(states)
    size = 2 * at_least if at_most is None else 2 * at_most + 1
    constraint._check_size(size, states, max_nodes)
    now = np.arange(size)
    inside, outside = now | 1, now + now % 2
    if at_most is None:
        outside[-1] = size - 1  # enough entries: whatever follows
    else:
        inside[-1] = -1  # one entry too many
    return membership(states, members, inside, outside, (now + 1) // 2 >= at_least)


def count_late_entries(constraint, states, k, max_nodes):
    """The breaks of ``entries <= k``: those after the k-th, inside A or not as in the above."""
    members = constraint._subset("states", states)
    size = 2 * k + 2
    constraint._check_size(size, states, max_nodes)
    now = np.arange(size)
    inside, outside = now | 1, now + now % 2
    outside[-1] = size - 2  # inside A after the k-th entry: outside again
    return count_breaks(states, members, inside, outside, now == size - 2)


class AtLeastVisits(Constraint):
    """The states are entered at least k times.

    A path satisfies it if and only if the number of its entries into A is at least k. An entry
    is a time t with x_t in A and (t = 0 or x_{t-1} not in A). The controller has k + 1 states.

    Parameters
    ----------
    states : label or collection of labels
        A.
    k : int
        The minimum number of entries.

    See Also
    --------
    AtMostVisits : A maximum number of visits.
    ExactVisits : An exact number of visits.
    Occupancy : Bounds on the number of steps in some states.
    VisitBy : A visit before a deadline.

    Examples
    --------
    >>> from skchmm import satisfies
    >>> from skchmm.constraints import AtLeastVisits
    >>> satisfies(["A", "A", "B", "A"], AtLeastVisits("A", 2))
    True
    """

    _counts = {"k": 0}

    def __init__(self, states: States, k: int) -> None:
        self.states = states
        self.k = k

    def _build(self, states, max_nodes):
        return count_entries(self, states, int(self.k), None, max_nodes)


class AtMostVisits(Constraint):
    """The states are entered at most k times.

    A path satisfies it if and only if the number of its entries into A is at most k. An entry
    is a time t with x_t in A and (t = 0 or x_{t-1} not in A). The controller has k + 1 states.

    Parameters
    ----------
    states : label or collection of labels
        A.
    k : int
        The maximum number of entries; 0 forbids the states altogether.

    See Also
    --------
    AtLeastVisits : A minimum number of visits.
    ExactVisits : An exact number of visits.
    Occupancy : Bounds on the number of steps in some states.

    Examples
    --------
    >>> from skchmm import satisfies
    >>> from skchmm.constraints import AtMostVisits
    >>> satisfies(["A", "A", "B", "A"], AtMostVisits("A", 1))
    False
    """

    _counts = {"k": 0}

    def __init__(self, states: States, k: int) -> None:
        self.states = states
        self.k = k

    def _build(self, states, max_nodes):
        return count_entries(self, states, 0, int(self.k), max_nodes)

    def _breaks(self, states, max_nodes):
        return count_late_entries(self, states, int(self.k), max_nodes)


class ExactVisits(Constraint):
    """The states are entered exactly k times.

    A path satisfies it if and only if the number of its entries into A is k. An entry is a time
    t with x_t in A and (t = 0 or x_{t-1} not in A). The controller has k + 1 states.

    Parameters
    ----------
    states : label or collection of labels
        A.
    k : int
        The number of entries.

    See Also
    --------
    AtLeastVisits : A minimum number of visits.
    AtMostVisits : A maximum number of visits.
    Occupancy : Bounds on the number of steps in some states.

    Examples
    --------
    >>> from skchmm import satisfies
    >>> from skchmm.constraints import ExactVisits
    >>> satisfies(["A", "A", "B", "A"], ExactVisits("A", 2))
    True
    """

    _counts = {"k": 0}

    def __init__(self, states: States, k: int) -> None:
        self.states = states
        self.k = k

    def _build(self, states, max_nodes):
        k = int(self.k)
        return count_entries(self, states, k, k, max_nodes)


class Occupancy(Constraint):
    """The number of steps spent in the states is within bounds.

    A path satisfies it if and only if the number of times t with x_t in A is at least `at_least`
    and at most `at_most`. (Visits count entries; occupancy counts steps.) The controller has
    ``at_most + 1`` states, or ``at_least + 1`` without an upper bound.

    Parameters
    ----------
    states : label or collection of labels
        A.
    at_least, at_most : int, default=None
        The bounds; None means no bound. At least one of them must be given.

    See Also
    --------
    AtLeastVisits : A minimum number of visits.
    MinDuration : A minimum length of visits.
    MaxDuration : A maximum length of visits.

    Examples
    --------
    >>> from skchmm import satisfies
    >>> from skchmm.constraints import Occupancy
    >>> satisfies(["A", "A", "B", "A"], Occupancy("A", at_most=2))
    False
    """

    _counts = {"at_least": 0, "at_most": 0}
    _optional_counts = ("at_least", "at_most")

    def __init__(
        self, states: States, at_least: int | None = None, at_most: int | None = None
    ) -> None:
        self.states = states
        self.at_least = at_least
        self.at_most = at_most

    def _build(self, states, max_nodes):
        members = self._subset("states", states)
        if self.at_least is None and self.at_most is None:
            raise self._error("give at_least, at_most or both")
        at_least = 0 if self.at_least is None else int(self.at_least)
        at_most = None if self.at_most is None else int(self.at_most)
        if at_most is not None and at_least > at_most:
            raise self._error(f"at_least={at_least} is more than at_most={at_most}")
        size = (at_least if at_most is None else at_most) + 1
        self._check_size(size, states, max_nodes)
        steps = np.arange(size)
        inside = steps + 1
        inside[-1] = size - 1 if at_most is None else -1
        return membership(states, members, inside, steps, steps >= at_least)

    def _breaks(self, states, max_nodes):
        if self.at_most is None or self.at_least is not None:
            return None
        members, size = self._subset("states", states), int(self.at_most) + 1
        self._check_size(size, states, max_nodes)
        steps = np.arange(size)
        return count_breaks(
            states, members, np.minimum(steps + 1, size - 1), steps, steps == size - 1
        )
