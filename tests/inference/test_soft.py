"""Soft rules against enumeration of all paths, with breaks counted from their definition."""

import itertools
import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

import skchmm
from skchmm import (
    BeamRejectionDecoder,
    ConstrainedHMM,
    HSMMDecoder,
    PerceptronCRF,
    PostHocFilter,
    TopologyMaskedHMM,
    hmm,
)
from skchmm.constraints import (
    And,
    AtLeastVisits,
    AtMostVisits,
    EndsIn,
    ForbiddenEdges,
    MaxDuration,
    MinDuration,
    NoDwell,
    NoReentry,
    Occupancy,
    Precedence,
    Soft,
    StartsIn,
    VisitBy,
    Window,
    from_spec,
)
from skchmm.inference.sampling import draw_constrained_paths

from ..oracles.chains import feasible_paths, log_total, posterior, random_chain, random_scores
from ..oracles.predicates import holds
from ..oracles.semi_markov import SemiMarkovEnumeration

LABELS = ["a", "b", "c"]
COUNTED = [
    ForbiddenEdges([("a", "b"), ("c", "c")]),
    Precedence("a", "b"),
    Precedence(["a", "b"], ["b", "c"]),
    NoDwell(["a", "c"]),
    AtMostVisits("a", 0),
    AtMostVisits(["a", "b"], 1),
    NoReentry("b"),
    MaxDuration("a", 2),
    MaxDuration("b", 0),
    Occupancy("c", at_most=1),
    Window("a", 1, 3),
    Window("b", 0, 2),
]
OTHERS = [
    EndsIn("a"),
    StartsIn(["b", "c"]),
    AtLeastVisits("a", 2),
    VisitBy("c", 1),
    MinDuration("a", 2),
    EndsIn("a") | NoDwell("b"),
]
HARD = [StartsIn(["a", "b"]), NoDwell("b"), AtMostVisits("a", 2), EndsIn(["a", "c"])]


def breaks(rule, x):
    """Breaks of a path, from the table of definitions."""
    if isinstance(rule, ForbiddenEdges):
        return sum(pair in rule.edges for pair in itertools.pairwise(x))
    if isinstance(rule, Precedence):
        return sum(
            x[t] in rule.after and not any(s in rule.before for s in x[:t]) for t in range(len(x))
        )
    inside = [label in rule.states for label in x]
    if isinstance(rule, NoDwell):
        return sum(both == (True, True) for both in itertools.pairwise(inside))
    if isinstance(rule, (AtMostVisits, NoReentry)):
        entries = sum(now and not before for before, now in itertools.pairwise([False, *inside]))
        return max(entries - getattr(rule, "k", 1), 0)
    if isinstance(rule, MaxDuration):
        runs = [len(list(run)) for value, run in itertools.groupby(inside) if value]
        return sum(max(run - rule.k, 0) for run in runs)
    if isinstance(rule, Occupancy):
        return max(sum(inside) - rule.at_most, 0)
    if isinstance(rule, Window):
        return sum(here and not rule.start <= t < rule.stop for t, here in enumerate(inside))
    raise TypeError(rule)


def cost(soft, x):
    return sum(
        rule.weight * (breaks(rule.constraint, x) if rule.each else not holds(rule.constraint, x))
        for rule in soft
    )


def entries(x, label="b"):
    return sum(now == label != before for before, now in itertools.pairwise((None, *x)))


def draw_rules(rng):
    pick = rng.choice(len(COUNTED + OTHERS), size=rng.integers(1, 4), replace=False)
    soft = [
        Soft(rule, float(rng.choice([0, 0.7, 1, 2.5])), each=rule in COUNTED and rng.random() < 0.6)
        for rule in [(COUNTED + OTHERS)[k] for k in pick]
    ]
    return soft, [HARD[k] for k in rng.choice(len(HARD), size=rng.integers(0, 3), replace=False)]


def weighted_paths(start, trans, scores, soft, hard):
    """{path: log P(path, Y) - cost} of the paths that keep the hard rules."""
    found = feasible_paths(start, trans, scores, LABELS, hard)
    return {x: value - cost(soft, x) for x, value in found.items()}


def marginals(paths):
    """P(x_t = i) from {path: log weight}."""
    found = posterior(paths)
    out = np.zeros((len(next(iter(found))), 3))
    for x, p in found.items():
        out[np.arange(len(x)), [LABELS.index(label) for label in x]] += p
    return out


@pytest.mark.parametrize("rule", COUNTED)
@pytest.mark.parametrize("each", [False, True])
def test_breaks_are_as_defined(rule, each):
    controller = skchmm.compile(Soft(rule, 1.5, each=each), LABELS)
    for T in (1, 2, 3, 5):
        for x in itertools.product(LABELS, repeat=T):
            wanted = breaks(rule, x) if each else not holds(rule, x)
            assert controller.breaks(x) == [wanted], x
            assert controller.cost(x) == 1.5 * wanted


@pytest.mark.parametrize("rule", COUNTED + OTHERS)
def test_a_soft_rule_is_the_hard_rule_and_a_sink(rule):
    hard = skchmm.compile(rule, LABELS)
    assert skchmm.compile(Soft(rule, 1.5), LABELS).n_states <= hard.n_states + 1


@pytest.mark.parametrize("seed", range(30))
def test_everything_equals_enumeration(seed):
    rng = np.random.default_rng(seed)
    (soft, hard), (start, trans) = draw_rules(rng), random_chain(rng, 3, zeros=0.2)
    rules = [*soft, *hard]
    rng.shuffle(rules)
    model = ConstrainedHMM.from_parameters(start, trans, states=LABELS, constraints=rules)
    X = [random_scores(rng, n, 3) for n in rng.integers(1, 6, size=11)]
    paths = [weighted_paths(start, trans, scores, soft, hard) for scores in X]
    kept = [k for k, found in enumerate(paths) if found]
    X, paths = [X[k] for k in kept], [paths[k] for k in kept]
    if not X:
        return
    log_z = [log_total(found) for found in paths]
    assert_allclose(model.log_likelihood(X), log_z, rtol=1e-10, atol=1e-10)
    (log_prob, decoded), proba = model.decode(X), model.predict_proba(X)
    for k, found in enumerate(paths):
        alone = X[k]
        assert_allclose(log_prob[k], max(found.values()), rtol=1e-10)
        assert_allclose(found[tuple(decoded[k])], max(found.values()), rtol=1e-10)
        assert_allclose(proba[k], marginals(found), atol=1e-10)
        assert_allclose(model.log_likelihood([alone]), log_z[k], rtol=1e-10, atol=1e-10)
        assert_allclose(model.predict_proba(alone), marginals(found), atol=1e-10)
        best = sorted(found.values(), reverse=True)[:5]
        assert_allclose([value for value, _ in model.kbest([alone], 5)[0]], best, rtol=1e-10)
        of_path = posterior(found)
        holding = sum(p for x, p in of_path.items() if x[-1] == "b" and x.count("a") < 2)
        asked = [EndsIn("b"), Occupancy("a", at_most=1)]
        assert_allclose(model.probability(asked, alone), holding, atol=1e-9)
        visits = [entries(x) for x in of_path]
        shares = np.bincount(visits, weights=list(of_path.values()), minlength=4)
        assert_allclose(model.visit_distribution("b", alone, max_visits=3)[0], shares, atol=1e-9)
        lasting = model.expected_duration("b", alone)
        steps = sum(p * x.count("b") for x, p in of_path.items())
        assert_allclose(
            [lasting.steps[0], lasting.visits[0]], [steps, shares @ range(4)], atol=1e-9
        )
        free = feasible_paths(start, trans, alone, LABELS)
        assert_allclose(
            model.log_feasibility([alone]), log_z[k] - log_total(free), rtol=1e-9, atol=1e-9
        )


def test_a_rule_that_is_given_twice_costs_twice():
    twice = [NoDwell("a"), Soft(NoDwell("b"), 1.5), [Soft(NoDwell("b"), 1.5), NoDwell("a")]]
    controller = skchmm.compile(twice, LABELS)
    assert len(controller.constraints_) == 3  # one hard rule, two soft ones
    for x in itertools.product(LABELS, repeat=3):
        if controller.accepts(x):
            assert controller.cost(x) == cost([twice[1]] * 2, x)
    # Of two weights only the sum could be learned.
    assert len(skchmm.compile([Soft(NoDwell("b"), "learn")] * 2, LABELS).constraints_) == 1


def test_the_posterior_algorithm_pays_once():
    """Costs are in the marginals already, and are not subtracted from their sum again."""
    rng = np.random.default_rng(0)
    start, trans = random_chain(rng, 3)
    rules = [Soft(EndsIn("a"), 1.0), Soft(NoDwell("b"), 0.7, each=True), NoReentry("c")]
    model = ConstrainedHMM.from_parameters(
        start, trans, states=LABELS, constraints=rules, algorithm="posterior"
    )
    for n in (1, 2, 4, 5):
        X = random_scores(rng, n, 3)
        logs = np.log(marginals(weighted_paths(start, trans, X, rules[:2], rules[2:])))
        feasible = feasible_paths(start, trans, X, LABELS, rules[2:])

        def total(x, logs=logs):
            return sum(logs[t, LABELS.index(label)] for t, label in enumerate(x))

        assert_allclose(total(model.predict(X)), max(map(total, feasible)), rtol=1e-10)


@pytest.mark.parametrize("weight", [50.0, 700.0, 1e5])
def test_heavy_rules_lose_no_digits(weight):
    rng = np.random.default_rng(1)
    start, trans = random_chain(rng, 3)
    soft = [Soft(NoDwell(LABELS), weight, each=True), Soft(EndsIn("a"), weight)]
    X = [random_scores(rng, 4, 3) for _ in range(9)]
    X[0][:, 1:] = -np.inf  # a a a a, which breaks the first rule three times
    X[1][:, :2] = -np.inf
    model = ConstrainedHMM.from_parameters(start, trans, states=LABELS, constraints=soft)
    paths = [weighted_paths(start, trans, scores, soft, []) for scores in X]
    assert_allclose(model.log_likelihood(X), [log_total(found) for found in paths], rtol=1e-10)
    assert_allclose(model.decode(X)[0], [max(found.values()) for found in paths], rtol=1e-10)
    for found, proba in zip(paths, model.predict_proba(X)):
        assert_allclose(proba, marginals(found), atol=1e-10)


def test_draws_are_exact():
    rng = np.random.default_rng(2)
    start, trans = random_chain(rng, 3)
    soft = [Soft(NoReentry("a"), 1.0), Soft(EndsIn("b"), 0.7), Soft(NoDwell("c"), 1.0, each=True)]
    model = ConstrainedHMM.from_parameters(start, trans, states=LABELS, constraints=soft)
    X = random_scores(rng, 3, 3)
    wanted = posterior(weighted_paths(start, trans, X, soft, []))
    drawn = [tuple(x) for x in model.sample_posterior(X, 20_000, random_state=0)]
    prior = posterior(weighted_paths(start, trans, np.zeros((3, 3)), soft, []))
    sampled = draw_constrained_paths(model.graph_, start, trans, 3, 20_000, random_state=0)
    sampled = [tuple(LABELS[i] for i in x) for x in sampled]
    for probabilities, paths in ((wanted, drawn), (prior, sampled)):
        for x, p in probabilities.items():
            assert abs(paths.count(x) / 20_000 - p) < 5 * np.sqrt(p * (1 - p) / 20_000) + 1e-9


def test_em_climbs_and_streams_follow():
    rng = np.random.default_rng(3)
    X = [rng.normal(size=(n, 2)) for n in (5, 8, 13, 2)]
    rules = [Soft(NoReentry(0), 1.5), Soft(EndsIn(2), 2.0), Soft(NoDwell(1), 0.5, each=True)]
    model = ConstrainedHMM(3, emission="gaussian", constraints=rules, n_iter=15, tol=0)
    with pytest.warns(ConvergenceWarning):
        model.fit(X)
    assert (np.diff(model.history_) > -1e-9 * np.abs(model.history_[1:])).all()
    assert_allclose(model.soft_weights_, [1.5, 2.0, 0.5])
    stream = model.stream()
    rows = [stream.push(x).proba for x in X[2]]
    assert_allclose(model.filter_proba(X[2]), rows, atol=1e-12)
    ahead = model.stream(len(X[2]), lag=len(X[2]) - 1)
    updates = [ahead.push(x) for x in X[2]]
    path = np.concatenate([ahead.path, ahead.finish()])
    assert path.tolist() == model.predict(X[2]).tolist()
    assert_allclose(updates[-1].proba, model.predict_proba(X[2])[-1], atol=1e-10)


@pytest.mark.parametrize("seed", range(3))
def test_learned_weights_are_the_maximum_of_the_likelihood(seed):
    rng = np.random.default_rng(seed)
    start, trans = random_chain(rng, 3)
    rules = [
        Soft(NoReentry("a"), "learn"),
        Soft(EndsIn("b"), "learn"),
        Soft(NoDwell("c"), "learn", each=True),
        StartsIn(["a", "b"]),
    ]
    true = [Soft(NoReentry("a"), 0.8), Soft(EndsIn("b"), 0.5), Soft(NoDwell("c"), 0.6, each=True)]
    source = ConstrainedHMM.from_parameters(
        start, trans, states=LABELS, constraints=[*true, rules[-1]]
    )
    y = [
        np.array(LABELS)[path]
        for n in (3, 4, 5)
        for path in draw_constrained_paths(source.graph_, start, trans, n, 40, random_state=seed)
    ]
    weights = rng.integers(1, 3, size=len(y)).astype(float)
    X = [rng.normal(size=(len(each), 1)) for each in y]
    model = ConstrainedHMM(constraints=rules).fit(X, y, sample_weight=weights)

    def lost(w):
        soft = [Soft(rule.constraint, max(v, 0), each=rule.each) for rule, v in zip(rules, w)]
        total = 0.0
        log_z = {
            n: log_total(
                weighted_paths(model.startprob_, model.transmat_, np.zeros((n, 3)), soft, rules[3:])
            )
            for n in (3, 4, 5)
        }
        for each, weight in zip(y, weights):
            total += weight * (cost(soft, list(each)) + log_z[len(each)])
        return total

    observed = [sum(cost([Soft(r.constraint, 1, each=r.each)], x) for x in y) for r in true]
    assert np.count_nonzero(observed) >= 2
    best = lost(model.soft_weights_)
    for k in np.flatnonzero(observed):
        for step in (-1e-3, 1e-3):
            near = model.soft_weights_.copy()
            near[k] = max(near[k] + step, 0)
            assert lost(near) >= best - 1e-9
    assert [rule.weight for rule in model.constraints_[:3]] == model.soft_weights_.tolist()


def test_a_rule_that_is_never_broken_gets_a_finite_weight():
    y = [list("aabb"), list("abbb")] * 20
    X = [np.zeros((4, 1))] * 40
    model = ConstrainedHMM(constraints=Soft(NoReentry("a"), "learn")).fit(X, y)
    assert 0 < model.soft_weights_[0] < 20


def test_other_models_learn_weights():
    """Under hmmlearn's names the same weight as in ConstrainedHMM; segments have another one."""
    rng = np.random.default_rng(6)
    y = [np.array(list(x)) for x in ("bbaabb", "aabbbb", "bbbaaa", "baabbb", "abbbba")] * 4
    X = [rng.integers(3, size=6) for _ in y]
    rule = Soft(NoReentry("a"), "learn")
    weights = ConstrainedHMM(constraints=rule).fit(X, y).soft_weights_
    assert weights[0] > 0
    stacked = {"y": np.concatenate(y), "lengths": [6] * 20}
    model = hmm.CategoricalHMM(2, constraints=rule, states=["a", "b"], smoothing=0.5)
    model.fit(np.concatenate(X).reshape(-1, 1), **stacked)
    assert_allclose(model.soft_weights_, weights, rtol=1e-6)
    assert model.constraints_[0].weight == model.soft_weights_[0]
    with pytest.raises(ValueError, match="needs labels"):
        model.fit(np.concatenate(X).reshape(-1, 1), [6] * 20)
    assert not hasattr(hmm.CategoricalHMM(2), "soft_weights_")

    semi = HSMMDecoder(max_duration=6, constraints=rule, enforce=True).fit(X, y)
    parameters = semi.startprob_, semi.transmat_, semi.durations_
    every = SemiMarkovEnumeration(*parameters, np.zeros((6, 2)), ["a", "b"])
    chances = np.exp(every.log_weights)
    broken = np.array([not holds(rule.constraint, ["ab"[i] for i in x]) for x in every.paths])

    def lost(w):
        return 4 * w + 20 * np.log(chances @ np.exp(-w * broken))

    best = semi.soft_weights_[0]
    assert all(lost(max(best + step, 0)) >= lost(best) - 1e-9 for step in (-1e-3, 1e-3))


def test_weights_that_cannot_be_learned():
    with pytest.raises(ValueError, match="PerceptronCRF has no likelihood"):
        PerceptronCRF(constraints=Soft(EndsIn("a"), "learn")).fit([list("xy")], [list("ab")])
    with pytest.raises(ValueError, match="needs labels"):
        ConstrainedHMM.from_parameters(
            [1.0], [[1.0]], states=["a"], constraints=Soft(EndsIn("a"), "learn")
        )
    with pytest.raises(ValueError, match="needs labels"):
        ConstrainedHMM(2, constraints=Soft(EndsIn(0), "learn")).fit(np.zeros((5, 1)))


def test_semi_markov_segments():
    rng = np.random.default_rng(4)
    start, trans = rng.dirichlet(np.ones(3)), rng.dirichlet(np.ones(3), size=3)
    np.fill_diagonal(trans, 0)
    trans /= trans.sum(axis=1, keepdims=True)
    durations = rng.dirichlet(np.ones(4), size=3)
    for _ in range(12):
        soft, hard = draw_rules(rng)
        X = random_scores(rng, 5, 3)
        every = SemiMarkovEnumeration(start, trans, durations, X, LABELS, hard)
        if not len(every.paths):
            continue
        costs = np.array([cost(soft, [LABELS[i] for i in x]) for x in every.paths])
        values = every.log_weights - costs
        model = HSMMDecoder.from_parameters(
            start, trans, durations, states=LABELS, constraints=[*soft, *hard], enforce=True
        )
        assert_allclose(model.log_likelihood([X]), np.logaddexp.reduce(values), rtol=1e-10)
        assert_allclose(model.decode(X)[0], values.max(), rtol=1e-10)
        wanted = np.zeros((5, 3))
        for x, value in zip(every.paths, values):
            wanted[np.arange(5), list(x)] += np.exp(value - np.logaddexp.reduce(values))
        assert_allclose(model.predict_proba(X), wanted, atol=1e-9)


def test_soft_rules_do_not_combine():
    soft = Soft(EndsIn("a"), 1.0)
    for combine in (
        lambda: soft & EndsIn("b"),
        lambda: EndsIn("b") & soft,
        lambda: soft | EndsIn("b"),
        lambda: EndsIn("b") | soft,
        lambda: ~soft,
        lambda: skchmm.compile(And([EndsIn("b"), soft]), LABELS),
    ):
        with pytest.raises(ValueError, match="cannot be part of"):
            combine()


@pytest.mark.parametrize("weight", [-1, np.inf, np.nan, "much", None, True])
def test_weights_that_cannot_be(weight):
    with pytest.raises(ValueError, match="weight"):
        Soft(EndsIn("a"), weight)


def test_each_needs_a_rule_whose_breaks_count():
    for rule in (EndsIn("a"), Occupancy("a", at_least=1, at_most=2), NoDwell("a") & NoDwell("b")):
        with pytest.raises(ValueError, match="can be counted"):
            skchmm.compile(Soft(rule, 1.0, each=True), LABELS)


def test_a_soft_rule_is_a_value():
    rule = Soft(NoReentry("a"), 2.0, each=True)
    assert from_spec(rule.to_spec()) == rule
    assert rule != Soft(NoReentry("a"), 2.0) and hash(rule) == hash(clone(rule))
    assert repr(rule) == "Soft(NoReentry('a'), 2.0, each=True)"
    assert rule.set_params(constraint__states="b", weight=1).labels() == ["b"]


@pytest.mark.parametrize("kind", [TopologyMaskedHMM, BeamRejectionDecoder, PostHocFilter])
def test_decoders_that_take_no_soft_rules_say_so(kind):
    with pytest.raises(ValueError, match="takes no soft rules"):
        kind(constraints=Soft(EndsIn("a"), 1.0)).fit([list("xy")], [list("ab")])


def test_a_saved_controller_keeps_its_costs():
    controller = skchmm.compile([Soft(NoReentry("a"), 2.0), EndsIn("b")], LABELS)
    again = pickle.loads(pickle.dumps(controller))
    assert again.cost(list("acab")) == 2.0 and again.redundant_ == []


def test_perceptron_scores_pay():
    rng = np.random.default_rng(5)
    start, trans, X = rng.normal(size=3), rng.normal(size=(3, 3)), rng.normal(size=(4, 3))
    soft = [Soft(NoReentry("a"), 1.0), Soft(EndsIn("b"), 0.7), Soft(NoDwell("c"), 1.0, each=True)]
    model = PerceptronCRF(constraints=soft, enforce=True, n_epochs=1)
    model.fit([X], [["a", "b", "c", "a"]])
    model.start_weights_, model.transition_weights_ = start, trans
    model.feature_weights_ = np.eye(3)

    def score(x):
        i = [LABELS.index(label) for label in x]
        steps = sum(X[t, state] for t, state in enumerate(i))
        return start[i[0]] + steps + sum(trans[pair] for pair in itertools.pairwise(i))

    paths = itertools.product(LABELS, repeat=4)
    best = max(score(x) - cost(soft, x) for x in paths)
    log_prob, path = model.decode(X)
    assert_allclose(log_prob, best, rtol=1e-10)
    assert_allclose(score(path) - cost(soft, path), best, rtol=1e-10)
