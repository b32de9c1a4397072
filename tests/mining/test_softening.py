"""Mined rules that may be broken."""

import numpy as np
import pytest

from skchmm import ConstrainedHMM, ConstraintMiner
from skchmm.constraints import Soft


def days(rng, n, broken=0.1):
    """x a x b x c, with b sometimes before a; the chain alone cannot know what came before x."""
    out = []
    for _ in range(n):
        order = ["b", "a", "c"] if rng.random() < broken else ["a", "b", "c"]
        steps = [label for label in "x".join(["", *order]) for _ in range(rng.integers(1, 4))]
        out.append(steps)
    return out


def test_what_is_not_perfect_is_kept_as_a_soft_rule():
    y = days(np.random.default_rng(0), 200)
    hard = ConstraintMiner(families=("precedence",)).fit(y).constraints_
    soft = ConstraintMiner(families=("precedence",), soft=True).fit(y).constraints_
    assert "Precedence('a', 'b')" not in map(repr, hard)
    rules = {repr(rule.constraint): rule for rule in soft}
    assert all(isinstance(rule, Soft) and rule.weight > 0 for rule in soft)
    assert rules["Precedence('a', 'b')"].weight > 0


def test_rules_that_break_more_often_weigh_less():
    weights = []
    for broken in (0.02, 0.15):
        y = days(np.random.default_rng(1), 300, broken)
        soft = ConstraintMiner(families=("precedence",), soft=True).fit(y).constraints_
        weights.append({repr(r.constraint): r.weight for r in soft}["Precedence('a', 'b')"])
    assert weights[0] > weights[1]


def test_in_a_model_the_mined_rules_admit_every_path():
    rng = np.random.default_rng(2)
    y = days(rng, 60)
    X = [np.array(path) for path in y]
    model = ConstrainedHMM(constraints=ConstraintMiner(soft=True, min_edge_count=3)).fit(X, y)
    assert len(model.soft_weights_) == len(model.constraints_) > 0
    odd = [np.array(list("cba"))]
    assert np.isfinite(model.log_likelihood(odd)).all()


def test_soft_is_a_yes_or_no():
    with pytest.raises(ValueError, match="soft must be True or False"):
        ConstraintMiner(soft="yes").fit([list("ab")])
