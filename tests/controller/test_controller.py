"""Controllers: reading, algebra, minimality, counting, against enumeration."""

import copy
import math
import pickle
from itertools import product

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from skchmm import Controller, ControllerTooLargeError, compile, constraints
from skchmm.controller import intersection, union
from tests.oracles.automata import LETTERS, controllers, fewest_states, run
from tests.oracles.paths import all_paths, verdicts

LONGEST = 7


def language(controller, longest=LONGEST):
    return verdicts(controller, all_paths(controller.states, longest))


def same_alphabet(*parts):
    assume(len({part.states for part in parts}) == 1)


@settings(max_examples=60, deadline=None)
@given(controller=controllers())
def test_reading(controller):
    paths = all_paths(controller.states, LONGEST)
    assert language(controller) == [run(controller, path) for path in paths]
    assert [controller.accepts(path) for path in paths[:30]] == language(controller)[:30]


@settings(max_examples=100, deadline=None)
@given(parts=st.lists(controllers(max_labels=2), min_size=1, max_size=3))
def test_products(parts):
    same_alphabet(*parts)
    said = np.array([language(part) for part in parts])
    assert language(intersection(parts)) == said.all(axis=0).tolist()
    assert language(union(parts)) == said.any(axis=0).tolist()
    assert language(~parts[0]) == (~said[0]).tolist()
    assert language(~~parts[0]) == said[0].tolist()


@settings(max_examples=100, deadline=None)
@given(one=controllers(), other=controllers())
def test_algebra(one, other):
    same_alphabet(one, other)
    assert (one & other).equivalent(other & one)
    assert (~(one & other)).equivalent(~one | ~other)
    assert (one | (one & other)).equivalent(one)
    assert (one & ~one).is_empty() and not (one | ~one).is_empty()
    assert language(one & ~other) == [a and not b for a, b in zip(language(one), language(other))]


@settings(max_examples=200, deadline=None)
@given(controller=controllers(max_states=6, max_labels=2))
def test_minimal_is_minimal(controller):
    minimal = controller.minimal()
    assert language(minimal) == language(controller)
    assert len(minimal.accept) == fewest_states(controller) <= max(len(controller.accept), 1) + 1
    again = minimal.minimal()
    assert (again.tables == minimal.tables).all() and (again.accept == minimal.accept).all()


@settings(max_examples=200, deadline=None)
@given(controller=controllers(max_epochs=1), data=st.data())
def test_minimal_controllers_of_the_same_paths_are_the_same(controller, data):
    # Number the states otherwise, double some of them, and change what the empty path is told.
    n = len(controller.accept)
    copies = [0, *range(n), *data.draw(st.lists(st.integers(0, n - 1), max_size=3))]
    places = {q: [k for k, r in enumerate(copies) if r == q] for q in range(n)}
    table = [
        [-1 if q < 0 else data.draw(st.sampled_from(places[q])) for q in controller.tables[0, r]]
        for r in copies
    ]
    accept = controller.accept[copies]
    if not (np.array(table) == 0).any():
        accept[0] = data.draw(st.booleans())
    one, other = controller.minimal(), Controller(controller.states, table, accept).minimal()
    assert (one.tables == other.tables).all() and (one.accept == other.accept).all()
    assert one.equivalent(other)


@settings(max_examples=100, deadline=None)
@given(one=controllers(max_states=3), other=controllers(max_states=3))
def test_equivalent(one, other):
    same_alphabet(one, other)
    # Two of three states and four steps of epochs differ, if at all, on a short path.
    assert one.equivalent(other) == (language(one, 12) == language(other, 12))
    assert one.equivalent(one.minimal())


def test_equivalent_takes_labels_in_any_order():
    one = Controller(["a", "b"], [[1, 0], [0, 1]], [True, False])
    other = Controller(["b", "a"], [[0, 1], [1, 0]], [True, False])
    assert one.equivalent(other) and (one & other).states == ("a", "b")
    with pytest.raises(ValueError, match="different states"):
        one.equivalent(Controller(["a", "c"], [[0, 0]], [True]))


# Counting ------------------------------------------------------------------------------------


@settings(max_examples=100, deadline=None)
@given(controller=controllers())
def test_counting_and_shortest_path(controller):
    accepted = [p for p in all_paths(controller.states, LONGEST) if run(controller, p)]
    for n in range(LONGEST + 1):
        assert controller.count_paths(n) == sum(len(path) == n for path in accepted)
    shortest = controller.shortest_path()
    if accepted:  # the paths are listed short ones first, then in the order of the labels
        assert shortest == list(accepted[0]) and not controller.is_empty()
    elif shortest is not None:
        assert len(shortest) > LONGEST and run(controller, shortest)
    # Past the last breakpoint a path of more steps than states goes through a circle.
    n, last = len(controller.accept), int(controller.epochs[-1])
    counts = [controller.count_paths(k) for k in range(1, last + 2 * n + 1)]
    endless = any(counts[last + n :])
    assert controller.language_size == (math.inf if endless else sum(counts))
    assert controller.is_empty() == (shortest is None) == (controller.language_size == 0)


def test_fibonacci():
    no_aa = Controller(["a", "b"], [[1, 0], [-1, 0]], [True, True])
    fibonacci = [1, 2]
    while len(fibonacci) <= 500:
        fibonacci.append(fibonacci[-1] + fibonacci[-2])
    for n in (1, 2, 3, 10, 90, 500):
        assert no_aa.count_paths(n) == fibonacci[n]
    assert no_aa.language_size == math.inf and no_aa.shortest_path() == ["a"]


def test_sizes():
    def once(S):  # no label twice
        seen = np.arange(2**S)[:, None]
        bits = 1 << np.arange(S)
        return Controller(range(S), np.where(seen & bits, -1, seen | bits), [True] * 2**S)

    for S in range(1, 6):
        assert once(S).language_size == sum(math.perm(S, n) for n in range(1, S + 1))
        assert once(S).count_paths(S) == math.factorial(S)
    nothing = Controller(["a"], [[-1]], [True])
    assert nothing.language_size == 0 and nothing.shortest_path() is None and nothing.is_empty()


def test_long_epochs_cost_nothing():
    table = [[[0]], [[-1]]]
    until = Controller(["a"], table, [True], epochs=(0, 3000))
    assert until.language_size == 3000 and until.count_paths(3000) == 1
    assert until.count_paths(3001) == 0
    late = 10**15
    opens = Controller(["a", "b"], [[[-1, 0], [-1, -1]], [[1, -1], [-1, -1]]], [False, True],
                       epochs=(0, late))  # fmt: skip
    assert not opens.is_empty() and opens.minimal().n_states == 2
    never = Controller(["a", "b"], [[[-1, 0], [-1, -1]], [[1, -1], [1, -1]]], [False, False],
                       epochs=(0, late))  # fmt: skip
    assert never.is_empty() and never.language_size == 0
    assert Controller(["a"], [[[0]], [[0]]], [True], epochs=(0, late)).language_size == math.inf


@pytest.mark.parametrize("n_steps", [-1, 1.5, "3", None])
def test_a_number_of_labels(n_steps):
    with pytest.raises(ValueError, match="n_steps must be"):
        Controller(["a"], [[0]], [True]).count_paths(n_steps)


# Building ------------------------------------------------------------------------------------


@st.composite
def tuples_of_the_paper(draw):
    """(C, c0, tau, F, F_T) as tables, tau and F for a few times t."""
    S, n, times = draw(st.integers(1, 3)), draw(st.integers(1, 3)), draw(st.integers(1, 3))
    size = times * n * S * S
    update = draw(st.lists(st.integers(0, n - 1), min_size=size, max_size=size))
    gate = draw(st.lists(st.booleans(), min_size=size, max_size=size))
    initial = draw(st.lists(st.sampled_from([None, *range(n)]), min_size=S, max_size=S))
    accept = draw(st.sets(st.integers(0, n - 1)))
    shape = (times, n, S, S)
    return initial, np.reshape(update, shape), np.reshape(gate, shape), accept


def simulate(path, initial, update, gate, accept):
    """The acceptance event of Patel and Damiano, literally."""
    x = [LETTERS.index(label) for label in path]
    c = initial[x[0]]
    if c is None:
        return False
    for t, (i, j) in enumerate(zip(x, x[1:])):
        now = min(t, len(update) - 1)
        if not gate[now, c, i, j]:
            return False
        c = update[now, c, i, j]
    return c in accept


@settings(max_examples=100, deadline=None)
@given(parts=tuples_of_the_paper())
def test_from_functions(parts):
    initial, update, gate, accept = parts
    times, n, S, _ = update.shape
    horizon = 6 if S < 3 else 5

    def at(table):
        def value(c, i, j, t=0):
            return table[min(t, times - 1), c, LETTERS.index(i), LETTERS.index(j)]

        return value if times > 1 else lambda c, i, j: value(c, i, j)

    controller = Controller.from_functions(
        LETTERS[:S], range(n), lambda i: initial[LETTERS.index(i)], at(update), at(gate), accept,
        horizon=horizon,
    )  # fmt: skip
    paths = all_paths(LETTERS[:S], horizon)
    assert verdicts(controller, paths) == [simulate(path, *parts) for path in paths]
    assert controller.n_states <= max(n, 1) or times > 1
    too_long = ["a"] * (horizon + 1)
    if times > 1:
        with pytest.raises(ValueError, match=f"longer than the horizon of {horizon}"):
            controller.accepts(too_long)
        with pytest.raises(ValueError, match=rf"horizon={horizon + 1}\)"):
            controller.count_paths(horizon + 1)
        size = sum(simulate(path, *parts) for path in paths)
        assert controller.language_size == size
    else:
        assert controller.accepts(too_long) == simulate(too_long, *parts)


def test_gate_and_update_may_differ_in_taking_time():
    # No change of label at odd t; an even number of changes.
    controller = Controller.from_functions(
        ["a", "b"], [0, 1], lambda i: 0, lambda c, i, j: c ^ (i != j),
        lambda c, i, j, t: i == j or t % 2 == 0, lambda c: c == 0, horizon=8,
    )  # fmt: skip
    for path in all_paths(["a", "b"], 8):
        changes = [t for t in range(len(path) - 1) if path[t] != path[t + 1]]
        wanted = len(changes) % 2 == 0 and all(t % 2 == 0 for t in changes)
        assert controller.accepts(path) == wanted


def test_wrong_functions():
    with pytest.raises(ValueError, match=r"initial\('a'\) gave 7, which is not a controller"):
        Controller.from_functions(["a"], [0], lambda i: 7, lambda c, i, j: c, None, [0])
    with pytest.raises(ValueError, match=r"update\(0, 'a', 'a'\) gave 'x'"):
        Controller.from_functions(["a"], [0], lambda i: 0, lambda c, i, j: "x", None, [0])
    for horizon in (0, -5, 1.5, None):
        with pytest.raises(ValueError, match="horizon must be"):
            Controller.from_functions(["a"], [0], lambda i: 0, lambda c, i, j, t: 0, None, [0],
                                      horizon=horizon)  # fmt: skip
    with pytest.raises(TypeError, match="update must be a function"):
        Controller.from_functions(["a"], [0], lambda i: 0, None, None, [0])
    with pytest.raises(TypeError, match="accept must be a collection"):
        Controller.from_functions(["a"], [0], lambda i: 0, lambda c, i, j: 0, None, 7)
    with pytest.raises(ValueError, match="controller_states must be distinct"):
        Controller.from_functions(["a"], [0, 0], lambda i: 0, lambda c, i, j: c, None, [0])


def test_explore():
    def follow(counts, label):
        k = "ab".index(label)
        there = tuple(c + (i == k) for i, c in enumerate(counts))
        return there if max(there) <= 3 else None

    controller = Controller.explore("ab", (0, 0), follow, lambda counts: counts[0] == counts[1])
    assert controller.tables.shape == (1, 16, 2)
    assert controller.language_size == sum(math.comb(2 * n, n) for n in (1, 2, 3))
    with pytest.raises(ControllerTooLargeError, match="max_nodes=15"):
        Controller.explore("ab", (0, 0), follow, bool, max_nodes=15)


@pytest.mark.parametrize(
    "states, tables, accept, epochs, problem",
    [
        (["a", "a"], [[0, 0]], [True], (0,), "must differ"),
        ([], np.empty((1, 0)), [True], (0,), "at least one label"),
        (["a"], [[0]], [True, False], (0,), "need"),
        (["a"], [[1]], [True], (0,), r"between -1 \(dead\) and 0"),
        (["a"], [[-2]], [True], (0,), "between -1"),
        (["a"], [[[0]], [[0]]], [True], (0, 0), "epochs must start at 0 and increase"),
        (["a"], [[0]], [True], (1,), "epochs must start at 0"),
    ],
)
def test_wrong_tables(states, tables, accept, epochs, problem):
    with pytest.raises(ValueError, match=problem):
        Controller(states, tables, accept, epochs=epochs)


@pytest.mark.parametrize(
    "arguments, problem",
    [
        ({"tables": [[0.5]]}, "tables must hold integers"),
        ({"tables": [[2**32]]}, r"between -1 \(dead\) and 0"),
        ({"tables": [[2**70]]}, "tables must hold integers"),
        ({"tables": [[0], [0, 0]]}, "tables must be an array"),
        ({"tables": 3}, r"tables has shape \(\)"),
        ({"tables": None}, "tables must hold integers"),
        ({"accept": True}, "accept must have one value"),
        ({"accept": [[True]]}, "accept must have one value"),
        ({"accept": ["yes"]}, "accept must hold"),
        ({"epochs": []}, "at least one label, automaton state and epoch"),
        ({"epochs": 0}, "epochs one per epoch"),
        ({"epochs": [0.0]}, "epochs must hold integers"),
        ({"epochs": None}, "epochs must hold integers"),
        ({"states": [["a"]]}, "must be strings, integers or other hashable values"),
        ({"states": 3}, "must be a list"),
        ({"horizon": -5}, "horizon must be at least 1, got -5"),
        ({"horizon": 0}, "horizon must be at least 1, got 0"),
        ({"horizon": 2.5}, "horizon must be an integer, got 2.5"),
    ],
)
def test_wrong_arguments(arguments, problem):
    given = {"states": ["a"], "tables": [[0]], "accept": [True]} | arguments
    with pytest.raises(ValueError, match=problem):
        Controller(**given)


def test_a_controller_cannot_be_changed_behind_its_back():
    tables = np.zeros((1, 1, 1), dtype=np.int32)
    accept, epochs = np.array([True]), np.array([0])
    controller = Controller(["a"], tables, accept, epochs=epochs)
    tables[:], accept[:], epochs[:] = 10**9, False, 10**9
    assert controller.accepts(["a"] * 5)
    for array in (controller.tables, controller.accept, controller.epochs):
        with pytest.raises(ValueError, match="read-only"):
            array[:] = 0


@pytest.mark.parametrize(
    "labels, offsets, problem",
    [
        ([0, 5], [0, 2], "labels must lie between 0 and 1"),
        ([0, -1], [0, 2], "labels must lie between 0 and 1"),
        ([0, 2**32], [0, 2], "labels must lie between 0 and 1"),
        ([0.0, 1.0], [0, 2], "labels must hold integers"),
        (["a"], [0, 1], "labels must hold integers"),
        ([[0, 1]], [0, 1], "must be 1-d"),
        ([0, 1], [0, 10**9], "offsets must lie between 0 and 2"),
        ([0, 1], [-7, 2], "offsets must lie between 0 and 2"),
        ([0, 1], [2, 0], "offsets must not decrease"),
        ([0, 1], [], "must be 1-d"),
        ([0, 1], 2, "must be 1-d"),
        ([0, 1], [0, 1.5], "offsets must hold integers"),
        ([0, 1], None, "offsets must hold integers"),
    ],
)
def test_encoded_paths_out_of_range(labels, offsets, problem):
    controller = Controller(["a", "b"], [[1, 0], [0, 1]], [True, False])
    with pytest.raises(ValueError, match=problem):
        controller.accepts_encoded(labels, offsets)


def test_a_path_of_no_steps_is_none():
    for accept in (True, False):
        controller = Controller(["a"], [[0]], [accept])
        assert not controller.accepts([]) and controller.count_paths(0) == 0
    assert not Controller(["a"], [[0]], [True]).accepts_encoded([], [0, 0, 0]).any()


@pytest.mark.parametrize("path", [3, None])
def test_what_is_no_path(path):
    with pytest.raises(ValueError, match="A path is a sequence of labels"):
        Controller(["a", "b"], [[0, 0]], [True]).accepts(path)


TAMPERED = {
    "tables": np.full((1, 2, 2), 10**8, dtype=np.int32),
    "accept": np.array([True]),
    "epochs": np.array([0, 10]),
    "horizon": -1,
    "states": ("a",),
    "_factors": ["nothing"],
}


@pytest.mark.parametrize("name", TAMPERED)
def test_saved_tables_are_checked_when_they_are_loaded(name):
    controller = Controller(["a", "b"], [[1, 0], [0, 1]], [True, False])
    controller.__dict__[name] = TAMPERED[name]
    with pytest.raises(ValueError):
        pickle.loads(pickle.dumps(controller))
    with pytest.raises(ValueError):
        copy.copy(controller)


def test_a_tampered_file_of_skops_is_refused():
    io = pytest.importorskip("skops.io")
    controller = Controller(["a", "b"], [[1, 0], [0, 1]], [True, False])
    trusted = io.get_untrusted_types(data=io.dumps(controller))
    assert io.loads(io.dumps(controller), trusted=trusted).equivalent(controller)
    controller.__dict__["tables"] = TAMPERED["tables"]
    with pytest.raises(ValueError, match="Entries of tables"):
        io.loads(io.dumps(controller), trusted=trusted)


def test_a_saved_controller_knows_what_it_was_compiled_from():
    rules = [constraints.StartsIn("a"), constraints.StartsIn(["a", "b"])]
    compiled = compile(rules, ["a", "b", "c"])
    for each in (pickle.loads(pickle.dumps(compiled)), copy.deepcopy(compiled)):
        assert each.constraints_ == rules and each.redundant_ == rules[1:]
    with pytest.raises(ValueError, match="no saved Controller"):
        compiled.__setstate__({})


def test_paths_too_long_to_list_or_count():
    late = 10**15
    opens = Controller(["a", "b"], [[[-1, 0], [-1, -1]], [[1, -1], [-1, -1]]], [False, True],
                       epochs=(0, late))  # fmt: skip
    with pytest.raises(ValueError, match="1,000,000,000,000,001 steps"):
        opens.shortest_path()
    with pytest.raises(ValueError, match="up to a length of"):
        opens.count_paths(late + 1)
    assert opens.count_paths(late) == 0
    with pytest.raises(ValueError, match="up to a length of"):
        _ = opens.language_size


def test_unknown_labels_in_a_path():
    controller = Controller(["a", "b"], [[0, 0]], [True])
    with pytest.raises(ValueError, match=r"does not know: \['c', \['a'\]\].*knows \['a', 'b'\]"):
        controller.accepts(["a", "c", ["a"]])


def test_too_large_names_and_sizes():
    def at_most(label, k):  # k times
        table = np.tile(np.arange(k + 1)[:, None], (1, 8))
        table[:, label] = [*range(1, k + 1), -1]
        return Controller(range(8), table, np.ones(k + 1))

    parts = [at_most(label, 9 + label) for label in range(8)]
    names = [f"rule {label}" for label in range(8)]
    with pytest.raises(ControllerTooLargeError) as caught:
        intersection(parts, names=names, max_nodes=1000)
    message = str(caught.value)
    assert "max_nodes=1,000" in message
    assert all(f"{name}: {10 + k}" in message for k, name in enumerate(names))
    with pytest.raises(ControllerTooLargeError, match="controller 1: 11"):
        intersection(parts[:3], max_nodes=1000)
    assert intersection(parts[:2], max_nodes=110).n_states == 110
    with pytest.raises(ValueError, match="No controllers"):
        intersection([])


# Showing and copying -------------------------------------------------------------------------


def test_copies():
    controller = Controller(["a", "b"], [[1, 0], [0, 1]], [True, False])
    for each in (copy.deepcopy(controller), pickle.loads(pickle.dumps(controller))):
        assert each.equivalent(controller) and each.accepts(["a", "a"])
    assert repr(controller) == "<Controller: 2 states over 2 labels>"
    assert controller.constraints_ == controller.redundant_ == []


def test_dot():
    controller = Controller(
        ["a", 'b"', "c"], [[[1, 0, 0], [-1, 1, -1]], [[-1, 0, -1], [1, 1, -1]]], [False, True],
        epochs=(0, 3),
    )  # fmt: skip
    lines = [line.strip() for line in controller.to_dot().split("\n")]
    assert lines[0] == "digraph controller {" and lines[-1] == "}"
    assert "0 [shape=circle];" in lines and "1 [shape=doublecircle];" in lines
    assert r'0 -> 0 [label="t >= 0: b\", c"];' in lines
    assert '0 -> 1 [label="t >= 0: a"];' in lines
    assert r'1 -> 1 [label="t >= 3: a, b\""];' in lines
    edges = {(e, q, int(r)) for e, q, a in product(range(2), range(2), range(3))
             if (r := controller.tables[e, q, a]) >= 0}  # fmt: skip
    assert sum("->" in line for line in lines) == len(edges) + 1


@pytest.fixture
def pyplot():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot

    yield pyplot
    pyplot.close("all")


def test_plot(pyplot):
    from matplotlib.patches import Circle, FancyArrowPatch

    controller = Controller("abcd", [[1, 0, 0, 0], [0, 1, 1, 2], [-1, 2, 0, 2]], [1, 0, 1])
    ax = controller.plot()
    circles = [patch for patch in ax.patches if isinstance(patch, Circle)]
    arrows = [patch for patch in ax.patches if isinstance(patch, FancyArrowPatch)]
    texts = [text.get_text() for text in ax.texts]
    assert len(circles) == 3 + 2  # two of three states are accepting: double
    assert len(arrows) == 7
    assert {"0", "1", "2", "a", "not a", "b, c", "d", "b, d", "c"} <= set(texts)
    _, given_ax = pyplot.subplots()
    assert controller.plot(given_ax) is given_ax
    ax.figure.canvas.draw()


def test_plot_of_many_labels_and_epochs(pyplot):
    tables = np.zeros((3, 2, 30), dtype=int)
    tables[0, :, :20], tables[2, :, 3:] = 1, -1
    ax = Controller(range(30), tables, [True, False], epochs=(0, 2, 5)).plot()
    texts = [text.get_text() for text in ax.texts]
    assert "any (2 ≤ t < 5)" in "\n".join(texts) and "(t ≥ 5)" in "\n".join(texts)
    assert all(len(line) < 80 for text in texts for line in text.split("\n"))
