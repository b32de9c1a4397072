"""Delay lines: kernels that pass over the nodes inside find what all the nodes would."""

import re
from itertools import product

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, reject, settings
from hypothesis import strategies as st

import skchmm
from skchmm._kernels.simd import instructions
from skchmm.constraints import EndsIn, MinDuration, Regex
from skchmm.emissions import Frames
from skchmm.graph import AugmentedGraph
from skchmm.inference import delayed
from skchmm.inference.chain import Chain, ScoredChain
from skchmm.inference.settings import settings as sizes
from tests.oracles.predicates import holds

STATES = ["A", "B", "C"]

# Several lines, inside one another, joined in the middle, with exits, round in a circle, at both
# ends of a sequence, and longer than one.
pieces = st.sampled_from(
    ["A{3}", "B{2,}", "A{4} B", "(A{3} | B)*", "(B A{2})*", "C{3}", "(A{5})*", "(A{2} (B | C{3}))*",
     "A*", "(A | B | C)*", "B{2} C*", "A{2,4}", "(A{30} | B)*", "C{9} A", "(C{2} | C{3} B)*"]
)  # fmt: skip
rules_of_lines = st.one_of(
    st.lists(pieces, min_size=1, max_size=3).map(lambda parts: [Regex(" ".join(parts))]),
    st.lists(
        st.builds(MinDuration, st.sampled_from(STATES), st.integers(2, 6)), min_size=1, max_size=3
    ),
    st.lists(pieces, min_size=1, max_size=2).map(
        lambda parts: [Regex("(" + " ".join(parts) + ") .*"), MinDuration("A", 3)]
    ),
    st.just([MinDuration("A", 3), EndsIn("B")]),
)


def graph_of(rules, support=None, states=STATES):
    S = len(states)
    support = np.ones((S, S), dtype=bool) if support is None else support
    return AugmentedGraph(skchmm.compile(rules, states), np.ones(S, dtype=bool), support)


def draw_graph(data, support=None):
    """Rules with delay lines, and their graph."""
    rules = data.draw(rules_of_lines)
    try:
        graph = graph_of(rules, support)
    except ValueError:
        reject()  # no path of any length
    assume(graph.delays is not None)
    return rules, graph


def obeys(path, rules):
    """By definition; labels are single letters, so Python's expressions mean the same."""
    return all(
        re.fullmatch(rule.pattern.replace(" ", ""), "".join(path)) is not None
        if isinstance(rule, Regex)
        else holds(rule, path)
        for rule in rules
    )


def in_order(log_start, log_transmat, log_b, rules):
    """All feasible paths with their scores, the best first, by enumeration."""
    T, S = log_b.shape
    found = []
    for path in product(range(S), repeat=T):
        if obeys([STATES[i] for i in path], rules):
            score = log_start[path[0]] + log_b[range(T), path].sum()
            score += sum(log_transmat[a, b] for a, b in zip(path[:-1], path[1:]))
            if score > -np.inf:
                found.append((-score, path[::-1]))
    return [(-score, path[::-1]) for score, path in sorted(found)]


@pytest.fixture
def passing_over(monkeypatch):
    """Use delay lines wherever there are some, and count what they did."""
    done = []

    def watch(kernel):
        original = getattr(delayed, kernel)

        def counted(*args, **kwargs):
            done.append(kernel)
            return original(*args, **kwargs)

        monkeypatch.setattr(delayed, kernel, counted)

    watch("delayed_viterbi")
    watch("delayed_sums")
    watch("delayed_lanes_viterbi")
    watch("delayed_lanes_sums")
    monkeypatch.setattr(sizes, "delay_gain", 0.0)
    monkeypatch.setattr(sizes, "delay_edges", 0)
    monkeypatch.setattr(sizes, "delay_lanes_apart", np.inf)
    monkeypatch.setattr(sizes, "delay_alone_steps", np.inf)
    return done


def by_nodes(method, *args, **kwargs):
    """The same by all nodes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sizes, "delay_gain", np.inf)
        return method(*args, **kwargs)


fixed = settings(
    max_examples=60, deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)  # fmt: skip


@fixed
@given(data=st.data())
def test_best_paths_by_enumeration(data, passing_over, instruction_sets):
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    rules, graph = draw_graph(data)
    span = data.draw(st.integers(1, 3))  # 1: everything is a tie
    lengths = data.draw(st.lists(st.integers(1, 6), min_size=1, max_size=11))
    # Eighths add up without rounding; thirds do not, but are the same on the other side of a tie.
    log_start, log_transmat = rng.integers(span, size=3) / 8, rng.integers(span, size=(3, 3)) / 8
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    table = rng.integers(span, size=(offsets[-1], 3)) / 8
    table[rng.random(table.shape) < data.draw(st.sampled_from([0.0, 0.1]))] = -np.inf
    frames = Frames(table)
    if data.draw(st.booleans()):
        frames = Frames(np.unique(table, axis=0), np.unique(table, axis=0, return_inverse=True)[1])
    chain = ScoredChain(graph, log_start, log_transmat)
    truth = [
        in_order(log_start, log_transmat, table[a:b], rules) for a, b in zip(offsets, offsets[1:])
    ]
    for k in instruction_sets.values():
        instructions.use_instruction_set(k)
        path, log_prob = chain.decode(frames, offsets)
        for s, (a, b) in enumerate(zip(offsets, offsets[1:])):
            assert log_prob[s] == (truth[s][0][0] if truth[s] else -np.inf)
            if truth[s]:
                assert tuple(path[a:b]) == truth[s][0][1]
    assert passing_over[-1] in ("delayed_viterbi", "delayed_lanes_viterbi")


@fixed
@given(data=st.data())
def test_best_paths_as_by_all_nodes(data, passing_over, instruction_sets):
    """Longer sequences, with values of any size and with ties."""
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    support = rng.random((3, 3)) < data.draw(st.sampled_from([0.7, 1.0]))
    np.fill_diagonal(support, True)
    _, graph = draw_graph(data, support)
    transmat = np.where(support, rng.random((3, 3)), 0.0)
    transmat /= transmat.sum(axis=1, keepdims=True)
    chain = Chain(graph, rng.dirichlet(np.ones(3)), transmat)
    most = data.draw(st.sampled_from([9, 90, 700]))
    lengths = data.draw(st.lists(st.integers(1, most), min_size=1, max_size=10))
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    table = rng.normal(size=(offsets[-1], 3)) * 10.0 ** data.draw(st.integers(-2, 3))
    table[rng.random(table.shape) < data.draw(st.sampled_from([0.0, 0.01]))] = -np.inf
    expected, best = by_nodes(chain.decode, Frames(table), offsets)
    for k in instruction_sets.values():
        instructions.use_instruction_set(k)
        path, log_prob = chain.decode(Frames(table), offsets, n_jobs=data.draw(st.integers(1, 2)))
        np.testing.assert_array_equal(log_prob, best)
        for s, (a, b) in enumerate(zip(offsets, offsets[1:])):
            if best[s] > -np.inf:
                np.testing.assert_array_equal(path[a:b], expected[a:b])
    assert passing_over[-1] in ("delayed_viterbi", "delayed_lanes_viterbi")


@pytest.mark.parametrize("duration", [2, 5, 40, 700])
@pytest.mark.parametrize("n_states", range(2, 9))
def test_best_paths_of_minimum_durations(n_states, duration, passing_over, instruction_sets):
    """Eight sequences at a time, with ties; some transitions and emissions are impossible."""
    rng = np.random.default_rng(n_states)
    labels = list("ABCDEFGH"[:n_states])
    support = rng.random((n_states, n_states)) < 0.8
    support |= np.eye(n_states, dtype=bool)
    graph = graph_of([MinDuration(label, duration) for label in labels], support, labels)
    log_transmat = np.where(support, rng.integers(-3, 1, size=support.shape) / 8, -np.inf)
    chain = ScoredChain(graph, rng.integers(-3, 1, size=n_states) / 8, log_transmat)
    lengths = [300, 299, 120, 41, 40, 39, 8, 7, 2, 1, 1]
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    table = rng.integers(-3, 1, size=(offsets[-1], n_states)) / 8
    few = Frames(table[:9], rng.integers(9, size=len(table)))
    holes = np.where(rng.random(table.shape) < 0.01, -np.inf, table)
    for frames in (Frames(table), few, Frames(holes)):
        expected, best = by_nodes(chain.decode, frames, offsets)
        for k in instruction_sets.values():
            instructions.use_instruction_set(k)
            path, log_prob = chain.decode(frames, offsets)
            np.testing.assert_array_equal(log_prob, best)
            feasible = np.repeat(best > -np.inf, lengths)
            np.testing.assert_array_equal(path[feasible], expected[feasible])
    assert set(passing_over) == {"delayed_lanes_viterbi"}


def close(found, expected):
    """What forward-backward gives, to a part in 1e12; logarithms of what they are the sum of."""
    np.testing.assert_allclose(found.log_z, expected.log_z, rtol=1e-12, atol=1e-9)
    np.testing.assert_allclose(found.posteriors, expected.posteriors, rtol=0, atol=1e-12)
    if expected.counts is not None:
        transitions = expected.counts.transitions
        np.testing.assert_allclose(found.counts.transitions, transitions, rtol=1e-11, atol=1e-11)


@fixed
@given(data=st.data())
def test_sums_by_enumeration(data, passing_over, instruction_sets):
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    rules, graph = draw_graph(data)
    T = data.draw(st.integers(1, 6))
    startprob, transmat = rng.dirichlet(np.ones(3)), rng.dirichlet(np.ones(3), size=3)
    table = rng.normal(size=(T, 3)) * data.draw(st.sampled_from([1.0, 30.0]))
    table[rng.random(table.shape) < data.draw(st.sampled_from([0.0, 0.1]))] = -np.inf
    chain = Chain(graph, startprob, transmat)
    paths = in_order(chain.log_start, chain.given[1], table, rules)
    marginals, transitions, log_z = np.zeros((T, 3)), np.zeros((3, 3)), -np.inf
    if paths:
        log_z = np.logaddexp.reduce([score for score, _ in paths])
    for score, path in paths:
        marginals[range(T), path] += np.exp(score - log_z)
        np.add.at(transitions, (path[:-1], path[1:]), np.exp(score - log_z))
    for k, counts in product(instruction_sets.values(), (False, True)):
        instructions.use_instruction_set(k)
        found = chain.smooth(Frames(table), np.array([0, T]), counts=counts)
        np.testing.assert_allclose(found.log_z, [log_z], rtol=1e-12)
        np.testing.assert_array_equal(chain.log_likelihood(Frames(table), np.array([0, T])),
                                      found.log_z)  # fmt: skip
        if paths:
            np.testing.assert_allclose(found.posteriors, marginals, rtol=0, atol=1e-12)
        if counts:
            np.testing.assert_allclose(found.counts.transitions, transitions, atol=1e-12)
    assert "delayed_sums" in passing_over


@fixed
@given(data=st.data())
def test_sums_as_by_all_nodes(data, passing_over, instruction_sets):
    """Longer sequences; lines that hold next to nothing, and all that is accepted in the end."""
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    support = rng.random((3, 3)) < data.draw(st.sampled_from([0.7, 1.0]))
    np.fill_diagonal(support, True)
    _, graph = draw_graph(data, support)
    transmat = np.where(support, rng.random((3, 3)), 0.0)
    transmat /= transmat.sum(axis=1, keepdims=True)
    chain = Chain(graph, rng.dirichlet(np.ones(3)), transmat)
    most = data.draw(st.sampled_from([9, 90, 500]))
    lengths = data.draw(st.lists(st.integers(1, most), min_size=1, max_size=10))
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    table = rng.normal(size=(offsets[-1], 3)) * data.draw(st.sampled_from([1.0, 8.0, 100.0]))
    table[rng.random(table.shape) < data.draw(st.sampled_from([0.0, 0.01]))] = -np.inf
    frames = Frames(table)
    if data.draw(st.booleans()):
        frames = Frames(table[:9], rng.integers(min(9, len(table)), size=len(table)))
    how = {"seq_weights": rng.random(len(lengths)), "counts": data.draw(st.booleans())}
    sizes.delay_alone_steps = data.draw(st.sampled_from([0, np.inf]))
    expected = by_nodes(chain.smooth, frames, offsets, **how)
    for k in instruction_sets.values():
        instructions.use_instruction_set(k)
        close(chain.smooth(frames, offsets, n_jobs=data.draw(st.integers(1, 2)), **how), expected)
        found = chain.log_likelihood(frames, offsets)
        np.testing.assert_allclose(found, expected.log_z, rtol=1e-12, atol=1e-9)
    assert passing_over[-1] in ("delayed_sums", "delayed_lanes_sums")


@pytest.mark.parametrize("scale", [1.0, 4.0, 40.0])
@pytest.mark.parametrize("duration", [2, 3, 60, 700])
def test_sums_of_minimum_durations(duration, scale, passing_over, instruction_sets):
    """One line for each state: what stays in registers, and exponents of any size."""
    rng = np.random.default_rng(0)
    rules = [MinDuration(label, duration) for label in STATES]
    chain = Chain(graph_of(rules), np.full(3, 1 / 3), np.full((3, 3), 0.02) + 0.94 * np.eye(3))
    frames = Frames(scale * rng.normal(size=(1500, 3)))
    offsets = np.array([0, 1, 2, 10, 500, 1500])  # too different for lanes
    expected = by_nodes(chain.smooth, frames, offsets)
    for k in instruction_sets.values():
        instructions.use_instruction_set(k)
        close(chain.smooth(frames, offsets), expected)
        np.testing.assert_allclose(chain.log_likelihood(frames, offsets), expected.log_z)
    assert passing_over[-1] == "delayed_sums"


@pytest.mark.parametrize("duration", [2, 3, 60, 700])
@pytest.mark.parametrize("n_states", [2, 3, 5, 8])
def test_minimum_durations_of_emissions_far_apart(
    n_states, duration, passing_over, instruction_sets
):
    """Every number has an exponent of its own; some transitions and ends are not allowed."""
    rng = np.random.default_rng(n_states)
    labels = list("ABCDEFGH"[:n_states])
    support = rng.random((n_states, n_states)) < 0.7
    support |= np.eye(n_states, dtype=bool) | np.eye(n_states, k=1, dtype=bool)
    support[-1, 0] = True
    transmat = np.where(support, rng.random((n_states, n_states)) + 5 * np.eye(n_states), 0.0)
    rules = [MinDuration(label, duration) for label in labels] + [EndsIn(labels[:2])]
    graph = graph_of(rules, support, labels)
    chain = Chain(graph, rng.dirichlet(np.ones(n_states)), transmat / transmat.sum(1)[:, None])
    different = np.array([0, 1, 2, 67, 300, 1500, 4000])
    similar = np.cumsum([0, 600, 600, 599, 410, 400, 399, 390, 200, 130, 120, 100, 50, 1, 1])
    table = rng.normal(scale=20.0, size=(4000, n_states))
    table[rng.random(table.shape) < 0.01] -= 400  # no number next to a few others
    table[3999] = 0.0
    few = Frames(table[:50], rng.integers(50, size=4000))
    for frames, offsets in product((Frames(table), few), (different, similar)):
        expected = by_nodes(chain.smooth, frames, offsets)
        for k in instruction_sets.values():
            instructions.use_instruction_set(k)
            close(chain.smooth(frames, offsets), expected)
            found = chain.log_likelihood(frames, offsets)
            np.testing.assert_allclose(found, expected.log_z, rtol=1e-12, atol=1e-9)
    assert set(passing_over) == {"delayed_sums", "delayed_lanes_sums"}


def enumerated(chain, table, rules):
    """log Z and marginals of one sequence."""
    T, S = table.shape
    paths = in_order(chain.log_start, chain.given[1], table, rules)
    if not paths:
        return -np.inf, np.full((T, S), np.nan)
    log_z = np.logaddexp.reduce([score for score, _ in paths])
    marginals = np.zeros((T, S))
    for score, path in paths:
        marginals[range(T), path] += np.exp(score - log_z)
    return log_z, marginals


@fixed
@given(data=st.data())
def test_sums_in_lanes_by_enumeration(data, passing_over, instruction_sets):
    """Eight sequences side by side, of one length or of several, some of them impossible."""
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    rules, graph = draw_graph(data)
    lengths = data.draw(st.lists(st.integers(1, 6), min_size=3, max_size=10))
    if data.draw(st.booleans()):
        lengths = [lengths[0]] * len(lengths)
    assume(sum(lengths) >= 2 * max(lengths))
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    table = rng.normal(size=(offsets[-1], 3)) * data.draw(st.sampled_from([0.1, 1.0, 30.0]))
    table[rng.random(table.shape) < data.draw(st.sampled_from([0.0, 0.02]))] = -np.inf
    chain = Chain(graph, rng.dirichlet(np.ones(3)), rng.dirichlet(np.ones(3), size=3))
    truth = [enumerated(chain, table[a:b], rules) for a, b in zip(offsets, offsets[1:])]
    for k in instruction_sets.values():
        instructions.use_instruction_set(k)
        found = chain.smooth(Frames(table), offsets)
        log_z, marginals = zip(*truth)
        np.testing.assert_allclose(found.log_z, log_z, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(found.posteriors, np.concatenate(marginals), atol=1e-12)


@pytest.mark.parametrize("scale", [0.1, 1.0, 5.0, 30.0])
@pytest.mark.parametrize("duration", [2, 7, 60, 700])
@pytest.mark.parametrize("lengths", [[300] * 9, [300, 299, 200, 61, 60, 59, 8, 7, 2, 1], [1] * 5])
def test_lanes_of_minimum_durations(lengths, duration, scale, passing_over, instruction_sets):
    """Paths, posteriors and likelihoods; groups of many steps, and of single ones."""
    rng = np.random.default_rng(0)
    rules = [MinDuration(label, duration) for label in STATES]
    chain = Chain(graph_of(rules), np.full(3, 1 / 3), np.full((3, 3), 0.02) + 0.94 * np.eye(3))
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    dense = Frames(scale * rng.normal(size=(offsets[-1], 3)))
    few = Frames(scale * rng.normal(size=(5, 3)), rng.integers(5, size=offsets[-1]))
    for frames, alone in product((dense, few), (0, np.inf)):
        sizes.delay_alone_steps = alone
        expected = by_nodes(chain.smooth, frames, offsets)
        best = by_nodes(chain.decode, frames, offsets)[1]
        for k in instruction_sets.values():
            instructions.use_instruction_set(k)
            close(chain.smooth(frames, offsets), expected)
            found = chain.log_likelihood(frames, offsets)
            np.testing.assert_allclose(found, expected.log_z, rtol=1e-12, atol=1e-9)
            np.testing.assert_allclose(chain.decode(frames, offsets)[1], best, rtol=1e-12)
    assert {"delayed_lanes_viterbi", "delayed_lanes_sums", "delayed_sums"} <= set(passing_over)


def test_lines_that_nothing_entered(passing_over, instruction_sets):
    """No path that ends inside of one; a line that is longer was entered one step before."""
    rng = np.random.default_rng(0)
    rules = [MinDuration("A", 2), MinDuration("B", 2), MinDuration("C", 3)]
    table = 0.1 * rng.normal(size=(4, 3))
    chain = Chain(graph_of(rules), rng.dirichlet(np.ones(3)), rng.dirichlet(np.ones(3), size=3))
    offsets = np.array([0, 1, 2, 4])
    truth = [enumerated(chain, table[a:b], rules)[0] for a, b in zip(offsets, offsets[1:])]
    for k in instruction_sets.values():
        instructions.use_instruction_set(k)
        np.testing.assert_allclose(chain.smooth(Frames(table), offsets).log_z, truth, rtol=1e-12)
    assert set(passing_over) == {"delayed_lanes_sums"}


def test_what_an_impossible_step_ends_hides_nothing(passing_over):
    """What enters a line with much and dies in it, and what enters later with next to nothing."""
    rules = [MinDuration("A", 30)]
    support = np.ones((3, 3), dtype=bool)
    support[2, :2] = False  # C is never left, so nothing comes from it
    transmat = support / support.sum(axis=1, keepdims=True)
    chain = Chain(graph_of(rules, support), np.full(3, 1 / 3), transmat)
    table = np.zeros((8, 3))
    table[3, 0] = table[4, 0] = table[7, 1] = table[7, 2] = -np.inf
    table[4, 1] = -800.0
    log_z, marginals = enumerated(chain, table, rules)
    found = chain.smooth(Frames(table), np.array([0, 8]))
    np.testing.assert_allclose(found.log_z, [log_z], rtol=1e-12)
    np.testing.assert_allclose(found.posteriors, marginals, atol=1e-12)
    assert passing_over == ["delayed_sums"]


def test_emissions_too_small_to_count_in_are_left_to_all_nodes(passing_over):
    rng = np.random.default_rng(0)
    rules = [MinDuration(label, 5) for label in STATES]
    chain = Chain(graph_of(rules), np.full(3, 1 / 3), rng.dirichlet(np.ones(3), size=3))
    table = rng.normal(size=(60, 3))
    table[40, 0] = -1e10
    offsets = np.array([0, 30, 60])
    close(chain.smooth(Frames(table), offsets), by_nodes(chain.smooth, Frames(table), offsets))
    assert passing_over == ["delayed_lanes_sums", "delayed_sums"]


def test_ties_of_logarithms(passing_over):
    """A chain that knows nothing, and observations that say nothing: the lowest labels, backwards.

    What is added up along a line is not a whole multiple of what can be written down.
    """
    rules = [MinDuration(label, 7) for label in STATES]
    chain = Chain(graph_of(rules), np.full(3, 1 / 3), np.full((3, 3), 1 / 3))
    for level in (0.0, -0.1, np.log(0.3)):
        frames = Frames(np.full((200, 3), level))
        path, _ = chain.decode(frames, np.array([0, 200]))
        assert (path == 0).all()
    assert len(passing_over) == 3


def test_scores_too_far_apart_are_left_to_all_nodes(passing_over):
    rng = np.random.default_rng(0)
    rules = [MinDuration(label, 5) for label in STATES]
    chain = Chain(graph_of(rules), np.full(3, 1 / 3), rng.dirichlet(np.ones(3), size=3))
    table = rng.normal(size=(90, 3))
    table[30:60][rng.random((30, 3)) < 0.2] = -1e200
    offsets = np.array([0, 30, 60, 90])
    path, log_prob = chain.decode(Frames(table), offsets)
    expected, best = by_nodes(chain.decode, Frames(table), offsets)
    np.testing.assert_array_equal(path, expected)
    np.testing.assert_array_equal(log_prob, best)
    assert passing_over == ["delayed_lanes_viterbi", "delayed_viterbi"]


def test_long_sequences_in_chunks(passing_over):
    """A million and a half steps are not kept at once."""
    rng = np.random.default_rng(0)
    rules = [MinDuration(label, 40) for label in STATES]
    chain = Chain(graph_of(rules), np.full(3, 1 / 3), np.full((3, 3), 0.1) + 0.7 * np.eye(3))
    frames = Frames(rng.normal(size=(9, 3)), rng.integers(9, size=1_500_000))
    offsets = np.array([0, frames.n_steps])
    path, log_prob = chain.decode(frames, offsets)
    cuts = np.flatnonzero(np.diff(path)) + 1
    assert np.diff(cuts).min() >= 40
    table = frames.dense()
    score = chain.log_start[path[0]] + table[np.arange(len(path)), path].sum()
    score += chain.given[1][path[:-1], path[1:]].sum()
    assert log_prob[0] == pytest.approx(score, rel=1e-9)  # each adds up in its own order
    begin, end = cuts[100], cuts[5000]  # between two visits, a part of the best path is best
    again, _ = chain.decode(frames.part(begin, end), np.array([0, end - begin]))
    later = np.flatnonzero(np.diff(again))[-1] - 200
    np.testing.assert_array_equal(again[1000:later], path[begin + 1000 : begin + later])


@pytest.mark.parametrize("delay", [2, 9, 40])
def test_what_a_graph_has(delay):
    graph = graph_of([MinDuration(label, delay) for label in STATES])
    lines = graph.delays.lines
    assert lines.n_lines == 3
    assert graph_of([]).delays is None
    assert graph_of([Regex("(A | B | C)*")]).delays is None
    chain = Chain(graph, np.full(3, 1 / 3), np.full((3, 3), 1 / 3))
    assert (chain.delays is None) == (graph.delays.gain < sizes.delay_gain)
