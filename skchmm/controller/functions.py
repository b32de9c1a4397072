"""Tables for controllers that are given as functions."""

import inspect

import numpy as np

from ..exceptions import ControllerTooLargeError
from .checking import check_integer

MAX_CALLS = 30_000_000  # of the functions: some seconds, and as many entries of tables


def tabulate(states, controller_states, initial, update, gate, accept, horizon):
    """Tables over (nothing read yet) and all pairs (label, controller state).

    Returns tables (n_epochs, 1 + S |C|, S), accept, epochs, horizon (None if time plays no role).
    """
    S, n = len(states), len(controller_states)
    for name, function in (("initial", initial), ("update", update), ("gate", gate)):
        if not callable(function) and (function is not None or name != "gate"):
            raise TypeError(f"{name} must be a function, got {function!r}.")
    if not callable(accept) and not hasattr(accept, "__iter__"):
        raise TypeError(
            f"accept must be a collection of controller states or a function, got {accept!r}."
        )
    horizon = check_integer(horizon, "horizon", 1)
    number = {c: k for k, c in enumerate(controller_states)}
    if len(number) != n or n == 0:
        raise ValueError("controller_states must be distinct, and at least one.")

    def node(label, c, where):
        if c not in number:
            raise ValueError(
                f"{where} gave {c!r}, which is not a controller state; they are "
                f"{controller_states}."
            )
        return 1 + label * n + number[c]

    depends_on_time = _takes_time(update) or (gate is not None and _takes_time(gate))
    _check_calls(S * n * S, max(horizon - 1, 1) if depends_on_time else 1)
    after = _timed(update)
    allowed = _timed(gate) if gate is not None else lambda c, i, j, t: True

    first = np.full(S, -1, dtype=np.int32)
    for a, i in enumerate(states):
        c = initial(i)
        if c is not None:
            first[a] = node(a, c, f"initial({i!r})")

    def table(t):
        rows = np.full((1 + S * n, S), -1, dtype=np.int32)
        rows[0] = first
        for a, i in enumerate(states):
            for k, c in enumerate(controller_states):
                for b, j in enumerate(states):
                    if allowed(c, i, j, t):
                        there = after(c, i, j, t)
                        rows[1 + a * n + k, b] = node(b, there, f"update({c!r}, {i!r}, {j!r})")
        return rows

    accepting = accept if callable(accept) else set(accept).__contains__
    accepted = np.array([False] + [bool(accepting(c)) for c in controller_states] * S)
    if not depends_on_time:
        return table(0)[None], accepted, (0,), None
    # The step from x_t to x_{t+1} reads label x_{t+1} with the functions at t.
    tables, epochs = [table(0)], [0]
    for t in range(1, max(horizon - 1, 1)):
        rows = table(t)
        if (rows != tables[-1]).any():
            tables.append(rows)
            epochs.append(t + 1)
    return np.array(tables), accepted, tuple(epochs), horizon


def _check_calls(a_step, n_steps):
    if a_step * n_steps <= MAX_CALLS:
        return
    advice = "take fewer labels or controller states"
    if a_step <= MAX_CALLS and n_steps > 1:
        advice = f"a horizon of {MAX_CALLS // a_step + 1:,} is possible"
    raise ControllerTooLargeError(
        f"Tabulating the functions would take {a_step * n_steps:,} calls of them, which is more "
        f"than {MAX_CALLS:,}; {advice}."
    )


def _takes_time(function):
    try:
        inspect.signature(function).bind(0, 0, 0, 0)
    except (TypeError, ValueError):  # it does not, or is a builtin that does not say
        return False
    return True


def _timed(function):
    """The function as one of c, i, j and t."""
    return function if _takes_time(function) else lambda c, i, j, t: function(c, i, j)
