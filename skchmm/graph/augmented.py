"""The augmented graph: reachable pairs of a state and the controller's memory.

Nodes are the pairs (state, controller class) that lie on some path from the start to
acceptance along transitions the chain allows. Pairs of one state with the same future are
one node. Nodes are ordered by state, then by class, which is what the kernels rely on: the
first of several equally good nodes has the lowest state.

For the vector units, edges are laid out in *blocks* of 8 targets. An *entry* holds 8 weights, one
for each target of a block, and a source. It is either one source that all targets share (a part of
a row of the transition matrix) or a diagonal: source + k for the k-th target. A block takes the
kind that needs fewer entries, so a dense graph becomes rows and a counter or a chain diagonals.
"""

from copy import copy
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np

from .._kernels.other import automata
from .._kernels.shared.layout import Layout
from ..controller import Controller, SoftController, coarsest_partition, everything
from ..exceptions import ControllerTooLargeError

WIDTH = 8  # targets of a block
MOST_KEPT = 32  # states of a chain whose graph is kept


class AugmentedGraph:
    """Controller x transition support, pruned and minimal.

    Parameters
    ----------
    controller : Controller
    start_support : bool array (S,)
        States in which the chain may start.
    support : bool array (S, S)
        Transitions that the chain allows.
    max_nodes : int, optional
        Stop with ControllerTooLargeError beyond this many reachable pairs.

    Attributes
    ----------
    n_nodes, n_edges : int
        Live nodes, and different edges between them (over all epochs).
    node_states : int32 (n_nodes,)
        The state index of each node.
    start_nodes : int32 (S,)
        The node of a path that starts in each state, -1 where none may.
    accept : bool (n_nodes,)
    breaks : Breaks or None
        Which soft rules starts, edges and ends break, where there are soft rules.
    delays : Delays or None
        Its delay lines, where there are some.
    log_final : float64 (n_nodes,)
        Minus what it costs to end in a node; -inf where no path may.
    epochs : int64 (n_epochs,)
        The first step of each epoch; the edges into step t are those of its epoch.
    indptr : int32 (n_epochs, n_nodes + 1)
    sources, base_edges : int32
        Edges by target: those into node m in epoch e are
        ``sources[indptr[e, m]:indptr[e, m + 1]]``, in increasing order; `base_edges` holds
        i * S + j of the transition that an edge takes its weight from.

    See Also
    --------
    skchmm.Controller : The finite automaton that constraints become.
    skchmm.compile : Compile constraints into a controller.

    Examples
    --------
    >>> import numpy as np
    >>> from skchmm import compile
    >>> from skchmm.constraints import AtMostVisits
    >>> from skchmm.graph import AugmentedGraph
    >>> controller = compile(AtMostVisits("a", 1), ["a", "b"])
    >>> AugmentedGraph(controller, np.ones(2, dtype=bool), np.ones((2, 2), dtype=bool))
    <AugmentedGraph: 3 nodes, 5 edges>
    """

    def __init__(self, controller, start_support, support, *, max_nodes=None):
        self.controller = controller
        self.start_support = np.array(start_support, dtype=bool)
        self.support = np.array(support, dtype=bool)
        self.n_states = S = len(controller.states)
        self.numbers = np.arange(S, dtype=np.int64)
        if np.iinfo(np.int32).max < S * S:  # base_edges
            raise ControllerTooLargeError(f"{S:,} states have too many transitions to be numbered.")
        self.epochs = controller.epochs
        pairs, tables = self._reach(max_nodes)
        states, accept = pairs % S, controller.accept[pairs // S]
        tables, live = self._trim(tables, accept)
        self.breaks = None
        if isinstance(controller, SoftController):
            q = pairs // S
            self.breaks = Breaks(controller.steps[0, 0], controller.steps[:, q], controller.ends[q])
        merged = self._merge(tables, live, states, accept)
        self._lay_out(tables, live, merged, states, accept)
        targets = [np.repeat(np.arange(self.n_nodes), np.diff(row)) for row in self.indptr]
        sources = [self.sources[row[0] : row[-1]] for row in self.indptr]
        # Beyond, it is cheaper to find the winner of a step again than to note it.
        self.few_edges = self.n_nodes <= 256 and np.diff(self.indptr).max(initial=0) <= 40
        self.siblings = self._pair_siblings(targets)
        self.ahead = Blocks(self.n_nodes, list(zip(sources, targets)))
        self.back = Blocks(self.n_nodes, list(zip(targets, sources)))
        self._make_layout()

    def _pair_siblings(self, targets):
        """Pairs of nodes of one state with an edge to the same node, (n, 2).

        Only kernels that note the winner of every step have to know them. They take siblings with
        equal values for equally good, which those are not whose edges break other soft rules.
        """
        found = [np.empty((0, 2), dtype=np.int32)]
        differ = set()
        if self.few_edges or self.n_nodes <= 3 * WIDTH:
            into = np.concatenate([e * self.n_nodes + row for e, row in enumerate(targets)])
            group = into * self.n_states + self.node_states[self.sources]
            for apart in range(1, len(group)):
                first = np.flatnonzero(group[:-apart] == group[apart:])
                if len(first) == 0:
                    break
                found.append(np.column_stack([self.sources[first], self.sources[first + apart]]))
                if self.breaks is not None:
                    masks = self.breaks.edges
                    differ.update(map(tuple, found[-1][masks[first] != masks[first + apart]]))
        pairs = np.unique(np.concatenate(found), axis=0)
        return pairs[[tuple(pair) not in differ for pair in pairs]] if differ else pairs

    def _make_layout(self):
        self.log_final = np.where(self.accept, 0.0, -np.inf)
        if self.breaks is not None:
            costs = self.controller.costs
            self.start_costs, self.edge_costs = costs(self.breaks.starts), costs(self.breaks.edges)
            self.log_final -= costs(self.breaks.ends)
        self.layout = Layout(
            self.node_states, self.start_nodes, self.log_final, self.epochs, self.indptr,
            self.sources, self.ahead, self.back, self.siblings,
        )  # fmt: skip

    def __getstate__(self):
        """What the rest is built from; kernels do not check tables, so none are saved."""
        return {
            "controller": self.controller,
            "start_support": self.start_support,
            "support": self.support,
        }

    def __setstate__(self, state):
        controller, S = state["controller"], len(state["controller"].states)
        shapes = np.shape(state["start_support"]), np.shape(state["support"])
        if shapes != ((S,), (S, S)):
            raise ValueError(
                f"This is no saved AugmentedGraph: its supports have the shapes {shapes}, but "
                f"there are {S} states."
            )
        self.__init__(controller, state["start_support"], state["support"])

    @classmethod
    def unconstrained(cls, states, start_support, support):
        """The graph of the chain alone."""
        return cls(everything(states), start_support, support)

    def weighing(self, weights):
        """The same graph where the soft rules have other weights; zeros take them away."""
        return self._with(controller=self.controller.weighing(weights))

    def ending(self, nodes):
        """The same graph where paths may only end in some of the nodes."""
        return self._with(accept=self.accept & nodes)

    def _with(self, **attributes):
        """A copy with other attributes, and what follows from them."""
        other = copy(self)
        other.__dict__.pop("free", None)
        other.__dict__.update(attributes)
        other._make_layout()
        return other

    @cached_property
    def free(self):
        """The same graph where breaking soft rules costs nothing."""
        if self.breaks is None:
            return self
        return self.weighing(np.zeros(len(self.controller.weights)))

    @cached_property
    def delays(self):
        """Its delay lines, as `Delays`; None without any, with several epochs or soft rules."""
        if len(self.epochs) > 1 or self.breaks is not None:
            return None
        # A node of a line has one way out, to another one of its state.
        after = np.full(self.n_nodes, -1, dtype=np.int64)
        after[self.sources] = np.repeat(np.arange(self.n_nodes), np.diff(self.indptr[0]))
        single = np.bincount(self.sources, minlength=self.n_nodes) == 1
        single &= (self.node_states[after] == self.node_states) & (after != np.arange(self.n_nodes))
        if not single.any():
            return None
        from .delays import Delays  # which needs the blocks below

        return Delays(self, after, single)

    def scored(self, log_start, log_transmat):
        """Scores of starts (S,) and of edges, less what the soft rules cost that they break."""
        log_weights = np.ravel(log_transmat)[self.base_edges]
        if self.breaks is None:
            return log_start, log_weights
        return log_start - self.start_costs, log_weights - self.edge_costs

    def matches(self, start_support, support):
        """Whether the graph was built for this support."""
        return np.array_equal(self.start_support, start_support) and np.array_equal(
            self.support, support
        )

    def _reach(self, max_nodes):
        """Reachable pairs (q * S + state, in the order found) and tables between them."""
        controller, S = self.controller, self.n_states
        E, n, _ = controller.tables.shape
        limit = np.inf if max_nodes is None else max_nodes
        number = np.full(n * S, -1, dtype=np.int64)
        first = controller.tables[0, 0]
        found = np.flatnonzero((first >= 0) & self.start_support)
        pairs = first[found].astype(np.int64) * S + found
        number[pairs] = np.arange(len(pairs))
        self._first = np.full(S, -1, dtype=np.int64)
        self._first[found] = np.arange(len(pairs))
        n_pairs, tables = len(pairs), []
        for e in range(E):
            rows, layers, here = [], [pairs], pairs
            while len(here):
                if n_pairs > limit:
                    raise ControllerTooLargeError(
                        f"The augmented graph has more than max_nodes={max_nodes} nodes "
                        f"({S} states x {n} automaton states before pruning)."
                    )
                there = controller.tables[e, here // S].astype(np.int64)
                allowed = (there >= 0) & self.support[here % S]
                there = np.where(allowed, there * S + np.arange(S), -1)
                fresh = np.unique(there[allowed])
                fresh = fresh[number[fresh] < 0]
                number[fresh] = n_pairs + np.arange(len(fresh))
                n_pairs += len(fresh)
                rows.append(np.where(allowed, number[there], -1))
                layers.append(fresh)
                here = fresh
            pairs = np.concatenate(layers)
            tables.append(np.concatenate(rows) if rows else np.empty((0, S), dtype=np.int64))
        full = np.full((E, len(pairs), S), -1, dtype=np.int32)
        for e in range(E):
            full[e, : len(tables[e])] = tables[e]
        return pairs, full

    def _trim(self, tables, accept):
        """Drop what cannot reach acceptance; -1 in the tables, and which pairs stay."""
        done = accept.astype(np.uint8)
        for e in reversed(range(len(tables))):
            automata.backward_closure(tables[e], done)
            keep = (tables[e] >= 0) & (np.append(done, 0)[tables[e]] > 0)
            tables[e] = np.where(keep, tables[e], -1)
        live = done > 0
        reached = np.zeros(len(accept), dtype=np.uint8)
        starts = self._first[self._first >= 0]
        reached[starts[live[starts]]] = 1
        for e in range(len(tables)):
            automata.forward_closure(tables[e], reached)
            tables[e][reached == 0] = -1
        return tables, live & (reached > 0)

    def _merge(self, tables, live, states, accept):
        """The class of each pair: those with the same state and the same future are one."""
        if len(self.controller.accept) == 1:  # then every pair is a state
            return np.arange(len(states))
        epoch, tail, label = np.nonzero(tables >= 0)
        keys, labels = (2 * states + accept) * 2 + live, epoch * self.n_states + label
        if self.breaks is not None:
            keys = _with_masks(keys, self.breaks.ends)
            labels = _with_masks(labels, self.breaks.edges[epoch, tail, label])
        return coarsest_partition(keys, tail, labels, tables[epoch, tail, label])

    def _lay_out(self, tables, live, merged, states, accept):
        S, E = self.n_states, len(tables)
        classes, representative = np.unique(merged[live], return_index=True)
        representative = np.flatnonzero(live)[representative]
        order = np.lexsort((representative, states[representative]))
        representative = representative[order]
        node_of_class = np.full(merged.max(initial=0) + 2, -1, dtype=np.int64)
        node_of_class[classes[order]] = np.arange(len(order))
        node = np.where(live, node_of_class[merged], -1)

        self.n_nodes = len(order)
        self.node_states = states[representative].astype(np.int32)
        self.accept = accept[representative]
        self.start_nodes = np.append(node, -1)[self._first].astype(np.int32)
        self.indptr = np.zeros((E, self.n_nodes + 1), dtype=np.int32)
        sources, base_edges, offset, distinct, broken = [], [], 0, [], []
        for e in range(E):
            table = tables[e, representative]
            source, label = np.nonzero(table >= 0)
            target = node[table[source, label]]
            order = np.lexsort((source, target))
            source, label, target = source[order], label[order], target[order]
            if self.breaks is not None:
                broken.append(self.breaks.edges[e, representative][source, label])
            sources.append(source)
            base_edges.append(self.node_states[source] * S + label)
            counts = np.bincount(target, minlength=self.n_nodes)
            self.indptr[e] = offset + np.concatenate([[0], np.cumsum(counts)])
            offset += len(source)
            distinct.append(source * self.n_nodes + target)
        self.sources = np.concatenate(sources).astype(np.int32)
        self.base_edges = np.concatenate(base_edges).astype(np.int32)
        self.n_edges = len(np.unique(np.concatenate(distinct)))
        if self.breaks is not None:
            ends = self.breaks.ends[representative]
            self.breaks = Breaks(self.breaks.starts, np.concatenate(broken), ends)

    def __repr__(self):
        return f"<AugmentedGraph: {self.n_nodes} nodes, {self.n_edges} edges>"


def graph_of(controller, start_support, support, max_nodes):
    """The graph; that of a chain without rules, over few states, is kept for the next one.

    To make it takes longer than many a short fit.
    """
    S = len(support)
    if min(MOST_KEPT, max_nodes) < S or not _is_everything(controller):
        return AugmentedGraph(controller, start_support, support, max_nodes=max_nodes)
    kept = _plain_graph(S, start_support.tobytes(), support.tobytes())
    graph = AugmentedGraph.__new__(AugmentedGraph)
    graph.__dict__.update(kept.__dict__, controller=controller)
    return graph


def _is_everything(controller):
    """Whether it has no memory and forbids nothing."""
    return (
        type(controller) is Controller
        and controller.tables.shape[:2] == (1, 1)
        and controller.horizon is None
        and not controller.tables.any()
        and controller.accept[0]
    )


@lru_cache(maxsize=32)
def _plain_graph(n_states, starts, pairs):
    """The graph of a chain without rules, whose supports are given by their bytes."""
    supports = (np.frombuffer(part, dtype=bool) for part in (starts, pairs))
    start_support, support = supports
    graph = AugmentedGraph(
        everything(list(range(n_states))), start_support, support.reshape(n_states, n_states)
    )
    for holder in (graph, graph.ahead, graph.back):  # many models share it
        for value in vars(holder).values():
            if isinstance(value, np.ndarray):
                value.setflags(write=False)
    graph.delays  # noqa: B018, looked for once
    return graph


class Breaks(NamedTuple):
    """Which soft rules are broken, by their bits: by a start in each state, by edges, by ends."""

    starts: np.ndarray
    edges: np.ndarray
    ends: np.ndarray


def _with_masks(keys, masks):
    """Keys that also tell masks apart."""
    distinct, which = np.unique(masks, return_inverse=True)
    return keys * len(distinct) + which


class Blocks:
    """Entries of all blocks of all epochs.

    Parameters
    ----------
    n_nodes : int
    epoch_edges : list of (sources, targets) int arrays, one per epoch

    Attributes
    ----------
    start, shifted, source : int32
        Entries of block i (numbered through the epochs) are ``start[i]:start[i + 1]``; those from
        ``shifted[i]`` on are diagonals.
    slot : int64 (n_edges,)
        Where the weight of each edge goes; edges in the order given.
    """

    def __init__(self, n_nodes, epoch_edges):
        self.n_blocks = -(-n_nodes // WIDTH)
        start, shifted, source, slot, total = [], [], [], [], 0
        for sources, targets in epoch_edges:
            part = _lay_out(np.asarray(sources), np.asarray(targets), self.n_blocks)
            start.append(part[0] + total)
            shifted.append(part[1] + total)
            source.append(part[2])
            slot.append(part[3] + total * WIDTH)
            total += len(part[2])
        self.start = np.append(np.concatenate(start), total).astype(np.int32)
        self.shifted = np.concatenate(shifted).astype(np.int32)
        self.source = np.concatenate(source).astype(np.int32)
        self.slot = np.concatenate(slot)

    def spread(self, weights, neutral):
        """Edge weights in the layout of the entries."""
        out = _on_cache_lines(len(self.source) * WIDTH)
        out.fill(neutral)
        out[self.slot] = weights
        return out


def _on_cache_lines(n):
    """An empty array that begins on a cache line: a vector that lies across two costs twice."""
    memory = np.empty(n + 8)
    skip = -memory.ctypes.data % 64 // memory.itemsize
    return memory[skip : skip + n]


def _lay_out(sources, targets, n_blocks):
    """First entry and first diagonal of each block, source of each entry, slot of each edge."""
    block = targets // WIDTH
    first_lane = sources - targets + block * WIDTH  # the source of lane 0 on the edge's diagonal
    row_keys, row_entry = _number(block, sources)
    diagonal_keys, diagonal_entry = _number(block, first_lane)
    n_rows = np.bincount(row_keys[0], minlength=n_blocks)
    n_diagonals = np.bincount(diagonal_keys[0], minlength=n_blocks)
    by_row = n_rows <= n_diagonals
    size = np.where(by_row, n_rows, n_diagonals)
    start = np.concatenate([[0], np.cumsum(size)])[:-1]
    shifted = np.where(by_row, start + size, start)

    source = np.empty(size.sum(), dtype=np.int64)
    entry = np.empty(len(sources), dtype=np.int64)
    for (blocks, values), numbers, counts, chosen in (
        (row_keys, row_entry, n_rows, by_row),
        (diagonal_keys, diagonal_entry, n_diagonals, ~by_row),
    ):
        before = np.concatenate([[0], np.cumsum(counts)])[:-1]
        place = start[blocks] + np.arange(len(blocks)) - before[blocks]
        source[place[chosen[blocks]]] = values[chosen[blocks]]
        entry = np.where(chosen[block], place[numbers], entry)
    return start, shifted, source, entry * WIDTH + targets % WIDTH


def _number(block, values):
    """Distinct (block, value) pairs in increasing order, and the number of each edge's pair."""
    low = values.min(initial=0)
    span = values.max(initial=0) - low + 1
    keys, number = np.unique(block * span + (values - low), return_inverse=True)
    return (keys // span, keys % span + low), number
