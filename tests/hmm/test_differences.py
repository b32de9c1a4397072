"""What scripts written for hmmlearn do, and what they get here."""

import pickle

import numpy as np
import pytest

from skchmm import (
    ConstrainedHMM,
    CTConstrainedHMM,
    vhmm,  # noqa: F401
)
from skchmm import hmm as ours

from .cases import theirs

their_base = pytest.importorskip("hmmlearn.base")
their_variational = pytest.importorskip("hmmlearn.vhmm")

LENGTHS = [30, 20, 50]


def vectors():
    rng = np.random.default_rng(0)
    return rng.standard_normal((100, 2)) + 4 * rng.integers(2, size=(100, 1))


def both(make, X, *args, **params):
    fitted = []
    for module in (theirs, ours):
        model = make(module)(2, random_state=1, n_iter=3, tol=-1, **params)
        fitted.append(model.fit(X, *args))
    return fitted


class TestRows:
    def test_a_list_of_rows_is_rows(self):
        X = vectors()
        for rows in (list(X), [list(row) for row in X], tuple(X)):
            model = ours.GaussianHMM(2, random_state=0).fit(rows, LENGTHS)
            same = ours.GaussianHMM(2, random_state=0).fit(X, LENGTHS)
            np.testing.assert_array_equal(model.means_, same.means_)
            np.testing.assert_array_equal(model.predict(rows, LENGTHS), same.predict(X, LENGTHS))

    def test_a_list_of_symbols_in_arrays(self):
        symbols = np.random.default_rng(0).integers(3, size=60)
        rows = [np.array([symbol]) for symbol in symbols]
        fitted = [m.CategoricalHMM(2, random_state=0).fit(rows) for m in (theirs, ours)]
        np.testing.assert_allclose(fitted[1].transmat_, fitted[0].transmat_, atol=1e-6)
        assert len(fitted[1].predict(rows)) == 60

    def test_a_list_of_sequences_is_still_one(self):
        X = vectors()
        parts = np.split(X, np.cumsum(LENGTHS)[:-1])
        model = ours.GaussianHMM(2, random_state=0).fit(parts)
        same = ours.GaussianHMM(2, random_state=0).fit(X, LENGTHS)
        np.testing.assert_array_equal(model.means_, same.means_)
        assert [len(path) for path in model.predict(parts)] == LENGTHS
        symbols = [np.array([0, 1, 1]), np.array([1, 0])]
        assert len(ours.CategoricalHMM(2, random_state=0).fit(symbols).predict(symbols)) == 2


def sharpened(module):
    """Posteriors are changed before they are learned from."""

    class Sharpened(module.GaussianHMM):
        def _accumulate_sufficient_statistics(
            self, stats, X, lattice, posteriors, fwdlattice, bwdlattice
        ):
            posteriors = posteriors**2
            posteriors /= posteriors.sum(axis=1, keepdims=True)
            super()._accumulate_sufficient_statistics(
                stats, X, lattice, posteriors, fwdlattice, bwdlattice
            )

    return Sharpened


def lattices(module):
    """Learns transitions from the lattices themselves."""

    class Lattices(module.GaussianHMM):
        def _accumulate_sufficient_statistics(
            self, stats, X, lattice, posteriors, fwdlattice, bwdlattice
        ):
            super()._accumulate_sufficient_statistics(
                stats, X, lattice, posteriors, fwdlattice, bwdlattice
            )
            if self.implementation == "log":
                joint = fwdlattice + bwdlattice
                joint = np.exp(joint - joint.max(axis=1, keepdims=True))
            else:
                joint = fwdlattice * bwdlattice
            joint /= joint.sum(axis=1, keepdims=True)
            np.testing.assert_allclose(joint, posteriors, atol=1e-8)
            self.seen = [fwdlattice, bwdlattice]

    return Lattices


@pytest.mark.parametrize("implementation", ["log", "scaling"])
@pytest.mark.parametrize("make", [sharpened, lattices])
def test_statistics_by_sequence_are_those_of_hmmlearn(make, implementation):
    first, second = both(make, vectors(), LENGTHS, implementation=implementation)
    for name in ("startprob_", "transmat_", "means_"):
        np.testing.assert_allclose(getattr(second, name), getattr(first, name), atol=1e-7)
    if make is lattices:
        for one, other in zip(second.seen, first.seen):
            np.testing.assert_allclose(one, other, rtol=1e-7, atol=1e-9)


def test_there_are_no_lattices_under_rules():
    from skchmm.constraints import AtMostVisits

    class Seen(ours.GaussianHMM):
        def _accumulate_sufficient_statistics(self, stats, X, lattice, posteriors, fwd, bwd):
            assert fwd is None and bwd is None
            super()._accumulate_sufficient_statistics(stats, X, lattice, posteriors, fwd, bwd)

    X, rules = vectors(), AtMostVisits(0, 30)
    seen = Seen(2, random_state=0, n_iter=3, constraints=rules).fit(X, LENGTHS)
    same = ours.GaussianHMM(2, random_state=0, n_iter=3, constraints=rules).fit(X, LENGTHS)
    np.testing.assert_allclose(seen.transmat_, same.transmat_, atol=1e-10)
    np.testing.assert_allclose(seen.startprob_, same.startprob_, atol=1e-10)


def bounded(module):
    class Bounded(module.GaussianHMM):
        def _compute_lower_bound(self, curr_logprob):
            return 2 * super()._compute_lower_bound(curr_logprob)

    return Bounded


def own_estep(module):
    class Own(module.GaussianHMM):
        def _do_estep(self, X, lengths):
            stats, log_prob = super()._do_estep(X, lengths)
            stats["start"] += 1.0
            return stats, log_prob

    return Own


@pytest.mark.parametrize("make", [bounded, own_estep])
def test_steps_that_subclasses_override_are_called(make):
    first, second = both(make, vectors(), LENGTHS)
    np.testing.assert_allclose(list(second.monitor_.history), list(first.monitor_.history))
    np.testing.assert_allclose(second.startprob_, first.startprob_, atol=1e-8)


def test_decoders_that_subclasses_override_are_called():
    class Decoder(ours.GaussianHMM):
        def _decode_viterbi(self, X):
            log_prob, path = super()._decode_viterbi(X)
            return log_prob + 1.0, path[::-1]

    X = vectors()
    plain = ours.GaussianHMM(2, random_state=0).fit(X, LENGTHS)
    model = Decoder(2, random_state=0).fit(X, LENGTHS)
    log_prob, path = model.decode(X, LENGTHS)
    assert log_prob == pytest.approx(plain.decode(X, LENGTHS)[0] + len(LENGTHS))
    parts = np.split(plain.predict(X, LENGTHS), np.cumsum(LENGTHS)[:-1])
    np.testing.assert_array_equal(path, np.concatenate([part[::-1] for part in parts]))


@pytest.mark.parametrize("name", ["_fit_log", "_fit_scaling", "_score", "_score_log"])
def test_overrides_that_would_never_be_called_are_refused(name):
    with pytest.raises(TypeError, match=f"{name}.*never called"):
        type("Own", (ours.GaussianHMM,), {name: lambda self, X: None})


def test_attributes_of_subclasses_are_left_alone():
    class Own(ours.CategoricalHMM):
        def _decode(self, text):
            return text

    model = Own(2, random_state=0)
    model._labels, model._mined, model._monitor = "mine", "mine", "mine"
    model.fit(np.array([[0], [1], [1], [0]]))
    assert (model._labels, model._mined, model._monitor) == ("mine", "mine", "mine")
    assert model.predict([[0], [1]]).shape == (2,)


def test_likelihoods_of_parameters_set_by_hand():
    model = ours.CategoricalHMM(2)
    model.startprob_, model.transmat_ = np.array([0.5, 0.5]), np.full((2, 2), 0.5)
    model.emissionprob_ = np.array([[0.9, 0.1], [0.2, 0.8]])
    expected = np.log([[0.9, 0.2], [0.1, 0.8]])
    np.testing.assert_allclose(model._compute_log_likelihood(np.array([[0], [1]])), expected)


class TestNames:
    def test_names_have_a_home(self):
        from skchmm.hmm import base, stats, utils

        assert base._BaseHMM is ours.BaseHMM
        assert base.ConvergenceMonitor is ours.ConvergenceMonitor
        assert base.DECODER_ALGORITHMS == their_base.DECODER_ALGORITHMS
        from hmmlearn import stats as their_stats
        from hmmlearn import utils as their_utils

        rng = np.random.default_rng(0)
        for axis in (None, 0, 1):
            a, b = rng.random((2, 3, 4))
            b[:] = a
            utils.normalize(a, axis)
            their_utils.normalize(b, axis)
            np.testing.assert_allclose(a, b)
            a, b = np.log(a), np.log(b)
            utils.log_normalize(a, axis)
            their_utils.log_normalize(b, axis)
            np.testing.assert_allclose(a, b)
        X, means = rng.normal(size=(5, 2)), rng.normal(size=(3, 2))
        full = np.array([np.cov(rng.normal(size=(2, 20))) for _ in range(3)])
        covars = {"diag": rng.random((3, 2)) + 1, "spherical": rng.random(3) + 1,
                  "full": full, "tied": full[0]}  # fmt: skip
        for kind, covar in covars.items():
            np.testing.assert_allclose(
                stats.log_multivariate_normal_density(X, means, covar, kind),
                their_stats.log_multivariate_normal_density(X, means, covar, kind),
            )

    @pytest.mark.parametrize("name", ["GaussianHMM", "GMMHMM", "CategoricalHMM", "PoissonHMM"])
    def test_models_of_hmmlearn_are_taken_over(self, name, tmp_path):
        rng = np.random.default_rng(0)
        X = rng.integers(4, size=(80, 1))
        X = X if name in ("CategoricalHMM", "PoissonHMM") else X + rng.normal(size=(80, 2))
        other = getattr(theirs, name)(2, random_state=0, n_iter=3).fit(X)
        model = ours.from_hmmlearn(other)
        assert type(model) is getattr(ours, name)
        # of equally good paths hmmlearn may find another one
        assert model.decode(X)[0] == pytest.approx(other.decode(X)[0], abs=1e-6)
        assert model.score(X) == pytest.approx(other.score(X), abs=1e-6)
        again = ours.load_hmmlearn(pickle.dumps(other))
        assert again.decode(X)[0] == model.decode(X)[0]
        path = tmp_path / "model.pickle"
        path.write_bytes(pickle.dumps(other))
        assert ours.load_hmmlearn(path).score(X) == pytest.approx(model.score(X))

    @pytest.mark.parametrize("kind", ["spherical", "diag", "full", "tied"])
    @pytest.mark.parametrize("name", ["GaussianHMM", "GMMHMM", "VariationalGaussianHMM"])
    def test_covariances_of_hmmlearn_are_taken_over(self, name, kind):
        X = vectors()
        home = their_variational if name.startswith("V") else theirs
        other = getattr(home, name)(2, covariance_type=kind, random_state=0, n_iter=3).fit(X)
        for model in (ours.from_hmmlearn(other), ours.load_hmmlearn(pickle.dumps(other))):
            assert model.score(X) == pytest.approx(other.score(X), abs=1e-6)
            np.testing.assert_allclose(model.predict_proba(X), other.predict_proba(X), atol=1e-6)
            model.set_params(init_params="").fit(X)

    def test_other_objects_are_not_loaded(self):
        with pytest.raises(ValueError, match="hmmlearn"):
            ours.load_hmmlearn(pickle.dumps(pytest.approx))
        with pytest.raises(TypeError, match="hmmlearn"):
            ours.from_hmmlearn(object())


class TestMessages:
    def test_bad_lengths_are_called_lengths(self):
        X = vectors()
        for lengths in ([30, 20], [50, 51], [-1, 101], [0, 100]):
            with pytest.raises(ValueError, match="lengths"):
                ours.GaussianHMM(2).fit(X, lengths)

    def test_unseen_symbols_are_answered_in_terms_of_the_class(self):
        model = ours.CategoricalHMM(2, random_state=0).fit(np.array([[0], [1], [1]]))
        with pytest.raises(ValueError, match=r"n_features|unseen="):
            model.predict(np.array([[0], [5]]))

    def test_no_states(self):
        for n_components in (0, -1, 1.5, "two"):
            with pytest.raises(ValueError, match="n_components"):
                ours.GaussianHMM(n_components).fit(vectors())

    def test_parameters_that_do_not_fit(self):
        model = ours.GaussianHMM(2, random_state=0).fit(vectors())
        for wrong in (np.full((3, 3), 1 / 3), np.full((2, 2), np.nan)):
            model.transmat_ = wrong
            with pytest.raises(ValueError, match="transmat_"):
                model.predict(vectors())

    @pytest.mark.parametrize("kind", [object, np.float32, np.longdouble])
    def test_parameters_of_other_kinds(self, kind):
        model = ours.GaussianHMM(2, random_state=0).fit(vectors())
        expected = model.predict_proba(vectors())
        model.startprob_, model.transmat_ = (
            model.startprob_.astype(kind),
            model.transmat_.astype(kind),
        )
        np.testing.assert_allclose(model.predict_proba(vectors()), expected, atol=1e-5)
        model.startprob_ = np.array(["x", "y"])
        with pytest.raises(ValueError, match="startprob_ must be numbers"):
            model.predict(vectors())

    @pytest.mark.parametrize("y", [[0, "a"], [{0, "a"}, "a"]])
    def test_labels_of_different_types(self, y):
        """Sorted by type, as everywhere."""
        model = ours.GaussianHMM(2, random_state=0).fit(vectors()[:2], y)
        assert model.classes_.tolist() == [0, "a"]
        ours.CategoricalHMM(2, random_state=0).fit([[0], [1]], y)


def test_masked_trials_are_refused():
    with pytest.raises(ValueError, match="n_trials must be known"):
        ours.MultinomialHMM(2, n_trials=np.ma.masked).fit([[1, 2], [2, 1]])


@pytest.mark.parametrize("lengths", [[10.5, 19.5], [np.nan, 30], [[10, 20]], 30, "a"])
def test_lengths_that_are_none_are_called_lengths(lengths):
    X = np.zeros((30, 2))
    with pytest.raises(ValueError, match="must be lengths, whole numbers that sum to the 30 rows"):
        ours.GaussianHMM(2).fit(X, lengths)


def test_unknown_symbols_get_the_advice_of_this_class():
    model = ours.CategoricalHMM(1, random_state=0).fit(np.array([[0], [1], [0], [1], [1]]))
    with pytest.raises(ValueError, match="n_features=") as error:
        model.score(np.array([[7]]))
    assert "Categorical(" not in str(error.value)


@pytest.mark.parametrize("kind", [ours.GaussianHMM, ConstrainedHMM, CTConstrainedHMM])
def test_a_million_states_are_refused_in_words(kind):
    times = {"times": [0.0, 1.0]} if kind is CTConstrainedHMM else {}
    with pytest.raises(ValueError, match=r"1,000,000 states, but at most"):
        kind(10**6).fit(np.zeros((2, 1)), **times)


@pytest.mark.parametrize("n_samples", [0, -1, 2.0, None])
def test_numbers_of_draws_that_cannot_be(n_samples):
    model = ours.PoissonHMM(1, random_state=0).fit([[1], [2]])
    with pytest.raises(ValueError, match="n_samples must be a positive integer"):
        model.sample(n_samples)


def test_a_second_argument_of_lists_of_different_lengths():
    with pytest.raises(ValueError, match="The second argument must be lengths"):
        ours.GaussianHMM(1).fit([[1.0], [2.0]], [[], [None]])
