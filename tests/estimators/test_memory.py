"""Memory does not grow with the data."""

import tracemalloc

import numpy as np
import pytest

from skchmm import ConstrainedHMM
from skchmm.emissions import Categorical, Gaussian
from skchmm.estimators import spreading

pytestmark = pytest.mark.filterwarnings("ignore:EM did not converge")
LENGTH = 500


def peak(call):
    """The most bytes that a call holds beyond what was there."""
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def symbols(n, seed=0):
    return np.random.default_rng(seed).integers(4, size=n, dtype=np.int8)


def model(**params):
    return ConstrainedHMM(3, n_iter=1, tol=0, random_state=0, **params)


class Drawn:
    """Loads a chunk."""

    def __init__(self, n, seed):
        self.n, self.seed = n, seed

    def __call__(self):
        return {"X": symbols(self.n, self.seed), "lengths": [LENGTH] * (self.n // LENGTH)}


def test_chunks_take_the_memory_of_one():
    few, many = (
        peak(lambda k=k: model().fit_chunks([Drawn(50_000, seed) for seed in range(k)]))
        for k in (2, 16)
    )
    assert many < few + 1_000_000


def test_small_symbols_stay_small():
    X = symbols(4_000_000)
    lengths = [LENGTH] * (len(X) // LENGTH)
    fitted = model().fit(X[:LENGTH])
    frames = 40 << 20  # of a part, however many there are
    for call in (
        lambda: model().fit(X, lengths=lengths),
        lambda: fitted.e_step(X, lengths=lengths),
    ):
        assert peak(call) < 5 * X.nbytes + frames
    assert peak(lambda: Categorical().encode(X, reset=True)) < 5 * X.nbytes + (20 << 20)


def test_gaussian_start_has_no_temporary_as_large_as_the_data():
    X = np.random.default_rng(0).normal(size=(2_000_000, 2))
    emission = Gaussian()

    def start():
        E = emission.encode(X, reset=True)
        emission.initialise(E, None, 3, init="kmeans", random_state=0)

    start()  # whatever is made once
    assert peak(start) < X.nbytes * 0.7
    np.testing.assert_allclose(emission.covars_[0], X.var(axis=0), rtol=1e-5)


def test_a_list_of_mapped_files_is_not_concatenated(tmp_path, monkeypatch):
    files, n = [], 100_000
    for k in range(24):
        written = np.memmap(tmp_path / str(k), dtype=np.int8, mode="w+", shape=(n,))
        written[:] = symbols(n, k)
        written.flush()
        files.append(np.memmap(tmp_path / str(k), dtype=np.int8, mode="r"))
    expected = model().fit(files)
    assert 24 * n < spreading.FILE_BYTES
    monkeypatch.setattr(spreading, "FILE_BYTES", n)
    one = peak(lambda: model().fit(files[:2]))
    found = model()
    assert peak(lambda: found.fit(files)) < one + 1_000_000
    np.testing.assert_allclose(found.history_, expected.history_, rtol=1e-12)
    weights = np.arange(1.0, 25)
    np.testing.assert_allclose(
        model().fit(files, sample_weight=weights).history_,
        model().fit([np.array(file) for file in files], sample_weight=weights).history_,
        rtol=1e-12,
    )
