"""Hidden Markov models by enumeration of all S^T paths, from the definitions."""

from itertools import product

import numpy as np

from .predicates import holds


class Enumeration:
    """All feasible paths of one sequence and their log weights log P(path, Y).

    Parameters
    ----------
    startprob, transmat : arrays
    log_b : array (T, S)
        Log-likelihood of each step under each state.
    states : list of labels
    constraints : constraint or list of them
    """

    def __init__(self, startprob, transmat, log_b, states, constraints=()):
        with np.errstate(divide="ignore"):
            log_start, log_trans = np.log(startprob), np.log(transmat)
        T, S = np.shape(log_b)
        self.T, self.S = T, S
        self.paths, weights = [], []
        for path in product(range(S), repeat=T):
            if not holds(constraints, [states[i] for i in path]):
                continue
            weight = log_start[path[0]] + sum(log_b[t][path[t]] for t in range(T))
            weight += sum(log_trans[path[t - 1], path[t]] for t in range(1, T))
            if weight > -np.inf:
                self.paths.append(path)
                weights.append(weight)
        self.log_weights = np.array(weights)

    @property
    def feasible(self):
        return len(self.paths) > 0

    @property
    def log_z(self):
        return np.logaddexp.reduce(self.log_weights) if self.feasible else -np.inf

    @property
    def log_max(self):
        return self.log_weights.max() if self.feasible else -np.inf

    @property
    def posterior(self):
        """P(path | Y, Acc) of each path."""
        return np.exp(self.log_weights - self.log_z)

    def marginals(self):
        out = np.zeros((self.T, self.S))
        for path, p in zip(self.paths, self.posterior):
            out[np.arange(self.T), list(path)] += p
        return out

    def transitions(self):
        """Expected numbers of transitions."""
        out = np.zeros((self.S, self.S))
        for path, p in zip(self.paths, self.posterior):
            np.add.at(out, (list(path[:-1]), list(path[1:])), p)
        return out
