"""Log-likelihoods are computed some sequences at a time: the answers are those of all at once."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from skchmm import (
    ConstrainedHMM,
    InfeasibleSequenceError,
    InfeasibleSequenceWarning,
    hmm,
)
from skchmm.constraints import AtMostVisits, EndsIn, StartsIn
from skchmm.decoders import BeamRejectionDecoder, HSMMDecoder, PostHocFilter
from skchmm.emissions import GMM, Categorical, Gaussian, Poisson, Precomputed
from skchmm.emissions.base import PendingFrames, steps_in_part
from skchmm.estimators import climbing
from skchmm.estimators.em import expect, parts_of
from skchmm.inference.settings import settings as sizes

LENGTHS = [7, 1, 40, 12, 3, 25, 12, 1, 30, 9]
N = sum(LENGTHS)
RULES = [StartsIn(["walk", "sit"]), AtMostVisits("walk", 2)]
EMISSIONS = {
    "categorical": Categorical(),
    "order": Categorical(order=1),
    "diag": Gaussian(),
    "full": Gaussian("full"),
    "gmm": GMM(2),
    "precomputed": Precomputed(),
}


@pytest.fixture
def in_parts(monkeypatch):
    """Computing in parts, however few the steps."""

    def switch(steps):
        for emission in (Categorical, Gaussian, GMM, Precomputed):
            monkeypatch.setattr(emission, "part_steps", 1)
        monkeypatch.setattr(sizes, "frames_bytes", 8 * 3 * steps)

    return switch


def data(name, seed=0):
    rng = np.random.default_rng(seed)
    y = np.repeat(rng.choice(["lie", "sit", "walk"], N // 4 + 1), 4)[:N]
    if name in ("categorical", "order"):
        return rng.integers(4, size=(N, 1 if name == "order" else 2)), y
    X = rng.normal(size=(N, 3)) + 2 * (y[:, None] == ["lie", "sit", "walk"])
    if name == "full":
        X[rng.random(X.shape) < 0.1] = np.nan
    return X, y


def fitted(name, **params):
    X, y = data(name)
    return ConstrainedHMM(emission=clone(EMISSIONS[name]), **params).fit(X, y, lengths=LENGTHS), X


def answers(model, X):
    model = model.with_constraints(RULES)
    return [
        model.predict(X, lengths=LENGTHS),
        *model.decode(X, lengths=LENGTHS),
        model.predict_proba(X, lengths=LENGTHS),
        model.log_likelihood(X, lengths=LENGTHS),
        model.log_feasibility(X, lengths=LENGTHS),
        model.set_params(algorithm="posterior").predict(X, lengths=LENGTHS),
    ]


@pytest.mark.parametrize("n_jobs", [None, 2])
@pytest.mark.parametrize("steps", [1, 10, 45])
@pytest.mark.parametrize("name", EMISSIONS)
def test_answers(in_parts, name, steps, n_jobs):
    model, X = fitted(name)
    expected = answers(model, X)
    in_parts(steps)
    found = answers(model.set_params(n_jobs=n_jobs), X)
    for one, other in zip(found, expected):
        if one.dtype.kind == "f":
            np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)
        else:
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("name", EMISSIONS)
def test_the_last_bit_of_a_row_does_not_depend_on_the_others(name):
    model, X = fitted(name)
    emission = model.emission_
    assert emission.part_steps > 1
    whole = emission.log_likelihood(emission.encode(X, np.array([0, N]), reset=False)).dense()
    offsets = np.concatenate([[0], np.cumsum(LENGTHS)])
    rows = []
    for begin, end in ((0, 1), (1, 4), (4, 10)):
        part, cut = X[offsets[begin] : offsets[end]], offsets[begin : end + 1] - offsets[begin]
        rows.append(emission.log_likelihood(emission.encode(part, cut, reset=False)).dense())
    alone = emission.log_likelihood(emission.encode(X, offsets, reset=False)).dense()
    np.testing.assert_array_equal(np.concatenate(rows), alone if name == "order" else whole)


def test_parts_are_used_where_they_pay(in_parts):
    model, X = fitted("diag")
    sequences = model._read(X, LENGTHS, None)
    assert not isinstance(model._pending(sequences), PendingFrames)
    in_parts(10)
    assert isinstance(model._pending(sequences), PendingFrames)
    segments = HSMMDecoder(max_duration=40).fit(X, data("diag")[1], lengths=LENGTHS)
    assert not isinstance(segments._pending(sequences), PendingFrames)


def test_symbols_are_numbers_of_rows_and_need_few_parts(in_parts):
    """Many small parts leave threads waiting for each other at the end of each."""
    X, y = data("categorical")
    X = X[:, 0] if X.ndim == 2 else X
    model = ConstrainedHMM(emission="categorical").fit(X, y, lengths=LENGTHS)
    sequences = model._read(X, LENGTHS, None)
    in_parts(-(-2 * N // 3))  # 16 bytes per step
    assert not isinstance(model._pending(sequences), PendingFrames)
    in_parts(2 * N // 3 - 1)
    assert isinstance(model._pending(sequences), PendingFrames)


def test_emissions_that_blas_computes_are_not_taken_apart():
    X, y = data("diag")
    wide = ConstrainedHMM(emission=Gaussian("full")).fit(np.tile(X, 30), y, lengths=LENGTHS)
    counts = ConstrainedHMM(emission=Poisson()).fit(np.abs(X).round(), y, lengths=LENGTHS)
    assert wide.emission_.part_steps is None
    assert counts.emission_.part_steps is None


class Standardised(Gaussian):
    """Rows depend on all that come with them, which the class it derives from says they do not."""

    def encode(self, X, offsets=None, *, reset):
        return super().encode((X - X.mean(axis=0)) / X.std(axis=0), offsets, reset=reset)


def test_subclasses_are_not_taken_apart_unless_they_say_so(in_parts):
    in_parts(10)
    assert steps_in_part(Gaussian()) == 1
    assert steps_in_part(Standardised()) is None

    class Knowing(Standardised):
        part_steps = 3

    class Renamed(Gaussian):
        pass

    assert steps_in_part(Knowing()) == 3
    assert steps_in_part(Renamed()) == 1
    X, y = data("diag")
    model = ConstrainedHMM(emission=Standardised()).fit(X, y, lengths=LENGTHS)
    one, other = (
        model.set_params(n_jobs=n_jobs).log_likelihood(X, lengths=LENGTHS) for n_jobs in (1, 2)
    )
    np.testing.assert_allclose(one, other, rtol=1e-12)


def test_what_is_not_a_message_is_not_looked_into(in_parts, monkeypatch):
    model, X = fitted("diag")
    in_parts(10)
    rows = []

    def log_likelihood(self, E):
        rows.append(len(E.X))
        raise MemoryError

    monkeypatch.setattr(Gaussian, "log_likelihood", log_likelihood)
    with pytest.raises(MemoryError):
        model.predict(X, lengths=LENGTHS)
    assert rows and max(rows) < N


@pytest.mark.parametrize(
    "labels",
    [[5, 3, 9], [250, 3, 9], ["b", "a", "c"], [2.5, 1.0, 7.0], [True, False, None]],
    ids=str,
)
def test_labels_of_any_kind(in_parts, labels):
    dtype = {5: np.uint8, 250: np.uint8, True: object}.get(labels[0])
    X, _ = data("diag")
    states = np.array(labels, dtype=dtype)
    params = np.full(3, 1 / 3), np.full((3, 3), 0.1) + 0.7 * np.eye(3)
    emission = Gaussian.from_parameters(2 * np.eye(3), np.ones((3, 3)))
    plain = ConstrainedHMM.from_parameters(*params, emission=emission)
    named = ConstrainedHMM.from_parameters(*params, emission=emission, states=states)
    expected = states[plain.predict(X, lengths=LENGTHS)]
    for steps in (10, N):
        in_parts(steps)
        found = named.predict(X, lengths=LENGTHS)
        assert found.dtype == expected.dtype == named.classes_.dtype
        assert found.tolist() == expected.tolist()


@pytest.mark.filterwarnings("ignore::skchmm.exceptions.NotEnforcedWarning")
@pytest.mark.parametrize("decoder", [PostHocFilter, BeamRejectionDecoder, HSMMDecoder])
def test_decoders_that_want_all_at_once(in_parts, decoder):
    X, y = data("diag")
    params = {"max_duration": 40} if decoder is HSMMDecoder else {}
    model = decoder(constraints=[AtMostVisits("walk", 5)], **params).fit(X, y, lengths=LENGTHS)
    expected = model.predict(X, lengths=LENGTHS)
    in_parts(10)
    np.testing.assert_array_equal(model.predict(X, lengths=LENGTHS), expected)


def test_messages_count_the_rows_of_all_sequences(in_parts):
    model, X = fitted("categorical")
    in_parts(10)
    X[100, 1] = 77
    for n_jobs in (None, 2):
        with pytest.raises(ValueError, match="symbol 77 in row 100, column 1"):
            model.set_params(n_jobs=n_jobs).predict(X, lengths=LENGTHS)


def test_dataframes(in_parts):
    X, y = data("diag")
    frame = pd.DataFrame(X, columns=list("abc"))
    model = ConstrainedHMM().fit(frame, y, lengths=LENGTHS)
    expected = model.predict(frame, lengths=LENGTHS)
    in_parts(10)
    np.testing.assert_array_equal(model.predict(frame, lengths=LENGTHS), expected)


def test_infeasible_ones_among_others(in_parts):
    model, X = fitted("categorical")
    model = model.with_constraints([StartsIn("walk"), EndsIn("sit")])  # not in a single step
    model.set_params(on_infeasible="warn", n_jobs=2)
    results = []
    for steps in (N, 10):
        in_parts(steps)
        with pytest.warns(InfeasibleSequenceWarning, match=r"\(1 steps\) and 1 more have"):
            results.append(model.predict(X, lengths=LENGTHS))
    np.testing.assert_array_equal(*results)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
class TestEM:
    @pytest.mark.parametrize("known", [False, True])
    @pytest.mark.parametrize("n_jobs", [None, 2])
    @pytest.mark.parametrize("name", EMISSIONS)
    def test_learns_the_same(self, in_parts, name, n_jobs, known):
        X, y = data(name)
        labels = None
        if known:
            labels = np.where(np.arange(N) % 3 == 0, y, None)
        weights = np.repeat(np.linspace(0.0, 2.0, len(LENGTHS)), LENGTHS)
        fits = []
        for steps in (N, 15):
            in_parts(steps)
            model = ConstrainedHMM(
                states=["lie", "sit", "walk"], emission=clone(EMISSIONS[name]), n_iter=4,
                constraints=None if known else RULES, random_state=0, n_jobs=n_jobs,
            )  # fmt: skip
            fits.append(model.fit(X, labels, lengths=LENGTHS, sample_weight=weights))
        one, other = fits
        np.testing.assert_allclose(one.history_, other.history_, rtol=1e-11)
        np.testing.assert_allclose(one.transmat_, other.transmat_, atol=1e-9)
        np.testing.assert_allclose(one.startprob_, other.startprob_, atol=1e-9)

    def test_as_hmmlearn(self, in_parts):
        X, _ = data("diag")
        fits = []
        for steps in (N, 15):
            in_parts(steps)
            model = hmm.GaussianHMM(3, random_state=0, n_iter=5, tol=0)
            fits.append(model.fit(X, lengths=LENGTHS))
        one, other = fits
        np.testing.assert_allclose(one.monitor_.history, other.monitor_.history, rtol=1e-11)
        np.testing.assert_allclose(one.means_, other.means_, atol=1e-9)

    def test_in_how_many_parts(self, in_parts, monkeypatch):
        X, _ = data("diag")
        model = ConstrainedHMM(3, n_iter=1, random_state=0).fit(X, lengths=LENGTHS)
        sequences = model._read(X, LENGTHS, None)

        class Everything:
            encoded, known, weights = "all", None, np.ones(len(LENGTHS))
            offsets = sequences.offsets

        Everything.sequences = sequences

        def parts(least, n_jobs=None):
            return parts_of(model.emission_, Everything, 3, n_jobs, least=least)

        assert [part.encoded for part in parts(1)] == ["all"]
        assert [part.encoded for part in parts(1, n_jobs=2)] == ["all"]  # kernels share it
        monkeypatch.setattr(Gaussian, "_shares_work", False)
        assert [len(part.offsets) - 1 for part in parts(1, n_jobs=2)] == [6, 4]
        in_parts(50)
        assert [len(part.offsets) - 1 for part in parts(1)] == [3, 4, 3]
        assert [part.encoded for part in parts(None)] == ["all"]
        assert [part.encoded for part in parts(N)] == ["all"]

    def test_posteriors_are_not_kept(self, in_parts, monkeypatch):
        X, _ = data("diag")
        seen = []

        def spy(*args, **kwargs):
            seen.append(expect(*args, **kwargs))
            return seen[-1]

        monkeypatch.setattr(climbing, "expect", spy)
        in_parts(15)
        ConstrainedHMM(3, n_iter=1, random_state=0).fit(X, lengths=LENGTHS)
        assert [expected.smoothed.posteriors for expected in seen] == [None, None]

    def test_infeasible_sequences_are_not_learned_from(self, in_parts, monkeypatch):
        X, _ = data("diag")
        accumulated = []
        honest = Gaussian.accumulate

        def accumulate(self, E, posteriors, offsets=None):
            accumulated.append(np.isnan(posteriors).any())
            return honest(self, E, posteriors, offsets)

        monkeypatch.setattr(Gaussian, "accumulate", accumulate)
        rules = [StartsIn(0), EndsIn(1)]  # not in a single step
        for steps in (N, 10):
            in_parts(steps)
            with pytest.raises(InfeasibleSequenceError, match=r"Sequence 1 \(1 steps\)"):
                ConstrainedHMM(3, constraints=rules, random_state=0).fit(X, lengths=LENGTHS)
        assert not any(accumulated)

    def test_every_iteration_is_one_e_step_also_when_learning_goes_on(self, monkeypatch):
        X, _ = data("diag")
        calls = []
        honest = Gaussian.accumulate
        monkeypatch.setattr(
            Gaussian, "accumulate", lambda *args: (calls.append(1), honest(*args))[1]
        )
        model = ConstrainedHMM(3, n_iter=2, tol=0, random_state=0).fit(X, lengths=LENGTHS)
        assert len(model.history_) == len(calls) == 3
        model.set_params(init="fitted", n_iter=1)
        for k in range(4, 7):
            assert len(model.fit(X, lengths=LENGTHS).history_) == 2
            assert len(calls) == k
        model.fit(X[::-1].copy(), lengths=LENGTHS)  # other data
        assert len(calls) == 8
        model.transmat_ = model.transmat_[::-1].copy()
        model.fit(X[::-1].copy(), lengths=LENGTHS)
        assert len(calls) == 10

    def test_own_statistics_see_each_likelihood_once(self):
        calls = {"likelihood": 0, "statistics": 0}

        class Own(hmm.GaussianHMM):
            def _compute_log_likelihood(self, X):
                calls["likelihood"] += 1
                return super()._compute_log_likelihood(X)

            def _accumulate_sufficient_statistics(self, stats, X, lattice, posteriors, fwd, bwd):
                calls["statistics"] += 1
                assert lattice.shape == posteriors.shape
                assert stats["start"].sum() == pytest.approx(stats["nobs"])  # one per sequence
                super()._accumulate_sufficient_statistics(stats, X, lattice, posteriors, fwd, bwd)

        X, _ = data("diag")
        Own(3, random_state=0, n_iter=2, tol=0).fit(X, lengths=LENGTHS)
        assert calls == {"likelihood": 2 * len(LENGTHS), "statistics": 2 * len(LENGTHS)}
