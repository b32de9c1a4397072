"""Controllers: finite automata that read a path of state labels.

A controller reads x_0, x_1, ... one label a step, is dead or in one of finitely
many automaton states after each, and accepts the path if it may end there. Rules
that depend on time are piecewise constant in it: one table for each *epoch*.
"""

from collections.abc import Iterable

import numpy as np

from ._kernels import automata
from .exceptions import ControllerTooLargeError

# Beyond this many joint states it pays to minimise between the factors of a product.
_JOINT_LIMIT = 100_000


class Controller:
    """A deterministic finite automaton over state labels.

    Controllers are values: all methods return new ones. Constraints build them
    (``skchmm.compile``), and so do :meth:`explore` and :meth:`from_functions`.

    Parameters
    ----------
    states : sequence of labels
        The alphabet, S labels.
    tables : int array (n, S) or (n_epochs, n, S)
        ``tables[e, q, a]`` follows automaton state ``q`` when the label ``states[a]`` is
        read at a step of epoch ``e``; -1 where the path dies. Automaton state 0 is
        the one before anything was read.
    accept : bool array (n,)
        Whether a path may end in an automaton state.
    epochs : sequence of int, default=(0,)
        The first step of each epoch.
    horizon : int, optional
        The longest path about which the tables say anything.

    Attributes
    ----------
    n_states : int
        Controller states in the sense of the tuple (C, c0, tau, F, F_T), where the update
        sees both the old and the new label: the fewest that tell apart,
        for every label, what may still follow it. A memoryless rule needs one.

    Examples
    --------
    >>> from skchmm import Controller
    >>> even = Controller(["a", "b"], [[1, 0], [0, 1]], [True, False])  # an even number of a
    >>> even.accepts(["a", "b", "a"])
    True
    >>> (~even).accepts(["a", "b", "a"])
    False
    """

    def __init__(self, states, tables, accept, *, epochs=(0,), horizon=None):
        self.states = tuple(states)
        tables = np.ascontiguousarray(tables, dtype=np.int32)
        self.tables = tables[None] if tables.ndim == 2 else tables
        self.accept = np.ascontiguousarray(accept, dtype=bool)
        self.epochs = np.array(epochs, dtype=np.int64)
        self.horizon = horizon
        self._check()
        self._number = {label: a for a, label in enumerate(self.states)}

    def _check(self):
        n, S = len(self.accept), len(self.states)
        if len(set(self.states)) != S:
            raise ValueError(f"The labels of a controller must differ; got {list(self.states)}.")
        if S == 0 or n == 0:
            raise ValueError("A controller needs at least one label and one automaton state.")
        if self.tables.shape != (len(self.epochs), n, S):
            raise ValueError(
                f"tables has shape {self.tables.shape}; {len(self.epochs)} epochs, {n} automaton "
                f"states and {S} labels need {(len(self.epochs), n, S)}."
            )
        if self.tables.min() < -1 or self.tables.max() >= n:
            raise ValueError(f"Entries of tables must lie between -1 (dead) and {n - 1}.")
        if self.epochs[0] != 0 or (np.diff(self.epochs) <= 0).any():
            raise ValueError(f"epochs must start at 0 and increase; got {self.epochs.tolist()}.")

    # ------------------------------------------------------------- building
    @classmethod
    def explore(cls, states, initial, follow, accept, *, max_nodes=1_000_000):
        """All that is reachable from ``initial`` under ``follow(q, label)`` (None: dead).

        Automaton states may be any hashable objects. Costs one call of ``follow`` for
        each reachable one and label.
        """
        states = tuple(states)
        number, found, rows = {initial: 0}, [initial], []
        for q in found:
            row = []
            for label in states:
                there = follow(q, label)
                if there is None:
                    row.append(-1)
                    continue
                if there not in number:
                    if len(found) >= max_nodes:
                        raise ControllerTooLargeError(
                            f"A controller outgrew max_nodes={max_nodes} automaton states."
                        )
                    number[there] = len(found)
                    found.append(there)
                row.append(number[there])
            rows.append(row)
        return cls(states, rows, [bool(accept(q)) for q in found])

    @classmethod
    def from_functions(
        cls, states, controller_states, initial, update, gate, accept, *, horizon=1000
    ):
        """A controller from the tuple (C, c0, tau, F, F_T) of the paper.

        Parameters
        ----------
        states : sequence of labels
        controller_states : sequence of hashables
            C.
        initial : callable
            ``initial(i)``: the controller state after x_0 = i, None if no path may start in i.
        update : callable
            ``update(c, i, j)`` or ``update(c, i, j, t)``: the controller state after the step
            from x_t = i to x_{t+1} = j.
        gate : callable or None
            ``gate(c, i, j)`` or ``gate(c, i, j, t)``: whether that step is allowed. None: always.
        accept : collection or callable
            F_T, the controller states in which a path may end.
        horizon : int, default=1000
            Where update or gate take t, they are tabulated for paths of up to this many steps;
            a longer path is then an error.

        Examples
        --------
        >>> from skchmm import Controller
        >>> once = Controller.from_functions(      # b only after a
        ...     ["a", "b"], [0, 1], lambda i: {"a": 1}.get(i),
        ...     lambda c, i, j: 1 if j == "a" else c, lambda c, i, j: j != "b" or c == 1, [0, 1])
        >>> once.accepts(["a", "b", "b"]), once.accepts(["b", "a"])
        (True, False)
        """
        from ._functions import tabulate

        tables, accepting, epochs, bound = tabulate(
            tuple(states), list(controller_states), initial, update, gate, accept, horizon
        )
        return cls(states, tables, accepting, epochs=epochs, horizon=bound).minimal()

    # -------------------------------------------------------------- reading
    def encode(self, path):
        """Label indices of a path, int32."""
        try:
            return np.fromiter((self._number[x] for x in path), dtype=np.int32)
        except (KeyError, TypeError):
            unknown = [x for x in path if not _is_key(x, self._number)]
            raise ValueError(
                f"The path has labels that the controller does not know: {unknown[:5]}. "
                f"It knows {list(self.states)}."
            ) from None

    def accepts(self, path):
        """Whether the controller accepts a path of labels."""
        labels = self.encode(path)
        return bool(self.accepts_encoded(labels, np.array([0, len(labels)]))[0])

    def accepts_encoded(self, labels, offsets):
        """Whether it accepts each of many paths, given as label indices and offsets."""
        offsets = np.asarray(offsets, dtype=np.int64)
        self.check_length(int(np.diff(offsets).max(initial=0)))
        last = automata.read_paths(self.tables, self.epochs, labels, offsets)
        return (last >= 0) & self.accept[last]

    def check_length(self, n_steps):
        """Raise if the tables do not reach as far as ``n_steps``."""
        if self.horizon is not None and n_steps > self.horizon:
            raise ValueError(
                f"A path of {n_steps} steps is longer than the horizon of {self.horizon} up to "
                f"which a time-dependent controller was tabulated; give "
                f"from_functions(..., horizon={n_steps}) or more."
            )

    @property
    def n_states(self):
        after = [np.unique(self.tables[:, :, a]) for a in range(len(self.states))]
        after = [q[q >= 0] for q in after]
        accepting = max(int(self.accept[q].sum()) for q in after)
        rejecting = max(int((~self.accept[q]).sum()) for q in after)
        return max(accepting + rejecting, 1)

    def is_empty(self):
        """Whether no path of any length (of at least one step) is accepted."""
        return self._first_accepted() is None

    def _first_accepted(self):
        """The fewest steps after which some path is accepted, or None."""
        alive = np.zeros(len(self.accept), dtype=bool)
        alive[0] = True
        step = 0
        for e in range(len(self.epochs)):
            last = e + 1 == len(self.epochs)
            end = self.horizon if last else int(self.epochs[e + 1])
            seen = {}
            while end is None or step < end:
                key = np.packbits(alive).tobytes()
                if key in seen:  # the sets repeat: skip whole periods, or stop
                    if end is None:
                        return None
                    period = step - seen[key]
                    step += (end - step) // period * period
                    seen = {}
                    if step == end:
                        break
                seen[key] = step
                there = self.tables[e, alive]
                alive = np.zeros_like(alive)
                alive[there[there >= 0]] = True
                step += 1
                if (alive & self.accept).any():
                    return step
        return None

    # -------------------------------------------------------------- algebra
    def minimal(self):
        """The trimmed, minimal controller of the same paths, canonically numbered."""
        E, _, S = self.tables.shape
        live = self._live()
        tables = np.where(live, self.tables, -1)
        edge, tail, label = np.nonzero(tables >= 0)
        block = coarsest_partition(self.accept, tail, edge * S + label, tables[edge, tail, label])
        _, representative = np.unique(block, return_index=True)
        quotient = tables[:, representative]
        quotient = np.where(quotient >= 0, block[quotient], -1).astype(np.int32)
        # The initial state goes first, the rest follows in breadth-first order.
        swap = np.arange(len(representative))
        swap[[0, block[0]]] = swap[[block[0], 0]]
        quotient = _renumber(quotient, swap)
        order = automata.breadth_first(quotient)
        quotient = _renumber(quotient, order)
        accept = self.accept[representative][swap][order]
        keep = np.ones(E, dtype=bool)
        keep[1:] = (quotient[1:] != quotient[:-1]).any(axis=(1, 2))
        return Controller(
            self.states, quotient[keep], accept, epochs=self.epochs[keep], horizon=self.horizon
        )

    def _live(self):
        """Transitions on some path from the start to acceptance, bool as tables."""
        E, n, _ = self.tables.shape
        reached = np.zeros(n, dtype=np.uint8)
        reached[0] = 1
        done = self.accept.astype(np.uint8)
        live = np.empty(self.tables.shape, dtype=bool)
        for e in range(E):
            automata.forward_closure(self.tables[e], reached)
            live[e] = (reached > 0)[:, None] & (self.tables[e] >= 0)
        for e in reversed(range(E)):
            automata.backward_closure(self.tables[e], done)
            live[e] &= done[self.tables[e]] > 0
        return live

    def _complement(self):
        E, n, S = self.tables.shape
        tables = np.full((E, n + 1, S), n, dtype=np.int32)  # state n: the path died
        tables[:, :n] = np.where(self.tables >= 0, self.tables, n)
        accept = np.append(~self.accept, True)
        return Controller(self.states, tables, accept, epochs=self.epochs, horizon=self.horizon)

    def __invert__(self):
        return self._complement().minimal()

    def __and__(self, other):
        return intersection([self, other]) if isinstance(other, Controller) else NotImplemented

    def __or__(self, other):
        return union([self, other]) if isinstance(other, Controller) else NotImplemented

    def equivalent(self, other):
        """Whether two controllers accept the same paths (of at least one step)."""
        other = other.over(self.states)
        return (
            intersection([self, other._complement()]).is_empty()
            and intersection([self._complement(), other]).is_empty()
        )

    def over(self, states):
        """The same controller with its labels in another order."""
        if tuple(states) == self.states:
            return self
        if len(states) != len(self.states) or set(states) != set(self.states):
            raise ValueError(
                f"The controllers speak of different states, {list(self.states)} and {list(states)}."
            )
        columns = [self._number[label] for label in states]
        return Controller(
            states,
            self.tables[:, :, columns],
            self.accept,
            epochs=self.epochs,
            horizon=self.horizon,
        )

    # -------------------------------------------------------------- showing
    def to_dot(self):
        """The automaton as a Graphviz digraph, one edge for all labels that lead alike."""
        lines = ["digraph controller {", "  rankdir=LR;", '  "" [shape=none];', '  "" -> 0;']
        for q, accepting in enumerate(self.accept):
            lines.append(f"  {q} [shape={'doublecircle' if accepting else 'circle'}];")
        for e, first in enumerate(self.epochs):
            when = "" if len(self.epochs) == 1 else f"t >= {first}: "
            for q, row in enumerate(self.tables[e]):
                for there in np.unique(row[row >= 0]):
                    labels = ", ".join(str(self.states[a]) for a in np.flatnonzero(row == there))
                    text = (when + labels).replace("\\", "\\\\").replace('"', '\\"')
                    lines.append(f'  {q} -> {there} [label="{text}"];')
        return "\n".join([*lines, "}"])

    def __repr__(self):
        epochs = f", {len(self.epochs)} epochs" if len(self.epochs) > 1 else ""
        return f"<Controller: {self.n_states} states over {len(self.states)} labels{epochs}>"


def coarsest_partition(keys, tails, labels, heads):
    """Blocks of the coarsest partition finer than `keys` that all transitions respect."""

    def numbered(values):
        return np.unique(values, return_inverse=True)[1].astype(np.int64)

    def contiguous(values):
        return np.ascontiguousarray(values, dtype=np.int64)

    return automata.refine(numbered(keys), contiguous(tails), numbered(labels), contiguous(heads))


def _is_key(x, table):
    try:
        return x in table
    except TypeError:
        return False


def _renumber(tables, order):
    """Keep the automaton states in `order`, numbered by their place in it."""
    place = np.full(tables.shape[1] + 1, -1, dtype=np.int32)
    place[order] = np.arange(len(order), dtype=np.int32)
    return np.ascontiguousarray(place[tables[:, order]])


def _on_common_epochs(controllers):
    """Tables of all controllers, cut at the union of their breakpoints."""
    epochs = np.unique(np.concatenate([c.epochs for c in controllers]))
    tables = [c.tables[np.searchsorted(c.epochs, epochs, side="right") - 1] for c in controllers]
    horizons = [c.horizon for c in controllers if c.horizon is not None]
    return tables, epochs, min(horizons, default=None)


def _product(controllers, every, limit):
    """The reachable product, or None when it has more states than `limit`."""
    tables, epochs, horizon = _on_common_epochs(controllers)
    rows, table = automata.product(tables, every, limit)
    if rows is None:
        return None
    accepts = [np.append(c.accept, False)[rows[:, k]] for k, c in enumerate(controllers)]
    accept = np.logical_and.reduce(accepts) if every else np.logical_or.reduce(accepts)
    return Controller(
        controllers[0].states, table, accept, epochs=epochs, horizon=horizon
    ).minimal()


def _combine(controllers, every, names, max_nodes):
    controllers = list(controllers)
    if not controllers:
        raise ValueError("No controllers to combine.")
    controllers = [c.over(controllers[0].states) for c in controllers]
    if len(controllers) == 1:
        return controllers[0].minimal()
    result = _product(controllers, every, min(max_nodes, _JOINT_LIMIT))
    if result is None and len(controllers) > 2:
        result = _fold(controllers, every, max_nodes)
    elif result is None and max_nodes > _JOINT_LIMIT:
        result = _product(controllers, every, max_nodes)
    if result is None:
        names = names or [f"controller {k}" for k in range(len(controllers))]
        sizes = "\n".join(f"  {name}: {c.n_states}" for name, c in zip(names, controllers))
        raise ControllerTooLargeError(
            f"The product of {len(controllers)} constraints has more than max_nodes={max_nodes} "
            f"states. Their own sizes are\n{sizes}\nRaise max_nodes, or drop or weaken the "
            f"constraints that count most."
        )
    return result


def _fold(controllers, every, max_nodes):
    """Multiply one at a time, minimising in between, the best partner next; or None."""
    rest = sorted(controllers, key=lambda c: len(c.accept))
    result = rest.pop(0)
    while rest:
        best, limit = None, max_nodes
        # Looking for the best partner is worth it only while products are cheap.
        for k in range(min(len(rest), 16 if len(result.accept) < 10_000 else 2)):
            trial = _product([result, rest[k]], every, limit)
            if trial is not None and (best is None or len(trial.accept) < len(best[1].accept)):
                best, limit = (k, trial), min(2 * len(trial.accept) + 64, max_nodes)
        if best is None:
            return None
        rest.pop(best[0])
        result = best[1]
    return result


def intersection(controllers: Iterable, *, names=None, max_nodes=1_000_000):
    """The minimal controller of the paths that all of them accept.

    Only reachable joint states are ever built.

    Raises
    ------
    ControllerTooLargeError
        When more than ``max_nodes`` of them are reachable; names and sizes are listed.
    """
    return _combine(controllers, True, names, max_nodes)


def union(controllers: Iterable, *, names=None, max_nodes=1_000_000):
    """The minimal controller of the paths that at least one of them accepts."""
    return _combine(controllers, False, names, max_nodes)
