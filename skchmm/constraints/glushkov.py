"""From a regular expression over labels to a deterministic automaton.

Glushkov's construction: every place in the expression where a label is read is a position;
`follow` says which positions can be read next. An automaton state is a set of positions, one of
which was read last.

An expression is a program for a machine with a stack, each part before what is made of it, so that
nothing here needs recursion: ``("set", negated, labels)`` puts one of the labels (or any other) on
the stack, ``("seq", n)`` and ``("or", n)`` join the n topmost parts, and ``("repeat", low, high)``
repeats the topmost, high None for no end.
"""

from ..controller import Controller
from ..exceptions import ControllerTooLargeError
from .syntax import Classes

MAX_POSITIONS = 100_000
_COST_OF_POSITION = 10  # to make one, or a set of them; in steps of `Work`


class _Fragment:
    """A part of the expression: can it match nothing, where it starts, where it ends.

    Its positions are those from `begin` on, up to `end`.
    """

    __slots__ = ("begin", "end", "first", "last", "nullable")

    def __init__(self, begin, end, nullable, first, last):
        self.begin, self.end = begin, end
        self.nullable, self.first, self.last = nullable, first, last


def _needed(program):
    """The program without what is repeated 0 times."""
    kept, wanted = [], [True]
    for instruction in reversed(program):
        kind, needed = instruction[0], wanted.pop()
        if needed:
            kept.append(instruction)
        if kind in ("seq", "or"):
            wanted += [needed] * instruction[1]
        elif kind == "repeat":
            wanted.append(needed and instruction[2] != 0)
    return kept[::-1]


def _n_positions(program, limit):
    """The number of positions, before any is built; more than the limit is not told apart."""
    stack = []
    for kind, *values in program:
        if kind == "set":
            stack.append(1)
        elif kind == "repeat":
            low, high = values
            if high == 0:
                stack.append(0)
            else:
                stack[-1] *= max(low, 1) if high is None else high
        else:
            stack[-values[0] :] = [sum(stack[-values[0] :])]
        stack[-1] = min(stack[-1], limit + 1)
    return stack[0]


class _Positions:
    """The machine that runs a program."""

    def __init__(self, numbers, work):
        self.numbers, self.work = numbers, work
        self.sets, self.follow = [], []

    def run(self, program):
        """The fragment of the whole. Fragments are used up by what is made of them."""
        stack = []
        for kind, *values in program:
            if kind == "set":
                stack.append(self._position(*values))
            elif kind == "repeat":
                low, high = values
                part = self._nothing() if high == 0 else stack.pop()
                stack.append(self._repeated(part, low, high))
            else:
                n = values[0]
                join = self._sequence if kind == "seq" else self._alternatives
                stack[-n:] = [join(stack[-n:])]
        return stack[0]

    def _nothing(self):
        return _Fragment(len(self.sets), len(self.sets), True, set(), set())

    def _position(self, negated, labels):
        here = len(self.sets)
        self.sets.append((negated, frozenset(self.numbers[label.text] for label in labels)))
        self.follow.append(set())
        return _Fragment(here, here + 1, False, {here}, {here})

    def _alternatives(self, parts):
        self.work.spend(sum(len(part.first) + len(part.last) for part in parts))
        return _Fragment(
            parts[0].begin,
            parts[-1].end,
            any(part.nullable for part in parts),
            set().union(*(part.first for part in parts)),
            set().union(*(part.last for part in parts)),
        )

    def _repeated(self, part, low, high):
        if part.begin == part.end:
            return part  # nothing, however often
        n = max(low, 1) if high is None else high
        copies = [part, *(self._copy(part) for _ in range(n - 1))]
        if high is None:
            self._link(copies[-1].last, copies[-1].first)
            whole = self._sequence(copies)
            whole.nullable |= low == 0
            return whole
        # x{1,3} is x(x(x)?)?: every end then has few positions that follow it.
        tail = self._nothing()
        for copy in reversed(copies[low:]):
            tail = self._concatenate(copy, tail)
            tail.nullable = True
        return self._concatenate(self._sequence(copies[:low]), tail) if low else tail

    def _copy(self, part):
        """The same part once more, with positions of its own."""
        shift = len(self.sets) - part.begin
        for here in range(part.begin, part.end):
            following = self.follow[here]
            self.work.spend(_COST_OF_POSITION + len(following))
            self.sets.append(self.sets[here])
            self.follow.append({there + shift for there in following})
        return _Fragment(
            part.begin + shift,
            part.end + shift,
            part.nullable,
            {there + shift for there in part.first},
            {there + shift for there in part.last},
        )

    def _sequence(self, parts):
        whole = parts[0]
        for part in parts[1:]:
            whole = self._concatenate(whole, part)
        return whole

    def _concatenate(self, left, right):
        self.work.spend(_COST_OF_POSITION)
        self._link(left.last, right.first)
        if right.nullable:
            self.work.spend(len(left.last))
            right.last.update(left.last)
        if left.nullable:
            self.work.spend(len(right.first))
            left.first.update(right.first)
        nullable = left.nullable and right.nullable
        return _Fragment(left.begin, right.end, nullable, left.first, right.last)

    def _link(self, last, first):
        self.work.spend(len(last) * (1 + len(first)))
        for here in last:
            self.follow[here] |= first


def _classes_of(labels, classes):
    """The classes of a set of labels that may be negated."""
    negated, named = labels
    inside = classes.of(named)
    return sorted(set(range(classes.n_classes)) - inside) if negated else sorted(inside)


def automaton(program, numbers, states, max_nodes, work):
    """The controller of the paths that match.

    Parameters
    ----------
    program : sequence of tuples
    numbers : dict, the index of each label's text
    states : tuple of labels
    max_nodes : int
    work : Work
    """
    program = _needed(program)
    limit = min(max_nodes, MAX_POSITIONS)
    if _n_positions(program, limit) > limit:
        raise ControllerTooLargeError(
            f"it has more than {limit:,} places where a label is read, repetitions written out"
        )
    positions = _Positions(numbers, work)
    whole = positions.run(program)
    start = len(positions.sets)
    positions.follow.append(whole.first)
    classes = Classes([named for _, named in positions.sets], len(states))
    work.spend(classes.n_classes * len(set(positions.sets)))
    read_at = {each: _classes_of(each, classes) for each in set(positions.sets)}
    classes_at = [read_at[each] for each in positions.sets]
    read = [None, None]  # the automaton state that was last asked for, and what follows it

    def following(here):
        after = set().union(*(positions.follow[p] for p in here))
        by_class = [[] for _ in range(classes.n_classes)]
        for p in after:
            for k in classes_at[p]:
                by_class[k].append(p)
        work.spend(len(here) + len(after) + sum(map(len, by_class)) + 8 * len(by_class))
        return [frozenset(found) if found else None for found in by_class]

    def follow(here, k):
        if read[0] is not here:
            read[:] = here, following(here)
        return read[1][k]

    def accept(here):
        return not whole.last.isdisjoint(here)

    compact = Controller.explore(
        range(classes.n_classes), frozenset([start]), follow, accept, max_nodes=max_nodes
    )
    return compact.minimal()._with_labels(states, classes.class_of, max_nodes)
