"""Products of many rules: what rules out labels for good spares the others their memory."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import skchmm
from skchmm import Controller
from skchmm.constraints import AtMostVisits, EndsIn, Window, declare
from skchmm.controller import intersection, products
from skchmm.controller.narrowing import independent
from tests.oracles.automata import controllers
from tests.oracles.paths import all_paths, verdicts

LABELS = list("abcd")
TEMPLATES = [
    declare.RespondedExistence, declare.Response, declare.Precedence, declare.NotSuccession,
    declare.NotCoExistence, declare.ChainResponse, declare.ChainPrecedence,
    declare.NotChainSuccession, declare.AlternatePrecedence, declare.ExclusiveChoice,
]  # fmt: skip
RULES = st.one_of(
    st.builds(
        lambda template, pair: template(*pair),
        st.sampled_from(TEMPLATES),
        st.permutations(LABELS).map(lambda labels: labels[:2]),
    ),
    st.builds(declare.Absence, st.sampled_from(LABELS), st.integers(1, 3)),
)


def factors(rules, labels=LABELS):
    return [skchmm.compile(rule, labels) for rule in rules]


@settings(max_examples=100, deadline=None)
@given(parts=st.lists(controllers(max_labels=2), min_size=5, max_size=8))
def test_any_automata_against_enumeration(parts):
    parts = [part for part in parts if part.states == parts[0].states]
    paths = all_paths(parts[0].states, 6)
    said = np.array([verdicts(part, paths) for part in parts])
    assert verdicts(intersection(parts), paths) == said.all(axis=0).tolist()


@settings(max_examples=100, deadline=None)
@given(rules=st.lists(RULES, min_size=5, max_size=12))
def test_rules_against_the_plain_product(rules):
    parts = factors(rules)
    found = intersection(parts)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(products, "_MANY", math.inf)
        plain = intersection(parts)
    # Minimal and canonically numbered, so that the same paths mean the same tables.
    assert np.array_equal(found.tables, plain.tables)
    assert np.array_equal(found.accept, plain.accept)


def test_more_labels_than_a_word_has_bits():
    labels = [f"x{k}" for k in range(130)]
    rules = [declare.NotSuccession(a, b) for a, b in zip(labels, labels[1:6])]
    rules += [declare.Absence(labels[k], 2) for k in (0, 63, 64, 65, 129)]
    controller = skchmm.compile(rules, labels)
    assert controller.accepts(["x65", "x64", "x129", "x63"])
    for broken in (["x129", "x2", "x129"], ["x64", "x64"], ["x0", "x7", "x1"]):
        assert not controller.accepts(broken)
    rng = np.random.default_rng(0)
    parts = factors(rules, labels)
    for _ in range(200):
        path = [labels[k] for k in rng.choice([0, 1, 2, 5, 63, 64, 65, 66, 129], size=5)]
        assert controller.accepts(path) == all(part.accepts(path) for part in parts)


def test_with_epochs_large_factors_and_nothing_left():
    rules = [declare.Precedence(a, b) for a, b in ("ab", "bc", "cd", "ac")]
    rules += [Window("b", 1, 3), AtMostVisits("a", 90), declare.NotSuccession("b", "a")]
    controller, parts = skchmm.compile(rules, LABELS), factors(rules)
    for path in all_paths(LABELS, 5):
        assert controller.accepts(path) == all(part.accepts(path) for part in parts)
    opposed = factors([*rules[:5], declare.Init("a"), declare.End("d")])
    nothing = intersection([*opposed, *factors([declare.Absence("c")])])
    assert nothing.is_empty()
    never = Controller(LABELS, np.full((1, 4), -1), [False])
    assert intersection([*opposed, never]).is_empty()


def test_hundreds_of_rules_need_few_joint_states():
    # Each pair of 20 labels in one order: as a plain product, nearly every set of labels that have
    # been is a state; what remains to be known is the last of them.
    labels = [f"x{k:02}" for k in range(20)]
    pairs = [(a, b) for k, a in enumerate(labels) for b in labels[:k]]
    rules = [declare.NotSuccession(a, b) for a, b in pairs]
    controller = skchmm.compile(rules, labels, max_nodes=1000)
    assert len(rules) == 190 and len(controller.accept) <= 21
    assert controller.accepts(["x00", "x03", "x03", "x19"])
    assert not controller.accepts(["x00", "x19", "x03"])


def test_labels_of_their_own_multiply_the_rest():
    """Rules that name different labels have nothing to say about each other."""
    pairs = [
        declare.Response("a", "b"),
        declare.Precedence("b", "c"),
        declare.NotSuccession("c", "a"),
    ]
    core = skchmm.compile([*pairs, *(declare.Absence(label, 2) for label in "abc")], list("abcxyz"))
    rare = [f"r{k}" for k in range(8)]
    limits = [declare.Absence(label, 2) for label in [*"abc", *rare]]
    found = skchmm.compile([*pairs, *limits], [*"abcxyz", *rare])
    assert found.n_states == core.n_states * 2 ** len(rare)
    labels = [*"abcxyz", *rare, *"uvw"]
    groups = independent(factors([*pairs, *limits, EndsIn(rare)], labels))
    # what names many labels joins no groups, but goes with one of them
    assert sorted(map(len, groups)) == [1] * (len(rare) - 1) + [2, len(pairs) + 3]
