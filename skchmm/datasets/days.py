"""Event streams cut into days."""

from datetime import datetime, time, timedelta
from numbers import Real

import numpy as np
from sklearn.utils import Bunch


def read_time(text):
    """A date and a time of day; ValueError if it is none."""
    return datetime.fromisoformat(text)


def check_day_start(day_start):
    if not isinstance(day_start, Real) or not 0 <= day_start < 24:
        raise ValueError(
            f"day_start is an hour of the day, 0 <= day_start < 24; got {day_start!r}."
        )


def by_day(times, symbols, labels, *, idle, day_start, description, return_X_y):
    """A data set with one sequence per day from events; within a day they are sorted by time.

    `labels` is None where nothing is annotated.
    """
    shift = timedelta(hours=day_start)
    days = {}
    for event, moment in enumerate(times):
        days.setdefault((moment - shift).date(), []).append(event)
    X, y, seconds = [], [], []
    for day in sorted(days):
        events = sorted(days[day], key=times.__getitem__)
        begin = datetime.combine(day, time()) + shift
        X.append(np.array([symbols[event] for event in events]))
        seconds.append(np.array([(times[event] - begin).total_seconds() for event in events]))
        if labels is not None:
            y.append(np.array([labels[event] for event in events]))
    if labels is None:
        y, states = None, ()
    else:
        states = (*sorted(set(labels) - {idle}), *({idle} & set(labels)))
    if return_X_y:
        return X, y
    names = np.array([day.isoformat() for day in sorted(days)])
    return Bunch(
        X=X,
        y=y,
        times=seconds,
        ids=names,
        groups=names,
        states=states,
        symbols=tuple(sorted(set(symbols))),
        DESCR=f"{description}: {len(times)} events on {len(X)} days, {len(set(symbols))} symbols, "
        f"{len(states)} states. Times are seconds since the start of the day.",
    )
