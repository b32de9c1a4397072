"""Random chains, random data, and enumeration of their paths by label."""

import numpy as np

from .enumeration import Enumeration


def random_chain(rng, n_states, zeros=0.0):
    """(startprob, transmat), each entry but one per row zero with probability `zeros`."""
    rows = rng.dirichlet(np.ones(n_states), size=n_states + 1)
    drop = rng.random(rows.shape) < zeros
    drop[np.arange(n_states + 1), rng.integers(n_states, size=n_states + 1)] = False
    rows[drop] = 0.0
    rows /= rows.sum(axis=1, keepdims=True)
    return rows[0], rows[1:]


def random_scores(rng, n_steps, n_states, impossible=0.0):
    """Log-likelihoods, each -inf with probability `impossible`."""
    scores = rng.normal(size=(n_steps, n_states))
    scores[rng.random(scores.shape) < impossible] = -np.inf
    return scores


def feasible_paths(startprob, transmat, scores, states, constraints=()):
    """{path of labels: log P(path, Y)} of the possible paths that satisfy the constraints."""
    every = Enumeration(startprob, transmat, scores, states, constraints)
    return {
        tuple(states[i] for i in path): float(weight)
        for path, weight in zip(every.paths, every.log_weights)
    }


def log_total(paths):
    """log of the sum of the weights."""
    return float(np.logaddexp.reduce(list(paths.values()))) if paths else -np.inf


def posterior(paths):
    """{path: probability} from {path: log weight}."""
    total = log_total(paths)
    return {path: float(np.exp(value - total)) for path, value in paths.items()}
