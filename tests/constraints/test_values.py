"""Constraints are values: compared, printed, copied, changed, written down."""

import copy
import html
import json
import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from sklearn.base import clone

from skchmm import ConstrainedHMM, Controller
from skchmm import constraints as C
from skchmm.constraints.compile import satisfies
from tests.oracles.strategies import LABELS, compositions

NAMES = {name: getattr(C, name) for name in C.__all__}


@settings(max_examples=150, deadline=None)
@given(constraint=compositions(LABELS[:3]))
def test_copies_are_equal(constraint):
    copies = [
        clone(constraint),
        copy.copy(constraint),
        copy.deepcopy(constraint),
        pickle.loads(pickle.dumps(constraint)),
        eval(repr(constraint), dict(NAMES)),
        C.from_spec(C.to_spec(constraint)),
        C.from_spec(json.loads(json.dumps(constraint.to_spec()))),
        type(constraint)(**constraint.get_params(deep=False)),
    ]
    for each in copies:
        assert each == constraint and hash(each) == hash(constraint)
        assert each.to_spec() == constraint.to_spec()


@pytest.mark.parametrize(
    "one, other",
    [
        (C.NoDwell("A"), C.NoDwell(["A"])),
        (C.NoDwell("A"), C.NoDwell(np.str_("A"))),
        (C.NoDwell(1), C.NoDwell(np.int64(1))),
        (C.NoDwell(["A", "B"]), C.NoDwell({"B", "A"})),
        (C.NoDwell(["A", "B"]), C.NoDwell(np.array(["B", "A", "A"]))),
        (C.NoDwell(["A", "B"]), C.NoDwell(pd.Series(["B", "A"]))),
        (C.NoDwell([0, 1, 2]), C.NoDwell(range(3))),
        (C.ExactVisits("A", 2), C.ExactVisits(("A",), np.int32(2))),
        (C.ForbiddenEdges([("A", {"B", "C"})]), C.ForbiddenEdges([("A", "C"), ["A", "B"]])),
        (C.ForbiddenEdges({("A", "B"), ("B", "C")}),
         C.ForbiddenEdges(np.array([["A", "B"], ["B", "C"]]))),
        (C.StageMonotone(["A", ["B", "C"]]), C.StageMonotone([{"A"}, {"C", "B"}], True)),
        (C.StartsIn("A") & C.EndsIn("B"), C.EndsIn("B") & C.StartsIn("A") & C.EndsIn(["B"])),
        (C.StartsIn("A") | (C.EndsIn("B") | C.NoDwell("C")),
         C.Or([C.NoDwell("C"), C.EndsIn("B"), C.StartsIn("A")])),
        (~~C.StartsIn("A"), C.StartsIn("A")),
    ],
    ids=repr,
)  # fmt: skip
def test_equal(one, other):
    assert one == other and hash(one) == hash(other)


@pytest.mark.parametrize(
    "one, other",
    [
        (C.NoDwell("A"), C.NoDwell("B")),
        (C.NoDwell("A"), C.NoReentry("A")),
        (C.NoDwell(1), C.NoDwell("1")),
        (C.NoDwell("AB"), C.NoDwell(["A", "B"])),
        (C.ExactVisits("A", 2), C.ExactVisits("A", 3)),
        (C.Occupancy("A", 2), C.Occupancy("A", at_most=2)),
        (C.ForbiddenEdges([("A", "B")]), C.ForbiddenEdges([("B", "A")])),
        (C.StageMonotone(["A", "B"]), C.StageMonotone(["B", "A"])),
        (C.StageMonotone(["A", "B"]), C.StageMonotone(["A", "B"], allow_backward=False)),
        (C.StartsIn("A") & C.EndsIn("B"), C.StartsIn("A") | C.EndsIn("B")),
        (~C.StartsIn("A"), C.StartsIn("A")),
        (C.NoDwell("A"), "A"),
        (C.NoDwell([["A"]]), C.NoDwell("A")),
        (C.And(None), C.And([])),
    ],
    ids=repr,
)
def test_not_equal(one, other):
    assert one != other


@pytest.mark.parametrize(
    "constraint, text",
    [
        (C.ExactVisits({"A"}, 2), "ExactVisits('A', 2)"),
        (C.ExactVisits({"B", "A"}, np.int64(2)), "ExactVisits(['A', 'B'], 2)"),
        (C.Precedence(1, np.int64(2)), "Precedence(1, 2)"),
        (C.Occupancy("A", at_most=3), "Occupancy('A', at_most=3)"),
        (C.AllDifferent(), "AllDifferent()"),
        (C.AllDifferent("A"), "AllDifferent(states='A')"),
        (C.StageMonotone(["A", {"C", "B"}]), "StageMonotone(['A', ['B', 'C']])"),
        (C.StageMonotone("AB", False), "StageMonotone('AB', allow_backward=False)"),
        (C.ForbiddenEdges([["A", {"C", "B"}]]), "ForbiddenEdges([('A', ['B', 'C'])])"),
        (C.ForbiddenEdges("A"), "ForbiddenEdges('A')"),
        (C.StartsIn("A") & C.EndsIn("B") & C.Transitions(1),
         "StartsIn('A') & EndsIn('B') & Transitions(1)"),
        (C.StartsIn("A") & (C.EndsIn("B") | C.EndsIn("C")),
         "StartsIn('A') & (EndsIn('B') | EndsIn('C'))"),
        (~(C.StartsIn("A") | ~C.EndsIn("B")), "~(StartsIn('A') | ~EndsIn('B'))"),
        (C.And([C.StartsIn("A")]), "And([StartsIn('A')])"),
        (C.And(None), "And(None)"),
    ],
    ids=lambda value: str(value)[:40],
)  # fmt: skip
def test_repr(constraint, text):
    assert repr(constraint) == str(constraint) == text


@pytest.mark.parametrize(
    "constraint",
    [C.ExactVisits({"A", "B"}, 2), C.AllDifferent(), C.StartsIn("A") & ~C.EndsIn("B"), C.And(None)],
    ids=repr,
)
def test_html(constraint):
    assert html.unescape(constraint._repr_html_()) == f"<code>{constraint}</code>"


def test_printed_the_same_inside_an_estimator():
    """Also where scikit-learn breaks lines, or would have to."""
    for n in range(1, 8):
        constraints = [C.Precedence("a", "b"), C.AtMostVisits("b", 2)] * n
        text = " ".join(repr(ConstrainedHMM(constraints=constraints)).split())
        assert text == f"ConstrainedHMM(constraints={constraints})"


@pytest.mark.parametrize(
    "constraint, spec",
    [
        (C.ExactVisits("A", 2), {"type": "ExactVisits", "states": ["A"], "k": 2}),
        (C.AllDifferent(), {"type": "AllDifferent"}),
        (C.NoDwell({"B", "A"}), {"type": "NoDwell", "states": ["A", "B"]}),
        (C.NoDwell({"B", 2, 1}), {"type": "NoDwell", "states": [1, 2, "B"]}),
        (C.Occupancy("A", at_most=3), {"type": "Occupancy", "states": ["A"], "at_most": 3}),
        (C.ForbiddenEdges({("A", ("B", "C"))}),
         {"type": "ForbiddenEdges", "edges": [["A", ["B", "C"]]]}),
        (C.StageMonotone(["A", {"C", "B"}], False),
         {"type": "StageMonotone", "stages": ["A", ["B", "C"]], "allow_backward": False}),
        (C.StartsIn(1) & ~C.EndsIn(2),
         {"type": "And", "constraints": [
             {"type": "StartsIn", "states": [1]},
             {"type": "Not", "constraint": {"type": "EndsIn", "states": [2]}}]}),
    ],
    ids=repr,
)  # fmt: skip
def test_spec(constraint, spec):
    assert C.to_spec(constraint) == constraint.to_spec() == spec
    assert C.from_spec(spec) == constraint


def test_specs_of_lists():
    constraints = [C.StartsIn("A"), C.NoDwell(["B", "C"]) | C.Transitions(2)]
    assert C.from_spec(json.loads(json.dumps(C.to_spec(constraints)))) == constraints
    assert C.to_spec(None) == [] == C.from_spec([])


@pytest.mark.parametrize(
    "spec, problem",
    [
        ({"type": "ExactVisit", "k": 2}, r"'ExactVisit' \(did you mean 'ExactVisits'\?\); known"),
        ({"type": ["NoDwell"]}, "Unknown constraint type"),
        ({"states": "A"}, "has no 'type'"),
        ({"type": "NoDwell", "state": "A"}, r"'state' \(did you mean 'states'\?\); its fields are"),
        ({"type": "ExactVisits", "states": "A"}, "ExactVisits needs the field 'k'"),
        ({"type": "And", "constraints": {"type": "NoDwell"}}, "constraints must be a list"),
        ({"type": "Not", "constraint": "A"}, "A specification is a dictionary"),
        ("NoDwell", "A specification is a dictionary"),
        ([{"type": "NoDwell", "states": "A"}, None], "A specification is a dictionary"),
    ],
)
def test_wrong_specs(spec, problem):
    with pytest.raises(ValueError, match=problem):
        C.from_spec(spec)


def test_what_has_no_spec():
    controller = C.NoDwell("A").controller(["A", "B"])
    for constraints in (controller, [C.NoDwell("A") & controller]):
        with pytest.raises(ValueError, match="Controller has no plain specification"):
            C.to_spec(constraints)
    with pytest.raises(ValueError, match="to_spec takes a constraint"):
        C.to_spec("NoDwell")


def test_set_params():
    visits = C.ExactVisits("A", 2)
    assert visits.set_params(k=3) is visits == C.ExactVisits("A", 3)
    with pytest.raises(ValueError, match="Invalid parameter 'q'"):
        visits.set_params(q=3)


@pytest.mark.parametrize("kind", [C.And, C.Or])
def test_parameters_of_parts(kind):
    both = kind([C.ExactVisits("A", 2), ~C.CoolDown("B", 1)])
    params = both.get_params()
    assert params["0__k"] == 2 and params["1__constraint__delta"] == 1
    changed = clone(both).set_params(**{"0__k": 5, "1__constraint__delta": 4})
    assert changed == kind([C.ExactVisits("A", 5), ~C.CoolDown("B", 4)])
    replaced = clone(both).set_params(**{"1": C.NoDwell("C")})
    assert replaced == kind([C.ExactVisits("A", 2), C.NoDwell("C")])
    whole = clone(both).set_params(constraints=[C.NoDwell("C"), C.Transitions(1)], **{"1__k": 2})
    assert whole == kind([C.NoDwell("C"), C.Transitions(2)])
    assert both == kind([C.ExactVisits("A", 2), ~C.CoolDown("B", 1)])
    with pytest.raises(ValueError, match="Invalid parameter '7'"):
        both.set_params(**{"7__k": 1})


def test_labels_in_order():
    assert C.Precedence("B", ["A", "B"]).labels() == ["B", "A"]
    assert C.NoDwell({"B", "A"}).labels() == ["A", "B"]
    assert C.ForbiddenEdges([("C", {"B", "A"}), ("A", "D")]).labels() == ["C", "A", "B", "D"]
    assert C.StageMonotone(["D", {"B", "A"}]).labels() == ["D", "A", "B"]
    assert (C.NoDwell("B") & ~C.NoDwell("A") & C.AllDifferent()).labels() == ["B", "A"]
    assert C.Transitions(2).labels() == C.AllDifferent().labels() == []


def test_strings_are_labels():
    assert C.NoDwell("AB").labels() == ["AB"]
    assert satisfies(["AB", "CD", "AB"], C.NoDwell("AB"))
    assert C.StageMonotone(["AB", "CD"]).controller(["AB", "CD"]).accepts(["AB", "CD"])


def test_numpy_labels():
    states = np.array(["A", "B"])
    assert C.NoDwell(states[0]).controller(states).states == ("A", "B")
    assert satisfies(np.array([0, 1, 0]), C.NoDwell(np.int32(0)))
    assert satisfies(pd.Series(["A", "B"]), C.StartsIn(pd.Index(["A"])), pd.Index(["A", "B"]))


def test_controllers_take_part_in_compositions():
    states = ["A", "B"]
    even = Controller(states, [[1, 0], [0, 1]], [True, False])
    starts = C.StartsIn("B")
    both, either = starts & even, even | starts
    assert isinstance(both, C.And) and isinstance(either, C.Or) and isinstance(even & starts, C.And)
    assert clone(both) == both == even & starts and hash(clone(both)) == hash(both)
    assert C.Not(even) != both and clone(C.Not(even)) == C.Not(even)
    for path in (["A"], ["B"], ["B", "A"], ["B", "A", "A"], ["A", "A"]):
        parts = even.accepts(path), starts.controller(states).accepts(path)
        assert satisfies(path, both, states) == all(parts)
        assert satisfies(path, either, ["B", "A"]) == any(parts)
    assert both.get_params()["1"] is even


@pytest.mark.parametrize("other", ["A", 3, None, [C.NoDwell("A")]])
def test_nothing_else_does(other):
    with pytest.raises(TypeError):
        C.NoDwell("A") & other
    with pytest.raises(TypeError):
        other | C.NoDwell("A")
