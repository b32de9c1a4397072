"""Threads over sequences and inside kernels: the same answers, errors, nesting, forks."""

import os
import time
from concurrent.futures import Future, ThreadPoolExecutor
from threading import get_ident

import numpy as np
import pytest
from joblib import cpu_count

from skchmm import ConstrainedHMM
from skchmm._kernels.data.finite import all_finite
from skchmm._kernels.data.normal import diagonal_log_densities, full_log_densities
from skchmm._kernels.data.statistics import diagonal_moments, outer_moments, sum_rows
from skchmm._kernels.data.symbols import code_run
from skchmm._kernels.shared.threads import Allowed, use_at_most
from skchmm.constraints import AtMostVisits, EndsIn
from skchmm.emissions import Categorical, Gaussian
from skchmm.inference.schedule import ranges_of, spread, threads_of
from skchmm.inference.settings import settings as sizes


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


def test_numbers_of_threads():
    assert [threads_of(n_jobs) for n_jobs in (None, 1, 3, np.int64(2))] == [1, 1, 3, 2]
    assert 1 <= threads_of(-1) <= cpu_count()  # test_guest.py has what limits it
    assert threads_of(-cpu_count() - 5) == 1
    assert threads_of(2**70) == 1024
    with pytest.raises(TypeError, match="cannot be interpreted as an integer"):
        threads_of(2.5)
    with pytest.raises(ValueError, match="n_jobs == 0 has no meaning"):
        threads_of(0)


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


@pytest.mark.unsanitized
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


@pytest.fixture
def eight():
    """Up to eight threads in a kernel, whatever the machine has."""
    before = use_at_most(8)
    yield
    use_at_most(before)


def make_model(kind, n_states=4, seed=0, **params):
    rng = np.random.default_rng(seed)
    if kind == "categorical":
        emission = Categorical.from_parameters(rng.dirichlet(np.ones(6), n_states))
    else:
        means = rng.normal(size=(n_states, 3))
        emission = Gaussian.from_parameters(means, rng.uniform(0.5, 2, (n_states, 3)))
    return ConstrainedHMM.from_parameters(
        rng.dirichlet(np.ones(n_states)), rng.dirichlet(np.ones(n_states), n_states),
        emission=emission, constraints=[AtMostVisits(1, 2), EndsIn([0, 2, 3])], **params,
    )  # fmt: skip


def make_rows(kind, n, seed=0):
    rng = np.random.default_rng(seed)
    return rng.integers(6, size=(n, 1)) if kind == "categorical" else rng.normal(size=(n, 3))


def answers(model, X, lengths):
    return [
        model.predict(X, lengths=lengths),
        *model.decode(X, lengths=lengths),
        model.predict_proba(X, lengths=lengths),
        model.log_likelihood(X, lengths=lengths),
    ]


def check_same(found, expected):
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("kind", ["categorical", "gaussian"])
@pytest.mark.parametrize("n_sequences", [3, 8, 9, 100])
def test_answers_are_the_same_to_the_last_bit(eight, kind, n_sequences):
    lengths = np.random.default_rng(n_sequences).integers(1, 400, n_sequences)
    X = make_rows(kind, lengths.sum())
    expected = answers(make_model(kind), X, lengths)
    for n_jobs in (2, 3, 8):
        check_same(answers(make_model(kind, n_jobs=n_jobs), X, lengths), expected)


@pytest.mark.parametrize("kind", ["categorical", "gaussian"])
def test_blocks_of_frames_are_shared_as_well(eight, monkeypatch, kind):
    lengths = np.random.default_rng(0).integers(1, 40, 200)
    X = make_rows(kind, lengths.sum())
    model = make_model(kind, n_jobs=3)
    expected = answers(model, X, lengths)
    monkeypatch.setattr(sizes, "frames_bytes", 8 * 4 * 500)
    for one, other in zip(answers(model, X, lengths), expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)


MIXED = {
    "many short": np.random.default_rng(1).integers(1, 200, 200),
    "one long, some short": np.array([600, *[20] * 8]),
    "one very long": np.array([30_000, *range(1, 24)]),
    "some long": np.full(5, 25_000),
}


@pytest.mark.parametrize("case", MIXED)
def test_kernels_do_not_depend_on_threads(eight, case):
    """Not even where one sequence too long for lanes is among others."""
    lengths = MIXED[case]
    X = make_rows("categorical", lengths.sum())
    expected = answers(make_model("categorical"), X, lengths)
    for n_jobs in (2, 3, 8):
        check_same(answers(make_model("categorical", n_jobs=n_jobs), X, lengths), expected)


def test_ties_do_not_depend_on_threads(eight):
    rng = np.random.default_rng(3)
    lengths = [374, *rng.integers(1, 5, 23).tolist()]
    n = sum(lengths)
    y = rng.integers(17, size=n)
    y[:17] = np.arange(17)
    X = np.zeros((n, 1), dtype=int)
    model = ConstrainedHMM(emission="categorical", algorithm="map").fit(X, y, lengths=lengths)
    expected = model.predict(X, lengths=lengths)
    for n_jobs in (2, 3, 8):
        found = model.set_params(n_jobs=n_jobs).predict(X, lengths=lengths)
        np.testing.assert_array_equal(found, expected)


@pytest.mark.filterwarnings("ignore:EM did not converge")
@pytest.mark.parametrize("case", MIXED)
@pytest.mark.parametrize("kind", ["categorical", "gaussian"])
def test_learning_is_the_same_to_the_last_bit(eight, kind, case):
    lengths = MIXED[case]
    X = make_rows(kind, lengths.sum())
    weights = np.repeat(np.linspace(0.5, 2, len(lengths)), lengths)

    def learned(n_jobs):
        model = make_model(kind, n_jobs=n_jobs, n_iter=4, tol=-np.inf, init="fitted")
        model.fit(X, lengths=lengths, sample_weight=weights)
        emission = model.emission_
        found = [model.startprob_, model.transmat_, model.history_]
        if kind == "categorical":
            return [*found, emission.probabilities_]
        return [*found, emission.means_, emission.covars_]

    expected = learned(1)
    for n_jobs in (2, 3, 8):
        check_same(learned(n_jobs), expected)


@pytest.mark.parametrize("n", [0, 1, 4095, 8192, 50_001])
@pytest.mark.parametrize("n_threads", [1, 2, 8])
def test_sums_over_rows(eight, n_threads, n):
    rng = np.random.default_rng(n)
    X, weights, shift = rng.normal(size=(n, 3)), rng.random((n, 5)), rng.normal(size=3)
    index = rng.integers(7, size=n).astype(np.int32)

    def results():
        return [
            sum_rows(index, weights, 7),
            *diagonal_moments(X, weights, shift),
            *outer_moments(X, weights, shift),
        ]

    with Allowed(n_threads):
        found = results()
    check_same(found, results())
    centred = X - shift
    by_index = np.zeros((7, 5))
    np.add.at(by_index, index, weights)
    expected = [
        by_index,
        np.tile(weights.sum(axis=0)[:, None], 3), weights.T @ centred, weights.T @ centred**2,
        weights.sum(axis=0), weights.T @ centred,
        np.einsum("nk,ni,nj->kij", weights, centred, centred),
    ]  # fmt: skip
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-11, atol=1e-10)


@pytest.mark.parametrize("n", [1, 2048, 2049, 16384, 50_001])
@pytest.mark.parametrize("n_threads", [2, 8])
def test_rows_are_encoded_and_scored_the_same(eight, n_threads, n):
    rng = np.random.default_rng(n)
    X, means = rng.normal(size=(n, 2)), rng.normal(size=(5, 2))
    whiten = np.tile(np.linalg.inv(np.array([[1.0, 0.0], [0.3, 2.0]])), (5, 1, 1))
    symbols = rng.integers(7, 20, size=(n, 2))
    strange = X.copy()
    strange[n // 2, 1] = np.nan

    def results():
        return [
            diagonal_log_densities(X, means, np.ones((5, 2))),
            full_log_densities(X, means, whiten, np.zeros(5)),
            code_run(symbols[:, 1], 7, 13),
            code_run(symbols[:, 0].copy(), 7, 13),
            code_run(symbols[:, 0].astype(np.int32), 7, 13),
            all_finite(X),
        ]

    expected = results()
    with Allowed(n_threads):
        found = results()
        check_same(found, expected)
        assert all_finite(X)
        assert not all_finite(strange)
        assert code_run(symbols[:, 1], 7, symbols[:, 1].max() - 7) is None
        assert code_run(symbols[:, 1], symbols[:, 1].min() + 1, 20) is None
    np.testing.assert_array_equal(expected[2], symbols[:, 1] - 7)
    centred = X[:, None] - means
    np.testing.assert_allclose(
        expected[0], -0.5 * (centred**2).sum(axis=2) - np.log(2 * np.pi), rtol=1e-12
    )
    whitened = np.einsum("kij,nkj->nki", whiten, centred)
    np.testing.assert_allclose(
        expected[1], -0.5 * (whitened**2).sum(axis=2), rtol=1e-11, atol=1e-12
    )


def test_many_short_calls_by_threads_asleep_and_awake(eight):
    X, lengths = make_rows("categorical", 4000), [20] * 200
    expected = make_model("categorical").predict(X, lengths=lengths)
    models = [make_model("categorical", n_jobs=n_jobs) for n_jobs in (2, 5, 3, 8)]
    for turn in range(300):
        if turn % 50 < 5:
            time.sleep(0.005)
        found = models[turn % 4].predict(X, lengths=lengths)
        np.testing.assert_array_equal(found, expected)


def test_calls_at_the_same_time(eight):
    X, lengths = make_rows("categorical", 30_000), [100] * 300
    expected = answers(make_model("categorical"), X, lengths)
    models = [make_model("categorical", n_jobs=n_jobs) for n_jobs in (1, 2, 3, 8)]

    def call(i):
        return answers(models[i % 4], X, lengths)

    with ThreadPoolExecutor(4) as pool:
        for found in pool.map(call, range(60)):
            check_same(found, expected)


def test_what_is_allowed_ends_where_it_began(eight):
    model = make_model("gaussian", n_jobs=2)
    with pytest.raises(ValueError, match="infinity"):
        model.predict(np.full((4000, 3), np.inf), lengths=[10] * 400)
    with Allowed(4) as now:
        assert now.before == 1
        with Allowed(20) as inner:
            assert inner.before == 4
    with Allowed(1) as now:
        assert now.before == 1


@pytest.mark.unsanitized
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_threads_in_kernels_after_a_fork(eight):
    X, lengths = make_rows("categorical", 20_000), [100] * 200
    model = make_model("categorical", n_jobs=3)
    expected = model.predict(X, lengths=lengths)
    child = os.fork()
    if child == 0:
        same = all((model.predict(X, lengths=lengths) == expected).all() for _ in range(20))
        threads = len(os.listdir("/proc/self/task")) if os.path.exists("/proc/self") else 3
        os._exit(threads if same else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 3
    np.testing.assert_array_equal(model.predict(X, lengths=lengths), expected)
