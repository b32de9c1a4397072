"""Ctrl-C ends a call that is inside a kernel, soon, and leaves the model as it was."""

import gc
import signal
import threading
import time

import numpy as np
import pytest

from skchmm import (
    BeamRejectionDecoder,
    ConstrainedHMM,
    CTConstrainedHMM,
    HSMMDecoder,
    PerceptronCRF,
    compile,
)
from skchmm.constraints import AtMostVisits, MinDuration, Precedence, StartsIn
from skchmm.emissions import Categorical, Gaussian
from skchmm.inference.settings import settings as sizes
from skchmm.metrics import edit_score

pytestmark = [
    pytest.mark.unsanitized,
    pytest.mark.skipif(
        not hasattr(signal, "setitimer")
        or threading.current_thread() is not threading.main_thread(),
        reason="signals reach the main thread alone",
    ),
]

BEFORE = 0.2  # seconds of the processor, of all threads together, so that others do not matter
PROMISED = 0.5

RNG = np.random.default_rng(0)
COIN = Categorical.from_parameters([[0.6, 0.4], [0.4, 0.6]], symbols=[0, 1])
SYMBOLS = RNG.integers(2, size=(400_000, 1))


def model(n_visits, cls=ConstrainedHMM, **params):
    rules = AtMostVisits("a", n_visits)
    transmat = params.pop("transmat", [[0.9, 0.1], [0.2, 0.8]])
    return cls.from_parameters(
        [0.5, 0.5], transmat, states=["a", "b"], emission=COIN, constraints=rules, **params
    )


def interrupted(call):
    """Seconds from the signal to the end of call(), which is made again if it ends before."""

    def handler(number, frame):
        nonlocal at
        at = time.process_time()
        raise KeyboardInterrupt

    at = None
    before = signal.signal(signal.SIGPROF, handler)
    gc.disable()  # what hypothesis does when garbage is collected would swallow the exception
    began = time.process_time()
    try:
        signal.setitimer(signal.ITIMER_PROF, BEFORE)
        with pytest.raises(KeyboardInterrupt):
            while at is None:
                call()
        ended = time.process_time()
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
        gc.enable()
    assert at is not None
    return ended - began - BEFORE


def large():
    return model(1500), SYMBOLS


def many(**params):
    return model(400, **params), [SYMBOLS[i : i + 400] for i in range(0, 399_000, 100)]


def dense(n_states=600, n_steps=3000):
    rng = np.random.default_rng(0)
    transmat = rng.dirichlet(np.ones(n_states), n_states)
    hmm = ConstrainedHMM.from_parameters(np.full(n_states, 1 / n_states), transmat)
    return hmm, rng.normal(size=(n_steps, n_states))


def wide():
    """A step on so many edges that one in each chunk is too much."""
    rules = [AtMostVisits(0, 400), AtMostVisits(1, 30)]
    even = np.full((6, 6), 1 / 6)
    hmm = ConstrainedHMM.from_parameters(even[0], even, constraints=rules)
    return hmm, np.random.default_rng(0).normal(size=(40_000, 6))


CALLS = {
    "wide predict": (wide, lambda m, X: m.predict(X)),
    "wide predict_proba": (wide, lambda m, X: m.predict_proba(X)),
    "wide log_likelihood": (wide, lambda m, X: m.log_likelihood(X)),
    "wide sample_posterior": (wide, lambda m, X: m.sample_posterior(X, 3)),
    "wide filter_proba": (wide, lambda m, X: m.filter_proba(X)),
    "predict": (large, lambda m, X: m.predict(X)),
    "predict_proba": (large, lambda m, X: m.predict_proba(X)),
    "log_likelihood": (large, lambda m, X: m.log_likelihood(X)),
    "sample_posterior": (large, lambda m, X: m.sample_posterior(X, 3)),
    "filter_proba": (large, lambda m, X: m.filter_proba(X)),
    "fit": (large, lambda m, X: m.fit(X)),
    "kbest": (dense, lambda m, X: m.kbest(X, 3)),
    "many predict": (many, lambda m, X: m.predict(X)),
    "many filter_proba": (many, lambda m, X: m.filter_proba(X)),
    "many predict_proba": (many, lambda m, X: m.predict_proba(X)),
    "many predict_proba in threads": (
        lambda: many(n_jobs=2),
        lambda m, X: m.predict_proba(X),
    ),
    "large predict in threads": (
        lambda: (model(1500, n_jobs=2), np.split(SYMBOLS, 4)),
        lambda m, X: m.predict(X),
    ),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_call_ends_soon_and_the_model_stays_as_it_was(name):
    make, call = CALLS[name]
    hmm, X = make()
    few = X[:50] if isinstance(X, np.ndarray) else [x[:50] for x in X[:2]]
    answer = hmm.predict_proba(few)
    state = {key: value for key, value in vars(hmm).items() if key.endswith("_")}
    assert interrupted(lambda: call(hmm, X)) < PROMISED
    for key, value in vars(hmm).items():
        if key.endswith("_"):
            assert value is state[key], key
    np.testing.assert_array_equal(np.concatenate(hmm.predict_proba(few)), np.concatenate(answer))
    interrupted(lambda: call(hmm, X))  # nothing is left that would hold the next one up


def ends_soon(call):
    assert interrupted(call) < PROMISED


def test_log_space(monkeypatch):
    monkeypatch.setattr(sizes, "lanes_bytes_at_most", 0)
    hmm, _ = dense(60)
    X = RNG.normal(size=(40_000, 60))
    X[:, :30] -= 1000.0 * RNG.integers(2, size=(40_000, 1))
    ends_soon(lambda: hmm.predict_proba(X))


@pytest.mark.parametrize("question", ["predict", "predict_proba", "log_likelihood", "fit"])
@pytest.mark.parametrize("semantics", ["path", "observed"])
def test_continuous_time(question, semantics):
    rates = [[-0.1, 0.1], [0.2, -0.2]]
    hmm = model(200, CTConstrainedHMM, transmat=rates, semantics=semantics)
    X, times = SYMBOLS[:100_000], np.cumsum(RNG.integers(1, 20, 100_000) / 4)
    ends_soon(lambda: getattr(hmm, question)(X, times=times))


def test_gaps_that_are_all_different():
    hmm = model(200, CTConstrainedHMM, transmat=[[-0.1, 0.1], [0.2, -0.2]])
    X, times = SYMBOLS[:100_000], np.cumsum(RNG.random(100_000) * 4)
    ends_soon(lambda: hmm.predict(X, times=times))


@pytest.mark.parametrize("question", ["predict", "predict_proba"])
def test_semi_markov(question):
    labels = np.repeat(np.arange(100) % 2, 40)
    hmm = HSMMDecoder(emission="categorical", max_duration=2000).fit(SYMBOLS[:4000], labels)
    ends_soon(lambda: getattr(hmm, question)(SYMBOLS))


def test_perceptron():
    labels = RNG.integers(40, size=(100, 1000))
    X = RNG.integers(40, size=(100, 1000, 1))
    hmm = PerceptronCRF(n_epochs=20)
    ends_soon(lambda: hmm.fit(list(X), list(labels)))
    assert not hasattr(hmm, "classes_")


@pytest.mark.filterwarnings("ignore::skchmm.exceptions.NotEnforcedWarning")
def test_beam():
    transmat = RNG.dirichlet(np.ones(40), 40)
    hmm = BeamRejectionDecoder.from_parameters(transmat[0], transmat, constraints=StartsIn(0))
    X = RNG.normal(size=(100_000, 40))
    ends_soon(lambda: hmm.predict(X))


@pytest.mark.parametrize(("method", "labels"), [("predict", "abcdefgh"), ("predict_proba", "ab")])
def test_delay_lines_in_lanes(method, labels, monkeypatch):
    monkeypatch.setattr(sizes, "lanes_bytes", 1 << 40)
    rules = [MinDuration(label, 300) for label in labels]
    n = len(labels)
    even, coins = np.full((n, n), 1 / n), np.resize([[0.7, 0.3], [0.4, 0.6]], (n, 2))
    hmm = ConstrainedHMM.from_parameters(
        even[0], even, states=list(labels), constraints=rules,
        emission=Categorical.from_parameters(coins, [0, 1]),
    )  # fmt: skip
    X = np.tile(SYMBOLS, (60, 1))
    ends_soon(lambda: getattr(hmm, method)(X, lengths=[1000] * (len(X) // 1000)))


def test_compilation():
    rules = MinDuration("a", 4000) & AtMostVisits("b", 400) & AtMostVisits("c", 3)
    ends_soon(lambda: compile(rules, ["a", "b", "c"], max_nodes=10**9))


def test_filtering_of_sequences_one_after_the_other():
    """Too many edges for lanes."""
    even, coins = np.full((10, 10), 0.1), np.resize([[0.6, 0.4], [0.4, 0.6]], (10, 2))
    hmm = ConstrainedHMM.from_parameters(
        even[0], even, emission=Categorical.from_parameters(coins, [0, 1]),
        constraints=[AtMostVisits(0, 40), MinDuration(1, 5), Precedence(2, 3)],
    )  # fmt: skip
    X = np.tile(SYMBOLS, (2, 1))
    ends_soon(lambda: hmm.filter_proba(X, lengths=[100] * (len(X) // 100)))


def test_edit_distances():
    first, second = RNG.integers(9, size=(2, 50_000))
    ends_soon(lambda: edit_score(first, second))
    ends_soon(lambda: edit_score(list(first.reshape(-1, 500)), list(second.reshape(-1, 500))))


def test_alignment():
    rules = compile(AtMostVisits("a", 3), ["a", "b"])
    ends_soon(lambda: rules.align(["b"] * 500_000))


def test_moments():
    X = RNG.normal(size=(300_000, 12))
    hmm = ConstrainedHMM(20, emission=Gaussian("full"), n_iter=50, random_state=0)
    ends_soon(lambda: hmm.fit(X))
    assert not hasattr(hmm, "classes_")


def test_a_handler_that_does_not_raise_changes_nothing():
    hmm, X = model(300), SYMBOLS[:100_000]
    expected = hmm.predict(X)
    calls = []
    before = signal.signal(signal.SIGPROF, lambda *args: calls.append(1))
    try:
        signal.setitimer(signal.ITIMER_PROF, 0.02, 0.02)
        for _ in range(100):
            np.testing.assert_array_equal(hmm.predict(X), expected)
            if len(calls) > 3:
                break
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
    assert calls
