"""Pseudo-residuals: where observations lie in the distribution that the model expects."""

from collections.abc import Collection
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from ..emissions.base import Frames

# A state that is less likely than the best by this many nats is taken to be as likely as that: its
# posterior is then a number that can be divided by the likelihood again.
_DEEPEST = 300.0

_STEPS_AT_ONCE = 500_000  # of copies of sequences


class ResidualsMixin:
    """`pseudo_residuals`, for a `LikelihoodModel`."""

    def pseudo_residuals(
        self,
        X: Any,
        *,
        kind: str = "ordinary",
        lengths: Collection[int] | None = None,
        groups: Any = None,
        random_state: Any = None,
        **times: Any,
    ) -> np.ndarray | list[np.ndarray]:
        """Where each observation lies in the distribution that the model expects there.

        If the model is right they are uniform between 0 and 1, so a histogram that is not flat
        shows what the model misses; values near 0 and 1 are outliers. ``scipy.stats.norm.ppf`` of
        them are normal pseudo-residuals.

        Parameters
        ----------
        X, lengths, groups : the sequences
        kind : {"ordinary", "forecast"}, default="ordinary"
            "ordinary": what is expected given all other steps of the sequence. "forecast": given
            only the steps before. Both take the rules into account. With rules, the forecasts of
            a sequence of T steps need T times the work, because which paths can still be completed
            depends on the number of steps that are left.
        random_state : int, RandomState or None, default=None
            A discrete value has a whole segment of the distribution. By default the residual is
            its middle (a mid-p-value); with a random state it is drawn from the segment, which is
            exactly uniform under the model.
        times : the observation times, in continuous time

        Returns
        -------
        ndarray (n_steps, n_features), or a list of them
            NaN where a value is missing. Columns are looked at one by one, whatever their
            covariances.

        Examples
        --------
        >>> import numpy as np
        >>> from skchmm import ConstrainedHMM
        >>> from skchmm.emissions import Gaussian
        >>> model = ConstrainedHMM.from_parameters(
        ...     [0.5, 0.5], [[0.9, 0.1], [0.1, 0.9]],
        ...     emission=Gaussian.from_parameters([[0.0], [5.0]], [[1.0], [1.0]]))
        >>> model.pseudo_residuals(np.array([[0.0], [0.1], [4.0], [5.0]])).round(2).ravel()
        array([0.45, 0.27, 0.58, 0.55])
        """
        if kind not in ("ordinary", "forecast"):
            raise ValueError(f"kind must be 'ordinary' or 'forecast', got {kind!r}.")
        sequences = self._read(X, lengths, groups, **times)
        emission = self.emission_
        _check_emission(emission, kind)
        bounds = emission.cdf(emission.encode(sequences.X, sequences.offsets, reset=False))
        frames = self._frames(sequences)
        given = self._given_others if kind == "ordinary" else self._given_past
        weights = given(sequences, frames)
        exact = getattr(self._chain(), "exact", None)
        if exact is not None:  # an entry has a time of its own, so a visit shows that there is none
            alive = np.isneginf(frames.dense()[:, exact]).all(axis=1)
            weights[np.ix_(alive, exact)] = 0.0
            weights /= weights.sum(axis=1, keepdims=True)
        below, upto = (np.einsum("tjs,ts->tj", bound, weights) for bound in bounds)
        share = 0.5
        if random_state is not None:
            share = check_random_state(random_state).random_sample(below.shape)
        return sequences.restore(np.clip(below + share * (upto - below), 0.0, 1.0))

    def _given_others(self, sequences, frames):
        """P(x_t | all observations but y_t, Acc), (n_steps, S)."""
        raised = _raised(frames)
        posteriors = self._posteriors(sequences, raised)
        with np.errstate(divide="ignore"):
            found = _shares(np.log(posteriors) - raised.table)
        # where raising made a difference, each step is left out by itself
        before, after = (
            self._chain().log_likelihood(each, sequences.offsets, n_jobs=self.n_jobs)
            for each in (frames, raised)
        )
        for s in np.flatnonzero(~np.isclose(before, after, rtol=1e-12, atol=1e-9)):
            self._leave_out(frames, *sequences.ranges[s], np.not_equal, found)
        return found

    def _given_past(self, sequences, frames):
        """P(x_t | y_0..y_t-1, Acc), (n_steps, S)."""
        chain = self._chain()
        if hasattr(chain, "filter") and not self._has_rules:
            raised = _raised(frames)
            filtered = chain.filter(raised, sequences.offsets, n_jobs=self.n_jobs)
            with np.errstate(divide="ignore"):
                return _shares(np.log(filtered) - raised.table)
        found = np.empty((frames.n_steps, frames.n_states))
        for begin, end in sequences.ranges:
            self._leave_out(frames, begin, end, np.less, found)
        return found

    def _leave_out(self, frames, begin, end, seen, found):
        """Posteriors of each step of a sequence, given the steps k for which ``seen(k, step)``."""
        length, log_p = end - begin, frames.part(begin, end).dense()
        at_once = max(1, _STEPS_AT_ONCE // length)
        for first in range(0, length, at_once):
            steps = np.arange(first, min(first + at_once, length))
            kept = seen(np.arange(length), steps[:, None])[:, :, None]
            gaps = frames.gaps
            if gaps is not None:  # that a later step is an entry is not known before
                told = kept[:, :, 0] | (np.arange(length) == steps[:, None])
                gaps = np.where(told, gaps[begin:end], np.abs(gaps[begin:end])).ravel()
            copies = Frames(np.where(kept, log_p, 0.0).reshape(-1, log_p.shape[1]), gaps=gaps)
            offsets = length * np.arange(len(steps) + 1)
            posteriors = self._chain().smooth(copies, offsets, n_jobs=self.n_jobs).posteriors
            found[begin + steps] = posteriors[offsets[:-1] + steps]


def _raised(frames):
    log_p = frames.dense()
    peak = log_p.max(axis=1, keepdims=True)
    floor = np.where(np.isneginf(peak), 0.0, peak) - _DEEPEST
    return Frames(np.maximum(log_p, floor), gaps=frames.gaps)


def _check_emission(emission, kind):
    for part in getattr(emission, "emissions_", {None: emission}).values():
        if not hasattr(part, "cdf"):
            raise ValueError(
                f"{part} has no distribution function, so there are no pseudo-residuals."
            )
        if kind == "ordinary" and getattr(part, "order", 0):
            raise ValueError(
                f"With {part} the next symbols depend on the symbol itself: what is expected given "
                "all others is not known; use kind='forecast'."
            )


def _shares(logs):
    """Rows of logarithms as shares that sum to 1."""
    shares = np.exp(logs - logs.max(axis=1, keepdims=True))
    return shares / shares.sum(axis=1, keepdims=True)
