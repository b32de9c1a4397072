"""Regular expressions: matching by definition, the catalog, messages, large repetitions."""

import copy
import json
import pickle
from itertools import permutations, product

import pytest
from hypothesis import given, settings
from sklearn.base import clone

from skchmm import constraints as C
from skchmm.constraints import Regex
from skchmm.constraints.compile import compile, satisfies
from skchmm.exceptions import ControllerTooLargeError
from tests.oracles.paths import all_paths, verdicts
from tests.oracles.regex import expressions, matches, written

STATES = ["a", "b", "c"]
PATHS = all_paths(STATES, 6)


@settings(max_examples=120, deadline=None)
@given(expression=expressions(STATES))
def test_random_expressions(expression):
    wanted = [matches(expression, path) for path in PATHS]
    constraint = Regex(written(expression))
    try:
        controller = constraint.controller(STATES)
    except ValueError as error:
        assert "no path over the states" in str(error) and not any(wanted)
        return
    assert verdicts(controller, PATHS) == wanted


@settings(max_examples=60, deadline=None)
@given(expression=expressions(STATES, max_leaves=4))
def test_random_expressions_are_values(expression):
    constraint = Regex(written(expression))
    copies = [
        clone(constraint),
        copy.deepcopy(constraint),
        pickle.loads(pickle.dumps(constraint)),
        eval(repr(constraint), {"Regex": Regex}),
        C.from_spec(json.loads(json.dumps(constraint.to_spec()))),
        Regex(f" ( {written(expression)} ) "),
    ]
    assert all(each == constraint and hash(each) == hash(constraint) for each in copies)


def catalog():
    """The eleven families of Patel and Damiano, as patterns over a, b, c (and d, neutral)."""
    changes = [p for p in product(STATES, repeat=3) if p[0] != p[1] and p[1] != p[2]]
    subsets = [p for n in (1, 2, 3) for p in permutations(STATES, n)]
    return {
        C.Precedence("a", "b"): "[^a b]* (a .*)?",
        C.ForbiddenEdges([("a", "b")]): "([^a] | a+ [^a b])* a*",
        C.StageMonotone(STATES): "d* (a [a d]* (b .*)? | [b c] .*)?",
        C.StageMonotone(STATES, allow_backward=False):
            "d* (a [a d]* (b [b d]* (c [c d]*)?)? | b [b d]* (c [c d]*)? | c [c d]*)?",
        C.AtLeastVisits("a", 2): ".* a [^a] .* a .*",
        C.AtMostVisits("a", 2): "[^a]* (a+ [^a]*){0,2}",
        C.AtMostVisits(["a", "b"], 3): "[^a b]* ([a b]* [^a b]*){3}",
        C.ExactVisits("a", 2): "[^a]* a+ [^a]+ a+ [^a]*",
        C.Transitions(2): " | ".join(" ".join(f"{x}+" for x in p) for p in changes),
        C.AllDifferent(): " | ".join(" ".join(p) for p in subsets),
        C.NoDwell(["a", "b"]): "[a b]? ([^a b]+ [a b]?)*",
        C.NoReentry("a"): "[^a]* a* [^a]*",
        C.CoolDown("a", 2): "[^a]* (a+ [^a]{3,})* a* [^a]*",
        C.StartsIn("a"): "a .*",
        C.EndsIn("a"): ".* a",
        C.MinDuration("a", 3): "[^a]* (a{3,} [^a]+)* a*",
        C.MaxDuration("a", 2): "a{0,2} ([^a]+ a{0,2})*",
        C.Occupancy("a", 1, 2): "[^a]* (a [^a]*){1,2}",
        C.Segments(1): "a+ | b+ | c+",
    }  # fmt: skip


@pytest.mark.parametrize("constraint, pattern", catalog().items(), ids=str)
def test_the_catalog_as_regular_expressions(constraint, pattern):
    states = ["a", "b", "c", "d"] if "d" in pattern else STATES
    wanted, found = constraint.controller(states), Regex(pattern).controller(states)
    assert found.equivalent(wanted) and found.n_states == wanted.n_states
    assert (found.tables == wanted.tables).all() and (found.accept == wanted.accept).all()


def test_a_gene_with_its_reading_frame():
    gene = Regex("UTR5+ START{3} (CDS CDS CDS)+ STOP{3} UTR3+")
    assert gene.labels() == ["UTR5", "START", "CDS", "STOP", "UTR3"]
    for n in range(1, 12):
        path = ["UTR5", *["START"] * 3, *["CDS"] * n, *["STOP"] * 3, "UTR3"]
        assert satisfies(path, gene) == (n % 3 == 0)


@pytest.mark.parametrize(
    "pattern, n_states, length",
    [
        ("a{1000}", 1000, 1000),
        (".{1000}", 1000, 1000),
        ("(a b){1000}", 1001, 2000),
        ("[a b]{500,1000} c", 1001, 501),
        ("(a | b c?){2,500}", 500, 2),
        ("a{1000,}", 1000, 1000),
        ("(a{50} b){20}", 1001, 1020),
    ],
)
def test_large_repetitions(pattern, n_states, length):
    controller = Regex(pattern).controller(STATES)
    assert controller.n_states == n_states
    assert len(controller.shortest_path()) == length


def test_the_last_but_nine():
    # The classical blow-up: the last ten labels must be remembered.
    controller = Regex(".* a .{9}").controller(["a", "b"])
    assert len(controller.accept) == 2**10


@pytest.mark.parametrize("n", [0, 1, 3])
def test_repetitions_of_what_may_match_nothing(n):
    nested = Regex(f"((a? b?){{{n}}} c)*").controller(STATES)
    flat = Regex(f"({'a? b? ' * n} c)*").controller(STATES)
    assert nested.equivalent(flat)


@pytest.mark.parametrize(
    "pattern, path, states",
    [
        ("'x y' \"it's\"", ["x y", "it's"], None),
        (r"'it\'s' 'back\\slash'", ["it's", "back\\slash"], None),
        ("'a+'+ '['", ["a+", "a+", "["], None),
        ("['a b' c]{2}", ["a b", "c"], None),
        ("stage-1 s_2 n/a é", ["stage-1", "s_2", "n/a", "é"], None),
        ("3 4+ -1", [3, 4, 4, -1], None),
        ("3 4+ -1", ["3", "4", "4", "-1"], None),
        ("3 '4'", [3, 4], [3, 4]),
        ("1 x", [1, "x"], [1, "x"]),
        ("'1.5' True", [1.5, True], [1.5, True]),
        ("a\n  b\t|c", ["a", "b"], STATES),
        ("a{ 2 , 3 }", ["a", "a", "a"], STATES),
    ],
)
def test_labels_as_written(pattern, path, states):
    assert satisfies(path, Regex(pattern), states)


def test_labels_without_states():
    assert Regex("3 '3' a 'b c' 03 -7").labels() == [3, "3", "a", "b c", "03", -7]
    assert not satisfies([5], Regex("[^5]")) and satisfies(["5"], Regex("[^6]"))


def caret(text):
    """The part of the pattern that carets mark, as (first column, number of carets)."""
    *_, line = text.split("\n")
    return line.index("^") - 2, line.count("^")


@pytest.mark.parametrize(
    "pattern, problem, at",
    [
        ("", "the pattern is empty", (0, 1)),
        ("a b)", "this ')' closes nothing", (3, 1)),
        ("a (b | c", "this '(' is never closed by ')'", (2, 1)),
        ("a [b c", "this '[' is never closed by ']'", (2, 1)),
        ("a [b (c) d]", "a set holds labels only", (5, 1)),
        ("a [^]", "a set names at least one label", (4, 1)),
        ("a | | b", "expected a label, '.', a set or a group, but there is '|'", (4, 1)),
        ("a |", "but the pattern ends", (3, 1)),
        ("* a", "but there is '*'", (0, 1)),
        ("a ()", "but there is ')'", (3, 1)),
        ("a{x}", "a repetition is {m}, {m,n} or {m,}", (1, 1)),
        ("a{,3}", "a repetition is {m}, {m,n} or {m,}", (1, 1)),
        ("a{2", "a repetition is {m}, {m,n} or {m,}", (1, 1)),
        ("a{3,2}", "at least 3 and at most 2 contradict each other", (1, 1)),
        ("a b}", "'}' does not belong here", (3, 1)),
        ("(a ])", "']' does not belong here", (3, 1)),
        ("a 'b c", "this quote is never closed", (2, 1)),
        ("a ^b", "a label with '^' in it must be quoted", (2, 1)),
        ("a bb c", "unknown state 'bb'; the states are 'a', 'b', 'c' (did you mean 'b'?)", (2, 2)),
        ("a [b 7]", "unknown state 7", (5, 1)),
        ("a (b\n | 'x y')", "unknown state 'x y'", (3, 5)),
    ],
)
def test_mistakes_are_marked(pattern, problem, at):
    with pytest.raises(ValueError) as caught:
        Regex(pattern).controller(STATES)
    message = str(caught.value)
    assert message.startswith(repr(Regex(pattern))) and problem in message
    assert caret(message) == at


def test_a_mistake_in_a_long_pattern():
    with pytest.raises(ValueError) as caught:
        Regex("a b " * 100 + "oops " + "a b " * 100).controller(STATES)
    *_, shown, marks = str(caught.value).split("\n")
    assert len(shown) < 100 and shown.startswith("  ...") and shown.endswith("...")
    assert shown[marks.index("^") : marks.rindex("^") + 1] == "oops"


@pytest.mark.parametrize("pattern", [None, 3, ["a"]])
def test_patterns_are_strings(pattern):
    with pytest.raises(ValueError, match="pattern must be a string"):
        Regex(pattern).controller(STATES)


def test_broken_patterns_are_still_values():
    assert Regex("(a") == Regex("(a") != Regex("(b") and clone(Regex("(a")) == Regex("(a")
    assert repr(Regex("(a")) == "Regex('(a')"
    with pytest.raises(ValueError, match="never closed"):
        Regex("(a").labels()


def test_too_large():
    for pattern in ("a{2000000}", "((a{999}){999}){999}", ".* a .{20}", "(a? b?){9999}"):
        with pytest.raises(ControllerTooLargeError, match=r"^Regex"):
            Regex(pattern).controller(STATES, max_nodes=20_000)


def test_nothing_matches():
    with pytest.raises(ValueError, match="no path over the states"):
        Regex("a [^a b c]").controller(STATES)
    with pytest.raises(ValueError, match="together:\n  Regex"):
        compile([Regex("a+"), Regex("b .*")], STATES)


def test_compositions():
    both = compile(Regex("a .*") & ~Regex(".* b"), STATES)
    assert both.equivalent(Regex("a (.* [^b])?").controller(STATES))
