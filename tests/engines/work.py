"""What all engines are given to do, in a module that their workers can import."""

import os
import pickle
import re
import signal
import textwrap
from functools import partial
from pathlib import Path

import numpy as np

from skchmm import ConstrainedHMM
from skchmm.constraints import AtMostVisits
from skchmm.inference.schedule import threads_of

LENGTHS = [40, 25, 60, 10, 33, 41, 28, 50]
N_CHUNKS = 6


def chunk(number):
    """Loads a chunk: the same wherever it is called."""
    rng = np.random.default_rng(number)
    n = sum(LENGTHS)
    state = np.repeat(rng.integers(3, size=n // 4 + 1), 4)[:n]
    X = rng.normal(size=(n, 2)) + 2 * np.eye(3)[state, :2]
    return {"X": X, "lengths": LENGTHS}


def deadly_chunk(number, folder):
    """The same; the process dies once, when the fourth pass asks for chunk 3."""
    if number == 3:
        passes = len(list(Path(folder).glob("pass*")))
        (Path(folder) / f"pass{passes}").touch()
        if passes == 3:
            os.kill(os.getpid(), signal.SIGKILL)
    return chunk(number)


def chunks():
    return [partial(chunk, number) for number in range(N_CHUNKS)]


def deadly_chunks(folder):
    return [partial(deadly_chunk, number, str(folder)) for number in range(N_CHUNKS)]


def model(**params):
    params = {"n_iter": 4, "tol": 0, "random_state": 0, "constraints": AtMostVisits(0, 9)} | params
    return ConstrainedHMM(3, **params)


def threads_in_worker(_):
    return threads_of(-1)


def same(a, b):
    """To the last bit."""
    assert a.history_ == b.history_
    for name in ("startprob_", "transmat_"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name))
    for name in ("means_", "covars_"):
        np.testing.assert_array_equal(getattr(a.emission_, name), getattr(b.emission_, name))


def check_learning(mapper):
    """Chunks learned from by an engine, in one go and taken up again from a saved model."""
    expected = model().fit_chunks(chunks())
    same(expected, model().fit_chunks(chunks(), map=mapper))
    same(expected, model().fit_chunks(chunks(), map=mapper, per_task=2))
    part = model(n_iter=2).fit_chunks(chunks(), map=mapper)
    part = pickle.loads(pickle.dumps(part)).set_params(init="fitted", n_iter=2)
    part.fit_chunks(chunks(), map=mapper)
    np.testing.assert_array_equal(part.transmat_, expected.transmat_)
    assert part.history_ == expected.history_[2:]


def check_a_death(mapper, folder):
    """A worker is killed in the middle of an iteration; the engine tries again."""
    expected = model().fit_chunks(chunks())
    found = model().fit_chunks(deadly_chunks(folder), map=mapper)
    assert len(list(Path(folder).glob("pass*"))) > 4, "nobody died"
    same(expected, found)


def labelled(n_sequences=12):
    """Sequences with labels, and a model that knows them."""
    rng = np.random.default_rng(0)
    y = [np.repeat(rng.integers(3, size=10), 4) for _ in range(n_sequences)]
    X = [rng.normal(size=(40, 2)) + 2 * np.eye(3)[path, :2] for path in y]
    return X, y, ConstrainedHMM().fit(X, y)


def search(n_jobs=None):
    from sklearn.model_selection import GridSearchCV

    X, y, _ = labelled()
    grid = {"smoothing": [0.1, 1.0], "constraints": [None, AtMostVisits(0, 3)]}
    return GridSearchCV(ConstrainedHMM(), grid, cv=3, n_jobs=n_jobs).fit(X, y)


def recipe(name):
    """The code of a recipe of the user guide."""
    page = Path(__file__).parents[2] / "doc" / "user_guide" / "large_data.rst"
    block = re.search(rf":name: {name}\n\n((?: {{4}}.*\n|\n)+)", page.read_text())
    return textwrap.dedent(block[1])


def check_recipe(name, **names):
    """Run a recipe of the user guide: it learns as the builtin map does, labels as `predict`."""
    import pandas as pd

    X, _, _ = labelled()
    rows = np.concatenate(X)
    table = pd.DataFrame(rows, columns=["a", "b"])
    table["who"], table["row"] = np.repeat(np.arange(len(X)), 40), np.arange(len(table))
    expected = model().fit_chunks(chunks())
    learner = model()
    names |= {"chunks": chunks(), "model": learner, "sequences": X, "table": table}
    exec(compile(recipe(name), name, "exec"), names)
    same(expected, learner)
    labels = np.concatenate(learner.predict(X))
    found = names.get("labels")
    if found is None:
        found = [names["labelled"].sort_values("row")["label"].to_numpy()]
    np.testing.assert_array_equal(np.concatenate(found), labels)
