"""hmmlearn's classes under constraints, against enumeration of all paths."""

import logging

import numpy as np
import pytest

from skchmm import (
    ConstrainedHMM,
    InfeasibleSequenceError,
    InfeasibleSequenceWarning,
    hmm,
    satisfies,
)
from skchmm.constraints import (
    AtLeastVisits,
    AtMostVisits,
    EndsIn,
    ExactVisits,
    ForbiddenEdges,
    NoReentry,
    Precedence,
    StartsIn,
    Window,
)
from skchmm.mining import ConstraintMiner

from ..oracles.enumeration import Enumeration
from .cases import CASES, IDS, S, model, parameters, rows

LABELS = ["a", "b", "c"]
RULES = [
    [],
    [Precedence("a", "b")],
    [ExactVisits("b", 1), NoReentry("a")],
    [AtMostVisits("c", 1), StartsIn(["a", "b"])],
    [Window("b", 1, 4), EndsIn("c")],
    [ForbiddenEdges([("a", "c")]), AtLeastVisits("c", 2)],
]
T = 6
DIAG = {"covariance_type": "diag"}

each_case = pytest.mark.parametrize(("name", "params"), CASES, ids=IDS)
each_rules = pytest.mark.parametrize("rules", RULES, ids=lambda rules: f"{len(rules)}-{rules[:1]}")


def constrained(name, params, rules, seed=1, **more):
    rng = np.random.default_rng(seed)
    values = parameters(name, params, rng)
    made = model(hmm, name, params, values, constraints=rules, states=LABELS, **more)
    return made, values, rows(name, rng)


def enumerate_paths(made, X, rules):
    return Enumeration(
        made.startprob_, made.transmat_, made._compute_log_likelihood(X), LABELS, rules
    )


@each_case
@each_rules
def test_answers(name, params, rules):
    made, _, X = constrained(name, params, rules)
    X = X[:T]
    made._check()
    truth = enumerate_paths(made, X, rules)
    log_prob, path = made.decode(X)
    assert log_prob == pytest.approx(truth.log_max)
    assert satisfies(path.tolist(), rules, LABELS)
    np.testing.assert_allclose(made.predict_proba(X), truth.marginals(), atol=1e-10)
    assert made.score(X) == pytest.approx(truth.log_z)
    value, posteriors = made.score_samples(X)
    assert value == pytest.approx(truth.log_z)
    np.testing.assert_allclose(posteriors, truth.marginals(), atol=1e-10)
    value, _ = made.decode(X, algorithm="map")
    assert value == pytest.approx(truth.marginals().max(axis=1).sum())
    _, path = made.decode(X, algorithm="posterior")
    assert satisfies(path.tolist(), rules, LABELS)
    value, path = made.decode(X, algorithm="mea")
    steps, marginals = np.arange(len(X)), truth.marginals()
    assert value == pytest.approx(max(marginals[steps, list(p)].sum() for p in truth.paths))
    assert value == pytest.approx(marginals[steps, [LABELS.index(x) for x in path]].sum())


@each_case
@pytest.mark.parametrize("rules", RULES[1:4], ids=str)
def test_em_climbs_and_starts_with_the_exact_expectations(name, params, rules):
    made, _, X = constrained(name, params, rules, init_params="", n_iter=1)
    X = X[: 2 * T]
    made._check()
    pieces = [enumerate_paths(made, part, rules) for part in (X[:T], X[T:])]
    made.fit(X, [T, T])
    assert made.monitor_.history[0] == pytest.approx(sum(piece.log_z for piece in pieces))
    counts = sum(piece.transitions() for piece in pieces)
    np.testing.assert_allclose(made.transmat_, counts / counts.sum(axis=1, keepdims=True))
    starts = sum(piece.marginals()[0] for piece in pieces)
    np.testing.assert_allclose(made.startprob_, starts / 2, atol=1e-12)
    if name != "GMMHMM":  # there hmmlearn's update of the covariances is not quite that of EM
        again = constrained(name, params, rules, init_params="", n_iter=6, tol=-1)[0].fit(X, [T, T])
        slack = 0.5 if name == "GaussianHMM" else 1e-8  # its priors are not in the likelihood
        assert (np.diff(again.monitor_.history) > -slack).all()


def test_no_feasible_path():
    made, _, X = constrained("GaussianHMM", DIAG, [Window("b", 2, 3), ExactVisits("b", 2)])
    for method in ("predict", "decode", "predict_proba", "score_samples"):
        with pytest.raises(ValueError, match="satisfies these constraints"):
            getattr(made, method)(X[:T])
    made.constraints = AtLeastVisits("b", 3)
    for method in ("predict", "predict_proba", "fit"):
        with pytest.raises(InfeasibleSequenceError, match="AtLeastVisits"):
            getattr(made, method)(X[:3])
    assert made.set_params(init_params="").log_likelihood(X[:3]).tolist() == [-np.inf]
    made.set_params(on_infeasible="warn")
    with pytest.warns(InfeasibleSequenceWarning):
        path = made.predict(X[:3])
    np.testing.assert_array_equal(path, made.set_params(constraints=None).predict(X[:3]))


def test_constraints_can_change_without_fitting():
    made, _, X = constrained("GaussianHMM", DIAG, None)
    assert made.graph_.n_nodes == S
    free = made.predict(X)
    made.set_params(constraints=AtMostVisits("a", 1))
    assert made.graph_.n_nodes > S
    assert satisfies(made.predict(X).tolist(), AtMostVisits("a", 1), LABELS)
    np.testing.assert_array_equal(made.with_constraints(None).predict(X), free)
    assert made.controller_.n_states > 1


@pytest.mark.parametrize(("name", "params"), [("GaussianHMM", DIAG), ("CategoricalHMM", {})])
def test_draws_obey_the_rules(name, params):
    rules = [ExactVisits("b", 1), StartsIn("a")]
    made, _, _ = constrained(name, params, rules)
    made._check()
    generator = np.random.RandomState(0)
    counts = {}
    for _ in range(300):
        X, path = made.sample(4, random_state=generator)
        assert len(X) == 4
        assert satisfies(path.tolist(), rules, LABELS)
        counts["".join(path)] = counts.get("".join(path), 0) + 1
    flat = Enumeration(made.startprob_, made.transmat_, np.zeros((4, S)), LABELS, rules)
    for path, p in zip(flat.paths, flat.posterior):
        found = counts.get("".join(LABELS[i] for i in path), 0) / 300
        assert abs(found - p) < 5 * np.sqrt(p * (1 - p) / 300) + 1e-9
    made.constraints = NoReentry("c")
    assert made.sample(5, random_state=0, currstate="c")[1][0] == "c"


def test_same_as_constrained_hmm():
    """One core: the same parameters give the same answers."""
    rules = RULES[2]
    made, values, X = constrained("GaussianHMM", {"covariance_type": "full"}, rules)
    made._check()
    other = ConstrainedHMM.from_parameters(
        values["startprob_"], values["transmat_"], states=LABELS, emission=made.emission_,
        constraints=rules,
    )  # fmt: skip
    np.testing.assert_array_equal(made.predict(X), other.predict(X))
    np.testing.assert_array_equal(made.predict_proba(X), other.predict_proba(X))
    ours, theirs = made.kbest(X[:8], 4), other.kbest(X[:8], 4)
    for (value, path), (other_value, other_path) in zip(ours, theirs):
        assert value == other_value
        np.testing.assert_array_equal(path, other_path)
    np.testing.assert_array_equal(made.log_feasibility(X), other.log_feasibility(X))


def test_mined_constraints(caplog):
    caplog.set_level(logging.ERROR)
    rng = np.random.default_rng(0)
    y = [np.repeat(["a", "b", "c"], rng.integers(3, 6, size=3)) for _ in range(12)]
    X = [np.array([[ord(label)] for label in path]) + rng.normal(size=(len(path), 1)) for path in y]
    made = hmm.GaussianHMM(constraints=ConstraintMiner()).fit(X, y)
    assert made.constraints_
    for path in made.predict(X):
        assert satisfies(path.tolist(), made.constraints_, LABELS)
    with pytest.raises(ValueError, match="give y"):
        hmm.GaussianHMM(2, constraints=ConstraintMiner()).fit(X)
