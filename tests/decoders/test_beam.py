from functools import reduce
from operator import and_

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skchmm import (
    BeamRejectionDecoder,
    ConstrainedHMM,
    InfeasibleSequenceError,
    InfeasibleSequenceWarning,
    NotEnforcedWarning,
)
from skchmm.constraints import (
    AtMostVisits,
    EndsIn,
    ForbiddenEdges,
    NoDwell,
    NoReentry,
    Precedence,
    StageMonotone,
)
from tests.decoders.cases import STATES, labels, random_parameters, toy
from tests.oracles.enumeration import Enumeration
from tests.oracles.predicates import holds
from tests.oracles.strategies import families

LOCAL = ("ForbiddenEdges", "NoReentry", "StageMonotone", "Precedence", "NoDwell")


def local_rules():
    strategies = families(STATES)
    return st.lists(st.one_of(*(strategies[name] for name in LOCAL)), max_size=3)


def slow_beam(start, trans, log_b, rules, width):
    """Beam search on whole paths, from the words: extend, reject, merge, keep the best."""
    with np.errstate(divide="ignore"):
        log_start, log_trans = np.log(start), np.log(trans)
    beam = {(i,): log_start[i] + log_b[0, i] for i in range(3)}
    for t in range(len(log_b)):
        if t:
            beam = {
                (*path, j): score + log_trans[path[-1], j] + log_b[t, j]
                for path, score in beam.items() for j in range(3)
            }  # fmt: skip
        beam = {
            path: score for path, score in beam.items()
            if score > -np.inf and all(holds(rule, labels(path)) for rule in rules)
        }  # fmt: skip
        if not beam:
            return None
        # what the future can tell apart: the last label, and for each rule what it remembers
        merged = {}
        for path, score in beam.items():
            key = (path[-1], *(memory(rule, labels(path)) for rule in rules))
            if key not in merged or score > merged[key][1]:
                merged[key] = path, score
        best = sorted(merged.values(), key=lambda item: -item[1])[:width]
        beam = dict(best)
    return max(beam.values())


def memory(rule, path):
    """Which extensions by up to three labels the rule allows."""
    from itertools import product

    return tuple(
        holds(rule, path + list(more)) for n in (1, 2, 3) for more in product(STATES, repeat=n)
    )


def make(start, trans, rules, **params):
    return BeamRejectionDecoder.from_parameters(
        start, trans, states=STATES, constraints=rules, on_infeasible="raise", **params
    )


@settings(max_examples=80, deadline=None)
@given(st.integers(0, 10**6), local_rules(), st.integers(1, 6), st.booleans())
def test_unlimited_width_is_exact(seed, rules, n_steps, conjoin):
    rng = np.random.default_rng(seed)
    start, trans = random_parameters(rng)
    X = rng.normal(size=(n_steps, 3))
    constraints = reduce(and_, rules) if conjoin and rules else rules
    try:
        model = make(start, trans, constraints, beam_width=None)
    except ValueError as error:
        assert "satisf" in str(error)
        return
    assert model.not_enforced_ == []
    truth = Enumeration(start, trans, X, STATES, rules)
    if not truth.feasible:
        with pytest.raises(InfeasibleSequenceError):
            model.predict(X)
        return
    log_prob, path = model.decode(X)
    np.testing.assert_allclose(log_prob, truth.log_max, rtol=1e-12)
    assert path.tolist() == labels(truth.paths[np.argmax(truth.log_weights)])
    exact = ConstrainedHMM.from_parameters(start, trans, states=STATES, constraints=rules)
    np.testing.assert_array_equal(path, exact.predict(X))


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), local_rules(), st.integers(1, 5), st.integers(1, 4))
def test_narrow_beam_is_the_slow_one(seed, rules, n_steps, width):
    rng = np.random.default_rng(seed)
    start, trans = random_parameters(rng)
    X = rng.normal(size=(n_steps, 3))
    try:
        model = make(start, trans, rules, beam_width=width)
    except ValueError:
        return
    expected = slow_beam(start, trans, X, rules, width)
    if expected is None:
        with pytest.raises(InfeasibleSequenceError, match="Every hypothesis of sequence 0"):
            model.predict(X)
    else:
        np.testing.assert_allclose(model.decode(X)[0], expected, rtol=1e-12)


def test_ends_are_not_seen():
    X, y = toy()
    rules = [ForbiddenEdges([("a", "c")]), EndsIn("a"), AtMostVisits("b", 1), NoReentry("a")]
    model = BeamRejectionDecoder(constraints=reduce(and_, rules))
    with pytest.warns(NotEnforcedWarning, match=r"EndsIn\('a'\)") as caught:
        model.fit(X, y)
    assert len(caught) == 1
    assert model.not_enforced_ == [rules[1], rules[2]]
    without = BeamRejectionDecoder(constraints=[rules[0], rules[3]]).fit(X, y)
    assert all((a == b).all() for a, b in zip(model.predict(X), without.predict(X)))
    assert all(holds([rules[0], rules[3]], path.tolist()) for path in model.predict(X))


def test_rejection_does_not_look_ahead():
    # b is better at first, but then nothing may follow it: a beam of one dies, two survive.
    start, trans = np.array([0.4, 0.6, 0.0]), np.full((3, 3), 1 / 3)
    rules = ForbiddenEdges([("b", {"a", "b", "c"})])
    X = np.zeros((2, 3))
    with pytest.raises(InfeasibleSequenceError, match="beam_width=1"):
        make(start, trans, rules, beam_width=1).predict(X)
    assert make(start, trans, rules, beam_width=2).predict(X).tolist() == ["a", "a"]
    warning = BeamRejectionDecoder.from_parameters(
        start, trans, states=STATES, constraints=rules, beam_width=1
    )
    with pytest.warns(InfeasibleSequenceWarning, match="best path without rules"):
        assert warning.predict(X).tolist() == ["b", "a"]


def test_ties_go_to_the_lowest_label():
    model = make(np.full(3, 1 / 3), np.full((3, 3), 1 / 3), NoDwell("a"))
    exact = ConstrainedHMM.from_parameters(
        np.full(3, 1 / 3), np.full((3, 3), 1 / 3), states=STATES, constraints=NoDwell("a")
    )
    X = np.zeros((7, 3))
    np.testing.assert_array_equal(model.predict(X), exact.predict(X))


def test_threads_change_nothing():
    X, y = toy(12)
    rules = [NoReentry("a"), ForbiddenEdges([("a", "c")])]
    one = BeamRejectionDecoder(3, constraints=rules).fit(X, y)
    two = BeamRejectionDecoder(3, constraints=rules, n_jobs=2).fit(X, y)
    assert all((a == b).all() for a, b in zip(one.predict(X), two.predict(X)))


def test_learning_ignores_the_rules():
    X, y = toy()
    model = BeamRejectionDecoder(constraints=[Precedence("a", "b"), StageMonotone(STATES)])
    model.fit(X, y)
    free = ConstrainedHMM().fit(X, y)
    np.testing.assert_array_equal(model.transmat_, free.transmat_)
    np.testing.assert_allclose(model.log_likelihood(X), free.log_likelihood(X))


@pytest.mark.parametrize("bad", [0, -3, 2.5, "wide"])
def test_bad_width(bad):
    X, y = toy()
    with pytest.raises(ValueError, match="beam_width must be an integer >= 1 or None"):
        BeamRejectionDecoder(bad).fit(X, y)


def test_a_span_of_time_is_no_width():
    with pytest.raises(ValueError, match="beam_width must be an integer"):
        BeamRejectionDecoder.from_parameters([1.0], [[1.0]], beam_width=np.timedelta64(3, "h"))
