"""From a regular expression over labels to a deterministic automaton.

Glushkov's construction: every place in the expression where a label is read is a position;
`follow` says which positions can be read next. An automaton state is a set of positions, one of
which was read last.

An expression is a nested tuple: ``("set", negated, labels)``, ``("seq", parts)``,
``("or", parts)`` or ``("repeat", part, low, high)``, high None for no end.
"""

from ..controller import Controller
from ..exceptions import ControllerTooLargeError
from .syntax import classes

MAX_FOLLOW = 4_000_000


class _Fragment:
    """A part of the expression: can it match nothing, where it starts, where it ends."""

    __slots__ = ("first", "last", "nullable")

    def __init__(self, nullable, first, last):
        self.nullable, self.first, self.last = nullable, first, last


def n_positions(node):
    """The number of positions, before any is built."""
    kind = node[0]
    if kind == "set":
        return 1
    if kind == "repeat":
        _, part, low, high = node
        return n_positions(part) * (max(low, 1) if high is None else high)
    return sum(map(n_positions, node[1]))


class _Positions:
    def __init__(self, numbers, n_labels):
        self.numbers, self.n_labels = numbers, n_labels
        self.sets, self.follow, self.n_follow = [], [], 0

    def fragment(self, node):
        """Add the positions of a node. Fragments are used up by what is built from them."""
        kind = node[0]
        if kind == "set":
            return self._position(*node[1:])
        if kind == "seq":
            return self._sequence(map(self.fragment, node[1]))
        if kind == "or":
            parts = [self.fragment(part) for part in node[1]]
            return _Fragment(
                any(part.nullable for part in parts),
                set().union(*(part.first for part in parts)),
                set().union(*(part.last for part in parts)),
            )
        _, part, low, high = node
        if high is None:
            copies = [self.fragment(part) for _ in range(max(low, 1))]
            self._link(copies[-1].last, copies[-1].first)
            whole = self._sequence(copies)
            whole.nullable |= low == 0
            return whole
        # x{1,3} is x(x(x)?)?: every end then has few positions that follow it.
        tail = _Fragment(True, set(), set())
        for _ in range(high - low):
            tail = self._concatenate(self.fragment(part), tail)
            tail.nullable = True
        return self._concatenate(self._sequence(self.fragment(part) for _ in range(low)), tail)

    def _position(self, negated, labels):
        named = {self.numbers[label.text] for label in labels}
        self.sets.append(set(range(self.n_labels)) - named if negated else named)
        self.follow.append(set())
        here = len(self.sets) - 1
        return _Fragment(False, {here}, {here})

    def _sequence(self, parts):
        whole = _Fragment(True, set(), set())
        for part in parts:
            whole = self._concatenate(whole, part)
        return whole

    def _concatenate(self, left, right):
        self._link(left.last, right.first)
        if right.nullable:
            right.last.update(left.last)
        if left.nullable:
            left.first.update(right.first)
        return _Fragment(left.nullable and right.nullable, left.first, right.last)

    def _link(self, last, first):
        self.n_follow += len(last) * len(first)
        if self.n_follow > MAX_FOLLOW:
            raise ControllerTooLargeError("too many optional parts follow one another")
        for here in last:
            self.follow[here] |= first


def automaton(node, numbers, states, max_nodes):
    """The controller of the paths that match.

    Parameters
    ----------
    node : nested tuple
    numbers : dict, the index of each label's text
    states : tuple of labels
    max_nodes : int
    """
    positions = _Positions(numbers, len(states))
    whole = positions.fragment(node)
    start = len(positions.sets)
    distinct = {frozenset(s) for s in positions.sets}
    chosen, class_of = classes([[a in s for s in distinct] for a in range(len(states))])

    def by_class(following):
        return [frozenset(p for p in following if a in positions.sets[p]) for a in chosen]

    steps = [by_class(following) for following in positions.follow] + [by_class(whole.first)]

    def follow(here, k):
        there = frozenset().union(*(steps[p][k] for p in here))
        return there or None

    def accept(here):
        return not whole.last.isdisjoint(here)

    compact = Controller.explore(
        range(len(chosen)), frozenset([start]), follow, accept, max_nodes=max_nodes
    )
    return Controller(states, compact.tables[:, :, class_of], compact.accept)
