"""Controllers: finite automata that read a path of state labels.

A controller reads x_0, x_1, ... one label per step, is dead or in one of finitely
many automaton states after each, and accepts the path if it may end there. Rules
that depend on time are piecewise constant in it: one table for each *epoch*.
"""

from collections.abc import Callable, Collection, Hashable, Iterable
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from .._kernels.other import automata
from ..exceptions import ControllerTooLargeError
from . import drawing, language
from .alignment import AligningMixin
from .checking import (
    check_integer,
    check_labels,
    check_paths,
    check_tables,
    is_iterable,
    limit_in_words,
    most_states,
    numbers_of,
)
from .functions import tabulate
from .minimise import minimal_tables
from .products import accepts_everything, intersection, superfluous, union

# How large a product may get when redundant constraints are looked for.
_TRIAL_LIMIT = 100_000


class Controller(AligningMixin):
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
        The length of the longest path that the tables cover.

    Attributes
    ----------
    n_states : int
        The number of controller states as the tuple (C, c0, tau, F, F_T) counts them, where the
        update sees both the old and the new label: the smallest number that is enough to know,
        together with the current label, what may still follow. A memoryless rule needs one.
    constraints_ : list
        What :func:`skchmm.compile` made it from; empty for other controllers.
    redundant_ : list
        Those constraints that follow from the others.
    language_size : int or float
        The number of accepted paths, or ``math.inf``.

    See Also
    --------
    compile : Compile constraints into a controller.
    skchmm.plotting.ControllerDisplay : A controller as a graph.

    Examples
    --------
    >>> from skchmm import Controller
    >>> even = Controller(["a", "b"], [[1, 0], [0, 1]], [True, False])  # an even number of a
    >>> even.accepts(["a", "b", "a"])
    True
    >>> (~even).accepts(["a", "b", "a"]), even.equivalent(~~even), even.is_empty()
    (False, True, False)
    >>> even.minimal(), even.to_dot()[:7]
    (<Controller: 2 states over 2 labels>, 'digraph')
    >>> even.shortest_path(), even.count_paths(65)
    (['b'], 18446744073709551616)
    >>> even.plot()
    <Axes: >
    >>> third = Controller.explore(  # every third label may be the last
    ...     ["a", "b"], 0, lambda q, label: (q + 1) % 3, lambda q: q == 0)
    >>> third.accepts("aba"), third.accepts("ab")
    (True, False)
    """

    def __init__(
        self,
        states: Collection[Hashable],
        tables: ArrayLike,
        accept: ArrayLike,
        *,
        epochs: ArrayLike = (0,),
        horizon: int | None = None,
    ) -> None:
        self.states = check_labels(states)
        self.tables, self.accept, self.epochs = check_tables(
            len(self.states), tables, accept, epochs
        )
        self.horizon = None if horizon is None else check_integer(horizon, "horizon", 1)
        self._number = numbers_of(self.states)
        self.constraints_ = []
        self._redundant = []
        self._is_minimal = False

    def __setstate__(self, state):
        """Take a saved controller, whose tables are checked as new ones are."""
        needed = ("states", "tables", "accept", "epochs", "horizon")
        if not isinstance(state, dict) or not all(name in state for name in needed):
            raise ValueError("This is no saved Controller: its tables are missing.")
        states, tables, accept, epochs, horizon = (state[name] for name in needed)
        self.__init__(states, tables, accept, epochs=epochs, horizon=horizon)
        factors = state.get("_factors", [])
        if not all(isinstance(factor, Controller) for factor in factors):
            raise ValueError("This is no saved Controller: its factors are not controllers.")
        self.constraints_ = list(state.get("constraints_", []))
        if len(factors) == len(self.constraints_) > 0:
            self._factors, self._redundant = list(factors), state.get("_redundant")

    # ------------------------------------------------------------- building
    @classmethod
    def explore(
        cls,
        states: Collection[Hashable],
        initial: Hashable,
        follow: Callable[[Any, Any], Hashable],
        accept: Callable[[Any], Any],
        *,
        max_nodes: int = 1_000_000,
    ) -> Self:
        """All that is reachable from ``initial`` under ``follow(q, label)`` (None: dead).

        Parameters
        ----------
        states : sequence of labels
        initial : hashable
            The automaton state before anything was read. Any hashable objects will do.
        follow : callable
            ``follow(q, label)``: the automaton state after q. It is called once for each
            reachable automaton state and label.
        accept : callable
            ``accept(q)``: whether a path may end in q.
        max_nodes : int, default=1_000_000
            Largest controller to build.

        Returns
        -------
        Controller
        """
        states, max_nodes = tuple(states), check_integer(max_nodes, "max_nodes", 1)
        limit = most_states(max_nodes, max(len(states), 1))
        number, found, rows = {initial: 0}, [initial], []
        for q in found:
            row = []
            for label in states:
                there = follow(q, label)
                if there is None:
                    row.append(-1)
                    continue
                if there not in number:
                    if len(found) >= limit:
                        raise ControllerTooLargeError(
                            "A controller has too many states: "
                            f"{limit_in_words(max_nodes, len(states))}."
                        )
                    number[there] = len(found)
                    found.append(there)
                row.append(number[there])
            rows.append(row)
        return cls(states, rows, [bool(accept(q)) for q in found])

    @classmethod
    def from_functions(
        cls,
        states: Collection[Hashable],
        controller_states: Collection[Hashable],
        initial: Callable[[Any], Hashable],
        update: Callable[..., Hashable],
        gate: Callable[..., Any] | None,
        accept: Collection[Hashable] | Callable[[Any], Any],
        *,
        horizon: int = 1000,
    ) -> "Controller":
        """A controller from the tuple (C, c0, tau, F, F_T) of Patel and Damiano.

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
            a longer path is then an error. More than 30 million calls of them are refused
            (`ControllerTooLargeError`).

        Returns
        -------
        Controller

        Examples
        --------
        >>> from skchmm import Controller
        >>> once = Controller.from_functions(      # b only after a
        ...     ["a", "b"], [0, 1], lambda i: {"a": 1}.get(i),
        ...     lambda c, i, j: 1 if j == "a" else c, lambda c, i, j: j != "b" or c == 1, [0, 1])
        >>> once.accepts(["a", "b", "b"]), once.accepts(["b", "a"])
        (True, False)
        """
        tables, accepting, epochs, bound = tabulate(
            tuple(states), list(controller_states), initial, update, gate, accept, horizon
        )
        return cls(states, tables, accepting, epochs=epochs, horizon=bound).minimal()

    # -------------------------------------------------------------- reading
    def encode(self, path: Iterable[Hashable]) -> np.ndarray:
        """Label indices of a path, int32."""
        if not is_iterable(path):
            raise ValueError(
                f"A path is a sequence of labels, one per step, e.g. {list(self.states[:3])}; "
                f"got {path!r}."
            )
        path = list(path)
        try:
            return np.fromiter((self._number[x] for x in path), dtype=np.int32)
        except (KeyError, TypeError):
            unknown = [x for x in path if not _is_key(x, self._number)]
            raise ValueError(
                f"The path has labels that the controller does not know: {unknown[:5]}. "
                f"It knows {list(self.states[:20])}."
            ) from None

    def accepts(self, path: Iterable[Hashable]) -> bool:
        """Whether the controller accepts a path of labels (of at least one step)."""
        labels = self.encode(path)
        return bool(self.accepts_encoded(labels, np.array([0, len(labels)]))[0])

    def accepts_encoded(self, labels: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        """Whether it accepts each of many paths, given as label indices and offsets."""
        labels, offsets = check_paths(labels, offsets, len(self.states))
        self.check_lengths(offsets)
        last = automata.read_paths(self.tables, self.epochs, labels, offsets)
        return (last >= 0) & self.accept[last] & (np.diff(offsets) > 0)

    def check_length(self, n_steps: int) -> None:
        """Raise if the tables do not reach as far as ``n_steps``."""
        if self.horizon is not None and n_steps > self.horizon:
            raise ValueError(
                f"A path of {n_steps} steps is longer than the horizon of {self.horizon} up to "
                f"which a time-dependent controller was tabulated; give "
                f"from_functions(..., horizon={n_steps}) or more."
            )

    def check_lengths(self, offsets: np.ndarray) -> None:
        """The same for sequences, given by their offsets."""
        if self.horizon is not None:
            self.check_length(int(np.diff(offsets).max(initial=0)))

    @property
    def n_states(self) -> int:
        after = [np.unique(self.tables[:, :, a]) for a in range(len(self.states))]
        after = [q[q >= 0] for q in after]
        accepting = max(int(self.accept[q].sum()) for q in after)
        rejecting = max(int((~self.accept[q]).sum()) for q in after)
        return max(accepting + rejecting, 1)

    # ------------------------------------------------------------- language
    def is_empty(self) -> bool:
        """Whether no path of any length (of at least one step) is accepted."""
        return language.shortest_length(self) is None

    def shortest_path(self) -> list[Hashable] | None:
        """A shortest path that is accepted, None if there is none.

        Returns
        -------
        list of labels or None
            Of several, the first in the order of the states.
        """
        path = language.shortest_path(self)
        return None if path is None else [self.states[a] for a in path]

    def count_paths(self, n_steps: int) -> int:
        """How many paths of ``n_steps`` labels are accepted: exact, however many they are."""
        n_steps = check_integer(n_steps, "n_steps", 0)
        self.check_length(n_steps)
        return language.count_paths(self, n_steps)

    @property
    def language_size(self) -> int | float:
        """How many paths are accepted, of any length: an integer, or ``math.inf``.

        Where a time-dependent controller was tabulated up to a horizon, paths up to it count.
        """
        return language.language_size(self.minimal())

    # -------------------------------------------------------------- algebra
    def minimal(self) -> "Controller":
        """The trimmed, minimal controller of the same paths, canonically numbered."""
        if self._is_minimal and not self.constraints_:
            return self
        tables, accept = minimal_tables(self.tables, self.accept)
        keep = np.ones(len(tables), dtype=bool)
        keep[1:] = (tables[1:] != tables[:-1]).any(axis=(1, 2))
        smallest = Controller(
            self.states, tables[keep], accept, epochs=self.epochs[keep], horizon=self.horizon
        )
        smallest._is_minimal = True
        return smallest

    def _complement(self):
        E, n, S = self.tables.shape
        tables = np.full((E, n + 1, S), n, dtype=np.int32)  # state n: the path died
        tables[:, :n] = np.where(self.tables >= 0, self.tables, n)
        accept = np.append(~self.accept, True)
        return Controller(self.states, tables, accept, epochs=self.epochs, horizon=self.horizon)

    def __invert__(self) -> "Controller":
        return self._complement().minimal()

    def __and__(self, other: "Controller") -> "Controller":
        return intersection([self, other]) if isinstance(other, Controller) else NotImplemented

    def __or__(self, other: "Controller") -> "Controller":
        return union([self, other]) if isinstance(other, Controller) else NotImplemented

    def equivalent(self, other: "Controller") -> bool:
        """Whether two controllers accept the same paths (of at least one step)."""
        if not isinstance(other, Controller):
            raise TypeError(f"A Controller is equivalent to other controllers; got {other!r}.")
        other = other.over(self.states)
        return (
            intersection([self, other._complement()]).is_empty()
            and intersection([self._complement(), other]).is_empty()
        )

    def over(self, states: Collection[Hashable]) -> "Controller":
        """The same controller with its labels in another order."""
        states = check_labels(states)
        if set(states) != set(self.states):
            raise ValueError(
                f"The controllers speak of different states, {list(self.states)} and "
                f"{list(states)}."
            )
        if states == self.states:
            return self
        columns = [self._number[label] for label in states]
        return Controller(
            states,
            self.tables[:, :, columns],
            self.accept,
            epochs=self.epochs,
            horizon=self.horizon,
        )

    def _with_labels(self, states, label_of, max_nodes):
        """The same over other labels: ``states[k]`` is read as label number ``label_of[k]``."""
        label_of, _ = check_paths(label_of, [0, len(states)], len(self.states))
        if len(self.accept) > most_states(max_nodes, len(states), len(self.epochs)):
            raise ControllerTooLargeError(
                f"it has {len(self.accept):,} states, "
                f"{limit_in_words(max_nodes, len(states), len(self.epochs))}"
            )
        tables = self.tables[:, :, label_of]
        wide = Controller(states, tables, self.accept, epochs=self.epochs, horizon=self.horizon)
        # A walk through labels that are first met in their order numbers the states as before.
        first = list(dict.fromkeys(label_of.tolist()))
        wide._is_minimal = self._is_minimal and first == list(range(len(self.states)))
        return wide

    # ---------------------------------------------------------- consistency
    @property
    def redundant_(self) -> list:
        """The constraints, of those it was compiled from, that the others imply.

        From the last to the first, a constraint is listed if the others, without those listed
        already, allow the same paths: of two that say the same, only the later one is; a
        constraint that excludes nothing always is. `redundant_reasons_` says which it is. Found
        when first asked for, at the cost of a product for each constraint; one without which
        the product gets too large is taken to be needed.
        """
        if self._redundant is None:
            parts = superfluous(self._factors, self, max(_TRIAL_LIMIT, 2 * len(self.accept)))
            self._redundant = [self.constraints_[k] for k in parts]
        return list(self._redundant)

    @property
    def redundant_reasons_(self) -> list[str]:
        """Why each constraint of `redundant_` is listed, one sentence each."""
        return [self._why_redundant(constraint) for constraint in self.redundant_]

    def _why_redundant(self, constraint):
        alone = self._factors[self.constraints_.index(constraint)]
        if not accepts_everything(alone):
            return f"{constraint!r} is implied by the other constraints."
        hint = getattr(constraint, "_hint_at_each", lambda states: "")(self.states)
        return f"{constraint!r} excludes no path.{hint}"

    def _compiled_from(self, constraints, controllers):
        """A copy that knows the constraints it was compiled from, and their controllers."""
        copy = Controller(
            self.states, self.tables, self.accept, epochs=self.epochs, horizon=self.horizon
        )
        copy.constraints_, copy._factors = list(constraints), list(controllers)
        copy._redundant = None
        return copy

    # -------------------------------------------------------------- showing
    def to_dot(self) -> str:
        """The automaton as a Graphviz digraph, one edge for all labels that lead alike."""
        return drawing.to_dot(self)

    def plot(self, ax: Any = None) -> Any:
        """Draw the automaton: states in the order in which they can be reached, left to right.

        A double circle is a state in which a path may end. Needs matplotlib, not Graphviz.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; by default in a new figure.

        Returns
        -------
        ax : matplotlib Axes
        """
        return drawing.plot(self, ax)

    def __repr__(self):
        epochs = f", {len(self.epochs)} epochs" if len(self.epochs) > 1 else ""
        return f"<Controller: {self.n_states} states over {len(self.states)} labels{epochs}>"


def _is_key(x, table):
    try:
        return x in table
    except TypeError:
        return False


def everything(states):
    """The controller that accepts every path."""
    return Controller(states, np.zeros((1, len(states)), dtype=np.int32), np.array([True]))
