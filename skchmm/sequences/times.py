"""Times of observations: numbers, datetimes or timedeltas, as gaps between steps."""

from datetime import date, timedelta

import numpy as np

from .forms import read_rows
from .values import is_missing

NANOSECONDS = 1e9
EPS = np.finfo(np.float64).eps


class Times:
    """When the steps of sequences were observed.

    Attributes
    ----------
    calendar : Calendar
    values : float64 (n,)
        Numbers as they came; seconds since the start of the sequence for datetimes.
    gaps : float64 (n,)
        Time since the row before, 0 for the first of a sequence.
    """

    __slots__ = ("calendar", "gaps", "values")

    def __init__(self, calendar, values, gaps):
        self.calendar = calendar
        self.values = values
        self.gaps = gaps

    def part(self, begin, end, offsets):
        """The times of sequences begin..end-1."""
        rows = slice(offsets[begin], offsets[end])
        return Times(self.calendar.part(begin, end), self.values[rows], self.gaps[rows])

    def read(self, values, s):
        """Further times of sequence s (a grid) as numbers on the scale of `values`."""
        return self.calendar.read(values, s)

    def write(self, numbers, s):
        """Numbers of sequence s, on the scale of `values`, as times of the user's kind."""
        return self.calendar.write(numbers, s)


def read_times(times, sequences):
    """Read one time per row, in the same form as `sequences`; None: rows are one unit apart."""
    if times is None:
        first = np.repeat(sequences.offsets[:-1], sequences.lengths)
        values, calendar = np.arange(sequences.n_steps) - first, Calendar("number", None)
    else:
        values, calendar = _read(read_rows(times, sequences, "times"), sequences)
    values = np.asarray(values, dtype=np.float64)
    bad = ~np.isfinite(values)
    if bad.any():
        row = _describe_row(int(bad.argmax()), sequences)
        raise ValueError(f"times: {row} has no time (NaN or infinite).")
    gaps = np.zeros(len(values))
    gaps[1:] = np.diff(values)
    gaps[sequences.offsets[:-1]] = 0.0
    if (gaps < 0).any():
        row = int((gaps < 0).argmax())
        raise ValueError(
            f"times must not decrease within a sequence, but {_describe_row(row, sequences)} comes "
            f"{-gaps[row]:g} before the row above it. Sort the rows of each sequence by time."
        )
    return Times(calendar, values, _without_rounding(gaps, np.abs(values).max()))


def _describe_row(row, sequences):
    s = int(np.searchsorted(sequences.offsets, row, side="right")) - 1
    return f"step {row - sequences.offsets[s]} of {sequences.describe(s)}"


def _without_rounding(gaps, largest):
    """Gaps that differ by the rounding of times as large as that are made the same.

    So regular times are seen to be regular: a gap costs less when it comes often.
    """
    distinct, index = np.unique(gaps, return_inverse=True)
    near = np.diff(distinct, prepend=-1.0) <= np.minimum(8 * EPS * largest, 1e-9 * distinct)
    group = np.cumsum(~near) - 1
    return distinct[~near][group][index]


class Calendar:
    """Turns the user's times of a sequence into numbers and back.

    Parameters
    ----------
    kind : {"number", "datetime", "timedelta"}
    origins : list or None
        The first time of each sequence, where numbers count seconds since it.
    """

    def __init__(self, kind, origins):
        self.kind = kind
        self.origins = origins

    def part(self, begin, end):
        """The calendar of sequences begin..end-1."""
        return self if self.origins is None else Calendar(self.kind, self.origins[begin:end])

    def read(self, values, s):
        """Further times of sequence s (a grid) as numbers."""
        values = np.asarray(values)
        if self.kind == "number":
            if values.dtype.kind not in "iuf":
                raise ValueError("at must hold numbers, as times does.")
            return values.astype(np.float64)
        seconds = _seconds_since(values, self.origins[s], "at")
        if seconds is None:
            raise ValueError(f"at must hold {self.kind}s, as times does.")
        return seconds

    def write(self, numbers, s):
        """Numbers of sequence s as times of the user's kind."""
        if self.kind == "number":
            return np.asarray(numbers)
        origin = self.origins[s]
        steps = np.rint(np.asarray(numbers) * NANOSECONDS).astype("timedelta64[ns]")
        if isinstance(origin, (np.datetime64, np.timedelta64)):
            return origin.astype(f"{origin.dtype.kind}8[ns]") + steps
        out = np.empty(len(steps), dtype=object)
        out[:] = [
            origin + timedelta(seconds=x / NANOSECONDS) for x in steps.astype(np.int64).tolist()
        ]
        return out


def _read(values, sequences):
    """Times as numbers, and the calendar that made them so."""
    if values.dtype.kind in "iuf":
        return values, Calendar("number", None)
    if values.dtype.kind == "O":
        numbers = _as_numbers(values)
        if numbers is not None:
            return numbers, Calendar("number", None)
    elif values.dtype.kind == "m" and np.datetime_data(values.dtype)[0] == "generic":
        if not np.isnat(values).all():
            raise ValueError("times are timedeltas without a unit; give one, as in timedelta64[s].")
    elif values.dtype.kind not in "mM":
        raise ValueError(
            f"times must be numbers, datetimes or timedeltas, not {values.dtype.name}; "
            "pandas.to_datetime reads dates that are strings."
        )
    origins = [values[k] for k in sequences.offsets[:-1].tolist()]
    parts = []
    for part, origin in zip(sequences.split(values), origins):
        seconds = _seconds_since(part, origin, "times")
        if seconds is None:
            raise ValueError(
                "times must be numbers, datetimes or timedeltas (of one kind, with time zones "
                f"or without); got {part[0]!r}."
            )
        parts.append(seconds)
    first = values[0]
    is_date = values.dtype.kind == "M" or isinstance(first, (date, np.datetime64))
    return np.concatenate(parts), Calendar("datetime" if is_date else "timedelta", origins)


def _as_numbers(values):
    """Objects that are all numbers, or missing, as float64; otherwise None."""
    out = np.full(len(values), np.nan)
    for k, value in enumerate(values.tolist()):
        if is_missing(value):
            continue
        if isinstance(value, (bool, str)) or not isinstance(value, (int, float, np.number)):
            return None
        out[k] = value
    return out


def _seconds_since(values, origin, name):
    """Seconds since `origin`, NaN where a time is missing; None where that has no meaning."""
    if values.dtype.kind in "mM":
        if not isinstance(origin, (np.datetime64, np.timedelta64)):
            values = values.astype("datetime64[us]").astype(object)
        else:
            # whole nanoseconds first: seconds since 1970 as a float would lose them
            try:
                steps = (values - origin).astype("timedelta64[ns]")
            except TypeError:
                return None
            seconds = steps.astype(np.int64) / NANOSECONDS
            return np.where(np.isnat(steps), np.nan, seconds)
    out = np.full(len(values), np.nan)
    for k, value in enumerate(values.tolist()):
        if is_missing(value):
            continue
        try:
            step = value - origin
            out[k] = (
                step / np.timedelta64(1, "s")
                if isinstance(step, np.timedelta64)
                else step.total_seconds()
            )
        except (TypeError, AttributeError):
            return None
    return out
