"""Tables of sensor features, one row per time step."""

import gzip
import zlib
from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any

import numpy as np
from sklearn.utils import Bunch

from .files import find_file


def load_runs(
    data: Any,
    *,
    run: str | Sequence[str],
    label: str | None = None,
    time: str | None = None,
    features: Sequence[str] | None = None,
    group: str | None = None,
    labels: Mapping | None = None,
    unlabelled: Any = None,
    data_home: str | PathLike | None = None,
    return_X_y: bool = False,
) -> Any:
    """Load a table with one row per time step as one sequence per run. Needs pandas.

    Parameters
    ----------
    data : str, path-like or pandas.DataFrame
        The table, or the file (CSV, or tab-separated if its name has ``.tsv``; gzipped or not),
        here or in the data home.
    run : str or list of str
        The column, or the columns together, that tell runs apart.
    label : str, default=None
        The column of labels.
    time : str, default=None
        The column of times; rows are sorted by it within a run. Without it they stay in order.
    features : list of str, default=None
        The feature columns; by default all numeric columns that have no other role.
    group : str, default=None
        The column of groups for cross-validation, a subject say; constant within a run. By default
        a run is a group.
    labels : dict, default=None
        Names for the values of the label column.
    unlabelled : optional
        The value of the label column that stands for "no label". It becomes -1 among integers, None
        among names, which is what estimators take for a missing label; so does an empty field.
    data_home : str or path-like, default=None
        See :func:`get_data_home`.
    return_X_y : bool, default=False
        Only ``(X, y)``.

    Returns
    -------
    Bunch
        X (list of float arrays), y (list of arrays or None), times (list of arrays or None), ids
        (one per run; values of several columns joined by "/"), groups, states, feature_names,
        DESCR.

    See Also
    --------
    load_casas : Activities at home from sensor logs of CASAS.
    get_data_home : The folder in which data are looked for.

    Examples
    --------
    >>> import pandas as pd
    >>> from skchmm.datasets import load_runs
    >>> table = pd.DataFrame({"day": [1, 1, 2], "state": ["sit", "go", "sit"], "x": [0.1, 0.9, 0]})
    >>> load_runs(table, run="day", label="state").y[0].tolist()
    ['sit', 'go']
    """
    frame, name = _read_frame(data, data_home)
    runs = [run] if isinstance(run, str) else list(run)
    roles = [*runs, *(column for column in (label, time, group) if column is not None)]
    if features is None:
        numeric = frame.select_dtypes("number").columns
        features = [column for column in numeric if column not in roles]
    features = list(features)
    missing = [column for column in [*roles, *features] if column not in frame.columns]
    if missing:
        hint = ""
        if frame.shape[1] == 1 and isinstance(data, (str, PathLike)):
            hint = " A single column often means another delimiter: files are read as CSV, or as "
            hint += "tab-separated if their name has .tsv."
        raise ValueError(
            f"{name} has no column {', '.join(map(repr, missing))}; it has "
            f"{', '.join(map(repr, frame.columns))}.{hint}"
        )
    if len(frame) == 0:
        raise ValueError(f"{name} has no rows.")
    if not features:
        raise ValueError(f"{name} has no numeric feature columns left; name them in features=.")
    X = _numbers(frame, features, name)
    times = None if time is None else _numbers(frame, [time], name)[:, 0]
    order, starts = _order(frame, runs, time, times, name)

    def cut(values):
        return np.split(values[order], starts[1:])

    ids = _ids(frame, runs, order[starts])
    groups = ids if group is None else _groups(frame, group, order, starts, name)
    y, states = None, ()
    if label is not None:
        values, states = _labels(frame[label], labels, unlabelled, name)
        y = cut(values)
    X = cut(X)
    if return_X_y:
        return X, y
    return Bunch(
        X=X,
        y=y,
        times=None if times is None else cut(times),
        ids=ids,
        groups=groups,
        states=states,
        feature_names=features,
        DESCR=f"{name}: {len(X)} runs, {len(order)} steps, {len(features)} features, "
        f"{len(states)} states.",
    )


def _read_frame(data, data_home):
    try:
        import pandas as pd
    except ImportError as error:
        raise ImportError("load_runs needs pandas (pip install pandas).") from error
    if isinstance(data, pd.DataFrame):
        return data, "The table"
    path = find_file(data, data_home)
    try:
        return pd.read_csv(path, sep="\t" if ".tsv" in path.suffixes else ","), str(path)
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is not a text in UTF-8: {error.reason}.") from None
    except pd.errors.ParserError as error:
        raise ValueError(f"{path}: {error}") from None
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise ValueError(f"{path} is damaged: {error}.") from None
    except pd.errors.EmptyDataError:
        raise ValueError(f"{path} is empty.") from None


def _where(name, row):
    # The header is line 1 of a file.
    return f"{name}, row {row}" if name == "The table" else f"{name}, line {row + 2}"


def _check_rows(bad, name, message):
    if bad.any():
        raise ValueError(f"{_where(name, int(np.argmax(bad)))}: {message}.")


def _numbers(frame, columns, name):
    import pandas as pd

    values = np.empty((len(frame), len(columns)))
    for k, column in enumerate(columns):
        numbers = pd.to_numeric(frame[column], errors="coerce").to_numpy(float, na_value=np.nan)
        bad = np.isnan(numbers) & frame[column].notna().to_numpy()
        if bad.any():
            text = frame[column].iloc[int(np.argmax(bad))]
            _check_rows(bad, name, f"{column!r} is {text!r}, which is no number")
        values[:, k] = numbers
    return values


def _order(frame, runs, time, times, name):
    """The rows run by run, sorted by time within each, and where the runs start among them."""
    for column in runs:
        _check_rows(frame[column].isna().to_numpy(), name, f"{column!r} is empty")
    number = frame.groupby(runs, sort=False).ngroup().to_numpy()
    if times is None:
        order = np.argsort(number, kind="stable")
        return order, np.flatnonzero(np.diff(number[order], prepend=-1))
    _check_rows(np.isnan(times), name, f"{time!r} is empty")
    order = np.lexsort((times, number))
    starts_run = np.diff(number[order], prepend=-1) > 0
    again = (np.diff(times[order], prepend=np.nan) == 0) & ~starts_run
    if again.any():
        which = order[np.argmax(again)]
        raise ValueError(f"{_where(name, which)}: its run has the same {time!r} twice.")
    return order, np.flatnonzero(starts_run)


def _groups(frame, group, order, starts, name):
    values = frame[group].to_numpy()[order]
    groups = values[starts]
    changes = values != np.repeat(groups, np.diff(starts, append=len(values)))
    if changes.any():
        which = order[np.argmax(changes)]
        raise ValueError(f"{_where(name, which)}: {group!r} changes within a run.")
    return groups


def _ids(frame, runs, rows):
    if len(runs) == 1:
        return frame[runs[0]].to_numpy()[rows]
    columns = [frame[column].to_numpy()[rows] for column in runs]
    return np.array(["/".join(map(str, values)) for values in zip(*columns)])


def _labels(column, names, unlabelled, name):
    """Labels with missing ones as estimators take them, and the states."""
    values = column.to_numpy(dtype=object)
    missing = column.isna().to_numpy()
    if unlabelled is not None:
        missing = missing | (values == unlabelled)
    known = values[~missing]
    if names is not None:
        strange = ~missing & np.array([value not in names for value in values], dtype=bool)
        _check_rows(strange, name, "its label is not in labels")
        known = np.array([names[value] for value in known], dtype=object)
    states = tuple(
        dict.fromkeys(sorted(known.tolist(), key=lambda label: (str(type(label)), label)))
    )
    whole = all(isinstance(state, (int, float)) and state == int(state) for state in states)
    if whole:
        states = tuple(int(state) for state in states)
        labels = np.full(len(values), -1, dtype=np.int64)
        labels[~missing] = [int(label) for label in known]
    elif missing.any():
        labels = np.full(len(values), None, dtype=object)
        labels[~missing] = known
    else:
        labels = np.array(known.tolist())
    return labels, states
