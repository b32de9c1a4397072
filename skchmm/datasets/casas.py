"""CASAS smart-home event streams."""

import re
import warnings
from os import PathLike
from typing import Any

from .days import by_day, check_day_start, read_time
from .files import BadRows, find_file, read_lines

FORMAT = "date time sensor [location] value [activity [begin|end]]"
VALUES = {"ON", "OFF", "OPEN", "CLOSE", "CLOSED", "PRESENT", "ABSENT", "START", "STOP", "END"}
# Some homes write Sleep="begin" for Sleep begin.
MARKED = re.compile(r'(?P<activity>.+)="?(?P<mark>begin|end)"?', re.IGNORECASE)


def load_casas(
    path: str | PathLike,
    *,
    values: bool = False,
    idle: str = "IDLE",
    day_start: float = 0,
    on_bad_rows: str = "raise",
    data_home: str | PathLike | None = None,
    return_X_y: bool = False,
) -> Any:
    """Load a raw CASAS event stream as one sequence per day.

    One event a line, ``date time sensor [location] value [activity [begin|end]]``, separated by
    white space; gzipped or not.

    Parameters
    ----------
    path : str or path-like
        The file, here or in the data home.
    values : bool, default=False
        Symbols are sensors; with True, sensors with their value (``M003=ON``), readings that are
        numbers apart.
    idle : str, default="IDLE"
        The label of events during no activity.
    day_start : float, default=0
        The hour at which a day begins.
    on_bad_rows : {"raise", "skip"}, default="raise"
        What to do about rows that cannot be read: an error that lists
        them, or leave them out with a warning that says how many.
    data_home : str or path-like, default=None
        See :func:`get_data_home`.
    return_X_y : bool, default=False
        Only ``(X, y)``.

    Returns
    -------
    Bunch
        X (list of arrays of symbols), y (list of arrays of labels, or None if the file has no
        annotations), times (list of arrays of seconds since the start of the day), ids and groups
        (the days), states, symbols, DESCR.

    See Also
    --------
    load_ordonez : Activities at home from the files of Ordonez.
    load_runs : Sequences from a table of runs.

    Notes
    -----
    An activity with begin and end labels these two events and all between; within several at
    once, the one that began last does. Without begin or end it labels its own event. An end
    without a begin labels its own event too, and a warning says how many there are. Events at equal
    times stay in the order of the file.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from skchmm.datasets import load_casas
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "home.txt"
    ...     _ = path.write_text(
    ...         "2010-11-04 00:03:50 M003 ON Sleeping begin\\n"
    ...         "2010-11-04 07:15:09 M003 OFF Sleeping end\\n"
    ...         "2010-11-04 07:16:00 M019 ON\\n")
    ...     home = load_casas(path)
    >>> home.X[0].tolist(), home.y[0].tolist()
    (['M003', 'M003', 'M019'], ['Sleeping', 'Sleeping', 'IDLE'])
    """
    check_day_start(day_start)
    path = find_file(path, data_home)
    times, symbols, labels, under_way = [], [], [], []
    strays, annotated, bad = [], False, BadRows(path, on_bad_rows)
    for number, line in read_lines(path):
        if not line.strip():
            continue
        try:
            moment, sensor, value, activity, mark = _event(line)
        except ValueError as error:
            bad.add(number, error)
            continue
        annotated |= activity is not None
        if mark == "begin":
            under_way = [other for other in under_way if other != activity] + [activity]
        label = activity or (under_way[-1] if under_way else idle)
        if mark == "end":
            if activity not in under_way:
                strays.append(number)
            under_way = [other for other in under_way if other != activity]
        times.append(moment)
        symbols.append(f"{sensor}={value}" if values and not _is_number(value) else sensor)
        labels.append(label)
    bad.report(stacklevel=2)
    if not times:
        raise ValueError(f"{path} has no events; expected lines such as: {FORMAT}")
    if strays:
        warnings.warn(
            f"{path}: {len(strays)} activities end without a begin, the first in line {strays[0]}.",
            stacklevel=2,
        )
    return by_day(
        times,
        symbols,
        labels if annotated else None,
        idle=idle,
        day_start=day_start,
        description=f"CASAS event stream {path.name}",
        return_X_y=return_X_y,
    )


def _event(line):
    """Time, sensor, value, activity or None, "begin", "end" or None."""
    parts = line.split()
    if len(parts) < 4:
        raise ValueError(f"expected {FORMAT!r}, got {line[:100]!r}")
    try:
        moment = read_time(f"{parts[0]} {parts[1]}")
    except ValueError:
        moment = f"{parts[0]} {parts[1]}"[:100]
        raise ValueError(f"{moment!r} is no date and time like 2010-11-04 00:03:50.2") from None
    sensor, rest = parts[2], parts[3:]
    # A location is only told from a value by what values look like.
    if len(rest) > 1 and not _is_value(rest[0]) and _is_value(rest[1]):
        rest = rest[1:]
    value, note = rest[0], rest[1:]
    if not note:
        return moment, sensor, value, None, None
    if len(note) == 1:
        marked = MARKED.fullmatch(note[0])
        if marked:
            return moment, sensor, value, marked["activity"], marked["mark"].lower()
        return moment, sensor, value, note[0], None
    activity, mark = note[0], note[1].lower()
    if len(note) > 2 or mark not in ("begin", "end"):
        said = " ".join(note)[:100]
        raise ValueError(f"expected an activity and begin or end, got {said!r}")
    return moment, sensor, value, activity, mark


def _is_value(text):
    return text.upper() in VALUES or _is_number(text)


def _is_number(text):
    try:
        float(text)
    except ValueError:
        return False
    return True
