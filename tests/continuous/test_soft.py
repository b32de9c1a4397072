"""Soft rules in continuous time, against enumeration and against exponentials of the definition."""

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.linalg import expm

from skchmm import ConstrainedHMM, CTConstrainedHMM
from skchmm.constraints import EndsIn, ForbiddenEdges, NoDwell, NoReentry, Soft, StartsIn, Window

from ..inference.test_soft import LABELS, cost
from ..oracles.predicates import holds


def random_generator(rng):
    Q = rng.uniform(0.2, 1.5, size=(3, 3))
    np.fill_diagonal(Q, 0)
    return Q - np.diag(Q.sum(axis=1))


OBSERVED = [
    [Soft(NoReentry("a"), 1.2)],
    [Soft(NoDwell("b"), 0.8, each=True), Soft(EndsIn("c"), 1.0), StartsIn(["a", "b"])],
    [Soft(Window("a", 1, 3), 0.5, each=True), Soft(NoReentry("b"), 2.0, each=True)],
    [Soft(StartsIn("c"), 1.0), ForbiddenEdges([("a", "b")])],
]


@pytest.mark.parametrize("rules", OBSERVED)
def test_observed_equals_enumeration(rules):
    rng = np.random.default_rng(0)
    soft = [rule for rule in rules if isinstance(rule, Soft)]
    hard = [rule for rule in rules if not isinstance(rule, Soft)]
    start, Q = rng.dirichlet(np.ones(3)), random_generator(rng)
    model = CTConstrainedHMM.from_parameters(
        start, Q, states=LABELS, constraints=rules, semantics="observed"
    )
    for T in (1, 2, 4):
        times, X = np.cumsum(rng.exponential(size=T)), rng.normal(size=(T, 3))
        steps = [expm(Q * gap) for gap in np.diff(times)]
        paths = {}
        for x in itertools.product(range(3), repeat=T):
            labels = [LABELS[i] for i in x]
            if holds(hard, labels):
                p = start[x[0]] * np.prod([P[i, j] for P, i, j in zip(steps, x, x[1:])])
                paths[x] = np.log(p) + X[np.arange(T), list(x)].sum() - cost(soft, labels)
        log_z = np.logaddexp.reduce(list(paths.values()))
        wanted = np.zeros((T, 3))
        for x, value in paths.items():
            wanted[np.arange(T), list(x)] += np.exp(value - log_z)
        assert_allclose(model.log_likelihood([X], times=[times]), log_z, rtol=1e-9)
        assert_allclose(model.predict_proba(X, times=times), wanted, atol=1e-9)
        assert_allclose(model.decode(X, times=times)[0], max(paths.values()), rtol=1e-9)
        best = sorted(paths.values(), reverse=True)[:4]
        assert_allclose(
            [value for value, _ in model.kbest([X], 4, times=[times])[0]], best, rtol=1e-9
        )


def test_path_pays_for_jumps_that_are_not_seen():
    """Memory for NoReentry('a'): 0 before a, 1 in it, 2 after it, 3 broken."""
    rng = np.random.default_rng(1)
    start, Q, w, v = rng.dirichlet(np.ones(3)), random_generator(rng), 1.3, 0.7
    rules = [Soft(NoReentry("a"), w), Soft(EndsIn("b"), v)]
    model = CTConstrainedHMM.from_parameters(start, Q, states=LABELS, constraints=rules)
    nodes = [(i, m) for m in range(4) for i in range(3)]
    big = np.zeros((12, 12))
    for k, (i, m) in enumerate(nodes):
        for j in range(3):
            if i == j:
                big[k, k] = Q[i, i]
                continue
            there, factor = m, 1.0
            if j == 0:
                there = {0: 1, 1: 1, 2: 3, 3: 3}[m]
                factor = np.exp(-w) if m == 2 else 1.0
            elif m == 1:
                there = 2
            big[k, nodes.index((j, there))] += Q[i, j] * factor
    first = np.zeros(12)
    for i in range(3):
        first[nodes.index((i, 1 if i == 0 else 0))] = start[i]
    final = np.array([1.0 if i == 1 else np.exp(-v) for i, _ in nodes])
    state = np.array([i for i, _ in nodes])
    for T in (1, 3, 6):
        times, X = np.cumsum(rng.exponential(2.0, size=T)), rng.normal(size=(T, 3))
        alpha = [first * np.exp(X[0, state])]
        for t in range(1, T):
            alpha.append(alpha[-1] @ expm(big * (times[t] - times[t - 1])) * np.exp(X[t, state]))
        beta = [final]
        for t in range(T - 1, 0, -1):
            beta.append(expm(big * (times[t] - times[t - 1])) @ (np.exp(X[t, state]) * beta[-1]))
        z = alpha[-1] @ final
        wanted = np.array([np.bincount(state, a * b / z) for a, b in zip(alpha, beta[::-1])])
        assert_allclose(model.log_likelihood([X], times=[times]), np.log(z), rtol=1e-9)
        assert_allclose(model.predict_proba(X, times=times), wanted, atol=1e-9)
        filtered = np.array([np.bincount(state, a) / a.sum() for a in alpha])
        assert_allclose(model.filter_proba(X, times=times), filtered, atol=1e-9)


@pytest.mark.parametrize("weight", [1.0, 30.0, 1e4])
def test_observed_filtering_pays_as_in_discrete_time(weight):
    """With equal gaps; the very heavy rules go through logarithms."""
    rng = np.random.default_rng(3)
    start, Q = rng.dirichlet(np.ones(3)), random_generator(rng)
    rules = [
        Soft(NoReentry("a"), weight), Soft(NoDwell("b"), weight / 2, each=True),
        Soft(StartsIn("c"), weight), Window("b", 0, 4),
    ]  # fmt: skip
    timed = CTConstrainedHMM.from_parameters(
        start, Q, states=LABELS, constraints=rules, semantics="observed"
    )
    plain = ConstrainedHMM.from_parameters(start, expm(Q), states=LABELS, constraints=rules)
    X = rng.normal(size=(6, 3))
    X[2, :2] = -np.inf
    X[3, 1:] = -np.inf
    times = np.arange(6.0)
    assert_allclose(timed.filter_proba(X, times=times), plain.filter_proba(X), atol=1e-9)
    every = Soft(ForbiddenEdges([(i, j) for i in LABELS for j in LABELS]), weight, each=True)
    assert_allclose(
        timed.with_constraints(every).filter_proba(X, times=times),
        plain.with_constraints(None).filter_proba(X),
        atol=1e-9,
    )
    asked = [EndsIn("b"), NoReentry("a"), NoReentry("c")]
    for rule in asked:
        assert_allclose(
            timed.probability(rule, X, times=times), plain.probability(rule, X), atol=1e-9
        )
    assert_allclose(
        timed.visit_distribution("c", X, times=times, max_visits=3),
        plain.visit_distribution("c", X, max_visits=3),
        atol=1e-9,
    )


@pytest.mark.parametrize("semantics", ["path", "observed"])
def test_em_climbs(semantics):
    rng = np.random.default_rng(2)
    X = [rng.normal(size=(n, 1)) for n in (6, 9, 4)]
    times = [np.cumsum(rng.exponential(size=len(x))) for x in X]
    rules = [Soft(NoReentry(0), 1.0), Soft(EndsIn(1), 0.5)]
    model = CTConstrainedHMM(2, constraints=rules, semantics=semantics, n_iter=200, tol=1e-3)
    model.fit(X, times=times)
    assert (np.diff(model.history_) > -1e-8 * np.abs(model.history_[1:])).all()


def test_rules_that_count_steps_have_no_meaning_on_a_jump_path():
    with pytest.raises(ValueError, match="counts steps"):
        CTConstrainedHMM.from_parameters(
            [0.5, 0.5], [[-1.0, 1.0], [1.0, -1.0]], states=["a", "b"],
            constraints=Soft(NoDwell("a"), 1.0, each=True),
        )  # fmt: skip


def test_heavy_rules():
    """A start that costs more than a double can hold is possible; a rate that does is refused."""
    generator, states = [[-1.0, 1.0], [1.0, -1.0]], ["a", "b"]
    X, times = np.array([[-np.inf, 0.0], [0.0, 0.0]]), [0.0, 1.0]
    for semantics, weight in (("observed", 1e4), ("path", 700.0)):
        model = CTConstrainedHMM.from_parameters(
            [0.5, 0.5], generator, states=states, semantics=semantics,
            constraints=Soft(StartsIn("a"), weight),
        )  # fmt: skip
        assert_allclose(model.log_likelihood(X, times=times), np.log(0.5) - weight)
        assert_allclose(model.filter_proba(X, times=times)[0], [0.0, 1.0])
    with pytest.raises(ValueError, match="at most 700, got 701"):
        CTConstrainedHMM.from_parameters(
            [0.5, 0.5], generator, states=states, constraints=Soft(NoReentry("a"), 701)
        )


def test_a_mask_takes_no_soft_rules():
    with pytest.raises(ValueError, match="takes no soft rules"):
        CTConstrainedHMM.from_parameters(
            [0.5, 0.5], [[-1.0, 1.0], [1.0, -1.0]], states=["a", "b"], semantics="masked",
            constraints=Soft(ForbiddenEdges([("a", "b")]), 1.0),
        )  # fmt: skip
