import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from skchmm import ConstrainedHMM, PostHocFilter
from skchmm.constraints import AtLeastVisits, EndsIn, ExactVisits
from tests.decoders.cases import STATES, labels, random_parameters, toy
from tests.oracles.enumeration import Enumeration
from tests.oracles.predicates import holds
from tests.oracles.strategies import constraint_lists


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 10**6), constraint_lists(STATES, max_size=2), st.integers(1, 5),
    st.integers(1, 20),
)  # fmt: skip
def test_first_feasible_in_the_sorted_list(seed, constraints, n_steps, n_candidates):
    rng = np.random.default_rng(seed)
    start, trans = random_parameters(rng)
    X = rng.normal(size=(n_steps, 3))
    try:
        model = PostHocFilter.from_parameters(
            start, trans, states=STATES, constraints=constraints, n_candidates=n_candidates
        )
    except ValueError:
        assume(False)  # constraints that exclude each other
    truth = Enumeration(start, trans, X, STATES)
    order = np.argsort(-truth.log_weights)[:n_candidates]
    good = [k for k, i in enumerate(order) if holds(constraints, labels(truth.paths[i]))]
    chosen = good[0] if good else 0
    log_prob, path = model.decode(X)
    np.testing.assert_allclose(log_prob, truth.log_weights[order[chosen]], rtol=1e-12)
    assert path.tolist() == labels(truth.paths[order[chosen]])
    assert model.n_examined_.tolist() == [chosen + 1 if good else len(order)]
    assert model.n_feasible_ == bool(good)
    np.testing.assert_allclose(model.predict_proba(X), truth.marginals(), atol=1e-12)


def test_many_sequences_each_on_its_own():
    X, y = toy(20)
    model = PostHocFilter(constraints=[EndsIn("c"), ExactVisits("a", 1)]).fit(X, y)
    together = model.predict(X)
    examined = model.n_examined_
    assert len(examined) == 20
    alone, counts = [], []
    for x in X:
        alone.append(model.predict([x])[0])
        counts.append(model.n_examined_[0])
    assert counts == examined.tolist()
    assert all((a == b).all() for a, b in zip(together, alone))


def test_no_constraints_is_viterbi():
    X, y = toy()
    model = PostHocFilter().fit(X, y)
    expected = ConstrainedHMM().fit(X, y).predict(X)
    assert all((a == b).all() for a, b in zip(model.predict(X), expected))
    assert model.n_examined_.tolist() == [1] * len(X)


def test_gives_up_with_the_best_path():
    X, y = toy()
    model = PostHocFilter(3, constraints=AtLeastVisits("a", 4)).fit(X, y)
    expected = ConstrainedHMM().fit(X, y).predict(X)
    assert all((a == b).all() for a, b in zip(model.predict(X), expected))
    assert model.n_examined_.tolist() == [3] * len(X)
    assert model.n_feasible_ == 0


def test_n_examined_is_unknown_before_predict():
    X, y = toy()
    model = PostHocFilter(constraints=EndsIn("c")).fit(X, y)
    assert not hasattr(model, "n_examined_")
    assert not hasattr(PostHocFilter(), "n_examined_")


@pytest.mark.parametrize("bad", [0, -1, 1.5, None])
def test_bad_number_of_candidates(bad):
    X, y = toy()
    with pytest.raises(ValueError, match="n_candidates must be an integer >= 1"):
        PostHocFilter(bad).fit(X, y)
