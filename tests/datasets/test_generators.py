import numpy as np
import pytest

from skchmm import ConstrainedHMM
from skchmm.constraints.compile import compile, satisfies
from skchmm.datasets import make_chain, make_protocol
from skchmm.exceptions import InfeasibleSequenceError
from skchmm.metrics import sequence_accuracy_score, trajectory_validity_rate
from skchmm.mining import ConstraintMiner


@pytest.mark.parametrize("make", [make_chain, make_protocol])
def test_paths_satisfy_the_constraints(make):
    data = make(8, n_steps=(40, 60), random_state=0)
    assert len(data.X) == len(data.y) == 8
    assert all(40 <= len(x) == len(y) <= 60 for x, y in zip(data.X, data.y))
    assert len({len(x) for x in data.X}) > 1
    for y in data.y:
        assert satisfies(y, data.constraints, data.states)
    assert data.DESCR


@pytest.mark.parametrize("make", [make_chain, make_protocol])
def test_seeds(make):
    one, same, other = (make(3, 30, random_state=seed) for seed in (0, 0, 1))
    assert all(np.array_equal(a, b) for a, b in zip(one.X, same.X))
    assert all(np.array_equal(a, b) for a, b in zip(one.y, same.y))
    assert not all(np.array_equal(a, b) for a, b in zip(one.X, other.X))
    X, y = make(3, 30, random_state=0, return_X_y=True)
    assert np.array_equal(X[2], one.X[2])
    assert np.array_equal(y[2], one.y[2])


def test_chain_symbols_have_their_probabilities():
    data = make_chain(200, 100, noise=0.5, random_state=0)
    X, y = np.concatenate(data.X), np.concatenate(data.y)
    for state, row in zip(data.states, data.emissionprob):
        shares = np.bincount(X[y == state], minlength=8) / np.sum(y == state)
        assert row.sum() == pytest.approx(1)
        assert np.allclose(shares, row, atol=0.03)


def test_chain_rules_can_be_mined():
    data = make_chain(400, 100, stay=0.9, random_state=0)
    mined = ConstraintMiner().fit(data.y).constraints_
    assert compile(mined, data.states).equivalent(compile(data.constraints, data.states))


def test_chain_is_as_hard_as_it_says():
    accuracy, validity = [], []
    for seed in range(5):
        data = make_chain(90, 200, random_state=seed)
        model = ConstrainedHMM(states=data.states, emission="categorical")
        path = model.fit(data.X[:60], data.y[:60]).predict(data.X[60:])
        accuracy.append(sequence_accuracy_score(data.y[60:], path))
        validity.append(trajectory_validity_rate(path, data.constraints))
    assert 0.97 < np.mean(accuracy) < 0.99
    assert 0.8 < np.mean(validity) < 0.94


def test_protocol_features_have_their_means():
    data = make_protocol(30, 300, n_features=2, subject=0.0, random_state=0)
    X, y = np.concatenate(data.X), np.concatenate(data.y)
    assert X.shape == (30 * 300, 2)
    for state, mean in zip(data.states, data.means):
        assert np.allclose(X[y == state].mean(axis=0), mean, atol=0.2)
    assert np.array_equal(data.groups, np.arange(30))


def test_impossible_requests():
    with pytest.raises(InfeasibleSequenceError, match="3 steps"):
        make_chain(1, 3)  # there are four states to go through
    with pytest.raises(ValueError, match="stay"):
        make_chain(1, 10, stay=1.5)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"n_sequences": 0}, "n_sequences must be a positive integer, got 0"),
        ({"n_steps": (5, 2)}, r"n_steps must be .* got \(5, 2\)"),
        ({"n_steps": None}, "n_steps must be"),
        ({"stay": None}, "stay must be a probability"),
        ({"activities": None}, "activities must be a list of labels"),
        ({"activities": []}, "activities must be a list of labels"),
        ({"activities": ["walk", np.zeros(0)]}, "activities must be a list of labels"),
        ({"n_features": 1.5}, "n_features must be a positive integer"),
        ({"subject": -1}, "subject must be a standard deviation"),
    ],
)
def test_parameters_that_cannot_be(wrong, message):
    with pytest.raises(ValueError, match=message):
        make_protocol(**{"n_sequences": 2, "n_steps": 40} | wrong)
    with pytest.raises(ValueError, match="noise must be a probability"):
        make_chain(2, 40, noise=2.0)
