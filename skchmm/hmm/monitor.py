"""What EM reports, and when it stops."""

import logging
import sys
from collections import deque

import numpy as np

_log = logging.getLogger("skchmm.hmm")

# A loss below this is rounding.
_ROUNDING = float(np.sqrt(np.finfo(float).eps))


class ConvergenceMonitor:
    """Collects the log-likelihood of every iteration of EM and decides when to stop.

    Subclass it and set ``model.monitor_`` before `fit` for another rule.

    Parameters
    ----------
    tol : float
        EM stops when an iteration gains less than this.
    n_iter : int
        EM stops after so many iterations.
    verbose : bool
        Whether to print every iteration to standard error.

    Attributes
    ----------
    history : deque of float
        Log-likelihood at the start of each iteration.
    iter : int
        Iterations so far.

    Examples
    --------
    >>> from skchmm import hmm
    >>> class UpTo(hmm.ConvergenceMonitor):
    ...     @property
    ...     def converged(self):
    ...         return self.iter == self.n_iter or self.history[-1] >= self.tol
    >>> model = hmm.GaussianHMM(n_components=2)
    >>> model.monitor_ = UpTo(tol=-20.0, n_iter=50, verbose=False)
    """

    _template = "{iter:>10d} {log_prob:>16.8f} {delta:>+16.8f}"

    def __init__(self, tol: float, n_iter: int, verbose: bool) -> None:
        self.tol = tol
        self.n_iter = n_iter
        self.verbose = verbose
        self.history: deque[float] = deque()
        self.iter = 0

    def __repr__(self):
        shown = sorted(dict(vars(self), history=list(self.history)).items())
        lines = "".join(f"    {name}={value},\n" for name, value in shown)
        return f"{type(self).__name__}(\n{lines})"

    def _reset(self):
        self.iter = 0
        self.history.clear()

    def report(self, log_prob: float) -> None:
        """Take note of the log-likelihood of an iteration."""
        delta = log_prob - self.history[-1] if self.history else np.nan
        if self.verbose:
            line = self._template.format(iter=self.iter + 1, log_prob=log_prob, delta=delta)
            print(line, file=sys.stderr)
        if delta < -_ROUNDING:
            _log.warning(
                "Model is not converging: the log-likelihood fell from %s to %s.",
                self.history[-1],
                log_prob,
            )
        self.history.append(log_prob)
        self.iter += 1

    @property
    def converged(self) -> bool:
        """Whether EM should stop."""
        if self.iter == self.n_iter:
            return True
        return len(self.history) >= 2 and self.history[-1] - self.history[-2] < self.tol
