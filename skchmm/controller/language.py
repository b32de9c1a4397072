"""Questions about the paths that a controller accepts: how short, how many.

A path has at least one label. Where a controller has a horizon, longer paths do not count.
"""

import math

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from .._kernels.other import automata

# Counts are taken step by step and have a digit more every few steps; a path is a list of labels.
MAX_STEPS = 1_000_000
MAX_MASKS = 100_000_000  # steps times automaton states that the search for a path looks at


def _advance(controller, e, alive):
    there = controller.tables[e, alive]
    after = np.zeros_like(alive)
    after[there[there >= 0]] = True
    return after


def _epoch_ends(controller):
    """For each epoch the first step past it, None where there is none."""
    ends = [int(step) for step in controller.epochs[1:]] + [controller.horizon]
    if controller.horizon is not None:
        ends = [min(end, controller.horizon) for end in ends]
    return ends


def _reach(controller, stop=None):
    """Which automaton states some path leads to, step by step: pairs (steps read, mask).

    A stretch in which the masks repeat is skipped, so that long epochs cost little; what is left
    out has all been given before. Ends after `stop` steps (None: when masks repeat forever).
    """
    alive = np.zeros(len(controller.accept), dtype=bool)
    alive[0] = True
    step = 0
    yield step, alive
    for e, end in enumerate(_epoch_ends(controller)):
        if stop is not None:
            end = stop if end is None else min(end, stop)
        seen = {}
        while end is None or step < end:
            key = np.packbits(alive).tobytes()
            if key in seen:
                if end is None:
                    return
                period = step - seen[key]
                step += (end - step) // period * period
                seen = {}
                yield step, alive
                if step == end:
                    break
            seen[key] = step
            alive = _advance(controller, e, alive)
            step += 1
            yield step, alive


def shortest_length(controller):
    """The fewest steps after which some path is accepted, or None."""
    for step, alive in _reach(controller):
        if step and (alive & controller.accept).any():
            return step
    return None


def shortest_path(controller):
    """Label indices of the first of the shortest accepted paths, or None."""
    length = shortest_length(controller)
    if length is None:
        return None
    if length * len(controller.accept) > MAX_MASKS:
        raise ValueError(
            f"The shortest path has {length:,} steps, which are too many to list them all."
        )
    epoch = np.searchsorted(controller.epochs, np.arange(length), side="right") - 1
    useful = [controller.accept]  # from the last step back: what leads to acceptance in time
    for t in reversed(range(1, length)):
        table = controller.tables[epoch[t]]
        useful.append(((table >= 0) & useful[-1][table]).any(axis=1))
    path, q = [], 0
    for t, good in enumerate(reversed(useful)):
        row = controller.tables[epoch[t], q]
        path.append(int(np.flatnonzero((row >= 0) & good[row])[0]))
        q = row[path[-1]]
    return path


def _merged_edges(controller, e):
    """(from, to, number of labels) of the transitions in an epoch, as Python integers."""
    q, a = np.nonzero(controller.tables[e] >= 0)
    edges, counts = np.unique(
        np.stack([q, controller.tables[e, q, a]], axis=1), axis=0, return_counts=True
    )
    return [(*edge, count) for edge, count in zip(edges.tolist(), counts.tolist())]


def _counts(controller):
    """Accepted paths of 1, 2, ... steps, exact, until nothing is alive or the horizon."""
    ways = [0] * len(controller.accept)
    ways[0] = 1
    step = 0
    for e, end in enumerate(_epoch_ends(controller)):
        edges = _merged_edges(controller, e)
        while end is None or step < end:
            if step == MAX_STEPS:
                raise ValueError(f"Paths are counted up to a length of {MAX_STEPS:,} steps.")
            after = [0] * len(ways)
            for q, there, count in edges:
                if ways[q]:
                    after[there] += ways[q] * count
            ways = after
            step += 1
            yield sum(w for w, accepting in zip(ways, controller.accept) if accepting)
            if not any(ways):
                return


def count_paths(controller, n_steps):
    """Accepted paths of exactly `n_steps` labels; O(n_steps * transitions) big integers."""
    if n_steps < 1:
        return 0
    if n_steps > MAX_STEPS:  # not worth counting up to there for nothing
        *_, (_, alive) = _reach(controller, n_steps)
        if not (alive & controller.accept).any():
            return 0
        raise ValueError(f"Paths are counted up to a length of {MAX_STEPS:,} steps, got {n_steps}.")
    for step, count in enumerate(_counts(controller), start=1):
        if step == n_steps:
            return count
    return 0


def language_size(controller):
    """Accepted paths of any length: an integer, or infinity. The controller is trimmed."""
    if controller.horizon is None:
        last = int(controller.epochs[-1])
        reached = [alive for step, alive in _reach(controller, last) if step == last]
        if reached and _has_cycle(controller, reached[-1]):
            return math.inf
    return sum(_counts(controller))


def _has_cycle(controller, alive):
    """Whether paths through `alive` may go on forever in the last epoch."""
    reached = alive.astype(np.uint8)
    automata.forward_closure(controller.tables[-1], reached)
    here = np.flatnonzero(reached)
    q, a = np.nonzero(controller.tables[-1, here] >= 0)
    tail, head = here[q], controller.tables[-1, here[q], a]
    graph = coo_array((np.ones(len(tail)), (tail, head)), shape=(len(alive),) * 2)
    n_parts, _ = connected_components(graph, directed=True, connection="strong")
    return n_parts < len(alive) or bool((tail == head).any())
