from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skchmm import ConstrainedHMM
from skchmm.constraints import AtMostVisits, EndsIn, Precedence, StartsIn
from skchmm.metrics import misspecification_bound
from tests.oracles.predicates import holds
from tests.oracles.strategies import constraint_lists

STATES = ["a", "b", "c"]


def random_model(rng):
    startprob, *transmat = rng.dirichlet(np.ones(3), size=4)
    return ConstrainedHMM.from_parameters(startprob, transmat, states=STATES)


def enumerate_posterior(model, X):
    """All paths, and the unconstrained posterior probability of each."""
    paths = list(product(range(3), repeat=len(X)))
    weights = []
    for path in paths:
        weight = model.startprob_[path[0]] * np.exp(sum(X[t, i] for t, i in enumerate(path)))
        for i, j in pairwise(path):
            weight *= model.transmat_[i, j]
        weights.append(weight)
    return paths, np.array(weights) / sum(weights)


def conditioned(paths, posterior, constraints):
    """Which paths satisfy the constraints, their mass, and the posterior given that."""
    inside = np.array([all(holds(c, [STATES[i] for i in x]) for c in constraints) for x in paths])
    mass = posterior[inside].sum()
    return inside, mass, np.where(inside, posterior, 0) / mass if mass > 0 else None


def marginals(paths, distribution):
    out = np.zeros((len(paths[0]), 3))
    for path, probability in zip(paths, distribution):
        out[np.arange(len(path)), path] += probability
    return out


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 10**6),
    constraint_lists(STATES, max_size=2),
    constraint_lists(STATES, max_size=2),
    st.integers(1, 5),
)
def test_theorem_by_enumeration(seed, constraints, true_constraints, n_steps):
    rng = np.random.default_rng(seed)
    model, X = random_model(rng), rng.normal(size=(n_steps, 3))
    paths, posterior = enumerate_posterior(model, X)
    inside, mass, given_chi = conditioned(paths, posterior, constraints)
    true_inside, true_mass, given_true = conditioned(paths, posterior, true_constraints)
    if mass == 0 or true_mass == 0:
        with pytest.raises(ValueError, match=r"[Nn]o path"):
            misspecification_bound(model, constraints, true_constraints, X)
        return
    result = misspecification_bound(model, constraints, true_constraints, X)
    np.testing.assert_allclose(result.mu, mass, rtol=1e-8)
    np.testing.assert_allclose(result.mu_true, true_mass, rtol=1e-8)
    np.testing.assert_allclose(result.mu_both, posterior[inside & true_inside].sum(), rtol=1e-8)
    total_variation = np.abs(given_chi - given_true).sum() / 2
    np.testing.assert_allclose(result.trajectory_tv, total_variation, atol=1e-8)
    symmetric_difference = posterior[inside ^ true_inside].sum()
    bound = min(1, symmetric_difference / max(mass, true_mass))
    np.testing.assert_allclose(result.marginal_bound, bound, atol=1e-8)
    difference = marginals(paths, given_chi) - marginals(paths, given_true)
    marginal_tv = np.abs(difference).sum(axis=1) / 2
    np.testing.assert_allclose(result.marginal_tv, marginal_tv, atol=1e-8)
    np.testing.assert_allclose(result.max_marginal_tv, marginal_tv.max(), atol=1e-8)
    np.testing.assert_allclose(result.mean_marginal_tv, marginal_tv.mean(), atol=1e-8)
    assert result.max_marginal_tv[0] <= result.trajectory_tv[0] + 1e-12
    assert result.trajectory_tv[0] <= result.marginal_bound[0] + 1e-12


def test_forms_agree():
    rng = np.random.default_rng(0)
    model, lengths = random_model(rng), [3, 1, 4]
    X = [rng.normal(size=(n, 3)) for n in lengths]
    rules = [Precedence("a", "b")], [Precedence("a", "b"), AtMostVisits("c", 1)]
    listed = misspecification_bound(model, *rules, X)
    stacked = misspecification_bound(model, *rules, np.concatenate(X), lengths=lengths)
    ids = np.repeat(["x", "y", "z"], lengths)
    grouped = misspecification_bound(model, *rules, np.concatenate(X), groups=ids)
    assert [len(one) for one in listed.marginal_tv] == lengths
    for i, one in enumerate(X):
        alone = misspecification_bound(model, *rules, one)
        np.testing.assert_allclose(listed.marginal_tv[i], alone.marginal_tv, atol=1e-12)
        for name in ("mu", "mu_true", "mu_both", "trajectory_tv", "marginal_bound"):
            for result in (listed, stacked, grouped):
                np.testing.assert_allclose(getattr(result, name)[i], getattr(alone, name)[0])
    np.testing.assert_allclose(np.concatenate(listed.marginal_tv), stacked.marginal_tv)


def test_no_constraints_and_no_common_path():
    rng = np.random.default_rng(1)
    model, X = random_model(rng), rng.normal(size=(4, 3))
    same = misspecification_bound(model, None, [], X)
    np.testing.assert_allclose(same.mu, 1)
    np.testing.assert_allclose(same.trajectory_tv, 0, atol=1e-12)
    np.testing.assert_allclose(same.marginal_bound, 0, atol=1e-12)
    apart = misspecification_bound(model, EndsIn("a"), [EndsIn("b"), StartsIn("b")], X)
    assert apart.mu_both[0] == 0
    assert apart.trajectory_tv[0] == 1
    assert apart.marginal_bound[0] == 1
