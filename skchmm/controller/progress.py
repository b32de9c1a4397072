"""How far something is: a bar where somebody watches, lines in a log."""

import sys
from time import perf_counter


def duration(seconds):
    """A duration to read, e.g. '41 s', '3 min' or '2.5 h'."""
    for size, unit in ((3600, "h"), (60, "min")):
        if seconds >= 1.5 * size:
            return f"{seconds / size:.{1 if unit == 'h' else 0}f} {unit}"
    return f"{seconds:.0f} s"


class Counted:
    """Shows how much of a task is done and how long the rest may take.

    In a terminal or a notebook it is a bar of tqdm or rich, if one of them is installed. Otherwise
    lines are printed, one per second at most. What takes less than a second shows nothing. Use it
    in a ``with`` statement, which takes the bar away in the end.

    Parameters
    ----------
    task : str
        What is done, e.g. 'decoded'.
    total : int or None
        None if it is not known.
    what : str
        What is counted.
    shown : bool, default=True
        If false, nothing is shown.
    """

    def __init__(self, task, total, what, shown=True):
        self.task, self.total, self.what, self.shown = task, total, what, shown
        self.since = self._last = perf_counter()
        self._bar = None

    def __enter__(self):
        if self.shown and (sys.stdout.isatty() or "ipykernel" in sys.modules):
            self._bar = _bar(self)
        return self

    def __exit__(self, *error):
        if self._bar is not None:
            self._bar.close()

    def tell(self, done, detail=""):
        now = perf_counter()
        if not self.shown or now - self._last < 1 or done == self.total or done <= 0:
            return
        if self._bar is not None:
            self._bar.show(done, detail)
            return
        self._last = now
        if self.total is None:
            number = f"{done} {self.what}"
            until = f"after {duration(now - self.since)}"
        else:
            number = f"{done:{len(str(self.total))}d} of {self.total} {self.what}"
            until = f"about {duration((now - self.since) * (self.total - done) / done)} left"
        print(f"{self.task}  {number}{detail}  {until}", flush=True)


def _bar(counted):
    """A bar of tqdm or of rich; None if neither is installed."""
    try:
        from tqdm.auto import tqdm
    except ImportError:
        pass
    else:
        return _TqdmBar(tqdm, counted)
    try:
        from rich import progress
    except ImportError:
        return None
    return _RichBar(progress, counted)


class _TqdmBar:
    def __init__(self, tqdm, counted):
        self.bar = tqdm(
            desc=counted.task, total=counted.total, unit=f" {counted.what}", leave=False, delay=1
        )

    def show(self, done, detail):
        self.bar.set_postfix_str(detail.lstrip(", "), refresh=False)
        self.bar.update(done - self.bar.n)

    def close(self):
        self.bar.close()


class _RichBar:
    def __init__(self, progress, counted):
        self.progress = progress.Progress(
            "{task.description}", progress.BarColumn(), progress.MofNCompleteColumn(),
            "{task.fields[what]}", progress.TimeRemainingColumn(), transient=True,
        )  # fmt: skip
        self.what = counted.what
        self.task = self.progress.add_task(counted.task, total=counted.total, what=self.what)

    def show(self, done, detail):
        self.progress.start()  # does nothing from the second time on
        self.progress.update(self.task, completed=done, what=self.what + detail)

    def close(self):
        self.progress.stop()
