"""Threads are as many as joblib, the environment and the engine around allow."""

import subprocess
import sys

import numpy as np
import pytest
from joblib import Parallel, delayed, parallel_config
from threadpoolctl import threadpool_limits

from skchmm import ConstrainedHMM
from skchmm.inference import schedule
from skchmm.inference.schedule import threads_of

MANY = 1_000_000


@pytest.fixture
def eight(monkeypatch):
    """A machine with eight processors, and nothing that limits them."""
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setattr(schedule, "_n_processors", lambda: 8)
    with threadpool_limits(8):
        yield


def test_without_a_word_there_is_one(eight):
    assert threads_of(None, MANY) == threads_of(1) == 1
    assert (threads_of(3), threads_of(-1), threads_of(-2), threads_of(-99)) == (3, 8, 7, 1)


def test_joblib_decides_for_none(eight):
    with parallel_config(n_jobs=3):
        assert threads_of(None, MANY) == 3
        assert threads_of(None, 100) == 1  # too few for threads
        assert threads_of(2, MANY) == 2
    with parallel_config(n_jobs=-1):
        assert threads_of(None, MANY) == 8
    with parallel_config(n_jobs=5000):
        assert threads_of(None, MANY) == 8
    with parallel_config("threading", n_jobs=4):
        assert threads_of(None, MANY) == 4
    with parallel_config("sequential"):
        assert threads_of(None, MANY) == threads_of(-1) == threads_of(4) == 1


def test_all_means_all_that_are_allowed(eight, monkeypatch):
    with threadpool_limits(3):
        assert threads_of(-1) == 3
        assert threads_of(5) == 5  # who asks for a number gets it
    monkeypatch.setenv("OMP_NUM_THREADS", "2,1")
    assert threads_of(-1) == 2
    monkeypatch.setenv("OMP_NUM_THREADS", "many")
    assert threads_of(-1) == 8


WORKER = """
from joblib import Parallel, delayed, parallel_config
from skchmm.inference.schedule import threads_of

with parallel_config("loky", inner_max_num_threads=1):
    print(Parallel(n_jobs=2)(delayed(threads_of)(-1) for _ in range(2)))
with parallel_config("loky", n_jobs=2):
    print(Parallel()(delayed(threads_of)(None, 10**6) for _ in range(2)))
with parallel_config("threading", n_jobs=2):
    print(Parallel()(delayed(threads_of)(None, 10**6) for _ in range(2)))
"""


def test_workers_of_joblib():
    done = subprocess.run([sys.executable, "-c", WORKER], capture_output=True, text=True)
    assert done.stdout.splitlines() == ["[1, 1]"] * 3, done.stderr


def test_answers_do_not_depend_on_it(eight, monkeypatch):
    monkeypatch.setattr(schedule.settings, "threaded_steps", 1)
    X = [np.random.default_rng(k).normal(size=(50, 2)) for k in range(30)]
    model = ConstrainedHMM(3, n_iter=3, tol=np.inf, random_state=0)
    expected = model.fit(X).predict(X)
    history = model.history_
    with parallel_config(n_jobs=3):
        np.testing.assert_array_equal(np.concatenate(expected), np.concatenate(model.predict(X)))
        assert model.fit(X).history_ == history
    paths = Parallel(2)(delayed(model.set_params(n_jobs=-1).predict)(X) for _ in range(2))
    np.testing.assert_array_equal(np.concatenate(expected), np.concatenate(paths[1]))
