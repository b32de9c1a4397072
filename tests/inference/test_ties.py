"""Of equally good paths the one whose last label is lowest comes first, and so on backwards."""

from itertools import product

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import skchmm
from skchmm import ConstrainedHMM
from skchmm._kernels.simd import instructions
from skchmm.constraints import AtMostVisits, CoolDown, Precedence, StartsIn
from skchmm.emissions import Frames
from skchmm.graph import AugmentedGraph
from skchmm.inference.chain import ScoredChain
from skchmm.inference.kbest import iterate_paths
from skchmm.inference.settings import settings as sizes
from tests.oracles.predicates import holds
from tests.oracles.strategies import compositions

STATES = ["A", "B", "C"]


def in_order(log_start, log_transmat, log_b, constraints):
    """All feasible paths with their scores, by enumeration."""
    T, S = log_b.shape
    found = []
    for path in product(range(S), repeat=T):
        if holds(constraints, [STATES[i] for i in path]):
            score = log_start[path[0]] + log_b[range(T), path].sum()
            score += sum(log_transmat[a, b] for a, b in zip(path[:-1], path[1:]))
            found.append((-score, path[::-1]))
    return [(-score, path[::-1]) for score, path in sorted(found)]


def chain_of(rules, log_start, log_transmat, states):
    controller = skchmm.compile(rules, states) if isinstance(rules, list) else rules
    S = len(states)
    graph = AugmentedGraph(controller, np.ones(S, dtype=bool), np.ones((S, S), dtype=bool))
    return ScoredChain(graph, log_start, log_transmat)


@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_ties_go_to_the_lowest_labels_backwards(data, instruction_sets):
    S = data.draw(st.integers(1, 3))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    constraints = data.draw(st.lists(compositions(STATES[:S], depth=2), min_size=1, max_size=2))
    lengths = data.draw(st.lists(st.integers(1, 6), min_size=1, max_size=9))
    span = data.draw(st.integers(1, 3))  # 1: everything is a tie
    try:
        controller = skchmm.compile(constraints, STATES[:S])
    except ValueError:
        return  # no path of any length
    log_start = rng.integers(span, size=S) / 8
    log_transmat = rng.integers(span, size=(S, S)) / 8
    chain = chain_of(controller, log_start, log_transmat, STATES[:S])
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    table = rng.integers(span, size=(offsets[-1], S)) / 8
    truth = [
        in_order(log_start, log_transmat, table[a:b], constraints)
        for a, b in zip(offsets, offsets[1:])
    ]
    for (fill, n_jobs), k in product(((0, 1), (9, 1), (9, 2)), instruction_sets.values()):
        instructions.use_instruction_set(k)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(sizes, "lanes_fill", fill)
            patch.setattr(sizes, "table_bytes", 1)
            path, log_prob = chain.decode(Frames(table), offsets, n_jobs=n_jobs)
        for s, (a, b) in enumerate(zip(offsets, offsets[1:])):
            assert log_prob[s] == (truth[s][0][0] if truth[s] else -np.inf)
            if truth[s]:
                assert tuple(path[a:b]) == truth[s][0][1]
    states = np.arange(chain.graph.n_states)
    for found, true in zip(chain.best_paths(Frames(table), offsets, 10**6, states), truth):
        assert [(score, tuple(p.tolist())) for score, p in found] == true


@pytest.mark.parametrize("width", [2, 5, 30])
@pytest.mark.parametrize("span", [1, 2])
def test_larger_graphs_find_the_same(width, span, instruction_sets):
    """More nodes than are noted, and tables in chunks; against the ranks of the best paths."""
    rng = np.random.default_rng(0)
    rules = [CoolDown(0, 3), AtMostVisits(1, 2)]
    chain = chain_of(rules, np.zeros(width), np.zeros((width, width)), list(range(width)))
    offsets = np.array([0, 50, 90, 400])
    table = rng.integers(span, size=(400, width)).astype(float)
    expected = [
        next(iterate_paths(chain, Frames(table), a, b)) for a, b in zip(offsets, offsets[1:])
    ]
    for fill, budget, k in product((0, 9), (1 << 20, 1000), instruction_sets.values()):
        instructions.use_instruction_set(k)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(sizes, "lanes_fill", fill)
            patch.setattr(sizes, "table_bytes", budget)
            path, log_prob = chain.decode(Frames(table), offsets)
        np.testing.assert_array_equal(path, np.concatenate([p for _, p in expected]))
        np.testing.assert_array_equal(log_prob, [score for score, _ in expected])


@pytest.mark.parametrize("rules", [[Precedence("A", "B")], [CoolDown("C", 3)]])
def test_ties_here_and_there(rules, instruction_sets):
    """Values of a stretch of steps are only kept where there are ties among them."""
    rng = np.random.default_rng(3)
    chain = chain_of(rules, np.zeros(3), np.zeros((3, 3)), STATES)
    assert len(chain.graph.siblings)
    offsets = np.array([0, 1, 3, 67, 300, 1300])
    table = rng.normal(size=(1300, 3))
    for begin in (5, 60, 64, 129, 250, 600, 850, 1290):
        table[begin : begin + rng.integers(2, 90)] = 0.0
    expected = [
        next(iterate_paths(chain, Frames(table), a, b)) for a, b in zip(offsets, offsets[1:])
    ]
    for k in instruction_sets.values():
        instructions.use_instruction_set(k)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(sizes, "lanes_fill", 9)
            path, log_prob = chain.decode(Frames(table), offsets)
        np.testing.assert_array_equal(path, np.concatenate([p for _, p in expected]))
        np.testing.assert_array_equal(log_prob, [score for score, _ in expected])


def test_impossible_steps_are_no_ties(instruction_sets):
    """Siblings that are both impossible, in sequences that are feasible and in others."""
    rules = [StartsIn("C") & CoolDown("C", 3)]
    chain = chain_of(rules, np.zeros(3), np.zeros((3, 3)), STATES)
    rng = np.random.default_rng(1)
    offsets = np.arange(0, 5 * 40 + 1, 5)
    table = np.where(rng.random((200, 3)) < 0.4, -np.inf, 0.0)
    truth = [in_order(np.zeros(3), np.zeros((3, 3)), table[a : a + 5], rules) for a in offsets[:-1]]
    truth = [[found for found in paths if found[0] > -np.inf] for paths in truth]
    assert any(truth) and not all(truth)
    for fill, k in product((0, 9), instruction_sets.values()):
        instructions.use_instruction_set(k)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(sizes, "lanes_fill", fill)
            path, log_prob = chain.decode(Frames(table), offsets)
        for s, paths in enumerate(truth):
            assert log_prob[s] == (0.0 if paths else -np.inf)
            if paths:
                assert tuple(path[5 * s : 5 * s + 5]) == paths[0][1]


def test_long_sequences_of_nothing_but_ties():
    rules = [StartsIn("C") & CoolDown("C", 3)]
    chain = chain_of(rules, np.zeros(3), np.zeros((3, 3)), STATES)
    many = chain_of([AtMostVisits("B", 9), *rules], np.zeros(3), np.zeros((3, 3)), STATES)
    for one in (chain, many):
        for T in (3000, 200_000):
            path, _ = one.decode(Frames(np.zeros((T, 3))), np.array([0, T]))
            assert path[0] == 2 and not path[1:].any()


def test_sums_of_scores_alone():
    """What algorithm "posterior" asks for: transitions only say what is feasible."""
    rng = np.random.default_rng(2)
    rules, zero = [CoolDown("B", 2), Precedence("C", "A")], np.zeros((3, 3))
    chain = chain_of(rules, rng.random(3), rng.random((3, 3)), STATES)
    offsets, table = np.arange(0, 101, 5), rng.integers(2, size=(100, 3)) / 8
    path, sums = chain.best_feasible(Frames(table), offsets)
    for s, a in enumerate(offsets[:-1]):
        score, first = in_order(zero[0], zero, table[a : a + 5], rules)[0]
        assert (sums[s], tuple(path[a : a + 5])) == (score, first)


def test_pasts_of_one_label_differ():
    model = ConstrainedHMM.from_parameters(
        np.full(3, 1 / 3), np.full((3, 3), 1 / 3), states=["a", "b", "c"],
        constraints=StartsIn("c") & CoolDown("c", 3),
    )  # fmt: skip
    assert model.predict(np.zeros((3, 3))).tolist() == ["c", "a", "a"]
    model = ConstrainedHMM.from_parameters(
        [0.5, 0.5], np.full((2, 2), 0.5), states=["a", "b"], constraints=AtMostVisits("a", 2)
    )
    paths = ["".join(path) for _, path in model.kbest(np.zeros((3, 2)), 8)]
    assert paths == sorted(paths, key=lambda path: path[::-1])
    assert paths.index("aba") < paths.index("bba")
