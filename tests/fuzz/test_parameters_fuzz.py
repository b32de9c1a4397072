"""Every parameter of every estimator, set to what it cannot be: an answer, or an error in words."""

import datetime
import os
from functools import partial

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from tests.fuzz.anything import is_plain
from tests.fuzz.test_estimators_fuzz import ESTIMATORS, FITTED, ask, each_estimator

WRONG = [
    None, pd.NA, pd.NaT, np.ma.masked, np.nan, np.inf, -1, 1.5, 1j, True, "", b"", "walk", (), [],
    {}, {1, 2}, ["a"], np.zeros(0), np.array(3), np.eye(2), datetime.datetime(2024, 2, 29),
    np.timedelta64(3, "h"),
]  # fmt: skip
LEFT_OUT = {"verbose", "n_jobs", "constraints"}


@each_estimator
def test_every_parameter(name):
    X, y = FITTED[name][1], [0, 0, 1, 1, 0, 1, 1, 0, 1, 1]
    for parameter in sorted({*ESTIMATORS[name].get_params(deep=False)} - LEFT_OUT):
        for value in WRONG:
            for labels in (None, y):
                model = clone(ESTIMATORS[name]).set_params(**{parameter: value})
                if ask(lambda m=model, y=labels: m.fit(X, y)) is not None:
                    ask(lambda m=model: m.predict(X))


def test_errors_that_only_pass_through_scikit_learn_are_ours():
    def run(text, name, **known):
        exec(compile(text, os.path.join("site-packages", *name), "exec"), known)

    ours = partial(run, "len(3)", ["skchmm", "inner.py"])
    with pytest.raises(TypeError) as error:
        run("call()", ["sklearn", "outer.py"], call=ours)
    assert not is_plain(error.value)
    theirs = partial(run, "len(3)", ["sklearn", "inner.py"])
    with pytest.raises(TypeError) as error:
        run("call()", ["skchmm", "outer.py"], call=theirs)
    assert is_plain(error.value)
