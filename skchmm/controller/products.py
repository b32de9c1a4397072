"""Products of controllers: intersection and union."""

from collections.abc import Iterable
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar

import numpy as np

from .._kernels.other import automata
from ..exceptions import ControllerTooLargeError
from .checking import check_integer, limit_in_words, most_entries, most_states
from .narrowing import independent, narrowed
from .progress import Counted

# From so many factors on they are narrowed together, for about so many steps of single factors.
_MANY, _NARROWING_WORK = 5, 200_000_000
_COST_OF_MINIMISING = 50  # of an entry of a table, in the same steps
# Beyond this many joint states it pays to minimise between the factors of a product.
_JOINT_LIMIT = 100_000
# Entries of tables that are minimised to find a good order of factors, in all and for each of them.
_FOLD_WORK = 2_000_000
_STEP_WORK = 200_000
_TRIAL = 400  # what an epoch of one costs however small it is
_SHOWN = 50  # factors listed in a message before the rest is only counted

_work: ContextVar = ContextVar("work", default=None)
# In steps of it: a product, each entry of a table that is minimised, each step of many factors.
_COST_OF_PRODUCT, _COST_OF_ENTRY, _STEPS_AT_A_TIME = 1_000, 4, 50
_COST_OF_LABEL = 20  # of each factor, to look at what it says of the label


@contextmanager
def spending(work):
    """Products made within are work, which may be too much."""
    token = _work.set(work)
    try:
        yield
    finally:
        _work.reset(token)


def _spend(n_entries, n_factors, minimised):
    work = _work.get()
    if work is not None:
        cost = _COST_OF_ENTRY * minimised + n_factors / _STEPS_AT_A_TIME
        work.spend(_COST_OF_PRODUCT + int(n_entries * cost))


def intersection(controllers: Iterable, *, names=None, max_nodes=1_000_000, verbose=0):
    """The minimal controller of the paths that all of them accept.

    Only reachable joint states are ever built.

    Raises
    ------
    ControllerTooLargeError
        When more than ``max_nodes`` of them are reachable; names and sizes are listed.
    """
    return _combine(controllers, True, names, max_nodes, verbose)


def union(controllers: Iterable, *, names=None, max_nodes=1_000_000):
    """The minimal controller of the paths that at least one of them accepts."""
    return _combine(controllers, False, names, max_nodes)


def _common_epochs(controllers):
    return np.unique(np.concatenate([c.epochs for c in controllers]))


def _product(controllers, every, max_nodes, most=np.inf):
    """The reachable product, or None when it has more states than `max_nodes` or `most`."""
    epochs, S = _common_epochs(controllers), len(controllers[0].states)
    limit = most_states(max_nodes, S, len(epochs))
    entries = sum(len(c.accept) for c in controllers) * S * len(epochs)
    if entries > 16 * most_entries(max_nodes):
        return None  # cut at the union of their breakpoints, the tables alone are too large
    # a step of the product is one of each factor
    limit = min(limit, _NARROWING_WORK // (S * len(epochs) * len(controllers)))
    tables = [c.tables[np.searchsorted(c.epochs, epochs, side="right") - 1] for c in controllers]
    rows, table = automata.product(tables, every, int(min(limit, most)))
    n_states = min(limit, most) if rows is None else len(rows)
    _spend(n_states * S * len(epochs), len(controllers), rows is not None)
    if rows is None:
        return None
    accepts = [np.append(c.accept, False)[rows[:, k]] for k, c in enumerate(controllers)]
    accept = np.logical_and.reduce(accepts) if every else np.logical_or.reduce(accepts)
    return _controller(controllers, table, accept, epochs)


def _controller(factors, table, accept, epochs=(0,)):
    horizons = [c.horizon for c in factors if c.horizon is not None]
    horizon, kind = min(horizons, default=None), type(factors[0])
    return kind(factors[0].states, table, accept, epochs=epochs, horizon=horizon).minimal()


def _narrowed(controllers, max_nodes):
    """Those of many factors that have no epochs as few ones, if they do not get too large."""
    plain = [c for c in controllers if len(c.epochs) == 1]
    if len(plain) < _MANY:
        return controllers
    others = [c for c in controllers if len(c.epochs) > 1]
    groups = independent(plain)
    for chosen in [groups, [plain]] if len(groups) > 1 else [[plain]]:
        found, left = [], _NARROWING_WORK  # of all groups together
        for group in chosen:
            one, spent = _as_one(group, max_nodes, left)
            if one is None:
                break
            found.append(one)
            left -= spent
        else:
            return found + others
    return controllers


def _as_one(controllers, max_nodes, work):
    """The product of factors without epochs and its work; None where it gets too large."""
    S = len(controllers[0].states)
    # a step is one of each factor, with sets of labels in words of 64; then it is minimised
    of_state = S * (len(controllers) * -(-S // 64) + _COST_OF_MINIMISING)
    limit = min(most_states(max_nodes, S), work // of_state)
    found = narrowed(controllers, limit)
    n_states = limit if found is None else len(found[0])
    _spend(n_states * S, 2 * len(controllers), found is not None)
    return (None if found is None else _controller(controllers, *found)), n_states * of_state


def _combine(controllers, every, names, max_nodes, verbose=0):
    controllers, max_nodes = list(controllers), check_integer(max_nodes, "max_nodes", 1)
    if not controllers:
        raise ValueError("No controllers to combine.")
    controllers = [c.over(controllers[0].states) for c in controllers]
    work = _work.get()
    if work is not None:
        work.spend(_COST_OF_LABEL * len(controllers) * len(controllers[0].states))
    factors = _narrowed(controllers, max_nodes) if every else controllers
    if len(factors) == 1:
        return factors[0].minimal()
    result = _product(factors, every, max_nodes, _JOINT_LIMIT)
    if result is None and len(factors) > 2:
        result = _fold(factors, every, max_nodes, verbose)
    elif result is None and max_nodes > _JOINT_LIMIT:
        result = _product(factors, every, max_nodes)
    if result is None:
        names = names or [f"controller {k}" for k in range(len(controllers))]
        sizes = [f"  {name}: {c.n_states}" for name, c in zip(names[:_SHOWN], controllers)]
        if len(controllers) > _SHOWN:
            sizes.append(f"  and {len(controllers) - _SHOWN} more")
        n_labels, n_epochs = len(controllers[0].states), len(_common_epochs(controllers))
        raise ControllerTooLargeError(
            f"The product of {len(controllers)} constraints has too many states: "
            f"{limit_in_words(max_nodes, n_labels, n_epochs)}. Their own sizes are\n"
            + "\n".join(sizes)
            + "\nRaise max_nodes, or drop or weaken the constraints that count most."
        )
    return result


def _fold(controllers, every, max_nodes, verbose):
    """Multiply one at a time, minimising in between, the best partner next; or None."""
    rest = sorted(controllers, key=lambda c: len(c.accept))
    result, work = rest.pop(0), 0
    counted = Counted("multiplied", len(controllers), "constraints") if verbose else nullcontext()
    with counted as progress:
        while rest:
            # Minimising in between costs more than it is likely to save, at some point.
            if len(result.accept) >= 10_000 or work > _FOLD_WORK:
                return _product([result, *rest], every, max_nodes)
            best, most, spent = None, np.inf, 0
            for k in range(min(len(rest), 16)):
                if best is not None and spent > _STEP_WORK:
                    break
                trial = _product([result, rest[k]], every, max_nodes, most)
                tables = (result if trial is None else trial).tables
                spent += _TRIAL * len(tables) + tables.size
                if trial is not None and (best is None or len(trial.accept) < len(best[1].accept)):
                    best, most = (k, trial), 2 * len(trial.accept) + 64
            if best is None:
                return None
            work += spent
            rest.pop(best[0])
            result = best[1]
            if progress is not None:
                size = f", {len(result.accept)} automaton states"
                progress.tell(len(controllers) - len(rest), size)
    return result


def accepts_everything(controller):
    """Whether it accepts every path (up to its horizon, where it has one)."""
    return (~controller).is_empty()


def superfluous(controllers, whole, max_nodes):
    """Positions of controllers without which the product is `whole` all the same.

    From the last to the first each is left out if the rest, without those left out before,
    says as much; so of two that say the same the later one is superfluous, and so is one that
    excludes nothing. Where the rest outgrows `max_nodes`, the controller is taken to be needed.
    """
    kept, left_out = list(range(len(controllers))), []
    for candidate in reversed(range(len(controllers))):
        rest = [k for k in kept if k != candidate]
        try:
            implied = (
                intersection([controllers[k] for k in rest], max_nodes=max_nodes).equivalent(whole)
                if rest
                else accepts_everything(whole)
            )
        except ControllerTooLargeError:
            continue
        if implied:
            kept = rest
            left_out.append(candidate)
    return left_out[::-1]
