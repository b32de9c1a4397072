"""Chains with logarithms of weights that need not sum to 1, against enumeration of all paths."""

from itertools import product

import numpy as np
import pytest

from skchmm import compile
from skchmm.constraints import AtMostVisits, EndsIn, NoReentry, Soft
from skchmm.emissions import Frames
from skchmm.graph import AugmentedGraph
from skchmm.inference.log_chain import LogChain

from ..oracles.predicates import holds

S, T = 3, 5
RULES = [[], [AtMostVisits(0, 1)], [EndsIn(2), NoReentry(1)], [Soft(NoReentry(1), 1.5)]]


def enumerate_paths(log_start, log_trans, log_b, rules):
    """log of the sum over paths, marginals and expected transitions."""
    hard = [rule for rule in rules if not isinstance(rule, Soft)]
    soft = [rule for rule in rules if isinstance(rule, Soft)]
    paths, weights = [], []
    for path in product(range(S), repeat=T):
        if not holds(hard, path):
            continue
        weight = log_start[path[0]] + sum(log_b[t, k] for t, k in enumerate(path))
        weight += sum(log_trans[i, j] for i, j in zip(path, path[1:]))
        weight -= sum(rule.weight for rule in soft if not holds([rule.constraint], path))
        paths.append(path)
        weights.append(weight)
    weights = np.array(weights)
    log_z = np.logaddexp.reduce(weights)
    marginals, transitions = np.zeros((T, S)), np.zeros((S, S))
    for path, p in zip(paths, np.exp(weights - log_z)):
        marginals[np.arange(T), list(path)] += p
        np.add.at(transitions, (list(path[:-1]), list(path[1:])), p)
    return log_z, marginals, transitions


@pytest.mark.parametrize("rules", RULES, ids=str)
@pytest.mark.parametrize("depth", [1.0, 30.0, 3000.0])
def test_sums_over_all_paths(rules, depth):
    """Also where no weight but the largest is a double."""
    rng = np.random.default_rng(0)
    log_start, log_trans = -depth * rng.random(S), -depth * rng.random((S, S))
    log_b = rng.normal(size=(T, S))
    everything = np.ones(S, dtype=bool), np.ones((S, S), dtype=bool)
    graph = AugmentedGraph(compile(rules, list(range(S))), *everything)
    chain = LogChain(graph, log_start, log_trans)
    found = chain.smooth(Frames(log_b), np.array([0, T]), counts=True)
    log_z, marginals, transitions = enumerate_paths(log_start, log_trans, log_b, rules)
    assert found.log_z[0] == pytest.approx(log_z, rel=1e-12)
    np.testing.assert_allclose(found.posteriors, marginals, atol=1e-10)
    np.testing.assert_allclose(found.counts.transitions, transitions, atol=1e-10)
    assert chain.only_logs == (depth == 3000.0)


def test_what_is_impossible_stays_so():
    with np.errstate(divide="ignore"):
        log_trans = np.log(np.where(np.eye(S, k=1) + np.eye(S), 0.4, 0.0))
    supports = np.ones(S, dtype=bool), log_trans > -np.inf
    chain = LogChain(AugmentedGraph(compile([], list(range(S))), *supports), -np.ones(S), log_trans)
    found = chain.smooth(Frames(np.zeros((T, S))), np.array([0, T]), counts=True)
    assert (found.counts.transitions[log_trans == -np.inf] == 0).all()
    assert not chain.only_logs
