"""The smart-home format of Ordonez: intervals of sensors and of activities."""

from os import PathLike
from typing import Any

import numpy as np

from .days import by_day, check_day_start, read_time
from .files import BadRows, find_file, malformed, read_lines


def load_ordonez(
    sensors: str | PathLike,
    adls: str | PathLike,
    *,
    with_ends: bool = False,
    idle: str = "IDLE",
    day_start: float = 0,
    on_bad_rows: str = "raise",
    data_home: str | PathLike | None = None,
    return_X_y: bool = False,
) -> Any:
    """Load the sensors and the activities of a home as one event sequence per day.

    Both files ("ADLs recognition using binary sensors", UCI) have two header lines, then intervals:
    start, end and location, type, place of a sensor, or start, end and an activity.

    Parameters
    ----------
    sensors, adls : str or path-like
        The two files, here or in the data home.
    with_ends : bool, default=False
        An event is the start of a sensor's interval, its symbol the sensor
        (``Door/PIR/Kitchen``). With True its end is one too, and symbols end in ``=ON``, ``=OFF``.
    idle : str, default="IDLE"
        The label of events during no activity.
    day_start : float, default=0
        The hour at which a day begins.
    on_bad_rows : {"raise", "skip"}, default="raise"
        What to do about rows that cannot be read, or end before they start: an error that lists
        them, or leave them out with a warning that says how many.
    data_home : str or path-like, default=None
        See :func:`get_data_home`.
    return_X_y : bool, default=False
        Only ``(X, y)``.

    Returns
    -------
    Bunch
        X (list of arrays of symbols), y (list of arrays of labels), times (list of arrays of
        seconds since the start of the day), ids and groups (the days), states, symbols, DESCR.

    See Also
    --------
    load_casas : Activities at home from sensor logs of CASAS.
    load_runs : Sequences from a table of runs.

    Notes
    -----
    The label of an event is the activity under way (both ends of its interval included), that which
    began last if there are several.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from skchmm.datasets import load_ordonez
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     sensors, adls = Path(folder) / "sensors.txt", Path(folder) / "adls.txt"
    ...     night = "2011-11-28 02:27:59  2011-11-28 10:18:11  "
    ...     head = "Start time  End time\\n----------  --------\\n"
    ...     _ = sensors.write_text(head + night + "Bed Pressure Bedroom")
    ...     _ = adls.write_text(head + night + "Sleeping")
    ...     home = load_ordonez(sensors, adls)
    >>> home.X[0].tolist(), home.y[0].tolist()
    (['Bed/Pressure/Bedroom'], ['Sleeping'])
    """
    check_day_start(day_start)
    sensors, adls = find_file(sensors, data_home), find_file(adls, data_home)
    sensed, bad = _intervals(sensors, ("location", "type", "place"), on_bad_rows)
    done, more = _intervals(adls, ("activity",), on_bad_rows)
    bad.report(2, more)
    events = []
    for start, end, name in sensed:
        events.append((start, f"{name}=ON" if with_ends else name))
        if with_ends:
            events.append((end, f"{name}=OFF"))
    if not events:
        raise ValueError(f"{sensors} has no intervals.")
    events.sort(key=lambda event: event[0])
    times = [moment for moment, _ in events]
    clock = np.array(times, dtype="datetime64[us]")
    labels = np.full(len(times), idle, dtype=object)
    for start, end, activity in sorted(done, key=lambda one: one[0]):
        begin = np.searchsorted(clock, np.datetime64(start), side="left")
        stop = np.searchsorted(clock, np.datetime64(end), side="right")
        labels[begin:stop] = activity
    return by_day(
        times,
        [symbol for _, symbol in events],
        labels.tolist(),
        idle=idle,
        day_start=day_start,
        description=f"Ordonez home {sensors.name}",
        return_X_y=return_X_y,
    )


def _intervals(path, names, on_bad_rows):
    """Start, end and name (the last columns, joined) of each line after the header; bad rows."""
    intervals, bad = [], BadRows(path, on_bad_rows)
    expected = f"start date and time, end date and time, {', '.join(names)}"
    number = 0
    for number, line in read_lines(path):
        if number == 1 and not line.lower().startswith("start"):
            raise malformed(
                path, 1, f"expected the header 'Start time  End time ...', got {line[:100]!r}"
            )
        if number == 2 and not line.startswith("--"):
            raise malformed(path, 2, f"expected dashes under the header, got {line[:100]!r}")
        if number <= 2 or not line.strip():
            continue
        parts = line.split()
        try:
            if len(parts) != 4 + len(names):
                raise ValueError
            start, end = read_time(" ".join(parts[:2])), read_time(" ".join(parts[2:4]))
        except ValueError:
            bad.add(number, f"expected {expected}; got {line[:100]!r}")
            continue
        if end < start:
            bad.add(number, f"the interval ends ({end}) before it starts ({start})")
            continue
        intervals.append((start, end, "/".join(parts[4:])))
    if number == 0:
        raise ValueError(f"{path} is empty.")
    return intervals, bad
