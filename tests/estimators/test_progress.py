"""Fits tell callbacks and the terminal how far they are."""

import re
import threading

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV

from skchmm import ConstrainedHMM, CTConstrainedHMM, HSMMDecoder, PerceptronCRF, hmm
from skchmm.estimators import em

pytestmark = pytest.mark.filterwarnings("ignore:EM did not converge")


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    X = [rng.normal(size=(12, 2)) + 3 * (k % 2) for k in range(4)]
    return X, [np.arange(12) // 6 for _ in X]


class Recorder:
    """Writes down which task begins and ends; asks to stop after some."""

    def __init__(self, stop_after=()):
        self.events, self.limits, self.stop_after = [], {}, list(stop_after)

    def setup(self, estimator, context):
        self.is_torn_down = False

    def teardown(self, estimator, context):
        self.is_torn_down = True

    def on_fit_task_begin(self, estimator, context):
        self.limits[self._path(context)] = context.max_subtasks
        self.events.append(("begin", self._path(context)))

    def on_fit_task_end(self, estimator, context):
        self.events.append(("end", self._path(context)))
        return self._path(context) in self.stop_after

    def _path(self, context):
        parents = () if context.parent is None else self._path(context.parent)
        return (*parents, (context.task_name, context.task_id))

    def tasks(self, name):
        return [path for event, path in self.events if event == "end" and path[-1][0] == name]

    def check(self):
        """Tasks are nested like brackets, and no task has more subtasks than it said."""
        running, subtasks = [], {}
        for event, path in self.events:
            if event == "begin":
                assert path[:-1] == (running[-1] if running else ())
                subtasks[path[:-1]] = subtasks.get(path[:-1], 0) + 1
                running.append(path)
            else:
                assert running.pop() == path
        assert not running and self.is_torn_down
        assert all(n <= self.limits[path] for path, n in subtasks.items() if path)


MODELS = {
    "one start": ConstrainedHMM(2, n_iter=3, tol=0, random_state=0),
    "three starts": ConstrainedHMM(2, n_iter=3, tol=0, n_init=3, random_state=0),
    "no iteration": ConstrainedHMM(2, n_iter=0, random_state=0),
    "continuous time": CTConstrainedHMM(2, n_iter=2, tol=0, random_state=0),
    "durations": HSMMDecoder(n_states=2, n_iter=2, tol=0, random_state=0),
    "perceptron": PerceptronCRF(n_epochs=3),
    "hmmlearn's names": hmm.GaussianHMM(2, n_iter=3, random_state=0),
    "hmmlearn's names, starts": hmm.GaussianHMM(2, n_iter=3, n_init=2, random_state=0),
}


@pytest.mark.parametrize("labelled", [False, True])
@pytest.mark.parametrize("name", MODELS)
def test_callbacks_see_a_tree_of_tasks(name, labelled, data):
    pytest.importorskip("sklearn.callback")
    X, y = data
    if name == "perceptron" and not labelled:
        pytest.skip("learns from labels only")
    recorder = Recorder()
    model = MODELS[name].set_callbacks(recorder)
    model.fit(X, y) if labelled else model.fit(X)
    recorder.check()
    assert len(recorder.tasks("fit")) == 1
    if name == "perceptron":
        assert len(recorder.tasks("epoch")) == 3
    elif labelled:
        assert recorder.tasks("EM iteration") == []
    elif model.n_init == 1:
        assert len(recorder.tasks("EM iteration")) == len(model.history_)
    else:
        assert len(recorder.tasks("start")) == model.n_init


def test_a_callback_may_end_a_start_or_all_starts(data):
    pytest.importorskip("sklearn.callback")
    path = (("fit", 0), ("start", 0))
    recorder = Recorder(stop_after=[(*path, ("EM iteration", 1))])
    model = MODELS["three starts"].set_callbacks(recorder).fit(data[0])
    assert [len(history) for history in model.histories_] == [2, 4, 4]
    recorder = Recorder(stop_after=[path])
    model.set_callbacks(recorder).fit(data[0])
    assert len(model.histories_) == len(recorder.tasks("start")) == 1
    recorder.check()


def test_scikit_learns_progress_bar(data, capsys, monkeypatch):
    pytest.importorskip("rich")
    callback = pytest.importorskip("sklearn.callback")
    failed = []
    monkeypatch.setattr(threading, "excepthook", failed.append)
    X, y = data
    for model in MODELS.values():
        model.set_callbacks(callback.ProgressBar()).fit(X, y)
        if not isinstance(model, PerceptronCRF):
            model.fit(X)
        model.set_callbacks()
    search = GridSearchCV(MODELS["three starts"], {"tol": [0, 1]}, cv=2)
    search.set_callbacks(callback.ProgressBar()).fit(X)
    assert not failed
    shown = capsys.readouterr().out
    assert "ConstrainedHMM - start #2" in shown and "100%" in shown


def test_verbose_counts_iterations_and_starts(data, capsys):
    model = ConstrainedHMM(2, n_iter=12, tol=0, n_init=2, random_state=0, verbose=1)
    model.fit(data[0])
    lines = capsys.readouterr().out.splitlines()
    expected = [(k, i) for k, h in enumerate(model.histories_) for i in range(len(h))]
    assert len(lines) == len(expected)
    for line, (start, iteration) in zip(lines, expected):
        assert line.startswith(f"start {start + 1} of 2, EM iteration {iteration:2d} of 12  ")
        assert f"  {model.histories_[start][iteration]:.6f}" in line
    PerceptronCRF(n_epochs=2, verbose=1).fit(*data)
    epochs = capsys.readouterr().out.splitlines()
    assert [line[:13] for line in epochs] == ["epoch 1 of 2 ", "epoch 2 of 2 "]


def test_verbose_says_how_long_it_may_last(data, capsys, monkeypatch):
    clock = iter(range(0, 10_000, 60))  # a minute between any two looks
    monkeypatch.setattr(em, "perf_counter", lambda: next(clock))
    ConstrainedHMM(2, n_iter=4, tol=0, n_init=2, random_state=0, verbose=1).fit(data[0])
    lines = capsys.readouterr().out.splitlines()
    left = [int(m[1]) if (m := re.search(r"at most (\d+) min left", x)) else 0 for x in lines]
    assert left[:8] == [9, 8, 7, 6, 5, 4, 3, 2]
    assert "at most 60 s left" in lines[8] and "left" not in lines[9]


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.4, "0 s"), (89, "89 s"), (90, "2 min"), (3600, "60 min"), (9000, "2.5 h")],
)
def test_durations_to_read(seconds, text):
    assert em.duration(seconds) == text


def test_the_best_of_the_histories_is_kept(data):
    with pytest.warns(ConvergenceWarning):
        model = ConstrainedHMM(2, n_iter=3, tol=0, n_init=4, random_state=1).fit(data[0])
    assert len(model.histories_) == 4
    assert model.history_ == max(model.histories_, key=lambda history: history[-1])
