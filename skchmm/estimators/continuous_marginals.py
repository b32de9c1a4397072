"""Marginals in continuous time: at the observations, between them, and after the last."""

from collections.abc import Collection
from typing import Any

import numpy as np

from .asking import AskingMixin
from .fallback import other_chains
from .infeasible import check_possible


class CTMarginalsMixin(AskingMixin):
    """`predict_proba` and `predict_log_proba` in continuous time."""

    def predict_proba(
        self,
        X: Any,
        times: Any = None,
        *,
        at: Any = None,
        lengths: Collection[int] | None = None,
        groups: Any = None,
        known: Any = None,
    ) -> np.ndarray | list[np.ndarray]:
        """P(x_t | Y, Acc): exact smoothed marginals, at the observations or at other times.

        Parameters
        ----------
        X, times, lengths, groups, known : as in `predict`
        at : times, or a list with the times of each sequence, optional
            Any times from the first observation of a sequence on. Default: the observations.

        Returns
        -------
        ndarray (n_steps, S), or a list of them; columns as in `classes_`
            With `at`, one row per time: an array for a single stacked sequence, else a list.

        Notes
        -----
        After the last observation, the answer at time t is that for the path which ends at t: as if
        there were one more row, at t, at which nothing was observed. So the rules bind the path up
        to t and no further, a rule about the end of a path is about its end at t, and an answer
        does not depend on the other times of `at`. Under ``semantics="observed"`` the rules bind
        the observations, and the chain is free after the last.

        Examples
        --------
        The probability that a patient is alive, given two visits, at the second and later:

        >>> from skchmm import CTConstrainedHMM
        >>> from skchmm.emissions import Categorical
        >>> exam = Categorical.from_parameters(
        ...     [[0.9, 0.1, 0], [0.2, 0.8, 0], [0, 0, 1]], symbols=["good", "bad", "died"])
        >>> rates = [[0, 0.2, 0.05], [0, 0, 0.5], [0, 0, 0]]
        >>> model = CTConstrainedHMM.from_parameters(
        ...     [0.8, 0.2, 0.0], rates, states=["well", "ill", "dead"], emission=exam)
        >>> visits = {"X": ["good", "bad"], "times": [0.0, 1.5]}
        >>> 1 - model.predict_proba(**visits, at=[1.5, 2.5, 5.0])[:, 2].round(2)
        array([1.  , 0.7 , 0.31])
        """
        sequences = self._hold(self._read(X, lengths, groups, times=times), known)
        if at is None:
            return sequences.restore(self._posteriors(sequences, self._pending(sequences)))
        return sequences.alone(self._marginals_at(sequences, at))

    def predict_log_proba(
        self,
        X: Any,
        times: Any = None,
        *,
        lengths: Collection[int] | None = None,
        groups: Any = None,
        known: Any = None,
    ) -> np.ndarray | list[np.ndarray]:
        """Logarithm of `predict_proba`.

        Parameters
        ----------
        X, times, lengths, groups, known : as in `predict`

        Returns
        -------
        ndarray (n_steps, S), or a list of them; columns as in `classes_`
        """
        return self._predict_log_proba(
            self._hold(self._read(X, lengths, groups, times=times), known)
        )

    def _marginals_at(self, sequences, at):
        """P(x at the times of a grid | Y, Acc), a list with one array per sequence."""
        frames = self._frames(sequences)
        grids = _read_grids(at, sequences)
        answers = []
        for s, (begin, end) in enumerate(sequences.ranges):
            part, times = frames.part(begin, end), sequences.times.values[begin:end]
            chain = self._chain()
            log_z = chain.log_likelihood(part, np.array([0, end - begin]))
            if np.isneginf(log_z[0]):
                chain = other_chains(self, sequences, frames, [s])[s]
                impossible = np.zeros(sequences.n_sequences)
                impossible[s] = chain.log_likelihood(part, np.array([0, end - begin]))[0]
                check_possible(sequences, impossible, frames)
            answers.append(chain.marginals_at(part, times, grids[s]))
        return answers


def _read_grids(at, sequences):
    """The times of a grid for each sequence, as numbers, none before its sequence."""
    many = isinstance(at, (list, tuple)) and len(at) and np.ndim(at[0]) > 0
    if many and len(at) != sequences.n_sequences:
        raise ValueError(
            f"at has {len(at)} grids for {sequences.n_sequences} sequences; give one each, or one "
            "for all."
        )
    grids = []
    for s, (begin, _) in enumerate(sequences.ranges):
        grid = sequences.times.read(at[s] if many else at, s)
        if grid.ndim != 1 or not np.isfinite(grid).all():
            raise ValueError("at must hold times, in one list or one for each sequence.")
        if (grid < sequences.times.values[begin]).any():
            raise ValueError(
                f"at holds a time before the first observation of {sequences.describe(s)}: a model "
                "says what happens from there on."
            )
        grids.append(grid)
    return grids
