"""First passage: how long it takes until some nodes are entered, by a generator that loses mass."""

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import splu

from .generator import Generator


class Passage:
    """The way to some nodes, from all others.

    Parameters
    ----------
    rates : Generator
        Between nodes; what it loses are the jumps that break a rule.
    into : bool array (n_nodes,)
        The nodes that are waited for.
    """

    def __init__(self, rates, into):
        used = (rates.rates > 0) & ~into[rates.sources]
        self.into, self.n_nodes = into, rates.n_nodes
        self.sources, self.targets = rates.sources[used], rates.targets[used]
        self.rates, self.exits = rates.rates[used], np.where(into, 0.0, rates.exit_rates)
        self.killing = np.where(into, 0.0, rates.killing)
        arrives = into[self.targets]
        self.arrival = np.bincount(
            self.sources[arrives], weights=self.rates[arrives], minlength=self.n_nodes
        )

    def _reaching(self, ends):
        """Nodes from which some of the ends can be reached, or which are among them."""
        found, size = ends.copy(), -1
        while found.sum() != size:
            size = found.sum()
            found[self.sources[found[self.targets]]] = True
        return found

    def never(self):
        """Nodes from which a path may go on for ever, and break no rule, without arriving."""
        edges = sparse.csr_array(
            (np.ones(len(self.sources)), (self.sources, self.targets)),
            shape=(self.n_nodes, self.n_nodes),
        )
        _, component = connected_components(edges, directed=True, connection="strong")
        leaves = component[self.sources] != component[self.targets]
        open_ = np.unique(component[self.sources[leaves]])
        loses = np.unique(component[self.killing > 0])
        stuck = ~np.isin(component, np.concatenate([open_, loses])) & ~self.into
        return self._reaching(stuck)

    def expected_times(self):
        """Expected time until arrival, given that it comes, from each node; NaN if it cannot."""
        out = np.where(self.into, 0.0, np.nan)
        able = self._reaching(self.into) & ~self.into
        if not able.any():
            return out
        place = np.cumsum(able) - 1
        inside = able[self.sources] & able[self.targets]
        n = int(able.sum())
        every = np.arange(n)
        matrix = sparse.csc_array(
            (
                np.concatenate([self.exits[able], -self.rates[inside]]),
                (
                    np.concatenate([every, place[self.sources[inside]]]),
                    np.concatenate([every, place[self.targets[inside]]]),
                ),
            ),
            shape=(n, n),
        )
        solve = splu(matrix).solve
        arrives = solve(self.arrival[able])
        out[able] = solve(arrives) / arrives
        return out

    def hazards(self, start, times):
        """Rate of arrival at some times since the start, given that it has not come yet.

        Parameters
        ----------
        start : float array (n_nodes,)
            Weights of the nodes at time 0.
        times : float array
            In order.
        """
        waiting = np.flatnonzero(~self.into)
        place = np.cumsum(~self.into) - 1
        inside = ~self.into[self.targets]
        ahead = Generator(
            len(waiting), place[self.sources[inside]], place[self.targets[inside]],
            self.rates[inside], self.exits[waiting], (self.killing + self.arrival)[waiting],
        )  # fmt: skip
        v, known = start[waiting], {}
        out = np.full(len(times), np.nan)
        for k, gap in enumerate(np.diff(times, prepend=0.0).tolist()):
            if gap not in known:
                known = {gap: ahead.matrices([gap])[0][0]}
            v = v @ known[gap]
            total = v.sum()
            if not total > 0:
                break
            v = v / total
            out[k] = v @ self.arrival[waiting]
        return out
