"""Small problems that the tests of the decoders share."""

import numpy as np

STATES = ["a", "b", "c"]


def toy(n=6, seed=0):
    """Symbols and labels of n short sequences, as lists."""
    rng = np.random.default_rng(seed)
    y = [np.repeat(STATES, rng.integers(2, 6, 3)) for _ in range(n)]
    X = [np.char.upper(path) for path in y]
    for x in X:
        x[rng.random(len(x)) < 0.2] = "A"
    return X, y


def random_parameters(rng, n_states=3, zeros=0.2):
    """startprob and transmat, with some structural zeros off the diagonal."""
    start = rng.dirichlet(np.ones(n_states))
    trans = rng.dirichlet(np.ones(n_states), size=n_states)
    trans[(rng.random(trans.shape) < zeros) & ~np.eye(n_states, dtype=bool)] = 0.0
    return start, trans / trans.sum(axis=1, keepdims=True)


def labels(path):
    return [STATES[i] for i in path]
