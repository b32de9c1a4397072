"""Hidden semi-Markov models by enumeration of all S^T paths, from the definitions."""

from itertools import groupby, product

import numpy as np

from .predicates import holds


class SemiMarkovEnumeration:
    """All feasible paths of one sequence and their log weights log P(path, Y).

    A path is cut into runs of one state. Every run but the last has the probability that its
    duration is its length; the last has the probability that it is at least that.
    """

    def __init__(self, startprob, transmat, durations, log_b, states, constraints=()):
        T, S = np.shape(log_b)
        D = durations.shape[1]
        self.T, self.S, self.D = T, S, D
        self.paths, self.runs, weights = [], [], []
        for path in product(range(S), repeat=T):
            if not holds(constraints, [states[i] for i in path]):
                continue
            runs = [(i, len(list(run))) for i, run in groupby(path)]
            if max(length for _, length in runs) > D:
                continue
            weight = startprob[runs[0][0]]
            for (i, length), (j, _) in zip(runs, runs[1:]):
                weight *= durations[i, length - 1] * transmat[i, j]
            i, length = runs[-1]
            weight *= sum(durations[i, length - 1 :])
            with np.errstate(divide="ignore"):
                weight = np.log(weight) + sum(log_b[t][path[t]] for t in range(T))
            if weight > -np.inf:
                self.paths.append(path)
                self.runs.append(runs)
                weights.append(weight)
        self.log_weights = np.array(weights)

    @property
    def feasible(self):
        return len(self.paths) > 0

    @property
    def log_z(self):
        return np.logaddexp.reduce(self.log_weights) if self.feasible else -np.inf

    @property
    def posterior(self):
        return np.exp(self.log_weights - self.log_z)

    def marginals(self):
        out = np.zeros((self.T, self.S))
        for path, p in zip(self.paths, self.posterior):
            out[np.arange(self.T), list(path)] += p
        return out

    def counts(self):
        """Expected changes of state, complete durations, and durations of last runs."""
        transitions = np.zeros((self.S, self.S))
        complete, cut = np.zeros((2, self.S, self.D))
        for runs, p in zip(self.runs, self.posterior):
            for (i, length), (j, _) in zip(runs, runs[1:]):
                transitions[i, j] += p
                complete[i, length - 1] += p
            cut[runs[-1][0], runs[-1][1] - 1] += p
        return transitions, complete, cut
