"""Random models learn the same posteriors as hmmlearn's, and give the same answers."""

import logging
import pickle

import numpy as np
import pytest

from skchmm import hmm, vhmm

from .cases import CASES, IDS, KINDS, posteriors, rows

theirs = pytest.importorskip("hmmlearn.vhmm")
logging.getLogger("hmmlearn").setLevel(logging.ERROR)
pytestmark = [
    pytest.mark.filterwarnings("ignore::RuntimeWarning:hmmlearn"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning:hmmlearn"),
]
LENGTHS = [40, 1, 25, 54]
each_case = pytest.mark.parametrize(("name", "params"), CASES, ids=IDS)


def pair(name, params, n_components=3, seed=0, **more):
    X = rows(name, sum(LENGTHS), np.random.default_rng(seed))
    options = {"random_state": seed, "n_iter": 12, "tol": -1, **params, **more}
    made = [getattr(module, name)(n_components, **options) for module in (theirs, vhmm)]
    return *made, X


def assert_same(first, second, atol=1e-6):
    for name, value in posteriors(first).items():
        np.testing.assert_allclose(
            getattr(second, name), value, rtol=0, atol=atol, err_msg=name
        )  # fmt: skip
    np.testing.assert_allclose(second.startprob_, first.startprob_, atol=1e-8)
    np.testing.assert_allclose(second.transmat_, first.transmat_, atol=1e-8)
    assert second.monitor_.iter == first.monitor_.iter
    # a start that is next to zero is less so here, which the first bound alone shows
    np.testing.assert_allclose(
        list(second.monitor_.history)[1:], list(first.monitor_.history)[1:], rtol=1e-8
    )


@each_case
@pytest.mark.parametrize("implementation", ["log", "scaling"])
def test_fit_from_the_same_seed(name, params, implementation):
    for seed in (0, 1):
        first, second, X = pair(name, params, seed=seed, implementation=implementation)
        first.fit(X, LENGTHS)
        second.fit(X, LENGTHS)
        assert_same(first, second)


@each_case
def test_fit_from_the_same_generator_until_it_converges(name, params):
    first, second, X = pair(name, params, n_components=4, n_iter=60, tol=1e-3)
    for model in (first, second):
        model.set_params(random_state=np.random.RandomState(3)).fit(X, LENGTHS)
    assert_same(first, second, atol=1e-5)
    assert second.monitor_.converged == first.monitor_.converged


@each_case
def test_answers(name, params):
    first, second, X = pair(name, params)
    first.fit(X, LENGTHS)
    second.fit(X, LENGTHS)
    assert second.score(X, LENGTHS) == pytest.approx(first.score(X, LENGTHS), rel=1e-9)
    np.testing.assert_allclose(
        second.predict_proba(X, LENGTHS), first.predict_proba(X, LENGTHS), atol=1e-7
    )
    for algorithm in ("viterbi", "map"):
        (value, path), (other, expected) = (
            model.decode(X, LENGTHS, algorithm) for model in (second, first)
        )
        assert value == pytest.approx(other, rel=1e-8)
        assert np.mean(path == expected) > 0.8  # of equally good paths either may be found
    drawn, states = second.sample(30, random_state=1)
    expected, their_states = first.sample(30, random_state=1)
    np.testing.assert_array_equal(states, their_states)
    np.testing.assert_allclose(drawn, expected)


@each_case
def test_priors_that_are_given(name, params):
    rng = np.random.default_rng(5)
    priors = {"startprob_prior": rng.uniform(0.5, 2, 3), "transmat_prior": 0.7}
    if name == "VariationalCategoricalHMM":
        priors["emissionprob_prior"] = 1.3
    else:
        kind = params["covariance_type"]
        priors["means_prior"] = rng.normal(size=(3, 2))
        priors["beta_prior"] = rng.uniform(0.5, 2, 3)
        priors["dof_prior"] = 3.5 if kind == "tied" else rng.uniform(2, 5, 3)
        priors["scale_prior"] = {
            "full": np.repeat(np.eye(2)[None], 3, axis=0), "tied": 2 * np.eye(2),
            "diag": np.full((3, 2), 0.5), "spherical": np.full(3, 0.5),
        }[kind]  # fmt: skip
    first, second, X = pair(name, params | priors)
    first.fit(X, LENGTHS)
    second.fit(X, LENGTHS)
    assert_same(first, second)


@each_case
def test_some_letters_alone(name, params):
    for letters in ("s", "t", "e" if name == "VariationalCategoricalHMM" else "m", "st"):
        first, second, X = pair(name, params, n_iter=4)
        first.fit(X, LENGTHS)
        second.fit(X, LENGTHS)
        for model in (first, second):
            model.set_params(params=letters, init_params="").fit(X, LENGTHS)
        assert_same(first, second)


@each_case
def test_models_of_hmmlearn_are_taken_over(name, params):
    first, _, X = pair(name, params, n_iter=5)
    first.fit(X, LENGTHS)
    taken = [hmm.from_hmmlearn(first), hmm.load_hmmlearn(pickle.dumps(first))]
    for model in taken:
        assert type(model) is getattr(vhmm, name)
        assert model.score(X, LENGTHS) == pytest.approx(first.score(X, LENGTHS), abs=1e-7)
    for model in (first, *taken):  # all go on from there
        model.set_params(init_params="").fit(X, LENGTHS)
        np.testing.assert_allclose(model.transmat_, first.transmat_, atol=1e-7)


def test_scalars_per_letter():
    for kind in KINDS:
        first, second, X = pair("VariationalGaussianHMM", {"covariance_type": kind})
        first.fit(X)
        second.fit(X)
        expected = first._get_n_fit_scalars_per_param()
        assert second._get_n_fit_scalars_per_param() == expected
