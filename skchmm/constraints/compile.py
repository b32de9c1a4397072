"""From constraints to one controller, and from a path to a verdict."""

from collections.abc import Collection, Hashable
from contextlib import nullcontext
from typing import Any

from ..controller import Controller, conflicts, everything, intersection
from ..controller.checking import check_integer
from ..controller.products import spending
from ..controller.progress import Counted
from ..exceptions import ControllerTooLargeError
from ..sequences.labels import as_path, check_states, listing, unique
from .base import accepts_nothing, is_constraint, short
from .limits import Work, build_all, check_nesting, listed, one_budget
from .logic import And, build, labels_of
from .soft import Soft, add_soft

# How large a product may get in the search for the smallest conflict, in states and in entries of
# its table, and how many rules of a conflict are listed.
MAX_TRIAL, _MAX_ENTRIES = 20_000, 300_000
_SHOWN = 50


def flatten(constraints):
    """None, one constraint or a nested list of them as a list, a hard rule once.

    `And` is taken apart, so that messages can name its parts.
    """
    check_nesting(constraints, listed, "The list of constraints")
    return _flat(constraints)


def _flat(constraints):
    if constraints is None:
        return []
    if is_constraint(constraints):
        if type(constraints) is And:
            return list(dict.fromkeys(constraints._parts()))
        return [constraints]
    if not isinstance(constraints, (list, tuple, set, frozenset)):
        hint = "; from_spec reads dictionaries" if isinstance(constraints, dict) else ""
        raise ValueError(
            f"constraints must be a constraint, a Controller or a list of them, "
            f"got {short(constraints)}{hint}"
        )
    parts = [part for each in constraints for part in _flat(each)]
    # A soft rule that is given twice costs twice; of two weights to learn, only the sum could be.
    costs = [isinstance(part, Soft) and part.weight != "learn" for part in parts]
    once = {(part, k * costs[k]): part for k, part in enumerate(parts)}
    return list(once.values())


def compile(
    constraints: Any,
    states: Collection[Hashable],
    *,
    max_nodes: int = 1_000_000,
    verbose: int = 0,
) -> Controller:
    """The minimal controller of the paths that satisfy all constraints.

    Parameters
    ----------
    constraints : None, constraint, Controller or (nested) list of them
        What a path must satisfy, all of it; None allows every path.
    states : sequence of labels
        All state labels.
    max_nodes : int, default=1_000_000
        The largest automaton to build on the way; past it, a
        :class:`~skchmm.ControllerTooLargeError` that names the constraints and their sizes.
    verbose : int, default=0
        With 1, what takes longer than a second prints how many constraints are compiled.

    Returns
    -------
    Controller
        Trimmed and minimal. It accepts what the hard rules allow; with soft rules, it also counts
        their breaks (``controller.cost(path)``). ``constraints_`` lists what it was compiled from;
        ``redundant_`` lists those of them that follow from the others.

    See Also
    --------
    satisfies : Whether a path obeys constraints.
    Controller : The finite automaton that constraints become.

    Examples
    --------
    >>> import skchmm
    >>> from skchmm.constraints import AtMostVisits, Precedence
    >>> both = skchmm.compile([Precedence("A", "B"), AtMostVisits("B", 1)], ["A", "B", "C"])
    >>> both.accepts(["C", "A", "B", "B", "C"]), both.accepts(["B", "A"])
    (True, False)
    """
    states, max_nodes = check_states(states), check_integer(max_nodes, "max_nodes", 1)
    with one_budget(max_nodes):
        return _compiled(flatten(constraints), states, max_nodes, verbose)


def _compiled(parts, states, max_nodes, verbose):
    if not parts:
        return everything(states).minimal()
    soft = [part for part in parts if isinstance(part, Soft)]
    if soft:
        hard = [part for part in parts if not isinstance(part, Soft)]
        controller = _compiled(hard, states, max_nodes, verbose)
        return add_soft(controller, soft, max_nodes)._compiled_from(parts, controller)
    with Counted("compiled", len(parts), "constraints") if verbose else nullcontext() as progress:
        tell = None if progress is None else progress.tell
        controllers = build_all(
            parts, lambda part: _checked(part, states, max_nodes), max_nodes, tell
        )
    names = [short(part) for part in parts]
    product = intersection(controllers, names=names, max_nodes=max_nodes, verbose=verbose)
    if accepts_nothing(product):
        conflict = smallest_conflict(controllers)
        raise ValueError(
            f"No path over the states {listing(states)} satisfies these constraints together:\n"
            + "\n".join(f"  {names[k]}" for k in conflict[:_SHOWN])
            + (f"\n  and {len(conflict) - _SHOWN} more" if len(conflict) > _SHOWN else "")
        )
    return product._compiled_from(parts, controllers)


def _checked(part, states, max_nodes):
    if not isinstance(part, Controller):
        return part.controller(states, max_nodes)
    controller = part.over(states).minimal()
    if accepts_nothing(controller):
        raise ValueError(f"{part!r}: it accepts no path")
    return controller


def smallest_conflict(controllers):
    """Positions of the fewest controllers that accept no path together.

    Where the search would take too long, the set found at least has no smaller one within.
    """

    limit = min(MAX_TRIAL, max(100, _MAX_ENTRIES // len(controllers[0].states)))

    def tests():
        """Whether rules are feasible together, within a budget of its own."""
        work = Work(MAX_TRIAL)

        def feasible(chosen):
            if not chosen:
                return True
            try:
                with spending(work):
                    product = intersection([controllers[k] for k in chosen], max_nodes=limit)
            except ControllerTooLargeError:
                if work.left < 0:
                    raise conflicts.OutOfBudget from None
                return True
            return not accepts_nothing(product)

        return feasible

    conflict, _ = conflicts.smallest_conflict(len(controllers), tests(), tests())
    return conflict


def satisfies(
    path: Collection[Hashable], constraints: Any, states: Collection[Hashable] | None = None
) -> bool:
    """Whether a label path satisfies all constraints.

    Soft rules do not count: a path may break them.

    Parameters
    ----------
    path : sequence of labels
        One label per step, at least one.
    constraints : None, constraint, Controller or (nested) list of them
    states : sequence of labels, default=None
        All state labels; by default those in the path and those the constraints name.

    Returns
    -------
    bool

    See Also
    --------
    compile : Compile constraints into a controller.
    skchmm.metrics.trajectory_validity_rate : The share of paths that obey the rules.

    Examples
    --------
    >>> from skchmm import satisfies
    >>> from skchmm.constraints import Precedence
    >>> satisfies(["A", "C", "B"], Precedence("A", "B"))
    True
    """
    path, parts = as_path(path), flatten(constraints)
    if not path:
        raise ValueError("The path is empty; a path has at least one label")
    if states is None:
        states = unique(path + [label for part in parts for label in labels_of(part)])
    states = check_states(states)
    # One automaton after the other: a path needs no product, and a contradiction is simply False.
    controllers = [everything(states)] + [build(part, states, 1_000_000) for part in parts]
    return all(controller.accepts(path) for controller in controllers)
