"""When, and for how long, states may be occupied."""

import numpy as np

from ..controller import everything
from .base import Constraint, States, count_breaks, membership
from .visitation import count_entries, count_late_entries

LAST_STEP = np.iinfo(np.int64).max


def longest_run(constraint, states, k, max_nodes):
    """The controller of runs in A of at most k steps: its state is the length of the run so far."""
    members = constraint._subset("states", states)
    constraint._check_size(k + 1, states, max_nodes)
    inside = np.arange(1, k + 2)
    inside[-1] = -1
    return membership(states, members, inside, np.zeros(k + 1), np.ones(k + 1))


def count_overlong(constraint, states, k, max_nodes):
    """The breaks of the same: steps of runs in A beyond the k-th."""
    members = constraint._subset("states", states)
    constraint._check_size(k + 1, states, max_nodes)
    run = np.arange(k + 1)
    return count_breaks(states, members, np.minimum(run + 1, k), np.zeros(k + 1), run == k)


class NoDwell(Constraint):
    """No two steps in a row are in the states.

    A path satisfies it if and only if no t has x_t in A and x_{t+1} in A. It is memoryless: the
    controller has 1 state.

    Parameters
    ----------
    states : label or collection of labels
        A.

    See Also
    --------
    MaxDuration : A maximum length of visits.
    AllDifferent : No label comes twice.

    Examples
    --------
    >>> from skchmm import satisfies
    >>> from skchmm.constraints import NoDwell
    >>> satisfies(["A", "B", "A"], NoDwell("A")), satisfies(["A", "A", "B"], NoDwell("A"))
    (True, False)
    """

    def __init__(self, states: States) -> None:
        self.states = states

    def _build(self, states, max_nodes):
        return longest_run(self, states, 1, max_nodes)

    def _breaks(self, states, max_nodes):
        return count_overlong(self, states, 1, max_nodes)


class NoReentry(Constraint):
    """The states, once left, are never entered again.

    A path satisfies it if and only if it has at most one entry into A. The controller of Patel
    and Damiano has 3 states (before, in and after A). Here 2 are enough, because the current label
    already tells whether the path is in A.

    Parameters
    ----------
    states : label or collection of labels
        A.

    See Also
    --------
    StageMonotone : Stages are passed in order and never go back.
    AtMostVisits : A maximum number of visits.

    Examples
    --------
    >>> from skchmm import satisfies
    >>> from skchmm.constraints import NoReentry
    >>> satisfies(["A", "A", "B"], NoReentry("A")), satisfies(["A", "B", "A"], NoReentry("A"))
    (True, False)
    """

    def __init__(self, states: States) -> None:
        self.states = states

    def _build(self, states, max_nodes):
        return count_entries(self, states, 0, 1, max_nodes)

    def _breaks(self, states, max_nodes):
        return count_late_entries(self, states, 1, max_nodes)


class CoolDown(Constraint):
    """After the states are left, they stay closed for a while.

    A path satisfies it if and only if, whenever A is left at u (x_{u-1} in A, x_u not in A) and
    next entered at e, e - u is at least delta + 1. The controller has delta + 1 states.

    Parameters
    ----------
    states : label or collection of labels
        A.
    delta : int
        At least delta + 1 steps are spent outside of A between two visits.

    See Also
    --------
    MinDuration : A minimum length of visits.
    NoReentry : States that were left are not entered again.

    Examples
    --------
    >>> from skchmm import satisfies
    >>> from skchmm.constraints import CoolDown
    >>> satisfies(["A", "B", "B", "A"], CoolDown("A", 1))
    True
    >>> satisfies(["A", "B", "A"], CoolDown("A", 1))
    False
    """

    _counts = {"delta": 0}

    def __init__(self, states: States, delta: int) -> None:
        self.states = states
        self.delta = delta

    def _build(self, states, max_nodes):
        members = self._subset("states", states)
        delta = int(self.delta)
        if delta == 0:
            return everything(states)
        # 0: free to enter; 1: in A; 1 + m: m steps outside, still closed.
        size = delta + 2
        self._check_size(size, states, max_nodes)
        inside = np.full(size, -1)
        inside[:2] = 1
        outside = np.arange(1, size + 1)
        outside[0] = outside[-1] = 0
        return membership(states, members, inside, outside, np.ones(size))


class MinDuration(Constraint):
    """Every stay in the states lasts at least k steps.

    A path satisfies it if and only if every maximal run inside A has length at least k; the last
    run of the sequence may be shorter. The controller has k states (1 for k = 0, which allows
    everything).

    Parameters
    ----------
    states : label or collection of labels
        A.
    k : int
        The shortest stay.

    See Also
    --------
    MaxDuration : A maximum length of visits.
    CoolDown : A minimum time between two visits.
    Occupancy : Bounds on the number of steps in some states.

    Examples
    --------
    >>> from skchmm import satisfies
    >>> from skchmm.constraints import MinDuration
    >>> satisfies(["A", "A", "B", "A"], MinDuration("A", 2))
    True
    >>> satisfies(["A", "B", "A"], MinDuration("A", 2))
    False
    """

    _counts = {"k": 0}

    def __init__(self, states: States, k: int) -> None:
        self.states = states
        self.k = k

    def _build(self, states, max_nodes):
        members = self._subset("states", states)
        k = int(self.k)
        if k <= 1:
            return everything(states)
        # The state is the length of the run so far, k standing for k or more.
        self._check_size(k + 1, states, max_nodes)
        inside = np.minimum(np.arange(1, k + 2), k)
        outside = np.full(k + 1, -1)
        outside[[0, k]] = 0
        return membership(states, members, inside, outside, np.ones(k + 1))


class MaxDuration(Constraint):
    """Every stay in the states lasts at most k steps.

    A path satisfies it if and only if every maximal run inside A has length at most k. The
    controller has k states (1 for k = 0, which forbids A).

    Parameters
    ----------
    states : label or collection of labels
        A.
    k : int
        The longest stay.

    See Also
    --------
    MinDuration : A minimum length of visits.
    NoDwell : No visit is longer than one step.
    Occupancy : Bounds on the number of steps in some states.

    Examples
    --------
    >>> from skchmm import satisfies
    >>> from skchmm.constraints import MaxDuration
    >>> satisfies(["A", "A", "B", "A"], MaxDuration("A", 2))
    True
    >>> satisfies(["A", "A", "B", "A"], MaxDuration("A", 1))
    False
    """

    _counts = {"k": 0}

    def __init__(self, states: States, k: int) -> None:
        self.states = states
        self.k = k

    def _build(self, states, max_nodes):
        return longest_run(self, states, int(self.k), max_nodes)

    def _breaks(self, states, max_nodes):
        return count_overlong(self, states, int(self.k), max_nodes)


class Window(Constraint):
    """The states occur only within a window of time.

    A path satisfies it if and only if every t with x_t in A has start <= t < stop. The controller
    has 1 state; what it forbids changes at `start` and `stop`.

    Parameters
    ----------
    states : label or collection of labels
        A.
    start, stop : int
        The first step at which A may occur, and the first after it at which it may not.

    See Also
    --------
    VisitBy : A visit before a deadline.
    StartsIn : The first label.

    Examples
    --------
    >>> from skchmm import satisfies
    >>> from skchmm.constraints import Window
    >>> satisfies(["B", "A", "B"], Window("A", 1, 2)), satisfies(["A", "A", "B"], Window("A", 1, 2))
    (True, False)
    """

    _counts = {"start": 0, "stop": 0}

    def __init__(self, states: States, start: int, stop: int) -> None:
        self.states = states
        self.start = start
        self.stop = stop

    def _epochs(self):
        """The first steps of the epochs, and in which of them A may not occur."""
        start, stop = int(self.start), int(self.stop)
        if start >= stop:
            raise self._error(f"start={start} must be before stop={stop}")
        epochs, closed = [0, start, stop], np.array([[True], [False], [True]])
        if start == 0:
            epochs, closed = epochs[1:], closed[1:]
        n_reached = sum(step < LAST_STEP for step in epochs)  # no path gets to the others
        return epochs[:n_reached], closed[:n_reached]

    def _build(self, states, max_nodes):
        members, (epochs, closed) = self._subset("states", states), self._epochs()
        outside = np.zeros_like(closed, dtype=int)
        return membership(states, members, -1 * closed, outside, [True], epochs=epochs)

    def _breaks(self, states, max_nodes):
        members, (epochs, closed) = self._subset("states", states), self._epochs()
        stay = np.zeros_like(closed, dtype=int)
        return count_breaks(states, members, stay, stay, closed, epochs=epochs)


class VisitBy(Constraint):
    """The states are visited by a deadline.

    A path satisfies it if and only if some t <= deadline has x_t in A. The controller has 2
    states; what it forbids changes after the deadline.

    Parameters
    ----------
    states : label or collection of labels
        A.
    deadline : int
        The last step at which the first visit may happen; the first step of a path is 0.

    See Also
    --------
    Window : States that are allowed only at some times.
    AtLeastVisits : A minimum number of visits.

    Examples
    --------
    >>> from skchmm import satisfies
    >>> from skchmm.constraints import VisitBy
    >>> satisfies(["B", "A", "B"], VisitBy("A", 1)), satisfies(["B", "B", "A"], VisitBy("A", 1))
    (True, False)
    """

    _counts = {"deadline": 0}

    def __init__(self, states: States, deadline: int) -> None:
        self.states = states
        self.deadline = deadline

    def _build(self, states, max_nodes):
        members = self._subset("states", states)
        last = min(int(self.deadline), LAST_STEP)
        # 0: not visited yet, dead if the deadline does not either; 1: visited.
        inside, outside = [[1, 1], [1, 1]], [[0, 1], [-1, 1]]
        if last == 0:
            return membership(states, members, inside[1:], outside[1:], [False, True])
        return membership(states, members, inside, outside, [False, True], epochs=(0, last))
