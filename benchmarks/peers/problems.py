"""Random models and data for the races, the same for every library."""

from dataclasses import dataclass

import numpy as np

from skchmm import ConstrainedHMM
from skchmm.emissions import Categorical, Gaussian

N_SYMBOLS = 16
N_FEATURES = 4


@dataclass
class Problem:
    startprob: np.ndarray
    transmat: np.ndarray
    emission: str  # "categorical" or "gaussian"
    parameters: tuple  # (emissionprob,) or (means, variances)
    X: np.ndarray  # (n, 1) int64 or (n, N_FEATURES)
    lengths: list

    def ours(self, **params):
        """A ConstrainedHMM with these parameters."""
        kind = Categorical if self.emission == "categorical" else Gaussian
        return ConstrainedHMM.from_parameters(
            self.startprob,
            self.transmat,
            emission=kind.from_parameters(*self.parameters),
            **params,
        )

    def like_hmmlearn(self, module, **params):
        """A model with these parameters of hmmlearn.hmm, or of what stands in for it."""
        params = {"init_params": "", "tol": -np.inf, **params}
        if self.emission == "categorical":
            model = module.CategoricalHMM(len(self.startprob), **params)
            model.n_features = N_SYMBOLS
            model.emissionprob_ = self.parameters[0].copy()
        else:
            model = module.GaussianHMM(len(self.startprob), covariance_type="diag", **params)
            model.n_features = N_FEATURES
            model.means_ = self.parameters[0].copy()
            model.covars_ = self.parameters[1].copy()
        model.startprob_ = self.startprob.copy()
        model.transmat_ = self.transmat.copy()
        return model

    def log_likelihoods(self):
        """(n, S)."""
        model = self.ours()
        encoded = model.emission_.encode(self.X, None, reset=False)
        frames = model.emission_.log_likelihood(encoded)
        return np.ascontiguousarray(frames.table[frames.index] if frames.index is not None
                                    else frames.table)  # fmt: skip


def make_problem(n_states, lengths, emission="categorical", seed=0):
    """A random chain that stays 0.9 of the time, and sequences drawn from it."""
    rng = np.random.default_rng(seed)
    startprob = rng.dirichlet(np.ones(n_states))
    transmat = 0.9 * np.eye(n_states) + 0.1 * rng.dirichlet(np.ones(n_states), size=n_states)
    transmat /= transmat.sum(axis=1, keepdims=True)
    if emission == "categorical":
        parameters = (rng.dirichlet(np.full(N_SYMBOLS, 0.5), size=n_states),)
    else:
        means = rng.normal(scale=2.0, size=(n_states, N_FEATURES))
        parameters = (means, rng.uniform(0.5, 2.0, size=means.shape))
    n = int(np.sum(lengths))
    # Which state each observation comes from matters little here: states in runs of ten.
    path = np.repeat(rng.integers(n_states, size=n // 10 + 1), 10)[:n]
    if emission == "categorical":
        steps = np.cumsum(parameters[0], axis=1)[path, :-1]
        X = (rng.random((n, 1)) > steps).sum(axis=1).reshape(-1, 1)
        X[:N_SYMBOLS, 0] = np.arange(N_SYMBOLS)  # every symbol occurs
    else:
        X = rng.normal(parameters[0][path], np.sqrt(parameters[1][path]))
    return Problem(startprob, transmat, emission, parameters, X, list(lengths))
