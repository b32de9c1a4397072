"""The worked examples of Patel and Damiano: sizes, and their augmented kernels block by block."""

from itertools import product

import numpy as np
import pytest

from skchmm import Controller
from skchmm import constraints as C
from skchmm.graph import AugmentedGraph

X = (1, 2, 3)
P_PRECEDENCE = np.array([[0.5, 0.3, 0.2], [0.2, 0.6, 0.2], [0.1, 0.3, 0.6]])
P_VISIT = np.array([[0.6, 0.2, 0.2], [0.3, 0.4, 0.3], [0.2, 0.3, 0.5]])
P_SEGMENTS = np.array([[0.980, 0.015, 0.005], [0.005, 0.980, 0.015], [0.015, 0.005, 0.980]])
K, DELTA = 13, 2

# (constraint, P, C, c0, tau, F, F_T) as the paper writes them.
EXAMPLES = {
    "precedence": (
        C.Precedence(1, 3), P_PRECEDENCE, (0, 1), lambda x: int(x == 1),
        lambda c, i, j: c | (j == 1), lambda c, i, j: j != 3 or c == 1, (0, 1),
    ),
    "visitation": (
        C.AtLeastVisits(2, 1), P_VISIT, (0, 1), lambda x: int(x == 2),
        lambda c, i, j: c | (j == 2), lambda c, i, j: True, (1,),
    ),
    "segments": (
        C.Transitions(K), P_SEGMENTS, range(K + 1), lambda x: 0,
        lambda c, i, j: c + (i != j), lambda c, i, j: not (i != j and c == K), (K,),
    ),
    "cool-down": (
        C.CoolDown(1, DELTA), P_VISIT, range(DELTA + 1), lambda x: 0,
        lambda c, i, j: DELTA if i == 1 and j != 1 else max(0, c - 1),
        lambda c, i, j: not (j == 1 and c > 0), range(DELTA + 1),
    ),
}  # fmt: skip


def start(x, c0, gated):
    """c0, except that their gate never sees x_0: precedence forbids to start in 3."""
    return None if x in gated else c0(x)


def dense(graph, transmat):
    """The augmented kernel over the nodes of a graph."""
    kernel = np.zeros((graph.n_nodes, graph.n_nodes))
    for target in range(graph.n_nodes):
        edges = slice(graph.indptr[0, target], graph.indptr[0, target + 1])
        kernel[graph.sources[edges], target] = transmat.ravel()[graph.base_edges[edges]]
    return kernel


def pairs_of_nodes(graph, kernel, c0, update):
    """The pair (i, c) that every node of the graph is, found by walking from the start."""
    pairs = {}
    todo = [(node, X[i], c0(X[i])) for i, node in enumerate(graph.start_nodes) if node >= 0]
    while todo:
        node, i, c = todo.pop()
        if node in pairs:
            assert pairs[node] == (i, c)
            continue
        pairs[node] = (i, c)
        for there in np.flatnonzero(kernel[node]):
            j = X[graph.node_states[there]]
            todo.append((there, j, update(c, i, j)))
    return pairs


@pytest.mark.parametrize("name", EXAMPLES)
def test_augmented_kernel(name):
    constraint, P, states, c0, update, gate, final = EXAMPLES[name]
    graph = AugmentedGraph(constraint.controller(X), np.ones(3, bool), P > 0)
    kernel = dense(graph, P)
    pairs = pairs_of_nodes(graph, kernel, c0, update)
    assert len(set(pairs.values())) == len(pairs) == graph.n_nodes

    # P~ of the paper over all pairs; live ones are reachable and can still be accepted.
    everything = list(product(states, X))
    tilde = np.array([
        [P[i - 1, j - 1] * bool(gate(c, i, j)) * (d == update(c, i, j)) for d, j in everything]
        for c, i in everything
    ])  # fmt: skip
    forbidden = (3,) if name == "precedence" else ()
    reached = {(c0(i), i) for i in X if start(i, c0, forbidden) is not None}
    useful = {(c, i) for c, i in everything if c in final}
    for _ in everything:
        reached |= {everything[m] for k in map(everything.index, reached)
                    for m in np.flatnonzero(tilde[k])}  # fmt: skip
        useful |= {everything[k] for m in map(everything.index, useful)
                   for k in np.flatnonzero(tilde[:, m])}  # fmt: skip
    live = reached & useful
    assert {(c, i) for i, c in pairs.values()} == live
    rows = [everything.index((c, i)) for i, c in (pairs[m] for m in range(graph.n_nodes))]
    np.testing.assert_array_equal(kernel, tilde[np.ix_(rows, rows)])
    assert [pairs[m][1] in final for m in range(graph.n_nodes)] == graph.accept.tolist()


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_same_controller_from_the_tuple(name):
    constraint, _, states, c0, update, gate, final = EXAMPLES[name]
    forbidden = (3,) if name == "precedence" else ()
    tuple_ = Controller.from_functions(
        X, states, lambda i: start(i, c0, forbidden), update, gate, final
    )
    assert tuple_.equivalent(constraint.controller(X))
    assert tuple_.n_states == constraint.controller(X).n_states == len(states)


def test_precedence_blocks():
    constraint, P, _, c0, update, *_ = EXAMPLES["precedence"]
    graph = AugmentedGraph(constraint.controller(X), np.ones(3, bool), P > 0)
    kernel = dense(graph, P)
    pairs = pairs_of_nodes(graph, kernel, c0, update)
    order = sorted(pairs, key=lambda m: (pairs[m][1], pairs[m][0]))
    # Before 1 was visited only 2 is left; (1, 0) and (3, 0) are unreachable.
    assert [pairs[m] for m in order] == [(2, 0), (1, 1), (2, 1), (3, 1)]
    blocks = kernel[np.ix_(order, order)]
    np.testing.assert_array_equal(blocks[:1, :1], [[P[1, 1]]])
    np.testing.assert_array_equal(blocks[:1, 1:], [[P[1, 0], 0, 0]])
    np.testing.assert_array_equal(blocks[1:, :1], np.zeros((3, 1)))
    np.testing.assert_array_equal(blocks[1:, 1:], P)


def test_visitation_blocks():
    constraint, P, _, c0, update, *_ = EXAMPLES["visitation"]
    graph = AugmentedGraph(constraint.controller(X), np.ones(3, bool), P > 0)
    kernel = dense(graph, P)
    pairs = pairs_of_nodes(graph, kernel, c0, update)
    order = sorted(pairs, key=lambda m: (pairs[m][1], pairs[m][0]))
    assert [pairs[m] for m in order] == [(1, 0), (3, 0), (1, 1), (2, 1), (3, 1)]
    blocks = kernel[np.ix_(order, order)]
    np.testing.assert_array_equal(blocks[:2, :2], P[np.ix_([0, 2], [0, 2])])
    np.testing.assert_array_equal(blocks[:2, 2:], [[0, P[0, 1], 0], [0, P[2, 1], 0]])
    np.testing.assert_array_equal(blocks[2:, :2], np.zeros((3, 2)))
    np.testing.assert_array_equal(blocks[2:, 2:], P)
    assert graph.accept[order].tolist() == [False, False, True, True, True]


def test_sizes():
    segments = C.Transitions(K).controller(X)
    assert segments.n_states == K + 1 == 14
    graph = AugmentedGraph(segments, np.ones(3, bool), P_SEGMENTS > 0)
    assert graph.n_nodes == 3 * 14 == 42
    cool_down = C.CoolDown(1, DELTA).controller(X)
    assert cool_down.n_states == DELTA + 1 == 3
    # Of the nine pairs the timer of state 1 itself is always zero: seven are live.
    graph = AugmentedGraph(cool_down, np.ones(3, bool), P_VISIT > 0)
    assert graph.n_nodes == 9 - 2
