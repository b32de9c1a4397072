"""EM: the loop, its progress, and its E-step, some sequences at a time."""

from dataclasses import dataclass
from functools import cached_property, partial, wraps
from importlib.util import find_spec
from time import perf_counter
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ..controller.progress import duration
from ..emissions.base import check_frames
from ..exceptions import warn
from ..inference.schedule import Allowed, each, ranges_of, steps_at_once, threads_of
from ..sequences.aligned import read_step_weights, read_weights
from ..sequences.forms import Sequences
from ..sequences.labels import Known
from .statistics import Statistics, digest, digest_of_rows


# scikit-learn imports its callbacks with all that draws their progress bar, which takes as long as
# to import this whole package. So they are imported where there are some.
def _has_callbacks(estimator):
    """Whether it was given callbacks, or is fitted by another estimator that may have some."""
    return hasattr(estimator, "_skl_callbacks") or hasattr(estimator, "_parent_callback_ctx")


def with_callbacks(method):
    """A `fit` that ends with what callbacks do in the end, however it ends."""

    @wraps(method)
    def managed(self, *args, **kwargs):
        if not _has_callbacks(self):
            return method(self, *args, **kwargs)
        from sklearn import callback

        return callback.with_callbacks(method)(self, *args, **kwargs)

    return managed


class CallbacksMixin:
    """scikit-learn's `CallbackSupportMixin`, which is imported when it is asked for."""

    if find_spec("sklearn.callback") is not None:  # scikit-learn >= 1.9

        def set_callbacks(self, *callbacks: Any) -> Self:
            """Set the callbacks that `fit` calls, such as scikit-learn's progress bar.

            Parameters
            ----------
            *callbacks : callbacks of scikit-learn
                None: there are none from now on.

            Returns
            -------
            self
            """
            from sklearn import callback

            callback.CallbackSupportMixin.set_callbacks(self, *callbacks)
            return self

    def _init_callback_context(self, max_subtasks):
        if not _has_callbacks(self):
            return None
        from sklearn import callback

        new_context = callback.CallbackSupportMixin._init_callback_context
        return new_context(self, max_subtasks=max_subtasks)


class Progress:
    """Tells callbacks and the terminal how far a fit is.

    To callbacks the fit is a task made of iterations or, with several starts, of starts that are
    made of iterations. Every task begins before its subtasks do: scikit-learn's progress bar
    relies on that.

    Parameters
    ----------
    estimator : the estimator being fitted
    iterations : range
        The numbers of the iterations of one start, if none ends early.
    n_starts : int
    what : str
        What an iteration is called.
    verbose : int
    """

    def __init__(self, estimator, iterations, *, n_starts=1, what="EM iteration", verbose=0):
        self.estimator = estimator
        self.iterations = iterations
        self.n_starts = n_starts
        self.what = what
        self.verbose = verbose
        self._start = self._done = 0
        self._since = perf_counter()
        n_tasks = n_starts if n_starts > 1 else len(iterations)
        self._tasks = []  # the running ones that a callback sees, outermost first
        whole = estimator._init_callback_context(max_subtasks=n_tasks)
        if hasattr(estimator, "_skl_callbacks"):
            self._run(whole)

    def starts(self):
        """The number of each start, until all are done or a callback asks to stop."""
        for start in range(self.n_starts):
            self._start = start
            if self.n_starts == 1:
                yield 0
                return
            self._begin("start", len(self.iterations))
            yield start
            if self._end():
                return

    def begin(self):
        self._begin(self.what, 0)

    def end(self, iteration, value, change):
        """Report an iteration; True if a callback asks to stop."""
        self._done += 1
        if self.verbose:
            delta = "" if change is None else f"  ({change:+.3e})"
            where = f"start {self._start + 1} of {self.n_starts}, " if self.n_starts > 1 else ""
            last, left = self.iterations[-1], self._most_left(iteration)
            number = f"{iteration:{len(str(last))}d} of {last}"
            until = f"  at most {duration(left)} left" if left >= 1 else ""
            print(f"{where}{self.what} {number}  {value:.6f}{delta}{until}", flush=True)
        return self._end()

    def close(self):
        """The fit is done."""
        self._end()

    def _most_left(self, iteration):
        """Seconds until the end if no start converges before its last iteration."""
        pace = (perf_counter() - self._since) / self._done
        later = (self.n_starts - self._start - 1) * len(self.iterations)
        return pace * (self.iterations[-1] - iteration + later)

    def _begin(self, name, n_subtasks):
        if self._tasks:
            self._run(self._tasks[-1].subcontext(task_name=name, max_subtasks=n_subtasks))

    def _run(self, task):
        if task is not None:
            task.call_on_fit_task_begin(estimator=self.estimator)
            self._tasks.append(task)

    def _end(self):
        if not self._tasks:
            return False
        return bool(self._tasks.pop().call_on_fit_task_end(estimator=self.estimator))


def run_em(start, e_step, m_step, *, n_iter, tol, progress, log_prior, keep, first=None):
    """Iterate until the objective gains less than ``tol`` relative to its size.

    Ends with an E-step, so that the last entry of the history belongs to the final parameters. An
    M-step after which the objective is lower was lost in rounding, as that of a covariance which
    is nearly singular: it is taken back, and there is nothing more to gain.

    Parameters
    ----------
    start : object
        Whatever e_step takes.
    e_step : callable
        parameters -> Statistics
    m_step : callable
        (parameters, statistics) -> parameters
    log_prior : callable
        parameters -> the log density of their prior, which is added to the log-likelihood
    keep : callable
        (parameters, history, converged, statistics); called before an iteration is reported, so
        that an interrupt or a callback finds it complete.
    first : Statistics, optional
        Of the start, where they are known.

    Returns
    -------
    parameters, history (list of float), converged (bool)
    """
    parameters, history, converged, before = start, [], False, None
    for iteration in range(n_iter + 1):
        progress.begin()
        statistics = first if first is not None and iteration == 0 else e_step(parameters)
        value = statistics.log_likelihood + log_prior(parameters)
        change = value - history[-1] if history else None
        if change is not None and fell(change, value):
            if -change > tol * max(abs(value), 1.0):
                warn(lost_to_rounding(-change, iteration - 1), ConvergenceWarning)
            (parameters, statistics), value, change = before, history[-1], 0.0
        else:
            history.append(value)
        if change is not None and abs(change) <= tol * max(abs(value), 1.0):
            converged = True
        keep(parameters, history, converged, statistics)
        stop = progress.end(iteration, value, change)
        if converged or stop or iteration == n_iter:
            break
        before = parameters, statistics
        parameters = m_step(parameters, statistics)
    return parameters, history, converged


def fell(change, value):
    """Whether an objective has become lower, by more than the rounding of its sum."""
    return change < -1e-9 * max(abs(value), 1.0)


def lost_to_rounding(lost, iteration):
    """Why EM stops where its objective has fallen."""
    return (
        f"EM stopped after {iteration} iterations: the next would have lowered its objective by "
        f"{lost:.3g}. Where covariances are nearly singular, rounding does that: raise min_covar, "
        "or use fewer states. An emission of your own must maximise what it is given."
    )


def warn_not_converged(n_iter, estimator):
    warn(
        f"EM did not converge in n_iter={n_iter} iterations. Raise n_iter or tol, or look at "
        f"history_ of the {type(estimator).__name__}.",
        ConvergenceWarning,
    )


@dataclass(frozen=True)
class Data:
    """What a fit or an E-step looks at, read once."""

    sequences: Sequences
    sample_weight: object
    known: Known | None  # what is known of the labels
    encoded: object = None  # the rows as the emission takes them

    @property
    def offsets(self):
        return self.sequences.offsets

    @cached_property
    def codes(self):
        """State index of each step, -1 where it is not known."""
        return None if self.known is None else np.maximum(self.known.codes, -1)

    @cached_property
    def step_weights(self):
        """One per step; only learning from labels asks for them."""
        return read_step_weights(self.sample_weight, self.sequences)

    @cached_property
    def weights(self):
        """One per sequence."""
        if self.sample_weight is None:
            return np.ones(self.sequences.n_sequences)
        return read_weights(self.sample_weight, self.sequences)

    @cached_property
    def n_labels(self):
        """How many labels are known."""
        return 0 if self.codes is None else int(np.count_nonzero(self.codes >= 0))

    @property
    def is_labelled(self):
        """Whether all labels are known."""
        return self.codes is not None and self.n_labels == len(self.codes)

    @property
    def has_labels(self):
        """Whether any label is known."""
        return self.n_labels > 0

    @property
    def groups(self):
        """The ids of the first and the last sequence, where they have some."""
        ids = self.sequences.ids
        return None if ids is None else (ids[0], ids[-1])

    @cached_property
    def key(self):
        """A digest of all of it; None where that would take long."""
        rows = digest_of_rows(self.sequences.X)
        if rows is None:
            return None
        times = self.sequences.times
        gaps = None if times is None else times.gaps
        known = (None, None) if self.known is None else self.known
        parts = [None if v is None else digest_of_rows(v) for v in (*known, gaps)]
        return digest(rows, *parts, self.offsets, self.weights)

    def statistics(self, values, log_likelihood):
        """Statistics of these sequences with these sums."""
        return Statistics(
            values, log_likelihood, self.sequences.n_sequences, self.sequences.n_steps,
            self.n_labels, groups=self.groups,
        )  # fmt: skip


class Part(NamedTuple):
    """Some of the sequences that EM learns from."""

    encoded: object
    offsets: np.ndarray
    weights: np.ndarray  # one per sequence
    known: Known | None  # what is known of the labels
    gaps: np.ndarray | None  # since the step before, in continuous time


class Expected(NamedTuple):
    """What the M-step looks at."""

    smoothed: tuple  # what the chain gives; of several parts, without posteriors
    starts: np.ndarray  # (S,) expected first states
    statistics: dict  # of the emission


def parts_of(emission, data, n_states, n_jobs, *, least):
    """The data in parts of at least `least` steps, or as one where that is None."""
    times = data.sequences.times
    gaps = None if times is None else times.gaps
    whole = Part(data.encoded, data.offsets, data.weights, data.known, gaps)
    if least is None:
        return [whole]
    n_threads = 1 if emission._shares_work else threads_of(n_jobs, data.offsets[-1])
    ranges = ranges_of(data.offsets, n_threads, least=least, most=steps_at_once(8 * n_states))
    return [whole] if len(ranges) == 1 else [_part(emission, data, *r) for r in ranges]


def _part(emission, data, begin, end):
    sequences = data.sequences.part(begin, end)
    known = data.known
    if known is not None:
        known = known.part(data.offsets[begin], data.offsets[end])
    if hasattr(data.encoded, "part"):
        encoded = data.encoded.part(data.offsets[begin], data.offsets[end])
    else:
        encoded = emission.encode(sequences.X, sequences.offsets, reset=False)
    gaps = None if sequences.times is None else sequences.times.gaps
    return Part(encoded, sequences.offsets, data.weights[begin:end], known, gaps)


def expect(chain, emission, parts, n_jobs, *, accumulate, check=None):
    """Expectations under the chain and the emission.

    Parameters
    ----------
    accumulate : callable or None
        (part, frames, weighted posteriors) -> statistics; None where nothing is learned from them.
    check : callable, optional
        May refuse frames.
    """
    one, n_threads = len(parts) == 1, threads_of(n_jobs, sum(part.offsets[-1] for part in parts))

    def run(part, n_jobs=None):
        frames = emission.log_likelihood(part.encoded)
        check_frames(frames)
        if check is not None:
            check(frames)
        if part.gaps is not None:
            frames = frames.with_gaps(part.gaps)
        held = frames if part.known is None else frames.clamp(part.known)
        if part.gaps is not None:
            held = chain.with_entries(held, part.offsets)
        smoothed = chain.smooth(
            held, part.offsets, seq_weights=part.weights, counts=True, n_jobs=n_jobs
        )
        return _collect(smoothed, frames, part, accumulate, keep=one)

    if one or emission._shares_work:
        with Allowed(n_threads):
            found = [run(part, n_jobs) for part in parts]
    else:
        found = each([partial(run, part) for part in parts], n_threads)
    return found[0] if one else _added(found)


def _collect(smoothed, frames, part, accumulate, *, keep):
    """What is expected of a part; nothing where it has a sequence that is infeasible."""
    weights, posteriors = part.weights, smoothed.posteriors
    kept = smoothed if keep else smoothed._replace(posteriors=None)
    if accumulate is None or np.isneginf(smoothed.log_z[weights > 0]).any():
        return Expected(kept, np.zeros(posteriors.shape[1]), {})
    if (weights == 0).any():
        posteriors = np.nan_to_num(posteriors)
    starts = posteriors[part.offsets[:-1]].T @ weights
    if (weights != 1).any():
        posteriors = posteriors * np.repeat(weights, np.diff(part.offsets))[:, None]
    return Expected(kept, starts, accumulate(part, frames, posteriors))


def accumulation(emission):
    """How the statistics of an emission are collected."""
    if emission.needs_labels:
        return lambda part, frames, posteriors: {}
    return lambda part, frames, posteriors: emission.accumulate(
        part.encoded, posteriors, part.offsets
    )


def _added(found):
    smoothed = [part.smoothed for part in found]
    statistics = [part.statistics for part in found if part.statistics]
    counts = smoothed[0].counts
    return Expected(
        smoothed[0]._replace(
            log_z=np.concatenate([part.log_z for part in smoothed]),
            counts=type(counts)(*map(sum, zip(*(part.counts for part in smoothed)))),
        ),
        sum(part.starts for part in found),
        {name: sum(part[name] for part in statistics) for name in (statistics or [{}])[0]},
    )


def emission_part(values):
    """The sums of the emission among those of Statistics."""
    return {k.removeprefix("emission "): v for k, v in values.items() if k.startswith("emission ")}
