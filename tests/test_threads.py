"""Threads over sequences: errors, nesting, forks."""

import os
import time
from concurrent.futures import Future
from threading import get_ident

import numpy as np
import pytest

from skchmm._threads import ranges_of, spread


def test_an_error_in_a_thread_is_raised_when_all_have_ended():
    ended = []

    def run(begin, end):
        if begin in (0, 2):
            raise KeyError(begin)
        time.sleep(0.02)
        ended.append(begin)

    with pytest.raises(KeyError):
        spread(run, np.arange(5), 4)
    now = list(ended)
    time.sleep(0.05)
    assert ended == now


def test_sizes_of_ranges():
    offsets = np.arange(0, 1001, 10)

    def steps(*args, **kwargs):
        return [10 * (end - begin) for begin, end in ranges_of(offsets, *args, **kwargs)]

    assert steps(1) == [1000]
    assert steps(4) == [250] * 4
    assert steps(1, most=300) == [250] * 4
    assert steps(2, most=300) == [250] * 4
    assert steps(3, most=300) == steps(6)
    assert steps(16, least=400) == [500, 500]
    assert steps(1, least=400, most=10) == [500, 500]
    assert steps(1, least=2000, most=10) == [1000]
    assert len(steps(1, most=1)) == 100


def test_an_interrupt_waits_for_the_other_threads(monkeypatch):
    ended = []

    def run(begin, end):
        if begin > 0:
            time.sleep(0.2)
            ended.append(begin)

    honest = Future.result

    def interrupted(self, timeout=None):
        monkeypatch.setattr(Future, "result", honest)
        raise KeyboardInterrupt

    monkeypatch.setattr(Future, "result", interrupted)
    with pytest.raises(KeyboardInterrupt):
        spread(lambda a, b: (time.sleep(0.05), run(a, b)), np.arange(3), 2)
    assert ended == [1]


def test_threads_within_threads_do_not_wait_for_each_other():
    offsets = np.arange(9)

    def outer(begin, end):
        return sum(spread(lambda a, b: b - a, offsets, 8)) + end - begin

    assert sum(spread(outer, offsets, 8)) == 8 * 8 + 8


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_threads_after_a_fork():
    offsets = np.arange(3)
    assert spread(lambda a, b: b - a, offsets, 2) == [1, 1]
    child = os.fork()
    if child == 0:
        threads = spread(lambda a, b: (time.sleep(0.05), get_ident())[1], offsets, 2)
        os._exit(len(set(threads)))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 2
