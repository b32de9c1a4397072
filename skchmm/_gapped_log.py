"""Continuous time in log space: slow, for sequences whose probabilities no double can hold.

exp(Q t) is the 2^s-th power of a short series; all sums are of logarithms. Products of matrices
cost O(n^3) each, and a gap takes a few dozen of them.
"""

from math import ceil, log2

import numpy as np
from scipy.special import logsumexp

from ._kernels.gapped_viterbi import log_product

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
                power = _product(power, self.kernel)
                log_weight += self.log_lam - np.log(k)
                total = np.logaddexp(total, power + log_weight)
        self.powers = [total]
        for _ in range(levels):
            self.powers.append(_product(self.powers[-1], self.powers[-1]))

    @property
    def matrix(self):
        return self.powers[-1]

    def integral(self, log_outer):
        """log int_0^t exp(Q' x) W exp(Q' (t - x)) dx."""
        for below in reversed(self.powers[:-1]):
            half = np.ascontiguousarray(below.T)
            log_outer = np.logaddexp(_product(log_outer, half), _product(half, log_outer))
        kernel = np.ascontiguousarray(self.kernel.T)
        right = sums = log_outer
        log_weight = -np.exp(self.log_lam) + self.log_lam
        total = log_weight + sums
        for k in range(2, TERMS + 2):
            right = _product(right, kernel)
            sums = np.logaddexp(_product(kernel, sums), right)
            log_weight += self.log_lam - np.log(k)
            total = np.logaddexp(total, log_weight + sums)
        return total - self.log_rate


def _product(left, right):
    out = np.empty((len(left), right.shape[1]))
    log_product(np.ascontiguousarray(left), np.ascontiguousarray(right), out)
    return out


def filter_log(log_first, log_steps, log_b):
    """Forward pass: log alpha (T, N), each row with maximum 0, and the sum of what was taken off.

    Parameters
    ----------
    log_first : array (N,)
    log_steps : callable
        t -> matrix (N, N) of logarithms before step t.
    log_b : array (T, N)
    """
    T, N = log_b.shape
    alpha = np.empty((T, N))
    row, total = log_first, 0.0
    for t in range(T):
        if t:
            row = _sum_rows(alpha[t - 1][:, None] + log_steps(t))
        row = row + log_b[t]
        top = row.max()
        if top == -np.inf:
            return None, -np.inf
        alpha[t] = row - top
        total += top
    return alpha, total


def smooth_log(log_first, log_steps, log_b, accept):
    """log Z, log gamma (T, N), and a list of log W (N, N) between steps t - 1 and t."""
    alpha, total = filter_log(log_first, log_steps, log_b)
    with np.errstate(divide="ignore"):
        beta = np.log(accept.astype(np.float64))
    if alpha is None or (alpha[-1] + beta).max() == -np.inf:
        return -np.inf, None, None
    log_z = total + logsumexp(alpha[-1] + beta)
    T = len(log_b)
    gamma, between = np.empty_like(alpha), [None] * T
    for t in range(T - 1, -1, -1):
        gamma[t] = alpha[t] + beta
        gamma[t] -= logsumexp(gamma[t])
        if t:
            right = beta + log_b[t]
            step = log_steps(t)
            before = _sum_rows((step + right).T)
            between[t] = alpha[t - 1][:, None] + right - logsumexp(alpha[t - 1] + before)
            beta = before - before.max()
    return log_z, gamma, between


def _sum_rows(terms):
    """log sum exp over the first axis; columns of -inf stay -inf."""
    top = terms.max(axis=0)
    shift = np.where(top > -np.inf, top, 0.0)
    with np.errstate(divide="ignore"):
        return np.log(np.exp(terms - shift).sum(axis=0)) + shift
