"""Temporal logic: the definition on all short paths, identities, the catalog, messages, speed."""

import copy
import json
import pickle
from itertools import pairwise

import pytest
from hypothesis import example, given, settings
from sklearn.base import clone

from skchmm import constraints as C
from skchmm.constraints import LTLf
from skchmm.constraints.compile import compile, satisfies
from skchmm.exceptions import ControllerTooLargeError
from tests.oracles.ltlf import FUTURE, formulas, holds, written
from tests.oracles.paths import all_paths, verdicts

STATES = ["a", "b", "c"]
PATHS = all_paths(STATES, 6)
SHORT = all_paths(STATES, 5)


def check(formula, paths):
    wanted = [holds(formula, path) for path in paths]
    try:
        controller = LTLf(written(formula)).controller(STATES)
    except ValueError as error:
        assert "no path over the states" in str(error) and not any(wanted)
        return
    assert verdicts(controller, paths) == wanted


@settings(max_examples=100, deadline=None)
@given(formula=formulas(STATES, FUTURE))
def test_random_formulas_of_the_future(formula):
    check(formula, PATHS)


A, B, Z = (("atom", frozenset(x)) for x in STATES)


@settings(max_examples=120, deadline=None)
@given(formula=formulas(STATES, max_leaves=5))
@example(("O", ("&", A, ("X", B))))
@example(("F", ("&", Z, ("O", ("&", A, ("X", ("F", B)))))))
@example(("G", ("->", Z, ("H", ("->", A, ("F", B))))))
@example(("Y", ("F", B)))
@example(("F", ("S", ("X", A), ("U", B, Z))))
@example(("G", ("S", ("U", A, ("Y", B)), ("WX", ("H", Z)))))
@example(("F", ("&", ("last",), ("S", ("!", B), ("&", A, ("X", Z))))))
def test_random_formulas_with_a_past(formula):
    check(formula, SHORT)


@settings(max_examples=60, deadline=None)
@given(formula=formulas(STATES, max_leaves=4))
def test_random_formulas_are_values(formula):
    constraint = LTLf(written(formula))
    copies = [
        clone(constraint),
        copy.deepcopy(constraint),
        pickle.loads(pickle.dumps(constraint)),
        eval(repr(constraint), {"LTLf": LTLf}),
        C.from_spec(json.loads(json.dumps(constraint.to_spec()))),
        LTLf(f" ( {written(formula)} ) "),
    ]
    assert all(each == constraint and hash(each) == hash(constraint) for each in copies)


IDENTITIES = [
    ("!X a", "WX !a"),
    ("!WX a", "X !a"),
    ("!F a", "G !a"),
    ("!G a", "F !a"),
    ("!(a U b)", "!a R !b"),
    ("!(a R b)", "!a U !b"),
    ("!(a W b)", "(a & !b) U (!a & !b)"),
    ("F a", "true U a"),
    ("G a", "false R a"),
    ("a W b", "a U b | G a"),
    ("a W b", "b R (a | b)"),
    ("a U b", "a W b & F b"),
    ("a R b", "b W (a & b)"),
    ("F F a", "F a"),
    ("G G a", "G a"),
    ("F G a", "G F a"),
    ("F G a", "F(last & a)"),
    ("a U (a U b)", "a U b"),
    ("(a U b) U b", "a U b"),
    ("F(a | b)", "F a | F b"),
    ("G(a & b)", "G a & G b"),
    ("G(!a & !b)", "G !{a b}"),
    ("X(a | b)", "X a | X b"),
    ("X(a U b)", "X a U X b"),
    ("WX(!a & !b)", "WX !a & WX !b"),
    ("a U b", "b | a & X(a U b)"),
    ("a R b", "b & (a | WX(a R b))"),
    ("F a", "a | X F a"),
    ("G a", "a & WX G a"),
    ("last", "!X true"),
    ("last", "WX false"),
    ("a -> b", "!a | b"),
    ("F a <-> F b", "(F a -> F b) & (F b -> F a)"),
    ("{a b}", "a | b"),
    ("!c", "{a b}"),
    ("a | true", "true"),
    ("G(a -> O b)", "(!a W b)"),
    ("F(last & O a)", "F a"),
    ("F(last & H a)", "G a"),
    ("G(Y a -> b)", "G(a -> WX b)"),
    ("G(b -> Y a)", "!b & G(X b -> a)"),
    ("F(last & (a S b))", "F(b & WX G a)"),
    ("O a", "a"),
    ("H Y true", "false"),
    ("X Y a", "a & X true"),
    ("Y X a", "false"),
    ("X(Y X a)", "X a"),
    ("F O a", "F a"),
    ("O F a", "F a"),
    ("F(b & O(a & X b))", "F(a & X b)"),
    ("G(b -> O(a & F c))", "!F b | ((!b U (a & F c)))"),
]


@pytest.mark.parametrize("left, right", IDENTITIES)
def test_identities(left, right):
    same = LTLf(f"({left}) <-> ({right})").controller(STATES)
    assert same.equivalent(compile(None, STATES))
    controllers = []
    for formula in (left, right):
        try:
            controllers.append(LTLf(formula).controller(STATES))
        except ValueError as error:
            assert "no path" in str(error)
            controllers.append(None)
    one, other = controllers
    assert (one is None) == (other is None)
    if one is not None:
        assert one.equivalent(other) and one.n_states == other.n_states
        assert (one.tables == other.tables).all() and (one.accept == other.accept).all()


def at_least(event, k):
    """At least k events, as nested eventualities."""
    formula = f"F({event})"
    for _ in range(k - 1):
        formula = f"F({event} & X {formula})"
    return formula


ENTRY = "a & !Y a"
CHANGE = "(a & X !a | b & X !b | c & X !c)"

CATALOG = [
    (C.Precedence("a", "b"), "!b W a"),
    (C.Precedence(["a", "b"], ["b", "c"]), "G({b c} -> Y O {a b})"),
    (C.ForbiddenEdges([("a", "b"), ("c", "a")]), "G(a -> !X b) & G(c -> WX !a)"),
    (C.StageMonotone(STATES), "!(!{b c} U (a & (!{b c} U c)))"),
    (C.StageMonotone(STATES, allow_backward=False),
     "G((a -> WX {a b}) & (b -> WX {b c}) & (c -> WX c))"),
    (C.AtLeastVisits("a", 2), "F(a & F(!a & F a))"),
    (C.AtLeastVisits("a", 3), at_least(ENTRY, 3)),
    (C.AtMostVisits("a", 2), f"!{at_least(ENTRY, 3)}"),
    (C.ExactVisits("a", 2), f"{at_least(ENTRY, 2)} & !{at_least(ENTRY, 3)}"),
    (C.Transitions(2), f"{at_least(CHANGE, 2)} & !{at_least(CHANGE, 3)}"),
    (C.AllDifferent(), " & ".join(f"G({x} -> !X F {x})" for x in STATES)),
    (C.NoDwell(["a", "b"]), "G({a b} -> !X {a b})"),
    (C.NoReentry("a"), "!F(a & F(!a & F a))"),
    (C.CoolDown("a", 2), "G(a & X !a -> X(WX(!a & WX !a)))"),
    (C.CoolDown("a", 3), "G(!a & Y a -> WX(!a & WX(!a & WX !a)))"),
    (C.StartsIn("a"), "a"),
    (C.EndsIn("a"), "F(last & a)"),
    (C.MinDuration("a", 3), f"G({ENTRY} -> WX(a & WX a))"),
    (C.MaxDuration("a", 2), "G !(a & X(a & X a))"),
    (C.Occupancy("a", 2, 2), f"{at_least('a', 2)} & !{at_least('a', 3)}"),
]  # fmt: skip


@pytest.mark.parametrize("constraint, formula", CATALOG, ids=str)
def test_the_catalog_as_formulas(constraint, formula):
    wanted, found = constraint.controller(STATES), LTLf(formula).controller(STATES)
    assert found.equivalent(wanted) and found.n_states == wanted.n_states
    assert (found.tables == wanted.tables).all() and (found.accept == wanted.accept).all()


MANY = [f"s{i}" for i in range(24)]


@pytest.mark.parametrize(
    "formula, n_states",
    [
        (" & ".join(f"G({a} -> F {b})" for a, b in zip(MANY[:10], MANY[10:])), 2**10),
        (" & ".join(f"G({a} -> O {b})" for a, b in zip(MANY[:8], MANY[8:])), 2**8),
        ("G(" + " & ".join(f"({a} -> F {b})" for a, b in zip(MANY[:8], MANY[8:])) + ")", 2**8),
        (" & ".join(f"F {a}" for a in MANY[:10]), 2**10),
        ("X " * 200 + "s0", 201),
        ("s0 U (" * 10 + "s1" + ")" * 10, 2),
        (" U ".join(MANY), 2),
        (at_least("s0", 20), 21),
    ],
    ids=lambda value: str(value)[:30],
)
def test_sizes_of_long_formulas(formula, n_states):
    assert LTLf(formula).controller(MANY).n_states == n_states


@pytest.mark.parametrize("k", [1, 3, 8])
def test_what_was_k_steps_ago(k):
    # Which of the last k steps were a, or that there was an a with a b k steps later.
    controller = LTLf(f"F(a & {'X ' * k} b)").controller(["a", "b", "c"])
    assert len(controller.accept) == 2**k + 1


def test_an_alphabet_of_two_thousand():
    states = [f"s{i}" for i in range(2000)]
    formula = " & ".join(f"G({a} -> !X {b})" for a, b in pairwise(states[:5]))
    assert LTLf(formula).controller(states).n_states == 1


@pytest.mark.parametrize(
    "formula, grouped",
    [
        ("!a U b", "(!a) U b"),
        ("a U b U c", "a U (b U c)"),
        ("a U b & c", "(a U b) & c"),
        ("a & b | c & a", "(a & b) | (c & a)"),
        ("a | b -> c", "(a | b) -> c"),
        ("a -> b -> c", "a -> (b -> c)"),
        ("a -> b <-> c -> a", "(a -> b) <-> (c -> a)"),
        ("a <-> b <-> c", "(a <-> b) <-> c"),
        ("G a & b", "(G a) & b"),
        ("F a U b", "(F a) U b"),
        ("!X a", "!(X a)"),
        ("a S b W c", "a S (b W c)"),
        ("~a && b || c", "!a & b | c"),
        ("G(a->F b)", "G (a -> (F b))"),
        ("a<->b", "a <-> b"),
    ],
)
def test_precedences(formula, grouped):
    assert LTLf(formula) == LTLf(grouped)


@pytest.mark.parametrize(
    "formula, path, states",
    [
        ("'x y' & X \"it's\"", ["x y", "it's"], None),
        (r"'it\'s' U 'back\\slash'", ["it's", "back\\slash"], None),
        ("'F' & X 'last'", ["F", "last"], None),
        ("{F U} & X{last}", ["F", "last"], None),
        ("stage-1 U s_2.5", ["stage-1", "s_2.5"], None),
        ("G{3 4}", [3, 4, 4], None),
        ("3 & X 4", ["3", "4"], None),
        ("-1->X 2", [-1, 2], None),
        ("1.5 & X True", [1.5, True], [1.5, True]),
        ("a\n&\tX b", ["a", "b"], STATES),
        ("Fa U Gb", ["Fa", "Gb"], None),
    ],
)
def test_labels_as_written(formula, path, states):
    assert satisfies(path, LTLf(formula), states)


def test_labels_without_states():
    assert LTLf("G(b -> F {a 3 '3'}) | last U 'x y'").labels() == ["b", "a", 3, "3", "x y"]


@pytest.mark.parametrize(
    "formula, problem, at",
    [
        ("", "the formula is empty", (0, 1)),
        ("a b", "expected an operator or the end, but there is 'b'", (2, 1)),
        ("(a & b", "this '(' is never closed by ')'", (0, 1)),
        ("(a & b c)", "expected an operator or ')', but there is 'c'", (7, 1)),
        ("a & b)", "this ')' closes nothing", (5, 1)),
        ("a & ", "expected a label or a formula, but the formula ends", (4, 1)),
        ("a -> -> b", "expected a label or a formula, but there is '->'", (5, 2)),
        ("G(H -> a)", "there is '->' (H is an operator; write 'H' in quotes for a label)", (4, 2)),
        ("a U U", "there is 'U' (U is an operator; write 'U' in quotes for a label)", (4, 1)),
        ("a & {b", "a set is {a b}, with at least one label", (4, 1)),
        ("a & {}", "a set is {a b}, with at least one label", (4, 1)),
        ("a > b", "a label with '>' in it must be quoted", (2, 1)),
        ("a & 'b", "this quote is never closed", (4, 1)),
        ("G(a -> F bb)", "unknown state 'bb'; the states are 'a', 'b', 'c' (did you mean 'b'?)",
         (9, 2)),
        ("a &\nF {b dd}", "unknown state 'dd'", (5, 2)),
    ],
)  # fmt: skip
def test_mistakes_are_marked(formula, problem, at):
    with pytest.raises(ValueError) as caught:
        LTLf(formula).controller(STATES)
    message = str(caught.value)
    assert message.startswith(repr(LTLf(formula))) and problem in message
    *_, marks = message.split("\n")
    assert (marks.index("^") - 2, marks.count("^")) == at


@pytest.mark.parametrize("formula", [None, 3, ["a"]])
def test_formulas_are_strings(formula):
    with pytest.raises(ValueError, match="formula must be a string"):
        LTLf(formula).controller(STATES)


def test_broken_formulas_are_still_values():
    assert LTLf("(a") == LTLf("(a") != LTLf("(b") and clone(LTLf("(a")) == LTLf("(a")
    with pytest.raises(ValueError, match="never closed"):
        LTLf("(a").labels()


def test_too_large():
    with pytest.raises(ControllerTooLargeError, match=r"^LTLf\("):
        LTLf("F(a & " + "X " * 20 + "b)").controller(STATES, max_nodes=5000)
    states = MANY[:20]
    many = " & ".join(f"G({a} -> F {b})" for a, b in zip(states[:10], states[10:]))
    with pytest.raises(ControllerTooLargeError, match=r"^LTLf\("):
        LTLf(many).controller(states, max_nodes=500)


def test_nothing_satisfies_it():
    with pytest.raises(ValueError, match="no path over the states"):
        LTLf("F a & G !a").controller(STATES)
    with pytest.raises(ValueError, match=r"together:\n  LTLf\('F a'\)\n  LTLf\('G !a'\)"):
        compile([LTLf("F a"), C.NoDwell("b"), LTLf("G !a")], STATES)
