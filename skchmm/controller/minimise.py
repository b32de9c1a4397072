"""Trimming and minimising the tables of an automaton.

Time only moves on, so that states need telling apart in an epoch only by what may follow in
it and in later ones. The partition of the last epoch comes first; that of each earlier epoch
refines the one after it.
"""

from functools import lru_cache

import numpy as np

from .._kernels.other import automata

_SMALL = 1024  # entries of tables that are worth remembering


def coarsest_partition(keys, tails, labels, heads):
    """Classes of the coarsest partition finer than `keys` that all transitions respect."""

    def numbered(values):
        values = np.asarray(values, dtype=np.int64)
        if values.max(initial=0) > 4 * len(values):
            return np.unique(values, return_inverse=True)[1].astype(np.int64)
        there = np.zeros(values.max(initial=0) + 1, dtype=np.int64)  # without sorting
        there[values] = 1
        return (np.cumsum(there) - 1)[values]

    def contiguous(values):
        return np.ascontiguousarray(values, dtype=np.int64)

    return automata.refine(numbered(keys), contiguous(tails), numbered(labels), contiguous(heads))


def trimmed(tables, accept):
    """The tables with only the transitions on some path from the start to acceptance."""
    first, done = tables[0, 0], (accept > 0).astype(np.uint8)
    reached = np.zeros(len(accept), dtype=np.uint8)
    reached[first[first >= 0]] = 1
    live = tables >= 0
    for e, table in enumerate(tables):
        automata.forward_closure(table, reached)
        live[e] &= (reached > 0)[:, None]
    live[0, 0] = first >= 0  # the first step is one of the first epoch
    for e in reversed(range(len(tables))):
        automata.backward_closure(tables[e], done)
        live[e] &= done[tables[e]] > 0
    return np.where(live, tables, -1)


def minimal_tables(tables, accept):
    """Trimmed, minimal and canonically numbered: tables and accept; small ones are remembered.

    Rules of one shape that begin at different steps have the same tables.
    """
    if tables.size > _SMALL:
        return _minimal(tables, accept)
    tables, accept = np.ascontiguousarray(tables), np.ascontiguousarray(accept)
    return _remembered(
        tables.tobytes(), tables.shape, tables.dtype.str, accept.tobytes(), accept.dtype.str
    )


@lru_cache(maxsize=256)
def _remembered(tables, shape, dtype, accept, accept_dtype):
    tables = np.frombuffer(tables, dtype=dtype).reshape(shape)
    found = _minimal(tables, np.frombuffer(accept, dtype=accept_dtype))
    for array in found:
        array.setflags(write=False)  # it is handed out again
    return found


def _minimal(tables, accept):
    """Trimmed, minimal and canonically numbered: tables and accept.

    `accept` may be numbers: states with different ones are different, and 0 does not accept.
    Automata that accept the same paths of at least one step come out the same. An epoch whose
    table comes out as the one before it is still there. O(m log n) for each epoch of m
    transitions.
    """
    tables = trimmed(tables, accept)
    E, _, S = tables.shape
    classes, keys = [None] * E, accept
    for e in reversed(range(E)):
        tail, label = np.nonzero(tables[e] >= 0)
        classes[e] = keys = coarsest_partition(keys, tail, label, tables[e, tail, label])

    # chosen[k] is a state of the given tables that stands for state k of the new ones. A start
    # that no other can stand for comes before those, and no transition leads to it.
    start = _start(tables[0], classes[0], accept)
    alone = int(start is None)
    chosen = np.empty(0, dtype=np.int64) if alone else np.array([start])
    roots, rows = tables[0, 0, tables[0, 0] >= 0] if alone else chosen, []
    for e in range(E):
        _, representative = np.unique(classes[e], return_index=True)
        quotient = tables[e, representative]
        quotient = np.where(quotient >= 0, classes[e][quotient], -1)
        held = classes[e][chosen]
        order = _walk(quotient, classes[e][roots])
        place = np.full(len(representative) + 1, -1, dtype=np.int32)
        # Of several states that are now alike the first one is where transitions lead.
        place[held[::-1]] = alone + np.arange(len(held), dtype=np.int32)[::-1]
        fresh = order[place[order] < 0]
        place[fresh] = alone + len(held) + np.arange(len(fresh), dtype=np.int32)
        roots = chosen = np.concatenate([chosen, representative[fresh]])
        rows.append(place[quotient[classes[e][chosen]]])
        if alone and e == 0:
            first = place[quotient[classes[0][0]]]
    out = np.full((E, alone + len(chosen), S), -1, dtype=np.int32)
    for e in range(E):
        out[e, alone : alone + len(rows[e])] = rows[e]
    if alone:
        out[0, 0] = first
    return out, np.append(np.zeros(alone, dtype=accept.dtype), accept[chosen])


def _start(table, classes, accept):
    """A state that can stand for the initial one as well, None if there is none.

    Nobody asks whether the path of no steps is accepted, so that it may be one of either kind.
    """
    first = table[0, table[0] >= 0]
    reached = np.zeros(len(table), dtype=np.uint8)
    reached[first] = 1
    automata.forward_closure(table, reached)
    rows = np.where(table >= 0, classes[table], -1)
    same = np.flatnonzero((reached > 0) & (rows == rows[0]).all(axis=1))
    if len(same) <= 1:
        return same[0] if len(same) else None
    # Several: an accepting one, and of those the one that a walk meets first.
    _, representative = np.unique(classes, return_index=True)
    met = np.empty(len(representative), dtype=np.int64)
    order = _walk(rows[representative], classes[first])
    met[order] = np.arange(len(order))
    return min(same, key=lambda q: (not accept[q], met[classes[q]]))


def _walk(table, start):
    """Rows of a table in the order in which a breadth-first walk from `start` meets them."""
    n, S = table.shape
    # A chain of extra rows lists the start, so that the walk has one root.
    links = max(1, -(-len(start) // S))
    padded = np.full((links + n, S + 1), -1, dtype=np.int32)
    padded[: links - 1, 0] = np.arange(1, links)
    listed = np.full(links * S, -1, dtype=np.int32)
    listed[: len(start)] = links + start
    padded[:links, 1:] = listed.reshape(links, S)
    padded[links:, 1:] = np.where(table >= 0, links + table, -1)
    order = automata.breadth_first(padded[None])
    return order[order >= links] - links
