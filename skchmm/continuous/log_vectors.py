"""The action of exp(Q t) on vectors of logarithms, however far apart they are."""

import numpy as np

from .generator import SHORT
from .log_space import LogExponential, product, sum_rows

NEGLIGIBLE = 41.0  # e^-41 of a sum makes no difference to it


class LogVectors:
    """A uniformised generator for vectors of logarithms.

    Every sum goes on until its last term is negligible at every node. Long gaps are made of the
    rungs of a ladder of doublings, as matrices of logarithms.
    """

    def __init__(self, rates):
        self.rates = rates
        every = np.arange(rates.n_nodes)
        self.sources = np.concatenate([rates.sources, every])
        self.targets = np.concatenate([rates.targets, every])
        with np.errstate(divide="ignore"):
            self.log_weights = np.log(np.concatenate([rates.weights, rates.diagonal]))
        self._into = self._sorted(self.sources, self.targets)
        self._out = self._sorted(self.targets, self.sources)
        self._rungs, self._outer = [], {}

    def _sorted(self, gather, by):
        order = np.argsort(by, kind="stable")
        starts = np.searchsorted(by[order], np.arange(self.rates.n_nodes))
        counts = np.bincount(by, minlength=self.rates.n_nodes)
        return gather[order], self.log_weights[order], starts, counts

    def _jump(self, v, edges):
        gather, log_weights, starts, counts = edges
        terms = v[gather] + log_weights
        top = np.maximum.reduceat(terms, starts)
        shift = np.where(top > -np.inf, top, 0.0)
        with np.errstate(divide="ignore"):
            return np.log(np.add.reduceat(np.exp(terms - np.repeat(shift, counts)), starts)) + shift

    def _series(self, v, lam, edges):
        """log sum_k Poisson(k; lam) P^k v, and all log P^k v."""
        powers, total, log_weight = [v], v - lam, -lam
        gather, log_weights, _, counts = edges
        here = np.repeat(np.arange(len(v)), counts)
        used = log_weights > -np.inf
        while True:
            powers.append(self._jump(powers[-1], edges))
            k = len(powers) - 1
            log_weight += np.log(lam) - np.log(k)
            term = powers[-1] + log_weight
            total = np.logaddexp(total, term)
            reached = total > -np.inf
            if (
                k > lam
                and (term[reached] <= total[reached] - NEGLIGIBLE).all()
                and not (reached[gather] & ~reached[here] & used).any()
            ):
                return total, powers

    # ------------------------------------------------------------------ gaps
    def _rung(self, rung):
        if not self._rungs:
            self._base = LogExponential(self.rates, SHORT / self.rates.rate)
            self._rungs.append(self._base.matrix)
        while len(self._rungs) <= rung:
            self._rungs.append(product(self._rungs[-1], self._rungs[-1]))
        return self._rungs[rung]

    def ahead(self, v, gap):
        """log of v exp(Q gap)."""
        rungs, rest = self.rates.split(self.rates.rate * gap)
        for rung in rungs:
            v = sum_rows(v[:, None] + self._rung(rung))
        return self._series(v, rest, self._into)[0] if rest > 0 else v

    def back(self, v, gap):
        """log of exp(Q gap) v."""
        rungs, rest = self.rates.split(self.rates.rate * gap)
        v = self._series(v, rest, self._out)[0] if rest > 0 else v
        for rung in reversed(rungs):
            v = sum_rows((self._rung(rung) + v).T)
        return v

    # ---------------------------------------------------------------- counts
    def count(self, left, right, gap, log_mass, weight, edges, stays):
        """Add expected jumps along the edges and times at the nodes, between left and right.

        What happens on a ladder is added by `finish`.
        """
        rungs, rest = self.rates.split(self.rates.rate * gap)
        rights = [right]
        if rest > 0:
            rights.append(self.back(right, rest / self.rates.rate))
        for rung in reversed(rungs):
            rights.append(sum_rows((self._rung(rung) + rights[-1]).T))
        log_weight = np.log(weight) - log_mass
        rights = rights[::-1]
        for place, rung in enumerate(rungs):
            new = left[:, None] + rights[place + 1] + log_weight
            old = self._outer.get(rung)
            self._outer[rung] = new if old is None else np.logaddexp(old, new)
            left = sum_rows(left[:, None] + self._rung(rung))
        if rest > 0:
            self._count_rest(left, right, rest, log_weight, edges, stays)

    def _count_rest(self, left, right, lam, log_weight, edges, stays):
        a = self._series(left, lam, self._into)[1]
        b = self._series(right, lam, self._out)[1]
        rates, K = self.rates, max(len(a), len(b))
        poisson = -lam + np.cumsum(np.log(lam) - np.log(np.arange(1, 2 * K + 2)))  # of 1, 2, ...
        b = np.array(b)
        after = [sum_rows(poisson[k : k + len(b), None] + b) for k in range(len(a))]
        a, after = np.array(a), np.array(after) + log_weight
        with np.errstate(divide="ignore"):
            weights = np.log(rates.weights)
        edges += np.exp(sum_rows(a[:, rates.sources] + after[:, rates.targets]) + weights)
        stays += np.exp(sum_rows(a + after)) / rates.rate

    def finish(self, edges, stays):
        """Add what happened on the ladder."""
        if not self._outer:
            return
        total = np.full((self.rates.n_nodes,) * 2, -np.inf)
        for rung in range(max(self._outer), -1, -1):
            if rung in self._outer:
                total = np.logaddexp(total, self._outer[rung])
            if rung:
                half = self._rung(rung - 1).T
                total = np.logaddexp(product(total, half), product(half, total))
        integral = self._base.integral(total)  # of pairs without an edge it may be huge
        jumps = integral[self.rates.sources, self.rates.targets]
        edges += np.exp(jumps) * self.rates.rates
        stays += np.exp(np.diag(integral))
        self._outer = {}
