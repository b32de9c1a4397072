"""The shape of the whole path: its segments, its repeats."""

import numpy as np

from ..controller import Controller
from .base import Constraint, States


def count_transitions(constraint, states, k, max_nodes):
    """The controller of exactly k changes of label.

    Controller state ``1 + c * n + a`` is the label a after c changes; 0 is before the first step.
    """
    n = len(states)
    constraint._check_size((k + 1) * n + 1, states, max_nodes)
    label = np.arange(n)
    changed = label[:, None] != label
    changes = np.arange(k + 1)[:, None, None] + changed
    after = np.where(changes <= k, 1 + changes * n + label, -1).reshape(-1, n)
    table = np.concatenate([[1 + label], after]).astype(np.int32)
    accept = np.zeros(len(table), dtype=bool)
    accept[1 + k * n :] = True
    return Controller(states, table, accept)


class Transitions(Constraint):
    """The label changes exactly k times.

    A path satisfies it if and only if exactly k times t have x_t != x_{t+1}. The controller has
    k + 1 states.

    Parameters
    ----------
    k : int
        The number of changes.

    See Also
    --------
    ForbiddenEdges : Some labels never follow directly on others.
    Segments : Bounds on the number of segments of the path.

    Examples
    --------
    >>> from skchmm import satisfies
    >>> from skchmm.constraints import Transitions
    >>> satisfies(["A", "A", "B", "A"], Transitions(2))
    True
    """

    _label_parameters = ()
    _counts = {"k": 0}

    def __init__(self, k: int) -> None:
        self.k = k

    def _build(self, states, max_nodes):
        return count_transitions(self, states, int(self.k), max_nodes)


class Segments(Constraint):
    """The path has exactly k segments (runs of one label).

    A path satisfies it if and only if exactly k - 1 times t have x_t != x_{t+1}. The controller
    has k states.

    Parameters
    ----------
    k : int
        The number of segments, at least 1.

    See Also
    --------
    Transitions : Bounds on the number of transitions between labels.
    ExactVisits : An exact number of visits.

    Examples
    --------
    >>> from skchmm import satisfies
    >>> from skchmm.constraints import Segments
    >>> satisfies(["A", "A", "B", "A"], Segments(3))
    True
    """

    _label_parameters = ()
    _counts = {"k": 1}

    def __init__(self, k: int) -> None:
        self.k = k

    def _build(self, states, max_nodes):
        return count_transitions(self, states, int(self.k) - 1, max_nodes)


class AllDifferent(Constraint):
    """No label occurs twice.

    A path satisfies it if and only if no label of A occurs at two times. Staying in a label for
    two steps also counts as twice. The controller remembers the set of labels seen: it has 2^n
    states for n labels in A, half of that if A is all labels.

    Parameters
    ----------
    states : label or collection of labels, default=None
        A; None is all labels.

    See Also
    --------
    NoReentry : States that were left are not entered again.
    NoDwell : No visit is longer than one step.

    Examples
    --------
    >>> from skchmm import satisfies
    >>> from skchmm.constraints import AllDifferent
    >>> satisfies(["A", "B", "C"], AllDifferent()), satisfies(["A", "A", "B"], AllDifferent())
    (True, False)
    """

    def __init__(self, states: States | None = None) -> None:
        self.states = states

    def _build(self, states, max_nodes):
        if self.states is None:
            members = np.ones(len(states), dtype=bool)
        else:
            members = self._subset("states", states)
        size = 2 ** int(members.sum())
        self._check_size(size, states, max_nodes)
        bit = np.zeros(len(states), dtype=np.int64)
        bit[members] = 2 ** np.arange(members.sum())
        seen = np.arange(size)[:, None]
        table = np.where(seen & bit, -1, seen | bit)
        return Controller(states, table.astype(np.int32), np.ones(size, dtype=bool))
