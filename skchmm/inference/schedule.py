"""Who works on which sequences: ranges of them, Python threads, and parts that are scored late."""

import os
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache, partial
from itertools import chain as joined
from itertools import pairwise
from operator import index

import numpy as np
from joblib import cpu_count
from joblib.parallel import get_active_backend
from threadpoolctl import ThreadpoolController

from .._kernels.shared.interrupt import Together
from .._kernels.shared.threads import Allowed
from ..emissions.base import PendingFrames
from ..graph.augmented import WIDTH
from .settings import settings

MOST_THREADS = 1024


# ------------------------------------------------------------------- threads
def threads_of(n_jobs, n_steps=0):
    """How many threads a number of jobs stands for, as elsewhere in scikit-learn.

    None stands for what ``joblib.parallel_config`` says, otherwise for one; with few steps, for one
    without a question. Under joblib's sequential backend there is always one.
    """
    if n_jobs is None:
        if n_steps < settings.threaded_steps:
            return 1
    else:
        n_jobs = index(n_jobs)
        if n_jobs == 0:
            raise ValueError("n_jobs == 0 has no meaning: give a number of threads, or -1 for all.")
        if n_jobs == 1:
            return 1
    backend, configured = get_active_backend()
    wanted = configured if n_jobs is None else n_jobs
    if wanted is None or type(backend).__name__ == "SequentialBackend":
        return 1
    if n_jobs is not None and n_jobs > 0:
        return min(n_jobs, MOST_THREADS)
    # what a configuration says may be meant for a cluster
    return min(wanted, _n_available()) if wanted > 0 else max(_n_available() + 1 + wanted, 1)


def _n_available():
    """Processors that this process may keep busy.

    Workers of joblib, Dask and Ray are told by OMP_NUM_THREADS what their share is.
    """
    limits = [_n_processors()]
    told = os.environ.get("OMP_NUM_THREADS", "").split(",")[0]
    if told.isdigit() and int(told) > 0:
        limits.append(int(told))
    limits += [each["num_threads"] for each in _pools().info() if each["user_api"] == "openmp"]
    return max(1, min(limits))


@lru_cache(maxsize=1)
def _pools():
    return ThreadpoolController()


def spread(run, offsets, n_jobs):
    """The results of run(begin, end) for ranges of sequences, one range per thread."""
    n_threads = threads_of(n_jobs, offsets[-1])
    return each([partial(run, *part) for part in ranges_of(offsets, n_threads)], n_threads)


def ranges_of(offsets, n_threads, *, least=1, most=None):
    """Ranges of sequences, (begin, end), of about equal numbers of steps.

    There is one per thread; more where they would have more than `most` steps; fewer where they
    would have less than `least`, which takes precedence.
    """
    n_sequences, n_steps = len(offsets) - 1, int(offsets[-1] - offsets[0])
    n_ranges = n_threads
    if most is not None and n_steps > most * n_threads:
        n_ranges = -(-n_steps // (most * n_threads)) * n_threads
    n_ranges = max(1, min(n_ranges, n_sequences, n_steps // least))
    if n_ranges == 1:
        return [(0, n_sequences)]
    shares = [offsets[0] + n_steps * i // n_ranges for i in range(1, n_ranges)]
    cuts = [0, *offsets.searchsorted(shares).tolist(), n_sequences]
    return [(a, b) for a, b in pairwise(cuts) if a < b]


def each(jobs, n_threads):
    """The results of all jobs. This thread and some of a pool take one after the other."""
    n_threads = min(n_threads, len(jobs))
    if n_threads <= 1:
        return [job() for job in jobs]
    results = [None] * len(jobs)
    left = deque(range(len(jobs)))

    def take():
        try:
            return left.popleft()
        except IndexError:
            return None

    def work():
        try:
            for i in iter(take, None):
                results[i] = jobs[i]()
        finally:
            left.clear()  # after an error, nobody begins another one

    pool, together = _pool(os.getpid()), Together()
    futures = [pool.submit(together.run, work) for _ in range(n_threads - 1)]
    try:
        with Allowed(1):
            together.run(work)
        for future in futures:
            # nobody waits for what no thread has begun: all of them may be waiting themselves
            if not future.cancel():
                future.result()
        return results
    except BaseException:
        together.stop()
        raise
    finally:
        for future in futures:  # after an error, none may go on writing
            if not future.cancel():
                future.exception()


@lru_cache(maxsize=1)
def _n_processors():
    return cpu_count()


@lru_cache(maxsize=1)
def _pool(process):
    """Threads that live from call to call; threads do not survive a fork."""
    return ThreadPoolExecutor(os.cpu_count(), thread_name_prefix="skchmm")


# --------------------------------------------------------------------- parts
def steps_at_once(row_bytes):
    """The most steps to compute the log-likelihoods of before they are worked on."""
    return max(settings.frames_bytes // row_bytes, 1)


def work_through(prepare, frames, offsets, n_jobs, row_bytes, *, counts=False, alone=None):
    """Call what prepare(frames, offsets, order, begin, end) returns, for all sequences.

    Sequences begin..end-1 have these frames and offsets and, if they are for lanes, this order.
    Frames that are still to be computed come in parts: one after the other, with all threads at
    work on each; or, where only Python can compute them, one part per thread at a time.

    The number of threads changes nothing in the answers: whether lanes are used is decided for all
    sequences together, and what is added up (`counts`) comes from the same ranges.

    Parameters
    ----------
    row_bytes : int or None
        What a step of one sequence takes in lanes; None where the graph is not for lanes.
    alone : callable or None
        alone(frames, offsets) says whether lanes are not the best for such frames.
    """
    n_threads = threads_of(n_jobs, offsets[-1])
    if len(offsets) == 2 <= settings.lanes_fill and n_threads == 1:
        return [prepare(frames.whole(), offsets, None, 0, 1)()]
    order_of_all = lanes_order(offsets, row_bytes)

    def run(part, begin, end, n_threads):
        cut, order = _cut(offsets, begin, end), order_of_all
        if order is not None and end - begin < len(order):
            order = longest_first(cut)
        if order is not None and alone is not None and alone(part, cut):
            order = None
        if order is not None or end - begin == 1 or (n_threads == 1 and not counts):
            with Allowed(n_threads):
                return [prepare(part, cut, order, begin, end)()]
        if counts:
            ranges = ranges_of(cut, settings.counted_ranges, least=settings.counted_steps)
        else:
            ranges = ranges_of(cut, n_threads)
        # Prepared before any begins, since two that prepare hold each other up.
        jobs = [
            prepare(part.of_sequences(cut, a, b), _cut(cut, a, b), None, begin + a, begin + b)
            for a, b in ranges
        ]
        return each(jobs, n_threads)

    def compute(begin, end):
        with Allowed(n_threads if frames.least is None else 1):
            return frames.of_sequences(offsets, begin, end)

    if not isinstance(frames, PendingFrames):
        return run(frames, 0, len(offsets) - 1, n_threads)
    most = steps_at_once(frames.row_bytes)
    if frames.least is None:
        parts = ranges_of(offsets, 1, most=most)
        found = [run(compute(*part), *part, n_threads) for part in parts]
    else:
        parts = ranges_of(offsets, n_threads, least=frames.least, most=most)
        found = each([lambda p=p: run(compute(*p), *p, 1) for p in parts], n_threads)
    return list(joined.from_iterable(found))


def _cut(offsets, begin, end):
    """The offsets of sequences begin..end-1 alone."""
    cut = offsets[begin : end + 1]
    return cut - cut[0] if begin > 0 else cut


def lanes_order(offsets, row_bytes):
    """The sequences, longest first, for the lanes; None where one at a time is better."""
    if row_bytes is None or len(offsets) <= settings.lanes_fill:
        return None
    lengths = offsets[1:] - offsets[:-1]
    order = _longest_first(lengths)
    tallest = lengths[order[::WIDTH]]
    filled = settings.lanes_fill * tallest.sum() <= offsets[-1] - offsets[0]
    return order if filled and tallest[0] * WIDTH * row_bytes <= settings.lanes_bytes else None


def longest_first(offsets):
    """The numbers of the sequences, longest first."""
    return _longest_first(offsets[1:] - offsets[:-1])


def _longest_first(lengths):
    if (lengths == lengths[0]).all():
        return np.arange(len(lengths))
    return np.argsort(-lengths, kind="stable")
