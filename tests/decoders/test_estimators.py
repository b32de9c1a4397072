"""What all decoders share: scikit-learn's checks, input forms, model selection, copies."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from skchmm import (
    BeamRejectionDecoder,
    ConstrainedHMM,
    HSMMDecoder,
    NotEnforcedWarning,
    PerceptronCRF,
    PostHocFilter,
    TopologyMaskedHMM,
)
from skchmm.constraints import EndsIn, ForbiddenEdges, Precedence
from skchmm.metrics import accuracy_scorer, tvr_scorer
from skchmm.mining import ConstraintMiner
from tests.decoders.cases import STATES, toy

DECODERS = [
    TopologyMaskedHMM(),
    HSMMDecoder(),
    HSMMDecoder(enforce=True, duration="poisson"),
    BeamRejectionDecoder(),
    PostHocFilter(),
    PerceptronCRF(random_state=0),
]
RULES = [ForbiddenEdges([("c", "a")]), Precedence("a", "b"), EndsIn("c")]

# A step's answer depends on the steps around it; that is the point of a sequence model.
EXPECTED_FAILURES = {
    "check_methods_sample_order_invariance": "steps of a sequence are not exchangeable",
    "check_methods_subset_invariance": "a part of a sequence is another sequence",
}


@parametrize_with_checks(DECODERS, expected_failed_checks=lambda estimator: EXPECTED_FAILURES)
def test_estimator_checks(estimator, check):
    check(estimator)


def fit_quietly(model, *args, **kwargs):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotEnforcedWarning)
        return model.fit(*args, **kwargs)


each_decoder = pytest.mark.parametrize("decoder", DECODERS, ids=lambda model: str(model)[:40])


@each_decoder
def test_three_forms_give_one_answer(decoder):
    X, y = toy()
    lengths = [len(x) for x in X]
    groups = np.repeat(np.arange(len(X)), lengths)
    flat, path = np.concatenate(X), np.concatenate(y)
    decoder = clone(decoder).set_params(constraints=RULES)
    listed = fit_quietly(clone(decoder), X, y)
    answer = listed.predict(X)
    assert isinstance(answer, list)
    frame = pd.DataFrame({"symbol": flat})
    for rows, form in ((flat, {"lengths": lengths}), (frame, {"groups": groups})):
        model = fit_quietly(clone(decoder), rows, path, **form)
        np.testing.assert_array_equal(model.predict(rows, **form), np.concatenate(answer))
        np.testing.assert_allclose(
            model.predict_proba(rows, **form), np.concatenate(listed.predict_proba(X)), atol=1e-12
        )
        np.testing.assert_allclose(model.decode(rows, **form)[0], listed.decode(X)[0])
        assert model.score(rows, path, **form) == pytest.approx(listed.score(X, y))
    assert listed.predict_proba(X)[0].shape == (lengths[0], 3)
    np.testing.assert_allclose(listed.predict_proba(X)[0].sum(axis=1), 1)
    np.testing.assert_allclose(
        np.exp(listed.predict_log_proba(X)[0]), listed.predict_proba(X)[0], atol=1e-12
    )


@each_decoder
def test_attributes_and_copies(decoder):
    X, y = toy()
    states = ["c", "b", "a", "unseen"]
    model = clone(decoder).set_params(constraints=RULES, states=states)
    with pytest.raises(NotFittedError):
        model.predict(X)
    model = fit_quietly(model, X, y)
    assert model.classes_.tolist() == states
    assert model.constraints_ == RULES
    assert set(model.not_enforced_) <= set(RULES)
    copied = pickle.loads(pickle.dumps(model))
    assert all((a == b).all() for a, b in zip(copied.predict(X), model.predict(X)))
    params = model.get_params()
    assert clone(model).get_params() == params
    assert list(params) == sorted(params)


@each_decoder
def test_miner_learns_on_the_training_fold(decoder):
    X, y = toy(20)
    model = clone(decoder).set_params(constraints=ConstraintMiner())
    fit_quietly(model, X, y)
    assert model.constraints_ == ConstraintMiner().fit(y).constraints_
    assert len(model.constraints_) > 0


@each_decoder
def test_model_selection(decoder):
    X, y = toy(8)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotEnforcedWarning)
        scores = cross_val_score(decoder, X, y, cv=3)
        assert (scores > 0.5).all()
        validity = cross_val_score(
            clone(decoder).set_params(constraints=RULES), X, y, cv=3, scoring=tvr_scorer
        )
        assert ((validity >= 0) & (validity <= 1)).all()
        search = GridSearchCV(
            decoder, {"constraints": [None, RULES], "states": [STATES]}, cv=2
        ).fit(X, y)  # fmt: skip
    assert search.best_score_ > 0.5


@each_decoder
def test_groups_are_routed_through_a_pipeline(decoder):
    rng = np.random.default_rng(0)
    y = np.concatenate([np.repeat([0, 1, 2], 5)] * 6)
    groups = np.repeat(np.arange(6), 15)
    X = rng.normal(5.0 * y, 1.0)[:, None]
    with sklearn.config_context(enable_metadata_routing=True):
        pipeline = make_pipeline(StandardScaler(), clone(decoder))
        scores = cross_val_score(
            pipeline, X, y, cv=GroupKFold(3), params={"groups": groups}, scoring=accuracy_scorer,
            error_score="raise",
        )  # fmt: skip
    assert (scores > 0.5).all()


@pytest.mark.parametrize(
    "decoder", [d for d in DECODERS if not isinstance(d, PerceptronCRF)], ids=lambda m: str(m)[:40]
)
def test_em_without_labels(decoder):
    X, _ = toy()
    model = clone(decoder).set_params(n_states=2, n_iter=3, tol=0, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X)
    assert model.classes_.tolist() == [0, 1]
    assert len(model.history_) == 4
    assert np.all(np.diff(model.history_) >= -1e-9)
    assert np.isfinite(model.score(X))


@pytest.mark.parametrize("kind", [TopologyMaskedHMM, BeamRejectionDecoder, PostHocFilter])
def test_plain_models_learn_as_an_unconstrained_one(kind):
    X, _ = toy()
    rules = Precedence(0, 1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = kind(n_states=3, constraints=rules, n_iter=4, tol=0, random_state=0).fit(X)
        free = ConstrainedHMM(3, n_iter=4, tol=0, random_state=0).fit(X)
    np.testing.assert_allclose(model.history_, free.history_)
    assert not hasattr(model, "explain")
