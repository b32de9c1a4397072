"""Labels that are known are held: against enumeration, and in every form, kind and estimator."""

import warnings
from itertools import product

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from skchmm import (
    BeamRejectionDecoder,
    ConstrainedHMM,
    ConstraintMiner,
    CTConstrainedHMM,
    HSMMDecoder,
    InfeasibleSequenceError,
    PerceptronCRF,
    PostHocFilter,
    TopologyMaskedHMM,
    hmm,
    satisfies,
)
from skchmm.constraints import AtMostVisits, EndsIn, NoReentry, Precedence, StartsIn
from tests.oracles.chains import feasible_paths, log_total, posterior, random_chain, random_scores

STATES = ["a", "b", "c"]
RULES = [Precedence("a", "c"), AtMostVisits("b", 1)]


def random_known(rng, n_steps):
    """For each step: unknown, one label, or a set of labels."""
    sets = [{"a", "b"}, frozenset({"b", "c"}), {"a", "b", "c"}, {"c"}]
    choices = [None, None, None, *STATES, *sets]
    return [choices[k] for k in rng.integers(len(choices), size=n_steps)]


def agrees(path, known):
    """Whether a path has the labels that are known."""
    return all(
        k is None or (x in k if isinstance(k, (set, frozenset)) else x == k)
        for x, k in zip(path, known)
    )


def held(known, n_steps, states=STATES):
    """(n_steps, S): 0 where a label is possible, else -inf."""
    out = np.zeros((n_steps, len(states)))
    for t, k in enumerate(known):
        for i, state in enumerate(states):
            if not agrees([state], [k]):
                out[t, i] = -np.inf
    return out


@pytest.mark.parametrize("seed", range(12))
def test_equal_to_enumeration(seed):
    rng = np.random.default_rng(seed)
    T = [1, 2, 5][seed % 3]
    startprob, transmat = random_chain(rng, 3, zeros=0.1)
    scores, known = random_scores(rng, T, 3), random_known(rng, T)
    paths = feasible_paths(startprob, transmat, scores, STATES, RULES)
    paths = {path: value for path, value in paths.items() if agrees(path, known)}
    model = ConstrainedHMM.from_parameters(startprob, transmat, states=STATES, constraints=RULES)
    assert model.log_likelihood(scores, known=known)[0] == pytest.approx(log_total(paths), rel=1e-9)
    if not paths:
        for ask in (model.predict, model.decode, model.predict_proba, model.sample_posterior):
            with pytest.raises(InfeasibleSequenceError):
                ask(scores, known=known)
        return
    log_prob, path = model.decode(scores, known=known)
    assert log_prob == pytest.approx(max(paths.values()), rel=1e-9)
    assert paths[tuple(path)] == pytest.approx(log_prob, rel=1e-9)
    assert model.predict(scores, known=known).tolist() == path.tolist()
    of_path = posterior(paths)
    marginals = [
        [sum(p for x, p in of_path.items() if x[t] == s) for s in STATES] for t in range(T)
    ]
    np.testing.assert_allclose(model.predict_proba(scores, known=known), marginals, atol=1e-9)
    with np.errstate(divide="ignore"):
        logs = np.log(model.predict_proba(scores, known=known))
    np.testing.assert_array_equal(model.predict_log_proba(scores, known=known), logs)
    found = model.kbest(scores, len(paths) + 1, known=known)
    assert {tuple(x): pytest.approx(value, rel=1e-9) for value, x in found} == paths
    drawn = model.sample_posterior(scores, 2000, known=known, random_state=seed)
    shares = {x: np.mean((drawn == np.array(x)).all(axis=1)) for x in paths}
    assert sum(shares.values()) == pytest.approx(1)
    assert all(abs(shares[x] - of_path[x]) < 0.06 for x in paths)
    for algorithm, value in (
        ("mea", marginals),
        ("posterior", np.log(np.maximum(marginals, 1e-300))),
    ):
        path = model.set_params(algorithm=algorithm).predict(scores, known=known)
        sums = {x: sum(value[t][STATES.index(s)] for t, s in enumerate(x)) for x in paths}
        assert sums[tuple(path)] == pytest.approx(max(sums.values()), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("seed", range(6))
def test_other_questions_equal_enumeration(seed):
    rng = np.random.default_rng(seed)
    T = [1, 3, 5][seed % 3]
    startprob, transmat = random_chain(rng, 3)
    scores, known = random_scores(rng, T, 3), random_known(rng, T)
    paths = feasible_paths(startprob, transmat, scores, STATES, RULES)
    of_path = {x: value for x, value in paths.items() if agrees(x, known)}
    model = ConstrainedHMM.from_parameters(startprob, transmat, states=STATES, constraints=RULES)
    if not of_path:
        for ask in (
            lambda: model.probability(EndsIn("b"), scores, known=known),
            lambda: model.expected_duration("b", scores, known=known),
        ):
            with pytest.raises(InfeasibleSequenceError, match="known"):
                ask()
        return
    of_path = posterior(of_path)
    want = sum(p for x, p in of_path.items() if x[-1] == "b")
    assert model.probability(EndsIn("b"), scores, known=known)[0] == pytest.approx(want, abs=1e-9)
    once = sum(p for x, p in of_path.items() if "b" in x)  # the rules allow one visit
    np.testing.assert_allclose(
        model.visit_distribution("b", scores, max_visits=1, known=known)[0],
        [1 - once, once],
        atol=1e-9,
    )
    steps = sum(p * x.count("b") for x, p in of_path.items())
    assert model.expected_duration("b", scores, known=known).steps[0] == pytest.approx(
        steps, abs=1e-9
    )


@pytest.mark.parametrize("seed", range(6))
def test_filtered_and_streamed(seed):
    """P(x_t | y_0..y_t, what is known up to t): every beginning of a path can be completed here."""
    rng = np.random.default_rng(seed)
    startprob, transmat = random_chain(rng, 3)
    scores = random_scores(rng, 4, 3)
    known = [[None, "b", None, {"a", "c"}], [{"a", "b"}, None, "c", None]][seed % 2]
    rules = [NoReentry("b")]
    model = ConstrainedHMM.from_parameters(startprob, transmat, states=STATES, constraints=rules)
    filtered, stream = model.filter_proba(scores, known=known), model.stream()
    for t in range(4):
        paths = feasible_paths(startprob, transmat, scores[: t + 1], STATES, rules)
        of_path = posterior({x: v for x, v in paths.items() if agrees(x, known[: t + 1])})
        want = [sum(p for x, p in of_path.items() if x[t] == s) for s in STATES]
        np.testing.assert_allclose(filtered[t], want, atol=1e-9)
        update = stream.push(scores[t], known=known[t])
        np.testing.assert_allclose(update.proba, want, atol=1e-9)
        assert agrees([update.label], [known[t]])
    with pytest.raises(ValueError, match=r"known has labels that the model does not know: \['z'\]"):
        model.stream().push(scores[0], known="z")
    never = model.stream()
    never.push(scores[0], known="b")
    never.push(scores[1], known="a")
    with pytest.raises(InfeasibleSequenceError, match="up to step 2"):
        never.push(scores[2], known="b")


@pytest.fixture
def model():
    startprob, transmat = random_chain(np.random.default_rng(0), 3)
    return ConstrainedHMM.from_parameters(startprob, transmat, states=STATES, constraints=RULES)


def test_the_three_forms(model):
    rng = np.random.default_rng(1)
    X = [random_scores(rng, n, 3) for n in (4, 1, 6)]
    known = [["a", None, {"b", "c"}, None], [{"a", "b"}], [None] * 5 + ["c"]]
    groups = np.repeat(["u", "v", "w"], [4, 1, 6])
    stacked = np.concatenate(X), [k for part in known for k in part]
    for ask in (model.predict, model.predict_proba, model.predict_log_proba):
        alone = [ask(x, known=k) for x, k in zip(X, known)]
        np.testing.assert_array_equal(np.concatenate(ask(X, known=known)), np.concatenate(alone))
        for where in ({"lengths": [4, 1, 6]}, {"groups": groups}):
            np.testing.assert_array_equal(
                ask(stacked[0], known=stacked[1], **where), np.concatenate(alone)
            )
    values, paths = model.decode(X, known=known)
    for x, k, value, path in zip(X, known, values, paths):
        assert agrees(path, k)
        assert model.decode(x, known=k)[0] == value
    for given in (stacked[1], np.array(stacked[1], dtype=object), pd.Series(stacked[1])):
        assert model.predict(stacked[0], known=given, lengths=[4, 1, 6]).tolist() == [
            x for path in paths for x in path
        ]


def test_every_kind_of_missing():
    startprob, transmat = random_chain(np.random.default_rng(0), 3)
    rng = np.random.default_rng(2)
    X = random_scores(rng, 4, 3)
    named = ConstrainedHMM.from_parameters(startprob, transmat, states=STATES)
    want = named.predict_proba(X, known=["b", None, None, None])
    for missing in (None, np.nan, pd.NA, -1):
        known = ["b", missing, None, missing]
        np.testing.assert_array_equal(named.predict_proba(X, known=known), want)
        np.testing.assert_array_equal(named.predict_proba(X, known=pd.Series(known)), want)
    text = pd.Series(["b", None, None, None], dtype="string")
    np.testing.assert_array_equal(named.predict_proba(X, known=text), want)
    numbered = ConstrainedHMM.from_parameters(startprob, transmat)
    masked = np.ma.masked_array([1, 0, 0, 0], mask=[0, 1, 1, 1])
    for known in (
        [1, -1, -1, -1], np.array([1, -1, -1, -1]), [1.0, np.nan, np.nan, np.nan], masked,
        [1, None, pd.NA, -1], pd.Series([1, None, None, None], dtype="Int64"),
        [{1}, None, -1, None],
    ):  # fmt: skip
        np.testing.assert_array_equal(numbered.predict_proba(X, known=known), want)


def test_all_known_and_none_known(model):
    X = random_scores(np.random.default_rng(3), 5, 3)
    path = ["a", "b", "b", "c", "a"]
    log_prob, decoded = model.decode(X, known=path)
    assert decoded.tolist() == path
    assert log_prob == pytest.approx(
        feasible_paths(model.startprob_, model.transmat_, X, STATES)[tuple(path)]
    )
    right = (np.array(STATES) == np.array(path)[:, None]).astype(float)
    np.testing.assert_allclose(model.predict_proba(X, known=path), right, atol=1e-12)
    free = model.decode(X)
    for nothing in ([None] * 5, np.full(5, np.nan), np.full(5, -1), [set(STATES)] * 5):
        assert model.decode(X, known=nothing)[0] == free[0]


def test_many_sequences_in_parts():
    """Where log-likelihoods are computed some sequences at a time, so are known labels held."""
    rng = np.random.default_rng(4)
    X = [rng.choice(list("xyz"), size=n) for n in rng.integers(1, 40, size=300)]
    y = [rng.choice(STATES, size=len(x)) for x in X]
    known = [[k if rng.random() < 0.3 else None for k in path] for path in y]
    model = ConstrainedHMM(constraints=NoReentry("b")).fit(X, y)
    model = model.with_constraints(None)
    every = model.predict_proba(X, known=known)
    for s in rng.integers(300, size=20):
        np.testing.assert_allclose(every[s], model.predict_proba(X[s], known=known[s]), atol=1e-12)
        assert agrees(model.predict(X, known=known)[s], known[s])


DISCRETE = {
    "topology": lambda s, t: TopologyMaskedHMM.from_parameters(s, t, states=STATES),
    "beam": lambda s, t: BeamRejectionDecoder.from_parameters(
        s, t, states=STATES, constraints=RULES, beam_width=None, max_nodes=1000
    ),
    "post hoc": lambda s, t: PostHocFilter.from_parameters(s, t, states=STATES, constraints=RULES),
    "segments": lambda s, t: HSMMDecoder.from_parameters(
        s, t * (1 - np.eye(3)) / (t * (1 - np.eye(3))).sum(axis=1, keepdims=True),
        np.full((3, 4), 0.25), states=STATES, constraints=RULES, enforce=True,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", DISCRETE)
def test_other_decoders_hold_them(name):
    """Held labels are minus infinity in the frames of other labels."""
    rng = np.random.default_rng(5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = DISCRETE[name](*random_chain(rng, 3))
    X = random_scores(rng, 6, 3)
    known = [None, {"a", "b"}, "a", None, {"b", "c"}, None]
    clamped = X + held(known, 6)
    assert model.predict(X, known=known).tolist() == model.predict(clamped).tolist()
    assert model.decode(X, known=known)[0] == model.decode(clamped)[0]
    np.testing.assert_array_equal(model.predict_proba(X, known=known), model.predict_proba(clamped))
    assert agrees(model.predict(X, known=known), known)


@pytest.mark.parametrize("enforce", [False, True])
def test_the_perceptron_holds_them(enforce):
    rng = np.random.default_rng(6)
    X = [rng.choice(list("xyz"), size=6) for _ in range(20)]
    y = [["a", "b", "b", "c", "c", "c"] for _ in X]
    rules = RULES if enforce else None
    model = PerceptronCRF(random_state=0, constraints=rules, enforce=enforce).fit(X, y)
    known = [None, {"a", "b"}, "a", None, {"b", "c"}, None]
    scores = model._frames(model._read(X[0], None, None)).dense()
    best = max(
        (p for p in product(range(3), repeat=6) if agrees([STATES[i] for i in p], known)
         and (not enforce or satisfies([STATES[i] for i in p], RULES, STATES))),
        key=lambda p: model.start_weights_[p[0]] + scores[np.arange(6), p].sum()
        + model.transition_weights_[p[:-1], p[1:]].sum(),
    )  # fmt: skip
    assert model.predict(X[0], known=known).tolist() == [STATES[i] for i in best]
    assert agrees(model.kbest(X[0], 1, known=known)[0][1], known)
    if enforce:
        with pytest.raises(InfeasibleSequenceError, match="known labels are 'c' at step 0"):
            model.predict(X[0], known=["c", *[None] * 5])


@pytest.mark.parametrize("semantics", ["path", "observed"])
def test_in_continuous_time(semantics):
    rng = np.random.default_rng(7)
    model = CTConstrainedHMM.from_parameters(
        [0.3, 0.3, 0.4],
        rng.random((3, 3)) * (1 - np.eye(3)),
        states=STATES,
        constraints=RULES,
        semantics=semantics,
    )
    X, times = random_scores(rng, 6, 3), np.cumsum(rng.random(6))
    known = [None, {"a", "b"}, "a", None, {"b", "c"}, None]
    clamped = X + held(known, 6)
    for ask in (model.predict, model.predict_proba, model.predict_log_proba, model.log_likelihood):
        np.testing.assert_array_equal(ask(X, times, known=known), ask(clamped, times))
    assert model.decode(X, times, known=known)[0] == model.decode(clamped, times)[0]
    ours, theirs = model.kbest(X, 3, times, known=known), model.kbest(clamped, 3, times)
    assert [value for value, _ in ours] == [value for value, _ in theirs]
    drawn = model.sample_posterior(X, 50, times, known=known, random_state=0)
    assert all(agrees(path, known) for path in drawn)
    path = model.decode_path(X, times, known=known)
    assert path.log_prob == model.decode_path(clamped, times).log_prob
    for ask in (
        lambda X, **k: model.filter_proba(X, times, **k),
        lambda X, **k: model.probability(EndsIn("c"), X, times, **k),
        lambda X, **k: model.visit_distribution("b", X, times, **k),
        lambda X, **k: model.expected_duration("b", X, times, **k).steps,
    ):
        np.testing.assert_array_equal(ask(X, known=known), ask(clamped))
    for algorithm in ("posterior", "mea", "map"):
        path = model.set_params(algorithm=algorithm).predict(X, times, known=known)
        assert agrees(path, known)
    assert model.explain(X, times, known=["c", *[None] * 5]).known == {0: ["c"]}


def test_under_the_names_of_hmmlearn():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(20, 2))
    model = hmm.GaussianHMM(3, random_state=0, n_iter=3, tol=-np.inf).fit(X)
    known = np.full(20, -1)
    known[[2, 9]] = 1, 2
    truth = ConstrainedHMM.from_parameters(model.startprob_, model.transmat_)
    scores = model._frames(model._read(X, None, None)).dense()
    assert model.predict(X, known=known).tolist() == truth.predict(scores, known=known).tolist()
    np.testing.assert_allclose(
        model.predict_proba(X, known=known), truth.predict_proba(scores, known=known), atol=1e-12
    )
    assert model.decode(X, known=known)[0] == pytest.approx(truth.decode(scores, known=known)[0])
    assert model.log_likelihood(X, known=known) == pytest.approx(
        truth.log_likelihood(scores, known=known)
    )
    assert model.predict(X, known=known, lengths=[10, 10])[9] == 2


def test_in_conflict_with_rules(model):
    X = np.zeros((4, 3))
    with pytest.raises(InfeasibleSequenceError) as caught:
        model.predict(X, known=["c", None, None, None])
    message = str(caught.value)
    assert "Precedence('a', 'c')" in message
    assert "step 0: known to be 'c'" in message
    reasons = model.explain(X, known=["b", {"a", "c"}, {"b"}, None])
    assert reasons.constraints == [AtMostVisits("b", 1)]
    assert reasons.known == {0: ["b"], 1: ["a", "c"], 2: ["b"]}
    many = [X, X]
    with pytest.raises(
        InfeasibleSequenceError, match=r"Sequence 1 .*[\s\S]*step 3: known to be 'b'"
    ):
        model.predict(many, known=[[None] * 4, ["a", "b", "a", "b"]])


def test_in_conflict_and_answered_without_rules(model):
    model.set_params(on_infeasible="warn")
    with pytest.warns(UserWarning, match="step 0: known to be 'c'"):
        path = model.predict(np.zeros((3, 3)), known=["c", None, "b"])
    assert path[0] == "c" and path[2] == "b"


def test_in_conflict_with_the_model(model):
    X = np.zeros((3, 3))
    X[1, 0] = -np.inf
    with pytest.raises(
        InfeasibleSequenceError, match="the known label at step 1 of sequence 0 can"
    ):
        model.predict(X, known=[None, "a", None])
    free = ConstrainedHMM.from_parameters([1.0, 0.0], [[0.5, 0.5], [0.5, 0.5]], states=["a", "b"])
    with pytest.raises(InfeasibleSequenceError, match="known to be 'b'"):
        free.predict(np.zeros((2, 2)), known=["b", None])


@pytest.mark.parametrize("algorithm", ["viterbi", "posterior", "mea", "map"])
def test_in_conflict_and_relaxed(model, algorithm):
    """Known labels are held, and as few rules as possible are broken."""
    model.set_params(on_infeasible="relax", algorithm=algorithm)
    known = ["c", None, "b", "c", "b"]
    scores = random_scores(np.random.default_rng(8), 5, 3)
    with pytest.warns(UserWarning, match=r"Precedence\('a', 'c'\) at step 0"):
        path = model.predict(scores, known=known)
    assert agrees(path, known)
    assert [rule for rule, _ in model.relaxed_[0].broken] == RULES
    with pytest.warns(UserWarning, match="AtMostVisits"):
        path = model.predict(scores, known=["a", None, "b", "c", "b"])
    assert [rule for rule, _ in model.relaxed_[0].broken] == RULES[1:]


def test_what_is_no_label(model):
    X = np.zeros((3, 3))
    for known, message in [
        (["a", "z", None], r"known has labels that the model does not know: \['z'\]"),
        ([0, 1, 2], "known has labels that the model does not know"),
        (["a", {"b", "y"}, None], "known, row 1: unknown state 'y'"),
        (["a", set(), None], "known, row 1: the set of labels is empty"),
        (["a", None], "known has 2 values but X has 3 rows"),
        ([["a", None, None]], "known is a list of sequences but X is not"),
        (["a", ["b", "c"], None], "known"),
    ]:
        with pytest.raises(ValueError, match=message):
            model.predict(X, known=known)
    with pytest.raises(ValueError, match="known must be a list of 1 1-d arrays"):
        model.predict([X], known=["a", None, None])


def test_routing():
    """Known labels go through a pipeline, and need no request."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(20, 2)), rng.choice(["a", "b"], size=20)
    with sklearn.config_context(enable_metadata_routing=True):
        pipeline = make_pipeline(FunctionTransformer(), ConstrainedHMM()).fit(X, y)
        assert pipeline.predict(X, known=y).tolist() == y.tolist()
        assert pipeline.predict_proba(X, known=y).max(axis=1) == pytest.approx(1)


class TestSetsInFit:
    """One of several labels, in the y of fit."""

    def test_the_likelihood_is_that_of_paths_with_such_labels(self):
        rng = np.random.default_rng(8)
        X = [rng.choice(list("xyz"), size=4) for _ in range(3)]
        known = [random_known(rng, 4) for _ in X]
        known[0][0], known[1][1] = "a", {"a", "b"}
        model = ConstrainedHMM(states=STATES, smoothing=0, n_iter=3, tol=np.inf, random_state=0)
        model.fit(X, known)
        total = 0.0
        for x, k in zip(X, known):
            scores = model._frames(model._read(x, None, None)).dense()
            paths = feasible_paths(model.startprob_, model.transmat_, scores, STATES)
            total += log_total({p: v for p, v in paths.items() if agrees(p, k)})
        assert model.history_[-1] == pytest.approx(total, rel=1e-9)
        assert model.history_[0] <= model.history_[-1] + 1e-9

    def test_a_set_of_one_is_the_label(self):
        X, y = [list("xyxy"), list("xxyy")], [list("abab"), list("aabb")]
        sets = [[{label} for label in path] for path in y]
        whole, held = ConstrainedHMM().fit(X, y), ConstrainedHMM().fit(X, sets)
        assert held.classes_.tolist() == ["a", "b"]
        np.testing.assert_array_equal(held.transmat_, whole.transmat_)

    def test_sets_name_states(self):
        y = [["a", {"b", "c"}, None, "a"]]
        model = ConstrainedHMM(n_iter=1, tol=np.inf, random_state=0).fit([list("xyxy")], y)
        assert model.classes_.tolist() == STATES

    def test_rules_that_leave_nothing_are_named_with_the_set(self):
        model = ConstrainedHMM(states=STATES, constraints=[StartsIn("a"), EndsIn("a")])
        y = [[{"b", "c"}, None, None]]
        with pytest.raises(InfeasibleSequenceError, match="step 0: known to be 'b' or 'c'"):
            model.fit([list("xyx")], y)

    def test_a_miner_leaves_such_sequences_out(self):
        X, y = [list("xyxy"), list("xxyy")], [["a", {"a", "b"}, "b", "b"], list("aabb")]
        model = ConstrainedHMM(constraints=ConstraintMiner(), n_iter=1, tol=np.inf).fit(X, y)
        alone = ConstraintMiner().fit(y[1:])
        assert model.constraints_ == alone.constraints_

    def test_they_do_not_count_in_a_score(self):
        X, y = [list("xyxy"), list("xxyy")], [list("abab"), list("aabb")]
        model = ConstrainedHMM().fit(X, y)
        assert model.score(X, [[{"a", "b"}, "b", "a", "b"], list("aabb")]) == model.score(
            X, [[None, "b", "a", "b"], list("aabb")]
        )
