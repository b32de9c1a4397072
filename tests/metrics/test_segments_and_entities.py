"""Overlap F1, edit score and entity scores against their definitions."""

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import cross_val_score

from skchmm import ConstrainedHMM
from skchmm.constraints import TagScheme
from skchmm.metrics import (
    edit_score,
    edit_scorer,
    entity_f1_score,
    entity_f1_scorer,
    entity_precision_score,
    entity_recall_score,
    make_segment_f1_scorer,
    segment_f1_score,
    segment_f1_scorer,
)
from tests.oracles import metrics as oracle

RNG = np.random.default_rng(0)


def paths(rng, labels, n_sequences=6, longest=14):
    lengths = rng.integers(1, longest, size=n_sequences)
    truth = [np.repeat(rng.choice(labels, size=n), 2)[:n].tolist() for n in lengths]
    found = [[x if rng.random() < 0.7 else str(rng.choice(labels)) for x in path] for path in truth]
    return truth, found


def in_all_forms(score, truth, found, **options):
    """The score of lists, which the other two forms have to give too."""
    value = score(truth, found, **options)
    flat, guess = ([x for path in each for x in path] for each in (truth, found))
    lengths = [len(path) for path in truth]
    groups = np.repeat(np.arange(len(truth)), lengths)
    for given in ((flat, guess), (np.array(flat), pd.Series(guess))):
        np.testing.assert_array_equal(score(*given, lengths=lengths, **options), value)
        np.testing.assert_array_equal(score(*given, groups=groups, **options), value)
    return value


@pytest.mark.parametrize("overlap", [0.1, 0.25, 0.5, 1.0, 1 / 3])
@pytest.mark.parametrize("seed", range(8))
def test_overlap(seed, overlap):
    truth, found = paths(np.random.default_rng(seed), ["a", "b", "c"])
    want = [oracle.overlap_f1(x, y, overlap) for x, y in zip(truth, found)]
    got = in_all_forms(segment_f1_score, truth, found, overlap=overlap, average=None)
    np.testing.assert_allclose(got, want)
    assert segment_f1_score(truth, found, overlap=overlap) == pytest.approx(np.mean(want))


def test_overlap_in_numbers():
    truth, found = list("aaaabbbb"), list("aaaaaabb")
    assert segment_f1_score(truth, found, overlap=0.5) == 1.0  # 4 of 6, 2 of 4
    assert segment_f1_score(truth, found, overlap=0.6) == 0.5
    assert segment_f1_score(truth, found, overlap=0.7) == 0.0
    # two predicted segments in one true: one is right, the other is spurious
    assert segment_f1_score(list("aaaa"), list("aaba"), overlap=0.1) == 0.5


def test_overlap_or_tolerance():
    for wrong in (0, -0.1, 1.5, "0.5", True, np.nan):
        with pytest.raises(ValueError, match="overlap must be a number above 0 and at most 1"):
            segment_f1_score(["a"], ["a"], overlap=wrong)
    with pytest.raises(ValueError, match="give only one"):
        segment_f1_score(["a"], ["a"], 2, overlap=0.5)
    with pytest.raises(ValueError, match="give only one"):
        make_segment_f1_scorer(2, 0.5)


@pytest.mark.parametrize("seed", range(8))
def test_edit_score(seed):
    truth, found = paths(np.random.default_rng(seed), ["a", "b", "c"])
    want = [oracle.edit(x, y) for x, y in zip(truth, found)]
    np.testing.assert_allclose(in_all_forms(edit_score, truth, found, average=None), want)
    assert edit_score(truth, found) == pytest.approx(np.mean(want))
    numbers = [[ord(x) for x in path] for path in truth], [[ord(x) for x in p] for p in found]
    assert edit_score(*[list(map(np.array, each)) for each in numbers]) == pytest.approx(
        np.mean(want)
    )


TAGS = {
    scheme: TagScheme(scheme, ["X", "Y-Z"]).labels() for scheme in ("BIO", "IOB1", "BILOU", "BMES")
}


@pytest.mark.parametrize("scheme", TAGS)
@pytest.mark.parametrize("seed", range(6))
def test_entities(seed, scheme):
    """Tags of any kind, valid or not."""
    rng = np.random.default_rng(seed)
    truth, found = paths(rng, TAGS[scheme], n_sequences=8)
    sets = [[set(oracle.entities(path)) for path in each] for each in (truth, found)]
    counts = np.array([(len(a & b), len(a), len(b)) for a, b in zip(*sets)])
    check_scores(truth, found, counts.sum(axis=0), "micro")
    for average in ("mean", None):
        values = [[f(*row) for row in counts] for f in (f1, precision, recall)]
        for score, want in zip(
            (entity_f1_score, entity_precision_score, entity_recall_score), values
        ):
            got = in_all_forms(score, truth, found, average=average)
            np.testing.assert_allclose(got, want if average is None else np.mean(want))
    kinds = {kind for each in sets for one in each for kind, _, _ in one}
    per_kind = []
    for kind in kinds:
        a, b = (
            {(s, *e) for s, one in enumerate(each) for e in one if e[0] == kind} for each in sets
        )
        per_kind.append((len(a & b), len(a), len(b)))
    assert entity_f1_score(truth, found, average="macro") == pytest.approx(
        np.mean([f1(*row) for row in per_kind])
    )


def f1(right, true, found):
    return 1.0 if true + found == 0 else 2 * right / (true + found)


def precision(right, true, found):
    return 1.0 if true + found == 0 else right / found if found else 0.0


def recall(right, true, found):
    return 1.0 if true + found == 0 else right / true if true else 0.0


def check_scores(truth, found, counts, average):
    for score, want in (
        (entity_f1_score, f1), (entity_precision_score, precision), (entity_recall_score, recall),
    ):  # fmt: skip
        assert in_all_forms(score, truth, found, average=average) == pytest.approx(want(*counts))


def test_valid_tags_mark_what_the_scheme_says():
    """The same entities, X at 1..3, Y at 4 and X at 5..6, in each scheme."""
    same = [
        "O B-X I-X I-X B-Y B-X I-X O", "O I-X I-X I-X I-Y I-X I-X O",
        "O B-X I-X L-X U-Y B-X L-X O", "O B-X M-X E-X S-Y B-X E-X O",
    ]  # fmt: skip
    for first in same:
        for second in same:
            assert entity_f1_score(first.split(), second.split()) == 1.0
    assert entity_f1_score(["I-X", "B-X"], ["B-X", "B-X"]) == 1.0
    assert entity_f1_score(["I-X", "I-X"], ["B-X", "B-X"]) == 0.0


def test_other_marks_and_nothing_to_find():
    assert entity_f1_score(["0", "B:X"], ["0", "B:X"], outside="0", separator=":") == 1.0
    assert entity_f1_score(["O", "O"], ["O", "O"]) == 1.0
    assert entity_f1_score(["O", "O"], ["O", "O"], average="macro") == 1.0
    assert entity_f1_score(["O", "B-X"], ["O", "O"]) == 0.0
    assert entity_precision_score(["O", "B-X"], ["O", "O"]) == 0.0


@pytest.mark.parametrize(
    ("truth", "message"),
    [
        (["O", "X-PER"], "these are none: 'X-PER'"),
        (["O", "B"], "these are none: 'B'"),
        (["O", "B-"], "these are none: 'B-'"),
        ([0, 1], "these are none: 0, 1"),
        (["O", None], "y_true has no label at step 1"),
    ],
)
def test_what_is_no_tag(truth, message):
    with pytest.raises(ValueError, match=message):
        entity_f1_score(truth, truth)
    with pytest.raises(ValueError, match="average must be"):
        entity_f1_score(["O"], ["O"], average="none")


def test_scorers():
    rng = np.random.default_rng(1)
    labels = TagScheme("BIO", ["X"]).labels()
    y = [rng.choice(labels, size=8) for _ in range(6)]
    X = [[f"word {x}" if rng.random() < 0.9 else "word" for x in path] for path in y]
    model = ConstrainedHMM().fit(X, y)
    found = model.predict(X)
    assert edit_scorer(model, X, y) == edit_score(y, found)
    assert entity_f1_scorer(model, X, y) == entity_f1_score(y, found)
    assert make_segment_f1_scorer(overlap=0.5)(model, X, y) == segment_f1_score(
        y, found, overlap=0.5
    )
    assert make_segment_f1_scorer()(model, X, y) == segment_f1_scorer(model, X, y)
    assert repr(make_segment_f1_scorer()) == "make_segment_f1_scorer(0.1)"
    for scorer in (edit_scorer, entity_f1_scorer, make_segment_f1_scorer(overlap=0.25)):
        assert np.isfinite(cross_val_score(ConstrainedHMM(), X, y, cv=2, scoring=scorer)).all()


@pytest.mark.parametrize("seed", range(4))
def test_edit_score_of_paths_that_have_little_in_common(seed):
    """Distances beyond the first bounds of the search, and numbers of segments that differ."""
    rng = np.random.default_rng(seed)
    truth = [rng.choice(["a", "b", "c"], size=60).tolist() for _ in range(4)]
    found = [
        np.repeat(rng.choice(["a", "b", "c"], size=60 // k), k).tolist() for k in (1, 3, 10, 60)
    ]
    want = [oracle.edit(x, y) for x, y in zip(truth, found)]
    np.testing.assert_allclose(edit_score(truth, found, average=None), want)
    np.testing.assert_allclose(edit_score(found, truth, average=None), want)
