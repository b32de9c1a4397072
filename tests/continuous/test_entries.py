"""Exact times of entry: against limits of visits, derivatives of the likelihood and simulation."""

import numpy as np
import pytest
from scipy.stats import kstest

from skchmm import CTConstrainedHMM
from skchmm.constraints import AtMostVisits, ForbiddenEdges, Precedence, Soft
from skchmm.continuous import log_space
from skchmm.emissions import Categorical
from skchmm.inference.settings import settings
from tests.oracles.predicates import holds

from .oracle import exponential

STATES = ["well", "ill", "cured", "dead", "gone"]
RULES = {
    "none": None,
    "memory": [AtMostVisits("ill", 1), Precedence("ill", "dead")],
    "soft": [Soft(ForbiddenEdges([("well", "dead"), ("well", "cured")]), 1.3, each=True)],
}
TIMES = np.array([0.0, 0.7, 0.7, 1.9, 4.2, 5.0])


def rates(rng):
    Q = rng.gamma(2.0, 0.2, size=(5, 5))
    Q[3:] = 0.0
    np.fill_diagonal(Q, 0.0)
    return Q - np.diag(Q.sum(axis=1))


def scores(rng, death=4, state=3):
    """Log-likelihoods; from step `death` on only one state is possible."""
    X = rng.normal(size=(6, 5))
    X[1] = X[2] = 0.0
    X[death:, np.arange(5) != state] = -np.inf
    X[:death, 3:] = -np.inf
    X[2] = 0.0  # nothing is known there: perhaps dead
    return X


def model_of(Q, rules, semantics, **params):
    start = np.array([0.6, 0.3, 0.1, 0.0, 0.0])
    return CTConstrainedHMM.from_parameters(
        start, Q, states=STATES, constraints=RULES[rules], semantics=semantics, **params
    )


def visits_instead(X, times, death, before):
    """The same data where being alive shortly before is one more row, and nothing is exact."""
    alive = np.where(np.arange(5) < 3, 0.0, -np.inf)
    X = np.insert(X, death, alive, axis=0)
    return X, np.insert(times, death, times[death] - before)


@pytest.mark.parametrize("rules", list(RULES))
def test_density_is_the_limit_of_probabilities(rules):
    rng = np.random.default_rng(0)
    Q, X = rates(rng), scores(rng)
    exact = model_of(Q, rules, "path", exact_entry=["dead", "gone"])
    visits = model_of(Q, rules, "path")
    found = exact.log_likelihood(X, TIMES)[0]
    errors = []
    for before in (1e-4, 1e-5):
        data = visits_instead(X, TIMES, 4, before)
        errors.append(visits.log_likelihood(*data)[0] - np.log(before) - found)
    assert abs(errors[1]) < 1e-4
    assert abs(errors[1]) < 0.2 * abs(errors[0])
    data = visits_instead(X, TIMES, 4, 1e-6)
    proba = np.delete(visits.predict_proba(*data), 4, axis=0)
    np.testing.assert_allclose(exact.predict_proba(X, TIMES), proba, atol=1e-5)
    at = np.array([0.0, 0.3, 0.7, 3.0, 4.1, 4.2, 4.5, 5.0, 7.0])
    np.testing.assert_allclose(
        exact.predict_proba(X, TIMES, at=at), visits.predict_proba(*data, at=at), atol=1e-5
    )


@pytest.mark.parametrize("rules", list(RULES))
def test_observed_by_the_definition(rules):
    """Between observations the chain is free; an entry is a jump from wherever it was."""
    rng = np.random.default_rng(1)
    Q, X = rates(rng), scores(rng)
    model = model_of(Q, rules, "observed", exact_entry=["dead", "gone"])
    entry = np.zeros((5, 5))
    entry[:3, 3:] = Q[:3, 3:]
    steps = [exponential(Q * gap) for gap in np.diff(TIMES)]
    steps[3] = steps[3] @ entry
    total, marginals, best = 0.0, np.zeros((6, 5)), (-np.inf, None)
    plain = model_of(Q, rules, "observed")
    for path in np.ndindex(*[5] * 6):
        p = plain.startprob_[path[0]] * np.exp(X[np.arange(6), path].sum())
        p *= np.prod([step[a, b] for step, a, b in zip(steps, path, path[1:])])
        if p == 0:
            continue
        labels = [STATES[k] for k in path]
        hard = RULES["memory"] if rules == "memory" else []
        if hard and not all(holds([rule], labels) for rule in hard):
            continue
        if rules == "soft":
            pairs = list(zip(labels, labels[1:]))
            p *= np.exp(-1.3 * sum(pairs.count(e) for e in [("well", "dead"), ("well", "cured")]))
        total += p
        marginals[np.arange(6), path] += p
        best = max(best, (p, labels))
    assert model.log_likelihood(X, TIMES)[0] == pytest.approx(np.log(total), rel=1e-12)
    np.testing.assert_allclose(model.predict_proba(X, TIMES), marginals / total, atol=1e-12)
    log_prob, path = model.decode(X, TIMES)
    assert log_prob == pytest.approx(np.log(best[0]))
    assert path.tolist() == best[1]
    assert model.kbest(X, 2, TIMES)[0][0] == pytest.approx(log_prob)
    at = [4.0, 4.2, 5.0, 6.5]
    proba = model.predict_proba(X, TIMES, at=at)
    np.testing.assert_allclose(proba[1:], np.eye(5)[[3, 3, 3]], atol=1e-12)
    # between: the chain is free, given the states at 1.9 and at 4.2
    first, second = exponential(Q * 2.1), exponential(Q * 0.2) @ entry
    given = (first * second[:, 3])[:3] / (first @ second)[:3, [3]]
    expected = (marginals[3] / total)[:3] @ given
    np.testing.assert_allclose(proba[0], expected, atol=1e-12)


@pytest.mark.parametrize("semantics", ["path", "observed"])
@pytest.mark.parametrize("rules", list(RULES))
def test_expected_jumps_and_times_are_derivatives(rules, semantics, monkeypatch):
    """Fisher's identity: d log L / d log q = jumps - q times; in doubles and in logarithms."""
    rng = np.random.default_rng(2)
    Q, X = rates(rng), scores(rng)
    model = model_of(Q, rules, semantics, exact_entry=["dead", "gone"])
    every = [settings.negligible, ()]
    for levels in every:
        monkeypatch.setattr(settings, "negligible", levels)
        chain, sequences = model._chain(), model._read(X, None, None, times=TIMES)
        counts = chain.smooth(model._frames(sequences), np.array([0, 6]), counts=True).counts
        for i, j in [(0, 1), (1, 3), (2, 3), (0, 3), (1, 4), (2, 0)]:
            moved = []
            for step in (1e-5, -1e-5):
                other = Q.copy()
                other[i, j] *= np.exp(step)
                other[i, i] -= other[i].sum()
                again = model_of(other, rules, semantics, exact_entry=["dead", "gone"])
                moved.append(again.log_likelihood(X, TIMES)[0])
            slope = (moved[0] - moved[1]) / 2e-5
            expected = counts.jumps[i, j] - Q[i, j] * counts.stays[i]
            assert slope == pytest.approx(expected, abs=1e-6), (levels, i, j)


@pytest.mark.parametrize("semantics", ["path", "observed"])
def test_em_climbs_and_keeps_states_that_are_never_left(semantics):
    rng = np.random.default_rng(3)
    Q = rates(rng)
    true = model_of(
        Q, "none", semantics, exact_entry=["dead", "gone"],
        emission=Categorical.from_parameters(np.eye(5), symbols=STATES),
    )  # fmt: skip
    times = [np.cumsum(rng.exponential(0.8, size=7)) for _ in range(30)]
    _, y, seen = true.sample(times=times, random_state=0, return_times=True)
    X = [np.where(np.eye(5)[[STATES.index(k) for k in path]] > 0, 0.0, -np.inf) for path in y]
    for x in X:
        x[1, :3] = 0.0  # alive, but nothing else is known
    model = CTConstrainedHMM(
        states=STATES, emission="precomputed", exact_entry=("dead", "gone"), semantics=semantics,
        n_iter=8, tol=0, smoothing=0,
    )  # fmt: skip
    with pytest.warns(Warning, match="did not converge"):
        model.fit(X, times=seen)
    assert (np.diff(model.history_) > -1e-9).all()
    assert (model.generator_[3:] == 0).all()


@pytest.mark.parametrize("semantics", ["path", "observed"])
def test_all_answers(semantics):
    """Paths, draws and filters of a sequence that ends with a death, and of its limit."""
    rng = np.random.default_rng(4)
    Q, X = rates(rng), scores(rng)
    model = model_of(Q, "none", semantics, exact_entry=["dead", "gone"])
    path = model.decode_path(X, TIMES)
    assert path.states[-1] == "dead"
    assert path.times[-1] == 4.2
    assert path.exact
    labels, paths = model.sample_posterior(X, 300, TIMES, random_state=0, return_paths=True)
    assert all(p.times[-1] == 4.2 and p.states[-1] == "dead" for p in paths)
    assert all(p.at(TIMES).tolist() == row.tolist() for p, row in zip(paths, labels))
    proba = model.predict_proba(X, TIMES)
    shares = np.stack([(labels == state).mean(axis=0) for state in STATES], axis=1)
    np.testing.assert_allclose(shares, proba, atol=0.12)
    filtered = model.filter_proba(X, TIMES)
    np.testing.assert_allclose(filtered[-1], proba[-1], atol=1e-12)
    np.testing.assert_allclose(filtered[4:], np.eye(5)[[3, 3]], atol=1e-12)
    for algorithm in ("posterior", "mea", "map"):
        again = model_of(Q, "none", semantics, exact_entry="dead", algorithm=algorithm)
        assert again.predict(X, TIMES)[4:].tolist() == ["dead", "dead"]
    # the same in logarithms
    steps = model._chain().in_logs(model._frames(model._read(X, None, None, times=TIMES)).gaps)
    chain = model._chain()
    log_z, _ = log_space.smooth_log(
        chain.log_first(), steps.ahead, steps.back,
        chain.log_frames(model._frames(model._read(X, None, None, times=TIMES))),
        chain.graph.log_final,
    )  # fmt: skip
    assert log_z == pytest.approx(model.log_likelihood(X, TIMES)[0], rel=1e-10)


@pytest.mark.parametrize("semantics", ["path", "observed"])
def test_on_the_day_of_a_visit(semantics):
    """A visit and a death at one time: the jump happens there."""
    Q = rates(np.random.default_rng(5))
    model = model_of(Q, "none", semantics, exact_entry="dead")
    X = np.full((2, 5), -np.inf)
    X[0, 1] = X[1, 3] = 0.0
    expected = np.log(0.3 * Q[1, 3])
    assert model.log_likelihood(X, [2.0, 2.0])[0] == pytest.approx(expected)
    assert model.predict(X, [2.0, 2.0]).tolist() == ["ill", "dead"]
    assert model.kbest(X, 1, [2.0, 2.0])[0][0] == pytest.approx(expected)
    assert model.decode_path(X, [2.0, 2.0]).states.tolist() == ["ill", "dead"]


def test_a_sequence_that_begins_with_it_shows_no_entry():
    Q = rates(np.random.default_rng(6))
    start = [0.2, 0.2, 0.2, 0.4, 0.0]
    model = CTConstrainedHMM.from_parameters(start, Q, states=STATES, exact_entry="dead")
    X = np.full((3, 5), -np.inf)
    X[:, 3] = 0.0
    assert model.log_likelihood(X, [0.0, 1.0, 3.0])[0] == pytest.approx(np.log(0.4))


def test_known_labels_show_entries_too():
    """What is known of a label counts as an emission that leaves no other state."""
    rng = np.random.default_rng(7)
    Q = rates(rng)
    model = model_of(Q, "none", "path", exact_entry="dead")
    X = rng.normal(size=(3, 5))
    known = [None, {"well", "ill", "cured"}, "dead"]
    told = X.copy()
    told[1, 3:] = told[2, np.arange(5) != 3] = -np.inf
    times = [0.0, 1.0, 2.5]
    np.testing.assert_allclose(
        model.log_likelihood(X, times, known=known), model.log_likelihood(told, times)
    )
    np.testing.assert_allclose(
        model.predict_proba(X, times, known=known, at=[1.7, 2.5, 3.0]),
        model.predict_proba(told, times, at=[1.7, 2.5, 3.0]),
    )


def test_what_is_wrong_is_said():
    Q = rates(np.random.default_rng(8))
    with pytest.raises(ValueError, match=r"unknown state 'deda'.*did you mean 'dead'"):
        model_of(Q, "none", "path", exact_entry="deda")
    with pytest.raises(ValueError, match="the state 'ill' can be left"):
        model_of(Q, "none", "path", exact_entry=["ill"])
    with pytest.raises(ValueError, match="exact_entry needs clock=None"):
        model_of(Q, "none", "path", exact_entry="dead", clock="log")
    fixed = np.full((2, 2), np.nan)
    fixed[1, 0] = 0.5
    X, times = [[0], [1]], [0.0, 1.0]
    with pytest.raises(ValueError, match="the state 1 can be left"):
        CTConstrainedHMM(2, emission="categorical", exact_entry=1, generator_fixed=fixed).fit(
            X, times=times
        )
    with pytest.warns(UserWarning, match="no sequence shows an entry"):
        CTConstrainedHMM(2, emission="categorical", exact_entry=1, n_iter=0).fit(X, times=times)


@pytest.mark.parametrize("kind", ["ordinary", "forecast"])
def test_pseudo_residuals_are_uniform(kind):
    rng = np.random.default_rng(0)
    exam = Categorical.from_parameters([[0.8, 0.2, 0], [0.3, 0.7, 0], [0, 0, 1]])
    model = CTConstrainedHMM.from_parameters(
        [0.9, 0.1, 0], [[0, 0.3, 0.05], [0.4, 0, 0.3], [0, 0, 0]], emission=exam, exact_entry=2,
        constraints=AtMostVisits(1, 2),
    )  # fmt: skip
    times = [np.cumsum(rng.exponential(size=8)) for _ in range(150)]
    X, _, times = model.sample(times=times, random_state=0, return_times=True)
    found = model.pseudo_residuals(X, times=times, kind=kind, random_state=1)
    assert kstest(np.concatenate([x.ravel() for x in found]), "uniform").pvalue > 0.01


def test_bootstrap_has_days_of_death_too():
    """Draws that would find deaths at visits would give rates that are too low."""
    exam = Categorical.from_parameters(np.eye(2))
    model = CTConstrainedHMM.from_parameters(
        [1, 0], [[0, 0.5], [0, 0]], emission=exam, exact_entry=1, init="fitted", smoothing=0,
    )  # fmt: skip
    times = [np.array([0.0, 4.0]) for _ in range(300)]
    X, _, times = model.sample(times=times, random_state=0, return_times=True)
    model.fit(X, times=times)
    days = np.array([t[1] for t in times])
    died = np.array([x[1, 0] == 1 for x in X])
    assert model.generator_[0, 1] == pytest.approx(died.sum() / days.sum(), rel=1e-4)
    asked = [np.array([0.0, 4.0]) for _ in range(300)]
    data = {"times": asked, "method": "bootstrap", "n_draws": 20, "random_state": 0}
    lower, upper = model.confidence_intervals(X, **data)["generator_"]
    assert lower[0, 1] < model.generator_[0, 1] < upper[0, 1]
    assert upper[0, 1] - lower[0, 1] < 0.2
