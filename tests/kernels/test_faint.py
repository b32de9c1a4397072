"""No kernel of probabilities is slowed down by numbers below the smallest normal double."""

import threading

import numpy as np
import pytest

from skchmm import ConstrainedHMM
from skchmm._kernels.shared.threads import use_at_most
from skchmm.constraints import MinDuration, StageMonotone

N_STATES = 5
FAINT = np.array([1e-310])
RULES = {
    "none": None,
    "durations": [MinDuration(state, 20) for state in range(N_STATES)],
    "stages": [StageMonotone(list(range(N_STATES)), allow_backward=False)],
}


def far_apart(rules, lengths, scale=100.0):
    rng = np.random.default_rng(1)
    transmat = rng.dirichlet(np.full(N_STATES, 0.3), N_STATES) + 0.01
    model = ConstrainedHMM.from_parameters(
        np.full(N_STATES, 1 / N_STATES),
        transmat / transmat.sum(axis=1, keepdims=True),
        constraints=rules,
        n_jobs=2,
    )
    return model, scale * rng.normal(size=(sum(lengths), N_STATES))


@pytest.mark.parametrize("lengths", [[400], [200] * 20])
@pytest.mark.parametrize("method", ["predict_proba", "filter_proba"])
@pytest.mark.parametrize("rules", RULES)
@pytest.mark.parametrize("scale", [30.0, 100.0, 300.0])
def test_answers_hold_none(scale, rules, method, lengths):
    model, X = far_apart(RULES[rules], lengths, scale)
    found = getattr(model, method)(X, lengths=lengths)
    assert not ((found > 0) & (found < np.finfo(np.float64).tiny)).any()
    np.testing.assert_allclose(found.sum(axis=1), 1.0, rtol=0, atol=1e-12)


@pytest.mark.parametrize("lengths", [[400], [200] * 20])
@pytest.mark.parametrize("rules", RULES)
def test_other_code_keeps_them(rules, lengths):
    model, X = far_apart(RULES[rules], lengths)
    left = []

    def ask():
        model.predict_proba(X, lengths=lengths)
        model.filter_proba(X, lengths=lengths)
        model.log_likelihood(X, lengths=lengths)
        model.e_step(X, lengths=lengths)
        left.append((FAINT / 2).item())

    before = use_at_most(2)
    try:
        ask()
        thread = threading.Thread(target=ask)
        thread.start()
        thread.join()
    finally:
        use_at_most(before)
    assert left == [5e-311, 5e-311]
