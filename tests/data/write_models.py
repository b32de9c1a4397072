"""Writes the saved models of this version; ``python -m tests.data.write_models``.

Files of released versions stay as they are: they have to load for ever.
"""

import json
import pickle
import warnings
import zipfile
from pathlib import Path

import numpy as np
import skops.io

from skchmm import ConstrainedHMM, CTConstrainedHMM, HSMMDecoder, NotEnforcedWarning, hmm
from skchmm.constraints import AtMostVisits, Precedence, Regex, StartsIn

HERE = Path(__file__).parent / "saved_by_0.1"


def models():
    """Name, fitted model, and what it is asked about."""
    rng = np.random.default_rng(0)
    symbols, y = list("xxyyzxzz"), list("aabbcbcc")
    numbers = rng.normal(size=(8, 2)).round(2) + np.array([[ord(label) - 97.0, 0.0] for label in y])
    times = np.arange(8) * 0.5
    rules = [Precedence("a", "b"), AtMostVisits("c", 3), Regex("a+ .*")]
    discrete = ConstrainedHMM(constraints=rules)
    yield "categorical", discrete.fit(symbols, y), {"X": symbols}
    gaussian = ConstrainedHMM(emission="gaussian", constraints=rules, algorithm="posterior")
    yield "gaussian", gaussian.fit(numbers, y), {"X": numbers}
    continuous = CTConstrainedHMM(constraints=rules[:1])
    yield "continuous", continuous.fit(symbols, y, times=times), {"X": symbols, "times": times}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotEnforcedWarning)
        semi = HSMMDecoder(5, constraints=rules[:1], enforce=True).fit(symbols, y)
    yield "semi_markov", semi, {"X": symbols}
    plain = hmm.GaussianHMM(2, constraints=StartsIn(1), n_iter=5, random_state=0).fit(numbers)
    yield "hmm", plain, {"X": numbers}


def write():
    HERE.mkdir(exist_ok=True)
    answers = {}
    for name, model, asked in models():
        (HERE / f"{name}.pickle").write_bytes(pickle.dumps(model, protocol=4))
        path = HERE / f"{name}.skops"
        skops.io.dump(model, path, compression=zipfile.ZIP_DEFLATED, compresslevel=9)
        answers[name] = {
            "asked": {key: np.asarray(value).tolist() for key, value in asked.items()},
            "predict": model.predict(**asked).tolist(),
            "predict_proba": model.predict_proba(**asked).tolist(),
            "score": model.score(**asked),
        }
    (HERE / "answers.json").write_text(json.dumps(answers, indent=1) + "\n")


if __name__ == "__main__":
    write()
