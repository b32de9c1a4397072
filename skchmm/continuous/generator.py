"""A generator that may lose mass, uniformised: its exponentials, and the integrals of EM.

Everything is a sum of products of numbers that are not negative, so that no digits cancel and
small entries are right to their own size. Long times are reached by doubling. What leaves the
live nodes is carried along as one more column, and rows are kept at sum 1 with it; otherwise
rounding would grow with the number of holding times that pass.
"""

from functools import cached_property
from threading import RLock

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from .._kernels.continuous.steps import n_terms

LIMIT = 32.0  # q t up to which a series is summed; beyond, factors from a ladder of doublings
SHORT = 0.5  # q t at which the ladder begins
NEGLIGIBLE = 1e-290  # entries below this part of the largest are as good as lost
BLOCK_BYTES = 1 << 26
KEPT_BYTES = 1 << 28
LOCK = RLock()  # what is built once is built by one thread


class Generator:
    """Rates between nodes.

    Parameters
    ----------
    n_nodes : int
    sources, targets : int arrays
        The jumps, ``sources[k] != targets[k]``.
    rates : float array
        Their rates.
    exit_rates : float array (n_nodes,)
        Rate of leaving each node, killed jumps included.
    killing : float array (n_nodes,)
        Rate of the killed jumps.

    Attributes
    ----------
    rate : float
        q, the largest exit rate (1 if nothing ever moves).
    weights, diagonal : float arrays
        Of the uniformised kernel P = I + Q / q.
    """

    def __init__(self, n_nodes, sources, targets, rates, exit_rates, killing):
        self.n_nodes = n_nodes
        self.rate = float(np.max(exit_rates, initial=0.0)) or 1.0
        self.sources, self.targets = sources, targets
        self.rates = np.asarray(rates, dtype=np.float64)
        self.weights = self.rates / self.rate
        self.diagonal = np.maximum(1.0 - np.asarray(exit_rates) / self.rate, 0.0)
        self.exit_rates = np.asarray(exit_rates, dtype=np.float64)
        self.killing = np.asarray(killing, dtype=np.float64)
        every = np.arange(n_nodes)
        self.kernel = sparse.csr_array(
            (
                np.concatenate([self.weights, self.diagonal]),
                (np.concatenate([sources, every]), np.concatenate([targets, every])),
            ),
            shape=(n_nodes, n_nodes),
        )
        self._ladder = None
        self._known_powers = np.empty((0, n_nodes * n_nodes))

    def __getstate__(self):
        """Without what can be computed again."""
        state = {name: value for name, value in self.__dict__.items() if name != "sinks_first"}
        return state | {"_ladder": None, "_known_powers": self._known_powers[:0]}

    @classmethod
    def of_states(cls, generator):
        """The generator between states, nothing killed."""
        sources, targets = np.nonzero(generator * (1 - np.eye(len(generator))))
        rates = generator[sources, targets]
        exits = np.bincount(sources, weights=rates, minlength=len(generator))
        return cls(len(generator), sources, targets, rates, exits, np.zeros(len(generator)))

    @classmethod
    def of_graph(cls, graph, generator):
        """The generator on the live nodes of a graph, in the order of its edges."""
        S, N = graph.n_states, graph.n_nodes
        off = generator * (1 - np.eye(S))
        targets = np.repeat(np.arange(N), np.diff(graph.indptr[0]))
        allowed = np.zeros((N, S), dtype=bool)
        allowed[graph.sources, graph.base_edges % S] = True
        rows, rates = off[graph.node_states], off.ravel()[graph.base_edges]
        killing = np.where(allowed, 0.0, rows).sum(axis=1)
        if graph.breaks is not None:  # what a jump costs is lost like a killed jump
            lost = rates * -np.expm1(-graph.edge_costs)
            killing += np.bincount(graph.sources, weights=lost, minlength=N)
            rates = rates * np.exp(-graph.edge_costs)
        return cls(N, graph.sources, targets, rates, rows.sum(axis=1), killing)

    @property
    def ladder(self):
        if self._ladder is None:
            self._ladder = Ladder(self)
        return self._ladder

    # ----------------------------------------------------------------- jumps
    def moves_from(self, node):
        """Where one event of P leads, itself included, and with which probability."""
        begin, end = self.kernel.indptr[node : node + 2]
        return self.kernel.indices[begin:end], self.kernel.data[begin:end]

    def jumps_from(self, node):
        """(target, probability in P) of the jumps from a node."""
        targets, weights = self.moves_from(node)
        return [(int(m), w) for m, w in zip(targets, weights) if m != node and w > 0]

    def rate_of(self, source, target):
        targets, weights = self.moves_from(source)
        return float(weights[targets == target][0]) * self.rate

    @cached_property
    def sinks_first(self):
        """Nodes so that those which lead nowhere come first, and the component of each.

        Nodes of a component reach each other.
        """
        used = self.rates > 0
        edges = sparse.csr_array(
            (np.ones(used.sum()), (self.sources[used], self.targets[used])),
            shape=(self.n_nodes, self.n_nodes),
        )
        n, component = connected_components(edges, directed=True, connection="strong")
        between = component[self.sources[used]] * n + component[self.targets[used]]
        between = np.unique(between[component[self.sources[used]] != component[self.targets[used]]])
        before = [[] for _ in range(n)]
        left = np.zeros(n, dtype=np.int64)
        for a, b in zip((between // n).tolist(), (between % n).tolist()):
            before[b].append(a)
            left[a] += 1
        ready, rank = np.flatnonzero(left == 0).tolist(), np.zeros(n, dtype=np.int64)
        for place, b in enumerate(ready):  # grows as it goes
            rank[b] = place
            for a in before[b]:
                left[a] -= 1
                if left[a] == 0:
                    ready.append(a)
        return np.argsort(rank[component], kind="stable").astype(np.int32), component

    def jump_costs(self):
        """-log P(a node is left for another), sparse; positive, so that a route is a path."""
        positive = self.rates > 0
        # dijkstra of older scipy takes 32-bit indices only
        a, b = self.sources[positive].astype(np.int32), self.targets[positive].astype(np.int32)
        costs = np.log(self.exit_rates[a] / self.rates[positive]) + 1e-9
        return sparse.csr_array((costs, (a, b)), shape=(self.n_nodes, self.n_nodes))

    # ---------------------------------------------------------- exponentials
    def split(self, lam, limit=LIMIT):
        """Rungs of the ladder and the rest that make up q t = lam; the rest is at most `limit`."""
        if lam <= limit:
            return [], lam
        rest, rungs, step = float(lam), [], limit
        while 2 * step <= rest:
            step *= 2
        while step >= limit:
            if rest >= step:
                rungs.append(round(np.log2(step / SHORT)))
                rest -= step
            step /= 2
        return rungs, rest

    def matrices(self, gaps, floor=None):
        """exp(Q t) of each gap t, as matrices (G, N, N) and the logarithms of their scales.

        Every entry is right to its own size; with a `floor` only up to that error, and faster.
        """
        lams = np.asarray(gaps, dtype=np.float64) * self.rate
        parts = [self.split(lam) for lam in lams]
        out = self._series(np.array([rest for _, rest in parts]), floor)
        log_scales = np.zeros(len(lams))
        for g, (rungs, _) in enumerate(parts):
            for rung in rungs:
                out[g] = out[g] @ self.ladder.matrix(rung)
                log_scales[g] += self.ladder.log_scale(rung) + _rescale(out[g])
        return out, log_scales

    def _series(self, lams, floor=None):
        """sum_k Poisson(k; lam) P^k for lam <= LIMIT; the powers are shared by all."""
        G, N = len(lams), self.n_nodes
        per = max(1, BLOCK_BYTES // max(8 * N * N, 1))
        sum_up = self._whole_series if floor is None else self._short_series
        if 0 < G <= per:
            return sum_up(lams, floor)
        out = np.empty((G, N, N))
        order = np.argsort(lams, kind="stable")
        for begin in range(0, G, per):
            chosen = order[begin : begin + per]
            out[chosen] = sum_up(lams[chosen], floor)
        return out

    def _short_series(self, lams, floor):
        """What is left out is below the floor."""
        K, N = n_terms(lams.max(), floor), self.n_nodes
        with np.errstate(divide="ignore"):
            logs = np.log(lams)[:, None] - np.log(np.arange(1, K + 1))
        logs = np.concatenate([np.zeros((len(lams), 1)), np.cumsum(logs, axis=1)], axis=1)
        return (np.exp(logs - lams[:, None]) @ self._powers(K)).reshape(-1, N, N)

    def _powers(self, K):
        """P^0, ..., P^K as rows (K + 1, N * N), kept where there is room."""
        with LOCK:
            known = self._known_powers
            if len(known) > K:
                return known[: K + 1]
            N = self.n_nodes
            powers = np.empty((K + 1, N * N))
            powers[: len(known)] = known
            for k in range(len(known), K + 1):
                below = powers[k - 1].reshape(N, N) if k else None
                powers[k] = (self.kernel @ below).ravel() if k else np.eye(N).ravel()
            if powers.nbytes <= KEPT_BYTES:
                self._known_powers = powers
            return powers

    def _whole_series(self, lams, floor=None):
        """Up to the last term that matters to any entry."""
        N, slowest = self.n_nodes, int(np.argmax(lams))
        most = lams[slowest]
        total = np.zeros((len(lams), N * N))
        last = n_terms(most, NEGLIGIBLE)
        room = int(max(BLOCK_BYTES // max(8 * N * N, 1), 1))
        power, log_weights, done = np.eye(N), -lams, 0
        with np.errstate(divide="ignore", under="ignore"):
            logs = np.log(lams)
            while done <= last:
                # as many as would do in a small graph, then some more
                width = min(room, 16 if done else n_terms(most, 1e-20) + 8)
                ks = np.arange(done, min(done + width, last + 1))
                done += len(ks)
                powers, weights = np.empty((len(ks), N * N)), np.empty((len(lams), len(ks)))
                for row, k in enumerate(ks):
                    if k > 0:
                        power = self.kernel @ power
                        log_weights = log_weights + (logs - np.log(k))
                    powers[row], weights[:, row] = power.ravel(), np.exp(log_weights)
                added = weights @ powers
                total += added
                # the longest gap is the slowest to converge
                last_term, so_far = weights[slowest, -1] * powers[-1], total[slowest]
                if np.all(last_term <= 1e-18 * so_far) and not self._grows(power, so_far):
                    break
        return total.reshape(-1, N, N)

    def _grows(self, power, reached):
        """Whether another power would reach nodes that none has reached so far."""
        return bool(((self.kernel @ power).ravel() > 0)[reached == 0].any())

    # ------------------------------------------------------------- integrals
    def integrals(self, gaps, outer):
        """int_0^t exp(Q' x) W exp(Q' (t - x)) dx, summed over gaps t with their matrices W.

        Halved until t is short: W exp(Q' h) + exp(Q' h) W stands for the two halves of 2 h.

        Parameters
        ----------
        gaps : float array (G,)
        outer : float array (G, N, N)
            Divided by the scale of exp(Q t), where that was scaled.
        """
        gaps, outer = np.array(gaps, dtype=np.float64), np.array(outer)
        total = np.zeros((self.n_nodes, self.n_nodes))
        scales = None
        while len(gaps):
            short = gaps * self.rate <= SHORT
            if short.any():
                total += self._short_integrals(gaps[short], outer[short])
                gaps, outer = gaps[~short], outer[~short]
                scales = None if scales is None else scales[~short]
            if len(gaps) == 0:
                break
            gaps = gaps / 2
            halves, below = self.matrices(gaps)
            above = self.matrices(2 * gaps)[1] if scales is None else scales
            halves = halves.transpose(0, 2, 1)
            outer = outer @ halves + halves @ outer
            outer *= np.exp(2 * below - above)[:, None, None]
            scales = below
        return total

    def _short_integrals(self, gaps, outer):
        """1/q sum_K Poisson(K + 1; q t) sum_{k <= K} P'^k W P'^(K - k)."""
        kernel = self.kernel.toarray().T
        lams = (gaps * self.rate)[:, None, None]
        weights = np.exp(-lams) * lams
        right = sums = outer
        total = (weights * sums).sum(axis=0)
        for k in range(2, n_terms(float(lams.max()), 1e-20) + 2):
            right = right @ kernel
            sums = kernel @ sums + right
            weights = weights * (lams / k)
            total += (weights * sums).sum(axis=0)
        return total / self.rate


class Ladder:
    """exp(Q h 2^r) for r = 0, 1, ..., q h = SHORT, each the square of the one before."""

    def __init__(self, generator):
        self.generator = generator
        self._rungs = []  # (matrix, log_scale, gain): P_r = exp(gain) of the square below

    def matrix(self, rung):
        return self._at(rung)[0]

    def log_scale(self, rung):
        return self._at(rung)[1]

    def _at(self, rung):
        with LOCK:
            while len(self._rungs) <= rung:
                self._climb()
        return self._rungs[rung]

    def _climb(self):
        generator = self.generator
        if not self._rungs:
            matrix = generator._whole_series(np.array([SHORT]))[0]
            # exp(Q t) takes what is killed to the dead column: int_0^t exp(Q s) k ds
            self._dead = self._first_dead()
            self._rungs.append((self._normalised(matrix), 0.0, 0.0))
            return
        below, scale, _ = self._rungs[-1]
        matrix = below @ below
        if self._dead is not None:
            self._dead = self._dead + below @ self._dead
            matrix = self._normalised(matrix)
        gain = _rescale(matrix)
        if gain < 0.0:
            self._dead = None  # so much is lost that rows say nothing any more
        self._rungs.append((matrix, 2 * scale + gain, gain))

    def _first_dead(self):
        generator = self.generator
        term = generator.killing / generator.rate
        weight = np.exp(-SHORT)
        # 1/q sum_k P(Poisson > k) P^k k
        tails = 1.0 - weight
        total = np.zeros(generator.n_nodes)
        for k in range(1, n_terms(SHORT, 1e-20) + 2):
            total += tails * term
            term = generator.kernel @ term
            weight *= SHORT / k
            tails = max(tails - weight, 0.0)
        return total

    def _normalised(self, matrix):
        sums = matrix.sum(axis=1) + self._dead
        self._dead = self._dead / sums
        return matrix / sums[:, None]

    def integral(self, outer):
        """The sum of the integrals over rungs; `outer` has one matrix (N, N) for each."""
        total = np.zeros_like(outer[0])
        for rung in range(len(outer) - 1, -1, -1):
            total = total + outer[rung]
            if rung:
                half = self.matrix(rung - 1).T
                total = total @ half + half @ total
                total *= np.exp(-self._at(rung)[2])
        gap = SHORT / self.generator.rate
        return self.generator._short_integrals(np.array([gap]), total[None])


def _rescale(matrix):
    """Divide by the largest entry, in place, where that is far from 1; its logarithm, or 0."""
    top = matrix.max(initial=0.0)
    if top == 0.0 or 1e-3 <= top <= 2.0:
        return 0.0
    matrix /= top
    return float(np.log(top))


class Gaps:
    """The distinct gaps before steps, and which of them is before each.

    Attributes
    ----------
    lengths : float64 (n_gaps,)
    marked : bool (n_gaps,)
        Which of them end with an entry (entries.py); gaps of one length may differ in that.
    """

    def __init__(self, gaps, offsets):
        inside = np.ones(len(gaps), dtype=bool)
        inside[offsets[:-1]] = False
        lengths, marked = np.abs(gaps[inside]), np.signbit(gaps[inside])
        keys, index, self.counts = np.unique(
            lengths + 1j * marked if marked.any() else lengths,
            return_inverse=True, return_counts=True,
        )  # fmt: skip
        self.index = np.zeros(len(gaps), dtype=np.int32)
        self.index[inside] = index
        if len(keys) == 0:
            keys, self.counts = np.zeros(1), np.zeros(1, dtype=np.int64)
        self.lengths, self.marked = np.ascontiguousarray(keys.real), keys.imag > 0

    def __len__(self):
        return len(self.lengths)
