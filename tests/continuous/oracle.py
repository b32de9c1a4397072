"""Continuous time from the definitions: dense exponentials, products over all augmented paths."""

from itertools import product

import numpy as np

from tests.oracles.predicates import holds


def random_generator(rng, S, *, sparse=False, scale=1.0):
    rates = rng.gamma(1.0, size=(S, S)) * scale
    if sparse:
        rates *= rng.random((S, S)) < 0.6
    np.fill_diagonal(rates, 0.0)
    return rates - np.diag(rates.sum(axis=1))


def exponential(Q):
    """exp(Q) of a matrix without negative entries off its diagonal, each entry to many digits.

    A dense exponential in doubles is right relative to its largest entry only: it adds terms of
    both signs, and where a probability is 1e-14 of the largest two digits of it are left. Here
    Q + q I has no negative entry, so nothing cancels, neither in the series nor in the squares.
    """
    q = -min(np.diagonal(Q).min(), 0.0)
    halvings = max(0, int(np.ceil(np.log2(max(q, 1e-300)))) + 1)
    positive = (Q + q * np.eye(len(Q))) / 2**halvings
    term = total = np.eye(len(Q))
    for k in range(1, 60):
        term = term @ positive / k
        total = total + term
    total = total * np.exp(-q / 2**halvings)
    for _ in range(halvings):
        total = total @ total
    return total


class KilledChain:
    """Patel and Damiano's killed generator on pairs (state, state of the controller)."""

    def __init__(self, startprob, generator, controller):
        S, table = len(startprob), controller.tables[0]
        self.pairs = [(i, q) for i in range(S) for q in sorted(set(table[:, i].tolist()) - {-1})]
        place = {pair: k for k, pair in enumerate(self.pairs)}
        N = len(self.pairs)
        self.states = np.array([i for i, _ in self.pairs])
        self.accept = np.array([controller.accept[q] for _, q in self.pairs])
        self.start = np.zeros(N)
        for i in range(S):
            if table[0, i] >= 0:
                self.start[place[i, table[0, i]]] = startprob[i]
        self.Q = np.zeros((N, N))
        for k, (i, q) in enumerate(self.pairs):
            self.Q[k, k] = generator[i, i]
            for j in range(S):
                if j != i and table[q, j] >= 0:
                    self.Q[k, place[j, table[q, j]]] = generator[i, j]

    def steps(self, gaps):
        return [None] + [exponential(self.Q * gap) for gap in gaps[1:]]

    def passes(self, gaps, log_b):
        """Alpha, beta and the likelihood."""
        P, b = self.steps(gaps), np.exp(log_b)[:, self.states]
        alpha, beta = [self.start * b[0]], [self.accept.astype(float)]
        for t in range(1, len(gaps)):
            alpha.append(alpha[-1] @ P[t] * b[t])
        for t in range(len(gaps) - 1, 0, -1):
            beta.insert(0, P[t] @ (b[t] * beta[0]))
        return np.array(alpha), np.array(beta), alpha[-1] @ self.accept

    def marginals(self, gaps, log_b):
        alpha, beta, z = self.passes(gaps, log_b)
        return by_state(alpha * beta / z, self.states, log_b.shape[1])

    def all_paths(self, gaps, log_b):
        """(log probability, states) of every assignment of pairs to the observations."""
        P, b = self.steps(gaps), np.exp(log_b)[:, self.states]
        for path in product(range(len(self.pairs)), repeat=len(gaps)):
            p = self.start[path[0]] * b[0, path[0]] * self.accept[path[-1]]
            for t in range(1, len(gaps)):
                p *= P[t][path[t - 1], path[t]] * b[t, path[t]]
            if p > 0:
                yield np.log(p), tuple(self.states[list(path)])


def by_state(values, states, S):
    out = np.zeros((len(values), S))
    for k, i in enumerate(states):
        out[:, i] += values[:, k]
    return out


class ObservedPaths:
    """All assignments of states to the observations that satisfy the constraints."""

    def __init__(self, startprob, generator, gaps, log_b, states, constraints):
        P, T = [None] + [exponential(generator * gap) for gap in gaps[1:]], len(gaps)
        self.paths, weights = [], []
        for path in product(range(len(startprob)), repeat=T):
            if not holds(constraints, [states[i] for i in path]):
                continue
            p = startprob[path[0]] * np.exp(sum(log_b[t, path[t]] for t in range(T)))
            for t in range(1, T):
                p *= P[t][path[t - 1], path[t]]
            if p > 0:
                self.paths.append(path)
                weights.append(p)
        self.weights = np.array(weights)

    def marginals(self, S):
        out = np.zeros((len(self.paths[0]), S))
        for path, p in zip(self.paths, self.weights):
            out[np.arange(len(path)), list(path)] += p
        return out / self.weights.sum()
