"""The averaged perceptron against python-crfsuite's, on features of three neighbouring symbols."""

import os
import tempfile

import numpy as np

from skchmm import PerceptronCRF
from skchmm.datasets import make_chain

from .race import Line, race

NEEDS = ("pycrfsuite",)


def run(quick=False):
    import pycrfsuite

    n_train = 30 if quick else 200
    data = make_chain(2 * n_train, random_state=0)
    X = [_features(x) for x in data.X]
    y = [path.tolist() for path in data.y]
    train, labels, test, truth = X[:n_train], y[:n_train], X[n_train:], y[n_train:]
    words = [[[f"{k}={v}" for k, v in step.items()] for step in x] for x in X]
    train_words, test_words = words[:n_train], words[n_train:]
    columns = [np.array([list(step.values()) for step in x]) for x in train]
    folder = tempfile.mkdtemp()
    path = os.path.join(folder, "model")

    def theirs():
        trainer = pycrfsuite.Trainer(algorithm="averaged-perceptron", verbose=False)
        trainer.set_params({"max_iterations": 6, "epsilon": 0.0})
        for x, t in zip(train_words, labels):
            trainer.append(x, t)
        trainer.train(path)

    model = PerceptronCRF(random_state=0)
    functions = {
        "dictionaries": lambda: model.fit(train, labels),
        "columns": lambda: PerceptronCRF(random_state=0).fit(columns, labels),
        "theirs": theirs,
    }
    seconds = race(functions, seconds=1.0, least=2)
    size = f"{n_train} x 200, 5 labels, 3 features a step"
    yield Line("perceptron, 6 epochs", size, "PerceptronCRF (dictionaries)",
               seconds["dictionaries"], "crfsuite", seconds["theirs"], at_least=1,
               demand="perceptron, crfsuite")  # fmt: skip
    yield Line("perceptron, 6 epochs", size, "PerceptronCRF (columns)", seconds["columns"],
               "crfsuite", seconds["theirs"], at_least=1,
               demand="perceptron, crfsuite")  # fmt: skip

    tagger = pycrfsuite.Tagger()
    tagger.open(path)
    functions = {
        "ours": lambda: model.predict(test),
        "theirs": lambda: [tagger.tag(x) for x in test_words],
    }
    answers = {name: function() for name, function in functions.items()}
    accuracy = {
        name: np.mean([np.mean(np.asarray(a) == b) for a, b in zip(found, truth)])
        for name, found in answers.items()
    }
    seconds = race(functions, seconds=0.5)
    yield Line("decoding with it", size, "PerceptronCRF (dictionaries)", seconds["ours"],
               "crfsuite", seconds["theirs"], note=f"accuracy {accuracy['ours']:.3f} and "
               f"{accuracy['theirs']:.3f}")  # fmt: skip


def _features(x):
    symbols = [str(symbol) for symbol in x]
    before, after = ["-", *symbols[:-1]], [*symbols[1:], "-"]
    return [{"here": a, "before": b, "after": c} for a, b, c in zip(symbols, before, after)]
