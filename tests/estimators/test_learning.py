"""Supervised fit by counting; EM that never falls, for every emission, weights and labels."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KernelDensity

from skchmm import ConstrainedHMM, InfeasibleSequenceError
from skchmm.constraints import AtMostVisits, ExactVisits, MinDuration, Precedence, VisitBy
from skchmm.emissions import GMM, Categorical, Gaussian
from tests.oracles.enumeration import Enumeration


def draw(rng, kind, states):
    """Observations of the given kind along a state path."""
    n = len(states)
    if kind == "categorical":
        return np.array(["x", "y", "z"])[(states + rng.integers(0, 2, n)) % 3]
    if kind == "columns":
        return np.column_stack([draw(rng, "categorical", states), draw(rng, "categorical", states)])
    if kind in ("multinomial", "poisson"):
        rates = np.array([[9.0, 1, 2], [1, 9, 3], [2, 4, 8]])[states]
        counts = rng.poisson(rates)
        return counts + (counts.sum(axis=1, keepdims=True) == 0)
    if kind == "precomputed":
        return rng.normal(size=(n, 3)) + 2 * (states[:, None] == np.arange(3))
    return rng.normal(size=(n, 2)) + 2.0 * states[:, None]


def sequences(kind, n=6, missing=False, seed=0):
    rng = np.random.default_rng(seed)
    X, y = [], []
    for _ in range(n):
        lengths = rng.integers(3, 12, size=3)
        states = np.repeat([0, 1, 2], lengths)
        rows = draw(rng, kind, states)
        if missing and kind not in ("multinomial",):
            rows = rows.astype(object if rows.dtype.kind in "US" else float)
            holes = rng.random(len(rows)) < 0.2
            rows[holes] = None if rows.dtype.kind == "O" else np.nan
        X.append(rows)
        y.append(states)
    return X, y


EMISSIONS = {
    "categorical": "categorical",
    "columns": "categorical",
    "order 1": Categorical(order=1),
    "order 2": Categorical(order=2),
    "multinomial": "multinomial",
    "poisson": "poisson",
    "precomputed": "precomputed",
    **{f"gaussian {c}": Gaussian(c) for c in ("spherical", "diag", "full", "tied")},
    **{f"gmm {c}": GMM(2, covariance_type=c) for c in ("spherical", "diag", "full", "tied")},
}
RULES = {
    "free": None,
    "constrained": [Precedence(0, 1), AtMostVisits(1, 1), MinDuration(0, 2)],
    "timed": [VisitBy(1, 12), ExactVisits(2, 1)],
}


def assert_never_falls(history):
    history = np.array(history)
    drop = history[:-1] - history[1:]
    assert (drop <= 1e-8 * np.abs(history[1:])).all(), drop.max()


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("rules", RULES)
@pytest.mark.parametrize("name", EMISSIONS)
@pytest.mark.parametrize("labels", ["none", "some"])
def test_em_never_falls(name, rules, labels):
    kind = name.split()[0] if name.split()[0] != "order" else "categorical"
    X, y = sequences(kind, missing=True)
    if labels == "some":
        rng = np.random.default_rng(1)
        y = [np.where(rng.random(len(path)) < 0.3, path, -1) for path in y]
    else:
        y = None
    model = ConstrainedHMM(
        3, states=[0, 1, 2], emission=EMISSIONS[name], constraints=RULES[rules],
        n_iter=15, tol=0, random_state=0,
    )  # fmt: skip
    model.fit(X, y, sample_weight=np.linspace(0.5, 2, len(X)))
    assert len(model.history_) == model.n_iter_ + 1
    assert_never_falls(model.history_)
    total = model.log_likelihood(X) @ np.linspace(0.5, 2, len(X))
    if labels == "none":
        np.testing.assert_allclose(model.history_[-1], total, rtol=1e-10)
    else:
        assert model.history_[-1] <= total + 1e-6 * abs(total)


def test_one_em_step_equals_enumeration():
    """Expected counts from all feasible paths give the next start and transition matrix."""
    rng = np.random.default_rng(0)
    states, T = [0, 1, 2], 5
    startprob, transmat = rng.dirichlet(np.ones(3)), rng.dirichlet(np.ones(3), size=3)
    X = [np.log(rng.random((T, 3))) for _ in range(3)]
    rules = [AtMostVisits(1, 1), Precedence(0, 2)]
    model = ConstrainedHMM.from_parameters(startprob, transmat, constraints=rules)
    model.set_params(init="fitted", n_iter=1, tol=0)
    with pytest.warns(ConvergenceWarning):
        model.fit(X, sample_weight=[1.0, 2.0, 0.5])
    starts, transitions = np.zeros(3), np.zeros((3, 3))
    for x, w in zip(X, [1.0, 2.0, 0.5]):
        truth = Enumeration(startprob, transmat, x, states, rules)
        starts += w * truth.marginals()[0]
        transitions += w * truth.transitions()
    np.testing.assert_allclose(model.startprob_, starts / starts.sum(), rtol=1e-8)
    np.testing.assert_allclose(
        model.transmat_, transitions / transitions.sum(axis=1, keepdims=True), rtol=1e-8
    )


def test_supervised_fit_counts_with_pseudocount():
    X = [np.array(list("xyx")), np.array(list("yy"))]
    y = [np.array(["a", "b", "b"]), np.array(["a", "a"])]
    model = ConstrainedHMM(smoothing=0.5).fit(X, y)
    np.testing.assert_allclose(model.startprob_, [2.5 / 3, 0.5 / 3])
    np.testing.assert_allclose(model.transmat_, [[1.5 / 3, 1.5 / 3], [0.5 / 2, 1.5 / 2]])
    np.testing.assert_allclose(model.emission_.probabilities_, [[1.5 / 4, 2.5 / 4], [0.5, 0.5]])
    assert model.history_ == [] and model.n_iter_ == 0 and model.converged_


def test_sequence_weights_equal_repetition():
    X, y = sequences("gaussian")
    weights = [1, 2, 0, 3, 1, 1]
    X2 = [x for x, w in zip(X, weights) for _ in range(w)]
    y2 = [path for path, w in zip(y, weights) for _ in range(w)]
    for labels, repeated in ((y, y2), (None, None)):
        make = ConstrainedHMM(3, emission=Gaussian(), init="random", random_state=0, n_iter=0)
        a, b = clone(make).fit(X, labels), clone(make).fit(X2, repeated)
        if labels is None:  # EM from the same start
            b = ConstrainedHMM.from_parameters(
                a.startprob_, a.transmat_, emission=a.emission_, init="fitted"
            )
            a.set_params(init="fitted", n_iter=5, tol=1.0)
            b.set_params(n_iter=5, tol=1.0)
        a.fit(X, labels, sample_weight=weights)
        b.fit(X2, repeated)
        np.testing.assert_allclose(a.transmat_, b.transmat_, rtol=1e-7, atol=1e-12)
        np.testing.assert_allclose(a.emission_.means_, b.emission_.means_, rtol=1e-7)


def test_clamped_labels_stay():
    X, y = sequences("gaussian")
    known = [np.where(np.arange(len(path)) % 3 == 0, path, -1) for path in y]
    model = ConstrainedHMM(emission="gaussian", random_state=0).fit(X, known)
    assert model.score(X, y) > 0.9
    assert model.classes_.tolist() == [0, 1, 2]


@pytest.mark.parametrize("hole", [None, np.nan, -1])
def test_ways_to_say_that_a_label_is_missing(hole):
    X, y = sequences("gaussian", n=2)
    y = [path.astype(object) for path in y]
    y[0][::2] = hole
    if hole is np.nan or hole == -1:
        y = [path.astype(float) for path in y]
    model = ConstrainedHMM(emission="gaussian").fit(X, y)
    assert len(model.history_) > 0
    assert model.score(X, [path for _, path in zip(X, sequences("gaussian", n=2)[1])]) > 0.8


def test_fixed_probabilities_are_kept():
    X, y = sequences("gaussian")
    nan = np.nan
    start, trans = [1.0, 0.0, 0.0], [[nan, nan, 0.0], [0.0, nan, 0.2], [0.0, 0.0, 1.0]]
    for labels in (y, None):
        model = ConstrainedHMM(
            3, emission="gaussian", startprob_fixed=start, transmat_fixed=trans, random_state=0
        ).fit(X, labels)
        np.testing.assert_allclose(model.startprob_, start)
        given = ~np.isnan(trans)
        np.testing.assert_allclose(model.transmat_[given], np.array(trans)[given])
        np.testing.assert_allclose(model.transmat_.sum(axis=1), 1)
        assert_never_falls(model.history_)


@pytest.mark.parametrize(
    "fixed, message",
    [([0.5, 0.6, np.nan], "sum"), ([0.2, 0.2, 0.2], "sum"), ([1.0], "shape"), ([-1, 1, 1], "prob")],
)
def test_fixed_probabilities_that_cannot_be(fixed, message):
    X, y = sequences("gaussian")
    with pytest.raises(ValueError, match=message):
        ConstrainedHMM(emission="gaussian", startprob_fixed=fixed).fit(X, y)


def test_restarts_keep_the_best():
    X, _ = sequences("categorical", n=10)
    scores = [
        ConstrainedHMM(3, random_state=seed, n_iter=100, tol=1e-3).fit(X).history_[-1]
        for seed in range(3)
    ]
    many = ConstrainedHMM(3, random_state=0, n_iter=100, tol=1e-3, n_init=5).fit(X)
    assert many.history_[-1] >= min(scores)
    assert many.history_[-1] == pytest.approx(many.score(X))


def test_no_convergence_is_said():
    X, _ = sequences("gaussian")
    with pytest.warns(ConvergenceWarning, match="n_iter=1"):
        model = ConstrainedHMM(3, emission="gaussian", n_iter=1, tol=0, random_state=0).fit(X)
    assert not model.converged_


def test_fit_ends_with_an_e_step():
    X, _ = sequences("gaussian")
    model = ConstrainedHMM(3, emission="gaussian", random_state=0).fit(X)
    assert model.history_[-1] == pytest.approx(model.score(X), rel=1e-12)


def test_going_on_from_fitted_parameters():
    X, _ = sequences("gaussian")
    with pytest.warns(ConvergenceWarning):
        model = ConstrainedHMM(3, emission="gaussian", n_iter=2, tol=0, random_state=0).fit(X)
    last = model.history_[-1]
    model.set_params(init="fitted", n_iter=50, tol=1e-9).fit(X)
    assert model.history_[0] == pytest.approx(last, rel=1e-12)
    assert_never_falls(model.history_)


def test_scikit_learn_models_as_emissions():
    X, y = sequences("gaussian")
    for emission in (LogisticRegression(), KernelDensity(bandwidth=0.5)):
        model = ConstrainedHMM(emission=emission, constraints=Precedence(0, 2)).fit(X, y)
        assert model.score(X, y) > 0.9
        known = [np.where(np.arange(len(path)) % 2 == 0, path, -1) for path in y]
        partly = ConstrainedHMM(emission=emission).fit(X, known)
        assert_never_falls(partly.history_)
        with pytest.raises(ValueError, match="labels"):
            ConstrainedHMM(3, emission=emission).fit(X)


def test_infeasible_training_sequence_is_named():
    X, _ = sequences("gaussian", n=3)
    X[1] = X[1][:1]
    with pytest.raises(InfeasibleSequenceError, match=r"Sequence 1 \(1 steps\)"):
        ConstrainedHMM(3, emission="gaussian", constraints=ExactVisits(0, 2)).fit(X)


def test_labels_that_break_a_rule_name_the_rule_and_the_step():
    X, y = sequences("gaussian", n=3)
    y[2] = np.full(len(y[2]), -1)
    y[2][:4] = [0, 1, 0, 1]
    rules = [Precedence(0, 2), AtMostVisits(1, 1), ExactVisits(2, 1)]
    with pytest.raises(InfeasibleSequenceError, match="Sequence 2") as caught:
        ConstrainedHMM(3, emission="gaussian", constraints=rules).fit(X, y)
    message = str(caught.value)
    assert "AtMostVisits(1, 1)" in message and "step 3: known to be 1" in message
    assert "Precedence" not in message and "ExactVisits" not in message
