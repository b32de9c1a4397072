from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import skchmm
from skchmm import ConstrainedHMM, Controller, InfeasibleSequenceError, InfeasibleSequenceWarning
from skchmm import constraints as C
from skchmm.constraints import (
    AtLeastVisits,
    EndsIn,
    ExactVisits,
    NoReentry,
    Precedence,
    StageMonotone,
    VisitBy,
    Window,
)
from skchmm.emissions import Categorical
from tests.oracles.chains import feasible_paths, log_total, posterior, random_chain, random_scores
from tests.oracles.strategies import constraint_lists

STATES = ["a", "b", "c"]
# Sets of constraints that, from wherever they can still be satisfied, are within two more steps.
SHORT = [
    [],
    [Precedence("a", "b"), EndsIn("b")],
    [NoReentry("a"), AtLeastVisits("b", 1)],
    [Window("a", 1, 2), VisitBy("c", 2)],
    [Window("a", 2, 3), VisitBy("a", 3)],
]


def model_of(chain, constraints, **params):
    try:
        return ConstrainedHMM.from_parameters(
            *chain, states=STATES, constraints=constraints, **params
        )
    except ValueError:  # no path of any length
        return None


def completable(chain, X, t, constraints, n_steps):
    """{x_0..x_t: log P(x_0..x_t, y_0..y_t, completed to n_steps feasibly)}."""
    seen = np.zeros((n_steps, 3))
    seen[: t + 1] = X[: t + 1]
    groups = {}
    for path, value in feasible_paths(*chain, seen, STATES, constraints).items():
        groups.setdefault(path[: t + 1], {})[path] = value
    return {prefix: log_total(paths) for prefix, paths in groups.items()}


def live(chain, X, t, constraints):
    """{x_0..x_t: log P(x_0..x_t, y_0..y_t)} of the beginnings of feasible paths, however long."""
    beginnings = {
        path[: t + 1]
        for n_steps in range(t + 1, t + 4)
        for path in completable(chain, X, t, constraints, n_steps)
    }
    every = feasible_paths(*chain, X[: t + 1], STATES)
    return {path: value for path, value in every.items() if path in beginnings}


def marginals(prefixes):
    out = np.zeros(3)
    for path, p in posterior(prefixes).items():
        out[STATES.index(path[-1])] += p
    return out


def agrees(path, decided):
    return path[: len(decided)] == tuple(decided)


def check_stream(stream, X, prefixes_at, free, lag):
    """Marginals and decisions of a stream against enumeration; the decisions, or None."""
    decided = []
    for t, row in enumerate(X):
        prefixes = prefixes_at(t)
        mine = {path: value for path, value in prefixes.items() if agrees(path, decided)}
        if not mine:
            with pytest.raises(InfeasibleSequenceError):
                stream.push(row)
            return None
        update = stream.push(row)
        assert update.step == t
        assert update.proba == pytest.approx(marginals(prefixes), abs=1e-10)
        assert stream.log_feasibility == pytest.approx(
            log_total(prefixes) - log_total(free(t)), abs=1e-9
        )
        if t < lag:
            assert update.label is None
            continue
        best = max(mine.values())
        allowed = {path[t - lag] for path, value in mine.items() if value > best - 1e-9}
        assert update.label in allowed
        decided.append(update.label)
        assert stream.path.tolist() == decided
    mine = {path: value for path, value in prefixes_at(None).items() if agrees(path, decided)}
    if not mine:
        with pytest.raises(InfeasibleSequenceError):
            stream.finish()
        return None
    rest = stream.finish()
    assert len(rest) == min(lag, len(X))
    path = tuple(decided) + tuple(rest.tolist())
    assert mine[path] == pytest.approx(max(mine.values()))
    assert tuple(stream.path.tolist()) == path
    return path


@settings(max_examples=120, deadline=None)
@given(
    st.integers(0, 10**6),
    constraint_lists(STATES, max_size=3),
    st.integers(1, 5),
    st.integers(0, 3),
    st.sampled_from([0.0, 0.25]),
)
def test_known_length_by_enumeration(seed, constraints, n_steps, lag, zeros):
    rng = np.random.default_rng(seed)
    chain, X = random_chain(rng, 3, zeros), random_scores(rng, n_steps, 3, zeros)
    model = model_of(chain, constraints)
    if model is None:
        return
    check_stream(
        model.stream(n_steps, lag=lag),
        X,
        lambda t: completable(chain, X, n_steps - 1 if t is None else t, constraints, n_steps),
        lambda t: feasible_paths(*chain, X[: t + 1], STATES),
        lag,
    )


@pytest.mark.parametrize("constraints", SHORT, ids=str)
@pytest.mark.parametrize("lag", [0, 2])
@pytest.mark.parametrize("zeros", [0.0, 0.3])
def test_unknown_length_by_enumeration(constraints, lag, zeros):
    for seed in range(8):
        rng = np.random.default_rng(seed)
        # Transitions all possible, so that two more steps are enough.
        chain, X = random_chain(rng, 3), random_scores(rng, 4, 3, zeros)

        def prefixes_at(t, chain=chain, X=X):
            if t is None:
                return feasible_paths(*chain, X, STATES, constraints)
            return live(chain, X, t, constraints)

        check_stream(
            model_of(chain, constraints).stream(lag=lag),
            X,
            prefixes_at,
            lambda t, chain=chain, X=X: feasible_paths(*chain, X[: t + 1], STATES),
            lag,
        )


def test_decisions_are_feasible_and_with_a_long_lag_those_of_decode():
    rng = np.random.default_rng(0)
    model = model_of(random_chain(rng, 3), [ExactVisits("b", 2), StageMonotone(["a", "b", "c"])])
    X = random_scores(rng, 60, 3)
    for lag in (0, 1, 5, 60):
        stream = model.stream(n_steps=60, lag=lag)
        for row in X:
            stream.push(row)
        stream.finish()
        assert model.controller_.accepts(stream.path.tolist())
    assert (stream.path == model.decode(X)[1]).all()


def test_filtering_ends_where_smoothing_does():
    rng = np.random.default_rng(1)
    model = model_of(random_chain(rng, 3), [ExactVisits("b", 2), Window("c", 5, 50)])
    X = random_scores(rng, 80, 3) * 30
    stream = model.stream(n_steps=80)
    for row in X:
        update = stream.push(row)
    assert update.proba == pytest.approx(model.predict_proba(X)[-1])
    assert stream.log_feasibility == pytest.approx(model.log_feasibility(X)[0])


def test_symbols_contexts_and_missing_observations():
    rng = np.random.default_rng(2)
    X = [rng.choice(list("xyz"), size=40) for _ in range(5)]
    y = [rng.choice(list("abc"), size=40) for _ in range(5)]
    model = ConstrainedHMM(
        emission=Categorical(order=2), constraints=[AtLeastVisits("b", 1)], algorithm="viterbi"
    ).fit(X, y)
    new = np.array([*"xyzzy", None, *"xxyz"], dtype=object)
    for t in range(1, len(new) + 1):
        stream = model.stream(n_steps=t)
        for x in new[:t]:
            update = stream.push(x)
        assert update.proba == pytest.approx(model.predict_proba(new[:t])[-1])
    numbers = ConstrainedHMM().fit(np.random.default_rng(0).normal(size=(50, 1)), [*"ab"] * 25)
    stream = numbers.stream()
    for x in (0.5, np.nan, [1.5], None):
        stream.push(x)
    rows = np.array([[0.5], [np.nan], [1.5], [np.nan]])
    assert stream.push(1.0).proba == pytest.approx(
        numbers.predict_proba(np.concatenate([rows, [[1.0]]]))[-1]
    )


def test_controllers_with_a_horizon():
    controller = Controller.from_functions(
        STATES, [0], lambda i: 0, lambda c, i, j: 0, lambda c, i, j, t: j != "a" or t % 2 == 0, [0],
        horizon=5,
    )  # fmt: skip
    rng = np.random.default_rng(3)
    chain, X = random_chain(rng, 3), random_scores(rng, 5, 3)
    model = model_of(chain, controller)
    stream = model.stream()
    for t in range(5):
        proba = stream.push(X[t]).proba
        inside = {
            path: value
            for path, value in feasible_paths(*chain, X[: t + 1], STATES).items()
            if controller.accepts(path)
        }
        assert proba == pytest.approx(marginals(inside))
    with pytest.raises(ValueError, match="horizon"):
        stream.push(X[0])
    with pytest.raises(ValueError, match="horizon"):
        model.stream(n_steps=6)


def contradiction(**params):
    """a and b look alike at first; only from b can c be reached, where the data then are."""
    chain = np.array([0.6, 0.4, 0.0]), np.array([[1, 0, 0], [0, 0.5, 0.5], [0, 0, 1.0]])
    X = np.array([[0.0, 0.0, -np.inf], [-np.inf, -np.inf, 0.0], [0.0, 0.0, 0.0]])
    return chain, X, model_of(chain, [], **params)


def test_observations_that_contradict_the_decisions():
    _, X, model = contradiction()
    stream = model.stream()
    assert stream.push(X[0]).label == "a"
    with pytest.raises(InfeasibleSequenceError, match="decided before"):
        stream.push(X[1])
    _, X, model = contradiction(on_infeasible="warn")
    stream = model.stream()
    stream.push(X[0])
    with pytest.warns(InfeasibleSequenceWarning, match="not taken into account"):
        assert stream.push(X[1]).label == "c"
    assert stream.push(X[2]).label == "c"
    _, X, model = contradiction()
    stream = model.stream(lag=1)
    assert [stream.push(x).label for x in X] == [None, "b", "c"]


@pytest.mark.parametrize("lag", [0, 1, 2])
def test_without_the_constraints_if_one_says_so(lag):
    rng = np.random.default_rng(4)
    chain, X = random_chain(rng, 3), random_scores(rng, 4, 3)
    X[1] = [-np.inf, 0.0, 0.0]
    model = model_of(chain, [StageMonotone(["a", "b"]), Window(["b", "c"], 2, 9)])
    stream = model.stream(lag=lag)
    stream.push(X[0])
    with pytest.raises(InfeasibleSequenceError, match="up to step 1"):
        stream.push(X[1])
    model.set_params(on_infeasible="warn")
    stream, free = model.stream(lag=lag), model.with_constraints(None).stream()
    assert stream.push(X[0]).label == ("a" if lag == 0 else None)
    free.push(X[0])
    with pytest.warns(InfeasibleSequenceWarning, match="left out"):
        update = stream.push(X[1])
    assert update.proba == pytest.approx(free.push(X[1]).proba)
    for row in X[2:]:
        assert stream.push(row).proba == pytest.approx(free.push(row).proba)
    stream.finish()
    assert len(stream.path) == 4
    assert np.isnan(stream.log_feasibility)


def test_ends():
    model = model_of(random_chain(np.random.default_rng(5), 3), [EndsIn("c")])
    with pytest.raises(ValueError, match="n_steps"):
        model.stream(0)
    with pytest.raises(ValueError, match="lag"):
        model.stream(lag=-1)
    stream = model.stream(2, lag=1)
    with pytest.raises(ValueError, match="no sequence"):
        stream.finish()
    stream.push(np.zeros(3))
    with pytest.raises(ValueError, match="of which 1 came"):
        stream.finish()
    assert stream.push(np.zeros(3)).proba[2] == 1
    with pytest.raises(ValueError, match="has ended"):
        stream.push(np.zeros(3))
    assert stream.finish().tolist() == ["c"]
    stream = model.stream(lag=5)
    stream.push([0.0, -5.0, -9.0])
    assert stream.finish().tolist() == ["c"]
    with pytest.raises(InfeasibleSequenceError, match="probability zero"):
        model.stream().push(np.full(3, -np.inf))


def test_all_prefixes_of_a_chain_without_rules():
    rng = np.random.default_rng(6)
    chain, X = random_chain(rng, 3), random_scores(rng, 3, 3)
    stream = model_of(chain, None).stream()
    for t in range(3):
        every = feasible_paths(*chain, X[: t + 1], STATES)
        assert len(every) == len(list(product(STATES, repeat=t + 1)))
        assert stream.push(X[t]).proba == pytest.approx(marginals(every))
        assert stream.log_feasibility == pytest.approx(0)


@pytest.mark.parametrize(
    ("x", "message"),
    [
        ([0.0], "has 1 features, but the model is expecting 3"),
        (0.0, "has 1 features"),
        ([0.0] * 4, "has 4 features"),
        (np.zeros((2, 3)), r"one observation, not an array of shape \(2, 3\)"),
        (np.zeros((1, 1, 3)), "one observation"),
        ([], "has 0 features"),
        ("abc", "has 1 features"),
        (["a", "b", "c"], "must be numbers"),
        ([0.0, np.nan, 0.0], "NaN in part of row"),
        ([0.0, np.inf, 0.0], r"\+inf"),
        ([[0.0], [0.0, 1.0]], "neither one value"),
        (Ellipsis, "has 1 features"),
    ],
    ids=str,
)
def test_observations_that_do_not_fit_change_nothing(x, message):
    rng = np.random.default_rng(7)
    chain, X = random_chain(rng, 3), random_scores(rng, 4, 3)
    model = model_of(chain, [Precedence("a", "b")])
    expected = model.predict_proba(X)
    stream, other = model.stream(), model.stream()
    for row in X:
        with pytest.raises(ValueError, match=message):
            stream.push(x)
        assert stream.push(row).proba == pytest.approx(other.push(row).proba)
    assert stream.n_seen == 4
    np.testing.assert_array_equal(model.predict_proba(X), expected)


def test_symbols_that_are_not_known_change_nothing():
    X, y = [list("xyzzyx"), list("xxyyzz")], [list("abbccc"), list("aabbcc")]
    model = ConstrainedHMM(emission=Categorical(order=2)).fit(X, y)
    stream, other = model.stream(), model.stream()
    for x in "xyzzy":
        for wrong in ("q", 1, ["x", "y"], object()):
            with pytest.raises(ValueError, match=r"symbol|features"):
                stream.push(wrong)
        assert stream.push(x).proba == pytest.approx(other.push([x]).proba)


def test_whole_rows_can_be_missing():
    rng = np.random.default_rng(8)
    model = model_of(random_chain(rng, 3), None)
    X = random_scores(rng, 4, 3)
    X[1] = np.nan
    for gap in (None, np.nan, [np.nan] * 3, np.ma.masked, np.array(None), np.ma.masked_all(3)):
        stream = model.stream()
        for row in (X[0], gap, X[2], X[3]):
            update = stream.push(row)
        assert update.proba == pytest.approx(model.predict_proba(X)[-1])


def test_impossible_observations_are_named():
    model = model_of(random_chain(np.random.default_rng(9), 3), None)
    stream = model.stream()
    stream.push(np.zeros(3))
    with pytest.raises(InfeasibleSequenceError, match=r"step 1 .*every state has probability zero"):
        stream.push(np.full(3, -np.inf))
    other = model.stream()
    for row in (np.zeros(3), [-1.0, 0.0, -2.0]):
        expected = other.push(row).proba
    assert stream.push(row).proba == pytest.approx(expected)  # it left no trace


class TestAllAtOnce:
    """`filter_proba` gives for all sequences what a stream gives step by step."""

    @pytest.mark.parametrize(
        "rules",
        [
            [],
            [C.AtMostVisits("a", 1), C.EndsIn("b")],
            [C.Window("b", 1, 3), C.VisitBy("a", 2)],
            [C.ExactVisits("c", 2)],
        ],
        ids=str,
    )
    @pytest.mark.parametrize("n_jobs", [None, 2])
    def test_equals_streams(self, rules, n_jobs):
        rng = np.random.default_rng(0)
        startprob, transmat = random_chain(rng, 3)
        model = ConstrainedHMM.from_parameters(
            startprob, transmat, states=list("abc"), constraints=rules, n_jobs=n_jobs
        )
        X = [rng.normal(size=(n, 3)) * 3 for n in (1, 7, 4, 30)]
        for rows, proba in zip(X, model.filter_proba(X)):
            stream = model.stream()
            expected = np.array([stream.push(row).proba for row in rows])
            np.testing.assert_allclose(proba, expected, atol=1e-12)

    def test_equals_enumeration(self):
        rng = np.random.default_rng(1)
        startprob, transmat = random_chain(rng, 3)
        rule = C.AtMostVisits("a", 1)
        model = ConstrainedHMM.from_parameters(
            startprob, transmat, states=list("abc"), constraints=rule
        )
        X = rng.normal(size=(5, 3))
        proba = model.filter_proba(X)
        for t in range(5):
            total = np.zeros(3)
            for path in product(range(3), repeat=t + 1):
                if not skchmm.satisfies(["abc"[i] for i in path], rule, list("abc")):
                    continue  # every beginning that keeps this rule can be completed
                weight = startprob[path[0]] * np.prod([transmat[i, j] for i, j in pairwise(path)])
                total[path[-1]] += weight * np.exp(sum(X[s, i] for s, i in enumerate(path)))
            np.testing.assert_allclose(proba[t], total / total.sum(), atol=1e-12)

    def test_sequences_without_a_path(self):
        model = ConstrainedHMM.from_parameters(
            [0.5, 0.5], np.full((2, 2), 0.5), states=["a", "b"], constraints=C.StartsIn("a")
        )
        X = np.array([[-np.inf, 0.0], [0.0, 0.0]])
        with pytest.raises(InfeasibleSequenceError):
            model.filter_proba(X)
        model.set_params(on_infeasible="warn")
        with pytest.warns(InfeasibleSequenceWarning):
            proba = model.filter_proba([X, X[1:]])
        np.testing.assert_allclose(proba[0], [[0, 1], [0.5, 0.5]])
        np.testing.assert_allclose(proba[1], [[1, 0]])
