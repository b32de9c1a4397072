"""What every emission promises, whatever its distribution."""

import copy
import itertools
import pickle

import numpy as np
import pandas as pd
import polars
import pytest
from sklearn.base import clone

from skchmm import ConstrainedHMM, CTConstrainedHMM, InfeasibleSequenceError
from skchmm.emissions import (
    GMM,
    Categorical,
    Emission,
    Frames,
    Gaussian,
    Multinomial,
    NegativeBinomial,
    Poisson,
    Precomputed,
)

from .cases import CASES, NAMES, parameters, responsibilities

each_case = pytest.mark.parametrize(("emission", "data"), [c[1:] for c in CASES], ids=NAMES)
OFFSETS = np.array([0, 1, 30, 31, 90, 120])


def started(emission, data, n_states=3, seed=0):
    rng = np.random.default_rng(seed)
    emission = clone(emission)
    X = data(rng)
    E = emission.encode(X, OFFSETS, reset=True)
    emission.initialise(E, OFFSETS, n_states, init=emission.default_init, random_state=seed)
    return emission, E, X


def split(emission, X):
    """Encode the sequences one by one."""
    return [
        emission.encode(X[a:b], np.array([0, b - a]), reset=False)
        for a, b in itertools.pairwise(OFFSETS)
    ]


@each_case
@pytest.mark.parametrize("seed", range(3))
def test_em_never_falls(emission, data, seed):
    emission, E, _ = started(emission, data, seed=seed)
    history = []
    for _ in range(40):
        posteriors, log_likelihood = responsibilities(emission, E, 3)
        history.append(log_likelihood)
        emission.maximise(emission.accumulate(E, posteriors, OFFSETS))
    assert np.isfinite(history).all()
    assert (np.diff(history) >= -1e-9 * np.abs(history[:-1])).all()
    assert history[-1] > history[0]


@each_case
def test_statistics_add_up_over_sequences(emission, data):
    emission, E, X = started(emission, data)
    posteriors = np.random.default_rng(1).dirichlet(np.ones(3), size=len(X))
    whole = emission.accumulate(E, posteriors, OFFSETS)
    parts = [
        emission.accumulate(part, posteriors[a:b])
        for part, a, b in zip(split(emission, X), OFFSETS[:-1], OFFSETS[1:])
    ]
    for name, value in whole.items():
        np.testing.assert_allclose(sum(part[name] for part in parts), value, atol=1e-9)


@each_case
def test_likelihood_of_sequences_does_not_depend_on_the_others(emission, data):
    emission, E, X = started(emission, data)
    whole = emission.log_likelihood(E).dense()
    parts = [emission.log_likelihood(part).dense() for part in split(emission, X)]
    np.testing.assert_allclose(np.vstack(parts), whole, rtol=1e-12, atol=1e-12)


@each_case
def test_missing_rows_say_nothing(emission, data):
    emission, _, X = started(emission, data)
    X = X.copy()
    X[[3, 50]] = np.nan if X.dtype.kind == "f" else None
    E = emission.encode(X, OFFSETS, reset=False)
    log_p = emission.log_likelihood(E).dense()
    assert (log_p[[3, 50]] == 0).all()
    assert np.isfinite(log_p).all()
    posteriors = np.zeros((len(X), 3))
    posteriors[[3, 50]] = 1.0
    for value in emission.accumulate(E, posteriors, OFFSETS).values():
        assert not value.any()


@each_case
def test_all_observations_missing(emission, data):
    X = data(np.random.default_rng(0))
    X[:] = np.nan if X.dtype.kind == "f" else None
    emission = clone(emission)
    E = emission.encode(X, OFFSETS, reset=True)
    assert (fitted_to_labels(emission, E).log_likelihood(E).dense() == 0).all()
    emission.initialise(E, OFFSETS, 2, init=emission.default_init, random_state=0)
    emission.maximise(emission.accumulate(E, np.full((len(X), 2), 0.5), OFFSETS))
    assert (emission.log_likelihood(E).dense() == 0).all()


def fitted_to_labels(emission, E, labels=None):
    labels = np.arange(120) % 2 if labels is None else labels
    return clone_with_state(emission).fit_supervised(E, labels, 2, offsets=OFFSETS, random_state=0)


def clone_with_state(emission):
    return copy.deepcopy(emission)


@each_case
def test_state_without_weight_keeps_its_parameters(emission, data):
    emission, E, X = started(emission, data)
    before = {key: value.copy() for key, value in parameters(emission).items()}
    posteriors = np.random.default_rng(1).dirichlet(np.ones(2), size=len(X))
    emission.maximise(emission.accumulate(E, np.insert(posteriors, 1, 0.0, axis=1), OFFSETS))
    tied = getattr(emission, "covariance_type", "") == "tied" and isinstance(emission, Gaussian)
    for key, value in parameters(emission).items():
        assert np.isfinite(value).all()
        if not (tied and key[0] == "covars_"):
            np.testing.assert_allclose(value[1], before[key][1], rtol=1e-12)
            assert not np.allclose(value[0], before[key][0])


@each_case
def test_label_never_seen_gets_finite_parameters(emission, data):
    emission = clone(emission)
    E = emission.encode(data(np.random.default_rng(0)), OFFSETS, reset=True)
    emission.fit_supervised(E, np.arange(120) % 2, 4, offsets=OFFSETS, random_state=0)
    log_p = emission.log_likelihood(E).dense()
    assert log_p.shape == (120, 4)
    assert np.isfinite(log_p[:, 2:]).all()
    np.testing.assert_allclose(log_p[:, 2], log_p[:, 3])


@each_case
def test_state_without_labels_keeps_its_start_values(emission, data):
    emission, E, _ = started(emission, data, n_states=4)
    before = {key: value.copy() for key, value in parameters(emission).items()}
    labels = np.arange(120) % 2
    emission.fit_supervised(E, labels, 4, offsets=OFFSETS, smoothing=0.5, random_state=0)
    tied = isinstance(emission, Gaussian) and emission.covariance_type == "tied"
    for key, value in parameters(emission).items():
        if not (tied and key[0] == "covars_"):
            np.testing.assert_allclose(value[2:], before[key][2:], rtol=1e-12)


@each_case
def test_unknown_labels_are_left_out(emission, data):
    X = data(np.random.default_rng(0))
    labels = np.arange(120) % 2
    # the unlabelled steps are whole sequences, so that contexts are not cut
    hidden, shown = labels.copy(), slice(OFFSETS[3], None)
    hidden[: OFFSETS[3]] = -1
    emission = clone(emission)
    E = emission.encode(X, OFFSETS, reset=True)
    few = fitted_to_labels(emission, E, hidden)
    weights = np.zeros(120)
    weights[shown] = 2.0
    same = clone_with_state(emission).fit_supervised(
        E, labels, 2, weights, offsets=OFFSETS, random_state=0
    )
    if "GMM" not in repr(emission):  # whose start values see all rows of a state
        for a, b in zip(parameters(few).values(), parameters(same).values()):
            np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-9)


@each_case
def test_copies(emission, data):
    emission, E, X = started(emission, data)
    assert repr(clone(emission).get_params()) == repr(emission.get_params())
    again = pickle.loads(pickle.dumps(emission))
    expected = emission.log_likelihood(E).dense()
    found = again.log_likelihood(again.encode(X, OFFSETS, reset=False)).dense()
    np.testing.assert_array_equal(found, expected)


@each_case
def test_sample_has_the_shape_of_the_data_and_repeats(emission, data):
    emission, _, X = started(emission, data)
    if hasattr(emission, "n_trials"):
        emission.n_trials_ = 10
    path = np.array([0, 0, 1, 2, 1, 0])
    drawn = emission.sample(path, random_state=3)
    assert drawn.shape == (6, X.shape[1])
    np.testing.assert_array_equal(drawn, emission.sample(path, random_state=3))
    emission.encode(drawn, np.array([0, 6]), reset=False)


@each_case
def test_number_of_columns_is_checked(emission, data):
    emission, _, X = started(emission, data)
    with pytest.raises(ValueError, match=f"X has {X.shape[1] + 1} features, but .* is expecting"):
        emission.encode(np.hstack([X, X[:, :1]]), OFFSETS, reset=False)


@each_case
@pytest.mark.parametrize("n_rows", [1, 2])
def test_fewer_rows_than_states(emission, data, n_rows):
    X = data(np.random.default_rng(5))
    X = X[np.array([all(v == v and v is not None for v in row) for row in X])][:n_rows]
    emission = clone(emission)
    E = emission.encode(X, np.array([0, n_rows]), reset=True)
    for _ in range(2):
        emission.initialise(E, None, 4, init=emission.default_init, random_state=0)
        for _ in range(3):
            posteriors, value = responsibilities(emission, E, 4)
            assert np.isfinite(value)
            emission.maximise(emission.accumulate(E, posteriors))


def test_unknown_init_is_refused():
    emission = Categorical()
    E = emission.encode(np.array(["a", "b"]), reset=True)
    with pytest.raises(ValueError, match=r"init='kmeans' cannot start Categorical.*'random'"):
        emission.initialise(E, None, 2, init="kmeans", random_state=0)


@pytest.mark.parametrize("init", ["kmeans", "random"])
def test_every_numeric_init_works_with_gaps(init):
    for _, emission, data in CASES:
        if not isinstance(emission, Categorical):
            emission = clone(emission)
            E = emission.encode(data(np.random.default_rng(0)), reset=True)
            emission.initialise(E, None, 3, init=init, random_state=0)
            assert np.isfinite(emission.log_likelihood(E).dense()).all()


def test_frames():
    table = np.log([[0.1, 0.9], [0.4, 0.6]])
    frames = Frames(table, np.array([1, 0, 1]))
    assert frames.n_steps == 3
    assert frames.n_states == 2
    np.testing.assert_array_equal(frames.dense(), table[[1, 0, 1]])
    clamped = frames.clamp([-1, 1, 0])
    np.testing.assert_array_equal(clamped.dense()[0], table[1])
    np.testing.assert_array_equal(clamped.dense()[1], [-np.inf, table[0, 1]])
    np.testing.assert_array_equal(clamped.dense()[2], [table[1, 0], -np.inf])
    np.testing.assert_array_equal(frames.dense(), table[[1, 0, 1]])
    assert frames.clamp([-1, -1, -1]) is frames
    assert Frames(table).n_steps == 2
    nowhere = Frames([[0.0, -np.inf], [-np.inf, -np.inf]], [0, 0, 1, 0, 1])
    assert nowhere.impossible_step() == 2
    assert nowhere.impossible_step(3) == 1
    assert nowhere.impossible_step(0, 2) is None
    assert Frames(nowhere.dense()).impossible_step(1) == 1


def test_smoothing_is_a_pseudocount_only_for_counts():
    emission = Poisson()
    E = emission.encode(np.array([[2], [4]]), reset=True)
    assert emission.fit_supervised(E, [0, 0], 1, smoothing=5.0).rates_ == pytest.approx(3.0)


class TestPrecomputed:
    scores = np.array([[-1.0, -np.inf], [np.nan, np.nan], [-2.0, 3.0]])

    def test_scores_pass_through(self):
        emission = Precomputed()
        E = emission.encode(self.scores, reset=True)
        np.testing.assert_array_equal(
            emission.log_likelihood(E).dense(), [[-1.0, -np.inf], [0.0, 0.0], [-2.0, 3.0]]
        )
        assert np.isnan(self.scores[1]).all()
        assert emission.accumulate(E, np.ones((3, 2))) == {}
        emission.maximise({})
        emission.fit_supervised(E, [0, 1, -1], 2)
        assert emission.n_parameters() == 0

    def test_mistakes(self):
        emission = Precomputed()
        with pytest.raises(ValueError, match=r"\+inf in row 0, column 1"):
            emission.encode(np.array([[0.0, np.inf]]), reset=True)
        with pytest.raises(ValueError, match="NaN in part of row 1"):
            emission.encode(np.array([[0.0, 0.0], [np.nan, 0.0]]), reset=True)
        with pytest.raises(ValueError, match="must be numbers"):
            emission.encode(np.array([["a", "b"]]), reset=True)
        E = emission.encode(self.scores, reset=True)
        with pytest.raises(ValueError, match="2 columns, and there are 3 states"):
            emission.initialise(E, None, 3, init="random")
        with pytest.raises(ValueError, match="cannot be sampled"):
            emission.sample([0, 1])

    def test_columns_named_as_the_states_come_in_any_order(self):
        scores = -np.arange(6.0).reshape(2, 3)
        emission = Precomputed()
        emission.name_states(["a", "b", "c"])
        for library in (pd.DataFrame, polars.DataFrame):
            frame = library({"c": scores[:, 2], "a": scores[:, 0], "b": scores[:, 1]})
            np.testing.assert_array_equal(emission.encode(frame, reset=True), scores)
            with pytest.raises(ValueError, match=r"columns \['c', 'a', 'x'\].*\['a', 'b', 'c'\]"):
                emission.encode(library({"c": [0.0], "a": [0.0], "x": [0.0]}), reset=True)
        for positions in (pd.DataFrame(scores), polars.from_numpy(scores), scores):
            np.testing.assert_array_equal(emission.encode(positions, reset=True), scores)
        numbered = Precomputed()
        numbered.name_states(np.arange(3))
        swapped = pd.DataFrame(scores)[[2, 0, 1]]
        for frame in (swapped, swapped.rename(columns=str)):  # as read from a file
            np.testing.assert_array_equal(numbered.encode(frame, reset=True), scores)
        named = pd.DataFrame(scores, columns=["x", "y", "z"])  # the states have no names
        np.testing.assert_array_equal(numbered.encode(named, reset=True), scores)

    def test_probabilities_are_not_log_likelihoods(self):
        emission = Precomputed()
        P = np.array([[0.9, 0.1], [0.25, 0.75], [1.0, 0.0]])
        for X in (P, pd.DataFrame(P), np.vstack([P, [np.nan, np.nan]]), P.astype("f4")):
            with pytest.warns(UserWarning, match=r"looks like probabilities.*numpy.log\(X\)"):
                emission.encode(X, reset=True)
        with np.errstate(divide="ignore"):
            emission.encode(np.log(P), reset=True)
        for X in (np.zeros((2, 2)), np.eye(2), [[0.5, 0.5], [0.5, 0.6]], [[1.0], [1.0]]):
            emission.encode(np.array(X), reset=True)

    def test_estimators_find_columns_by_name(self):
        scores = np.log([[0.9, 0.05, 0.05], [0.1, 0.8, 0.1], [0.2, 0.2, 0.6]])
        frame = pd.DataFrame(scores, columns=["a", "b", "c"])
        chain = [1 / 3] * 3, np.full((3, 3), 1 / 3)
        model = ConstrainedHMM.from_parameters(*chain, states=["a", "b", "c"])
        assert model.predict(frame[["c", "a", "b"]]).tolist() == ["a", "b", "c"]
        with pytest.raises(ValueError, match="one column per state"):
            model.predict(frame.rename(columns={"a": "x"}))
        fitted = ConstrainedHMM(emission="precomputed").fit(frame[["c", "a", "b"]], ["a", "b", "c"])
        assert fitted.predict(frame[["c", "a", "b"]]).tolist() == ["a", "b", "c"]

    def test_steps_that_no_state_can_produce_are_named(self):
        X = np.zeros((5, 2))
        X[3] = -np.inf
        for options in ({}, {"on_infeasible": "warn"}):
            model = ConstrainedHMM.from_parameters([0.5, 0.5], np.full((2, 2), 0.5), **options)
            for call in (model.predict, model.predict_proba, model.fit):
                with pytest.raises(
                    InfeasibleSequenceError,
                    match=r"(?i)every state has probability zero at step 1 of sequence 1",
                ):
                    call(X, lengths=[2, 3])

    def test_rows_leave_no_trace(self):
        emission = Precomputed()
        emission.encode(np.zeros((2, 4)), reset=False)
        emission.encode(np.zeros((2, 3)), reset=False)
        assert not vars(emission)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Categorical.from_parameters([[0.5, 0.6], [0.1, 0.9]]),
        lambda: Categorical.from_parameters([[[0.5, 0.5]], [[1.1, -0.1]]]),
        lambda: Multinomial.from_parameters([[0.5, 0.4]]),
        lambda: Poisson.from_parameters([[1.0], [-1.0]]),
        lambda: Gaussian.from_parameters([[np.inf]], [[1.0]]),
        lambda: Gaussian.from_parameters([[0.0]], [[0.0]]),
        lambda: Gaussian.from_parameters([[0.0]], [np.nan], "spherical"),
        lambda: GMM.from_parameters([[0.5, 0.6]], np.zeros((1, 2, 1)), np.ones((1, 2, 1))),
        lambda: GMM.from_parameters([[0.5, 0.5]], np.zeros((1, 2, 1)), -np.ones((1, 2, 1))),
        lambda: GMM.from_parameters([[0.5, 0.5]], np.zeros((1, 3, 1)), np.ones((1, 3, 1))),
        lambda: GMM.from_parameters([0.5, 0.5], np.zeros((1, 2, 1)), np.ones((1, 2, 1))),
        lambda: GMM.from_parameters([[0.5, 0.5]], np.zeros((1, 2)), np.ones((1, 2, 1))),
        lambda: GMM.from_parameters([[0.5, 0.5]], np.zeros((1, 2, 1)), np.ones((1, 2))),
        lambda: Gaussian.from_parameters([[0.0, 0.0]], [[1.0]]),
        lambda: Gaussian.from_parameters([[0.0], [0.0]], [[1.0]]),
        lambda: Gaussian.from_parameters([0.0], [1.0]),
        lambda: Gaussian.from_parameters([[0.0]], [[1.0]], "round"),
        lambda: Gaussian.from_parameters([["a"]], [[1.0]]),
        lambda: Poisson.from_parameters([1.0, 2.0]),
        lambda: Poisson.from_parameters([]),
        lambda: Multinomial.from_parameters([0.5, 0.5]),
        lambda: Categorical.from_parameters([0.5, 0.5]),
        lambda: Categorical.from_parameters([[0.5, 0.5]], order=1),
        lambda: Categorical.from_parameters([[0.5, 0.5]], order="one"),
        lambda: Categorical.from_parameters([[0.5, 0.5]], symbols=["a", "a"]),
    ],
)
def test_known_parameters_are_checked(make):
    with pytest.raises(ValueError, match=r"must (be|not be|sum|have)|neither"):
        make()


@pytest.mark.parametrize(
    ("index", "message"),
    [
        ([0, 2], "2 at step 1, but the table has the rows 0 to 1"),
        ([-1, 0], "-1 at step 0"),
        ([0.0, 1.0], "1-d array of integers"),
        ([[0, 1]], "1-d array of integers"),
        (np.array([0, 2**40]), "at step 1"),
    ],
)
def test_frames_look_up_rows_that_exist(index, message):
    with pytest.raises(ValueError, match=message):
        Frames(np.zeros((2, 3)), index)
    with pytest.raises(ValueError, match=r"one row per step.*got 1 dim"):
        Frames(np.zeros(3))


def test_frames_keep_the_rows_that_were_checked():
    index = np.zeros(4, dtype=np.int32)
    frames = Frames(np.zeros((2, 3)), index)
    index[:] = 10**8
    assert frames.index.tolist() == [0] * 4
    with pytest.raises(ValueError, match="read-only"):
        frames.index[0] = 10**8
    for name, value in (("index", index), ("table", np.zeros((1, 3)))):
        with pytest.raises(AttributeError, match=name):
            setattr(frames, name, value)
    with pytest.raises(TypeError, match="in_range"):
        Frames(np.zeros((2, 3)), index, in_range=True)


@pytest.mark.parametrize("wrong", [10**8, -(10**8)])
@pytest.mark.parametrize("n_columns", [1, 2])
def test_encoded_symbols_that_were_changed_do_not_reach_the_kernels(n_columns, wrong):
    emission = Categorical()
    E = emission.encode(np.tile([[0], [1]], (60, n_columns)), reset=True)
    emission.initialise(E, None, 2, init="random", random_state=0)
    for name in ("index", "cells"):
        array = getattr(E, name)
        if array is None:
            continue
        with pytest.raises(ValueError, match="read-only"):
            array[0] = wrong
        changed = copy.copy(E)
        setattr(changed, name, array + wrong)
        with pytest.raises(ValueError, match="encoded for other tables"):
            emission.accumulate(changed, np.ones((120, 2)))


def test_counts_that_were_changed_do_not_reach_the_kernels():
    emission = NegativeBinomial()
    E = emission.encode(np.arange(120)[:, None], reset=True)
    E.X = E.X - 1e8
    with pytest.raises(ValueError, match="encoded for other tables"):
        emission.accumulate(E, np.ones((120, 2)))


class Wild(Emission):
    """An emission of a user who makes mistakes."""

    n_features_in_ = 1

    def __init__(self, mistake=None):
        self.mistake = mistake

    def encode(self, X, offsets=None, *, reset):
        return np.asarray(X).ravel()

    def initialise(self, E, offsets, n_states, *, init, random_state=None):
        pass

    def log_likelihood(self, E):
        return {
            "index": lambda: Frames(np.zeros((1, 2)), np.full(len(E), 10**8)),
            "negative": lambda: Frames(np.zeros((1, 2)), np.full(len(E), -1)),
            "states": lambda: Frames(np.zeros((len(E), 1))),
            "steps": lambda: Frames(np.zeros((len(E) + 1, 2))),
            "kind": lambda: np.zeros((len(E), 2)),
            "nan": lambda: Frames(np.full((len(E), 2), np.nan)),
        }[self.mistake]()

    def accumulate(self, E, posteriors, offsets=None):
        return {}

    def maximise(self, statistics, *, smoothing=0.0):
        pass


@pytest.mark.parametrize("mistake", ["index", "negative", "states", "steps", "kind", "nan"])
def test_mistakes_of_an_emission_do_not_reach_the_kernels(mistake):
    X, chain = np.zeros((30, 1)), ([0.5, 0.5], np.full((2, 2), 0.5))
    model = ConstrainedHMM.from_parameters(*chain, emission=Wild(mistake))
    timed = CTConstrainedHMM.from_parameters([0.5, 0.5], [[-1, 1], [1, -1]], emission=Wild(mistake))
    calls = [
        lambda: model.predict(X),
        lambda: model.predict_proba([X, X[:3]]),
        lambda: model.log_likelihood(X),
        lambda: model.kbest(X, 2),
        lambda: model.sample_posterior(X, 2),
        lambda: model.stream().push(0.0),
        lambda: timed.predict(X, np.arange(30.0)),
    ]
    if mistake != "nan":
        calls.append(lambda: ConstrainedHMM(2, emission=Wild(mistake)).fit(X))
    for call in calls:
        with pytest.raises((ValueError, TypeError), match=r"[Ff]rames|emission|log-likelihoods"):
            call()


@each_case
def test_labels_weights_and_posteriors_that_do_not_fit(emission, data):
    emission, E, _ = started(emission, data)
    n = 120
    for y in (np.full(n, 3), np.zeros((n, 1), dtype=int), np.zeros(n), np.array(["a"] * n), 0):
        with pytest.raises(ValueError, match="state"):
            copy.deepcopy(emission).fit_supervised(E, y, 3)
    for weights in (np.ones(n - 1), np.ones((n, 1)), ["a"] * n):
        with pytest.raises(ValueError, match="weights"):
            copy.deepcopy(emission).fit_supervised(E, np.zeros(n, dtype=int), 3, weights)
    for posteriors in (np.ones((n - 1, 3)), np.ones(n), np.ones((n + 1, 3))):
        with pytest.raises(ValueError, match=f"there are {n} steps"):
            emission.accumulate(E, posteriors)
    for path in ([0, 3], [-1, 0], [[0]], [0.5], "abc"):
        with pytest.raises(ValueError, match="state"):
            emission.sample(path)
