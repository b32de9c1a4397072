"""The cheapest edit of a path after which a controller accepts it."""

import math
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from numbers import Real
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from .._kernels.other.alignment import align_path
from .checking import is_iterable

# Table entries of a time-dependent controller, one copy for each step that matters.
MAX_ENTRIES = 20_000_000
# Tables that were made for a controller, kept while it lives: a log has many paths.
_tables: WeakKeyDictionary = WeakKeyDictionary()
_KEEP, _SUBSTITUTE, _DELETE, _INSERT = range(4)


class Edit(NamedTuple):
    """One change of a path.

    Attributes
    ----------
    kind : {"insert", "delete", "substitute"}
    step : int
        The step of the path as it was; what is inserted comes before it.
    old, new : label or None
        What was there, and what is there now.
    """

    kind: str
    step: int
    old: Hashable | None
    new: Hashable | None

    def __str__(self):
        if self.kind == "insert":
            return f"insert {self.new!r} before step {self.step}"
        if self.kind == "delete":
            return f"delete {self.old!r} at step {self.step}"
        return f"replace {self.old!r} at step {self.step} by {self.new!r}"


@dataclass(frozen=True)
class Alignment:
    """The cheapest edit of a path that satisfies the rules. ``print`` it, or read its attributes.

    Attributes
    ----------
    cost : float
        The sum of the costs of the edits; 0 if the path satisfies the rules as it is.
    path : list of labels
        The path after the edits, which satisfies the rules.
    edits : list of Edit
        In the order of the path: tuples of ``kind`` ("insert", "delete" or "substitute"), ``step``
        of the path as it was (what is inserted comes before it), ``old`` and ``new`` label.

    See Also
    --------
    skchmm.Controller.align : finds it.
    skchmm.satisfies : Whether a path obeys the rules.

    Examples
    --------
    >>> from skchmm import compile
    >>> from skchmm.constraints import Regex
    >>> for kind, step, old, new in compile(Regex("a b c"), ["a", "b", "c"]).align("ac").edits:
    ...     print(kind, step, old, new)
    insert 1 None b
    """

    cost: float
    path: list[Hashable]
    edits: list[Edit]

    def __str__(self):
        lines = [f"cost {self.cost:g}, {len(self.edits)} edit{'s' * (len(self.edits) != 1)}"]
        return "\n".join([*lines, *(f"  {edit}" for edit in self.edits)])


class AligningMixin:
    """`align`, for a `Controller`."""

    tables: np.ndarray
    accept: np.ndarray
    epochs: np.ndarray
    horizon: int | None
    states: tuple
    _number: dict

    def align(
        self,
        path: Iterable[Hashable],
        *,
        insert: float = 1.0,
        delete: float = 1.0,
        substitute: float = 1.0,
    ) -> Alignment:
        """The cheapest edit of a path after which the controller accepts it, exactly.

        Parameters
        ----------
        path : sequence of labels
            It may be empty, and may have labels that the controller does not know, which are
            deleted or replaced.
        insert, delete, substitute : float, default=1.0
            What it costs to insert a label, to delete one, to replace one by another. Not negative;
            ``math.inf`` forbids it.

        Returns
        -------
        Alignment
            With ``cost``, ``path`` and ``edits``; of several edits that cost the least, one.

        Notes
        -----
        This is a shortest path over pairs of a step and a controller state. Only pairs that cost at
        most about twice the result are visited. Rules that depend on time count the steps of the
        path after the edits.

        Examples
        --------
        >>> import skchmm
        >>> from skchmm.constraints import EndsIn, Precedence
        >>> rules = skchmm.compile([Precedence("a", "b"), EndsIn("c")], ["a", "b", "c"])
        >>> print(rules.align(["b", "b", "c", "x"]))
        cost 2, 2 edits
          replace 'b' at step 0 by 'a'
          replace 'x' at step 3 by 'c'
        """
        costs = [
            _check_cost(name, value)
            for name, value in (("insert", insert), ("delete", delete), ("substitute", substitute))
        ]
        if not is_iterable(path):
            raise ValueError(f"A path is a sequence of labels, one per step; got {path!r}.")
        path = list(path)
        labels = np.array([_number_of(x, self._number) for x in path], dtype=np.int32)
        if self not in _tables:
            _tables[self] = _without_time(self)
        table, accept = _tables[self]
        found = _search(table, accept, labels, costs)
        if found is None:
            forbidden = [
                name for name, cost in zip(("insert", "delete", "substitute"), costs)
                if math.isinf(cost)
            ]  # fmt: skip
            reason = f" without {' or '.join(forbidden)}" if forbidden else ""
            raise ValueError(f"No edit of the path{reason} satisfies the rules.")
        return _alignment(path, self.states, *found)


def _check_cost(name, value):
    if not isinstance(value, Real) or isinstance(value, (bool, np.bool_)) or not value >= 0:
        raise ValueError(f"{name} must be a cost that is not negative, got {value!r}.")
    return float(value)


def _number_of(label, number):
    try:
        return number.get(label, -1)
    except TypeError:
        return -1


def _without_time(controller):
    """Table (n, S) and acceptance of the same paths; the last state is the one before any label.

    A path has at least one label, so that state is never accepting. Of a controller that depends
    on time there is a copy of the states for each step until nothing changes any more.
    """
    tables, accept, horizon = controller.tables, controller.accept, controller.horizon
    _, n, S = tables.shape
    last = int(controller.epochs[-1]) if horizon is None else horizon
    if (last + 1) * n * S > MAX_ENTRIES:
        raise ValueError(
            f"The rules depend on time up to step {last:,} and have {n:,} states, which are too "
            "many to align a path with."
        )
    steps = np.arange(last + 1)
    epoch = np.searchsorted(controller.epochs, steps, side="right") - 1
    there = tables[epoch].astype(np.int64)
    table = np.where(there >= 0, there + n * np.minimum(steps + 1, last)[:, None, None], -1)
    if horizon is not None:  # a path ends there
        table[last] = -1
    table = table.reshape(-1, S)
    table = np.concatenate([table, table[:1]]).astype(np.int32)
    return table, np.append(np.tile(accept, last + 1), False).astype(np.uint8)


def _search(table, accept, labels, costs):
    """The cheapest way, by bounds on its cost that are doubled until there is one."""
    insert, delete, substitute = costs
    finite = [cost for cost in costs if 0 < cost < math.inf]
    # No way costs more: every label is deleted or replaced, and no state is entered twice between.
    most = len(labels) * max([0.0, *finite]) + (len(labels) + 1) * len(table) * (
        insert if math.isfinite(insert) else 0.0
    )
    start, bound = len(table) - 1, 0.0
    while True:
        limit = bound * (1 + 1e-12)  # sums of costs are rounded
        found = align_path(table, accept, start, labels, insert, delete, substitute, limit)
        if found is not None or bound >= most:
            return found
        bound = min(max(2 * bound, min(finite)), most)


def _alignment(path, states, cost, moves):
    step, written, edits = 0, [], []
    for move, label in moves:
        new = None if label < 0 else states[label]
        if move == _INSERT:
            edits.append(Edit("insert", step, None, new))
        else:
            if move == _DELETE:
                edits.append(Edit("delete", step, path[step], None))
            elif move == _SUBSTITUTE:
                edits.append(Edit("substitute", step, path[step], new))
            step += 1
        if move != _DELETE:
            written.append(new)
    return Alignment(cost, written, edits)
