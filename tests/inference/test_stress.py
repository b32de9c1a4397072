"""Many threads at once: one model that all of them ask, and others that are fitted meanwhile.

Runs everywhere; on a Python without its global lock (3.14t) all of it is really
at the same time.
"""

import pickle
import subprocess
import sys
import sysconfig
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import numpy as np
import pytest
from sklearn.base import clone

from skchmm import ConstrainedHMM, CTConstrainedHMM
from skchmm.constraints import AtMostVisits, EndsIn, Precedence
from skchmm.hmm import GaussianHMM

pytestmark = pytest.mark.filterwarnings("ignore::skchmm.exceptions.BiasedRatesWarning")

N_THREADS = 8
ROUNDS = 6
RULES = [Precedence("a", "b"), AtMostVisits("c", 2), EndsIn("c")]


@pytest.fixture
def switching_often():
    """The interpreter lets another thread go on after every few instructions."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    y = [np.repeat(list("abc"), rng.integers(1, 6, 3)) for _ in range(40)]
    X = [rng.normal(np.searchsorted(list("abc"), path), 0.7)[:, None] for path in y]
    return X, y


def in_all_threads(work):
    """What work(thread, round) returns, of threads that begin every round together."""
    together = Barrier(N_THREADS)

    def run(thread):
        answers = []
        for number in range(ROUNDS):
            together.wait(60)
            answers.append(work(thread, number))
        return answers

    with ThreadPoolExecutor(N_THREADS) as pool:
        return [answer for answers in pool.map(run, range(N_THREADS)) for answer in answers]


def equal(a, b):
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(equal, a, b))
    return np.array_equal(a, b)


def stream(model, x):
    one = model.stream(n_steps=len(x))
    return [one.push(row).proba for row in x]


def questions(model, X, **given):
    """What a fitted model may be asked, by name; each gives the same every time."""
    asked = {
        "predict": lambda: model.predict(X, **given),
        "decode": lambda: model.decode(X, **given),
        "predict_proba": lambda: model.predict_proba(X, **given),
        "log_likelihood": lambda: model.log_likelihood(X, **given),
        "fit another": lambda: clone(model).fit(X, **given).predict(X, **given),
    }
    if isinstance(model, ConstrainedHMM):
        asked["kbest"] = lambda: model.kbest(X, 3)
        asked["sample_posterior"] = lambda: model.sample_posterior(X, 2, random_state=0)
        asked["stream"] = lambda: stream(model, X[0])
    return asked


IMPORT_ALL = """
import importlib, pkgutil, sys, skchmm
for module in pkgutil.walk_packages(skchmm._kernels.__path__, "skchmm._kernels."):
    importlib.import_module(module.name)
print(sys._is_gil_enabled())
"""


@pytest.mark.skipif(
    not sysconfig.get_config_var("Py_GIL_DISABLED"), reason="this Python has a global lock"
)
def test_the_lock_stays_off_when_all_kernels_are_imported():
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", IMPORT_ALL], capture_output=True, text=True
    )
    assert done.stdout == "False\n", done.stderr


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("Model", [ConstrainedHMM, CTConstrainedHMM])
def test_threads_that_ask_one_model_while_others_are_fitted(Model, n_jobs, data, switching_often):
    X, y = data
    given = {"times": [np.arange(len(x)) for x in X]} if Model is CTConstrainedHMM else {}
    model = Model(constraints=RULES, states=list("abc"), tol=1e9, random_state=0, n_jobs=n_jobs)
    model.fit(X, y, **given)
    alone = questions(clone(model).fit(X, y, **given), X, **given)
    expected = {name: ask() for name, ask in alone.items()}
    asked = list(questions(model, X, **given).items())

    def ask(thread, number):
        name, question = asked[(thread + number) % len(asked)]
        return name, question()

    for name, answer in in_all_threads(ask):
        assert equal(answer, expected[name]), name


@pytest.mark.parametrize("Model", [ConstrainedHMM, CTConstrainedHMM])
def test_threads_that_are_the_first_to_ask_a_model(Model, data, switching_often):
    """What a model works out when it is first asked, and keeps, all of them work out at once."""
    X, y = data
    given = {"times": [np.arange(len(x)) for x in X]} if Model is CTConstrainedHMM else {}
    model = Model(constraints=RULES, states=list("abc"), tol=1e9, random_state=0)
    alone = questions(model.fit(X, y, **given), X, **given)
    expected = {name: ask() for name, ask in alone.items()}
    models = [pickle.loads(pickle.dumps(model)) for _ in range(ROUNDS)]

    def ask(thread, number):
        asked = list(questions(models[number], X, **given).items())
        name, question = asked[(thread // 2 + number) % len(asked)]
        return name, question()

    for name, answer in in_all_threads(ask):
        assert equal(answer, expected[name]), name


def test_threads_that_fit_and_answer_with_hmmlearns_names(data, switching_often):
    X = np.concatenate(data[0])
    lengths = [len(x) for x in data[0]]
    fitted = GaussianHMM(3, n_iter=3, tol=1e9, random_state=0).fit(X, lengths)
    expected = fitted.decode(X, lengths)

    def work(thread, number):
        model = fitted if thread % 2 else clone(fitted).fit(X, lengths)
        return model.decode(X, lengths)

    for answer in in_all_threads(work):
        assert equal(answer, expected)
