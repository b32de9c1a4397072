import builtins
from itertools import groupby, pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom
from sklearn import config_context
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from skchmm.constraints import (
    EndsIn,
    ExactVisits,
    ForbiddenEdges,
    MaxDuration,
    MinDuration,
    NoReentry,
    Precedence,
    StageMonotone,
    StartsIn,
)
from skchmm.constraints.compile import compile, satisfies
from skchmm.mining import FAMILIES, ConstraintMiner

ALL = tuple(FAMILIES)
CHAIN = ["UTR5", "START", "CDS", "STOP", "UTR3"]

paths = st.lists(st.sampled_from("ABC"), min_size=1, max_size=8)
path_lists = st.lists(paths, min_size=1, max_size=12)
# Draws in which rules do hold: parts of one order.
ordered_lists = st.lists(
    st.lists(st.integers(1, 3), min_size=1, max_size=4).map(
        lambda sizes: [label for label, n in zip("ABCD", sizes) for _ in range(n)]
    ),
    min_size=1,
    max_size=12,
)


def segments(path):
    return [(label, len(list(run))) for label, run in groupby(path)]


def visits(path, label):
    return sum(one == label for one, _ in segments(path))


def chain_paths(n, seed=0):
    rng = np.random.default_rng(seed)
    return [np.repeat(CHAIN, rng.integers(1, 9, 5)) for _ in range(n)]


def kept(miner, kind):
    return [c for c in miner.constraints_ if isinstance(c, kind)]


def rows(miner, family):
    table = miner.support_
    return table[table.family == family].set_index("constraint")


@settings(max_examples=60, deadline=None)
@given(st.one_of(path_lists, ordered_lists), st.sampled_from([0, 1, 3]), st.booleans())
def test_every_training_sequence_satisfies_what_is_mined(y, min_edge_count, count_last):
    miner = ConstraintMiner(families=ALL, min_edge_count=min_edge_count, count_last=count_last)
    miner.fit(y)
    for path in y:
        assert satisfies(path, miner.constraints_, states=list(miner.states_))


@settings(max_examples=60, deadline=None)
@given(st.one_of(path_lists, ordered_lists))
def test_support_and_evidence_follow_their_definitions(y):
    miner = ConstraintMiner(families=ALL).fit(y)
    table = miner.support_.set_index("constraint")
    labels = sorted({label for path in y for label in path})
    assert list(miner.states_) == labels

    def check(constraint, instances):
        row = table.loc[repr(constraint)]
        assert row.evidence == len(instances)
        if instances:
            assert row.support == pytest.approx(np.mean(instances))
        else:
            assert np.isnan(row.support)

    for a in labels:
        counts = [visits(path, a) for path in y]
        k = max(set(counts), key=lambda k: (counts.count(k), -k))
        check(ExactVisits(a, k), [count == k for count in counts])
        check(NoReentry(a), [count == 1 for count in counts if count])
        stays = [n for path in y for label, n in segments(path) if label == a]
        check(MaxDuration(a, max(stays)), [True] * len(stays))
        for b in labels:
            if a != b:
                first = [a in path[: path.index(b)] for path in y if b in path]
                check(Precedence(a, b), first)
                followers = [
                    after[0] == b
                    for path in y
                    for before, after in pairwise([*segments(path), ("end", 0)])
                    if before[0] == a
                ]
                check(ForbiddenEdges([(a, b)]), [not one for one in followers])
    assert (
        len(table)
        == len(labels) * (2 * (len(labels) - 1) + 4) + 2 + (table.family == "stages").sum()
    )


def test_recovers_the_catalog_of_a_chain():
    miner = ConstraintMiner().fit(chain_paths(30))
    assert set(kept(miner, Precedence)) == {Precedence(a, b) for a, b in pairwise(CHAIN)}
    assert set(kept(miner, ExactVisits)) == {ExactVisits(a, 1) for a in CHAIN}
    edges = {(a, b) for a in CHAIN for b in CHAIN if a != b} - set(pairwise(CHAIN))
    assert kept(miner, ForbiddenEdges) == [ForbiddenEdges(edges)]
    assert len(edges) == 16
    assert len(miner.constraints_) == 4 + 5 + 1
    assert (rows(miner, "no_reentry").reason.str.startswith("follows from ExactVisits")).all()


def test_without_last_segments_nothing_is_known_of_what_follows_the_last_label():
    miner = ConstraintMiner(count_last=False).fit(chain_paths(30))
    (edges,) = kept(miner, ForbiddenEdges)
    assert len(edges.edges) == 12
    assert not any(a == "UTR3" for a, _ in edges.edges)


def test_recovers_a_catalog_from_rejection_draws():
    states = ["A", "B", "C", "R"]
    catalog = [
        Precedence("A", "B"),
        Precedence("B", "C"),
        ExactVisits("C", 1),
        NoReentry("A"),
        ForbiddenEdges([("C", "A"), ("A", "C")]),
    ]
    rng = np.random.default_rng(1)
    target = compile(catalog, states)
    draws = []
    while len(draws) < 600:
        draw = np.repeat(rng.choice(states, 12), rng.integers(1, 3, 12))[:12]
        if target.accepts(draw.tolist()):
            draws.append(draw)
    mined = ConstraintMiner(min_presence=0.3).fit(draws)
    # Further rules are mined that follow from these, such as no B -> A: the paths are the same.
    assert compile(mined.constraints_, states).equivalent(target)
    assert set(kept(mined, Precedence)) == {Precedence("A", "B"), Precedence("B", "C")}


def test_evidence_numbers_are_met_or_exceeded_as_defined():
    # b is in exactly half of the sequences: enough; 10 segments are not more than 10.
    y = [["a", "b"]] * 5 + [["a"]] * 5
    miner = ConstraintMiner().fit(y)
    assert kept(miner, Precedence) == [Precedence("a", "b")]
    assert kept(miner, ExactVisits) == [ExactVisits("a", 1)]
    assert kept(miner, ForbiddenEdges) == []
    assert kept(ConstraintMiner(min_presence=0.51).fit(y), Precedence) == []
    assert kept(ConstraintMiner(min_edge_count=4).fit(y), ForbiddenEdges) == [
        ForbiddenEdges([("b", "a")])
    ]
    assert kept(ConstraintMiner(min_edge_count=5).fit(y), ForbiddenEdges) == []
    # at least as many sequences
    assert kept(ConstraintMiner(min_edge_count=5).fit(y), NoReentry) == [NoReentry("b")]
    assert kept(ConstraintMiner(min_edge_count=6).fit(y), NoReentry) == []


@pytest.mark.parametrize("n", [10, 100, 1000])
def test_a_share_that_is_met_exactly_is_enough(n):
    """k of n reach k / n as a decimal, and k + 1 / 10 of n do not."""
    for k in range(1, n, max(1, n // 50)):
        y = [["a", "b"]] * k + [["a"]] * (n - k)
        share = float(f"{k / n:.3f}")
        assert kept(ConstraintMiner(share).fit(y), Precedence) == [Precedence("a", "b")], share
        more = float(f"{(k + 0.1) / n:.4f}")
        assert kept(ConstraintMiner(more).fit(y), Precedence) == []
        miner = ConstraintMiner(families=["visits"], min_support=share).fit(y)
        assert (ExactVisits("b", 1) in miner.constraints_) == (2 * k > n)
        assert not any(f"{share} is less than {share}" in why for why in miner.support_.reason)


def test_what_falls_short_is_told_apart_from_the_threshold():
    y = [["b"]] * 5499 + [["a"]] * 4501
    miner = ConstraintMiner(families=["visits"], min_support=0.55, states=["b", "a"]).fit(y)
    assert miner.support_.reason[0] == "support 0.5499 is less than 0.55"


def test_a_lower_bound_that_is_met_is_enough():
    # Without exception the bound is (1 - confidence) ** (1 / n): here 0.55, up to rounding.
    miner = ConstraintMiner(families=["visits"], confidence=0.45, min_support=0.55)
    assert miner.fit([["a"]]).constraints_ == [ExactVisits("a", 1)]


def test_visits_are_capped_and_absence_is_no_rule():
    y = [["a", "b", "a", "b", "a"]] * 20
    assert kept(ConstraintMiner(max_visits=3).fit(y), ExactVisits) == [
        ExactVisits("a", 3),
        ExactVisits("b", 2),
    ]
    assert kept(ConstraintMiner(max_visits=2).fit(y), ExactVisits) == [ExactVisits("b", 2)]
    miner = ConstraintMiner(states=["b", "a", "never"], min_presence=0).fit(y)
    assert kept(miner, ExactVisits) == [ExactVisits("b", 2), ExactVisits("a", 3)]
    assert all("never" not in c.labels() for c in kept(miner, Precedence))
    assert list(miner.states_) == ["b", "a", "never"]


def test_stages_are_the_longest_chain_of_precedences():
    y = [["a", "x", "b", "c", "a", "d"], ["a", "b", "b", "c", "d"]] * 10
    (chain,) = kept(ConstraintMiner(families=["stages"]).fit(y), StageMonotone)
    assert chain == StageMonotone(["a", "b", "c", "d"])
    (chain,) = kept(ConstraintMiner(families=["stages"], max_stages=3).fit(y), StageMonotone)
    assert chain == StageMonotone(["a", "b", "c"])
    assert ConstraintMiner(families=["stages"], max_stages=1).fit(y).constraints_ == []
    assert ConstraintMiner(families=["stages"]).fit([["a", "b"], ["b", "a"]]).constraints_ == []


def test_caps_keep_the_best_supported():
    # 'a' has more segments than the others, 'b' more than 'c'.
    y = [["a", "b", "a", "c", "a"]] * 20 + [["a", "b"]] * 5
    full = ConstraintMiner(families=["forbidden"]).fit(y)
    table = rows(full, "forbidden")
    evidence = table[table.kept].evidence.sort_values(ascending=False)
    capped = ConstraintMiner(families=["forbidden"], max_forbidden=1).fit(y)
    assert kept(capped, ForbiddenEdges) == [ForbiddenEdges([("b", "c")])]
    assert repr(kept(capped, ForbiddenEdges)[0]) == evidence.index[0]
    assert ConstraintMiner(families=["forbidden"], max_forbidden=0).fit(y).constraints_ == []

    assert len(ConstraintMiner(families=["no_reentry"]).fit(y).constraints_) == 2
    miner = ConstraintMiner(families=["no_reentry"], max_no_reentry=1).fit(y)
    assert miner.constraints_ == [NoReentry("b")]


def test_durations_and_boundaries():
    y = [["a"] * n + ["b"] * 3 + ["a"] * 1 for n in (2, 3, 4, 5)] * 3
    miner = ConstraintMiner(families=["min_duration", "max_duration", "starts", "ends"]).fit(y)
    assert miner.constraints_ == [
        MinDuration("a", 2),  # the last stay is cut by the end
        MinDuration("b", 3),
        MaxDuration("a", 5),
        MaxDuration("b", 3),
        StartsIn("a"),
        EndsIn("a"),
    ]


def lower_bound(k, n, confidence):
    """The support under which k successes or more have probability 1 - confidence."""
    low, high = 0.0, 1.0
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if binom.sf(k - 1, n, middle) < 1 - confidence else (low, middle)
    return low


@pytest.mark.parametrize("exceptions", [0, 1, 5])
def test_confidence_bounds_are_clopper_pearson(exceptions):
    n = 200
    y = [["a", "b"]] * (n - exceptions) + [["b", "a"]] * exceptions
    bound = lower_bound(n - exceptions, n, 0.9)
    if exceptions == 0:
        assert bound == pytest.approx(0.1 ** (1 / n))
    below = ConstraintMiner(confidence=0.9, min_support=bound - 1e-9).fit(y)
    above = ConstraintMiner(confidence=0.9, min_support=bound + 1e-9).fit(y)
    rule = Precedence("a", "b")
    assert rows(below, "precedence").loc[repr(rule)].lower_bound == pytest.approx(bound)
    assert rule in below.constraints_
    assert rule not in above.constraints_
    assert (rule in ConstraintMiner().fit(y).constraints_) == (exceptions == 0)


def test_support_below_one_never_keeps_contradictions():
    # Each of four precedences in a circle holds in three of four sequences.
    order = "abcd"
    y = [list(order[k:] + order[:k]) for k in range(4)] * 5
    miner = ConstraintMiner(families=["precedence", "stages"], min_support=0.7).fit(y)
    assert len(kept(miner, Precedence)) == 3
    assert rows(miner, "precedence").reason.str.contains("contradicts").sum() == 1
    assert len(kept(miner, StageMonotone)) == 1


def test_all_forms_give_the_same():
    y = chain_paths(12)
    expected = ConstraintMiner(families=ALL).fit(y)
    flat, lengths = np.concatenate(y), [len(path) for path in y]
    groups = np.repeat(np.arange(len(y)), lengths)
    X = np.zeros((len(flat), 2))
    for other in (
        ConstraintMiner(families=ALL).fit(flat, lengths=lengths),
        ConstraintMiner(families=ALL).fit(flat, groups=groups),
        ConstraintMiner(families=ALL).fit(X, flat, groups=groups),
        ConstraintMiner(families=ALL).fit(pd.Series(flat), lengths=lengths),
        ConstraintMiner(families=ALL).fit([path.tolist() for path in y]),
        ConstraintMiner(families=ALL).fit(np.split(X, np.cumsum(lengths)[:-1]), y),
    ):
        assert other.constraints_ == expected.constraints_
        pd.testing.assert_frame_equal(other.support_, expected.support_)


def test_sequences_with_missing_labels_are_left_out():
    y = chain_paths(12)
    expected = ConstraintMiner().fit(y)
    broken = np.array(["UTR3", None, "UTR5"], dtype=object)
    miner = ConstraintMiner().fit([broken, *y])
    assert miner.constraints_ == expected.constraints_
    assert miner.n_sequences_ == 12
    numbers = [np.array([0.0, 1.0]), np.array([1.0, np.nan, 0.0])]
    assert ConstraintMiner().fit(numbers).states_.tolist() == [0, 1]
    assert ConstraintMiner().fit(numbers).states_.dtype.kind == "i"
    with pytest.raises(ValueError, match="Every sequence of y has missing labels"):
        ConstraintMiner().fit([[0, -1], [-1, 1]])


def test_is_a_scikit_learn_estimator():
    miner = ConstraintMiner(max_forbidden=3, confidence=0.9)
    copy = clone(miner).set_params(max_visits=2)
    assert copy.get_params()["max_forbidden"] == 3
    assert "confidence=0.9" in repr(copy)
    with pytest.raises(NotFittedError):
        _ = copy.support_
    assert not hasattr(copy, "support_")
    assert miner.fit(chain_paths(3)) is miner
    with config_context(enable_metadata_routing=True):
        miner.set_fit_request(groups=True, lengths=True)
        assert miner.get_metadata_routing().fit.requests == {"groups": True, "lengths": True}


def test_only_the_table_needs_pandas(monkeypatch):
    miner = ConstraintMiner().fit(chain_paths(20))
    real = builtins.__import__

    def without_pandas(name, *args, **kwargs):
        if name == "pandas":
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without_pandas)
    assert len(miner.constraints_) == 10
    with pytest.raises(ImportError, match="needs pandas"):
        _ = miner.support_


@pytest.mark.parametrize(
    "parameters",
    [
        {"families": "precedence"},
        {"families": ["order"]},
        {"min_presence": 1.5},
        {"min_edge_count": -1},
        {"max_visits": "many"},
        {"max_forbidden": 1.5},
        {"confidence": 1.0},
        {"min_support": 0},
        {"min_support": 1, "confidence": 0.9},
    ],
)
def test_says_which_parameter_is_wrong(parameters):
    with pytest.raises(ValueError, match=next(iter(parameters))):
        ConstraintMiner(**parameters).fit([["a", "b"]])


def test_says_which_label_is_unknown():
    with pytest.raises(ValueError, match="unknown state 'c'"):
        ConstraintMiner(states=["a", "b"]).fit([["a", "c"]])


@pytest.mark.parametrize("nothing", [None, np.nan, pd.NA, pd.NaT, -1], ids=str)
def test_every_kind_of_missing_label_leaves_its_sequence_out(nothing):
    for a, b in (("a", "b"), (0, 1)):
        y = [[a, b], [a, b, nothing], [nothing], [b, nothing, nothing, a], [a, b]]
        miner = ConstraintMiner(families=["visits"]).fit(y)
        assert miner.n_sequences_ == 2 and miner.states_.tolist() == [a, b]
        assert miner.constraints_ == [ExactVisits(a, 1), ExactVisits(b, 1)]
        with pytest.raises(ValueError, match="Every sequence of y has missing labels"):
            ConstraintMiner().fit([[nothing, a], [nothing]])
