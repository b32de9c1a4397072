"""Jump paths: the most likely one between two observations, and exact draws."""

from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import count

import numpy as np
from scipy.sparse.csgraph import dijkstra

from .._kernels.continuous.steps import n_terms
from .generator import NEGLIGIBLE, Generator

MAX_LAM = 256.0  # mean holding times of the fastest node beyond which no order is looked for
MAX_PREFIXES = 5_000
PIECE = 32.0


@dataclass(frozen=True, eq=False)
class JumpPath:
    """A path in continuous time: states in the order in which they are entered.

    Attributes
    ----------
    states : ndarray of labels (n_jumps + 1,)
    times : ndarray (n_jumps + 1,)
        When each is entered; the first at the first observation. In a decoded path these are
        expected times, given the order.
    end : time
        The last observation.
    log_prob : float or None
        Of a decoded path: log P(order of states, states at the observations, Y), with the times
        of the jumps integrated out.
    exact : bool
        Whether no order is more likely between the decoded states at the observations. False
        where a gap is too long for all of them to be compared.
    """

    states: np.ndarray
    times: np.ndarray
    end: object
    log_prob: float | None = None
    exact: bool = True

    @property
    def n_jumps(self):
        return len(self.states) - 1

    @property
    def segments(self):
        """(state, start, stop) of each stay."""
        stops = [*self.times[1:], self.end]
        return list(zip(self.states.tolist(), list(self.times), stops))

    def at(self, times):
        """The states at some times."""
        place = np.searchsorted(self.times, times, side="right") - 1
        return self.states[np.maximum(place, 0)]

    def __repr__(self):
        return f"<JumpPath: {' -> '.join(map(str, self.states.tolist()))}>"


# ------------------------------------------------------------------ the most likely order
def most_likely_jumps(rates, first, last, gap):
    """The most likely nodes between two, given the time between them.

    Of all orders of nodes from `first` to `last` the one with the largest probability, the times
    of the jumps integrated out. Best first: the probability of all orders that begin alike bounds
    that of each, so that as many beginnings are looked at as have a larger one; with a gap of
    many holding times they are too many, and the search is cut short.

    Parameters
    ----------
    rates : Generator
    first, last : int
    gap : float

    Returns
    -------
    nodes : list of int
        From `first` to `last`.
    log_prob : float
    stays : float array
        Expected time in each node, given their order.
    exact : bool
    """
    if gap == 0:
        return [first], (0.0 if first == last else -np.inf), np.zeros(1), True
    held = -rates.exit_rates[first] * gap
    if first == last and held >= np.log(0.5):
        return [first], float(held), np.array([gap]), True
    route = _shortest_route(rates, first, last)
    if route is None:
        return [first], -np.inf, np.array([gap]), True
    log_prob, stays = order_probability(rates, route, gap)
    exact = False
    if rates.rate * gap <= MAX_LAM:
        better, exact = _search(rates, first, last, gap, route, log_prob)
        if better != route:
            route = better
            log_prob, stays = order_probability(rates, route, gap)
    return route, log_prob, stays, exact


def order_probability(rates, nodes, gap):
    """log P(exactly these jumps in the gap), and the expected time in each node."""
    n = len(nodes)
    exits = rates.exit_rates[nodes]
    jumps = np.array([rates.rate_of(a, b) for a, b in zip(nodes, nodes[1:])])
    killing = np.maximum(exits - np.append(jumps, 0.0), 0.0)
    chain = Generator(n, np.arange(n - 1), np.arange(1, n), jumps, exits, killing)
    matrices, log_scales = chain.matrices([gap])
    p = matrices[0, 0, -1]
    if not p > 0:
        return -np.inf, np.full(n, gap / n)
    outer = np.zeros((1, n, n))
    outer[0, 0, -1] = 1.0 / p
    return float(np.log(p) + log_scales[0]), np.diag(chain.integrals([gap], outer))


def _shortest_route(rates, first, last):
    """The route with the largest product of jump probabilities, whatever time it takes."""
    if first == last:
        return [first]
    costs = rates.jump_costs()
    _, before = dijkstra(costs, indices=first, return_predecessors=True)
    route = [last]
    while route[-1] != first:
        node = int(before[route[-1]])
        if node < 0:
            return None
        route.append(node)
    return route[::-1]


def _search(rates, first, last, gap, route, log_prob):
    from scipy.signal import lfilter  # takes longer to import than all of this package

    lam = rates.rate * gap
    K = n_terms(lam, 1e-30) + len(route) + 16
    weights = np.exp(
        -lam + np.cumsum(np.concatenate([[0.0], np.log(lam) - np.log(np.arange(1, K + 1))]))
    )
    arrive = np.zeros((K + 1, rates.n_nodes))  # P^l e_last
    arrive[0, last] = 1.0
    for l in range(K):
        arrive[l + 1] = rates.kernel @ arrive[l]
    hankel = np.zeros((K + 1, K + 1))
    for n in range(K + 1):
        hankel[n, : K + 1 - n] = weights[n:]
    onwards = hankel @ arrive  # mass of all that ends right, by events so far and node
    best, found = np.exp(log_prob), route
    order, heap = count(), []
    entered = np.zeros(K + 1)
    entered[0] = 1.0
    heappush(heap, (-onwards[0, first], next(order), [first], entered))
    # a relative margin, so that rounding does not send the search through equals
    for _ in range(MAX_PREFIXES):
        if not heap or -heap[0][0] <= best * (1 + 1e-12):
            return found, True
        _, _, nodes, entered = heappop(heap)
        here = nodes[-1]
        held = lfilter([1.0], [1.0, -rates.diagonal[here]], entered)
        if here == last:
            p = held @ weights
            if p > best * (1 + 1e-12):
                best, found = p, nodes
        for there, weight in rates.jumps_from(here):
            entered = np.concatenate([[0.0], held[:-1] * weight])
            bound = entered @ onwards[:, there]
            if bound > best:
                heappush(heap, (-bound, next(order), [*nodes, there], entered))
    return found, False


# ------------------------------------------------------------------------------ draws
class Bridge:
    """Draws jump paths over one gap, given where they start and weights of where they end.

    The number of events n of the uniformised chain has weight Poisson(n) (P^n v)(m) at node m,
    and an event leads to m' with weight P(m, m') (P^(what is left) v)(m'); their times are
    uniform. Long gaps are cut into pieces.
    """

    def __init__(self, rates, gap, ends):
        self.rates, self.gap = rates, gap
        lam = rates.rate * gap
        self.n_pieces = max(1, int(np.ceil(lam / PIECE)))
        self.lam = lam / self.n_pieces
        self.K = n_terms(self.lam, NEGLIGIBLE)
        with np.errstate(divide="ignore"):
            logs = np.log(self.lam / np.arange(1, self.K + 1))
        self.weights = np.exp(-self.lam + np.concatenate([[0.0], np.cumsum(logs)]))
        self.ends = [np.asarray(ends, dtype=np.float64)]
        for _ in range(self.n_pieces - 1):
            before = self.weights @ self._powers(self.ends[-1])
            self.ends.append(before / before.max())
        self.ends.reverse()
        self._table = (None, None)

    def _powers(self, v):
        out = np.empty((self.K + 1, len(v)))
        out[0] = v
        for k in range(self.K):
            out[k + 1] = self.rates.kernel @ out[k]
        return out

    def _piece(self, piece):
        if self._table[0] != piece:
            self._table = (piece, self._powers(self.ends[piece]))
        return self._table[1]

    def masses(self):
        """Weight of each start, up to a constant."""
        return self.weights @ self._piece(0)

    def draw(self, starts, random_state):
        """One path for each start: lists of (time, node) of the jumps."""
        here = list(starts)
        jumps = [[] for _ in here]
        length = self.gap / self.n_pieces
        for piece in range(self.n_pieces):
            table = self._piece(piece)
            for s, node in enumerate(here):
                n = choose(self.weights * table[:, node], random_state)
                times = np.sort(random_state.random_sample(n)) * length + piece * length
                for event in range(n):
                    after = table[n - event - 1]
                    targets, weights = self.rates.moves_from(node)
                    there = int(targets[choose(weights * after[targets], random_state)])
                    if there != node:
                        jumps[s].append((float(times[event]), there))
                        node = there
                here[s] = node
        return jumps


def choose(weights, random_state):
    """A place by weight."""
    total = np.cumsum(weights)
    point = random_state.random_sample() * total[-1]
    return int(min(np.searchsorted(total, point, side="right"), np.flatnonzero(weights)[-1]))
