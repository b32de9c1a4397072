"""Controllers of soft rules: automata that also say which rules a path breaks, and when.

Soft rules never forbid a path. Each is read by an automaton of its own that no path leaves, whose
steps say when the rule is broken; the product with what the hard rules allow remembers, for every
rule, no more than it needs to know when it will be broken next.
"""

from collections.abc import Collection, Hashable, Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from .._kernels.other import automata
from ..exceptions import ControllerTooLargeError
from .checking import check_paths, most_states
from .controller import Controller
from .minimise import minimal_tables
from .products import intersection

MAX_SOFT = 62  # rules whose breaks fit the bits of an integer


class Breaks(NamedTuple):
    """One rule as an automaton that no path leaves.

    tables : int32 (n_epochs, n, S), none of them negative
    steps : bool (n_epochs, n, S), whether a step breaks the rule (once more)
    ends : bool (n,), whether to end there breaks it
    """

    tables: np.ndarray
    steps: np.ndarray
    ends: np.ndarray
    epochs: np.ndarray
    horizon: int | None


def broken_once(controller):
    """The breaks of a rule that is broken at most once: when no feasible completion is left."""
    E, n, S = controller.tables.shape
    dead = controller.tables < 0
    tables = np.full((E, n + 1, S), n, dtype=np.int32)
    tables[:, :n] = np.where(dead, n, controller.tables)
    steps = np.zeros((E, n + 1, S), dtype=bool)
    steps[:, :n] = dead
    ends = np.append(~controller.accept, False)
    return Breaks(tables, steps, ends, controller.epochs, controller.horizon)


class SoftController(Controller):
    """The controller of hard rules, which also counts how often a path breaks each soft rule.

    It accepts the paths that keep the hard rules; the soft ones only say what a path costs.

    Parameters
    ----------
    states, tables, accept, epochs, horizon
        As in :class:`Controller`.
    steps : int64 array (n_epochs, n, S)
        Which soft rules a step breaks: bit k is set for the k-th of them.
    ends : int64 array (n,)
        Which soft rules a path breaks that ends in an automaton state.
    weights : float array (n_soft,)
        What a break of each soft rule costs.

    Attributes
    ----------
    weights : ndarray (n_soft,)
    hard : Controller or None
        Of the hard rules alone, where it was compiled from rules.

    Examples
    --------
    >>> import skchmm
    >>> from skchmm.constraints import EndsIn, Soft, StartsIn
    >>> rules = [StartsIn("a"), Soft(EndsIn("b"), 2.0)]
    >>> controller = skchmm.compile(rules, ["a", "b"])
    >>> controller.accepts(["a", "a"]), controller.cost(["a", "a"]), controller.cost(["a", "b"])
    (True, 2.0, 0.0)
    """

    def __init__(
        self,
        states: Collection[Hashable],
        tables: ArrayLike,
        accept: ArrayLike,
        steps: ArrayLike,
        ends: ArrayLike,
        weights: ArrayLike,
        *,
        epochs: ArrayLike = (0,),
        horizon: int | None = None,
    ) -> None:
        super().__init__(states, tables, accept, epochs=epochs, horizon=horizon)
        self.weights = np.array(weights, dtype=np.float64)
        self.hard: Controller | None = None
        self.steps = np.array(steps, dtype=np.int64).reshape(self.tables.shape)
        self.ends = np.array(ends, dtype=np.int64).reshape(self.accept.shape)
        highest = 1 << len(self.weights)
        for masks in (self.steps, self.ends):
            if masks.min() < 0 or masks.max() >= highest:
                raise ValueError("Breaks must name soft rules that the controller has weights for.")
            masks.setflags(write=False)

    def __setstate__(self, state: dict[str, Any]) -> None:
        if not isinstance(state, dict) or not {"steps", "ends", "weights"} <= set(state):
            raise ValueError("This is no saved SoftController: its breaks are missing.")
        self.__init__(  # type: ignore[misc]
            *(state[name] for name in ("states", "tables", "accept", "steps", "ends", "weights")),
            epochs=state["epochs"],
            horizon=state["horizon"],
        )
        if not isinstance(state.get("hard"), Controller | None):
            raise ValueError("This is no saved SoftController: its hard rules are no controller.")
        self.hard, self.constraints_ = state.get("hard"), list(state.get("constraints_", []))

    def breaks(self, path: Iterable[Hashable]) -> np.ndarray:
        """How often a path breaks each soft rule.

        Parameters
        ----------
        path : sequence of labels

        Returns
        -------
        ndarray of int (n_soft,)
            In the order of the soft rules. A path that breaks a hard rule is an error.
        """
        labels = self.encode(path)
        found = self.breaks_encoded(labels, np.array([0, len(labels)]))[0]
        if (found < 0).any():
            raise ValueError("The path breaks a hard rule, or has no steps; it has no cost.")
        return found

    def breaks_encoded(self, labels: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        """The same of many paths, given as label indices and offsets: (n_paths, n_soft).

        Rows of paths that break a hard rule are -1.
        """
        labels, offsets = check_paths(labels, offsets, len(self.states))
        self.check_lengths(offsets)
        return automata.count_breaks(
            self.tables, self.steps, self.ends, self.accept.view(np.uint8), self.epochs, labels,
            offsets, len(self.weights),
        )  # fmt: skip

    def cost(self, path: Iterable[Hashable]) -> float:
        """What a path pays for the soft rules that it breaks: the sum of weight times breaks."""
        return float(self.breaks(path) @ self.weights)

    def costs(self, masks: np.ndarray, weights: np.ndarray | None = None) -> np.ndarray:
        """What sets of soft rules (given by their bits) cost together."""
        weights = self.weights if weights is None else weights
        distinct, which = np.unique(masks, return_inverse=True)
        bits = distinct[:, None] >> np.arange(len(weights)) & 1
        # A weight of infinity times no break is nothing.
        total = np.where(bits > 0, weights, 0.0).sum(axis=1)
        return total[which].reshape(masks.shape)

    def weighing(self, weights: ArrayLike) -> "SoftController":
        """The same controller with other weights."""
        copy = SoftController(
            self.states, self.tables, self.accept, self.steps, self.ends, weights,
            epochs=self.epochs, horizon=self.horizon,
        )  # fmt: skip
        copy._is_minimal, copy.hard = self._is_minimal, self.hard
        copy.constraints_ = self.constraints_
        return copy

    def _compiled_from(self, constraints, hard):
        """A copy that knows the constraints it was compiled from, and the hard ones among them."""
        copy = self.weighing(self.weights)
        copy.constraints_, copy.hard = list(constraints), hard
        return copy

    @property
    def redundant_(self) -> list:
        """The hard rules that the other hard rules imply."""
        return [] if self.hard is None else self.hard.redundant_

    def minimal(self) -> "SoftController":
        """The smallest controller with the same paths and the same breaks."""
        if self._is_minimal:
            return self
        E, n, S = self.tables.shape
        used = self.tables >= 0
        masks, ends = np.union1d(self.steps[used], 0), np.unique(self.ends)
        M = len(masks)
        # A label that breaks other rules is another label, and another end another acceptance.
        wide = np.full((E, n, S * M), -1, dtype=np.int32)
        e, q, a = np.nonzero(used)
        wide[e, q, a * M + np.searchsorted(masks, self.steps[used])] = self.tables[used]
        code = np.where(self.accept, 1 + np.searchsorted(ends, self.ends), 0)
        wide, code = minimal_tables(wide, code)
        by_mask = wide.reshape(E, -1, S, M)
        which = by_mask.argmax(axis=3)
        tables = by_mask.max(axis=3)
        steps = np.where(tables >= 0, masks[which], 0)
        keep = np.ones(E, dtype=bool)
        keep[1:] = (tables[1:] != tables[:-1]).any(axis=(1, 2))
        keep[1:] |= (steps[1:] != steps[:-1]).any(axis=(1, 2))
        smallest = SoftController(
            self.states, tables[keep], code > 0, steps[keep], ends[np.maximum(code - 1, 0)],
            self.weights, epochs=self.epochs[keep], horizon=self.horizon,
        )  # fmt: skip
        smallest._is_minimal = True
        return smallest

    def over(self, states: Collection[Hashable]) -> "SoftController":
        """The same controller with its labels in another order."""
        columns = [self._number[label] for label in super().over(states).states]
        return SoftController(
            states, self.tables[:, :, columns], self.accept, self.steps[:, :, columns], self.ends,
            self.weights, epochs=self.epochs, horizon=self.horizon,
        )  # fmt: skip

    def _refuse(self, *_: Any) -> Any:
        raise ValueError(
            "A controller with soft rules cannot be combined by &, | or ~: what a break costs has "
            "no meaning there. Compile the list of all rules instead."
        )

    __and__ = __or__ = __invert__ = _refuse

    def __repr__(self):
        return f"{super().__repr__()[:-1]}, {len(self.weights)} soft rules>"


def soften(controller, rules, weights, *, names, max_nodes):
    """The controller of hard rules that also counts the breaks of soft ones.

    Parameters
    ----------
    controller : Controller
        Of the hard rules.
    rules : list of Breaks, at most MAX_SOFT of them, in the order of the soft rules
    weights : list of float
    """
    # Each rule on its own is seldom smaller than in the order of sizes.
    order = sorted(range(len(rules)), key=lambda k: rules[k].tables.shape[1])
    shape = controller.tables.shape
    product = SoftController(
        controller.states, controller.tables, controller.accept, np.zeros(shape, dtype=np.int64),
        np.zeros(shape[1], dtype=np.int64), weights, epochs=controller.epochs,
        horizon=controller.horizon,
    )  # fmt: skip
    for k in order:
        product = _times(product, rules[k], k, names, max_nodes)
    return product


def conjunction(controllers, max_nodes):
    """The paths that all accept, with the costs of the first one, if it has any."""
    first, *others = controllers
    if not isinstance(first, SoftController) or not others:
        return intersection(controllers, max_nodes=max_nodes)
    return _narrow(first, intersection(others, max_nodes=max_nodes), max_nodes)


def _narrow(product, hard, max_nodes):
    """The controller with soft rules, of those of its paths that a hard controller accepts too."""
    epochs, left, _, rows, tables = _reach(product, hard, max_nodes)
    if rows is None:
        raise ControllerTooLargeError(
            "The controller of the soft rules, with the other rules, has more states than "
            f"max_nodes={max_nodes:,} allows; raise it."
        )
    mine, other = rows[:, 0], rows[:, 1]
    return SoftController(
        product.states, tables, product.accept[mine] & hard.accept[other],
        product.steps[left][:, mine], product.ends[mine], product.weights, epochs=epochs,
        horizon=_nearest(product, hard),
    ).minimal()  # fmt: skip


def _times(product, rule, k, names, max_nodes):
    """The product that also counts the breaks of rule number k."""
    epochs, left, right, rows, tables = _reach(product, rule, max_nodes)
    if rows is None:
        raise ControllerTooLargeError(
            f"The controller of {len(names)} soft rules, with the hard ones, has more states than "
            f"max_nodes={max_nodes:,} allows, at the latest with {names[k]}. Every "
            "soft rule has to be remembered until it is broken; give fewer of them, or raise "
            "max_nodes."
        )
    mine, new = rows[:, 0], rows[:, 1]
    return SoftController(
        product.states, tables, product.accept[mine],
        product.steps[left][:, mine] | (rule.steps[right][:, new].astype(np.int64) << k),
        product.ends[mine] | (rule.ends[new].astype(np.int64) << k),
        product.weights, epochs=epochs, horizon=_nearest(product, rule),
    ).minimal()  # fmt: skip


def _reach(product, other, max_nodes):
    """Epochs of both, which of each these are, and reachable pairs of states with their tables."""
    epochs = np.union1d(product.epochs, other.epochs)
    left = np.searchsorted(product.epochs, epochs, side="right") - 1
    right = np.searchsorted(other.epochs, epochs, side="right") - 1
    limit = most_states(max_nodes, len(product.states), len(epochs))
    # Minimising has a column for each label and each set of rules that a step breaks.
    n_sets = len(np.unique(product.steps)) + 1
    limit //= n_sets
    rows, tables = automata.product([product.tables[left], other.tables[right]], True, limit)
    return epochs, left, right, rows, tables


def _nearest(*controllers):
    horizons = [each.horizon for each in controllers if each.horizon is not None]
    return min(horizons, default=None)
