"""How subclasses written for hmmlearn take part, and attributes that fit may fill in."""

from threading import local

import numpy as np
from sklearn.utils import check_random_state

from .._numbers import is_whole
from ..emissions import Emission, Frames
from ..sequences.forms import holds_sequences

LEARNING_HOOKS = (
    "_do_mstep",
    "_initialize_sufficient_statistics",
    "_accumulate_sufficient_statistics",
)


class Learned:
    """An attribute that `fit` may replace without touching what the user gave.

    hmmlearn writes the number of symbols or trials that it finds into the constructor parameter.
    Reading the attribute gives the same here, but `get_params` and `clone` keep the parameter.
    """

    def __set_name__(self, owner, name):
        self.name = name

    def __get__(self, model, owner=None):
        if model is None:
            return self
        state = vars(model)
        for name in (f"_learned_{self.name}", self.name):
            if name in state:
                return state[name]
        raise AttributeError(f"{type(model).__name__!r} object has no attribute {self.name!r}")

    def __set__(self, model, value):
        forget(model, self.name)
        vars(model)[self.name] = value


def learn(model, name, value):
    """Set what a `Learned` attribute reads as."""
    vars(model)[f"_learned_{name}"] = value


def forget(model, name):
    """Back to what the user gave."""
    vars(model).pop(f"_learned_{name}", None)


_of_thread = local()


def random_numbers(seed):
    """What scikit-learn's `check_random_state` gives, for as long as no other code is called.

    To make a generator takes numpy forty times as long as to seed it, so every thread keeps one.
    """
    if not (is_whole(seed) and 0 <= seed < 2**32):
        return check_random_state(seed)  # or says what is wrong with it
    if not hasattr(_of_thread, "generator"):
        _of_thread.generator = np.random.RandomState()
    _of_thread.generator.seed(seed)
    return _of_thread.generator


def overridden(model, *names):
    """Whether a subclass outside this package (or the instance) defines one of these methods."""
    if not vars(model).keys().isdisjoint(names):
        return True
    if type(model).__module__.startswith("skchmm."):  # at once: this is asked several times a call
        return False
    for name in names:
        home = next(c for c in type(model).__mro__ if name in vars(c))
        if not home.__module__.startswith("skchmm."):
            return True
    return False


# Steps of hmmlearn that have no counterpart here: to override them would change nothing.
NEVER_CALLED = (
    "_accumulate_sufficient_statistics_log",
    "_accumulate_sufficient_statistics_scaling",
    "_compute_posteriors_log",
    "_compute_posteriors_scaling",
    "_estep_begin",
    "_fit_log",
    "_fit_scaling",
    "_score",
    "_score_log",
    "_score_scaling",
)


def refuse_what_is_never_called(kind):
    """Raise if a class outside this package overrides a step that is not taken here."""
    if kind.__module__.startswith("skchmm."):
        return
    wrong = [name for name in NEVER_CALLED if name in vars(kind)]
    if wrong:
        raise TypeError(
            f"{kind.__name__} defines {', '.join(wrong)}, which skchmm.hmm never called: override "
            "_compute_log_likelihood, _accumulate_sufficient_statistics, _do_estep, _do_mstep, "
            "_compute_lower_bound, _decode_viterbi or _decode_map instead."
        )


class HookedEmission(Emission):
    """The likelihood that a subclass computes, sequence by sequence, as an emission.

    Parameters
    ----------
    model : BaseHMM
    emission : Emission or None
        The emission of the class it derives from, which collects the statistics.
    """

    def __init__(self, model, emission=None):
        self.model = model
        self.emission = emission

    def encode(self, X, offsets=None, *, reset):
        rows = as_rows(X)
        pieces = [rows] if offsets is None else np.split(rows, offsets[1:-1])
        if self.emission is None:
            return pieces, None
        return pieces, self.emission.encode(X, offsets, reset=False)

    def log_likelihood(self, E):
        pieces, _ = E
        return Frames(np.concatenate([self.model._compute_log_likelihood(X) for X in pieces]))

    def accumulate(self, E, posteriors, offsets=None):
        _, encoded = E
        return {} if encoded is None else self.emission.accumulate(encoded, posteriors, offsets)

    def sample(self, path, random_state=None):
        rows = [self.model._generate_sample_from_state(state, random_state) for state in path]
        return np.atleast_2d(rows)


def as_rows(X):
    """Rows as the 2-d array that the hooks take."""
    X = np.asarray(X)
    return X[:, None] if X.ndim == 1 else X


def stacked(X, lengths, one_column):
    """A list of rows, each a 1-d array, as one array; anything else as it is.

    With one column, 1-d arrays are sequences of symbols, unless there are lengths or every one of
    them holds a single symbol.
    """
    if not isinstance(X, (list, tuple)) or not all(
        isinstance(row, np.ndarray) and row.ndim == 1 for row in X
    ):
        return X
    sizes = {len(row) for row in X}
    if len(sizes) != 1 or (one_column and lengths is None and sizes != {1}):
        return X
    return np.stack(X)


def accumulate_by_sequence(model, emission, statistics, data, part):
    """Let a subclass look at one sequence after the other, as hmmlearn does."""
    chain, log_z = model._learning_chain(), np.empty(data.sequences.n_sequences)
    frames, rows = emission.log_likelihood(part.encoded), as_rows(data.sequences.X)
    model._check_underflow(frames)
    scaling = model.implementation == "scaling"
    for s, (begin, end) in enumerate(data.sequences.ranges):
        mine, weight = frames.part(begin, end), data.weights[s : s + 1]
        held = mine if data.known is None else mine.clamp(data.known.part(begin, end))
        smoothed = chain.smooth(held, np.array([0, end - begin]), seq_weights=weight, counts=True)
        log_z[s] = smoothed.log_z[0]
        if weight[0] == 0 or log_z[s] == -np.inf:
            continue
        lattice, there = mine.dense(), (None, None)
        if scaling:
            lattice = np.exp(lattice)
        if not model.constraints_:
            there = lattices(lattice, chain.start, chain.transmat, scaling)
        model._skchmm_transitions = smoothed.counts.transitions
        posteriors = smoothed.posteriors * weight[0]
        model._accumulate_sufficient_statistics(
            statistics, rows[begin:end], lattice, posteriors, *there
        )
    model._skchmm_transitions = None
    return model._objective(log_z, data, emission)


def lattices(lattice, startprob, transmat, scaling):
    """hmmlearn's forward and backward lattices (T, S) of one sequence.

    alpha_t(j) = b_t(j) sum_i alpha_{t-1}(i) P(i, j); beta_t(i) = sum_j P(i, j) b_{t+1}(j)
    beta_{t+1}(j). With `scaling`, `lattice` holds likelihoods and every row is divided by the sum
    of that of alpha; otherwise it holds logarithms, and so do the results. O(T S^2).
    """
    b = lattice if scaling else np.exp(lattice - lattice.max(axis=1, keepdims=True))
    T, alpha, beta, scale = len(b), np.empty(b.shape), np.empty(b.shape), np.empty(len(b))
    now = startprob * b[0]
    for t in range(T):
        if t > 0:
            now = (alpha[t - 1] @ transmat) * b[t]
        scale[t] = 1.0 / now.sum()
        alpha[t] = now * scale[t]
    beta[-1] = scale[-1]
    for t in range(T - 2, -1, -1):
        beta[t] = transmat @ (b[t + 1] * beta[t + 1]) * scale[t]
    if scaling:
        return alpha, beta
    with np.errstate(divide="ignore"):
        log_scale = np.cumsum(lattice.max(axis=1) - np.log(scale))
        log_beta = np.log(beta) + log_scale[-1] - log_scale[:, None] - np.log(scale)[:, None]
        return np.log(alpha) + log_scale[:, None], log_beta


def labels_or_lengths(X, y, lengths):
    """Tell scikit-learn's fit(X, y) from hmmlearn's fit(X, lengths): (y, lengths).

    Labels have one entry a row. Lengths could only have as many if all were 1, so whole numbers
    are lengths if there are more or fewer of them than rows, or if all are 1.
    """
    if y is None or lengths is not None or holds_sequences(X):
        return y, lengths
    if getattr(X, "shape", None) == () or not hasattr(X, "__len__"):
        return y, lengths  # no rows: what reads them says so
    try:
        values = np.asarray(y)
    except ValueError:  # lists of different lengths
        values = np.empty((0, 0))
    n = X.shape[0] if hasattr(X, "shape") else len(X)
    if values.ndim != 1 or (values.dtype.kind == "f" and len(values) != n):
        raise ValueError(
            f"The second argument must be lengths, whole numbers that sum to the {n} rows of X, or "
            f"labels, one per row; got {y!r}."
        )
    if values.dtype.kind not in "iu":
        return y, lengths
    return (None, values.tolist()) if len(values) != n or (values == 1).all() else (y, None)


def underflow():
    return ValueError(
        "The scaled recursions underflow: some step is next to impossible in every state. Use "
        "implementation='log'."
    )
