"""Continuous time in log space, for sequences whose probabilities no double can hold.

exp(Q t) is the 2^s-th power of a short series; all sums are of logarithms. Products of matrices
cost O(n^3) each, and an exponential takes a few dozen of them.
"""

from math import ceil, log2

import numpy as np
from scipy.special import logsumexp

from .._kernels.continuous.viterbi import log_product

TERMS = 8


class LogExponential:
    """log exp(Q t) and the matrices of t / 2, t / 4, ... from which it came.

    With 32 n intervals or more, a path of n jumps has more than TERMS of them in one of these
    with a probability below the precision.
    """

    def __init__(self, generator, gap):
        N = generator.n_nodes
        lam = generator.rate * gap
        levels = 0 if lam == 0 else max(ceil(log2(32 * N)), ceil(log2(lam)) + 5)
        with np.errstate(divide="ignore"):
            self.kernel = np.log(generator.kernel.toarray())
            self.log_lam = np.log(lam) - levels * np.log(2.0)
            power = np.log(np.eye(N))
        self.log_rate = np.log(generator.rate)
        lam0 = lam / 2.0**levels
        total = power - lam0
        if lam > 0:
            log_weight = -lam0
            for k in range(1, TERMS + 1):
                power = product(power, self.kernel)
                log_weight += self.log_lam - np.log(k)
                total = np.logaddexp(total, power + log_weight)
        self.powers = [total]
        for _ in range(levels):
            self.powers.append(product(self.powers[-1], self.powers[-1]))

    @property
    def matrix(self):
        return self.powers[-1]

    def integral(self, log_outer):
        """log int_0^t exp(Q' x) W exp(Q' (t - x)) dx."""
        for below in reversed(self.powers[:-1]):
            half = np.ascontiguousarray(below.T)
            log_outer = np.logaddexp(product(log_outer, half), product(half, log_outer))
        kernel = np.ascontiguousarray(self.kernel.T)
        right = sums = log_outer
        log_weight = -np.exp(self.log_lam) + self.log_lam
        total = log_weight + sums
        for k in range(2, TERMS + 2):
            right = product(right, kernel)
            sums = np.logaddexp(product(kernel, sums), right)
            log_weight += self.log_lam - np.log(k)
            total = np.logaddexp(total, log_weight + sums)
        return total - self.log_rate


def product(left, right):
    """The product of two matrices, all as logarithms."""
    out = np.empty((len(left), right.shape[1]))
    log_product(np.ascontiguousarray(left), np.ascontiguousarray(right), out)
    return out


def filter_log(log_first, ahead, log_b):
    """Forward pass: log alpha (T, N), each row with maximum 0, and the sum of what was taken off.

    Parameters
    ----------
    log_first : array (N,)
    ahead : callable
        (t, log v) -> log v after the gap before step t.
    log_b : array (T, N)
    """
    T, N = log_b.shape
    alpha = np.empty((T, N))
    row, total = log_first, 0.0
    for t in range(T):
        if t:
            row = ahead(t, alpha[t - 1])
        row = row + log_b[t]
        top = row.max()
        if top == -np.inf:
            return None, -np.inf
        alpha[t] = row - top
        total += top
    return alpha, total


def smooth_log(log_first, ahead, back, log_b, log_final, between=None):
    """log Z and log gamma (T, N).

    ``between(t, left, right, log_mass)`` is told of every gap: what comes before it and after it,
    and the logarithm of what comes through.
    """
    alpha, total = filter_log(log_first, ahead, log_b)
    beta = log_final
    if alpha is None or (alpha[-1] + beta).max() == -np.inf:
        return -np.inf, None
    log_z = total + logsumexp(alpha[-1] + beta)
    gamma = np.empty_like(alpha)
    for t in range(len(log_b) - 1, -1, -1):
        gamma[t] = alpha[t] + beta
        gamma[t] -= gamma[t].max()  # next to a huge one, a sum of two is one of them
        gamma[t] -= logsumexp(gamma[t])
        if t:
            right = beta + log_b[t]
            before = back(t, right)
            if between is not None:
                between(t, alpha[t - 1], right, logsumexp(alpha[t - 1] + before))
            beta = before - before.max()
    return log_z, gamma


def sum_rows(terms):
    """log sum exp over the first axis; columns of -inf stay -inf."""
    top = terms.max(axis=0)
    shift = np.where(top > -np.inf, top, 0.0)
    with np.errstate(divide="ignore"):
        return np.log(np.exp(terms - shift).sum(axis=0)) + shift
