"""Clocks: gaps between observations go through a monotone map before a generator sees them."""

import numpy as np

from .._numbers import is_real
from .times import Times


class GapMap:
    """How far a clock moves in a gap, and back: 0 to 0, and longer gaps to larger readings.

    Parameters
    ----------
    clock : "log" or positive float
        log(1 + gap), or a power of the gap.
    """

    def __init__(self, clock):
        check_clock(clock)
        self.clock = clock

    def forward(self, gaps):
        """What the clock shows so long after an observation."""
        if self.clock == "log":
            return np.log1p(gaps)
        with np.errstate(over="ignore", under="ignore"):
            return np.power(gaps, float(self.clock))

    def back(self, readings):
        """How long after an observation the clock shows that."""
        if self.clock == "log":
            return np.expm1(readings)
        with np.errstate(over="ignore", under="ignore"):
            return np.power(readings, 1.0 / float(self.clock))


def check_clock(clock):
    """Refuse what is no clock."""
    number = is_real(clock) and not isinstance(clock, (bool, np.bool_))
    if clock is None or (isinstance(clock, str) and clock == "log"):
        return
    if not (number and 0 < clock < np.inf):
        raise ValueError(
            "clock must be None (gaps as they are), 'log' (log1p of a gap) or a positive number "
            f"(that power of a gap), got {clock!r}."
        )


class ClockTimes(Times):
    """Times that a clock shows; it starts anew at every observation.

    Between observations at u and v, the reading at the time w is that at u, plus what the map makes
    of w - u; so a reading has its time, and everything that a chain in clock time says of a gap can
    be told in the user's times. After the last observation it goes on in the same way.

    Attributes
    ----------
    values, gaps : float64 (n,)
        Readings of the clock, 0 at the start of a sequence, and how far it moves in each gap.
    observed : float64 (n,)
        The user's times as numbers.
    offsets : int (n_sequences + 1,)
    """

    __slots__ = ("gap_map", "observed", "offsets")

    def __init__(self, times, offsets, gap_map):
        gaps = gap_map.forward(times.gaps)
        bad = ~np.isfinite(gaps) | ((gaps == 0) & (times.gaps > 0))
        if bad.any():
            gap = times.gaps[int(bad.argmax())]
            raise ValueError(
                f"clock={gap_map.clock!r} turns a gap of {gap:g} into {gaps[int(bad.argmax())]:g}: "
                "use a power nearer to 1, 'log', or another unit of time."
            )
        parts = zip(offsets[:-1], offsets[1:])
        values = np.concatenate([np.cumsum(gaps[begin:end]) for begin, end in parts])
        super().__init__(times.calendar, values, gaps)
        self.observed, self.offsets, self.gap_map = times.values, offsets, gap_map

    def part(self, begin, end, offsets):
        rows = slice(offsets[begin], offsets[end])
        some = object.__new__(ClockTimes)
        Times.__init__(some, self.calendar.part(begin, end), self.values[rows], self.gaps[rows])
        some.observed, some.gap_map = self.observed[rows], self.gap_map
        some.offsets = offsets[begin : end + 1] - offsets[begin]
        return some

    def read(self, values, s):
        numbers = super().read(values, s)
        return self._convert(numbers, self.observed, self.values, s, self.gap_map.forward)

    def write(self, numbers, s):
        numbers = np.asarray(numbers, dtype=np.float64)
        times = self._convert(numbers, self.values, self.observed, s, self.gap_map.back)
        return super().write(times, s)

    def _convert(self, numbers, of, into, s, change):
        """Numbers on the scale `of` the observations of sequence s as such on the scale `into`."""
        rows = slice(self.offsets[s], self.offsets[s + 1])
        of, into = of[rows], into[rows]
        before = np.searchsorted(of, numbers, side="right") - 1
        last = np.maximum(before, 0)
        since = numbers - of[last]
        converted = into[last] + change(np.maximum(since, 0.0))
        # rounding must not carry a time past the observation that comes after it
        converted = np.minimum(converted, np.append(into[1:], np.inf)[last])
        return np.where(before < 0, into[0] + since, converted)
