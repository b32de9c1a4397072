"""Questions about small arrays that numpy would answer slowly."""

import numpy as np
import pytest

from skchmm._kernels.data.finite import same_bits
from skchmm._kernels.data.statistics import shares
from skchmm._kernels.data.symbols import code_run

RNG = np.random.default_rng(0)
TABLE = RNG.random((3, 4))


@pytest.mark.parametrize("given", [TABLE, TABLE.copy(), np.asfortranarray(TABLE), TABLE[::1]])
def test_the_same_numbers_are_the_same(given):
    assert same_bits(TABLE, given)
    assert same_bits(np.asfortranarray(TABLE), given)


@pytest.mark.parametrize(
    "given",
    [
        None, 1.0, TABLE.tolist(), TABLE[:2], TABLE.T, TABLE.ravel(), TABLE.astype(np.float32),
        np.nextafter(TABLE, 1.0), np.ma.array(TABLE), TABLE.view(np.int64), TABLE[None],
        TABLE.astype(">f8"),
    ],
)  # fmt: skip
def test_anything_else_is_not(given):
    assert not same_bits(TABLE, given)


def test_one_number_that_changed_in_place_is_seen():
    kept, given = TABLE.copy(), TABLE.copy()
    assert same_bits(kept, given)
    given[2, 3] += 1e-16
    assert same_bits(kept, given) == bool((kept == given).all())
    given[2, 3] = np.nan
    assert not same_bits(kept, given)


@pytest.mark.parametrize("width", [1, 2, 7, 8, 9, 17, 127, 128, 129, 136, 257, 1000, 4099])
def test_shares_are_rounded_as_by_numpy(width):
    counts = RNG.random((5, width))
    np.testing.assert_array_equal(shares(counts, 0.0), counts / counts.sum(axis=1, keepdims=True))
    np.testing.assert_array_equal(shares(counts[1], 0.0), counts[1] / counts[1].sum())


def test_without_a_sum_there_are_no_shares():
    for row in ([0.0, 0.0], [np.nan, 1.0], [1.0, -1.0], [1e-300, 0.0]):
        assert shares(np.array([[1.0, 2.0], row]), 1e-280) is None
    assert shares(np.empty((2, 0)), 0.0) is None
    assert shares(np.empty((0, 2)), 0.0).shape == (0, 2)
    for wrong in (np.ones((2, 3)).T, np.ones(3, dtype=int), np.array(1.0)):
        with pytest.raises(ValueError, match="contiguous"):
            shares(wrong, 0.0)


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.longlong])
def test_codes_of_arrays_of_any_layout(dtype):
    values = RNG.integers(5, 9, size=60).astype(dtype)
    shifted = np.frombuffer(b"x" + values.tobytes(), dtype=dtype, offset=1)
    for column in (values, values[::3], values[::-1], shifted, values.reshape(20, 3)[:, 1]):
        np.testing.assert_array_equal(code_run(column, 5, 4), column - 5)
        assert code_run(column, 6, 3) is None
    assert len(code_run(values[:0], 5, 4)) == 0
    for wrong in (values.astype(float), values.reshape(20, 3), values.astype(np.int16)):
        with pytest.raises(ValueError, match="int32 or int64"):
            code_run(wrong, 5, 4)
