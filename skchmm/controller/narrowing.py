"""What the states of a small automaton come down to once some labels cannot occur any more.

A rule such as "after a, no b" remembers whether a has been; but only as long as b can still occur.
Where many rules hold together, each of them rules out labels for good, and the others have less
and less to remember. So most joint states of a product have the same future as another one. Here
is, for a single automaton and each set of labels that are gone, which of its states have the same
future; a kernel then multiplies the automata and never meets most of the joint states.

Labels that an automaton does not tell apart are one *kind*: a set of labels that are gone matters
to it by the kinds of which no label is left.
"""

from functools import lru_cache

import numpy as np

from .._kernels.other.narrowing import narrowed_product
from .minimise import coarsest_partition

# Automata beyond these are multiplied as they are.
_MOST_STATES = 64
_MOST_KINDS = 5
_FEW_LABELS = 4  # that a rule names, if it is to join groups of rules


def independent(controllers):
    """Controllers in groups that name different labels, as far as they name few.

    A product of such groups has about as many states as it takes, so it may as well come last.
    """
    names = [_named(c.tables[0]) for c in controllers]
    S = len(controllers[0].states)
    group_of = np.arange(S)
    for labels in names:
        if 0 < len(labels) <= _FEW_LABELS:
            group_of[np.isin(group_of, group_of[labels])] = group_of[labels[0]]
    sizes = np.bincount(group_of, minlength=S)
    found = {}
    for controller, labels in zip(controllers, names):
        groups = group_of[labels] if len(labels) else np.arange(S)
        found.setdefault(groups[np.argmax(sizes[groups])], []).append(controller)
    return list(found.values())


def _named(table):
    """The labels besides those that an automaton treats as it does most of the others."""
    kind_of = _kinds(table)[0]
    return np.flatnonzero(kind_of != np.bincount(kind_of).argmax())


def _kinds(table):
    """The kind of each label, numbered in order, and the first label of each kind."""
    columns = np.ascontiguousarray(table.T)
    whole = columns.view(np.dtype((np.void, columns.itemsize * columns.shape[1])))[:, 0]
    _, first, kind_of = np.unique(whole, return_index=True, return_inverse=True)
    order = np.argsort(first)
    return np.argsort(order)[kind_of], first[order]


def narrowed(controllers, limit):
    """Joint states and table of the product of controllers without epochs, None past the limit."""
    distinct = {(c.tables.tobytes(), c.accept.tobytes()): c for c in controllers}
    controllers = list(distinct.values())
    tables = [c.tables[0] for c in controllers]
    stands, gone, kinds = zip(*(_narrow(c.tables[0], c.accept) for c in controllers))
    rows, table = narrowed_product(tables, list(stands), list(gone), list(kinds), limit)
    if rows is None:
        return None
    if len(rows) == 0:
        return np.full((1, table.shape[1]), -1, dtype=np.int32), np.zeros(1, dtype=bool)
    accept = np.ones(len(rows), dtype=bool)
    for k, c in enumerate(controllers):
        accept &= c.accept[rows[:, k]]
    return table, accept


def _narrow(table, accept):
    """Which state stands for each, the labels gone after it, and the labels of each kind."""
    n, S = table.shape
    kind_of, first = _kinds(table)
    if n > _MOST_STATES or len(first) > _MOST_KINDS:
        nothing = _bits(np.zeros((1, n, S), dtype=bool))
        return np.arange(n, dtype=np.int32)[None], nothing, _bits(np.zeros((0, S), dtype=bool))
    compact = np.ascontiguousarray(table[:, first].T).tobytes()
    stands, gone = _shape(compact, accept.tobytes(), n)
    kinds = kind_of == np.arange(len(first))[:, None]
    return stands, _bits(gone[:, :, kind_of]), _bits(kinds)


@lru_cache(maxsize=512)
def _shape(compact, accept, n):
    """The same for an automaton over kinds, all that many rules of one shape share."""
    table = np.frombuffer(compact, dtype=np.int32).reshape(-1, n).T
    accept = np.frombuffer(accept, dtype=bool)
    n_kinds = table.shape[1]
    stands = np.empty((2**n_kinds, n), dtype=np.int32)
    gone = np.empty((2**n_kinds, n, n_kinds), dtype=bool)
    for subset in range(2**n_kinds):
        left = (subset >> np.arange(n_kinds) & 1) == 0
        done = _closure(accept[:, None], table, (table >= 0) & left)[:, 0]
        steps = (table >= 0) & left & done[table] & done[:, None]
        tails, labels = np.nonzero(steps)
        keys = done.astype(np.int64) + accept
        classes = coarsest_partition(keys, tails, labels, table[tails, labels])
        _, first, inverse = np.unique(classes, return_index=True, return_inverse=True)
        stands[subset] = np.where(done, first[inverse], -1)
        gone[subset] = ~_closure(steps, table, steps)
    return stands, gone


def _closure(holds, table, steps):
    """Where something (n, k) holds now or after some of the steps (n, kinds)."""
    while True:
        more = holds | (holds[table] & steps[:, :, None]).any(axis=1)
        if (more == holds).all():
            return holds
        holds = more


def _bits(members):
    """The last axis, one truth value per label, as words of 64 bits."""
    words = -(-members.shape[-1] // 64)
    room = np.zeros((*members.shape[:-1], 64 * words), dtype=bool)
    room[..., : members.shape[-1]] = members
    packed = np.packbits(room, axis=-1, bitorder="little")
    return np.ascontiguousarray(packed).view(np.uint64)
