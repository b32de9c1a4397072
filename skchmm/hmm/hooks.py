"""How subclasses written for hmmlearn take part, and attributes that fit may fill in."""

import numpy as np

from ..emissions import Emission, Frames


class Learned:
    """An attribute that `fit` may replace without touching what the user gave.

    hmmlearn writes the number of symbols or trials that it finds into the constructor parameter.
    Reading the attribute gives the same here, but `get_params` and `clone` keep the parameter.
    """

    def __set_name__(self, owner, name):
        self.name = name

    def __get__(self, model, owner=None):
        if model is None:
            return self
        state = vars(model)
        for name in (f"_learned_{self.name}", self.name):
            if name in state:
                return state[name]
        raise AttributeError(f"{type(model).__name__!r} object has no attribute {self.name!r}")

    def __set__(self, model, value):
        forget(model, self.name)
        vars(model)[self.name] = value


def learn(model, name, value):
    """Set what a `Learned` attribute reads as."""
    vars(model)[f"_learned_{name}"] = value


def forget(model, name):
    """Back to what the user gave."""
    vars(model).pop(f"_learned_{name}", None)


def overridden(model, *names):
    """Whether a subclass outside this package (or the instance) defines one of these methods."""
    for name in names:
        if name in vars(model):
            return True
        home = next(c for c in type(model).__mro__ if name in vars(c))
        if not home.__module__.startswith("skchmm."):
            return True
    return False


class HookedEmission(Emission):
    """The likelihood that a subclass computes, sequence by sequence, as an emission.

    Parameters
    ----------
    model : BaseHMM
    emission : Emission or None
        The emission of the class it derives from, which collects the statistics.
    """

    def __init__(self, model, emission=None):
        self.model = model
        self.emission = emission

    def encode(self, X, offsets=None, *, reset):
        rows = as_rows(X)
        pieces = [rows] if offsets is None else np.split(rows, offsets[1:-1])
        if self.emission is None:
            return pieces, None
        return pieces, self.emission.encode(X, offsets, reset=False)

    def log_likelihood(self, E):
        pieces, _ = E
        return Frames(np.concatenate([self.model._compute_log_likelihood(X) for X in pieces]))

    def accumulate(self, E, posteriors, offsets=None):
        _, encoded = E
        return {} if encoded is None else self.emission.accumulate(encoded, posteriors, offsets)

    def sample(self, path, random_state=None):
        rows = [self.model._generate_sample_from_state(state, random_state) for state in path]
        return np.atleast_2d(rows)


def as_rows(X):
    """Rows as the 2-d array that the hooks take."""
    X = np.asarray(X)
    return X[:, None] if X.ndim == 1 else X
