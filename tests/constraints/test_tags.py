"""Tag schemes against their rules, on all short paths of tags."""

import pickle

import pytest
from sklearn.base import clone

from skchmm import ConstrainedHMM, satisfies
from skchmm.constraints import TagScheme, from_spec, to_spec
from tests.oracles.paths import all_paths, verdicts
from tests.oracles.predicates import tag_scheme

SCHEMES = ["BIO", "IOB1", "BILOU", "BMES"]


def holds(rule, path):
    return tag_scheme(path, **rule.get_params())


@pytest.mark.parametrize("scheme", SCHEMES)
def test_all_short_paths(scheme):
    rule = TagScheme(scheme, ["X", "Y"])
    states = rule.labels()
    paths = all_paths(states, 4)
    controller = rule.controller(states)
    assert verdicts(controller, paths) == [holds(rule, list(path)) for path in paths]
    assert len(controller.accept) == 3


@pytest.mark.parametrize("scheme", SCHEMES)
def test_with_some_of_the_tags(scheme):
    rule = TagScheme(scheme, {"X", "Y"}, separator="_", outside=0)
    states = rule.labels()
    assert states[0] == 0 and len(set(states)) == len(states)
    few = [x for x in states if x not in ("I_X", "M_X", "B_Y")]
    strings = [[str(x) for x in path] for path in all_paths(few, 4)]
    assert verdicts(rule.controller(few), all_paths(few, 4)) == [holds(rule, x) for x in strings]


def test_examples_of_the_schemes():
    bio, iob1 = TagScheme("BIO", "X"), TagScheme("IOB1", "X")
    assert satisfies(["B-X", "B-X", "I-X"], bio) and not satisfies(["I-X"], bio)
    assert satisfies(["I-X", "B-X"], iob1) and not satisfies(["O", "B-X"], iob1)
    bilou = TagScheme("BILOU", "X")
    assert satisfies(["B-X", "I-X", "L-X", "U-X"], bilou) and not satisfies(["B-X"], bilou)


def test_as_a_value():
    rule = TagScheme("BIO", ["B", "A"])
    assert rule == TagScheme("BIO", {"A", "B"}) and hash(rule) == hash(TagScheme("BIO", {"A", "B"}))
    assert rule != TagScheme("BIO", ["A"]) and rule != TagScheme("IOB1", ["A", "B"])
    assert repr(rule) == "TagScheme('BIO', ['B', 'A'])"
    assert repr(TagScheme("BIO", "A", outside="_")) == "TagScheme('BIO', ['A'], outside='_')"
    other = TagScheme("BMES", "A", outside=0, separator=":")
    for value in (rule, other):
        assert eval(repr(value)) == value
        assert from_spec(to_spec(value)) == value
        assert clone(value) == value
        assert pickle.loads(pickle.dumps(value)) == value
    assert not satisfies(["B-A", "I-A"], ~TagScheme("BIO", "A"))
    assert rule.set_params(scheme="BMES") == TagScheme("BMES", ["A", "B"])


@pytest.mark.parametrize(
    ("scheme", "entities", "options", "message"),
    [
        ("BIOES", ["A"], {}, "scheme must be one of BIO, IOB1, BILOU, BMES; got 'BIOES'"),
        (["BIO"], ["A"], {}, "scheme must be one of"),
        ("BIO", [], {}, "entities is empty"),
        ("BIO", ["A", "B", "A"], {}, "repeated: 'A'"),
        ("BIO", [1, "A"], {}, "entities must be strings.*got 1"),
        ("BIO", None, {}, "entities must be strings"),
        ("BIO", ["A"], {"separator": None}, "separator must be a string"),
    ],
)
def test_what_is_refused_at_once(scheme, entities, options, message):
    with pytest.raises(ValueError, match=message):
        TagScheme(scheme, entities, **options)


def test_what_the_states_do_not_fit():
    rule = TagScheme("BIO", ["PER", "LOC"])
    with pytest.raises(ValueError, match="the states 'B-MISC' are no tags of the scheme"):
        rule.controller([*rule.labels(), "B-MISC"])
    with pytest.raises(ValueError, match="the entity 'LOC' has no tag among the states"):
        rule.controller(["O", "B-PER"])
    with pytest.raises(ValueError, match="some of its tags are the same"):
        TagScheme("BIO", ["A"], outside="B-A").controller(["B-A", "I-A"])


def test_in_a_model():
    X = [["the", "Ana", "Berg"], ["Ana", "left", "Rio"]]
    y = [["O", "B-PER", "I-PER"], ["B-PER", "O", "B-LOC"]]
    rule = TagScheme("BIO", ["PER", "LOC"])
    model = ConstrainedHMM(states=rule.labels(), constraints=rule).fit(X, y)
    assert all(satisfies(path.tolist(), rule) for path in model.predict([["Berg", "Berg", "the"]]))
    assert ConstrainedHMM(constraints=rule).fit(X, y).classes_.tolist() == [
        "B-LOC", "B-PER", "I-PER", "O",
    ]  # fmt: skip
