"""Pseudocounts and priors: EM climbs the posterior, and finds its maximum on small data."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import softmax, xlogy
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from skchmm import ConstrainedHMM, CTConstrainedHMM, HSMMDecoder
from skchmm.constraints import AtMostVisits, ForbiddenEdges, Precedence
from skchmm.emissions import GMM, Categorical, Gaussian, Multinomial, Poisson
from skchmm.emissions.priors import log_inverse_wishart
from tests.estimators.test_learning import assert_never_falls, sequences
from tests.oracles.enumeration import Enumeration

quiet = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def stepped(model, X, **options):
    """The model after one step of EM from the parameters that it has."""
    model.set_params(init="fitted", n_iter=1, tol=0)
    with pytest.warns(ConvergenceWarning):
        return model.fit(X, **options)


def dirichlet(added, p):
    return float(np.sum(xlogy(added, p)))


# ------------------------------------------------------------------------ discrete time
def test_one_step_adds_pseudocounts_to_expected_counts():
    """From all paths; excluded transitions get the pseudocounts alone, impossible ones nothing."""
    rng = np.random.default_rng(0)
    states, T, weights = [0, 1, 2], 5, [1.0, 2.0, 0.5]
    startprob, transmat = rng.dirichlet(np.ones(3)), rng.dirichlet(np.ones(3), size=3)
    transmat[2] = [0.4, 0.6, 0.0]
    B, X = rng.dirichlet(np.ones(2), size=3), [rng.integers(2, size=T) for _ in range(3)]
    rules = [AtMostVisits(1, 1), ForbiddenEdges([(0, 2)])]
    prior, start_prior = 1 + 3 * rng.random((3, 3)), np.array([1.0, 2.0, 4.0])
    model = ConstrainedHMM.from_parameters(
        startprob, transmat, constraints=rules, emission=Categorical.from_parameters(B, prior=1.25),
        smoothing=0.5, startprob_prior=start_prior, transmat_prior=prior,
    )  # fmt: skip
    stepped(model, X, sample_weight=weights)
    starts, transitions, symbols = np.zeros(3), np.zeros((3, 3)), np.zeros((3, 2))
    for x, w in zip(X, weights):
        truth = Enumeration(startprob, transmat, np.log(B.T[x]), states, rules)
        starts += w * truth.marginals()[0]
        transitions += w * truth.transitions()
        np.add.at(symbols.T, x, w * truth.marginals())
    assert transitions[0, 2] == 0
    starts += 0.5 + start_prior - 1
    transitions += (0.5 + prior - 1) * (transmat > 0)
    symbols += 0.75
    np.testing.assert_allclose(model.startprob_, starts / starts.sum())
    np.testing.assert_allclose(
        model.transmat_, transitions / transitions.sum(axis=1, keepdims=True)
    )
    np.testing.assert_allclose(
        model.emission_.probabilities_, symbols / symbols.sum(axis=1, keepdims=True)
    )
    assert model.transmat_[2, 2] == 0 and model.transmat_[0, 2] > 0


def test_history_is_the_posterior_and_score_the_likelihood():
    X, _ = sequences("categorical")
    start, trans = np.array([3.0, 1.0, 2.0]), 1.5
    model = ConstrainedHMM(
        3, smoothing=0.2, startprob_prior=start, transmat_prior=trans, random_state=0, n_iter=500,
    ).fit(X)  # fmt: skip
    prior = (
        dirichlet(start - 0.8, model.startprob_)
        + dirichlet(0.7, model.transmat_)
        + dirichlet(0.2, model.emission_.probabilities_)
    )
    assert model.score(X) == pytest.approx(model.log_likelihood(X).sum())
    assert model.history_[-1] == pytest.approx(model.score(X) + prior)
    plain = clone(model).set_params(smoothing=0, startprob_prior=1, transmat_prior=None).fit(X)
    assert plain.history_[-1] == pytest.approx(plain.score(X))


def test_em_finds_the_maximum_of_the_posterior():
    """From many starts, on small data, against a general optimiser of the same definition."""
    rng = np.random.default_rng(3)
    X, states = [rng.integers(2, size=4) for _ in range(3)], [0, 1]
    rules, trans = [AtMostVisits(1, 1)], np.array([[3.0, 1.0], [1.5, 2.0]])
    model = ConstrainedHMM(
        2, constraints=rules, smoothing=0.3, transmat_prior=trans, startprob_prior=2.0,
        n_init=15, n_iter=500, tol=1e-12, random_state=0,
    ).fit(X)  # fmt: skip

    def unpack(theta):
        return (
            softmax(theta[:2]),
            softmax(theta[2:6].reshape(2, 2), axis=1),
            softmax(theta[6:].reshape(2, 2), axis=1),
        )

    def objective(theta):
        pi, A, B = unpack(theta)
        value = dirichlet(1.3, pi) + dirichlet(trans - 0.7, A) + dirichlet(0.3, B)
        return -value - sum(Enumeration(pi, A, np.log(B.T[x]), states, rules).log_z for x in X)

    starts = [rng.normal(size=10) for _ in range(2)]
    best = min((minimize(objective, theta, method="BFGS") for theta in starts), key=lambda r: r.fun)
    assert model.history_[-1] == pytest.approx(-best.fun, abs=1e-5)
    pi, A, B = unpack(best.x)
    np.testing.assert_allclose(model.startprob_, pi, atol=2e-3)
    np.testing.assert_allclose(model.transmat_, A, atol=2e-3)
    np.testing.assert_allclose(model.emission_.probabilities_, B, atol=2e-3)


WITH_PRIORS = {
    "categorical": Categorical(prior=1.7),
    "columns": Categorical(prior=2.5),
    "order 1": Categorical(order=1, prior=1.2),
    "order 2": Categorical(order=2),
    "multinomial": Multinomial(prior=3.0),
    "poisson": Poisson(lambdas_prior=2.0, lambdas_weight=1.0),
    "precomputed": "precomputed",
    **{
        f"gaussian {c}": Gaussian(
            c, means_prior=1.0, means_weight=3.0, covars_prior=0.5, covars_weight=6.0
        )
        for c in ("spherical", "diag")
    },
    **{
        f"gaussian {c}": Gaussian(
            c, means_prior=1.0, means_weight=3.0, covars_prior=np.eye(2), covars_weight=6.0
        )
        for c in ("full", "tied")
    },
    "gmm diag": GMM(2, weights_prior=2.0, means_weight=2.0, covars_prior=1.5, covars_weight=0.8),
    "gmm spherical": GMM(2, covariance_type="spherical", covars_prior=1.5, covars_weight=0.8),
    **{
        f"gmm {c}": GMM(
            2, covariance_type=c, means_prior=0.5, means_weight=1.0, covars_prior=np.eye(2),
            covars_weight=4.0,
        )
        for c in ("full", "tied")
    },
}  # fmt: skip


@quiet
@pytest.mark.parametrize("name", WITH_PRIORS)
@pytest.mark.parametrize("labels", ["none", "some"])
@pytest.mark.parametrize("rules", [None, [Precedence(0, 1), AtMostVisits(1, 1)]])
def test_the_posterior_never_falls(name, labels, rules):
    kind = name.split()[0] if name.split()[0] != "order" else "categorical"
    X, y = sequences(kind, missing=True)
    if labels == "some":
        rng = np.random.default_rng(1)
        y = [np.where(rng.random(len(path)) < 0.3, path, -1) for path in y]
    weights = np.linspace(0.0, 2, len(X))
    model = ConstrainedHMM(
        3, states=[0, 1, 2], emission=WITH_PRIORS[name], constraints=rules, n_iter=15, tol=0,
        smoothing=0.8, transmat_prior=1.5, startprob_prior=[1, 2, 3], random_state=0,
    )  # fmt: skip
    model.fit(X, None if labels == "none" else y, sample_weight=weights)
    assert_never_falls(model.history_)
    if labels == "none":
        prior = model.emission_.log_prior(smoothing=0.8)
        prior += dirichlet([0.8, 1.8, 2.8], model.startprob_) + dirichlet(1.3, model.transmat_)
        total = model.log_likelihood(X) @ weights + prior
        assert model.history_[-1] == pytest.approx(total, rel=1e-9)
        assert name == "precomputed" or model.emission_.log_prior(smoothing=0.8) != 0


@pytest.mark.parametrize("covariance_type", ["spherical", "diag", "full", "tied"])
@pytest.mark.parametrize("kind", ["gaussian", "gmm"])
def test_parameters_of_gaussians_are_a_maximum_of_the_posterior(kind, covariance_type):
    """No small change of the fitted parameters raises likelihood and prior together."""
    X, _ = sequences(kind)
    matrix = covariance_type in ("full", "tied")
    prior = {"covars_prior": np.eye(2) if matrix else 1.5, "covars_weight": 5.0 if matrix else 2.0}
    given = {"covariance_type": covariance_type, "means_prior": 1.0, "means_weight": 2.0, **prior}
    emission = Gaussian(**given) if kind == "gaussian" else GMM(2, weights_prior=2.0, **given)
    model = ConstrainedHMM(2, emission=emission, n_iter=400, tol=1e-12, random_state=0).fit(X)
    found = model.emission_

    def posterior():
        return model.score(X) + found.log_prior(smoothing=0.5)

    best, rng = posterior(), np.random.default_rng(0)
    for name in ("means_", "covars_"):
        kept = getattr(found, name).copy()
        for _ in range(6):
            change = rng.normal(size=kept.shape) * 1e-3
            if name == "covars_" and matrix:
                change = (change + np.swapaxes(change, -1, -2)) / 2
            for sign in (1, -1):
                setattr(found, name, kept + sign * change)
                assert posterior() <= best + 1e-7
        setattr(found, name, kept)


def test_no_probability_is_zero_by_accident():
    rng = np.random.default_rng(0)
    X = [rng.choice(list("aabc"), size=30) for _ in range(3)]
    model = ConstrainedHMM(2, emission=Categorical(order=2), random_state=0, n_iter=300).fit(X)
    assert (model.emission_.probabilities_ > 0).all()
    assert (model.startprob_ > 0).all() and (model.transmat_ > 0).all()
    unheard = np.array(list("ccccbbbb"))
    assert np.isfinite(model.score([unheard]))
    for kind, given in (("multinomial", "multinomial"), ("categorical", "categorical")):
        X, _ = sequences(kind)
        model = ConstrainedHMM(3, emission=given, random_state=0).fit(X)
        assert (model.emission_.probabilities_ > 0).all()


def test_zeros_that_are_meant_stay():
    X, _ = sequences("categorical")
    fixed = np.array([[np.nan, np.nan, 0.0], [0.0, np.nan, np.nan], [0.0, 0.0, 1.0]])
    model = ConstrainedHMM(
        3, transmat_fixed=fixed, startprob_fixed=[1, 0, 0], transmat_prior=4.0, random_state=0
    ).fit(X)
    assert_never_falls(model.history_)
    given = ~np.isnan(fixed)
    np.testing.assert_array_equal(model.transmat_[given], fixed[given])
    assert (model.transmat_[~given] > 0).all() and model.startprob_.tolist() == [1, 0, 0]
    B = np.array([[0.5, 0.5, 0.0], [0.2, 0.3, 0.5], [0.3, 0.3, 0.4]])
    left_right = ConstrainedHMM.from_parameters(
        [1, 0, 0], [[0.6, 0.4, 0], [0, 0.5, 0.5], [0, 0, 1]], init="fitted",
        emission=Categorical.from_parameters(B, symbols=["x", "y", "z"]),
        constraints=AtMostVisits(1, 1), n_iter=20,
    ).set_params(tol=np.inf)  # fmt: skip
    X = [x for x in X if x[0] != "z"]
    left_right.fit(X)
    assert ((left_right.transmat_ == 0) == [[0, 0, 1], [1, 0, 0], [1, 1, 0]]).all()
    assert ((left_right.emission_.probabilities_ == 0) == (B == 0)).all()
    assert np.isfinite(left_right.history_).all()


def test_priors_in_the_labelled_fit():
    X = [np.array(list("xyx")), np.array(list("yy"))]
    y = [np.array(["a", "b", "b"]), np.array(["a", "a"])]
    prior = np.array([[4.0, 1.0], [1.0, 1.0]])
    model = ConstrainedHMM(smoothing=0.5, transmat_prior=prior, startprob_prior=2).fit(X, y)
    np.testing.assert_allclose(model.startprob_, [3.5 / 5, 1.5 / 5])
    np.testing.assert_allclose(model.transmat_, [[4.5 / 6, 1.5 / 6], [0.5 / 2, 1.5 / 2]])


def test_a_prior_keeps_what_is_known():
    X, _ = sequences("categorical")
    known = np.array([[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.3, 0.3, 0.4]])
    model = ConstrainedHMM(3, smoothing=0, n_iter=500, random_state=0)
    far = [
        np.abs(clone(model).set_params(transmat_prior=1 + n * known).fit(X).transmat_ - known).max()
        for n in (1e2, 1e4, 1e6)
    ]
    assert far[0] > far[1] > far[2] and far[2] < 1e-3


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"transmat_prior": np.ones((2, 2))}, r"transmat_prior has shape \(2, 2\); expected a num"),
        ({"startprob_prior": [1.0, 2.0]}, r"startprob_prior has shape \(2,\)"),
        ({"transmat_prior": np.nan}, "transmat_prior must be positive"),
        ({"startprob_prior": np.inf}, "startprob_prior must be positive"),
        ({"startprob_prior": 0.0}, "startprob_prior must be positive"),
        ({"transmat_prior": "flat"}, "transmat_prior"),
        ({"transmat_prior": 0.3}, "below 0.5 .* posterior has no maximum"),
        ({"emission": Categorical(prior=np.nan)}, "prior must be finite"),
    ],
)
@pytest.mark.parametrize("labelled", [True, False])
def test_what_is_no_prior(params, message, labelled):
    X, y = sequences("categorical")
    with pytest.raises(ValueError, match=message):
        ConstrainedHMM(3, **params).fit(X, y if labelled else None)


# ------------------------------------------------------------------------- other dynamics
@quiet
def test_segments_are_smoothed_in_em_too():
    X, _ = sequences("categorical")
    model = HSMMDecoder(12, n_states=3, n_iter=15, tol=0, random_state=0).fit(X)
    assert_never_falls(model.history_)
    off = ~np.eye(3, dtype=bool)
    assert (model.transmat_[off] > 0).all() and (model.emission_.probabilities_ > 0).all()
    prior = dirichlet(0.5, model.startprob_) + dirichlet(0.5, model.transmat_[off])
    prior += dirichlet(0.5, model.emission_.probabilities_)
    assert model.history_[-1] == pytest.approx(model.score(X) + prior)


def timed(seed=0):
    X, y = sequences("categorical", seed=seed)
    rng = np.random.default_rng(seed)
    return X, y, [np.cumsum(rng.exponential(size=len(x))) for x in X]


GENERATOR_PRIORS = {
    "none": None,
    "targets": 1 + np.array([[0, 2.0, 1], [1, 0, 0], [3, 1, 0]]),
    "rates": (np.array([[0, 2.0, 1], [1, 0, 1], [3, 1, 0]]), np.array([4.0, 2.0, 8.0])),
}


@quiet
@pytest.mark.parametrize("prior", GENERATOR_PRIORS)
@pytest.mark.parametrize("semantics", ["path", "observed", "masked"])
@pytest.mark.parametrize("labels", ["none", "some"])
def test_the_posterior_never_falls_in_continuous_time(prior, semantics, labels):
    X, y, times = timed()
    rng = np.random.default_rng(1)
    y = [np.where(rng.random(len(path)) < 0.3, path, -1) for path in y]
    model = CTConstrainedHMM(
        3, states=[0, 1, 2], semantics=semantics, constraints=ForbiddenEdges([(2, 0)]), clock=0.5,
        generator_prior=GENERATOR_PRIORS[prior], startprob_prior=1.5, n_iter=10, tol=0,
        generator_fixed=[[np.nan, np.nan, np.nan], [0.3, np.nan, np.nan], [np.nan, np.nan, np.nan]],
        random_state=0,
    )  # fmt: skip
    weights = np.linspace(0, 2, len(X))
    model.fit(X, None if labels == "none" else y, times=times, sample_weight=weights)
    assert_never_falls(model.history_)
    assert model.generator_[1, 0] == 0.3
    if labels == "none":
        Q = model.generator_
        free = [[(0, 1), (0, 2)], [(1, 2)], [(2, 0), (2, 1)]]
        if semantics == "masked":
            free[2] = [(2, 1)]
        value = dirichlet(1.0, model.startprob_) + dirichlet(0.5, model.emission_.probabilities_)
        for row in free:
            q = np.array([Q[pair] for pair in row])
            added = np.full(len(row), 0.5)
            if prior == "targets":
                added += [GENERATOR_PRIORS[prior][pair] - 1 for pair in row]
            value += dirichlet(added, q / q.sum())
            if prior == "rates":
                jumps, stays = GENERATOR_PRIORS[prior]
                value += dirichlet([jumps[pair] for pair in row], q) - stays[row[0][0]] * q.sum()
        total = model.log_likelihood(X, times) @ weights + value
        assert model.history_[-1] == pytest.approx(total, rel=1e-9)


@pytest.mark.parametrize("prior", GENERATOR_PRIORS)
def test_em_finds_the_maximum_of_the_posterior_in_continuous_time(prior):
    X, _, times = timed(2)
    X, times = [x[:8] for x in X], [t[:8] for t in times]
    B = np.array([[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]])
    log_b = [np.log(B[:, [list("xyz").index(c) for c in x]]).T for x in X]
    start = np.full((3, 3), 0.5) - 1.5 * np.eye(3)
    model = CTConstrainedHMM.from_parameters(
        np.ones(3) / 3, start, init="fitted", n_iter=400, tol=1e-11, smoothing=0.7,
        generator_prior=GENERATOR_PRIORS[prior], startprob_fixed=np.ones(3) / 3,
    ).fit(log_b, times=times)  # fmt: skip
    off = ~np.eye(3, dtype=bool)

    def posterior(rates):
        Q = np.zeros((3, 3))
        Q[off] = rates
        other = CTConstrainedHMM.from_parameters(np.ones(3) / 3, Q)
        value = other.log_likelihood(log_b, times).sum()
        added = np.full((3, 3), 0.7) * off
        if prior == "targets":
            added += (GENERATOR_PRIORS[prior] - 1) * off
        value += dirichlet(added, Q / Q.sum(axis=1, keepdims=True))
        if prior == "rates":
            jumps, stays = GENERATOR_PRIORS[prior]
            value += dirichlet(jumps, Q) - stays @ Q.sum(axis=1)
        return value

    best = minimize(lambda z: -posterior(np.exp(z)), np.log(start[off]), method="BFGS")
    assert model.history_[-1] == pytest.approx(-best.fun, abs=1e-5)
    np.testing.assert_allclose(model.generator_[off], np.exp(best.x), rtol=2e-2, atol=1e-3)


def test_what_is_no_prior_of_a_generator():
    X, y, times = timed()
    for prior, message in (
        (np.ones((2, 2)), r"generator_prior has shape \(2, 2\)"),
        ((np.ones((3, 3)), np.ones(2)), r"times of shape \(2,\)"),
        ((-np.ones((3, 3)), np.ones(3)), "negative"),
        ((np.full((3, 3), np.nan), np.ones(3)), "finite"),
        (0.1, "posterior has no maximum"),
    ):
        with pytest.raises(ValueError, match=message):
            CTConstrainedHMM(generator_prior=prior).fit(X, y, times=times)


def test_labels_are_learned_from_whatever_the_parameters_were():
    """Zeros stay zero in EM; a labelled fit with init="fitted" counts as any other does."""
    X, y = list("HTHTTH"), list("aabbab")
    sure = Categorical.from_parameters([[1.0, 0.0], [0.0, 1.0]], symbols=["H", "T"])
    model = ConstrainedHMM.from_parameters(
        [0.5, 0.5], np.full((2, 2), 0.5), states=["a", "b"], emission=sure, init="fitted"
    ).fit(X, y)
    expected = ConstrainedHMM().fit(X, y)
    np.testing.assert_array_equal(model.emission_.probabilities_, expected.emission_.probabilities_)
    assert (model.emission_.probabilities_ > 0).all()


def test_variances_that_fell_to_zero_have_no_density():
    assert log_inverse_wishart(np.ones(2), np.ones(2), np.array([1.0, 0.0])) == -np.inf
