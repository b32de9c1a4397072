"""A reader follows a call through few files: how many a call of each kind runs through."""

import sys
from pathlib import Path

import numpy as np
import pytest

import skchmm
from skchmm import ConstrainedHMM, CTConstrainedHMM, hmm
from skchmm.constraints import AtMostVisits

PACKAGE = Path(skchmm.__file__).parent
RNG = np.random.default_rng(0)
X = [RNG.normal(size=(n, 2)) for n in (40, 25, 30)]
SYMBOLS = [RNG.integers(4, size=n) for n in (40, 25, 30)]
TIMES = [np.cumsum(RNG.exponential(size=len(x))) for x in X]
Y = [RNG.integers(3, size=len(x)) for x in X]
RULES = AtMostVisits(0, 30)


def files_of(call):
    """The files of the package in which functions are called."""
    seen = set()

    def look(frame, event, arg):
        path = Path(frame.f_code.co_filename)
        if event == "call" and PACKAGE in path.parents:
            seen.add(path.relative_to(PACKAGE).as_posix())

    sys.setprofile(look)
    try:
        call()
    finally:
        sys.setprofile(None)
    return sorted(seen - {"_numbers.py"})  # whether a number is whole is asked on the way


def predict(X, rules):
    model = ConstrainedHMM(constraints=rules).fit(X, Y)
    model.predict(X)
    return lambda: model.predict(X)


def predict_one(X, rules):
    model = ConstrainedHMM(constraints=rules).fit(X, Y)
    return lambda: model.predict(X[0])


def fit(X, rules):
    model = ConstrainedHMM(3, constraints=rules, n_iter=2, tol=np.inf)
    return lambda: model.fit(X)


def predict_in_continuous_time(X, rules):
    model = CTConstrainedHMM(constraints=rules).fit(X, [np.sort(y) for y in Y], times=TIMES)
    model.predict(X, TIMES)
    return lambda: model.predict(X, TIMES)


def fit_as_in_hmmlearn(X, rules):
    model = hmm.GaussianHMM(3, n_iter=2, random_state=0, constraints=rules)
    stacked, lengths = np.concatenate(X).reshape(95, -1).astype(float), [40, 25, 30]
    return lambda: model.fit(stacked, lengths)


# What constraints are made of is read as they are compiled: the family's file, what all families
# share, compile, limits, and two files of the controller.
COMPILATION = 7


@pytest.mark.parametrize("rules", [None, RULES], ids=["free", "rules"])
@pytest.mark.parametrize("X", [X, SYMBOLS], ids=["numbers", "symbols"])
@pytest.mark.parametrize(
    ("prepare", "most"),
    [
        (predict, 8),
        (predict_one, 8),
        (fit, 21),
        (predict_in_continuous_time, 14),
        (fit_as_in_hmmlearn, 21),
    ],
)
def test_a_call_runs_through_few_files(prepare, most, X, rules):
    if "fit" in prepare.__name__:
        most += COMPILATION * (rules is not None) + (X is SYMBOLS)  # symbols have a vocabulary
    files = files_of(prepare(X, rules))
    assert len(files) <= most, f"{len(files)} files: {files}"
