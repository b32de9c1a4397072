"""Nothing is lost: learning can be saved, interrupted and taken up again, bit for bit."""

import os
import pickle
import signal

import numpy as np
import pytest
from sklearn.base import clone

from skchmm import ConstrainedHMM, CTConstrainedHMM, HSMMDecoder, hmm
from skchmm.constraints import AtMostVisits, ForbiddenEdges
from skchmm.emissions import GMM, Categorical, Gaussian
from skchmm.estimators import climbing
from skchmm.estimators.statistics import digest_of_rows
from skchmm.graph import AugmentedGraph

pytestmark = pytest.mark.filterwarnings("ignore:EM did not converge")

RNG = np.random.default_rng(0)
X = [RNG.normal(size=(n, 2)) + 2 * RNG.integers(2) for n in (30, 25, 40, 5)]
SYMBOLS = [RNG.integers(4, size=n) for n in (30, 25, 40, 5)]
RULES = AtMostVisits(0, 4)
MODELS = {
    "numbers": (ConstrainedHMM(3, constraints=RULES, tol=0, random_state=0), X),
    "full": (ConstrainedHMM(2, emission=Gaussian("full"), tol=0, random_state=0), X),
    "mixture": (ConstrainedHMM(2, emission=GMM(2), tol=0, random_state=0), X),
    "symbols": (
        ConstrainedHMM(3, constraints=RULES, emission=Categorical(1), tol=0, random_state=0),
        SYMBOLS,
    ),
    "continuous": (CTConstrainedHMM(3, tol=0, random_state=0), X),
    "masked": (
        CTConstrainedHMM(
            3, semantics="masked", constraints=ForbiddenEdges([(0, 1)]), tol=0, random_state=0
        ),
        X,
    ),
    "given": (
        ConstrainedHMM(
            2,
            startprob_fixed=[0.3, 0.7],
            transmat_fixed=[[np.nan, 0.2], [np.nan, np.nan]],
            tol=0,
            random_state=0,
        ),
        X,
    ),
    "durations": (HSMMDecoder(10, n_states=2, tol=0, random_state=0), SYMBOLS),
}


def parameters(model):
    names = [*model._parameter_names]
    values = {name: getattr(model, name) for name in names}
    emission = vars(model.emission_).items()
    return values | {name: v for name, v in emission if isinstance(v, np.ndarray)}


def same(a, b):
    a, b = parameters(a), parameters(b)
    assert a.keys() == b.keys()
    for name, value in a.items():
        np.testing.assert_array_equal(value, b[name])


def saved(model):
    return pickle.loads(pickle.dumps(model))


@pytest.fixture
def steps(monkeypatch):
    """Counts E-steps and graphs."""
    counted = {"e_steps": 0, "graphs": 0}
    expect, build = climbing.expect, AugmentedGraph.__init__

    def counting(*args, **kwargs):
        counted["e_steps"] += 1
        return expect(*args, **kwargs)

    def building(self, *args, **kwargs):
        counted["graphs"] += 1
        build(self, *args, **kwargs)

    monkeypatch.setattr(climbing, "expect", counting)
    monkeypatch.setattr(AugmentedGraph, "__init__", building)
    return counted


@pytest.mark.parametrize("chunked", [False, True])
@pytest.mark.parametrize("name", MODELS)
def test_learning_goes_on_bit_for_bit(name, chunked, steps):
    model, data = MODELS[name]

    def fit(model):
        return model.fit_chunks([data[:2], data[2:]]) if chunked else model.fit(data)

    per_e_step = 2 if chunked else 1
    whole = fit(clone(model).set_params(n_iter=5))
    part = fit(clone(model).set_params(n_iter=2))
    steps["e_steps"] = 0
    history = list(part.history_)
    for k in range(1, 4):
        part = fit(saved(part).set_params(init="fitted", n_iter=1))
        assert steps["e_steps"] == k * per_e_step
        assert part.history_[0] == history[-1]
        history += part.history_[1:]
    assert history == whole.history_
    same(whole, part)


def test_going_on_builds_no_graph_again(steps):
    model = clone(MODELS["numbers"][0]).set_params(n_iter=2).fit(X)
    steps["graphs"] = 0
    for _ in range(3):
        model.set_params(init="fitted", n_iter=1).fit(X)
    assert steps["graphs"] == 0
    model.set_params(constraints=AtMostVisits(0, 2)).fit(X)
    assert steps["graphs"] > 0 and model.constraints_ == [AtMostVisits(0, 2)]


def test_hmmlearns_models_go_on():
    for model, data in (
        (hmm.GaussianHMM(2, tol=-np.inf, random_state=0), X),
        (hmm.CategoricalHMM(2, tol=-np.inf, random_state=0), [s[:, None] for s in SYMBOLS]),
    ):
        for fit in (
            lambda m, data=data: m.fit(data),
            lambda m, data=data: m.fit_chunks([(data[:2],), (data[2:],)]),
        ):
            whole = fit(clone(model).set_params(n_iter=5))
            part = fit(clone(model).set_params(n_iter=2))
            history = list(part.history_)
            for _ in range(3):
                part = fit(saved(part).set_params(init_params="", n_iter=1))
                history += part.history_
            assert history == whole.history_
            np.testing.assert_array_equal(part.transmat_, whole.transmat_)
            assert part.score(data) == whole.score(data)


class Watcher:
    """A callback that saves the model after every iteration, and may interrupt it."""

    def __init__(self, interrupt_after=None, by=None):
        self.saved, self.interrupt_after, self.by = [], interrupt_after, by

    def setup(self, estimator, context):
        pass

    def teardown(self, estimator, context):
        pass

    def on_fit_task_begin(self, estimator, context):
        pass

    def on_fit_task_end(self, estimator, context):
        if context.task_name != "EM iteration":
            return False
        estimator.set_callbacks()
        self.saved.append(pickle.dumps(estimator))
        estimator.set_callbacks(self)
        if len(self.saved) == self.interrupt_after:
            if self.by is None:
                raise KeyboardInterrupt
            signal.raise_signal(self.by)
        return False


@pytest.mark.parametrize("chunked", [False, True])
@pytest.mark.parametrize("name", MODELS)
def test_callbacks_can_save_every_iteration(name, chunked):
    pytest.importorskip("sklearn.callback")
    model, data = MODELS[name]

    def fit(model):
        return model.fit_chunks([data[:2], data[2:]]) if chunked else model.fit(data)

    watcher = Watcher()
    whole = fit(clone(model).set_params(n_iter=4).set_callbacks(watcher))
    assert len(watcher.saved) == 5
    for k, each in enumerate(watcher.saved):
        found = pickle.loads(each)
        assert found.history_ == whole.history_[: k + 1] and found.n_iter_ == k
        if k < 4:
            same(whole, fit(found.set_params(init="fitted", n_iter=4 - k)))
    same(whole, pickle.loads(watcher.saved[-1]))


def test_an_interrupt_leaves_the_last_complete_iteration(monkeypatch):
    pytest.importorskip("sklearn.callback")
    model, data = MODELS["numbers"]
    expected = clone(model).set_params(n_iter=2).fit(data)
    found = clone(model).set_params(n_iter=9).set_callbacks(Watcher(interrupt_after=3))
    with pytest.raises(KeyboardInterrupt):
        found.fit(data)
    same(expected, found)
    assert found.history_ == expected.history_
    assert found.predict(data)[0].tolist() == expected.predict(data)[0].tolist()


def test_a_signal_can_end_learning():
    pytest.importorskip("sklearn.callback")

    def end(number, frame):
        raise SystemExit(number)

    before = signal.signal(signal.SIGTERM, end)
    model, data = MODELS["continuous"]
    expected = clone(model).set_params(n_iter=1).fit(data)
    try:
        found = clone(model).set_params(n_iter=9)
        with pytest.raises(SystemExit):
            found.set_callbacks(Watcher(2, by=signal.SIGTERM)).fit_chunks([data])
    finally:
        signal.signal(signal.SIGTERM, before)
    same(expected, found)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("where", ["e_step", "m_step"])
def test_an_interrupt_anywhere(name, where, monkeypatch):
    model, data = MODELS[name]
    expected = clone(model).set_params(n_iter=2).fit(data)
    found = clone(model).set_params(n_iter=9)
    method = {"e_step": "_take_e_step", "m_step": "_maximise"}[where]
    honest, calls = getattr(type(found), method), []

    def interrupted(self, *args):
        calls.append(1)
        if len(calls) == (4 if where == "e_step" else 3):
            raise KeyboardInterrupt
        return honest(self, *args)

    monkeypatch.setattr(type(found), method, interrupted)
    with pytest.raises(KeyboardInterrupt):
        found.fit(data)
    monkeypatch.undo()
    same(expected, found)
    whole = clone(model).set_params(n_iter=5).fit(data)
    same(whole, found.set_params(init="fitted", n_iter=3).fit(data))


def test_hmmlearns_m_step_is_done_as_a_whole(monkeypatch):
    data = np.concatenate(X)
    expected = hmm.GaussianHMM(2, n_iter=2, tol=-np.inf, random_state=0).fit(data)
    found, calls = hmm.GaussianHMM(2, n_iter=9, tol=-np.inf, random_state=0), []
    honest = Gaussian.maximise

    def interrupted(self, *args, **kwargs):
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return honest(self, *args, **kwargs)

    monkeypatch.setattr(Gaussian, "maximise", interrupted)
    with pytest.raises(KeyboardInterrupt):
        found.fit(data)
    for name in ("startprob_", "transmat_", "means_", "_covars_"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))
    assert found.history_ == expected.history_


def test_of_several_starts_the_best_is_left(monkeypatch):
    model, data = MODELS["numbers"]
    model = clone(model).set_params(n_init=3, n_iter=3)
    whole = clone(model).fit(data)
    calls, honest = [], ConstrainedHMM._take_e_step

    def interrupted(self, *args):
        calls.append(1)
        if len(calls) == 10:
            raise KeyboardInterrupt
        return honest(self, *args)

    monkeypatch.setattr(ConstrainedHMM, "_take_e_step", interrupted)
    with pytest.raises(KeyboardInterrupt):
        model.fit(data)
    first_two = whole.histories_[:2]
    assert model.history_ == max(first_two, key=lambda history: history[-1])


def test_data_are_told_apart_by_their_values(tmp_path):
    rng = np.random.default_rng(0)
    arrays = [rng.normal(size=(5000, 3)), rng.integers(9, size=9000).astype(np.int8)]
    for array in [*arrays, arrays[0][::2], arrays[0].T.copy().T, arrays[1][:3]]:
        key = digest_of_rows(array)
        assert digest_of_rows(np.array(array)) == key
        for k in (0, len(array) // 2, -1):
            other = np.array(array)
            other[k] += 1
            assert digest_of_rows(other) != key
        if len(array) > 3:
            assert digest_of_rows(array[::-1]) != key
    assert digest_of_rows(np.array([None, 1])) is None
    arrays[1].tofile(tmp_path / "a")
    mapped = np.memmap(tmp_path / "a", dtype=np.int8, mode="r")
    assert digest_of_rows(mapped) == digest_of_rows(np.asarray(mapped))
    assert digest_of_rows(mapped) != digest_of_rows(mapped[10:])
    before = digest_of_rows(mapped)
    arrays[1][::-1].tofile(tmp_path / "a")
    os.utime(tmp_path / "a", ns=(0, 1))
    assert digest_of_rows(np.memmap(tmp_path / "a", dtype=np.int8, mode="r")) != before


def test_learning_goes_on_with_mapped_files(tmp_path, steps):
    np.concatenate(SYMBOLS).astype(np.int8).tofile(tmp_path / "a")
    model = ConstrainedHMM(2, n_iter=2, tol=0, random_state=0)

    def mapped():
        return np.memmap(tmp_path / "a", dtype=np.int8, mode="r")

    model.fit(mapped(), lengths=[30, 25, 40, 5])
    steps["e_steps"] = 0
    model.set_params(init="fitted", n_iter=1).fit(mapped(), lengths=[30, 25, 40, 5])
    assert steps["e_steps"] == 1
    model.fit(mapped(), lengths=[25, 30, 40, 5])
    assert steps["e_steps"] == 3
