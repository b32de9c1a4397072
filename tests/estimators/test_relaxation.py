"""on_infeasible="relax" against brute force: fewest broken rules, then the most probable path."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose

from skchmm import (
    ConstrainedHMM,
    CTConstrainedHMM,
    HSMMDecoder,
    InfeasibleSequenceError,
    InfeasibleSequenceWarning,
)
from skchmm.constraints import (
    AtMostVisits,
    EndsIn,
    ExactVisits,
    ForbiddenEdges,
    MinDuration,
    NoDwell,
    NoReentry,
    Soft,
    StartsIn,
    Window,
)

from ..oracles.chains import feasible_paths, posterior, random_chain, random_scores
from ..oracles.predicates import holds

LABELS = ["a", "b", "c"]
RULES = [
    StartsIn("a"),
    EndsIn("c"),
    NoReentry("b"),
    NoDwell("b"),
    ForbiddenEdges([("a", "c")]),
    ExactVisits("c", 1),
    MinDuration("a", 2),
    AtMostVisits("a", 1),
    Window("b", 1, 3),
]


def best_relaxed(start, trans, scores, rules):
    """(fewest broken rules, {path: log P} of the paths that break so few)."""
    paths = feasible_paths(start, trans, scores, LABELS)
    broken = {x: sum(not holds(rule, x) for rule in rules) for x in paths}
    fewest = min(broken.values())
    return fewest, {x: value for x, value in paths.items() if broken[x] == fewest}


@pytest.mark.parametrize("seed", range(15))
def test_relaxed_paths_equal_brute_force(seed):
    rng = np.random.default_rng(seed)
    start, trans = random_chain(rng, 3)
    rules = [RULES[k] for k in rng.choice(len(RULES), size=rng.integers(1, 5), replace=False)]
    model = ConstrainedHMM.from_parameters(
        start, trans, states=LABELS, constraints=rules, on_infeasible="relax"
    )
    X = [random_scores(rng, n, 3, impossible=0.4) for n in rng.integers(1, 6, size=6)]
    X = [x for x in X if (x > -np.inf).any(axis=1).all()]
    wanted = [best_relaxed(start, trans, x, rules) for x in X]
    n_relaxed = sum(fewest > 0 for fewest, _ in wanted)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", InfeasibleSequenceWarning)
        log_prob, paths = model.decode(X)
        proba = model.predict_proba(X)
    assert len(said) == 2 * (n_relaxed > 0)
    for k, (fewest, found) in enumerate(wanted):
        path = tuple(paths[k])
        assert sum(not holds(rule, path) for rule in rules) == fewest
        assert_allclose(log_prob[k], max(found.values()), rtol=1e-10)
        assert_allclose(found[path], max(found.values()), rtol=1e-10)
        weights = np.exp(np.array(list(found.values())) - max(found.values()))
        marginals = np.zeros((len(path), 3))
        for x, p in zip(found, weights / weights.sum()):
            marginals[np.arange(len(x)), [LABELS.index(label) for label in x]] += p
        assert_allclose(proba[k], marginals, atol=1e-9)
    if n_relaxed:
        relaxed = [k for k, (fewest, _) in enumerate(wanted) if fewest > 0]
        assert [each.sequence for each in model.relaxed_] == relaxed
        for each in model.relaxed_:
            path = tuple(paths[each.sequence])
            assert [rule for rule, _ in each.broken] == [r for r in rules if not holds(r, path)]


@pytest.mark.parametrize("seed", range(8))
def test_other_questions_equal_brute_force(seed):
    """k-best, draws, probabilities and durations are those of the paths that break the fewest."""
    rng = np.random.default_rng(100 + seed)
    start, trans = random_chain(rng, 3)
    rules = [RULES[k] for k in rng.choice(len(RULES), size=4, replace=False)]
    soft = Soft(NoDwell("a"), 1.0, each=True)
    model = ConstrainedHMM.from_parameters(
        start, trans, states=LABELS, constraints=[*rules, soft], on_infeasible="relax"
    )
    X = [np.zeros((3, 3)), random_scores(rng, 4, 3, impossible=0.5)]
    X[1][(X[1] == -np.inf).all(axis=1)] = 0.0
    wanted = [best_relaxed(start, trans, x, rules) for x in X]
    found = [
        {x: v - sum(p == ("a", "a") for p in zip(x, x[1:])) for x, v in paths.items()}
        for _, paths in wanted
    ]
    of_path = [posterior(paths) for paths in found]
    asked, inside = EndsIn("b"), {"a", "c"}

    def entries(x):
        return sum(now in inside and before not in inside for before, now in zip((None, *x), x))

    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", InfeasibleSequenceWarning)
        best = model.kbest(X, 5)
        drawn = model.sample_posterior(X, 3000, random_state=seed)
        probability = model.probability(asked, X)
        visits = model.visit_distribution(inside, X, max_visits=2)
        durations = model.expected_duration(inside, X)
    assert len(said) == 5 * any(fewest for fewest, _ in wanted)
    for k, chances in enumerate(of_path):
        values = sorted(found[k].values(), reverse=True)[:5]
        assert_allclose([value for value, _ in best[k]], values, rtol=1e-9)
        assert all(tuple(x) in found[k] for _, x in best[k])
        for x, p in chances.items():
            assert abs(np.mean((drawn[k] == np.array(x)).all(axis=1)) - p) < 0.06
        holding = sum(p for x, p in chances.items() if holds(asked, x))
        assert_allclose(probability[k], holding, atol=1e-9)
        shares = [sum(p for x, p in chances.items() if entries(x) == n) for n in range(3)]
        assert_allclose(visits[k], shares, atol=1e-9)
        steps = sum(p * sum(label in inside for label in x) for x, p in chances.items())
        assert_allclose(durations.steps[k], steps, atol=1e-9)


@pytest.mark.parametrize("semantics", ["path", "observed"])
def test_other_questions_in_continuous_time(semantics):
    rules = [StartsIn("a"), EndsIn("b")]
    model = CTConstrainedHMM.from_parameters(
        [0.5, 0.5], [[-1.0, 1.0], [2.0, -2.0]], states=["a", "b"], constraints=rules,
        semantics=semantics, on_infeasible="relax",
    )  # fmt: skip
    fewer = model.with_constraints(StartsIn("a"))
    X, times = np.array([[0, -1.0], [-1.0, 0], [0, -np.inf]]), [0.0, 1.0, 1.5]
    at = [0.5, 1.2]
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", InfeasibleSequenceWarning)
        path, between = model.decode_path(X, times), model.predict_proba(X, times, at=at)
        best = model.kbest(X, 2, times)
        drawn, probability = (
            model.sample_posterior(X, 20, times),
            model.probability(rules[0], X, times),
        )
    assert len(said) == 5 and "EndsIn('b') at its end" in str(said[0].message)
    assert path.log_prob == pytest.approx(fewer.decode_path(X, times).log_prob)
    assert_allclose(between, fewer.predict_proba(X, times, at=at), atol=1e-12)
    assert_allclose([v for v, _ in best], [v for v, _ in fewer.kbest(X, 2, times)], rtol=1e-12)
    assert (drawn[:, 0] == "a").all() and (drawn[:, -1] == "a").all()
    assert_allclose(probability, 1.0)


def test_filtering_goes_on_without_rules_as_a_stream_does():
    model = ConstrainedHMM.from_parameters(
        [0.5, 0.5], [[0.5, 0.5], [0.5, 0.5]], states=["a", "b"],
        constraints=[StartsIn("a"), NoReentry("a")], on_infeasible="relax",
    )  # fmt: skip
    X = np.array([[0, 0.0], [-np.inf, 0], [0, -np.inf], [0.0, 0.0]])
    with pytest.warns(InfeasibleSequenceWarning, match="without the constraints"):
        found = model.filter_proba(X)
    stream = model.stream()
    with pytest.warns(InfeasibleSequenceWarning, match="constraints are left out"):
        assert_allclose(found, [stream.push(row).proba for row in X], atol=1e-12)


def test_relaxed_is_of_the_last_call():
    model = ConstrainedHMM.from_parameters(
        [0.5, 0.5], [[0.5, 0.5], [0.5, 0.5]], states=["a", "b"], constraints=EndsIn("b"),
        on_infeasible="relax",
    )  # fmt: skip
    with pytest.warns(InfeasibleSequenceWarning):
        model.predict(np.array([[0, 0], [0, -np.inf]]))
    assert len(model.relaxed_) == 1
    model.predict(np.zeros((2, 2)))
    assert model.relaxed_ == []


def test_the_warning_names_rules_steps_and_sequences():
    model = ConstrainedHMM.from_parameters(
        [0.5, 0.5], [[0.5, 0.5], [0.5, 0.5]], states=["a", "b"],
        constraints=[NoReentry("a"), EndsIn("b")], on_infeasible="relax",
    )  # fmt: skip
    sure = np.array([[0, -np.inf], [-np.inf, 0], [0, -np.inf]])
    message = r"NoReentry\('a'\) at step 2, EndsIn\('b'\) at its end"
    with pytest.warns(InfeasibleSequenceWarning, match=message):
        path = model.predict([np.zeros((2, 2)), sure])[1]
    assert path.tolist() == ["a", "b", "a"]
    (relaxed,) = model.relaxed_
    assert (relaxed.sequence, relaxed.n_steps) == (1, 3)
    assert relaxed.broken == [(NoReentry("a"), 2), (EndsIn("b"), 3)]


def test_soft_rules_still_count():
    rules = [EndsIn("b"), Soft(StartsIn("b"), 5.0)]
    model = ConstrainedHMM.from_parameters(
        [0.5, 0.5], [[0.5, 0.5], [0.5, 0.5]], states=["a", "b"], constraints=rules,
        on_infeasible="relax",
    )  # fmt: skip
    X = np.array([[1.0, 0.0], [0.0, 0.0], [0.0, -np.inf]])
    with pytest.warns(InfeasibleSequenceWarning):
        log_prob, path = model.decode(X)
    assert path.tolist() == ["b", "a", "a"]
    assert_allclose(log_prob, 3 * np.log(0.5))


@pytest.mark.parametrize("algorithm", ["posterior", "map"])
def test_other_algorithms(algorithm):
    model = ConstrainedHMM.from_parameters(
        [0.5, 0.5], [[0.5, 0.5], [0.5, 0.5]], states=["a", "b"],
        constraints=[NoReentry("a"), EndsIn("b")], on_infeasible="relax", algorithm=algorithm,
    )  # fmt: skip
    with pytest.warns(InfeasibleSequenceWarning):
        path = model.predict(np.array([[0, -5], [-5, 0], [0, -np.inf]]))
    assert path.tolist()[1:] == ["a", "a"] or path.tolist() == ["b", "b", "a"]


def test_other_models():
    start, durations = [0.5, 0.5], [[0.5, 0.5], [0.5, 0.5]]
    X = np.array([[0, -1.0], [-1.0, 0], [0, -np.inf]])
    rules = {"states": ["a", "b"], "constraints": EndsIn("b"), "on_infeasible": "relax"}
    for model in (
        HSMMDecoder.from_parameters(start, [[0, 1], [1, 0]], durations, enforce=True, **rules),
        CTConstrainedHMM.from_parameters(start, [[-1.0, 1.0], [1.0, -1.0]], **rules),
    ):
        with pytest.warns(InfeasibleSequenceWarning, match="EndsIn"):
            times = {"times": [0.0, 1.0, 2.0]} if isinstance(model, CTConstrainedHMM) else {}
            assert model.predict(X, **times)[-1] == "a"


@pytest.mark.parametrize("on_infeasible", ["relax", "warn"])
def test_em_learns_from_sequences_that_break_a_rule(on_infeasible):
    rng = np.random.default_rng(0)
    X = [rng.normal(size=(n, 1)) for n in (5, 7, 6)]
    y = [[None] * 5, ["a", "b", "a", None, None, None, "b"], [None] * 6]
    rules = {"constraints": [NoReentry("a"), EndsIn("b")], "states": ["a", "b"], "smoothing": 0}
    with pytest.raises(InfeasibleSequenceError, match="NoReentry"):
        ConstrainedHMM(**rules).fit(X, y)
    model = ConstrainedHMM(on_infeasible=on_infeasible, tol=1e-2, n_iter=8, **rules)
    with pytest.warns(InfeasibleSequenceWarning) as said:
        model.fit(X, y)
    assert "EndsIn" in str(said[-1].message) or on_infeasible == "relax"
    assert (np.diff(model.history_) > -1e-9 * np.abs(model.history_[1:])).all()
    # The E-step by hand: the second sequence may break one rule, or both.
    free = [] if on_infeasible == "warn" else rules["constraints"]
    start, trans = model.startprob_, model.transmat_
    frames = model.emission_.log_likelihood(
        model.emission_.encode(np.concatenate(X), np.array([0, 5, 12, 18]), reset=False)
    ).dense()
    known = frames[5:12].copy()
    for t, label in enumerate(y[1]):
        if label is not None:
            known[t, 1 - ["a", "b"].index(label)] = -np.inf
    total = 0.0
    for scores, constraints in ((frames[:5], None), (known, free), (frames[12:], None)):
        if constraints is None:
            paths = feasible_paths(start, trans, scores, ["a", "b"], rules["constraints"])
        else:
            paths = feasible_paths(start, trans, scores, ["a", "b"])
            broken = {x: sum(not holds(rule, x) for rule in constraints) for x in paths}
            fewest = min(broken.values())
            paths = {x: value for x, value in paths.items() if broken[x] == fewest}
        total += np.logaddexp.reduce(list(paths.values()))
    assert_allclose(model.history_[-1], total, rtol=1e-9)


@pytest.mark.parametrize("on_infeasible", ["relax", "warn"])
def test_em_refuses_what_is_impossible_whatever_the_rules(on_infeasible):
    X = np.array([[0.0, -np.inf], [-np.inf, -np.inf]])
    model = ConstrainedHMM(
        states=["a", "b"], emission="precomputed", constraints=EndsIn("b"),
        on_infeasible=on_infeasible,
    )  # fmt: skip
    with pytest.raises(InfeasibleSequenceError, match="zero at step 1"):
        model.fit([X])
