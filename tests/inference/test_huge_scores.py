"""Finite log-likelihoods of any size: every way to compute gives what exact arithmetic gives."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from skchmm import BeamRejectionDecoder, ConstrainedHMM, CTConstrainedHMM, PostHocFilter
from skchmm._kernels.simd import instructions
from skchmm.constraints import AtMostVisits, EndsIn, StartsIn
from skchmm.emissions import Frames
from skchmm.inference import sums
from skchmm.inference.settings import settings as sizes
from tests.oracles.predicates import holds
from tests.oracles.strategies import compositions

STATES = ["A", "B", "C"]
SIZES = [0.0, -1.0, -700.0, -1e5, -1e18, -1e30, -1e300]
WAYS = ["lanes", "two_ended", "blocks", "lanes_again"]


class Exact:
    """The feasible paths of one sequence with their log weights as fractions."""

    def __init__(self, chain, log_b, states, constraints):
        T, S = log_b.shape
        self.shape, self.paths = (T, S), {}
        with np.errstate(divide="ignore"):
            log_transmat = np.log(chain.transmat)
        for path in product(range(S), repeat=T):
            parts = [chain.log_start[path[0]], *log_b[range(T), path]]
            parts += [log_transmat[a, b] for a, b in zip(path[:-1], path[1:])]
            if np.isfinite(parts).all() and holds(constraints, [states[i] for i in path]):
                self.paths[path] = sum(map(Fraction, parts))
        self.best = max(self.paths.values(), default=None)
        # Apart from what all paths share, sums of doubles have an error of this size.
        self.shared = sum(Fraction(x) for x in log_b.max(axis=1) if np.isfinite(x))

    def check(self, log_z, posteriors, transitions):
        if self.best is None:
            assert log_z == -np.inf and np.isnan(posteriors).all()
            return
        T, S = self.shape
        margin = Fraction(1, 10**12) * max(abs(self.best - self.shared), 1)
        near = {p: v for p, v in self.paths.items() if v >= self.best - 800 - margin}
        scale = max(abs(float(self.shared)), abs(float(self.best)), 1.0)
        assert abs(log_z - float(self.best)) <= 1e-11 * scale + np.log(S) * T
        assert (posteriors >= 0).all()
        np.testing.assert_allclose(posteriors.sum(axis=1), 1.0, rtol=1e-9)
        np.testing.assert_allclose(transitions.sum(), T - 1, rtol=1e-9)
        exact = margin < Fraction(1, 10**5)
        weights = {p: np.exp(float(v - self.best)) if exact else 1.0 for p, v in near.items()}
        if exact or len(near) == 1:
            expected, pairs = np.zeros((T, S)), np.zeros((S, S))
            total = sum(weights.values())
            for path, weight in weights.items():
                expected[range(T), path] += weight / total
                np.add.at(pairs, (path[:-1], path[1:]), weight / total)
            np.testing.assert_allclose(posteriors, expected, rtol=1e-4, atol=1e-6)
            np.testing.assert_allclose(transitions, pairs, rtol=1e-4, atol=1e-6)
        else:  # which of these it is, doubles do not say
            for t in range(T):
                assert set(np.flatnonzero(posteriors[t] > 1e-9)) <= {p[t] for p in near}

    def is_best(self, path):
        margin = Fraction(1, 10**12) * max(abs(self.best - self.shared), 1)
        return self.paths[tuple(path)] >= self.best - margin


@st.composite
def problems(draw):
    S = draw(st.integers(1, 3))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    lengths = draw(st.lists(st.integers(1, 4), min_size=1, max_size=10))
    constraints = draw(st.lists(compositions(STATES[:S], depth=1), max_size=2))
    few = draw(st.sampled_from([0.0, 0.8]))
    try:
        model = ConstrainedHMM.from_parameters(
            rng.dirichlet(np.ones(S)), rng.dirichlet(np.ones(S), size=S), states=STATES[:S],
            constraints=constraints,
        )  # fmt: skip
    except ValueError:
        return None
    table = rng.choice(SIZES, size=(sum(lengths), S)) + rng.normal(size=(sum(lengths), S))
    table = np.where(rng.random(table.shape) < few, rng.normal(size=table.shape), table)
    return model, table, np.concatenate([[0], np.cumsum(lengths)]), constraints, S


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(problem=problems(), numbered=st.booleans())
def test_every_way_gives_what_exact_arithmetic_gives(problem, numbered):
    if problem is None:
        return
    model, table, offsets, constraints, S = problem
    chain, n = model._chain(), len(offsets) - 1
    frames = Frames(table, np.arange(len(table)) if numbered else None)
    truth = [
        Exact(chain, table[a:b], STATES[:S], constraints) for a, b in zip(offsets, offsets[1:])
    ]
    for first in [*WAYS, "log_space"]:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(sizes, "lanes_fill", 0)
            patch.setattr(sums, "_lanes_chunk", lambda *_: 2)
            for way in WAYS[: [*WAYS, "log_space"].index(first)]:
                patch.setattr(sums.Sums, way, lambda self, chosen: chosen)
            log_z = chain.log_likelihood(frames, offsets)
            for s in range(n):
                one = np.arange(n) == s
                found = chain.smooth(frames, offsets, seq_weights=one.astype(float), counts=True)
                truth[s].check(
                    found.log_z[s], found.posteriors[offsets[s] : offsets[s + 1]],
                    found.counts.transitions,
                )  # fmt: skip
                if np.isfinite(log_z[s]):
                    np.testing.assert_allclose(log_z[s], found.log_z[s], rtol=1e-11)
    for fill in (0, 9):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(sizes, "lanes_fill", fill)
            path, log_prob = chain.decode(frames, offsets)
        best = chain.best_paths(frames, offsets, 10**6, np.arange(chain.graph.n_states))
        for s, (a, b) in enumerate(zip(offsets, offsets[1:])):
            assert (truth[s].best is None) == (log_prob[s] == -np.inf)
            if truth[s].best is not None:
                assert truth[s].is_best(path[a:b])
                alone = Frames(table[a:b])
                values, paths = zip(*best[s])
                assert values[0] == log_prob[s] and (paths[0] == path[a:b]).all()
                assert list(values) == sorted(values, reverse=True)
                assert {tuple(p.tolist()) for p in paths} == set(truth[s].paths)
                drawn = chain.draw_paths(alone, 3, np.random.RandomState(0))
                assert all(tuple(p.tolist()) in truth[s].paths for p in drawn)
                if len(truth[s].paths) == 1:
                    continue
                second = sorted(truth[s].paths.values())[-2]
                if (
                    truth[s].best - second > 1000
                    and truth[s].best - second > abs(truth[s].best - truth[s].shared) / 10**9
                ):
                    assert all(truth[s].is_best(p) for p in drawn)


@pytest.mark.parametrize("impossible", [-1e8, -1e9, -1e17, -1e18, -1e19, -1e30, -1e300])
def test_several_sequences_are_as_one_alone(impossible, instruction_sets):
    model = ConstrainedHMM.from_parameters(
        [0.6, 0.4], [[0.7, 0.3], [0.2, 0.8]], constraints=EndsIn(1)
    )
    X = np.array([[0.0, -1.0], [0.0, impossible], [-2.0, 0.0], [-1.0, -1.5]])
    calm = np.array([[0.0, -1.0], [-3.0, 0.0], [-2.0, 0.0]])
    for k in instruction_sets.values():
        instructions.use_instruction_set(k)
        alone = model.predict_proba(X), model.predict_proba(calm)
        several = model.predict_proba([X, calm, X, calm])
        for s in range(4):
            np.testing.assert_allclose(several[s], alone[s % 2], rtol=1e-12, atol=1e-300)
        assert alone[0][1].tolist() == [1.0, 0.0]
        np.testing.assert_allclose(
            model.log_likelihood([X, calm]),
            np.concatenate([model.log_likelihood([X]), model.log_likelihood([calm])]),
        )


def test_an_outlier_does_not_make_the_rest_forgotten():
    """At one step every state is e^(-1e18) likely: the others still decide."""
    rng = np.random.default_rng(0)
    model = ConstrainedHMM.from_parameters([0.5, 0.5], [[0.6, 0.4], [0.3, 0.7]])
    X = rng.normal(size=(40, 2))
    X[7] = -1e18
    quiet = X.copy()
    quiet[7] = 0.0
    assert (model.predict([X, X])[1] == model.predict(quiet)).all()
    assert (model.predict(X) == model.predict(quiet)).all()
    for posteriors in (model.predict_proba(X), *model.predict_proba([X, X])):
        np.testing.assert_allclose(posteriors, model.predict_proba(quiet), rtol=1e-10)
    for (_, path), (_, expected) in zip(model.kbest(X, 3), model.kbest(quiet, 3)):
        assert (path == expected).all()
    stream, other = model.stream(lag=2), model.stream(lag=2)
    for x, y in zip(X, quiet):
        update, expected = stream.push(x), other.push(y)
        np.testing.assert_allclose(update.proba, expected.proba, rtol=1e-10)
        assert update.label == expected.label
    drawn = [model.sample_posterior(x, 3, random_state=0) for x in (X, quiet)]
    np.testing.assert_array_equal(*drawn)


# --------------------------------------------------------------- other models
RATES = np.array([[-0.9, 0.4, 0.5], [0.3, -0.5, 0.2], [0.2, 0.6, -0.8]])
OTHERS = {
    "path": (CTConstrainedHMM, RATES, {"semantics": "path"}),
    "observed": (CTConstrainedHMM, RATES, {"semantics": "observed"}),
    "beam": (BeamRejectionDecoder, RATES + np.eye(3), {"beam_width": None}),
    "post hoc": (PostHocFilter, RATES + np.eye(3), {}),
    "discrete": (ConstrainedHMM, RATES + np.eye(3), {}),
}


@pytest.mark.parametrize("huge", [-1e16, -1e19, -1e30, -1e300, 1e30, 1e300])
@pytest.mark.parametrize("name", OTHERS)
@pytest.mark.filterwarnings("ignore::skchmm.NotEnforcedWarning")
def test_what_all_states_share_changes_no_answer(name, huge):
    kind, matrix, params = OTHERS[name]
    for seed, rules in enumerate([None, EndsIn(0), AtMostVisits(0, 2), StartsIn([1, 2])]):
        model = kind.from_parameters([0.2, 0.3, 0.5], matrix, constraints=rules, **params)
        rng = np.random.default_rng(seed)
        X, shared = rng.normal(size=(23, 3)), rng.random((23, 1)) < 0.4
        where = {"times": np.cumsum(rng.random(23))} if kind is CTConstrainedHMM else {}
        small, large = np.where(shared, 0.0, X), np.where(shared, huge, X)
        log_prob, path = model.decode(small, **where)
        more, same = model.decode(large, **where)
        np.testing.assert_array_equal(same, path)
        assert more == pytest.approx(log_prob + huge * shared.sum(), rel=1e-9)
        for method in ("predict_proba", "filter_proba"):
            if hasattr(model, method):
                expected = getattr(model, method)(small, **where)
                np.testing.assert_allclose(
                    getattr(model, method)(large, **where), expected, atol=1e-9
                )


@pytest.mark.parametrize("huge", [-1e16, -1e19, -1e30, -1e300, 1e30])
@pytest.mark.parametrize("semantics", ["path", "observed"])
def test_probabilities_in_continuous_time_stay_such(semantics, huge):
    """Also where every path meets a huge score, and sums have lost their digits."""
    for seed in range(40):
        rng = np.random.default_rng(seed)
        rules = [None, AtMostVisits(0, 2), EndsIn(0)][seed % 3]
        model = CTConstrainedHMM.from_parameters(
            [0.2, 0.3, 0.5], RATES, constraints=rules, semantics=semantics
        )
        X, times = rng.normal(size=(20, 3)), np.cumsum(rng.random(20) + 0.1)
        X[rng.random(X.shape) < rng.random()] = huge
        for method in ("predict_proba", "filter_proba"):
            p = getattr(model, method)(X, times=times)
            assert (p >= 0).all()
            np.testing.assert_allclose(p.sum(axis=1), 1.0, rtol=1e-9)
