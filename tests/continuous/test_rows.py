"""Decoding row by row, where gaps are nearly all different: enumeration, and a matrix per gap."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from skchmm import CTConstrainedHMM, InfeasibleSequenceError, compile
from skchmm.constraints import AtMostVisits, EndsIn, NoReentry, Soft, StartsIn
from skchmm.continuous import rows
from skchmm.continuous.generator import Generator
from skchmm.continuous.rows import RowTable, reachable
from skchmm.inference.settings import settings as sizes
from tests.continuous.oracle import KilledChain, random_generator
from tests.continuous.test_inference import JUMP_RULES, STATES, close, model_of, problems


def by_matrices(model, X, times):
    """The answer with a matrix for every gap."""
    old, sizes.row_nodes = sizes.row_nodes, 0
    try:
        return model.decode(X, times)
    finally:
        sizes.row_nodes = old


def same(model, X, times):
    """Decode in both ways, which must agree, ties included."""
    log_prob, path = model.decode(X, times)
    expected, other = by_matrices(model, X, times)
    np.testing.assert_allclose(log_prob, expected, rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(np.hstack(path), np.hstack(other))
    return log_prob, path


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    problem=problems(JUMP_RULES),
    limit=st.sampled_from([32.0, 0.5]),
    floors=st.sampled_from([rows.FLOORS, rows.FLOORS[1:]]),
)
def test_best_paths_equal_enumeration(problem, limit, floors):
    startprob, generator, gaps, log_b, rules = problem
    truth = KilledChain(startprob, generator, compile(rules, STATES))
    model = model_of(startprob, generator, rules)
    found = list(truth.all_paths(gaps, log_b))
    best = max((log_p for log_p, _ in found), default=-np.inf)
    if best < -550:
        return  # beyond the truth's precision
    times = np.cumsum(gaps)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(RowTable, "limit", lambda table, floor: limit)
        patch.setattr("skchmm.continuous.path.FLOORS", floors)
        log_prob, path = model.decode(log_b, times)
    close(log_prob, best, 1e-8, 1e-8)
    mine = [log_p for log_p, states in found if [STATES[i] for i in states] == path.tolist()]
    close(max(mine), best, 1e-8, 1e-8)


@pytest.mark.parametrize("limit", [32.0, 0.5])
@pytest.mark.parametrize("scale", [0.05, 1.0, 20.0])
@pytest.mark.parametrize(
    "rules",
    [
        [],
        [NoReentry(x) for x in "abcde"],
        [AtMostVisits("a", 3), AtMostVisits("b", 2), EndsIn("c")],
        [Soft(NoReentry("a"), 2.0), Soft(AtMostVisits("b", 2), 30.0)],
    ],
    ids=["free", "no way back", "visits", "soft"],
)
def test_a_matrix_per_gap_gives_the_same(rules, scale, limit, monkeypatch):
    monkeypatch.setattr(RowTable, "limit", lambda table, floor: limit)
    rng = np.random.default_rng(7)
    model = CTConstrainedHMM.from_parameters(
        np.ones(5) / 5, random_generator(rng, 5, sparse=True, scale=scale), states=list("abcde"),
        constraints=rules,
    )  # fmt: skip
    lengths = [70, 1, 2, 33]
    X = [np.log(rng.random((n, 5))) * 3 for n in lengths]
    times = [np.cumsum(rng.exponential(size=n) * rng.choice([0.0, 1e-3, 1.0], n)) for n in lengths]
    same(model, X, times)
    X[0][::7, 2:] = -np.inf  # few states are left
    same(model, X, times)


def test_ties_go_to_the_lowest_label():
    rates = np.ones((4, 4)) - 4 * np.eye(4)
    model = CTConstrainedHMM.from_parameters(
        np.ones(4) / 4, rates, states=list("abcd"), constraints=AtMostVisits("c", 1)
    )
    times = np.cumsum(np.random.default_rng(0).random(40) * 3)
    _, path = same(model, np.zeros((40, 4)), times)
    assert set(path) == {"a"}


@pytest.mark.parametrize("share", [1e-150, 1e-250, 1e-320])
def test_what_all_but_vanishes_is_looked_at_again(share):
    """A path that is next to nothing on the way is the only one that is accepted in the end."""
    generator = random_generator(np.random.default_rng(3), 3)
    model = model_of([0.5, 0.5, 0.0], generator, [NoReentry("a"), NoReentry("b"), EndsIn("b")])
    X = np.zeros((30, 3))
    X[:-1, 0] = np.log(share) / 28  # b is likely, but once it is left it is not reached again
    X[-1] = [-np.inf, 0.0, -np.inf]
    X[5:9] = [0.0, -np.inf, 0.0]
    same(model, X, np.cumsum(np.random.default_rng(1).random(30)))


def test_no_path_is_found_out_at_once(monkeypatch):
    """Bounds from above that leave nothing are a proof; no matrix is computed for it."""
    rates = np.array([[-1.0, 1.0, 0.0], [0.0, -1.0, 1.0], [0.0, 0.0, 0.0]])
    model = model_of(np.ones(3) / 3, rates, [StartsIn("a")])
    back = np.array([[0.0, 0.0, 0.0], [-np.inf, -np.inf, 0.0], [0.0, -np.inf, -np.inf]])
    monkeypatch.setattr(Generator, "matrices", None)
    with pytest.raises(InfeasibleSequenceError):
        model.predict(back, [0.0, 1.0, 2.5])


def test_what_can_be_reached():
    rng = np.random.default_rng(5)
    for density in (0.0, 0.1, 0.2, 0.5):
        for _ in range(10):
            rates = rng.random((13, 13)) * (rng.random((13, 13)) < density)
            expected = np.linalg.matrix_power((rates > 0) + np.eye(13), 13) > 0
            assert (reachable(Generator.of_states(rates)) == expected).all()


def test_room_decides_how_long_a_series_is(monkeypatch):
    rates = random_generator(np.random.default_rng(0), 20)
    table = RowTable(Generator.of_states(rates))
    limits = []
    for power_bytes in (10**6, 10**5, 10**4):  # 480 blocks of 64 bytes, or about so much
        monkeypatch.setattr(sizes, "power_bytes", power_bytes)
        limits.append(table.limit(1e-28))
    assert limits[0] == 32.0 > limits[1] > limits[2] == 0.0
    # without any room, a matrix is computed for every gap
    model = CTConstrainedHMM.from_parameters(np.ones(20) / 20, rates)
    times = np.cumsum(np.random.default_rng(1).random(30))
    same(model, np.log(np.random.default_rng(2).random((30, 20))), times)
