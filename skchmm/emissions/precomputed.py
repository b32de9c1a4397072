"""Log-likelihoods that some other model has computed."""

import numpy as np

from .base import Emission, Frames, is_plain
from .vocabulary import columns_of


class Precomputed(Emission):
    """X is the log-likelihood itself, one column a state; learning leaves it as it is.

    ``-inf`` says that a state is impossible at a step. A row of ``NaN`` is a missing observation.

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

    def encode(self, X, offsets=None, *, reset):
        if is_plain(X):
            self._check_columns(X.shape[1], reset=reset)
            return X
        try:
            scores = np.stack([c.astype(np.float64) for c in columns_of(X)], axis=1)
        except (TypeError, ValueError) as error:
            raise ValueError(f"Precomputed log-likelihoods must be numbers: {error}") from error
        self._check_columns(scores.shape[1], reset=reset)
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

    def initialise(self, E, offsets, n_states, *, init=None, random_state=None):
        self._check_states(E.shape[1], n_states)

    def log_likelihood(self, E):
        return Frames(E)

    def accumulate(self, E, posteriors, offsets=None):
        self._check_states(E.shape[1], posteriors.shape[1])
        return {}

    def maximise(self, statistics, *, smoothing=0.0):
        pass

    def n_parameters(self):
        return 0

    def sample(self, path, random_state=None):
        raise ValueError(
            "Precomputed emissions cannot be sampled: the model that made the log-likelihoods is "
            "not known here."
        )

    def _check_states(self, n_columns, n_states):
        if n_columns != n_states:
            raise ValueError(
                f"With precomputed emissions X needs one column a state: it has {n_columns} "
                f"columns, and there are {n_states} states."
            )
