"""Threads over sequences."""

import os
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from itertools import pairwise

import numpy as np
from joblib import effective_n_jobs


def spread(run, offsets, n_jobs):
    """Run over ranges of sequences of about equal numbers of steps, one a thread."""
    n_sequences = len(offsets) - 1
    n_threads = 1 if n_jobs in (None, 1) else min(effective_n_jobs(n_jobs), n_sequences)
    if n_threads == 1:
        return [run(0, n_sequences)]
    share = np.linspace(0, offsets[-1], n_threads + 1)
    cuts = np.searchsorted(offsets, share)
    cuts[0], cuts[-1] = 0, n_sequences
    ranges = [(a, b) for a, b in pairwise(cuts.tolist()) if a < b]
    return _run_together(run, ranges)


def _run_together(run, ranges):
    """What run gives for each range: the first in this thread, the others in those of the pool."""
    pool = _pool(os.getpid())
    futures = [pool.submit(run, *part) for part in ranges[1:]]
    try:
        results = [run(*ranges[0])]
        for part, future in zip(ranges[1:], futures):
            # nobody waits for what no thread has begun: all of them may be waiting themselves
            results.append(run(*part) if future.cancel() else future.result())
        return results
    finally:
        for future in futures:  # after an error, none may go on writing
            if not future.cancel():
                future.exception()


@lru_cache(maxsize=1)
def _pool(process):
    """Threads that live from call to call; threads do not survive a fork."""
    return ThreadPoolExecutor(os.cpu_count(), thread_name_prefix="skchmm")
