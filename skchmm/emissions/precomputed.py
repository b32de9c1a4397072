"""Log-likelihoods that some other model has computed."""

import warnings
from collections.abc import Collection, Hashable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..sequences.values import as_numbers
from .base import Emission, Frames, check_posteriors, is_plain
from .vocabulary import columns_of

# Fewer rows of scores may be between 0 and 1 by chance, unless they sum to 1.
_FEW = 10
_LOOKED_AT = 10_000


class Precomputed(Emission):
    """X is the log-likelihood itself, with one column per state. Nothing is learned about it.

    ``-inf`` says that a state is impossible at a step. A row of ``NaN`` is a missing observation.
    If the columns of a dataframe have the names of the states, they may come in any order.

    See Also
    --------
    ClassifierEmission : The probabilities of a classifier.

    Examples
    --------
    >>> import numpy as np
    >>> from skchmm.emissions import Precomputed
    >>> emission = Precomputed()
    >>> E = emission.encode(np.log([[0.9, 0.1], [0.2, 0.8]]), reset=True)
    >>> emission.log_likelihood(E).n_states
    2
    """

    part_steps = 100_000
    _shares_work = True

    def name_states(self, states: Collection[Hashable]) -> None:
        self._states = [str(label) for label in states]

    def encode(self, X: Any, offsets: np.ndarray | None = None, *, reset: bool) -> Any:
        if is_plain(X):
            self._check_columns(X.shape[1], reset=reset)
            _warn_of_probabilities(X)
            return X
        columns = columns_of(X)
        self._check_columns(len(columns), reset=reset)
        columns = [columns[j] for j in self._order(X, len(columns))]
        scores = np.stack([as_numbers(c, "Precomputed log-likelihoods") for c in columns], axis=1)
        _warn_of_probabilities(scores)
        if np.isposinf(scores).any():
            row, state = np.argwhere(np.isposinf(scores))[0]
            raise ValueError(
                f"Input X contains +inf in row {row}, column {state}: log-likelihoods must be "
                "finite, or -inf for a state that is impossible."
            )
        missing = np.isnan(scores)
        if missing.any():
            whole = missing.all(axis=1)
            partly = missing.any(axis=1) & ~whole
            if partly.any():
                raise ValueError(
                    f"Input X contains NaN in part of row {int(partly.argmax())}: a row of "
                    "log-likelihoods is either complete or, for a missing observation, all NaN."
                )
            scores[whole] = 0.0
        return scores

    def _order(self, X, n_columns):
        """The column of each state: by name where there are names, else by position."""
        positions = list(range(n_columns))
        states = getattr(self, "_states", None)
        if states is None or not hasattr(X, "columns"):
            return positions
        names = [str(name) for name in X.columns]
        by_default = (list(map(str, positions)), [f"column_{j}" for j in positions])
        if list(X.columns) == positions or names == by_default[1]:
            return positions
        if sorted(names) == sorted(states) and len(set(states)) == n_columns:
            return [names.index(state) for state in states]
        if states == by_default[0]:  # states that have no names of their own
            return positions
        raise ValueError(
            f"With precomputed emissions X needs one column per state: it has the columns {names}, "
            f"but the states are {states}. Rename the columns, or give X.to_numpy() if they are "
            "in the order of the states."
        )

    def initialise(
        self,
        E: Any,
        offsets: np.ndarray | None,
        n_states: int,
        *,
        init: str | None = None,
        random_state: Any = None,
    ) -> None:
        self._check_states(E.shape[1], n_states)

    def log_likelihood(self, E: Any) -> Frames:
        return Frames(E)

    def accumulate(
        self, E: Any, posteriors: np.ndarray, offsets: np.ndarray | None = None
    ) -> dict[str, Any]:
        self._check_states(E.shape[1], check_posteriors(posteriors, len(E)).shape[1])
        return {}

    def maximise(self, statistics: dict[str, Any], *, smoothing: float = 0.0) -> None:
        pass

    def n_parameters(self) -> int:
        return 0

    def sample(self, path: ArrayLike, random_state: Any = None) -> np.ndarray:
        raise ValueError(
            "Precomputed emissions cannot be sampled: the model that made the log-likelihoods is "
            "not known here."
        )

    def _check_states(self, n_columns, n_states):
        if n_columns != n_states:
            raise ValueError(
                f"With precomputed emissions X needs one column per state: it has {n_columns} "
                f"columns, and there are {n_states} states."
            )


def _warn_of_probabilities(scores):
    """Ask about scores that look like probabilities; most scores are told by their first row.

    Of very many rows, some are looked at.
    """
    scores = scores[:: max(1, len(scores) // _LOOKED_AT)]
    if scores.shape[1] < 2 or not _inside(scores[:1]) or not _inside(scores):
        return
    known = scores[~np.isnan(scores).any(axis=1)]
    if len(known) < _FEW and (np.abs(known.sum(axis=1) - 1) > 1e-5).any():
        return
    if ((scores > 0) & (scores < 1)).any():
        warnings.warn(
            "X looks like probabilities (all of it is between 0 and 1), but precomputed emissions "
            "are log-likelihoods: did you mean numpy.log(X)? The logarithm of 0 is -inf, which "
            "makes a state impossible at its step. Likelihoods that are as large as these may be "
            "shifted: X - 1 says the same.",
            UserWarning,
            stacklevel=4,
        )


def _inside(scores):
    known = scores[~np.isnan(scores).any(axis=1)]
    return ((known >= 0) & (known <= 1)).all()
