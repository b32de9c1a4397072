"""Random small controllers, and what an automaton means, by definition."""

import numpy as np
from hypothesis import strategies as st

from skchmm import Controller

LETTERS = ("a", "b", "c")


@st.composite
def controllers(draw, max_states=5, max_labels=2, max_epochs=3):
    """Any table of a few automaton states, labels and epochs."""
    n = draw(st.integers(1, max_states))
    S = draw(st.integers(1, max_labels))
    breaks = draw(st.sets(st.integers(1, 4), max_size=max_epochs - 1))
    epochs = (0, *sorted(breaks))
    entries = st.lists(
        st.integers(-1, n - 1), min_size=len(epochs) * n * S, max_size=len(epochs) * n * S
    )
    tables = np.array(draw(entries)).reshape(len(epochs), n, S)
    accept = draw(st.lists(st.booleans(), min_size=n, max_size=n))
    return Controller(LETTERS[:S], tables, accept, epochs=epochs)


def run(controller, path):
    """Whether a path is accepted, one label after the other."""
    q = 0
    for t, label in enumerate(path):
        e = sum(t >= first for first in controller.epochs) - 1
        q = controller.tables[e, q, controller.states.index(label)]
        if q < 0:
            return False
    return bool(controller.accept[q])


def fewest_states(controller):
    """The number of automaton states that a controller of the same paths needs.

    In which epoch a step falls is left open: all that is known is that epochs come in order. A
    state matters in an epoch by which continuations it accepts then (Myhill and Nerode). In the
    first epoch every kind of state that can be reached is needed; in each later one, every kind
    that none of the states so far has turned into.
    """
    E, n, S = controller.tables.shape
    # State n is the dead one. kind[e][q] numbers the continuations of at most k steps.
    step = np.full((E, n + 1, S), n)
    step[:, :n] = np.where(controller.tables < 0, n, controller.tables)
    accept = [*controller.accept.tolist(), False]
    kind = [accept] * E
    for _ in range((n + 1) * E + 1):
        kind = [
            _numbered([
                (accept[q], *(kind[later][r] for later in range(e, E) for r in step[later, q]))
                for q in range(n + 1)
            ])
            for e in range(E)
        ]  # fmt: skip
    dead = [kind[e][n] for e in range(E)]

    def closure(found, e):
        found = list(found)
        for q in found:
            found += [r for r in step[e, q] if kind[e][r] != dead[e] and r not in found]
        return found

    # The start is not asked whether it accepts: it needs no state of its own if another one,
    # reached later, goes on as it does.
    after = closure([r for r in dict.fromkeys(step[0, 0]) if kind[0][r] != dead[0]], 0)

    def goes_on(q):
        return [kind[0][r] for r in step[0, q]]

    alone = all(goes_on(q) != goes_on(0) for q in after)
    size = len({kind[0][q] for q in after}) + alone
    held = after
    for e in range(1, E):
        reached = closure(held, e)
        size += len({kind[e][q] for q in reached}) - len({kind[e][q] for q in held})
        held = reached
    return size


def _numbered(values):
    numbers = {}
    return [numbers.setdefault(value, len(numbers)) for value in values]
