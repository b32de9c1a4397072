"""Products of controllers: intersection and union."""

from collections.abc import Iterable

import numpy as np

from ._kernels.other import automata
from .exceptions import ControllerTooLargeError

# Beyond this many joint states it pays to minimise between the factors of a product.
_JOINT_LIMIT = 100_000


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
    kind = type(controllers[0])
    return kind(controllers[0].states, table, accept, epochs=epochs, horizon=horizon).minimal()


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
        if (
            len(result.accept) >= 10_000
        ):  # minimising in between costs more than it is likely to save
            return _product([result, *rest], every, max_nodes)
        best, limit = None, max_nodes
        for k in range(min(len(rest), 16)):
            trial = _product([result, rest[k]], every, limit)
            if trial is not None and (best is None or len(trial.accept) < len(best[1].accept)):
                best, limit = (k, trial), min(2 * len(trial.accept) + 64, max_nodes)
        if best is None:
            return None
        rest.pop(best[0])
        result = best[1]
    return result


def superfluous(controllers, whole, max_nodes):
    """Positions of controllers without which the product is `whole` all the same.

    From the last to the first each is left out if the rest, without those left out before,
    says as much; so of two that say the same the later one is superfluous. Where the rest
    outgrows `max_nodes`, the controller is taken to be needed.
    """
    kept, left_out = list(range(len(controllers))), []
    for candidate in reversed(range(len(controllers))):
        rest = [k for k in kept if k != candidate]
        if not rest:
            continue
        try:
            product = intersection([controllers[k] for k in rest], max_nodes=max_nodes)
        except ControllerTooLargeError:
            continue
        if product.equivalent(whole):
            kept = rest
            left_out.append(candidate)
    return left_out[::-1]
