"""Delay lines: runs of nodes of one state that a path can only pass through from end to end.

A minimum duration, or the middle of a regular expression such as ``a{500}``, makes a run of nodes
of one state, each with one way in and one way out. What goes into such a run comes out of it some
steps later, times the scores of its state in between: kernels need not touch the nodes inside.

The *head* of a line is its first node and its *tail* the node that the last one leads to. A path
that is in the head at step t is in the tail at step t + `delay`, or the sequence has ended before.
The other nodes, and the heads, are the *core*.
"""

import numpy as np

from .._kernels.delay.lines import Lines
from .augmented import WIDTH, Blocks


class Delays:
    """The core of a graph with delay lines, laid out for the kernels.

    The nodes of the core have *places*: first those that are no heads, then the heads, in the order
    of the lines; each of the two parts is filled up to whole blocks.

    Parameters
    ----------
    graph : AugmentedGraph
        With one epoch.
    after : int64 (n_nodes,)
        For each node that an edge leads on from, one that it leads to.
    single : bool (n_nodes,)
        Which nodes have one way out, to another one of the same state.

    Attributes
    ----------
    blocks, back : Blocks
        Of the edges between nodes of the core, and of the same reversed.
    edges : int64 (n,)
        Which edges of the graph these are.
    through : int64 (n_lines,)
        An edge inside each line.
    onward : int64 (n,)
        The edges from the nodes of each line before its tail.
    lines : Lines
        All of it, as kernels read it.
    row_bytes : int
        What a step of one sequence takes in lanes: numbers of places and lines, and notes.
    gain : float
        How many times the entries there would be with all nodes.
    """

    def __init__(self, graph, after, single):
        lines = _lines(graph, after, single)
        heads = np.array([line[0] for line in lines])
        tails = np.array([line[-1] for line in lines])
        inside = np.zeros(graph.n_nodes, dtype=bool)
        for line in lines:
            inside[line[:-1]] = True
        # A tail that has one line to itself and is no head stands where its line does.
        first = np.unique(tails, return_index=True)[1]
        own = [m for m in tails[np.sort(first)] if not inside[m]]
        rest = np.setdiff1d(np.flatnonzero(~inside), own)
        plain = np.concatenate([np.array(own, dtype=np.int64), rest])
        n_plain = WIDTH * -(-len(plain) // WIDTH)
        n_heads = WIDTH * -(-len(heads) // WIDTH)
        nodes = np.full(n_plain + n_heads, -1, dtype=np.int64)
        nodes[: len(plain)] = plain
        nodes[n_plain : n_plain + len(heads)] = heads
        place = np.full(graph.n_nodes, -1, dtype=np.int64)
        place[nodes[nodes >= 0]] = np.flatnonzero(nodes >= 0)

        targets = np.repeat(np.arange(graph.n_nodes), np.diff(graph.indptr[0]))
        kept = np.flatnonzero(~inside[graph.sources])
        kept = kept[np.argsort(place[targets[kept]], kind="stable")]
        self.edges = kept
        self.row_bytes = 8 * (len(plain) + 2 * len(heads)) + len(nodes)
        sources, targets = place[graph.sources[kept]], place[targets[kept]]
        self.blocks = Blocks(len(nodes), [(sources, targets)])
        self.back = Blocks(len(nodes), [(targets, sources)])
        self.gain = len(graph.ahead.source) / (len(self.blocks.source) + len(nodes) // WIDTH)
        by_tail = np.argsort(place[tails], kind="stable")
        lengths = np.array([len(line) - 1 for line in lines])
        onward = np.full(graph.n_nodes, -1, dtype=np.int64)
        onward[graph.sources] = np.arange(len(graph.sources))
        self.through = onward[heads]
        passed = np.concatenate([line[:-1] for line in lines])
        self.onward = onward[passed]
        self.lines = Lines(
            graph.n_states, n_plain // WIDTH, nodes,
            np.where(nodes >= 0, graph.node_states[nodes], -1), place,
            np.searchsorted(targets, np.arange(len(nodes) + 1)), sources, kept,
            lengths, place[tails], self.through,
            np.searchsorted(place[tails][by_tail], np.arange(len(nodes) + 1)), by_tail,
            passed, graph.log_final[passed], self.blocks, self.back,
        )  # fmt: skip


def _lines(graph, after, single):
    """The nodes of each line, from head to tail; by their heads, so by states."""
    sources, indptr = graph.sources, graph.indptr[0]
    ways_in = np.diff(indptr)
    ways_in[graph.start_nodes[graph.start_nodes >= 0]] = 0  # where paths begin, so do lines
    inner = single & (ways_in == 1)
    inner[inner] = single[sources[indptr[:-1][inner]]]
    follow, within = after.tolist(), inner.tolist()
    lines = []
    for head in np.flatnonzero(single & ~inner).tolist():
        line = [head, follow[head]]
        while within[line[-1]]:
            line.append(follow[line[-1]])
        lines.append(line)
    return lines
