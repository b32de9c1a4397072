"""What must come before what."""

from collections.abc import Collection, Hashable, Mapping, Sequence, Set

import numpy as np

from ..controller import Controller
from ..sequences.labels import as_labels, is_collection, sort_key, unique
from .base import Constraint, States, every_step, one_or_many


class Precedence(Constraint):
    """Some states may occur only after others have.

    A path satisfies it if and only if every t with x_t in `after` has an s < t with x_s in
    `before`. The controller has 2 states.

    Parameters
    ----------
    before, after : label or collection of labels
        The states that must come first, and those that need them.

    See Also
    --------
    StageMonotone : Stages are passed in order and never go back.
    ForbiddenEdges : Some labels never follow directly on others.
    Regex : A regular expression over the labels.

    Examples
    --------
    >>> from skchmm import satisfies
    >>> from skchmm.constraints import Precedence
    >>> satisfies(["A", "C", "B"], Precedence("A", "B"))
    True
    >>> satisfies(["C", "B", "A"], Precedence("A", "B"))
    False
    """

    _label_parameters = ("before", "after")

    def __init__(self, before: States, after: States) -> None:
        self.before = before
        self.after = after

    def _build(self, states, max_nodes):
        before, after = self._subset("before", states), self._subset("after", states)
        # A label in both cannot be its own predecessor: s < t.
        unseen = np.where(after, -1, np.where(before, 1, 0))
        return Controller(states, np.stack([unseen, np.ones_like(unseen)]), np.array([True, True]))

    def _breaks(self, states, max_nodes):
        before, after = self._subset("before", states), self._subset("after", states)
        tables = np.stack([before, np.ones_like(before)]).astype(np.int32)
        steps = np.stack([after, np.zeros_like(after)])
        return every_step(tables, steps)


class ForbiddenEdges(Constraint):
    """Some states never follow directly on others.

    A path satisfies it if and only if no t has (x_t, x_{t+1}) in `edges`. It is memoryless: the
    controller has 1 state.

    Parameters
    ----------
    edges : list of (from, to) pairs
        Each side is a label or a collection of labels, which stands for each of them. With an
        empty list, every path satisfies the constraint.

    See Also
    --------
    Precedence : One label comes before another.
    Transitions : Bounds on the number of transitions between labels.
    NoReentry : States that were left are not entered again.

    Examples
    --------
    >>> from skchmm import satisfies
    >>> from skchmm.constraints import ForbiddenEdges
    >>> satisfies(["A", "B", "C"], ForbiddenEdges([("C", "A"), ("A", {"C", "D"})]))
    True
    """

    _label_parameters = ()

    def __init__(self, edges: Collection[tuple[States, States]]) -> None:
        self.edges = edges

    def _pairs(self):
        """`edges` as pairs of lists of labels; None where they are malformed."""
        if not is_collection(self.edges) or isinstance(self.edges, Mapping):
            return None
        pairs = list(self.edges)
        if not all(is_collection(p) and not isinstance(p, Set) and len(p) == 2 for p in pairs):
            return None
        pairs = [(as_labels(source), as_labels(target)) for source, target in pairs]
        if isinstance(self.edges, Set):
            pairs.sort(key=lambda pair: [[sort_key(x) for x in side] for side in pair])
        return pairs

    def _successors(self, pairs):
        """{label: the frozenset of labels that may not follow it}, none of them empty.

        Sides may be large, so that pairs of labels are never listed.
        """
        listed = {}
        for number, (source, target) in enumerate(pairs):
            for label in source if target else ():
                listed.setdefault(label, []).append(number)
        joined = {
            numbers: frozenset().union(*(pairs[k][1] for k in numbers))
            for numbers in set(map(tuple, listed.values()))
        }
        return {label: joined[tuple(numbers)] for label, numbers in listed.items()}

    def labels(self) -> list[Hashable]:
        pairs = self._pairs() or []
        return unique([x for pair in pairs for side in pair for x in side])

    def _normal(self, name):
        pairs = self._pairs()
        if pairs is None:
            return super()._normal(name)
        return frozenset(self._successors(pairs).items())

    def _plain(self, name):
        pairs = self._pairs()
        if pairs is None:
            return super()._plain(name)
        return [[one_or_many(source), one_or_many(target)] for source, target in pairs]

    def __repr__(self):
        pairs = self._pairs()
        if pairs is None:
            return f"ForbiddenEdges({super()._plain('edges')!r})"
        edges = [(one_or_many(source), one_or_many(target)) for source, target in pairs]
        return f"ForbiddenEdges({edges!r})"

    def _tables(self, states, max_nodes):
        """Where each label leads, and which steps are forbidden."""
        pairs = self._pairs()
        if pairs is None:
            raise self._error("edges must be a list of (from, to) pairs, e.g. [('A', 'B')]")
        if not all(source and target for source, target in pairs):
            raise self._error("a side of an edge is an empty collection; name at least one label")
        self._check_known(self.labels(), states)
        # Labels that forbid the same successors need not be told apart; nothing comes before x_0.
        successors = self._successors(pairs)
        kinds = {frozenset(): 0}
        kind_of = [
            kinds.setdefault(successors.get(state, frozenset()), len(kinds)) for state in states
        ]
        self._check_size(len(kinds), states, max_nodes)
        table = np.tile(np.array(kind_of, dtype=np.int32), (len(kinds), 1))
        closed, index = np.zeros(table.shape, dtype=bool), {x: i for i, x in enumerate(states)}
        for forbidden, kind in kinds.items():
            closed[kind, [index[label] for label in forbidden]] = True
        return table, closed

    def _build(self, states, max_nodes):
        table, closed = self._tables(states, max_nodes)
        return Controller(states, np.where(closed, -1, table), np.ones(len(table), dtype=bool))

    def _breaks(self, states, max_nodes):
        return every_step(*self._tables(states, max_nodes))


class StageMonotone(Constraint):
    """Stages are reached one after the other, none skipped.

    A path satisfies it if and only if each staged x_t is at most one stage past the highest stage
    reached before t; the first staged state sets the start. States not listed are neutral. With
    ``allow_backward=False`` no staged x_t is below the highest stage reached before t either. The
    controller has at most one state per stage, and one more if neutral states may come first.

    Parameters
    ----------
    stages : ordered list of labels or of collections of labels
        The stages, first to last.
    allow_backward : bool, default=True
        Whether a path may go back to a stage it has passed.

    See Also
    --------
    Precedence : One label comes before another.
    NoReentry : States that were left are not entered again.

    Examples
    --------
    >>> from skchmm import satisfies
    >>> from skchmm.constraints import StageMonotone
    >>> satisfies(["A", "B", "A", "C"], StageMonotone(["A", "B", "C"]))
    True
    >>> satisfies(["A", "C"], StageMonotone(["A", "B", "C"]))
    False
    """

    _label_parameters = ()

    def __init__(self, stages: Sequence[States], allow_backward: bool = True) -> None:
        self.stages = stages
        self.allow_backward = allow_backward

    def _stages(self):
        """The stages as lists of labels; None where they are malformed."""
        if not is_collection(self.stages) or isinstance(self.stages, (Mapping, Set)):
            return None
        return [as_labels(stage) for stage in self.stages]

    def labels(self) -> list[Hashable]:
        return unique([label for stage in self._stages() or [] for label in stage])

    def _normal(self, name):
        if name == "stages" and self._stages() is not None:
            return tuple(frozenset(stage) for stage in self._stages())
        return super()._normal(name)

    def _plain(self, name):
        if name == "stages" and self._stages() is not None:
            return [one_or_many(stage) for stage in self._stages()]
        return super()._plain(name)

    def _build(self, states, max_nodes):
        stages = self._stages()
        if stages is None:
            message = "stages must be an ordered list of labels or of sets, e.g. ['A', {'B', 'C'}]"
            raise self._error(message)
        if not stages or not all(stages):
            raise self._error("stages, or one of them, is empty; name at least one label in each")
        if not isinstance(self.allow_backward, (bool, np.bool_)):
            raise self._error(f"allow_backward must be True or False, got {self.allow_backward!r}")
        self._check_known(self.labels(), states)
        stage_of = {}
        for number, stage in enumerate(stages, start=1):
            for label in stage:
                if label in stage_of:
                    raise self._error(f"the label {label!r} is in two stages; keep it in one")
                stage_of[label] = number
        self._check_size(len(stages) + 1, states, max_nodes)
        # The state is the highest stage so far; 0 is before the first, and the stage of neutrals.
        highest = np.arange(len(stages) + 1)[:, None]
        stage = np.array([stage_of.get(state, 0) for state in states])
        allowed = (highest == 0) | (stage <= highest + 1)
        if not self.allow_backward:
            allowed &= (stage >= highest) | (stage == 0)
        table = np.where(allowed, np.maximum(highest, stage), -1)
        return Controller(states, table.astype(np.int32), np.ones(len(table), dtype=bool))
