"""Numbers of free parameters, and the criteria that charge for them."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from skchmm import ConstrainedHMM, CTConstrainedHMM, HSMMDecoder, TopologyMaskedHMM, hmm
from skchmm.constraints import ForbiddenEdges, NoReentry, StageMonotone, StartsIn
from skchmm.emissions import Poisson

RNG = np.random.default_rng(0)
X = RNG.poisson(3.0, size=(60, 1))
Y = np.repeat(["a", "b", "c"], 20)


def fitted(**options):
    return ConstrainedHMM(emission=Poisson(), **options).fit(X, Y)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, 2 + 6 + 3),
        ({"constraints": StartsIn("a")}, 0 + 6 + 3),
        ({"constraints": ForbiddenEdges([("a", "c"), ("c", "a")])}, 2 + (1 + 2 + 1) + 3),
        (
            {"constraints": StageMonotone([["a"], ["b"], ["c"]], allow_backward=False)},
            2 + (1 + 1 + 0) + 3,
        ),
        ({"startprob_fixed": [0.2, 0.3, 0.5]}, 0 + 6 + 3),
        ({"startprob_fixed": [0.2, np.nan, np.nan]}, 1 + 6 + 3),
        (
            {"transmat_fixed": [[0.0, np.nan, np.nan], [np.nan] * 3, [0.5, 0.5, 0.0]]},
            2 + (1 + 2 + 0) + 3,
        ),
        (
            {
                "transmat_fixed": [[0.1, np.nan, np.nan], [np.nan] * 3, [np.nan] * 3],
                "constraints": ForbiddenEdges([("a", "c")]),
            },
            2 + (0 + 2 + 2) + 3,
        ),
    ],
)
def test_free_parameters(options, expected):
    assert fitted(**options).n_parameters_ == expected


def test_criteria_are_what_they_say():
    model = fitted(constraints=NoReentry("b"))
    k, log_likelihood = model.n_parameters_, model.log_likelihood(X).sum()
    assert model.aic(X) == pytest.approx(-2 * log_likelihood + 2 * k)
    assert model.bic(X) == pytest.approx(-2 * log_likelihood + np.log(60) * k)
    assert model.icl(X) == pytest.approx(-2 * model.decode(X)[0] + np.log(60) * k)
    parts = model.bic([X[:30], X[30:]])
    assert parts == pytest.approx(model.bic(X, lengths=[30, 30]))


def test_other_models():
    times = np.arange(60.0)
    free = CTConstrainedHMM(emission=Poisson()).fit(X, Y, times=times)
    assert free.n_parameters_ == 2 + 6 + 3
    assert np.isfinite(free.aic(X, times=times))
    assert free.icl(X, times=times) >= free.bic(X, times=times)
    ruled = CTConstrainedHMM(emission=Poisson(), constraints=ForbiddenEdges([("a", "c")]))
    assert ruled.fit(X, Y, times=times).n_parameters_ == 2 + 5 + 3
    observed = CTConstrainedHMM(
        emission=Poisson(), constraints=ForbiddenEdges([("a", "c")]), semantics="observed"
    )
    assert observed.fit(X, Y, times=times).n_parameters_ == 2 + 6 + 3
    with pytest.raises(TypeError, match="times"):
        fitted().aic(X, times=times)
    semi = HSMMDecoder(emission=Poisson(), max_duration=30).fit(X, Y)
    assert semi.n_parameters_ == 2 + 3 + 3 * 29 + 3
    short = HSMMDecoder(emission=Poisson(), max_duration=30, duration="poisson").fit(X, Y)
    assert short.n_parameters_ == 2 + 3 + 3 + 3
    assert np.isfinite(short.icl(X))
    masked = TopologyMaskedHMM(emission=Poisson(), constraints=ForbiddenEdges([("a", "c")]))
    assert masked.fit(X, Y).n_parameters_ == 2 + 5 + 3


def test_hmmlearn_names_agree_with_their_own_count():
    model = hmm.PoissonHMM(2, n_iter=5, tol=10.0, random_state=0).fit(X)
    assert model.n_parameters_ == 1 + 2 + 2
    assert model.bic(X) == pytest.approx(-2 * model.score(X) + np.log(60) * 5)
    assert model.icl(X, [30, 30]) >= model.bic(X, [30, 30])


def test_a_classifier_has_no_number_of_parameters():
    model = ConstrainedHMM(emission=LogisticRegression()).fit(X.astype(float), Y)
    with pytest.raises(ValueError, match="no AIC or BIC"):
        model.aic(X.astype(float))


def test_known_labels_count():
    """What was known when the model was fitted belongs to its likelihood."""
    model = fitted()
    known = [None] * 30 + [{"a", "b"}] * 10 + ["c"] * 20
    log_likelihood = model.log_likelihood(X, known=known).sum()
    k = model.n_parameters_
    assert model.aic(X, known=known) == pytest.approx(-2 * log_likelihood + 2 * k)
    assert model.bic(X, known=known) == pytest.approx(-2 * log_likelihood + np.log(60) * k)
    best = model.decode(X, known=known)[0]
    assert model.icl(X, known=known) == pytest.approx(-2 * best + np.log(60) * k)
    times = np.arange(60) * 0.7
    timed = CTConstrainedHMM(emission=Poisson(), states=["a", "b", "c"], n_iter=3, tol=np.inf)
    timed.fit(X, known, times=times)
    expected = -2 * timed.log_likelihood(X, times, known=known).sum() + 2 * timed.n_parameters_
    assert timed.aic(X, times=times, known=known) == pytest.approx(expected)
