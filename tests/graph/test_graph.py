"""The augmented graph: sizes of the catalogs of Patel and Damiano, layout, pruning by the chain."""

import numpy as np
import pytest

import skchmm
from skchmm import Controller, ControllerTooLargeError
from skchmm.constraints import (
    AtLeastVisits,
    CoolDown,
    ExactVisits,
    ForbiddenEdges,
    NoReentry,
    Precedence,
    Segments,
    StartsIn,
    Transitions,
    VisitBy,
)
from skchmm.graph import AugmentedGraph

FLY = ["UTR5", "START", "CDS", "STOP", "UTR3"]
HAR = ["folding", "sweeping", "walking", "boxes", "bike"]


def graph(constraints, states, support=None, start=None):
    S = len(states)
    controller = skchmm.compile(constraints, states)
    start = np.ones(S) if start is None else np.asarray(start)
    support = np.ones((S, S)) if support is None else np.asarray(support)
    return AugmentedGraph(controller, start > 0, support > 0)


def kernel(graph, P):
    """The dense matrix P~ over the nodes of a graph of one epoch."""
    out = np.zeros((graph.n_nodes, graph.n_nodes))
    for m in range(graph.n_nodes):
        edges = slice(graph.indptr[0, m], graph.indptr[0, m + 1])
        out[graph.sources[edges], m] = np.ravel(P)[graph.base_edges[edges]]
    return out


def fly_catalog():
    follows = set(zip(FLY, FLY[1:])) | set(zip(FLY, FLY))
    wrong = [(a, b) for a in FLY for b in FLY if (a, b) not in follows]
    assert len(wrong) == 16
    return [
        *(Precedence(a, b) for a, b in zip(FLY, FLY[1:])),
        *(ExactVisits(a, 1) for a in FLY),
        *(ForbiddenEdges([edge]) for edge in wrong),
    ]


def har_protocol():
    return [
        StartsIn("sitting"),
        *(Precedence(a, b) for a, b in zip(HAR, HAR[1:])),
        *(ExactVisits(a, 1) for a in HAR),
        ForbiddenEdges([(a, b) for a in HAR for b in HAR if a != b]),
    ]


def test_fly_catalog_has_five_nodes():
    g = graph(fly_catalog(), FLY)
    assert (g.n_nodes, g.n_edges) == (5, 9)


def test_har_protocol_has_eleven_nodes():
    g = graph(har_protocol(), ["sitting", *HAR])
    assert (g.n_nodes, g.n_edges) == (11, 21)


def test_synthetic_catalog_is_smaller_than_the_chain():
    """A < B < C < END, each once, with REST: fewer edges than the 25 without constraints."""
    order = ["A", "B", "C", "END"]
    rules = [
        *(Precedence(a, b) for a, b in zip(order, order[1:])),
        *(ExactVisits(a, 1) for a in order),
        ForbiddenEdges([("END", s) for s in ("A", "B", "C", "REST")]),
        NoReentry("A"),
    ]
    g = graph(rules, [*order, "REST"])
    assert g.n_edges < 25


def test_precedence_has_the_block_structure_of_the_paper():
    P = np.array([[0.5, 0.3, 0.2], [0.2, 0.6, 0.2], [0.1, 0.3, 0.6]])
    g = graph([Precedence(1, 3)], [1, 2, 3])
    # The live pairs are (2, 0), (1, 1), (2, 1), (3, 1); (1, 0) and (3, 0) cannot be reached.
    assert g.n_nodes == 4
    K = kernel(g, P)
    before = [m for m in range(4) if K[m].sum() < 1 - 1e-12]
    after = [m for m in range(4) if m not in before]
    assert [g.node_states[m] for m in before] == [1]
    np.testing.assert_allclose(K[np.ix_(after, after)], P)
    np.testing.assert_allclose(K[np.ix_(after, before)], 0)
    np.testing.assert_allclose(K[np.ix_(before, before)], [[0.6]])
    np.testing.assert_allclose(K[np.ix_(before, after)], [[0.2, 0.0, 0.0]])
    assert g.start_nodes[2] == -1
    assert g.accept.all()


def test_visitation_is_decided_at_the_end():
    P = np.array([[0.6, 0.2, 0.2], [0.3, 0.4, 0.3], [0.2, 0.3, 0.5]])
    g = graph([AtLeastVisits(2, 1)], [1, 2, 3])
    K = kernel(g, P)
    np.testing.assert_allclose(K.sum(axis=1), 1)  # nothing is killed on the way
    rejecting = np.flatnonzero(~g.accept)
    accepting = np.flatnonzero(g.accept)
    assert g.node_states[rejecting].tolist() == [0, 2]
    np.testing.assert_allclose(K[np.ix_(accepting, accepting)], P)
    np.testing.assert_allclose(K[np.ix_(accepting, rejecting)], 0)


def test_k_segment_has_42_nodes():
    P = np.array([[0.980, 0.015, 0.005], [0.005, 0.980, 0.015], [0.015, 0.005, 0.980]])
    g = graph([Transitions(13)], [1, 2, 3])
    assert g.n_nodes == 42
    K = kernel(g, P)
    np.testing.assert_allclose(np.diag(K), 0.98)
    full = K.sum(axis=1)
    assert np.isclose(full, 1).sum() == 3 * 13
    assert np.isclose(full, 0.98).sum() == 3  # the last segment can only be stayed in
    assert graph([Segments(14)], [1, 2, 3]).n_nodes == 42


def test_cool_down_needs_three_controller_states():
    controller = skchmm.compile([CoolDown(1, 2)], [1, 2, 3])
    assert controller.n_states * 3 == 9
    # Of the nine pairs two cannot occur: state 1 is never entered while the timer runs.
    assert graph([CoolDown(1, 2)], [1, 2, 3]).n_nodes == 7


def test_nodes_are_ordered_by_state_and_sources_increase():
    g = graph([ExactVisits("b", 3), VisitBy("c", 4)], ["a", "b", "c"])
    assert (np.diff(g.node_states) >= 0).all()
    for row in g.indptr:
        for first, last in zip(row[:-1], row[1:]):
            assert (np.diff(g.sources[first:last]) > 0).all()


def test_zero_transitions_prune_nodes():
    states = ["a", "b", "c"]
    left_to_right = np.triu(np.ones((3, 3)))
    free = graph([ExactVisits("b", 2)], states)
    bound = graph([ExactVisits("b", 1)], states, left_to_right, [1, 0, 0])
    assert bound.n_nodes < free.n_nodes
    assert graph([ExactVisits("b", 2)], states, left_to_right).n_nodes == 0


def test_unconstrained_graph_is_the_chain():
    g = AugmentedGraph.unconstrained(["a", "b"], np.ones(2, bool), np.ones((2, 2), bool))
    assert (g.n_nodes, g.n_edges) == (2, 4)


def test_too_many_nodes_stop_early():
    states = list(range(10))
    controller = skchmm.compile([Transitions(500)], states)
    with pytest.raises(ControllerTooLargeError, match="max_nodes=100"):
        AugmentedGraph(controller, np.ones(10, bool), np.ones((10, 10), bool), max_nodes=100)


def test_time_dependent_functions_switch_at_the_right_step():
    """The gate of the step from x_t to x_{t+1} sees t."""
    only_at_two = Controller.from_functions(
        ["a", "b"], [0], lambda i: 0, lambda c, i, j, t: 0,
        lambda c, i, j, t: i == j or t == 2, [0],
    )  # fmt: skip
    assert only_at_two.accepts(["a", "a", "a", "b", "b"])
    assert not only_at_two.accepts(["a", "a", "b", "b", "b"])
    with pytest.raises(ValueError, match="horizon"):
        only_at_two.accepts(["a"] * 1001)
