"""The evidence of small data: P(Y, Acc) with all parameters integrated out, path by path.

Given a path the parameters have conjugate priors, so that the probability of every step given the
steps before it is known: a ratio of counts for starts, transitions and symbols, Student's t for
vectors. All from these predictions; nothing is shared with the package.
"""

from itertools import product

import numpy as np
from scipy.stats import multivariate_t

from ..oracles.predicates import holds


class Urn:
    """Draws from a distribution with a Dirichlet prior, one after the other."""

    def __init__(self, alpha):
        self.alpha = np.array(alpha, dtype=float)

    def log_prob(self, k):
        p = self.alpha[k] / self.alpha.sum()
        self.alpha[k] += 1
        return np.log(p)


class Vectors:
    """The same for vectors, by state; the scale is that of all states if it is tied."""

    def __init__(self, means, beta, dof, scale, tied):
        S = len(means)
        self.means, self.beta = np.array(means, dtype=float), np.array(beta, dtype=float)
        self.dof = np.full(S, dof, dtype=float) if tied else np.array(dof, dtype=float)
        self.scale = np.array([scale] * S if tied else scale, dtype=float)
        self.tied = tied

    def log_prob(self, k, x):
        mean, beta, d = self.means[k], self.beta[k], len(x)
        df = self.dof[k] - d + 1
        shape = self.scale[k] * (beta + 1) / (beta * df)
        found = multivariate_t.logpdf(x, mean, shape, df)
        which = slice(None) if self.tied else k
        self.scale[which] += beta / (beta + 1) * np.outer(x - mean, x - mean)
        self.dof[which] += 1
        self.means[k], self.beta[k] = (beta * mean + x) / (beta + 1), beta + 1
        return found


def log_joint(path, X, emissions, start_prior, trans_prior):
    """log P(path, Y) of several sequences, which share their parameters."""
    start, rows = Urn(start_prior), [Urn(row) for row in trans_prior]
    found = 0.0
    for states, steps in zip(path, X):
        for t, (k, x) in enumerate(zip(states, steps)):
            found += start.log_prob(k) if t == 0 else rows[states[t - 1]].log_prob(k)
            found += emissions.log_prob(k, x)
    return found


class Symbols:
    """Symbols by state."""

    def __init__(self, prior):
        self.urns = [Urn(row) for row in prior]

    def log_prob(self, k, x):
        return self.urns[k].log_prob(x)


def log_evidence(X, S, rules, new_emissions, start_prior, trans_prior):
    """log P(Y, Acc) of several short sequences, by enumeration of all their paths."""
    feasible = [[p for p in product(range(S), repeat=len(x)) if holds(rules, p)] for x in X]
    return np.logaddexp.reduce(
        [
            log_joint(paths, X, new_emissions(), start_prior, trans_prior)
            for paths in product(*feasible)
        ]
    )
