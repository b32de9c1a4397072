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
    return sorted(seen)


def predict():
    model = ConstrainedHMM(constraints=RULES).fit(X, Y)
    return lambda: model.predict(X)


def fit():
    return lambda: ConstrainedHMM(3, constraints=RULES, n_iter=2, tol=np.inf).fit(X)


def predict_in_continuous_time():
    model = CTConstrainedHMM(constraints=RULES).fit(X, Y, times=TIMES)
    return lambda: model.predict(X, TIMES)


def fit_as_in_hmmlearn():
    return lambda: hmm.GaussianHMM(3, n_iter=2, random_state=0).fit(X)


@pytest.mark.parametrize(
    ("prepare", "most"),
    [(predict, 8), (fit, 15), (predict_in_continuous_time, 12), (fit_as_in_hmmlearn, 18)],
)
def test_a_call_runs_through_few_files(prepare, most):
    files = files_of(prepare())
    assert len(files) <= most, f"{len(files)} files: {files}"
