import sys
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2

from skchmm import ConstrainedHMM, InfeasibleSequenceError, InfeasibleSequenceWarning
from skchmm.constraints import (
    AtLeastVisits,
    AtMostVisits,
    EndsIn,
    ExactVisits,
    NoDwell,
    Occupancy,
    Precedence,
    StartsIn,
    VisitBy,
    Window,
)
from skchmm.emissions import Categorical
from skchmm.inference.settings import settings as sizes
from tests.oracles.chains import feasible_paths, log_total, posterior, random_chain, random_scores
from tests.oracles.predicates import as_set, entries, holds
from tests.oracles.strategies import compositions, constraint_lists, label_sets

STATES = ["a", "b", "c"]
CATALOGS = [
    [],
    [ExactVisits("a", 2)],
    [Precedence("a", "b"), EndsIn({"b", "c"})],
    [Window("b", 1, 3), VisitBy("a", 2)],
]


def model_of(chain, constraints, **params):
    try:
        return ConstrainedHMM.from_parameters(
            *chain, states=STATES, constraints=constraints, **params
        )
    except ValueError:  # no path of any length
        return None


def feasible_case(seed, constraints, n_steps, zeros=0.2):
    """(model, X, {path: probability}), or None where there is no feasible path."""
    rng = np.random.default_rng(seed)
    chain, X = random_chain(rng, 3, zeros), random_scores(rng, n_steps, 3, zeros)
    model = model_of(chain, constraints)
    paths = feasible_paths(*chain, X, STATES, constraints)
    return (model, X, posterior(paths)) if model is not None and paths else None


def assert_drawn_from(draws, probabilities):
    """Chi-square; rare paths are taken together."""
    counts, n = Counter(map(tuple, np.asarray(draws).tolist())), len(draws)
    assert set(counts) <= set(probabilities)
    common = [path for path, p in probabilities.items() if n * p >= 5]
    expected = [n * probabilities[path] for path in common]
    observed = [counts[path] for path in common]
    rest = n - sum(expected)
    if rest >= 5:
        expected.append(rest)
        observed.append(n - sum(observed))
    statistic = sum((o - e) ** 2 / e for o, e in zip(observed, expected))
    assert len(expected) == 1 or chi2.sf(statistic, len(expected) - 1) > 1e-4


# ---------------------------------------------------------------------- draws
@pytest.mark.parametrize("constraints", CATALOGS, ids=str)
@pytest.mark.parametrize("n_steps", [3, 5])
@pytest.mark.parametrize("seed", [0, 1])
def test_posterior_draws_have_the_probabilities_of_the_paths(constraints, n_steps, seed):
    model, X, expected = feasible_case(seed, constraints, n_steps, zeros=0.1)
    assert_drawn_from(model.sample_posterior(X, 20_000, random_state=0), expected)


@pytest.mark.parametrize("constraints", CATALOGS, ids=str)
def test_draws_of_long_sequences_go_by_blocks(constraints, monkeypatch):
    model, X, expected = feasible_case(3, constraints, 7, zeros=0.0)
    monkeypatch.setattr(sizes, "table_bytes", 1)
    draws = model.sample_posterior(X, 20_000, random_state=0)
    monkeypatch.undo()
    assert (draws == model.sample_posterior(X, 20_000, random_state=0)).all()
    assert_drawn_from(draws, expected)


def test_posterior_draws_under_extreme_likelihood_ratios():
    # The only paths that may end in c pass through it all along, against e^-2000 a step.
    chain = np.array([0.5, 0.25, 0.25]), np.array([[0.5, 0.5, 0], [0.5, 0.5, 0], [0.1, 0.1, 0.8]])
    model = model_of(chain, [EndsIn("c")])
    X = np.tile([0.0, 0.0, -2000.0], (50, 1))
    assert (model.sample_posterior(X, 5, random_state=0) == "c").all()


def test_posterior_draws_use_frames_by_symbol():
    emission = Categorical.from_parameters([[0.7, 0.3], [0.2, 0.8], [0.5, 0.5]], symbols=["x", "y"])
    chain = random_chain(np.random.default_rng(0), 3)
    model = model_of(chain, [ExactVisits("b", 1)], emission=emission)
    X = np.array(list("xyyx"))
    scores = np.log([[0.7, 0.2, 0.5] if x == "x" else [0.3, 0.8, 0.5] for x in X])
    expected = posterior(feasible_paths(*chain, scores, STATES, model.constraints_))
    several = model.sample_posterior([X[:2], X], 20_000, random_state=0)
    assert [drawn.shape for drawn in several] == [(20_000, 2), (20_000, 4)]
    assert_drawn_from(several[1], expected)


@pytest.mark.parametrize("constraints", CATALOGS, ids=str)
def test_prior_draws(constraints):
    emission = Categorical.from_parameters([[0.7, 0.3], [0.2, 0.8], [0.5, 0.5]], symbols=["x", "y"])
    chain = random_chain(np.random.default_rng(0), 3)
    model = model_of(chain, constraints, emission=emission)
    X, y = model.sample(4, 10_000, random_state=0)
    expected = posterior(feasible_paths(*chain, np.zeros((4, 3)), STATES, constraints))
    assert_drawn_from(y, expected)
    # Given the path, steps are independent.
    assert all(x.shape == (4, 1) for x in X)
    rows, labels = np.concatenate(X)[:, 0], np.concatenate(y)
    for label, p in zip(STATES, (0.3, 0.8, 0.5)):
        n = (labels == label).sum()
        assert abs((rows[labels == label] == "y").sum() - n * p) < 4 * np.sqrt(n * p * (1 - p)) + 1


def test_prior_draws_come_in_the_form_that_was_asked_for():
    emission = Categorical.from_parameters([[0.7, 0.3], [0.2, 0.8], [0.5, 0.5]], symbols=["x", "y"])
    model = model_of(
        random_chain(np.random.default_rng(0), 3), CATALOGS[1], emission=emission, random_state=3
    )
    X, y = model.sample(5)
    assert X.shape == (5, 1) and y.shape == (5,)
    again = model.sample(5)
    assert (again[0] == X).all() and (again[1] == y).all()
    other = model.sample(30, random_state=4)[1], model.sample(30)[1]
    assert (other[0] != other[1]).any()
    X, y = model.sample([5, 3, 5])
    assert [len(path) for path in y] == [len(x) for x in X] == [5, 3, 5]
    X, y = model.sample([5])
    assert isinstance(y, list) and len(y) == 1
    assert np.isfinite(model.log_likelihood(X)).all()
    with pytest.raises(InfeasibleSequenceError):
        model.sample(2)
    with pytest.raises(ValueError, match="length"):
        model.sample(0)
    with pytest.raises(ValueError, match="2 values"):
        model.sample([3, 4], 3)
    with pytest.raises(ValueError, match="n_samples"):
        model.sample_posterior(["x", "y", "x"], 0)


# -------------------------------------------------------------- probabilities
@settings(max_examples=100, deadline=None)
@given(
    st.integers(0, 10**6),
    constraint_lists(STATES, max_size=2),
    compositions(STATES, depth=1),
    st.integers(1, 5),
)
def test_probability_of_another_constraint(seed, constraints, other, n_steps):
    case = feasible_case(seed, constraints, n_steps)
    if case is None:
        return
    model, X, paths = case
    expected = sum(p for path, p in paths.items() if holds(other, path))
    assert model.probability(other, X) == pytest.approx([expected], abs=1e-10)
    assert model.probability([other, ~other], X) == pytest.approx([0], abs=1e-10)


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 10**6),
    constraint_lists(STATES, max_size=2),
    label_sets(STATES),
    st.integers(1, 6),
)
def test_visits_and_durations(seed, constraints, A, n_steps):
    case = feasible_case(seed, constraints, n_steps)
    if case is None:
        return
    model, X, paths = case
    visits = model.visit_distribution(A, X)
    assert visits.sum() == pytest.approx(1)
    cut = model.visit_distribution(A, X, max_visits=5)
    assert cut.shape == (1, 6)
    for k in range(6):
        expected = sum(p for path, p in paths.items() if len(entries(path, A)) == k)
        assert cut[0, k] == pytest.approx(expected, abs=1e-9)
        if k < visits.shape[1]:
            assert visits[0, k] == cut[0, k]
    durations = model.expected_duration(A, X)
    steps = sum(p * sum(x in as_set(A) for x in path) for path, p in paths.items())
    mean_visits = sum(p * len(entries(path, A)) for path, p in paths.items())
    assert durations.steps == pytest.approx([steps])
    assert durations.visits == pytest.approx([mean_visits])
    length = steps / mean_visits if mean_visits else np.nan
    assert durations.length == pytest.approx([length], nan_ok=True)


def test_visits_after_parameters_were_replaced():
    """What a model keeps to count visits belongs to its parameters and to the states asked for."""
    rng = np.random.default_rng(8)
    first, second = random_chain(rng, 3), random_chain(rng, 3)
    X, model = random_scores(rng, 5, 3), model_of(first, CATALOGS[2])
    for A in ("b", ["b", "c"], "b"):
        want = model_of(first, CATALOGS[2]).visit_distribution(A, X)
        np.testing.assert_array_equal(model.visit_distribution(A, X), want)
    model.startprob_, model.transmat_ = second
    want = model_of(second, CATALOGS[2]).visit_distribution("b", X)
    np.testing.assert_array_equal(model.visit_distribution("b", X), want)


def test_several_sequences_and_wrong_labels():
    rng = np.random.default_rng(5)
    model = model_of(random_chain(rng, 3), CATALOGS[2])
    X = [random_scores(rng, n, 3) for n in (3, 5)]
    for values in (
        lambda X: model.probability(EndsIn("c"), X),
        lambda X: model.expected_duration("b", X).length,
        lambda X: model.visit_distribution("b", X, max_visits=2)[:, 1],
    ):
        assert values(X) == pytest.approx([values(X[0])[0], values(X[1])[0]])
    with pytest.raises(ValueError, match="'d'"):
        model.probability(EndsIn("d"), X)
    with pytest.raises(ValueError, match="'d'"):
        model.expected_duration("d", X)
    with pytest.raises(ValueError, match="max_visits"):
        model.visit_distribution("a", X, max_visits=-1)


def test_infeasible_sequences():
    rng = np.random.default_rng(6)
    chain, X = random_chain(rng, 3), [random_scores(rng, n, 3) for n in (2, 5)]
    rules = [AtLeastVisits("a", 2)]
    strict, lenient = (model_of(chain, rules, on_infeasible=how) for how in ("raise", "warn"))
    plain = strict.with_constraints(None)
    for ask in (
        lambda model, X: model.probability(EndsIn("c"), X),
        lambda model, X: model.expected_duration("b", X).steps,
        lambda model, X: model.visit_distribution("b", X, max_visits=1)[:, 1],
    ):
        with pytest.raises(InfeasibleSequenceError, match="Sequence 0"):
            ask(strict, X)
        with pytest.warns(InfeasibleSequenceWarning, match="Sequence 0"):
            answer = ask(lenient, X)
        assert answer == pytest.approx([ask(plain, X[0])[0], ask(strict, X[1])[0]])
    impossible = np.full((2, 3), -np.inf)
    with (
        pytest.warns(InfeasibleSequenceWarning),
        pytest.raises(InfeasibleSequenceError, match="probability zero"),
    ):
        lenient.sample_posterior(impossible)


# ----------------------------------------------------------------------- costs
@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), constraint_lists(STATES, max_size=3), st.integers(1, 4))
def test_costs_of_constraints(seed, constraints, n_steps):
    rng = np.random.default_rng(seed)
    chain, X = random_chain(rng, 3, 0.2), random_scores(rng, n_steps, 3, 0.2)
    model = model_of(chain, constraints)
    if model is None:
        return
    costs = model.constraint_costs(X)
    assert list(costs["constraint"]) == [repr(rule) for rule in model.constraints_]
    now = feasible_paths(*chain, X, STATES, model.constraints_)
    for k in range(len(model.constraints_)):
        rest = model.constraints_[:k] + model.constraints_[k + 1 :]
        without = feasible_paths(*chain, X, STATES, rest)
        row = costs.iloc[k]
        if not without:
            assert row["log_prob_gain"] == row["log_likelihood_gain"] == 0
        elif not now:
            assert row["log_prob_gain"] == row["log_likelihood_gain"] == np.inf
        else:
            gain = max(without.values()) - max(now.values())
            assert row["log_prob_gain"] == pytest.approx(gain, abs=1e-9)
            gain = log_total(without) - log_total(now)
            assert row["log_likelihood_gain"] == pytest.approx(gain, abs=1e-9)


def test_costs_find_the_wrong_rule():
    rng = np.random.default_rng(0)
    truth = model_of(random_chain(rng, 3), [StartsIn("a"), NoDwell("c")])
    scores = []
    for path in truth.sample_posterior(np.zeros((30, 3)), 8, random_state=0):
        scores.append(np.where(np.array(STATES) == path[:, None], 0.0, -2.0))
    model = truth.with_constraints([StartsIn("a"), NoDwell("c"), Occupancy("b", at_most=1)])
    costs = model.constraint_costs(scores)
    assert costs.shape == (24, 4)
    means = costs.groupby("constraint")["log_likelihood_gain"].mean()
    assert means.idxmax() == "Occupancy('b', at_most=1)"
    grouped = model.constraint_costs(np.concatenate(scores[:2]), groups=["u"] * 30 + ["v"] * 30)
    assert grouped["sequence"].tolist() == ["u"] * 3 + ["v"] * 3
    no_rules = truth.with_constraints([AtMostVisits("a", 99)]).with_constraints(None)
    assert len(no_rules.constraint_costs(scores)) == 0


def test_costs_say_that_they_need_pandas(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    model = ConstrainedHMM.from_parameters([1.0], [[1.0]], constraints=EndsIn(0))
    with pytest.raises(ImportError, match=r"needs pandas \(pip install pandas\)"):
        model.constraint_costs(np.zeros((2, 1)))
