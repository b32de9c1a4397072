"""What every emission shares: the protocol, the frames it returns, checks of what it is given."""

from collections.abc import Collection, Hashable
from functools import lru_cache
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from .._kernels.data.finite import all_finite
from .._kernels.data.statistics import sum_rows
from ..sequences.labels import Known
from ..sequences.values import as_array, as_numbers

# Below this total weight a ratio of sums is dominated by denormal rounding.
NEGLIGIBLE = 1e-280
# Sums of log-likelihoods below this keep enough digits (inference/levels.py).
HUGE = 1e9


class Frames:
    """Log-likelihoods of a run of steps under every state.

    Parameters
    ----------
    table : ndarray of shape (n_rows, n_states), float64, C-contiguous
    index : ndarray of shape (n_steps,) or None
        Row of ``table`` of each step; ``None`` means that row t is step t.
    bounded : bool
        Whether it is known that nothing in ``table`` is NaN or +inf.
    gaps : ndarray of shape (n_steps,) or None
        The time since the step before, in continuous time.
    """

    __slots__ = ("_index", "_table", "bounded", "gaps")

    def __init__(
        self,
        table: np.ndarray,
        index: np.ndarray | None = None,
        *,
        bounded: bool = False,
        gaps: np.ndarray | None = None,
    ) -> None:
        self._table = found = np.ascontiguousarray(table, dtype=np.float64)
        if found.ndim != 2:
            raise ValueError(
                "The table of frames has one row per step and one column per state; got "
                f"{np.ndim(table)} dimensions."
            )
        self._index = None if index is None else _rows_of(index, len(found))
        self.bounded = bounded
        self.gaps = gaps

    # Kernels look rows up without a check, so neither can be replaced.
    @property
    def table(self) -> np.ndarray:
        return self._table

    @property
    def index(self) -> np.ndarray | None:
        return self._index

    @property
    def n_steps(self) -> int:
        return len(self._table if self._index is None else self._index)

    @property
    def n_states(self) -> int:
        return self._table.shape[1]

    @property
    def huge(self) -> bool:
        """Whether some log-likelihood is so large or small that sums with it lose digits."""
        # of the whole table numpy finds them many times as fast as of rows
        table = self._table
        return table.max(initial=-np.inf) > HUGE or table.min(initial=np.inf) < -HUGE

    def with_gaps(self, gaps: np.ndarray | None) -> "Frames":
        """These frames with the times since the steps before."""
        return frames_in_range(self.table, self.index, bounded=self.bounded, gaps=gaps)

    def part(self, begin: int, end: int) -> "Frames":
        """The frames of steps begin..end-1."""
        if end - begin == self.n_steps:
            return self
        gaps = None if self.gaps is None else self.gaps[begin:end]
        if self.index is None:
            return Frames(self.table[begin:end], bounded=self.bounded, gaps=gaps)
        return frames_in_range(self.table, self.index[begin:end], bounded=self.bounded, gaps=gaps)

    def of_sequences(self, offsets: np.ndarray, begin: int, end: int) -> "Frames":
        """The frames of sequences begin..end-1."""
        return self.part(offsets[begin], offsets[end])

    def whole(self) -> "Frames":
        """These frames; of `PendingFrames`, those of all sequences."""
        return self

    def dense(self) -> np.ndarray:
        """The (n_steps, n_states) log-likelihoods."""
        return self.table if self.index is None else self.table[self.index]

    def impossible_step(self, begin: int = 0, end: int | None = None) -> int | None:
        """The first of steps begin..end-1 that no state can have produced, counted from begin."""
        end = self.n_steps if end is None else end
        if self.index is None:
            impossible = np.all(np.isneginf(self.table[begin:end]), axis=1)
        else:
            impossible = np.all(np.isneginf(self.table), axis=1)[self.index[begin:end]]
        return int(impossible.argmax()) if impossible.any() else None

    def clamp(self, known: Known | ArrayLike | None) -> "Frames":
        """Frames in which a step allows only the states that it is known to be in.

        `known` may also be the number of the state of each step, -1 where it is not known.
        """
        if known is not None and not isinstance(known, Known):
            known = Known(np.asarray(known), np.empty((0, self.n_states), dtype=bool))
        if known is None or (known.codes == -1).all():
            return self
        return Frames(known.impose(self.dense()), gaps=self.gaps)


def _rows_of(index, n_rows):
    index = np.asarray(index)
    if index.ndim != 1 or index.dtype.kind not in "iu":
        raise ValueError(
            "The index of frames is a 1-d array of integers, one row of the table a step; got "
            f"{index.ndim} dimensions of {index.dtype.name}."
        )
    if len(index) and not (index.min() >= 0 and index.max() < n_rows):
        wrong = int(np.argmax((index < 0) | (index >= n_rows)))
        raise ValueError(
            f"The index of frames has {index[wrong]} at step {wrong}, but the table has the rows "
            f"0 to {n_rows - 1}."
        )
    # one of its own: that of the user may change
    index = np.array(index, dtype=np.int32)
    index.setflags(write=False)
    return index


def frames_in_range(table, index, *, bounded=False, gaps=None):
    """Frames of a table and an index that are as kernels take them; they are not looked at."""
    frames = Frames.__new__(Frames)
    frames._table, frames._index, frames.bounded, frames.gaps = table, index, bounded, gaps
    return frames


class PendingFrames:
    """Frames that are computed where they are needed, some sequences at a time.

    Parameters
    ----------
    frames_of : callable
        (begin, end) -> Frames of sequences begin..end-1
    n_sequences, n_steps, n_states : int
    row_bytes : int
        What the frames of a step take, and what they are computed from.
    least : int or None
        Fewer steps are not worth a call. None: calls share their work among threads themselves,
        and follow one another.
    """

    __slots__ = ("frames_of", "least", "n_sequences", "n_states", "n_steps", "row_bytes")

    def __init__(self, frames_of, n_sequences, n_steps, n_states, row_bytes, least):
        self.frames_of = frames_of
        self.n_sequences = n_sequences
        self.n_steps = n_steps
        self.n_states = n_states
        self.row_bytes = row_bytes
        self.least = least

    def of_sequences(self, offsets, begin, end):
        try:
            return self.frames_of(begin, end)
        except (TypeError, ValueError):
            self.whole()  # messages count the rows of all sequences
            raise

    def whole(self):
        return self.frames_of(0, self.n_sequences)


def check_frames(frames):
    """What an emission returned, if it is frames."""
    if not isinstance(frames, (Frames, PendingFrames)):
        raise TypeError(
            f"log_likelihood of an emission must return Frames, not {type(frames).__name__}; write "
            "skchmm.emissions.Frames(table)."
        )
    return frames


def check_size(frames, n_states, n_steps):
    """Refuse what an emission returned if it is not frames of this size."""
    if type(frames) is not Frames:
        check_frames(frames)
    if frames.n_states != n_states:
        raise ValueError(
            f"The emission has {frames.n_states} states, but the chain has {n_states}."
        )
    if frames.n_steps != n_steps:
        raise ValueError(
            f"The emission gives the log-likelihoods of {frames.n_steps} steps, but there are "
            f"{n_steps}."
        )


class Emission(BaseEstimator):
    """Base class of the emissions: how a state produces what is observed at a step.

    ``encode`` checks raw rows and turns them into a private form E, which all other methods take.
    ``log_likelihood`` scores them; ``accumulate`` and ``maximise`` are the two halves of learning:
    additive statistics under given state posteriors, and the parameters that fit them best.

    See Also
    --------
    Categorical : Symbols.
    Gaussian : Numbers, one Gaussian per state.
    """

    default_init = "random"
    needs_labels = False  # True: cannot be learned by EM, only from labelled rows
    finds_columns = False  # True: looks columns of a dataframe up by name, in any order
    # The fewest steps that are worth a call of their own. None: what a row gives may depend, be it
    # in the last bit, on the sequences that come with it, or only one thread may ask at a time.
    part_steps: int | None = None
    _shares_work = False  # True: to encode and to score rows, kernels use all threads there are
    _as_hmmlearn = (
        False  # True: reproduce hmmlearn's numerics where they are not maximum likelihood
    )

    def _row_bytes(self, n_states):
        """What the frames of a step take, and what they are computed from."""
        return 8 * n_states

    def name_states(self, states: Collection[Hashable]) -> None:
        """Tell the labels of the states, in their order, before any rows are encoded."""

    def encode(self, X: Any, offsets: np.ndarray | None = None, *, reset: bool) -> Any:
        """Check rows and turn them into the form the other methods take."""
        raise NotImplementedError

    def initialise(
        self,
        E: Any,
        offsets: np.ndarray | None,
        n_states: int,
        *,
        init: str,
        random_state: Any = None,
    ) -> None:
        """Set start values for EM."""
        raise NotImplementedError

    def log_likelihood(self, E: Any) -> Frames:
        """Log-likelihood of every step under every state, as `Frames`."""
        raise NotImplementedError

    def accumulate(
        self, E: Any, posteriors: np.ndarray, offsets: np.ndarray | None = None
    ) -> dict[str, Any]:
        """Sufficient statistics: a dict of arrays that add up over disjoint sets of sequences."""
        raise NotImplementedError

    def maximise(self, statistics: dict[str, Any], *, smoothing: float = 0.0) -> None:
        """Set the parameters from statistics; states without weight keep what they have."""
        raise NotImplementedError

    def estimate(self, statistics: dict[str, Any], *, smoothing: float = 0.0) -> None:
        """Set the parameters from statistics of labelled rows, whatever they were before."""
        self.maximise(statistics, smoothing=smoothing)

    def log_prior(self, *, smoothing: float = 0.0) -> float:
        """Log density, up to a constant, of the prior with which `maximise` finds parameters."""
        return 0.0

    def n_parameters(self) -> int:
        """Number of free parameters."""
        raise NotImplementedError

    def scales(self) -> dict[str, Any]:
        """Parameters -> the `Scale` on which each has no bounds; none where nothing is learned."""
        return {}

    def sample(self, path: ArrayLike, random_state: Any = None) -> np.ndarray:
        """Draw one row per step of an integer state path, of shape (n_steps, n_features)."""
        raise NotImplementedError

    def fit_supervised(
        self,
        E: Any,
        y_index: ArrayLike,
        n_states: int,
        weights: ArrayLike | None = None,
        *,
        offsets: np.ndarray | None = None,
        smoothing: float = 0.0,
        random_state: Any = None,
    ) -> Self:
        """Fit to labelled rows; rows with a negative label are left out."""
        posteriors = one_hot(y_index, n_states, weights)
        self.estimate(self.accumulate(E, posteriors, offsets), smoothing=smoothing)
        return self

    def _check_columns(self, n_columns, *, reset):
        if n_columns == 0:
            raise ValueError("Found array with 0 feature(s) while a minimum of 1 is required.")
        if reset:
            self.n_features_in_ = n_columns
        elif n_columns != getattr(self, "n_features_in_", n_columns):
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
    y_index = check_labels(y_index, n_states)
    posteriors = np.zeros((len(y_index), n_states))
    known = np.flatnonzero(y_index >= 0)
    if weights is not None:
        weights = check_weights(weights, len(y_index))[known]
    posteriors[known, y_index[known]] = 1.0 if weights is None else weights
    return posteriors


def check_labels(y_index, n_states):
    """State numbers, negative where they are not known, as an array."""
    y_index = as_array(y_index, "y_index")
    if y_index.ndim != 1 or (y_index.dtype.kind not in "iu" and len(y_index)):
        raise ValueError(
            "The labels of an emission are a 1-d array of integers, 0 for the first state, -1 "
            f"where a label is not known; got {y_index.ndim} dimensions of {y_index.dtype.name}."
        )
    if y_index.max(initial=-1) >= n_states:
        raise ValueError(
            f"There is a state number {y_index.max()}, but there are {n_states} states, from 0 on."
        )
    return y_index.astype(np.int64, copy=False)


def check_path(path, n_states):
    """State numbers of a path as an array."""
    path = check_labels(path, n_states)
    if path.min(initial=0) < 0:
        raise ValueError(f"A path has states from 0 to {n_states - 1}; got {path.min()}.")
    return path


def check_weights(weights, n_steps):
    """One weight per step, as an array."""
    weights = as_numbers(weights, "weights")
    if weights.shape != (n_steps,):
        raise ValueError(f"weights has shape {weights.shape}; expected ({n_steps},), one per step.")
    return weights


def check_posteriors(posteriors, n_steps):
    """Posteriors (n_steps, n_states) as the kernels take them."""
    posteriors = np.ascontiguousarray(posteriors, dtype=np.float64)
    if posteriors.ndim != 2 or len(posteriors) != n_steps:
        raise ValueError(
            f"The posteriors have shape {posteriors.shape}, but there are {n_steps} steps: "
            "expected one row per step and one column per state."
        )
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


def given(values, name, *, ndim=None, above=None, at_least=None, rows_sum_to_1=False):
    """Parameters that the user knows, as an array; what they cannot be is an error."""
    values = as_numbers(values, name).copy()
    if values.size == 0 or (ndim is not None and values.ndim != ndim):
        raise ValueError(
            f"{name} must be an array of {ndim} dimensions, one row per state; it has the shape "
            f"{values.shape}."
        )
    if not np.isfinite(values).all():
        raise ValueError(f"{name} must be finite numbers, got {values.tolist()}.")
    if above is not None and not (values > above).all():
        raise ValueError(f"{name} must be above {above}, got {values.tolist()}.")
    if at_least is not None and not (values >= at_least).all():
        raise ValueError(f"{name} must not be below {at_least}, got {values.tolist()}.")
    if rows_sum_to_1 and (np.abs(values.sum(axis=-1) - 1) > 1e-6).any():
        raise ValueError(f"{name} must sum to 1; the sums are {values.sum(axis=-1).tolist()}.")
    return values


def numbers_of(values, name):
    """Like `as_numbers`, without a copy of what is a plain array of them."""
    if type(values) is np.ndarray and values.dtype == np.float64:
        return values
    return as_numbers(values, name)


def learned(emission, name, ndim=None, n_columns=None):
    """A learned parameter as an array; one that was replaced or damaged may not have its shape."""
    values = numbers_of(getattr(emission, name), name)
    if ndim is None:
        return values
    if values.ndim != ndim or (n_columns is not None and values.shape[-1] != n_columns):
        columns = "" if n_columns is None else f" with {n_columns} columns, as X has,"
        raise ValueError(
            f"{name} of {emission} must be an array of {ndim} dimensions{columns} and one row per "
            f"state; it has the shape {values.shape}."
        )
    return values


def sum_by(index, values, n_groups):
    """Sum the rows of ``values`` (n, k) with the same index into an (n_groups, k) array."""
    values = check_posteriors(values, len(index))
    return sum_rows(np.ascontiguousarray(index, dtype=np.int32), values, n_groups)


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
