"""Every estimator, the metrics and the loaders under any input.

A call answers or says in our own words what is wrong, soon, and leaves its input as it was. What
it answers are labels of the model and probabilities.
"""

import tempfile
import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from skchmm import (
    BeamRejectionDecoder,
    ConstrainedHMM,
    CTConstrainedHMM,
    HSMMDecoder,
    InfeasibleSequenceError,
    PerceptronCRF,
    PostHocFilter,
    TopologyMaskedHMM,
    datasets,
    hmm,
    metrics,
    vhmm,
)
from skchmm.constraints import EndsIn, Precedence

from .anything import SOON, anything, arrays, attempt, examples, frames, scalars, series

soon = settings(examples, deadline=SOON)
few = {"n_iter": 2, "random_state": 0}
ESTIMATORS = {
    "constrained": ConstrainedHMM(2, **few),
    "constrained-posterior": ConstrainedHMM(2, algorithm="posterior", emission="gaussian", **few),
    "precomputed": ConstrainedHMM(emission="precomputed", algorithm="map", **few),
    "continuous": CTConstrainedHMM(2, **few),
    "topology": TopologyMaskedHMM(n_states=2, **few),
    "beam": BeamRejectionDecoder(3, n_states=2, **few),
    "post-hoc": PostHocFilter(3, n_states=2, **few),
    "semi-markov": HSMMDecoder(4, n_states=2, **few),
    "perceptron": PerceptronCRF(2, random_state=0),
    "hmm-categorical": hmm.CategoricalHMM(2, **few),
    "hmm-gaussian": hmm.GaussianHMM(2, **few),
    "hmm-gmm": hmm.GMMHMM(2, 2, **few),
    "hmm-multinomial": hmm.MultinomialHMM(2, **few),
    "hmm-poisson": hmm.PoissonHMM(2, **few),
    "hmm-variational": vhmm.VariationalGaussianHMM(2, **few),
    "hmm-variational-symbols": vhmm.VariationalCategoricalHMM(2, **few),
}
each_estimator = pytest.mark.parametrize("name", ESTIMATORS)
tables = st.one_of(
    arrays(), frames(), series, st.lists(arrays(max_side=4), max_size=3), anything,
    st.lists(st.integers(0, 2), min_size=2, max_size=8).map(lambda v: np.array(v)[:, None]),
    st.lists(st.floats(-5, 5), min_size=2, max_size=8).map(lambda v: np.array(v)[:, None]),
)  # fmt: skip
maybe = st.one_of(st.none(), st.none(), anything)


@pytest.fixture(autouse=True)
def only_our_warnings():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        yield


def ask(call, *inputs):
    """The answer; None where there is none, for a reason that is said."""
    try:
        return attempt(call, *inputs)
    except (InfeasibleSequenceError, NotFittedError) as error:
        assert str(error).strip()
        return None


def rows_of(answer):
    return np.concatenate(answer) if isinstance(answer, list) else np.asarray(answer)


def check_answers(model, X, where):
    """What a fitted model says of any sequences; whether it knew all of them."""
    inputs = (X, *where.values())
    labels = ask(lambda: model.predict(X, **where), *inputs)
    if labels is not None:
        assert set(rows_of(labels).tolist()) <= set(model.classes_.tolist())
    proba = ask(lambda: model.predict_proba(X, **where), *inputs)
    if proba is not None:
        proba = rows_of(proba)
        assert proba.shape[1] == len(model.classes_)
        assert (proba >= 0).all() and (proba <= 1 + 1e-9).all()
        np.testing.assert_allclose(proba.sum(axis=1), 1, atol=1e-8)
    if hasattr(model, "log_likelihood"):
        log_z = ask(lambda: model.log_likelihood(X, **where), *inputs)
        assert log_z is None or not np.isnan(log_z).any()
    return labels is not None and proba is not None


@each_estimator
@soon
@given(X=tables, y=maybe, other=tables, lengths=maybe, groups=maybe, weight=maybe)
def test_fit_of_any_kind(name, X, y, other, lengths, groups, weight):
    model = clone(ESTIMATORS[name])
    where = {k: v for k, v in (("lengths", lengths), ("groups", groups)) if v is not None}
    if name.startswith("hmm"):
        where.pop("groups", None)
    weights = {} if weight is None else {"sample_weight": weight}
    fitted = ask(lambda: model.fit(X, y, **where, **weights), X, y, lengths, groups, weight)
    if fitted is not None:
        check_answers(model, X, where)
        check_answers(model, other, {})


def fitted_models():
    """Each estimator, fitted on the kind of rows that it is for, and such rows."""
    rng = np.random.default_rng(0)
    y = np.array([0, 0, 1, 1, 0, 1, 1, 0, 1, 1])
    kinds = {
        "symbols": np.array(["a", "a", "b", "b", "a", "b", "a", "a", "b", "b"]),
        "numbers": rng.normal(size=(10, 2)) + y[:, None],
        "counts": rng.poisson(3 + 4 * y, size=(2, 10)).T,
        "codes": y[:, None],
    }
    takes = {
        "constrained-posterior": "numbers", "precomputed": "numbers", "hmm-categorical": "codes",
        "hmm-gaussian": "numbers", "hmm-gmm": "numbers", "hmm-multinomial": "counts",
        "hmm-poisson": "counts", "hmm-variational": "numbers", "hmm-variational-symbols": "codes",
    }  # fmt: skip
    for name, estimator in ESTIMATORS.items():
        X = kinds[takes.get(name, "symbols")]
        constraints = [Precedence(0, 1), EndsIn(1)] if name in ("constrained", "continuous") else []
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = clone(estimator).set_params(constraints=constraints)
            yield name, (model.fit(X, y), X)


FITTED = dict(fitted_models())


@each_estimator
@soon
@given(X=tables, lengths=maybe, groups=maybe, y=anything, weight=maybe)
def test_sequences_of_any_kind_for_a_fitted_model(name, X, lengths, groups, y, weight):
    model, right = FITTED[name]
    where = {k: v for k, v in (("lengths", lengths), ("groups", groups)) if v is not None}
    if name.startswith("hmm"):
        where.pop("groups", None)
        weight = None
    before = model.predict(right).tolist()
    check_answers(model, X, where)
    check_answers(model, right, where)
    weights = {} if weight is None else {"sample_weight": weight}
    if not name.startswith("hmm"):
        score = ask(lambda: model.score(right, y, **weights), y, weight)
        assert score is None or np.isnan(score) or y is None or 0 <= score <= 1
    if name == "continuous":
        ask(lambda: model.predict(right, times=y), y)
    assert model.predict(right).tolist() == before


some_labels = st.sampled_from([None, 0, 1, -1, {0, 1}, {1}, frozenset({0}), np.nan, set(), {7}, 7])


@each_estimator
@soon
@given(known=st.one_of(anything, st.lists(some_labels, min_size=10, max_size=10)))
def test_known_labels_of_any_kind(name, known):
    model, right = FITTED[name]
    labels = ask(lambda: model.predict(right, known=known), known)
    if labels is not None and isinstance(known, list) and len(known) == 10:
        for label, held in zip(labels.tolist(), known):
            assert held is None or held in (label, -1) or held != held or label in held
    proba = ask(lambda: model.predict_proba(right, known=known), known)
    assert proba is None or np.allclose(proba.sum(axis=1), 1)


@pytest.mark.parametrize("name", [name for name in ESTIMATORS if not name.startswith("hmm")])
@soon
@given(cuts=st.lists(st.integers(1, 9), max_size=4, unique=True), order=st.randoms())
def test_alone_as_in_a_batch(name, cuts, order):
    model, rows = FITTED[name]
    sequences = np.split(rows, sorted(cuts))
    order.shuffle(sequences)
    y = [np.arange(len(sequence)) % 2 for sequence in sequences]
    model = clone(model).set_params(constraints=None).fit(sequences, y)
    labels, proba = model.predict(sequences), model.predict_proba(sequences)
    for sequence, path, marginals in zip(sequences, labels, proba):
        assert ask(lambda s=sequence: model.predict([s]))[0].tolist() == path.tolist()
        np.testing.assert_allclose(model.predict_proba([sequence])[0], marginals, atol=1e-9)


@each_estimator
@soon
@given(data=st.data(), value=st.one_of(scalars, st.sampled_from(["viterbi", "random", 0, -1, 2])))
def test_parameters_of_any_kind(name, data, value):
    _, X = FITTED[name]
    estimator = ESTIMATORS[name]
    skip = {"verbose", "n_jobs", "constraints"}
    parameter = data.draw(st.sampled_from(sorted({*estimator.get_params(deep=False)} - skip)))
    if isinstance(value, (int, float)) and abs(value) > 50:
        value = -1  # large numbers of iterations are no mistake
    model = clone(estimator).set_params(**{parameter: value})
    y = [0, 0, 1, 1, 0, 1, 1, 0, 1, 1] if data.draw(st.booleans()) else None
    if ask(lambda: model.fit(X, y)) is not None:
        check_answers(model, X, {})


@soon
@given(y=anything, other=anything, where=maybe)
def test_scores_of_any_kind(y, other, where):
    for score in (
        metrics.sequence_accuracy_score,
        metrics.sequence_macro_f1_score,
        metrics.segment_f1_score,
        metrics.edit_score,
        metrics.entity_f1_score,
    ):
        for lengths in (None, where):
            found = ask(lambda s=score, n=lengths: s(y, other, lengths=n), y, other, where)
            assert found is None or np.isnan(found) or 0 <= found <= 1
            same = ask(lambda s=score, n=lengths: s(y, y, lengths=n), y, where)
            assert same is None or np.isnan(same) or same == pytest.approx(1) or same == 0


lines = st.one_of(
    st.text(max_size=30),
    st.lists(
        st.sampled_from(
            ["2008-02-25", "00:20:14", "00:20:14.5", "M017", "ON", "OFF", "Sleep", "begin", "end",
             "start_time", "2011-11-28 02:27:59", "--", "chr2L", "exon", "gene", "1", "20", "-3",
             "a", "b", "", "nan", "1e999", "\ufeff", '"', "+", ".", 'gene_id "g";']
        ), max_size=9,
    ).flatmap(lambda words: st.sampled_from(["\t", " ", ",", ";"]).map(lambda by: by.join(words))),
)  # fmt: skip
files = st.one_of(
    st.binary(max_size=60), st.lists(lines, max_size=6).map(lambda v: "\n".join(v).encode())
)


@soon
@given(content=files, other=files, compressed=st.booleans())
def test_files_of_any_kind(content, other, compressed):
    with tempfile.TemporaryDirectory() as folder:
        first, second = Path(folder, "a.csv" + ".gz" * compressed), Path(folder, "b.txt")
        first.write_bytes(content)
        second.write_bytes(other)
        for call in (
            lambda: datasets.load_casas(second),
            lambda: datasets.load_ordonez(second, second),
            lambda: datasets.load_runs(first, run="a", label="b"),
            lambda: datasets.load_transcripts(second, second),
        ):
            try:
                ask(call)
            except OSError as error:
                assert str(error)
