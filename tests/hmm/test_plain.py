"""Where nothing is overridden, EM takes shorter steps; they learn the same."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from skchmm import hmm

MODELS = {
    "GaussianHMM": {"covariance_type": "diag"},
    "GMMHMM": {"n_mix": 2},
    "CategoricalHMM": {},
    "PoissonHMM": {},
    "MultinomialHMM": {"n_trials": 10},
}


def rows_of(name, rng, n):
    if name == "CategoricalHMM":
        return rng.integers(0, 4, size=(n, 1))
    if name == "PoissonHMM":
        return rng.poisson(3, size=(n, 2))
    if name == "MultinomialHMM":
        return rng.multinomial(10, [0.2, 0.3, 0.5], size=n)
    return np.concatenate([rng.normal(k, 1, size=(n // 2, 2)) for k in (0, 3)])


def fitted(name, X, lengths, plain, **options):
    made = getattr(hmm, name)(3, random_state=0, n_iter=6, tol=-np.inf, **options)
    made._takes_plain_steps = plain
    return made.fit(X, lengths)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("lengths", [None, [30, 10]])
@pytest.mark.parametrize("name", MODELS)
def test_the_same_is_learned(name, lengths):
    X = rows_of(name, np.random.default_rng(0), 40)
    letters = "".join(getattr(hmm, name)._emission_parameters)
    for params in ("st" + letters, "t" + letters[:1], "s"):
        for implementation in ("log", "scaling"):
            first, second = (
                fitted(name, X, lengths, plain, params=params, implementation=implementation,
                       **MODELS[name])
                for plain in (True, False)
            )  # fmt: skip
            for attribute in first._learned_names():
                assert_allclose(
                    getattr(first, attribute), getattr(second, attribute), rtol=1e-9, atol=1e-12
                )
            assert_allclose(first.history_, second.history_, rtol=1e-12)


def test_zeros_stay_and_new_ones_are_noticed():
    X = np.array([0, 0, 1, 1, 0, 1, 2, 2, 2, 2])[:, None]
    for plain in (True, False):
        made = hmm.CategoricalHMM(3, init_params="", n_iter=30, tol=-np.inf)
        made._takes_plain_steps = plain
        made.startprob_ = np.array([1.0, 0.0, 0.0])
        made.transmat_ = np.array([[0.5, 0.5, 0.0], [0.0, 0.5, 0.5], [0.0, 1e-300, 1.0]])
        made.emissionprob_ = np.array([[0.6, 0.4, 0.0], [0.4, 0.5, 0.1], [0.0, 0.1, 0.9]])
        made.fit(X)
        assert made.transmat_[0, 2] == made.transmat_[1, 0] == 0
        if plain:
            expected = made.transmat_
    assert_allclose(made.transmat_, expected, atol=1e-12)


def test_a_parameter_that_is_a_property():
    class Slow(hmm.CategoricalHMM):
        """Stays with a probability of at least one half."""

        @property
        def transmat_(self):
            return self._transmat

        @transmat_.setter
        def transmat_(self, given):
            self._transmat = np.asarray(given) * 0.5 + 0.5 * np.eye(len(given))

    X = np.random.default_rng(0).integers(0, 3, size=(50, 1))
    made = Slow(2, random_state=0, n_iter=5).fit(X)
    assert (np.diagonal(made.transmat_) >= 0.5).all()


def test_models_of_one_size_share_no_names():
    X = np.random.default_rng(0).integers(0, 3, size=(50, 1))
    first = hmm.CategoricalHMM(2, states=["a", "b"], random_state=0).fit(X)
    second = hmm.CategoricalHMM(2, states=["c", "d"], random_state=0).fit(X)
    assert list(first.graph_.controller.states) == ["a", "b"]
    assert list(second.graph_.controller.states) == ["c", "d"]
    with pytest.raises(ValueError, match="read-only"):
        first.graph_.sources[0] = 1
