"""How far something is, in the terminal."""

from time import perf_counter


def duration(seconds):
    """A duration to read, e.g. '41 s', '3 min' or '2.5 h'."""
    for size, unit in ((3600, "h"), (60, "min")):
        if seconds >= 1.5 * size:
            return f"{seconds / size:.{1 if unit == 'h' else 0}f} {unit}"
    return f"{seconds:.0f} s"


class Counted:
    """Prints how much of a task is done and how long the rest may take, once a second at most.

    Parameters
    ----------
    task : str
        What is done, the name of a method say.
    total : int
    what : str
        What is counted.
    """

    def __init__(self, task, total, what):
        self.task, self.total, self.what = task, total, what
        self.since = self._last = perf_counter()

    def tell(self, done, detail=""):
        now = perf_counter()
        if now - self._last < 1 or not 0 < done < self.total:
            return
        self._last = now
        left = (now - self.since) * (self.total - done) / done
        number = f"{done:{len(str(self.total))}d} of {self.total} {self.what}"
        print(f"{self.task}  {number}{detail}  about {duration(left)} left", flush=True)
