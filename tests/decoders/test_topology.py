import warnings

import numpy as np
import pytest
from sklearn.base import clone

from skchmm import (
    ConstrainedHMM,
    Controller,
    InfeasibleSequenceError,
    NotEnforcedWarning,
    TopologyMaskedHMM,
    compile,
)
from skchmm.constraints import (
    AtMostVisits,
    EndsIn,
    ForbiddenEdges,
    MaxDuration,
    NoDwell,
    Precedence,
    StageMonotone,
    StartsIn,
    Window,
)
from tests.decoders.cases import STATES, random_parameters, toy
from tests.oracles.enumeration import Enumeration

EDGES = ForbiddenEdges([("a", "c"), ("b", {"a", "b"})])


def test_masked_rows_are_the_free_rows_renormalised():
    X, y = toy()
    free = ConstrainedHMM().fit(X, y)
    masked = TopologyMaskedHMM(constraints=EDGES).fit(X, y)
    expected = free.transmat_.copy()
    expected[0, 2] = expected[1, 0] = expected[1, 1] = 0.0
    expected /= expected.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(masked.transmat_, expected, atol=1e-15)
    np.testing.assert_allclose(masked.startprob_, free.startprob_)
    assert masked.not_enforced_ == []


def test_em_runs_before_the_mask():
    X, _ = toy()
    free = ConstrainedHMM(3, random_state=0, n_iter=5, tol=0).fit
    masked = TopologyMaskedHMM(
        3, random_state=0, n_iter=5, tol=0, constraints=ForbiddenEdges([(0, 1)])
    ).fit
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        free, masked = free(X), masked(X)
    assert masked.history_ == free.history_
    assert masked.transmat_[0, 1] == 0
    np.testing.assert_allclose(masked.transmat_[1:], free.transmat_[1:])


@pytest.mark.parametrize("algorithm", ["viterbi", "posterior", "mea", "map"])
@pytest.mark.parametrize("seed", range(5))
def test_inference_is_that_of_the_masked_chain(seed, algorithm):
    rng = np.random.default_rng(seed)
    start, trans = random_parameters(rng, zeros=0)
    X = rng.normal(size=(5, 3))
    model = TopologyMaskedHMM.from_parameters(
        start, trans, states=STATES, constraints=EDGES, algorithm=algorithm
    )
    truth = Enumeration(start, model.transmat_, X, STATES)
    np.testing.assert_allclose(model.decode(X)[0], truth.log_max)
    np.testing.assert_allclose(model.predict_proba(X), truth.marginals(), atol=1e-12)
    np.testing.assert_allclose(model.score(X), truth.log_z)
    if algorithm == "viterbi":
        best = truth.paths[np.argmax(truth.log_weights)]
        assert model.predict(X).tolist() == [STATES[i] for i in best]


@pytest.mark.parametrize(
    "rule, enforced",
    [
        (EDGES, True),
        (NoDwell("a"), True),
        (NoDwell({"a", "b"}), True),
        (MaxDuration("a", 1), True),
        (StageMonotone(["a", "b", "c"], allow_backward=False), True),
        (compile(EDGES, STATES), True),
        (StageMonotone(["a", "b", "c"]), False),
        (StageMonotone(["a", "b"], allow_backward=False), False),
        (Precedence("a", "b"), False),
        (StartsIn("a"), False),
        (EndsIn("a"), False),
        (MaxDuration("a", 2), False),
        (Window("a", 0, 3), False),
        (EDGES | NoDwell("a"), False),
    ],
)
def test_which_rules_are_edges(rule, enforced):
    X, y = toy()
    model = TopologyMaskedHMM(constraints=rule)
    if enforced:
        paths = model.fit(X, y).predict(X)
        assert model.not_enforced_ == []
        controller = rule if isinstance(rule, Controller) else compile(rule, STATES)
        assert all(controller.accepts(path.tolist()) for path in paths)
    else:
        with pytest.warns(NotEnforcedWarning, match="TopologyMaskedHMM does not enforce"):
            model.fit(X, y)
        assert model.not_enforced_ == [rule]
        np.testing.assert_array_equal(model.transmat_, ConstrainedHMM().fit(X, y).transmat_)


def test_parts_of_a_conjunction_are_told_apart_and_the_warning_comes_once():
    X, y = toy()
    model = TopologyMaskedHMM(constraints=EDGES & AtMostVisits("a", 1))
    with pytest.warns(NotEnforcedWarning) as caught:
        model.fit(X, y)
    assert len(caught) == 1
    assert model.not_enforced_ == [AtMostVisits("a", 1)]
    assert model.constraints_ == [EDGES, AtMostVisits("a", 1)]
    assert model.transmat_[0, 2] == 0
    model.predict(X)  # no further warning, or the test would fail


def test_other_constraints_start_from_the_unmasked_matrix():
    X, y = toy()
    model = TopologyMaskedHMM(constraints=EDGES).fit(X, y)
    other = model.with_constraints(ForbiddenEdges([("c", "a")]))
    expected = TopologyMaskedHMM(constraints=ForbiddenEdges([("c", "a")])).fit(X, y)
    np.testing.assert_array_equal(other.transmat_, expected.transmat_)
    assert model.transmat_[0, 2] == 0


def test_a_state_without_exits_ends_paths():
    start, trans = np.full(2, 0.5), np.full((2, 2), 0.5)
    model = TopologyMaskedHMM.from_parameters(
        start, trans, states=["a", "b"], constraints=ForbiddenEdges([("b", {"a", "b"})])
    )
    np.testing.assert_array_equal(model.transmat_, [[0.5, 0.5], [0, 0]])
    assert model.predict(np.array([[0.0, 5.0]] * 3)).tolist() == ["a", "a", "b"]
    with pytest.raises(InfeasibleSequenceError, match="Sequence 0 has probability zero"):
        model.predict(np.array([[-np.inf, 0.0]] * 2))


def test_clone_keeps_all_parameters():
    model = TopologyMaskedHMM(2, constraints=EDGES, algorithm="map", transmat_fixed=[[1]])
    assert clone(model).get_params() == model.get_params()
