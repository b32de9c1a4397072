"""Functions that take turns, and the lines of the table."""

import time
from dataclasses import asdict, dataclass
from itertools import count


def race(functions, *, seconds=1.0, least=3, most=50, clock=time.perf_counter):
    """Name -> shortest time of a call.

    The functions take turns, so that a slow moment of the machine hits them all, and each time
    another one begins: what runs after one that returned its memory has to fetch it anew. The
    first turn warms up. Each stops after its share of `seconds`, but not before `least` calls. One
    that alone takes longer than that gets a second call and no more. Where one thread does all the
    work, ``clock=time.thread_time`` leaves out what other programs take from it.
    """
    best = {name: timed(function, clock) for name, function in functions.items()}
    slow = {name for name, first in best.items() if first > seconds}
    spent = dict.fromkeys(functions, 0.0)
    calls = dict.fromkeys(functions, 0)
    # What the first call of a fast function took says more about imports and caches.
    best.update(dict.fromkeys(functions.keys() - slow, float("inf")))
    for turn in count():
        waiting = [
            name
            for name in functions
            if calls[name] < (1 if name in slow else most)
            and (spent[name] < seconds or calls[name] < least)
        ]
        if not waiting:
            return best
        first = turn % len(waiting)
        for name in waiting[first:] + waiting[:first]:
            elapsed = timed(functions[name], clock)
            best[name] = min(best[name], elapsed)
            spent[name] += elapsed
            calls[name] += 1


def timed(function, clock=time.perf_counter):
    begin = clock()
    function()
    return clock() - begin


@dataclass
class Line:
    """One comparison. `value` and `peer_value` in `unit`; less is better."""

    work: str
    size: str
    ours: str
    value: float
    peer: str = ""
    peer_value: float | None = None
    unit: str = "s"
    at_least: float | None = None  # demanded ratio of the peer's value to ours
    at_most: float | None = None  # demanded limit of our value
    agree: bool | None = None  # do both give the same answer
    note: str = ""
    demand: str | None = None  # which demand this is a case of

    @property
    def ratio(self):
        return None if self.peer_value is None else self.peer_value / self.value

    @property
    def demanded(self):
        parts = []
        if self.at_least is not None:
            parts.append(f"{self.at_least:g}x")
        if self.at_most is not None:
            parts.append(f"<= {show(self.at_most, self.unit)}")
        return " or ".join(parts)

    @property
    def met(self):
        if self.at_least is None and self.at_most is None:
            return None
        fast = self.at_least is not None and self.ratio >= self.at_least
        return fast or (self.at_most is not None and self.value <= self.at_most)

    def cells(self):
        ratio = "" if self.ratio is None else f"{self.ratio:.3g}x"
        met = {None: "", True: "yes", False: "NO"}[self.met]
        agree = {None: "", True: "same", False: "DIFFERENT"}[self.agree]
        theirs = "" if self.peer_value is None else show(self.peer_value, self.unit)
        return [
            self.work, self.size, self.ours, show(self.value, self.unit), self.peer, theirs,
            ratio, self.demanded, met, agree, self.note,
        ]  # fmt: skip

    def record(self):
        return {**asdict(self), "ratio": self.ratio, "met": self.met}


HEADER = [
    "work", "size", "ours", "time", "peer", "its time", "ratio", "demanded", "met", "answers",
    "note",
]  # fmt: skip


def show(value, unit):
    if unit != "s":
        return f"{value:.3g} {unit}"
    for factor, name in ((1, "s"), (1e3, "ms"), (1e6, "us")):
        if value * factor >= 1:
            return f"{value * factor:.3g} {name}"
    return f"{value * 1e9:.3g} ns"


def summary(lines):
    """One row a demand: what is asked, the worst and the median case."""
    rows = []
    judged = [line for line in lines if line.demand and line.met is not None]
    for demand in dict.fromkeys(line.demand for line in judged):
        cases = [line for line in judged if line.demand == demand]
        if cases[0].at_least is None:
            values = sorted((line.value for line in cases), reverse=True)
            shown = [show(value, cases[0].unit) for value in values]
        else:
            shown = [f"{ratio:.3g}x" for ratio in sorted(line.ratio for line in cases)]
        kept = sum(line.met for line in cases)
        rows.append([demand, cases[0].demanded, shown[0], shown[len(shown) // 2],
                     f"{kept} of {len(cases)}"])  # fmt: skip
    return rows


SUMMARY = ["work", "demanded", "worst", "median", "met"]
