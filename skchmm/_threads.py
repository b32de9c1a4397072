"""Threads over sequences."""

import os
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache, partial
from itertools import pairwise
from operator import index

from joblib import cpu_count

from ._kernels.shared.threads import Allowed

MOST_THREADS = 1024

__all__ = ["Allowed", "each", "ranges_of", "spread", "threads_of"]


def spread(run, offsets, n_jobs):
    """What run(begin, end) gives for ranges of sequences, one a thread."""
    n_threads = threads_of(n_jobs)
    return each([partial(run, *part) for part in ranges_of(offsets, n_threads)], n_threads)


def threads_of(n_jobs):
    """How many threads a number of jobs stands for, as elsewhere in scikit-learn."""
    if n_jobs is None:
        return 1
    n_jobs = index(n_jobs)
    if n_jobs == 0:
        raise ValueError("n_jobs == 0 has no meaning: give a number of threads, or -1 for all.")
    return min(n_jobs, MOST_THREADS) if n_jobs > 0 else max(_n_processors() + 1 + n_jobs, 1)


def ranges_of(offsets, n_threads, *, least=1, most=None):
    """Ranges of sequences, (begin, end), of about equal numbers of steps.

    There is one a thread, more where they would have more than `most` steps, fewer where they would
    have less than `least`; these rather than those.
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
    """What each job gives. This thread and some of a pool take one after the other."""
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

    pool = _pool(os.getpid())
    futures = [pool.submit(work) for _ in range(n_threads - 1)]
    try:
        with Allowed(1):
            work()
        for future in futures:
            # nobody waits for what no thread has begun: all of them may be waiting themselves
            if not future.cancel():
                future.result()
        return results
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
