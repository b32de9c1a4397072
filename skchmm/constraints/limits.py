"""Limits within which rules are read and built, so that a mistake is an error and not a wait."""

import re
from collections.abc import Mapping
from contextlib import contextmanager
from contextvars import ContextVar

from ..exceptions import ControllerTooLargeError

MAX_DEPTH = 64  # constraints within constraints; copying and saving them takes recursion
MAX_PARTS = 100_000  # of a combination of constraints
MAX_VALUES = 1_000_000  # in a specification, labels and all
_LEAST_WORK = 3_000_000
COST_OF_RULE = 500  # of several, for each epoch, whatever its size; in steps of `Work`
COST_OF_PART = 20  # of a text, which was read before; in steps of `Work`
_COST_OF_WORD = 20  # to read it, or a symbol, whether or not the text is remembered
_WORD = re.compile(r"\w+|[^\w\s]")


_whole: ContextVar["Work | None"] = ContextVar("whole", default=None)


class Work:
    """The work of building one automaton, in steps of about a third of a microsecond.

    So by default a second is enough to build it or to refuse it. It is in proportion to
    `max_nodes`: who allows larger automata waits longer for them. What is spent on one of several
    rules counts for all of them.
    """

    def __init__(self, max_nodes):
        self.left = max(_LEAST_WORK, 3 * max_nodes)
        self.whole = _whole.get()

    def spend(self, steps):
        self.left -= steps
        if self.left < 0:
            raise ControllerTooLargeError(
                "it takes too much work to build; write it more simply, or raise max_nodes"
            )
        if self.whole is not None:
            self.whole.spend(steps)


@contextmanager
def one_budget(max_nodes):
    """Whatever is read and built within counts as one piece of work."""
    work = Work(max_nodes)
    token = _whole.set(work)
    try:
        yield work
    finally:
        _whole.reset(token)


def spend_on_reading(text):
    """The work of reading a text, where it is one of several."""
    whole = _whole.get()
    if whole is not None:
        whole.spend(_COST_OF_WORD * len(_WORD.findall(text)))


def build_all(parts, build, max_nodes, tell=None):
    """The controllers of several rules, within about a second and a half for all of them."""
    controllers = []
    with one_budget(max_nodes) as work:
        for part in parts:
            controllers.append(build(part))
            tables = controllers[-1].tables
            work.spend(COST_OF_RULE * len(tables) + tables.size)
            if tell is not None:
                tell(len(controllers))
    return controllers


def check_nesting(value, children, what, max_depth=MAX_DEPTH, max_parts=MAX_PARTS):
    """Raise unless `value` is nested at most `max_depth` deep, with at most `max_parts` parts.

    ``children(value)`` lists what is directly within a value. Level by level, not by recursion.
    """
    level, n_parts = [value], 0
    for _ in range(max_depth + 1):
        level = [child for each in level for child in children(each)]
        n_parts += len(level)
        if not level:
            return
        if n_parts > max_parts:
            raise ValueError(f"{what} has more than {max_parts:,} parts")
    raise ValueError(f"{what} is nested too deeply; {max_depth} levels are allowed")


def listed(value):
    """What is in a plain list, a tuple or a set, for `check_nesting`."""
    return value if isinstance(value, (list, tuple, set, frozenset)) else ()


def specified(value):
    """What is in a list or a dictionary."""
    return value.values() if isinstance(value, Mapping) else listed(value)
