"""From which nodes, at which steps, a path can still be completed feasibly."""

import numpy as np

from .._kernels.discrete.filtering import completions, first_step, step


class Live:
    """``live[t][m]``: 0 if a path at node m at step t can be completed, at any length; else -inf.

    Exact in time, where the graph itself keeps what is live at some step of an epoch.
    """

    def __init__(self, graph):
        self._graph = graph
        horizon = graph.controller.horizon
        # In the last epoch nothing depends on time any more, unless the horizon ends it.
        last = int(graph.epochs[-1]) if horizon is None else horizon - 1
        row = graph.accept.copy()
        if horizon is None:
            while True:
                before = self._before(row, last + 1)
                if (before == row).all():
                    break
                row = before
        rows = [row]
        for t in range(last, 0, -1):
            rows.append(self._before(rows[-1], t))
        self._rows = np.where(np.array(rows[::-1]), 0.0, -np.inf)

    def _before(self, live, t):
        """Liveness at t - 1 from that at t."""
        graph = self._graph
        e = int(np.searchsorted(graph.epochs, t, side="right")) - 1
        begin, end = graph.indptr[e, 0], graph.indptr[e, -1]
        targets = np.repeat(np.arange(graph.n_nodes), np.diff(graph.indptr[e]))
        before = graph.accept.copy()
        before[graph.sources[begin:end][live[targets]]] = True
        return before

    @property
    def table(self):
        """One row per step, 1 where a path can be completed; the last row holds from there on."""
        return (self._rows == 0.0).astype(np.uint8)

    def __getitem__(self, t):
        return self._rows[min(t, len(self._rows) - 1)]


def positions_of_death(graph, allowed):
    """Where the last path dies if step t can only be in the states that ``allowed[t]`` marks.

    Returns
    -------
    position : int
        The first step such that no path of this length agrees with what is allowed up to it.
    forward_position : int
        The same for paths of any length; the number of steps if there is no such step.
    """
    n_steps, N = len(allowed), graph.n_nodes
    if N == 0:
        return 0, 0
    layout, weightless = graph.layout, np.zeros(len(graph.base_edges))
    completable = np.empty((n_steps, N))
    completions(layout, weightless, completable)
    live = Live(graph)
    log_b = np.where(allowed, 0.0, -np.inf)
    position, now, before = None, np.empty(N), np.empty(N)
    for t in range(n_steps):
        if t == 0:
            first_step(layout, np.zeros(graph.n_states), log_b[0], now)
        else:
            step(layout, weightless, t, before, log_b[t], True, now)
        if position is None and not (now + completable[t] > -np.inf).any():
            position = t
        if not (now + live[t] > -np.inf).any():
            return position, t
        now, before = before, now
    return position, n_steps
