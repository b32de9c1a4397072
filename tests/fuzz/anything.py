"""Whatever a user may pass, and what may come back: an answer, or an error with words of ours."""

import copy
import datetime
import linecache
import os
import pickle
import warnings

import numpy as np
import pandas as pd
import polars
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from skchmm import InfeasibleSequenceError

# Milliseconds; what takes longer hangs. Under a sanitizer everything takes long.
SOON = None if "SKCHMM_SANITIZED" in os.environ else 20_000
examples = settings(
    max_examples=int(os.environ.get("SKCHMM_FUZZ_EXAMPLES", 15)),
    deadline=None,
    suppress_health_check=list(HealthCheck),
)

scalars = st.one_of(
    st.sampled_from([None, np.nan, np.inf, -np.inf, pd.NA, pd.NaT, np.ma.masked, "", b"", True, {},
                     (), {1, 2}, 1j, 2**70, -(2**63), "1.5", datetime.datetime(2024, 2, 29),
                     np.datetime64("NaT", "s"), np.timedelta64(3, "h"), np.float16(1.5)]),
    st.integers(-3, 6), st.floats(-1e3, 1e3), st.sampled_from(list("abcd") + ["walk", "\0", "ß"]),
    st.floats(allow_nan=True), st.integers(-(2**65), 2**65),
)  # fmt: skip
DTYPES = ["f8", "f4", "f2", "g", ">f8", "i8", "i4", ">i4", "u1", "u8", "?", "U1", ">U1", "U3", "S2",
          "c16", "O", "M8[s]", "m8[ms]", "i4,f8"]  # fmt: skip


@st.composite
def arrays(draw, max_side=6):
    """Arrays of any type, with a mask or without, in 0 to 3 dimensions."""
    shape = draw(st.lists(st.integers(0, max_side), max_size=3))
    dtype = np.dtype(draw(st.sampled_from(DTYPES)))
    size = int(np.prod(shape))
    if dtype.kind == "O":
        array = np.empty(size, dtype=object)
        array[:] = draw(st.lists(scalars, min_size=size, max_size=size))
    else:
        array = np.array(
            draw(st.lists(st.integers(0, 5), min_size=size, max_size=size)), dtype="i8"
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            array = array.astype(dtype)
        if dtype.kind in "fc" and size and draw(st.booleans()):
            array[draw(st.integers(0, size - 1))] = draw(st.sampled_from([np.nan, np.inf, -1.5]))
        if dtype.kind in "mM" and size and draw(st.booleans()):
            array[draw(st.integers(0, size - 1))] = "NaT"
    array = array.reshape(shape)
    kind = draw(st.sampled_from(["as it is", "fortran", "strided", "masked", "read-only"]))
    if kind == "fortran":
        return np.asfortranarray(array)
    if kind == "strided" and array.ndim:
        return np.repeat(array, 2, axis=0)[::2]
    if kind == "masked":
        mask = draw(st.lists(st.booleans(), min_size=size, max_size=size))
        return np.ma.array(array, mask=np.reshape(mask, array.shape))
    if kind == "read-only":
        array.flags.writeable = False
    return array


@st.composite
def frames(draw):
    """Dataframes of columns of all types, gaps among them."""
    n = draw(st.integers(0, 5))
    columns = {}
    for name in draw(st.lists(st.sampled_from(["a", "b", "c", "0"]), max_size=3, unique=True)):
        values = draw(
            st.one_of(
                st.lists(st.one_of(st.none(), st.integers(0, 4)), min_size=n, max_size=n),
                st.lists(st.one_of(st.none(), st.floats(-9, 9)), min_size=n, max_size=n),
                st.lists(st.one_of(st.none(), st.sampled_from("abc")), min_size=n, max_size=n),
                st.lists(st.booleans(), min_size=n, max_size=n),
            )
        )
        columns[name] = values
    if draw(st.booleans()):
        return polars.DataFrame(columns, strict=False)
    frame = pd.DataFrame(columns)
    return frame.convert_dtypes() if draw(st.booleans()) else frame


series = st.one_of(
    st.lists(st.one_of(st.none(), st.integers(0, 4)), max_size=6).map(
        lambda v: pd.Series(v, dtype="Int64")
    ),
    st.lists(st.one_of(st.none(), st.sampled_from("abc")), max_size=6).map(
        lambda v: pd.Series(v, dtype="category")
    ),
    st.lists(st.one_of(st.none(), st.sampled_from("abc")), max_size=6).map(
        lambda v: polars.Series(v, dtype=polars.String)
    ),
    st.lists(st.one_of(st.none(), st.integers(0, 4)), max_size=6).map(
        lambda v: polars.Series(v, dtype=polars.Int64)
    ),
)
values = st.one_of(scalars, arrays(), frames(), series)
anything = st.one_of(
    values,
    st.lists(scalars, max_size=6),
    st.lists(values, max_size=4),
    st.lists(st.lists(scalars, max_size=4), max_size=4),
    st.lists(scalars, max_size=4).map(tuple),
    st.lists(arrays(), max_size=3).map(lambda v: np.array([*v, None], object)[:-1]),
)


def attempt(call, *inputs):
    """What a call gives; None where it refuses in plain words. It may not change its inputs."""
    before = [_fingerprint(value) for value in inputs]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            return call()
    except InfeasibleSequenceError:
        raise
    except (ValueError, TypeError) as error:
        assert is_plain(error), f"raw {type(error).__name__}: {error}"
        assert str(error).strip()
        return None
    finally:
        assert before == [_fingerprint(value) for value in inputs], "the input was changed"


def is_plain(error):
    """Whether an error was raised by a statement of ours, or by scikit-learn when we called it."""
    frames = []  # of what was called by the innermost function of ours, and that itself
    trace = error.__traceback__
    while trace is not None:
        name = trace.tb_frame.f_code.co_filename
        frames = [] if "skchmm" in name.split(os.sep) else frames
        frames.append((name, trace.tb_lineno))
        trace = trace.tb_next
    if any("sklearn" in name for name, _ in frames[1:]):
        return True
    return len(frames) == 1 and "raise " in linecache.getline(*frames[0])


def _fingerprint(value):
    if isinstance(value, np.ndarray):  # not by pickling: objects in it may be shared or not
        data = np.ma.getdata(value)
        content = repr(data.tolist()) if data.dtype.hasobject else data.tobytes()
        return content, repr(np.ma.getmaskarray(value).tolist()), value.dtype, value.shape
    if isinstance(value, (list, tuple)):
        return [_fingerprint(item) for item in value]
    if isinstance(value, (pd.DataFrame, pd.Series, polars.DataFrame, polars.Series)):
        return pickle.dumps(copy.deepcopy(value))
    return repr(value)
