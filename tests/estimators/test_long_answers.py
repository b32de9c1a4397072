"""Long calls tell the terminal how far they are, and answer as they do in silence."""

import itertools
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.naive_bayes import GaussianNB

import skchmm
from skchmm import ConstrainedHMM, CTConstrainedHMM, HSMMDecoder, PerceptronCRF, hmm
from skchmm.constraints import AtMostVisits, MinDuration, Occupancy, Precedence
from skchmm.controller import products, progress
from skchmm.emissions.base import PendingFrames
from skchmm.estimators import base, parts

RNG = np.random.default_rng(0)
Y = [np.repeat(RNG.integers(3, size=4), 5) for _ in range(23)]
X = [y[:, None] + RNG.normal(scale=0.7, size=(len(y), 2)) for y in Y]
TIMES = [np.cumsum(RNG.exponential(size=len(x))) for x in X]
RULE = MinDuration(0, 3)
MODELS = {
    "gaussian": lambda: ConstrainedHMM(constraints=RULE).fit(X, Y),
    "classifier": lambda: ConstrainedHMM(constraints=RULE, emission=GaussianNB()).fit(X, Y),
    "semi-Markov": lambda: HSMMDecoder(20).fit(X, Y),
    "perceptron": lambda: PerceptronCRF(n_epochs=1, constraints=RULE, enforce=True).fit(X, Y),
    "hmmlearn": lambda: hmm.GaussianHMM(3, n_iter=2, random_state=0).fit(
        np.concatenate(X), [len(x) for x in X]
    ),
}


@pytest.fixture
def slow(monkeypatch):
    """A clock with two seconds between any two looks, and parts of one sequence."""
    clock = itertools.count(0, 2)
    for module in (progress, parts):
        monkeypatch.setattr(module, "perf_counter", lambda: float(next(clock)))
    monkeypatch.setattr(parts, "WIDTH", 1)


@pytest.mark.filterwarnings("ignore:Model is not converging", "ignore:EM did not converge")
@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("question", ["predict", "predict_proba"])
def test_answers_with_and_withoutprogress_are_the_same(name, question, slow, capsys):
    model = MODELS[name]()
    if not hasattr(model, question):
        pytest.skip("has no probabilities")
    stacked = np.concatenate(X), [len(x) for x in X]
    silent = getattr(model, question)(stacked[0], lengths=stacked[1])
    assert capsys.readouterr().out == ""
    model.verbose = 1
    np.testing.assert_allclose(
        getattr(model, question)(stacked[0], lengths=stacked[1]), silent, rtol=0, atol=1e-12
    )
    word = {"predict": "decoded", "predict_proba": "smoothed"}[question]
    lines = capsys.readouterr().out.splitlines()
    assert [line.split("  about")[0] for line in lines] == [
        f"{word}  {k:2d} of 23 sequences" for k in range(1, 23)
    ]
    assert all(line.endswith("left") for line in lines)


def test_in_continuous_time_too(slow, capsys):
    model = CTConstrainedHMM(constraints=AtMostVisits(0, 2)).fit(X, Y, times=TIMES)
    silent = model.predict(X, times=TIMES), model.predict_proba(X, times=TIMES)
    model.verbose = 1
    for found, wanted in zip((model.predict(X, TIMES), model.predict_proba(X, TIMES)), silent):
        for a, b in zip(found, wanted, strict=True):
            np.testing.assert_allclose(a, b, rtol=0, atol=1e-12)
    printed = capsys.readouterr().out
    assert "decoded  22 of 23" in printed and "smoothed  22 of 23" in printed


def test_sequences_without_a_path_are_still_reported(slow):
    model = ConstrainedHMM(constraints=MinDuration(0, 4), on_infeasible="warn", verbose=1)
    model.fit(X, Y).set_params(verbose=1)
    impossible = model.with_constraints(Occupancy(0, at_least=30))
    with pytest.warns(skchmm.InfeasibleSequenceWarning, match="and 22 more"):
        found = impossible.predict(X)
    model.verbose = 0
    for a, b in zip(found, model.with_constraints(None).predict(X), strict=True):
        np.testing.assert_array_equal(a, b)


def test_short_calls_print_nothing(capsys):
    model = MODELS["gaussian"]().set_params(verbose=1)
    model.predict(X)
    model.predict(X[0])
    assert capsys.readouterr().out == ""


def test_parts_fill_the_lanes_and_last_for_a_while(monkeypatch):
    """One block first, then as many as take half a second at the pace so far."""
    asked, now = [], [0.0]
    monkeypatch.setattr(parts, "perf_counter", lambda: now[0])
    monkeypatch.setattr(progress, "perf_counter", lambda: now[0])
    offsets = np.arange(0, 1001 * 10, 10)

    class Frames:
        n_states = 3

        def of_sequences(self, offsets, begin, end):
            return (begin, end)

    def ask(frames, cut):
        begin, end = frames
        assert cut[0] == 0 and len(cut) == end - begin + 1
        asked.append(end - begin)
        now[0] += 0.0009 * (end - begin)
        return np.arange(begin, end), None

    found, nothing = parts.in_parts("asked", ask, Frames(), offsets, 2)
    np.testing.assert_array_equal(found, np.arange(1000))
    assert nothing is None
    # 555 sequences take half a second: 34 blocks of 16 are 544 of them.
    assert asked == [16, 544, 440]


def test_compilation_counts_rules(slow, capsys, monkeypatch):
    monkeypatch.setattr(products, "_JOINT_LIMIT", 2)
    monkeypatch.setattr(products, "_MANY", 100)  # few are multiplied one by one
    rules = [*(AtMostVisits(k, 3) for k in range(4)), Precedence(0, 1)]
    silent = skchmm.compile(rules, range(4))
    assert capsys.readouterr().out == ""
    assert skchmm.compile(rules, range(4), verbose=1).equivalent(silent)
    lines = capsys.readouterr().out.splitlines()
    assert [line[:28] for line in lines[:4]] == [
        f"compiled  {k} of 5 constraints"[:28] for k in range(1, 5)
    ]
    assert [line.split(",")[0] for line in lines[4:]] == [
        f"multiplied  {k} of 5 constraints" for k in range(2, 5)
    ]
    assert all("automaton states  about" in line for line in lines[4:])
    ConstrainedHMM(constraints=rules, states=range(4), verbose=1).fit(X, Y)
    assert "multiplied  4 of 5" in capsys.readouterr().out


def test_pending_frames_stay_pending(slow, capsys, monkeypatch):
    """What a classifier scores is scored part by part, by the threads that then use it."""
    monkeypatch.setattr(base, "steps_in_part", lambda emission: 7)
    model = MODELS["classifier"]().set_params(n_jobs=2)
    silent = model.predict(X)
    kinds, original = [], parts._frames_of

    def look(*args):
        kinds.append(original(*args))
        return kinds[-1]

    monkeypatch.setattr(parts, "_frames_of", look)
    model.verbose = 1
    for a, b in zip(model.predict(X), silent, strict=True):
        np.testing.assert_array_equal(a, b)
    assert kinds and all(isinstance(frames, PendingFrames) for frames in kinds)
    assert "of 23 sequences" in capsys.readouterr().out


def test_confidence_intervals_count_draws(slow, capsys):
    model = MODELS["gaussian"]().set_params(verbose=1)
    model.confidence_intervals(X[:4], method="bootstrap", n_draws=4, random_state=0)
    lines = capsys.readouterr().out.splitlines()
    assert lines == [f"computed  {k} of 4 draws  about {8 - 2 * k} s left" for k in (1, 2, 3)]


@pytest.mark.filterwarnings("ignore:EM did not converge")
@pytest.mark.parametrize("known", [True, False])
def test_learning_from_chunks_counts_them(known, slow, capsys):
    class Unknown:
        """Some chunks, nobody knows how many."""

        def __iter__(self):
            return iter(CHUNKS)

    CHUNKS = [{"X": X[k : k + 2]} for k in range(0, 12, 2)]
    model = ConstrainedHMM(2, n_iter=1, tol=1e9, random_state=0, verbose=1)
    model.fit_chunks(CHUNKS if known else Unknown())
    lines = capsys.readouterr().out.splitlines()
    total = " of 6" if known else ""
    for task in ("looked at", "learned from"):
        assert any(line.startswith(f"{task}  3{total} chunks  ") for line in lines)
    assert all(line.endswith("left") for line in lines if "chunks" in line) == known
    silent = ConstrainedHMM(2, n_iter=1, tol=1e9, random_state=0).fit_chunks(CHUNKS)
    assert capsys.readouterr().out == ""
    np.testing.assert_array_equal(silent.transmat_, model.transmat_)


class Tqdm:
    """Stands in for a bar of tqdm."""

    def __init__(self, **options):
        self.options, self.n, self.shown, self.is_open = options, 0, [], True
        BARS.append(self)

    def set_postfix_str(self, text, refresh):
        self.text = text

    def update(self, n):
        self.n += n
        self.shown.append((self.n, self.text))

    def close(self):
        self.is_open = False


BARS = []


def test_in_a_terminal_there_is_a_bar_of_tqdm(slow, capsys, monkeypatch):
    BARS.clear()
    monkeypatch.setitem(sys.modules, "tqdm", SimpleNamespace(auto=None))
    monkeypatch.setitem(sys.modules, "tqdm.auto", SimpleNamespace(tqdm=Tqdm))
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    model = MODELS["gaussian"]().set_params(verbose=1)
    model.predict(X)
    (bar,) = BARS
    assert bar.options["desc"] == "decoded" and bar.options["total"] == len(X)
    assert [n for n, _ in bar.shown] == list(range(1, len(X)))
    assert not bar.is_open
    assert capsys.readouterr().out == ""
    monkeypatch.setattr(model, "_chain", lambda *args: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        model.predict(X)
    assert not BARS[-1].is_open


def test_in_a_terminal_without_tqdm_there_is_a_bar_of_rich(slow, capsys, monkeypatch):
    pytest.importorskip("rich")
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    model = MODELS["gaussian"]().set_params(verbose=1)
    silent = model.with_constraints(RULE).set_params(verbose=0).predict(X)
    for a, b in zip(model.predict(X), silent, strict=True):
        np.testing.assert_array_equal(a, b)
    shown = capsys.readouterr().out
    assert "decoded" in shown and "22/23" in shown and "sequences" in shown


def test_in_a_terminal_without_either_there_are_lines(slow, capsys, monkeypatch):
    for name in ("tqdm.auto", "rich"):
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    MODELS["gaussian"]().set_params(verbose=1).predict(X)
    assert "decoded   1 of 23 sequences  about 44 s left" in capsys.readouterr().out
