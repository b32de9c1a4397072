"""Random models of every class, with the same parameters in hmmlearn and here."""

import logging

import numpy as np
import pytest

from skchmm import hmm as ours

theirs = pytest.importorskip("hmmlearn.hmm")
logging.getLogger("hmmlearn").setLevel(logging.ERROR)

S, D, M = 3, 2, 2
LENGTHS = [40, 1, 25, 54]
IMPLEMENTATIONS = ["log", "scaling"]
KINDS = ["spherical", "diag", "full", "tied"]
CASES = [
    ("CategoricalHMM", {}),
    ("PoissonHMM", {}),
    ("MultinomialHMM", {"n_trials": 6}),
    *(("GaussianHMM", {"covariance_type": kind}) for kind in KINDS),
    *(("GMMHMM", {"n_mix": M, "covariance_type": kind}) for kind in KINDS),
]
IDS = [f"{name}-{params.get('covariance_type', '')}".rstrip("-") for name, params in CASES]

LETTERS = {
    "CategoricalHMM": {"e": "emissionprob_"},
    "PoissonHMM": {"l": "lambdas_"},
    "MultinomialHMM": {"e": "emissionprob_"},
    "GaussianHMM": {"m": "means_", "c": "covars_"},
    "GMMHMM": {"m": "means_", "c": "covars_", "w": "weights_"},
}


def parameters(name, params, rng):
    """Start values of every parameter, by attribute."""
    values = {
        "startprob_": rng.dirichlet(np.ones(S)),
        "transmat_": rng.dirichlet(np.ones(S), size=S),
    }
    kind = params.get("covariance_type")
    if name == "CategoricalHMM":
        values["emissionprob_"] = rng.dirichlet(np.ones(4), size=S)
    elif name == "MultinomialHMM":
        values["emissionprob_"] = rng.dirichlet(np.ones(D + 1), size=S)
    elif name == "PoissonHMM":
        values["lambdas_"] = rng.gamma(3.0, size=(S, D))
    elif name == "GaussianHMM":
        values["means_"] = 2 * rng.standard_normal((S, D))
        values["covars_"] = covariances(rng, kind, (S,), ())
    else:
        values["means_"] = 2 * rng.standard_normal((S, M, D))
        values["weights_"] = rng.dirichlet(np.ones(M), size=S)
        values["covars_"] = covariances(rng, kind, (S, M), (S,))
    return values


def covariances(rng, kind, each, tied):
    if kind == "spherical":
        return rng.uniform(0.5, 2, size=each)
    if kind == "diag":
        return rng.uniform(0.5, 2, size=(*each, D))
    roots = rng.standard_normal((*(tied if kind == "tied" else each), D, D))
    return roots @ np.swapaxes(roots, -1, -2) + 0.5 * np.eye(D)


def model(module, name, params, values, **more):
    made = getattr(module, name)(S, **params, **more)
    for attribute, value in values.items():
        setattr(made, attribute, value.copy())
    return made


def rows(name, rng):
    n = sum(LENGTHS)
    if name == "CategoricalHMM":
        return rng.integers(4, size=(n, 1))
    if name == "PoissonHMM":
        return rng.poisson(rng.choice([1.0, 6.0], size=(n, 1)), size=(n, D))
    if name == "MultinomialHMM":
        shares = rng.dirichlet(np.ones(D + 1), size=3)[rng.integers(3, size=n)]
        return rng.multinomial(6, shares)
    return rng.standard_normal((n, D)) + 3 * rng.integers(3, size=(n, 1))


def pair(name, params, seed=0, **more):
    """hmmlearn's model, ours, and data."""
    rng = np.random.default_rng(seed)
    values = parameters(name, params, rng)
    X = rows(name, rng)
    return model(theirs, name, params, values, **more), model(ours, name, params, values, **more), X


def compact(fitted, attribute):
    """A parameter; covariances of GaussianHMM in the form in which they are set."""
    if attribute == "covars_" and hasattr(fitted, "_covars_"):
        covars = np.asarray(fitted._covars_)
        # hmmlearn repeats the one variance of a state for every column
        spherical = fitted.covariance_type == "spherical" and covars.ndim == 2
        return covars[:, 0] if spherical else covars
    return np.asarray(getattr(fitted, attribute))


def assert_same_parameters(first, second, name, atol=1e-6):
    for attribute in ("startprob_", "transmat_", *LETTERS[name].values()):
        np.testing.assert_allclose(
            compact(second, attribute), compact(first, attribute), rtol=0, atol=atol,
            err_msg=attribute,
        )  # fmt: skip
