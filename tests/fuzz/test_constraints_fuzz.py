"""Right and wrong arguments for constraints, controllers, metrics and the miner.

Every call answers or says in our own words what is wrong. SKCHMM_FUZZ_EXAMPLES is the number of
examples of each test; a few by default.
"""

import copy
import inspect
import os
import pickle
import traceback
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import skchmm
from skchmm import ConstraintMiner, Controller, compile, exceptions, metrics, satisfies
from skchmm import constraints as C
from skchmm.constraints.base import registry
from skchmm.mining import FAMILIES

from .anything import SOON

PACKAGE = Path(skchmm.__file__).parent
EXAMPLES = int(os.environ.get("SKCHMM_FUZZ_EXAMPLES", "25"))
OWN = tuple(kind for kind in vars(exceptions).values() if isinstance(kind, type))
STATES = ["a", "b", "c", 1]

fuzz = settings(max_examples=EXAMPLES, deadline=SOON, suppress_health_check=list(HealthCheck))


def call(function, *args, **kwargs):
    """The answer, or None after an error that speaks to the user; its arguments stay the same."""
    before = [snapshot(value) for value in (*args, *kwargs.values())]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return function(*args, **kwargs)
    except OWN:
        return None
    except (ValueError, TypeError) as error:
        # Raised in a line of ours that says so, not by Python or NumPy somewhere below it.
        last = traceback.extract_tb(error.__traceback__)[-1]
        ours = Path(last.filename).is_relative_to(PACKAGE) and "raise" in source_around(last)
        binding = isinstance(error, TypeError) and "argument" in str(error)
        assert ours or binding, f"from the inside: {error!r} at {last.filename}:{last.lineno}"
        assert str(error)
        return None
    finally:
        after = [snapshot(value) for value in (*args, *kwargs.values())]
        assert before == after


def source_around(frame):
    lines = Path(frame.filename).read_text().splitlines()
    return "\n".join(lines[frame.lineno - 1 : (frame.end_lineno or frame.lineno)])


def snapshot(value):
    try:
        return pickle.dumps(value)
    except Exception:
        return repr(value)


# Values --------------------------------------------------------------------------------------

known = st.sampled_from(STATES)
odd = st.sampled_from(
    [None, np.nan, pd.NA, True, -1, 0, 1.5, 2**40, 2**100, "", "d", b"a", np.int64(1),
     np.str_("a"), [], {}, set(), (),
     ["a"], {"a", "b"}, [["a"]], {"a": 1}, np.array(["a", "b"]), np.array([]),
     np.array(3), range(3), float("inf"), object]
)  # fmt: skip
counts = st.one_of(st.integers(-3, 6), st.sampled_from([10**6, 10**9, 10**18, 10**40]), odd)
label_sets = st.one_of(known, st.lists(known, max_size=3), st.frozensets(known), odd)
texts = st.one_of(
    st.text("abc ()[]{}*+?.|^'\"\\,019", max_size=25),
    st.text("abc ()!~&|<->XWFGYOHURS'{}", max_size=25),
    st.text(max_size=8),
    st.lists(st.sampled_from(
        ["a", "b", "G", "F", "X", "U", "R", "S", "H", "(", ")", "&", "|", "!", "->", "<->", "last",
         "true", "{a b}", "'c'", "1", "*", "+", "?", "{2}", "{0,3}", "{1000000000}", "."]
    ), max_size=14).map(" ".join),
    odd,
)  # fmt: skip
values = st.one_of(label_sets, counts, texts, st.lists(st.tuples(label_sets, label_sets)))
paths = st.one_of(st.lists(st.one_of(known, known, odd), max_size=8), st.lists(known), odd)


def parameter(name):
    if name in ("k", "delta", "at_least", "at_most", "start", "stop", "deadline"):
        return st.one_of(counts, counts, values)
    if name in ("pattern", "formula"):
        return texts
    if name == "edges":
        return st.one_of(st.lists(st.tuples(label_sets, label_sets), max_size=4), values)
    if name == "stages":
        return st.one_of(st.lists(label_sets, max_size=4), values)
    return st.one_of(label_sets, values)


@st.composite
def calls(draw, names):
    """A name of a constraint and arguments for it, by name."""
    name = draw(st.sampled_from(names))
    return name, {p.name: draw(parameter(p.name)) for p in signature(name)}


def signature(name):
    return inspect.signature(registry[name]).parameters.values()


LEAVES = sorted(set(registry) - {"And", "Or", "Not"})


# Tests ---------------------------------------------------------------------------------------


@fuzz
@given(arguments=calls(LEAVES), path=paths, max_nodes=st.sampled_from([10, 1000, 100_000]))
def test_constraints(arguments, path, max_nodes):
    name, parameters = arguments
    rule = call(registry[name], **parameters)
    if rule is None:
        return
    assert rule == copy.copy(rule) and hash(rule) == hash(copy.copy(rule)) and repr(rule)
    for one in (rule, ~rule, rule & C.NoDwell("b"), C.EndsIn("b") | rule):
        controller = call(compile, one, STATES, max_nodes=max_nodes)
        if controller is not None:
            verdict = call(controller.accepts, path)
            assert verdict is None or call(satisfies, path, one, STATES) in (verdict, None)
        call(one.labels)
        call(satisfies, path, one)
        spec = call(one.to_spec)
        call(C.from_spec, spec)


@fuzz
@given(text=texts)
def test_patterns_and_formulas(text):
    for kind in (C.Regex, C.LTLf):
        rule = kind(text)
        assert rule == kind(text) and hash(rule) == hash(kind(text))
        call(compile, rule, STATES, max_nodes=2_000)
        call(rule.labels)


leaf_specs = calls(LEAVES).map(lambda found: {"type": found[0], **found[1]})
specs = st.recursive(
    st.one_of(leaf_specs, odd, st.dictionaries(st.sampled_from(["type", "k", "states"]), values)),
    lambda inner: st.one_of(
        st.fixed_dictionaries(
            {"type": st.sampled_from(["And", "Or", "Xor"]), "constraints": st.lists(inner)}
        ),
        st.fixed_dictionaries({"type": st.just("Not"), "constraint": inner}),
        st.lists(inner, max_size=3),
    ),
    max_leaves=5,
)


@fuzz
@given(spec=specs)
def test_specifications(spec):
    rules = call(C.from_spec, spec)
    if rules is not None:
        call(compile, rules, STATES, max_nodes=2_000)
        again = call(C.to_spec, rules)
        assert again is None or call(C.to_spec, C.from_spec(again)) == again


@fuzz
@given(name=st.sampled_from(C.declare.__all__), a=label_sets, b=st.one_of(label_sets, counts))
def test_declare(name, a, b):
    template = getattr(C.declare, name)
    rule = call(template, a, b)
    if rule is not None:
        call(compile, rule, STATES, max_nodes=2_000)


tables = st.one_of(
    st.lists(st.lists(st.integers(-2, 4), min_size=2, max_size=2), max_size=4),
    st.lists(
        st.lists(st.lists(st.integers(-1, 3), min_size=2, max_size=2), max_size=3), max_size=2
    ),
    odd,
)


@fuzz
@given(
    table=tables,
    accept=st.one_of(st.lists(st.booleans(), max_size=4), odd),
    epochs=st.one_of(st.just((0,)), st.lists(st.integers(-1, 5), max_size=3), odd),
    horizon=st.one_of(st.none(), counts),
    labels=st.one_of(st.lists(st.integers(-3, 4), max_size=6), odd),
    offsets=st.one_of(st.lists(st.integers(-2, 9), max_size=4), odd),
    path=paths,
    n_steps=counts,
)
def test_controllers(table, accept, epochs, horizon, labels, offsets, path, n_steps):
    controller = call(Controller, ["a", "b"], table, accept, epochs=epochs, horizon=horizon)
    if controller is None:
        controller = Controller(["a", "b"], [[1, 0], [0, -1]], [True, False])
    call(controller.accepts_encoded, labels, offsets)
    call(controller.accepts, path)
    call(controller.over, path)
    call(controller.equivalent, path)
    if not isinstance(n_steps, int) or n_steps < 100:
        call(controller.count_paths, n_steps)
    call(controller.shortest_path)
    call(controller.check_lengths, np.array([0, 3]))
    assert isinstance(controller.is_empty(), bool) and controller.to_dot()
    assert (~~controller).equivalent(controller) and controller.minimal().equivalent(controller)
    for other in (pickle.loads(pickle.dumps(controller)), copy.deepcopy(controller)):
        assert other.equivalent(controller)


@fuzz
@given(name=st.sampled_from(["tables", "accept", "epochs", "horizon", "states"]), value=odd)
def test_saved_controllers(name, value):
    controller = Controller(["a", "b"], [[1, 0], [0, -1]], [True, False])
    state = controller.__dict__ | {name: value}
    call(Controller.__new__(Controller).__setstate__, state)


costs = st.one_of(st.floats(0, 3), st.just(np.inf), odd)


@fuzz
@given(path=paths, insert=costs, delete=costs, substitute=costs)
def test_alignments(path, insert, delete, substitute):
    controller = compile([C.Precedence("a", "b"), C.Window("b", 1, 4)], STATES)
    found = call(controller.align, path, insert=insert, delete=delete, substitute=substitute)
    if found is not None:
        assert found.cost >= 0 and controller.accepts(found.path)


label_paths = st.one_of(
    st.lists(st.one_of(known, known, odd), max_size=6),
    st.lists(st.lists(st.sampled_from(["a", "b"]), max_size=5), max_size=4),
    st.lists(st.sampled_from(["a", "b"]), min_size=1, max_size=6),
    st.lists(st.sampled_from(["O", "B-x", "I-x", "L-y", "U-y"]), min_size=1, max_size=6),
    st.lists(st.integers(-1, 2), min_size=1, max_size=6).map(np.array),
    odd,
)
where = st.fixed_dictionaries(
    {},
    optional={
        "lengths": st.one_of(st.lists(st.integers(-1, 6), max_size=3), odd),
        "groups": st.one_of(st.lists(st.integers(0, 2), max_size=6), odd),
        "average": st.sampled_from(["mean", None, "macro"]),
    },
)
SCORES = [
    "sequence_accuracy_score", "sequence_macro_f1_score", "segment_f1_score", "edit_score",
    "entity_f1_score", "entity_precision_score", "entity_recall_score",
]  # fmt: skip


@fuzz
@given(
    name=st.sampled_from(SCORES),
    y_true=label_paths,
    y_pred=st.one_of(st.none(), label_paths),
    where=where,
    tolerance=st.one_of(st.floats(0, 1), counts),
    overlap=st.one_of(st.none(), st.floats(0, 1), odd),
)
def test_metrics(name, y_true, y_pred, where, tolerance, overlap):
    options = {"tolerance": tolerance} if name == "segment_f1_score" else {}
    if name == "segment_f1_score" and overlap is not None:
        options = {"overlap": overlap}
    y_pred = y_true if y_pred is None else y_pred
    score = call(getattr(metrics, name), y_true, y_pred, **where, **options)
    if score is not None:
        assert np.all(np.asarray(score) >= 0) and np.all(np.asarray(score) <= 1)
    call(metrics.trajectory_validity_rate, y_true, C.NoDwell("a"), **where)


shares = st.one_of(st.floats(0, 1), counts)


@fuzz
@given(
    y=label_paths,
    parameters=st.fixed_dictionaries(
        {},
        optional={
            "min_presence": shares,
            "min_edge_count": counts,
            "max_visits": counts,
            "families": st.one_of(st.lists(st.sampled_from(list(FAMILIES))), odd),
            "max_stages": counts,
            "max_forbidden": counts,
            "confidence": st.one_of(st.none(), shares),
            "min_support": st.one_of(st.none(), shares),
            "states": st.one_of(st.none(), st.lists(known), odd),
        },
    ),
)
def test_miner(y, parameters):
    miner = call(ConstraintMiner(**parameters).fit, y)
    if miner is not None:
        assert isinstance(miner.constraints_, list) and len(miner.support_) >= 0


def test_an_error_from_the_inside_is_told_apart():
    for wrong in (lambda: {}["a"], lambda: [][1], lambda: 1 + "a", lambda: int("x")):
        with pytest.raises((AssertionError, KeyError, IndexError)):
            call(wrong)
