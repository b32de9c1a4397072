"""What every emission shares: the protocol, the frames it returns, reading of numeric rows."""

from functools import lru_cache

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_array

from .._kernels.data.finite import all_finite
from .._kernels.data.statistics import sum_rows

# Below this total weight a ratio of sums is dominated by denormal rounding.
NEGLIGIBLE = 1e-280


class Frames:
    """Log-likelihoods of a run of steps under every state.

    Parameters
    ----------
    table : ndarray of shape (n_rows, n_states), float64, C-contiguous
    index : ndarray of shape (n_steps,) or None
        Row of ``table`` of each step; ``None`` means that row t is step t.
    bounded : bool
        Whether it is known that nothing in ``table`` is NaN or +inf.
    """

    __slots__ = ("bounded", "index", "table")

    def __init__(self, table, index=None, *, bounded=False):
        self.table = np.ascontiguousarray(table, dtype=np.float64)
        self.index = index
        self.bounded = bounded

    @property
    def n_steps(self):
        return len(self.table) if self.index is None else len(self.index)

    @property
    def n_states(self):
        return self.table.shape[1]

    def of_sequences(self, offsets, begin, end):
        """The frames of sequences begin..end-1."""
        first, last = offsets[begin], offsets[end]
        if last - first == self.n_steps:
            return self
        if self.index is None:
            return Frames(self.table[first:last], bounded=self.bounded)
        return Frames(self.table, self.index[first:last], bounded=self.bounded)

    def whole(self):
        """These frames; of `PendingFrames`, those of all sequences."""
        return self

    def dense(self):
        """The (n_steps, n_states) log-likelihoods."""
        return self.table if self.index is None else self.table[self.index]

    def clamp(self, labels):
        """Frames in which step t allows only state ``labels[t]``, where that is not negative."""
        labels = np.asarray(labels)
        known = np.flatnonzero(labels >= 0)
        if len(known) == 0:
            return self
        dense = self.dense().copy()
        kept = dense[known, labels[known]]
        dense[known] = -np.inf
        dense[known, labels[known]] = kept
        return Frames(dense)


class PendingFrames:
    """Frames that are computed where they are needed, some sequences at a time.

    Parameters
    ----------
    frames_of : callable
        (begin, end) -> Frames of sequences begin..end-1
    n_sequences, n_steps, n_states : int
    least : int or None
        Fewer steps are not worth a call. None: calls share their work among threads themselves,
        and follow one another.
    """

    __slots__ = ("frames_of", "least", "n_sequences", "n_states", "n_steps")

    def __init__(self, frames_of, n_sequences, n_steps, n_states, least):
        self.frames_of = frames_of
        self.n_sequences = n_sequences
        self.n_steps = n_steps
        self.n_states = n_states
        self.least = least

    def of_sequences(self, offsets, begin, end):
        try:
            return self.frames_of(begin, end)
        except (TypeError, ValueError):
            self.whole()  # messages count the rows of all sequences
            raise

    def whole(self):
        return self.frames_of(0, self.n_sequences)


class Emission(BaseEstimator):
    """Base class of the emissions: how a state produces what is observed at a step.

    ``encode`` checks raw rows and turns them into a private form E, which all other methods take.
    ``log_likelihood`` scores them; ``accumulate`` and ``maximise`` are the two halves of learning:
    additive statistics under given state posteriors, and the parameters that fit them best.
    """

    default_init = "random"
    needs_labels = False  # True: cannot be learned by EM, only from labelled rows
    # The fewest steps that are worth a call of their own. None: what a row gives may depend, be it
    # in the last bit, on the sequences that come with it, or only one thread may ask at a time.
    part_steps = None
    _shares_work = False  # True: to encode and to score rows, kernels use all threads there are
    _as_hmmlearn = (
        False  # True: reproduce hmmlearn's numerics where they are not maximum likelihood
    )

    def encode(self, X, offsets=None, *, reset):
        """Check rows and turn them into the form the other methods take."""
        raise NotImplementedError

    def initialise(self, E, offsets, n_states, *, init, random_state=None):
        """Set start values for EM."""
        raise NotImplementedError

    def log_likelihood(self, E):
        """Log-likelihood of every step under every state, as `Frames`."""
        raise NotImplementedError

    def accumulate(self, E, posteriors, offsets=None):
        """Sufficient statistics: a dict of arrays that add up over disjoint sets of sequences."""
        raise NotImplementedError

    def maximise(self, statistics, *, smoothing=0.0):
        """Set the parameters from statistics; states without weight keep what they have."""
        raise NotImplementedError

    def n_parameters(self):
        """Number of free parameters."""
        raise NotImplementedError

    def sample(self, path, random_state=None):
        """Draw one row a step of an integer state path, of shape (n_steps, n_features)."""
        raise NotImplementedError

    def fit_supervised(
        self, E, y_index, n_states, weights=None, *, offsets=None, smoothing=0.0, random_state=None
    ):
        """Fit to labelled rows; rows with a negative label are left out."""
        posteriors = one_hot(y_index, n_states, weights)
        self.maximise(self.accumulate(E, posteriors, offsets), smoothing=smoothing)
        return self

    def _check_columns(self, n_columns, *, reset):
        if reset or not hasattr(self, "n_features_in_"):
            self.n_features_in_ = n_columns
        elif n_columns != self.n_features_in_:
            raise ValueError(
                f"X has {n_columns} features, but {type(self).__name__} is expecting "
                f"{self.n_features_in_} features as input."
            )

    def _check_init(self, init, allowed):
        if init not in allowed:
            choices = " or ".join(map(repr, allowed))
            raise ValueError(
                f"init={init!r} cannot start {type(self).__name__} emissions; use {choices}."
            )


def steps_in_part(emission):
    """`part_steps` of an emission; None where a subclass has changed what that speaks of."""
    return emission.part_steps if _speaks_for_itself(type(emission)) else None


@lru_cache
def _speaks_for_itself(kind):
    def home(name):
        return next(i for i, c in enumerate(kind.__mro__) if name in vars(c))

    changed = min(map(home, ("encode", "log_likelihood", "accumulate")))
    return home("part_steps") <= changed


def one_hot(y_index, n_states, weights=None):
    """Posteriors (n, n_states) that put the whole weight of a row on its label."""
    y_index = np.asarray(y_index)
    posteriors = np.zeros((len(y_index), n_states))
    known = np.flatnonzero(y_index >= 0)
    posteriors[known, y_index[known]] = 1.0 if weights is None else np.asarray(weights)[known]
    return posteriors


def is_plain(X):
    """Whether X is an array of rows of finite numbers that can be used as it is."""
    return (
        type(X) is np.ndarray
        and X.ndim == 2
        and X.dtype == np.float64
        and X.flags.c_contiguous
        and all_finite(X)
    )


def read_numeric(X, emission):
    """Rows as a float64 array of shape (n, d); NaN and None stay as NaN, infinity is an error."""
    if getattr(X, "ndim", 2) == 1:
        X = np.asarray(X).reshape(-1, 1)
    try:
        return check_array(
            X, dtype=np.float64, order="C", ensure_all_finite="allow-nan", input_name="X"
        )
    except (TypeError, ValueError) as error:
        if "could not convert" not in str(error):
            raise
        raise ValueError(
            f"{emission} emissions need numbers, but {error}. "
            "For symbols use emission='categorical'."
        ) from error


def given(values, name, *, above=None, at_least=None, rows_sum_to_1=False):
    """Parameters that the user knows, as an array; what they cannot be is an error."""
    values = np.array(values, dtype=np.float64)
    if not np.isfinite(values).all():
        raise ValueError(f"{name} must be finite numbers, got {values.tolist()}.")
    if above is not None and not (values > above).all():
        raise ValueError(f"{name} must be above {above}, got {values.tolist()}.")
    if at_least is not None and not (values >= at_least).all():
        raise ValueError(f"{name} must not be below {at_least}, got {values.tolist()}.")
    if rows_sum_to_1 and (np.abs(values.sum(axis=-1) - 1) > 1e-6).any():
        raise ValueError(f"{name} must sum to 1; the sums are {values.sum(axis=-1).tolist()}.")
    return values


def sum_by(index, values, n_groups):
    """Sum the rows of ``values`` (n, k) with the same index into an (n_groups, k) array."""
    return sum_rows(
        np.ascontiguousarray(index, dtype=np.int32), np.ascontiguousarray(values), n_groups
    )


def normalise_rows(weights):
    """Divide by the sum over the last axis; rows without weight become uniform."""
    total = weights.sum(axis=-1, keepdims=True)
    uniform = 1.0 / max(weights.shape[-1], 1)
    return np.where(total > NEGLIGIBLE, weights / np.where(total > NEGLIGIBLE, total, 1.0), uniform)


def draw_symbols(probabilities, uniforms):
    """Index of the symbol that each uniform number selects from its row of probabilities."""
    cumulative = np.cumsum(probabilities, axis=-1)
    drawn = (cumulative > uniforms[..., None]).argmax(axis=-1)
    # rounding can leave the last cumulative sum just below a uniform number
    beyond = uniforms >= cumulative[..., -1]
    last = probabilities.shape[-1] - 1 - (probabilities[..., ::-1] > 0).argmax(axis=-1)
    return np.where(beyond, last, drawn)
