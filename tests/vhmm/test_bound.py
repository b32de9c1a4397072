"""The lower bound and the steps, from their definitions."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import beta as beta_distribution
from scipy.stats import dirichlet, wishart

from skchmm import vhmm
from skchmm.constraints import (
    AtLeastVisits,
    AtMostVisits,
    EndsIn,
    ExactVisits,
    ForbiddenEdges,
    NoReentry,
    Soft,
    StartsIn,
)

from ..oracles.enumeration import Enumeration
from .cases import CASES, IDS, KINDS, constant, make, posteriors, rows
from .evidence import Symbols, Vectors, log_evidence, log_joint

RULES = [
    [],
    [StartsIn(1), EndsIn([0, 2])],
    [AtMostVisits(2, 1), NoReentry(0)],
    [ExactVisits(1, 1)],
    [ForbiddenEdges([(0, 1), (2, 2)]), AtLeastVisits(2, 1)],
]
T = 5
each_case = pytest.mark.parametrize(("name", "params"), CASES, ids=IDS)
each_rules = pytest.mark.parametrize("rules", RULES, ids=lambda rules: str(rules)[:20])


def at_posteriors(name, params, rng, n_steps=2 * T, **more):
    """A model at random posteriors, before its first iteration, and rows."""
    X = rows(name, n_steps, rng)
    model = make(name, params, random_state=0, n_iter=0, **more)
    model.fit(X)
    for part in ("startprob", "transmat"):
        shape = getattr(model, f"{part}_posterior_").shape
        setattr(model, f"{part}_posterior_", rng.uniform(0.3, 4, size=shape))
    if name == "VariationalCategoricalHMM":
        model.emissionprob_posterior_ = rng.uniform(0.3, 4, size=(3, model.n_features))
    return model.set_params(init_params="", n_iter=1), X


# ---------------------------------------------------------------- expectations
def expected_log(a, b):
    """E[log p] of one entry of a Dirichlet distribution, which is beta distributed."""
    return quad(lambda p: np.log(p) * beta_distribution.pdf(p, a, b), 0, 1, limit=200)[0]


def test_weights_are_expectations_of_logarithms():
    rng = np.random.default_rng(0)
    model, _ = at_posteriors(*CASES[0], rng)
    model.emissionprob_posterior_ = np.maximum(model.emissionprob_posterior_, 0.5)
    for alpha, found in (
        (model.transmat_posterior_[1], np.log(model.transmat_subnorm_[1])),
        (model.startprob_posterior_, np.log(model.startprob_subnorm_)),
        (model.emissionprob_posterior_[0], model.emissionprob_log_subnorm_[0]),
    ):
        expected = [expected_log(a, alpha.sum() - a) for a in alpha]
        np.testing.assert_allclose(found, expected, rtol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_log_densities_are_expectations(kind):
    """By drawing precisions and means; a normal mean adds the trace of its covariance."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(30, 2)) * [1, 2]
    model = vhmm.VariationalGaussianHMM(2, kind, random_state=0, n_iter=3).fit(X)
    found = model._compute_subnorm_log_likelihood(X[:4])
    d, draws = 2, 20_000
    full = {
        "full": lambda k: model.scale_posterior_[k],
        "tied": lambda k: model.scale_posterior_,
        "diag": lambda k: np.diag(model.scale_posterior_[k]),
        "spherical": lambda k: np.eye(d) * model.scale_posterior_[k],
    }[kind]
    for k in range(2):
        dof = np.broadcast_to(model.dof_posterior_, 2)[k]
        L = wishart.rvs(dof, np.linalg.inv(full(k)), size=draws, random_state=rng)
        mu = model.means_posterior_[k] + np.einsum(
            "nij,nj->ni",
            np.linalg.inv(np.swapaxes(np.linalg.cholesky(L * model.beta_posterior_[k]), 1, 2)),
            rng.standard_normal((draws, d)),
        )
        apart = X[:4, None] - mu
        drawn = 0.5 * (np.linalg.slogdet(L)[1] - np.einsum("tni,nij,tnj->tn", apart, L, apart))
        error = 6 * drawn.std(axis=1) / np.sqrt(draws)
        assert (np.abs(drawn.mean(axis=1) - found[:, k]) < error).all()


# ------------------------------------------------------------------- the steps
@each_case
@each_rules
def test_an_iteration_is_what_enumeration_of_all_paths_gives(name, params, rules):
    rng = np.random.default_rng(2)
    model, X = at_posteriors(name, params, rng)
    model.set_params(constraints=rules)
    pieces = [
        Enumeration(
            model.startprob_subnorm_, model.transmat_subnorm_,
            model._compute_subnorm_log_likelihood(part), range(3), rules,
        )
        for part in (X[:T], X[T:])
    ]  # fmt: skip
    log_z = sum(piece.log_z for piece in pieces)
    divergence = model._divergence()
    model.fit(X, [T, T])
    assert model.monitor_.history[0] == pytest.approx(log_z - divergence)
    starts = sum(piece.marginals()[0] for piece in pieces)
    np.testing.assert_allclose(model.startprob_posterior_, 1 / 3 + starts)
    counts = sum(piece.transitions() for piece in pieces)
    np.testing.assert_allclose(model.transmat_posterior_, 1 / 3 + counts)
    weights = np.concatenate([piece.marginals() for piece in pieces])
    if name == "VariationalCategoricalHMM":
        counts = np.stack([weights[X[:, 0] == v].sum(axis=0) for v in range(model.n_features)])
        np.testing.assert_allclose(
            model.emissionprob_posterior_, model.emissionprob_prior_ + counts.T
        )
    else:
        check_vectors(model, X, weights)


def check_vectors(model, X, weights):
    """Normal-Wishart posteriors, with the sums of squares as in a textbook."""
    n, kind = weights.sum(axis=0), model.covariance_type
    beta = model.beta_prior_ + n
    np.testing.assert_allclose(model.beta_posterior_, beta)
    means = (model.beta_prior_[:, None] * model.means_prior_ + weights.T @ X) / beta[:, None]
    np.testing.assert_allclose(model.means_posterior_, means)
    own = X.mean(axis=0) + (weights.T @ (X - X.mean(axis=0))) / np.maximum(n, 1e-300)[:, None]
    scatter = np.einsum("tk,tki,tkj->kij", weights, X[:, None] - own, X[:, None] - own)
    pull = model.beta_prior_ * n / beta
    apart = own - model.means_prior_
    scatter += pull[:, None, None] * apart[:, :, None] * apart[:, None, :]
    diagonals = np.diagonal(scatter, axis1=1, axis2=2)
    expected = {
        "full": scatter, "tied": scatter.sum(axis=0), "diag": diagonals,
        "spherical": diagonals.mean(axis=1),
    }[kind]  # fmt: skip
    np.testing.assert_allclose(
        model.scale_posterior_, model.scale_prior_ + expected, rtol=1e-7, atol=1e-9
    )
    dof = n.sum() if kind == "tied" else n
    np.testing.assert_allclose(model.dof_posterior_, model.dof_prior_ + dof)
    share = model.dof_posterior_ if kind == "tied" else model.dof_posterior_[0]
    first = model._covars_ if kind == "tied" else model._covars_[0]
    scale = model.scale_posterior_ if kind == "tied" else model.scale_posterior_[0]
    np.testing.assert_allclose(first, scale / share)


# ---------------------------------------------------------------- the evidence
def exact(model, X, rules, name):
    def emissions():
        if name == "VariationalCategoricalHMM":
            return Symbols(model.emissionprob_prior_)
        d = X[0].shape[1]
        scale = model.scale_prior_
        if model.covariance_type in ("diag", "spherical"):  # d == 1
            scale = np.reshape(scale, (-1, d, d))
        tied = model.covariance_type == "tied"
        return Vectors(model.means_prior_, model.beta_prior_, model.dof_prior_, scale, tied)

    return emissions, model.startprob_prior_, model.transmat_prior_


@each_case
@pytest.mark.parametrize("rules", RULES[::2], ids=lambda rules: str(rules)[:20])
def test_it_is_below_the_evidence(name, params, rules):
    rng = np.random.default_rng(3)
    X = rows(name, 5, rng)[:, :1]
    model = make(name, params, constraints=rules, random_state=0, n_init=3, n_iter=200)
    model.fit(X, [3, 2])
    cut = np.split(X, [3])
    cut = [part[:, 0] for part in cut] if name == "VariationalCategoricalHMM" else cut
    evidence = log_evidence(cut, 3, rules, *exact(model, cut, rules, name))
    bound = model.monitor_.history[-1] - constant(name, X)
    assert bound < evidence
    assert bound > evidence - 15


@each_case
def test_with_one_state_it_is_the_evidence(name, params):
    rng = np.random.default_rng(4)
    X = rows(name, 12, rng)
    X = X[:, :1] if params.get("covariance_type") in ("diag", "spherical") else X
    model = make(name, params, 1).fit(X, [5, 7])
    cut = np.split(X, [5])
    cut = [part[:, 0] for part in cut] if name == "VariationalCategoricalHMM" else cut
    evidence = log_joint([[0] * 5, [0] * 7], cut, *_called(exact(model, cut, [], name)))
    assert model.monitor_.history[-1] - constant(name, X) == pytest.approx(evidence)


@each_case
def test_with_all_labels_it_is_the_probability_of_data_and_labels(name, params):
    rng = np.random.default_rng(5)
    X, y = rows(name, 12, rng), rng.integers(3, size=12)
    X = X[:, :1] if params.get("covariance_type") in ("diag", "spherical") else X
    model = make(name, params, random_state=0).fit(X, y, lengths=[5, 7])
    cut = np.split(X, [5])
    cut = [part[:, 0] for part in cut] if name == "VariationalCategoricalHMM" else cut
    joint = log_joint(np.split(y, [5]), cut, *_called(exact(model, cut, [], name)))
    assert model.monitor_.history[-1] - constant(name, X) == pytest.approx(joint)
    counts = np.bincount(y[[0, 5]], minlength=3)
    np.testing.assert_allclose(model.startprob_posterior_, 1 / 3 + counts)


def _called(parts):
    emissions, *others = parts
    return emissions(), *others


# ----------------------------------------------------------------- it never falls
@each_case
@pytest.mark.parametrize("rules", [*RULES, [Soft(NoReentry(1), 1.5)]], ids=lambda r: str(r)[:20])
def test_it_never_falls(name, params, rules):
    for seed in range(2):
        X = rows(name, 80, np.random.default_rng(seed))
        model = make(name, params, constraints=rules, random_state=seed, n_iter=25, tol=-1)
        history = np.array(model.fit(X, [30, 20, 30]).monitor_.history)
        assert len(history) == 25
        assert (np.diff(history) > -1e-12 * np.abs(history[:-1])).all()


@each_case
@pytest.mark.parametrize("letters", ["s", "t", "emission", "m", "c"])
def test_it_never_falls_with_some_parameters_held(name, params, letters):
    letters = letters.replace("emission", "e" if name == "VariationalCategoricalHMM" else "mc")
    rng = np.random.default_rng(6)
    X = rows(name, 60, rng)
    model, _ = at_posteriors(name, params, rng, n_steps=60)
    before = posteriors(model)
    model.set_params(params=letters, n_iter=25, tol=-1).fit(X)
    history = np.array(model.monitor_.history)
    assert (np.diff(history) > -1e-9 * np.abs(history[1:])).all()
    after = posteriors(model)
    learned = {"s": "startprob_posterior_", "t": "transmat_posterior_"}
    for letter, attribute in learned.items():
        same = np.array_equal(before[attribute], after[attribute])
        assert same == (letter not in letters)


def test_draws_of_the_posterior_average_to_the_answers():
    """The expected parameters are those of the posterior."""
    rng = np.random.default_rng(7)
    model, X = at_posteriors(*CASES[0], rng)
    model.fit(X)
    drawn = dirichlet.rvs(model.transmat_posterior_[0], size=20_000, random_state=rng)
    np.testing.assert_allclose(drawn.mean(axis=0), model.transmat_[0], atol=0.02)
    np.testing.assert_allclose(model.emissionprob_.sum(axis=1), 1)
