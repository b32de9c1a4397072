"""Saved models: they load, answer the same, and cannot lead a kernel astray."""

import copy
import json
import pickle
import warnings
from pathlib import Path

import numpy as np
import pytest

import skchmm
from skchmm import (
    BeamRejectionDecoder,
    ConstrainedHMM,
    CTConstrainedHMM,
    InconsistentVersionWarning,
    PerceptronCRF,
    PostHocFilter,
    TopologyMaskedHMM,
    compile,
    hmm,
)
from skchmm.constraints import EndsIn, Precedence
from skchmm.emissions import GMM, Categorical, Multinomial, Poisson
from skchmm.emissions.vocabulary import Vocabulary
from skchmm.graph import AugmentedGraph

from ..data.write_models import models

SAVED = sorted((Path(__file__).parents[1] / "data").glob("saved_by_*/*.*"))
SAVED = [path for path in SAVED if path.suffix in (".pickle", ".skops")]
FITTED = {name: (model, asked) for name, model, asked in models()}


def load(path):
    if path.suffix == ".pickle":
        return pickle.loads(path.read_bytes())
    io = pytest.importorskip("skops.io")
    asked = io.get_untrusted_types(file=path)
    assert all(name.startswith(("skchmm.", "collections.deque")) for name in asked)
    return io.load(path, trusted=asked)


@pytest.mark.parametrize("path", SAVED, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_saved_models_answer_the_same_for_ever(path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InconsistentVersionWarning)
        model = load(path)
    expected = json.loads((path.parent / "answers.json").read_text())[path.stem]
    asked = expected["asked"]
    if isinstance(asked["X"][0], list):
        asked["X"] = np.array(asked["X"])
    assert model.predict(**asked).tolist() == expected["predict"]
    np.testing.assert_allclose(
        model.predict_proba(**asked), expected["predict_proba"], rtol=1e-9, atol=1e-12
    )
    assert model.score(**asked) == pytest.approx(expected["score"], rel=1e-9)


def test_there_are_saved_models_of_each_kind():
    assert {path.stem for path in SAVED} == set(FITTED)
    assert {path.suffix for path in SAVED} == {".pickle", ".skops"}


@pytest.mark.parametrize("name", FITTED)
def test_answers_leave_nothing_behind_in_a_saved_model(name):
    model, asked = copy.deepcopy(FITTED[name])
    before = pickle.dumps(model)
    model.predict(**asked), model.predict_proba(**asked), model.log_feasibility(**asked)
    assert pickle.dumps(model) == before
    io = pytest.importorskip("skops.io")
    data = io.dumps(model)
    asked_for = io.get_untrusted_types(data=data)
    assert not any(word in each for each in asked_for for word in ("Chain", "Graph", "Generator"))
    again = io.loads(data, trusted=asked_for)
    assert again.predict(**asked).tolist() == model.predict(**asked).tolist()
    assert again.graph_.n_nodes == model.graph_.n_nodes


def test_another_version_warns(monkeypatch):
    model, _ = FITTED["categorical"]
    data = pickle.dumps(model)
    pickle.loads(data)  # the same version does not; warnings are errors
    copy.copy(model), copy.deepcopy(model)
    monkeypatch.setattr("skchmm.estimators.saving.__version__", "99.1")
    with pytest.warns(
        InconsistentVersionWarning, match=f"ConstrainedHMM.*{skchmm.__version__}.*99.1"
    ) as seen:
        pickle.loads(data)
    assert seen[0].filename == __file__
    assert seen[0].message.original_version == skchmm.__version__
    unmarked = ConstrainedHMM.__new__(ConstrainedHMM)
    with pytest.warns(InconsistentVersionWarning, match="unknown"):
        unmarked.__setstate__({})
    with pytest.raises(ValueError, match="no saved ConstrainedHMM"):
        unmarked.__setstate__(None)


# ------------------------------------------------------------ damaged files
def more_models():
    rng = np.random.default_rng(1)
    y, symbols = list("aabbaabb"), list("xxyyxyyx")
    counts, numbers = rng.poisson(3, size=(8, 2)), rng.normal(size=(8, 2))
    rules = [Precedence("a", "b")]
    for emission, X in (
        (Categorical(1), symbols),
        (Categorical(symbols=[3, 1, 2]), [1, 2, 3, 1, 2, 3, 1, 2]),
        (Poisson(), counts),
        (Multinomial(), counts),
        (GMM(2), numbers),
        (GMM(1, covariance_type="tied"), numbers),
    ):
        yield ConstrainedHMM(emission=emission, constraints=rules).fit(X, y), {"X": X}
    for kind in (BeamRejectionDecoder, PostHocFilter, TopologyMaskedHMM):
        yield kind().fit(symbols, y), {"X": symbols}
    yield PerceptronCRF(constraints=rules, enforce=True).fit(symbols, y), {"X": symbols}
    yield PerceptronCRF().fit(numbers, y), {"X": numbers}
    yield hmm.CategoricalHMM(2, random_state=0).fit(np.array([[0], [1], [0]])), {"X": [[0], [1]]}
    yield hmm.GMMHMM(2, 2, covariance_type="full", random_state=0).fit(numbers), {"X": numbers}


def arrays_in(value, path=(), depth=0):
    """Where arrays and numbers are, by the steps that lead there from a model."""
    if isinstance(value, (np.ndarray, int, float)) and not isinstance(value, bool):
        yield path
    elif isinstance(value, dict):
        for key in value:
            yield from arrays_in(value[key], (*path, ("item", key)), depth + 1)
    elif isinstance(value, list):
        for key in range(len(value)):
            yield from arrays_in(value[key], (*path, ("item", key)), depth + 1)
    elif type(value).__module__.startswith("skchmm.") and depth < 8:
        state = value.__getstate__()
        for key in state or ():
            yield from arrays_in(state[key], (*path, ("state", key)), depth + 1)


def rebuilt(value, path, change):
    """A copy of a value as it is loaded from a file in which one place is changed."""
    if not path:
        return change(value)
    (kind, key), *rest = path
    if kind == "item":
        value = copy.copy(value)
        value[key] = rebuilt(value[key], rest, change)
        return value
    state = dict(value.__getstate__())
    state[key] = rebuilt(state[key], rest, change)
    made = type(value).__new__(type(value))
    if hasattr(made, "__setstate__"):
        made.__setstate__(state)
    else:
        made.__dict__.update(state)
    return made


def changes(value):
    if not isinstance(value, np.ndarray):
        yield from (lambda v: -1, lambda v: v + 1, lambda v: 10**6, lambda v: None)
        return
    yield lambda v: v[:-1]
    yield lambda v: np.concatenate([v, v])
    yield lambda v: np.empty((0,) * v.ndim, v.dtype)
    yield lambda v: v[..., None]
    yield lambda v: np.repeat(v, 2, axis=-1)
    yield lambda v: np.asarray(v.ravel()[0])
    if value.dtype.kind in "iuf":
        for number in (-1, 10**6, 2**40):
            yield lambda v, number=number: np.full_like(v, number, dtype="i8").astype(v.dtype)
    if value.dtype.kind == "f":
        for number in (np.nan, np.inf):
            yield lambda v, number=number: np.where(np.arange(v.size).reshape(v.shape), v, number)


def at(value, path):
    for kind, key in path:
        value = value[key] if kind == "item" else value.__getstate__()[key]
    return value


EVERY = [*((model, asked) for model, asked in FITTED.values()), *more_models()]


@pytest.mark.parametrize("which", range(len(EVERY)))
def test_damaged_files_are_refused_or_harmless(which):
    """Kernels would not notice what is out of range, but end the process, and with it this test."""
    model, asked = EVERY[which]
    n, refused = 0, 0
    for path in arrays_in(model):
        for change in changes(at(model, path)):
            n += 1
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    loaded = rebuilt(model, path, change)
                    for method in ("predict", "predict_proba", "log_feasibility"):
                        getattr(loaded, method)(**asked)
                    # of rates of 2^40, a draw would have as many jumps
                    if hasattr(loaded, "sample") and not isinstance(loaded, CTConstrainedHMM):
                        loaded.sample(3, random_state=0)
            except (ValueError, TypeError) as error:
                refused += 1
                assert str(error)
            except Exception as error:
                pytest.fail(f"{type(model).__name__} {path}: {error!r}")
    assert 0 < refused <= n


def test_a_damaged_graph():
    graph = AugmentedGraph(compile(EndsIn("b"), ["a", "b"]), np.ones(2), np.ones((2, 2)))
    again = pickle.loads(pickle.dumps(graph))
    for name in ("indptr", "sources", "node_states", "start_nodes", "base_edges"):
        assert np.array_equal(getattr(again, name), getattr(graph, name))
    for name, shape in (("support", (2, 3)), ("support", (1, 1)), ("start_support", (3,))):
        state = graph.__getstate__() | {name: np.ones(shape, dtype=bool)}
        with pytest.raises(ValueError, match="no saved AugmentedGraph"):
            AugmentedGraph.__new__(AugmentedGraph).__setstate__(state)


def test_symbols_are_looked_up_as_before():
    for symbols in ([3, 1, 2], ["b", "a", 1], 4, [0.5, 0.25], []):
        vocabulary = Vocabulary(symbols)
        again = pickle.loads(pickle.dumps(vocabulary))
        assert vars(again).keys() == vars(vocabulary).keys()
        column = vocabulary.symbols[::-1]
        assert (
            again.codes(column, unseen="error").tolist()
            == vocabulary.codes(column, unseen="error").tolist()
        )


# ------------------------------------------------------ replaced parameters
REPLACED = {
    "startprob_": [np.ones(2) / 2, np.ones((3, 1)) / 3, [np.nan, 0.5, 0.5], "abc", [-1, 1, 1]],
    "transmat_": [np.eye(2), np.ones((3, 4)) / 4, np.full((3, 3), np.nan), np.ones(9), np.inf],
    "generator_": [np.zeros((2, 2)), np.full((3, 3), np.nan), np.zeros(3)],
    "durations_": [np.ones((2, 5)) / 5, np.ones(3), np.empty((3, 0)), np.full((3, 2), np.nan)],
}


@pytest.mark.parametrize("name", ["categorical", "continuous", "semi_markov"])
def test_parameters_that_cannot_be_are_named(name):
    model, asked = FITTED[name]
    model.predict(**asked)
    for attribute in model._parameter_names:
        for value in REPLACED[attribute]:
            other = copy.deepcopy(model)
            for asks in (other.predict, other.predict_proba):
                asks(**asked)
            setattr(other, attribute, value)
            with pytest.raises(ValueError, match=attribute):
                other.predict(**asked)
            with pytest.raises(ValueError, match=attribute):
                other.graph_  # noqa: B018
        other = copy.deepcopy(model)
        setattr(other, attribute, getattr(model, attribute).tolist())
        assert other.predict(**asked).tolist() == model.predict(**asked).tolist()


def test_weights_of_a_perceptron_that_cannot_be_are_named():
    model = PerceptronCRF(random_state=0).fit(list("xxyy"), list("aabb"))
    for name, value in (
        ("start_weights_", np.zeros(3)),
        ("transition_weights_", np.zeros((2, 3))),
        ("transition_weights_", np.full((2, 2), np.nan)),
        ("feature_weights_", np.zeros((3, 2))),
        ("feature_weights_", np.full((2, 2), np.nan)),
    ):
        other = copy.deepcopy(model)
        other.predict(list("xy"))
        setattr(other, name, value)
        with pytest.raises(ValueError, match=name):
            other.predict(list("xy"))


# ------------------------------------------------------------------ streams
@pytest.fixture
def streamed():
    model = ConstrainedHMM.from_parameters(
        [0.5, 0.5], [[0.7, 0.3], [0.2, 0.8]], states=["a", "b"], constraints=EndsIn("b"),
        on_infeasible="warn",
    )  # fmt: skip
    return model, np.log(np.random.default_rng(0).dirichlet(np.ones(2), size=6))


@pytest.mark.filterwarnings("ignore::skchmm.InfeasibleSequenceWarning")
@pytest.mark.parametrize("lag", [0, 1, 9])
@pytest.mark.parametrize("n_steps", [None, 6])
@pytest.mark.parametrize("after", range(7))
def test_a_saved_stream_goes_on(streamed, lag, n_steps, after):
    model, rows = streamed
    stream = model.stream(n_steps, lag=lag)
    for row in rows[:after]:
        stream.push(row)
    again = pickle.loads(pickle.dumps(stream))
    for row in rows[after:]:
        expected, found = stream.push(row), again.push(row)
        assert found.step == expected.step and found.label == expected.label
        assert found.proba.tolist() == expected.proba.tolist()
        assert again.log_feasibility == stream.log_feasibility
    assert again.finish().tolist() == stream.finish().tolist()
    assert again.path.tolist() == stream.path.tolist()


def test_a_saved_stream_that_has_left_the_constraints(streamed):
    model, _ = streamed
    stream = model.stream(2)
    stream.push([0.0, 0.0])
    with pytest.warns(skchmm.InfeasibleSequenceWarning):
        stream.push([0.0, -np.inf])
    again = pickle.loads(pickle.dumps(stream))
    assert again.finish().tolist() == stream.finish().tolist()
    assert again.path.tolist() == stream.path.tolist()


def test_a_damaged_stream(streamed):
    model, rows = streamed
    stream = model.stream(6, lag=1)
    for row in rows[:3]:
        stream.push(row)
    state = stream.__getstate__()
    for name, value in (
        ("_node", 99), ("_node", -1), ("_node", None), ("_decided", [0, 7]), ("n_seen", 9),
        ("n_seen", 2), ("_values", [np.zeros(1)]), ("_window", [np.zeros(9)]), ("_window", []),
        ("_seen", [(np.zeros(1), 0.0, [np.zeros(2)] * 2)] * 2),
        ("_seen", [(None, 0.0, [np.zeros(2)] * 2)] * 2), ("_seen", []),
    ):  # fmt: skip
        with pytest.raises(ValueError, match="no saved ConstrainedStream"):
            type(stream).__new__(type(stream)).__setstate__(state | {name: value})
