"""Rows of counts with a multinomial distribution."""

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state

from .._numbers import names_priors
from ..sequences.values import as_numbers
from . import numeric
from .base import (
    NEGLIGIBLE,
    Emission,
    Frames,
    check_path,
    check_posteriors,
    given,
    learned,
    normalise_rows,
)
from .counts import read_counts
from .priors import check_prior, log_dirichlet
from .scales import Simplex


class Multinomial(Emission):
    """Rows of counts: each column counts the trials with one of the outcomes.

    A row of ``NaN`` is a missing observation.

    Parameters
    ----------
    n_trials : int, array of int or None, default=None
        Number of trials of every row, or of each row of the training data. Each row must sum to
        it. By default, the number of trials of a row is its sum.
    prior : float or array of shape (n_states, n_features), default=1.0
        Parameters of a Dirichlet prior on each distribution; 1 is plain maximum likelihood.

    Attributes
    ----------
    probabilities_ : ndarray of shape (n_states, n_features)
        Also under hmmlearn's name, ``emissionprob_``.
    n_trials_ : int or None
        The number of trials, if it is the same in all rows; `sample` needs it.

    See Also
    --------
    Categorical : Symbols.
    Poisson : Counts without a bound.

    Examples
    --------
    >>> import numpy as np
    >>> from skchmm.emissions import Multinomial
    >>> emission = Multinomial()
    >>> E = emission.encode(np.array([[3, 1], [4, 0], [0, 4]]), reset=True)
    >>> emission.fit_supervised(E, [0, 0, 1], n_states=2).probabilities_
    array([[0.875, 0.125],
           [0.   , 1.   ]])
    """

    def __init__(self, n_trials: ArrayLike | None = None, *, prior: ArrayLike = 1.0) -> None:
        self.n_trials = n_trials
        self.prior = prior

    @classmethod
    def from_parameters(
        cls, probabilities: ArrayLike, n_trials: ArrayLike | None = None, **params: Any
    ) -> Self:
        """A fitted emission from known probabilities.

        Parameters
        ----------
        probabilities : array (n_states, n_categories)
        n_trials : int, optional
            The total of each row; needed to draw samples.
        **params : other parameters of the constructor

        Returns
        -------
        emission of this class
        """
        emission = cls(n_trials, **params)
        emission.probabilities_ = given(
            probabilities, "probabilities", ndim=2, at_least=0, rows_sum_to_1=True
        )
        emission.n_features_in_ = emission.probabilities_.shape[1]
        emission._set_trials(n_trials)
        return emission

    @property
    def emissionprob_(self) -> np.ndarray:
        return self.probabilities_

    @emissionprob_.setter
    def emissionprob_(self, probabilities):
        self.probabilities_ = probabilities

    def encode(self, X: Any, offsets: np.ndarray | None = None, *, reset: bool) -> Any:
        if reset:
            check_prior(self.prior, "prior")
        rows = read_counts(X, "Multinomial")
        counts = rows.X
        self._check_columns(counts.shape[1], reset=reset)
        if rows.partly_missing:
            partly = np.isnan(counts).any(axis=1) & ~np.isnan(counts).all(axis=1)
            raise ValueError(
                f"Row {int(partly.argmax())} of X misses some counts but not all; with multinomial "
                "emissions a row is either complete or missing as a whole."
            )
        totals = counts.sum(axis=1)
        present = ~np.isnan(totals)
        expected = self.n_trials
        if expected is not None and (np.ndim(expected) == 0 or reset):
            if np.ndim(expected) > 0 and np.shape(expected) != totals.shape:
                raise ValueError(
                    f"n_trials has shape {np.shape(expected)}, but X has {len(totals)} rows."
                )
            wrong = present & (totals != expected)
            if wrong.any():
                row = int(wrong.argmax())
                raise ValueError(
                    "Total count for each sample should add up to the number of trials: row "
                    f"{row} of X adds up to {totals[row]:g}, not "
                    f"{np.broadcast_to(expected, totals.shape)[row]}."
                )
        if reset:
            self._set_trials(totals[present] if expected is None else expected)
        return rows

    def initialise(
        self,
        E: Any,
        offsets: np.ndarray | None,
        n_states: int,
        *,
        init: str,
        random_state: Any = None,
    ) -> None:
        self._check_init(init, ["random", "kmeans"])
        if init == "kmeans":
            shares = normalise_rows(numeric.filled_rows(E))
            centres = numeric.start_centres(shares, n_states, init=init, random_state=random_state)
            # no count may be impossible at the start
            self.probabilities_ = normalise_rows(np.maximum(centres, 0) + 0.1 / centres.shape[1])
        else:
            rng = check_random_state(random_state)
            self.probabilities_ = normalise_rows(rng.rand(n_states, E.X.shape[1]))

    def log_likelihood(self, E: Any) -> Frames:
        probabilities = learned(self, "probabilities_", 2, E.counts.shape[1])
        zero = probabilities <= 0
        log_p = E.counts @ np.log(np.where(zero, 1.0, probabilities)).T
        log_p += E.log_coefficients[:, None]
        if zero.any():
            log_p[E.counts @ zero.T > 0] = -np.inf
        return Frames(log_p)

    def accumulate(
        self, E: Any, posteriors: np.ndarray, offsets: np.ndarray | None = None
    ) -> dict[str, Any]:
        return {"counts": check_posteriors(posteriors, len(E.X)).T @ E.counts}

    @names_priors("prior")
    def maximise(self, statistics: dict[str, Any], *, smoothing: float = 0.0) -> None:
        counts = statistics["counts"]
        added = smoothing + np.asarray(self.prior) - 1.0
        if hasattr(self, "probabilities_") and not self._as_hmmlearn:
            added = np.where(self.probabilities_ > 0, added, 0.0)  # what is impossible stays so
        weights = np.maximum(counts + added, 0.0)
        weights[weights.sum(axis=1) <= NEGLIGIBLE] = counts.sum(axis=0)
        estimate = normalise_rows(weights)
        if hasattr(self, "probabilities_"):
            empty = counts.sum(axis=1) <= NEGLIGIBLE
            estimate[empty] = self.probabilities_[empty]
        self.probabilities_ = estimate

    def log_prior(self, *, smoothing: float = 0.0) -> float:
        return log_dirichlet(smoothing + np.asarray(self.prior) - 1.0, self.probabilities_)

    def n_parameters(self) -> int:
        n_states, n_columns = np.shape(self.probabilities_)
        return n_states * (n_columns - 1)

    def scales(self) -> dict[str, Any]:
        return {"probabilities_": Simplex}

    def sample(self, path: ArrayLike, random_state: Any = None) -> np.ndarray:
        rng = check_random_state(random_state)
        probabilities = given(
            self.probabilities_, "probabilities_", ndim=2, at_least=0, rows_sum_to_1=True
        )
        path = check_path(path, len(probabilities))
        if getattr(self, "n_trials_", None) is None:
            raise ValueError("For sampling, a single n_trials must be given")
        rows = np.empty((len(path), probabilities.shape[1]), dtype=np.int64)
        for state in np.unique(path):
            where = np.flatnonzero(path == state)
            rows[where] = rng.multinomial(self.n_trials_, probabilities[state], len(where))
        return rows

    def _set_trials(self, totals):
        if np.ma.is_masked(totals):
            raise ValueError(f"n_trials must be known numbers of trials, got {totals!r}.")
        distinct = np.unique([] if totals is None else as_numbers(totals, "n_trials"))
        if not ((distinct >= 0) & (distinct == np.rint(distinct)) & (distinct < np.inf)).all():
            raise ValueError(f"n_trials must be numbers of trials, got {totals!r}.")
        self.n_trials_ = int(distinct[0]) if len(distinct) == 1 else None
