"""Emissions, sequences, times and streams under any input."""

import copy
import itertools

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KernelDensity

from skchmm import ConstrainedHMM, InfeasibleSequenceError
from skchmm.constraints import Precedence
from skchmm.emissions import (
    GMM,
    Bernoulli,
    Categorical,
    ClassifierEmission,
    DensityEmission,
    Exponential,
    Gamma,
    Gaussian,
    LogNormal,
    Multinomial,
    NegativeBinomial,
    Poisson,
    Precomputed,
    Product,
    StudentT,
    VonMises,
    resolve,
)
from skchmm.sequences import (
    read_label_sequences,
    read_labels,
    read_sequences,
    read_step_weights,
    read_weights,
)
from skchmm.sequences.times import read_times

from .anything import anything, arrays, attempt, examples, frames, scalars, series

EMISSIONS = {
    "categorical": Categorical(),
    "categorical-ignore": Categorical(unseen="ignore"),
    "categorical-2": Categorical(2),
    "gaussian": Gaussian(),
    "gaussian-full": Gaussian("full"),
    "gaussian-tied": Gaussian("tied"),
    "gmm": GMM(2),
    "gmm-spherical": GMM(1, covariance_type="spherical"),
    "multinomial": Multinomial(),
    "poisson": Poisson(),
    "precomputed": Precomputed(),
    "classifier": ClassifierEmission(LogisticRegression()),
    "density": DensityEmission(KernelDensity()),
    "bernoulli": Bernoulli(),
    "exponential": Exponential(),
    "gamma": Gamma(),
    "lognormal": LogNormal(),
    "negative_binomial": NegativeBinomial(),
    "student_t": StudentT(),
    "von_mises": VonMises(),
    "product": Product({0: StudentT()}),
}
POSITIVE = ("exponential", "gamma", "lognormal")
each_emission = pytest.mark.parametrize("name", EMISSIONS)
tables = st.one_of(arrays(), frames(), series)


def check_frames(frames, n_steps, n_states):
    scores = frames.dense()
    assert scores.shape == (n_steps, n_states)
    assert not np.isnan(scores).any()
    assert not np.isposinf(scores).any()


@each_emission
@examples
@given(X=tables, other=tables, data=st.data())
def test_rows_of_any_kind(name, X, other, data):
    """An emission learns from rows and scores them and others, or says why it does not."""
    emission = copy.deepcopy(EMISSIONS[name])
    E = attempt(lambda: emission.encode(X, reset=True), X)
    assume(E is not None)
    n = len(X)
    y = np.array(data.draw(st.lists(st.integers(-1, 1), min_size=n, max_size=n)), dtype=int)
    n_states = emission.n_features_in_ if name == "precomputed" else 2
    y = np.minimum(y, n_states - 1)
    fitted = attempt(lambda: emission.fit_supervised(E, y, n_states, random_state=0), X, y)
    assume(fitted is not None)
    frames = attempt(lambda: emission.log_likelihood(E), X)
    assume(frames is not None)  # covariances that do not exist
    check_frames(frames, n, n_states)
    known = emission.__getstate__().copy()  # without what is only kept for the next call
    found = attempt(lambda: emission.encode(other, reset=False), other)
    assert emission.__getstate__().keys() == known.keys()
    if found is not None:
        frames = attempt(lambda: emission.log_likelihood(found), other)
        if frames is not None:
            check_frames(frames, len(other), n_states)
    attempt(lambda: emission.encode(X, reset=False))


@each_emission
@examples
@given(data=st.data())
def test_one_sequence_scores_the_same_in_a_batch(name, data):
    emission = copy.deepcopy(EMISSIONS[name])
    lengths = data.draw(st.lists(st.integers(1, 5), min_size=1, max_size=5))
    n, rng = sum(lengths), np.random.default_rng(data.draw(st.integers(0, 2**31)))
    n_columns = data.draw(st.integers(1, 3))
    gaps = rng.random((n, n_columns if name not in ("multinomial", "precomputed") else 1)) < 0.2
    if name in ("classifier", "density"):
        gaps = gaps[:, :1]  # other gaps are for their models to refuse
    if name.startswith("categorical"):
        X = rng.choice(np.array(["a", "b", "c", 1, None], dtype=object), size=(n, n_columns))
    elif name in ("multinomial", "poisson", "negative_binomial"):
        X = np.where(gaps, np.nan, rng.poisson(3, size=(n, n_columns)))
    elif name == "bernoulli":
        X = np.where(gaps, np.nan, rng.integers(2, size=(n, n_columns)))
    elif name in POSITIVE:
        X = np.where(gaps, np.nan, rng.gamma(1.0, 10.0 ** rng.integers(-5, 6), size=(n, n_columns)))
    else:
        X = np.where(gaps, np.nan, rng.normal(size=(n, n_columns)) * 10.0 ** rng.integers(-5, 6))
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    E = attempt(lambda: emission.encode(X, offsets, reset=True), X)
    n_states = n_columns if name == "precomputed" else 2
    y = rng.integers(0, n_states, size=n)
    fitted = attempt(
        lambda: emission.fit_supervised(E, y, n_states, offsets=offsets, random_state=0), X
    )
    assume(fitted is not None)  # too few rows for a model
    frames = emission.log_likelihood(E)
    check_frames(frames, n, n_states)
    for a, b in itertools.pairwise(offsets):
        alone = emission.encode(X[a:b], np.array([0, b - a]), reset=False)
        np.testing.assert_allclose(
            emission.log_likelihood(alone).dense(), frames.dense()[a:b], rtol=1e-9, atol=1e-9
        )


@examples
@given(kind=st.sampled_from([Categorical, Gaussian, GMM, Poisson, Multinomial]), data=st.data())
def test_parameters_of_any_kind(kind, data):
    parameters = [data.draw(anything) for _ in range({Gaussian: 2, GMM: 3}.get(kind, 1))]
    options = {}
    if kind is Categorical:
        options["symbols"] = data.draw(st.one_of(st.none(), anything))
        options["order"] = data.draw(st.sampled_from([0, 0, 1, 2, -1, 0.5, "a", None]))
    emission = attempt(lambda: kind.from_parameters(*parameters, **options), *parameters)
    if emission is not None:
        E = attempt(lambda: emission.encode(np.zeros((3, emission.n_features_in_)), reset=False))
        if E is not None:
            frames = attempt(lambda: emission.log_likelihood(E))
            assert frames is None or frames.n_steps == 3


@examples
@given(X=anything, lengths=st.one_of(st.none(), anything), groups=st.one_of(st.none(), anything))
def test_sequences_of_any_kind(X, lengths, groups):
    sequences = attempt(
        lambda: read_sequences(X, lengths=lengths, groups=groups), X, lengths, groups
    )
    if sequences is not None:
        offsets = sequences.offsets
        assert offsets[0] == 0
        assert offsets[-1] == len(sequences.X) == sequences.n_steps > 0
        assert (np.diff(offsets) > 0).all()
        emission = attempt(lambda: resolve("auto", sequences.X), X)
        assert emission is None or isinstance(emission, (Categorical, Gaussian, Product))


@examples
@given(X=st.sampled_from([np.zeros(4), [np.zeros(2), np.zeros(2)], np.zeros((3, 2))]), y=anything)
def test_labels_and_weights_of_any_kind(X, y):
    sequences = read_sequences(X)
    labels = attempt(lambda: read_labels(y, sequences), y)
    assert labels is None or labels.shape == (sequences.n_steps,)
    weights = attempt(lambda: read_step_weights(y, sequences), y)
    assert weights is None or (weights >= 0).all()
    attempt(lambda: read_weights(y, sequences), y)
    attempt(lambda: read_label_sequences(y), y)


@examples
@given(X=st.sampled_from([np.zeros(4), [np.zeros(2), np.zeros(2)]]), times=anything)
def test_times_of_any_kind(X, times):
    timed = attempt(lambda: read_times(times, read_sequences(X)), times)
    if timed is not None:
        assert timed.gaps.shape == (4,)
        assert np.isfinite(timed.gaps).all()
        assert (timed.gaps >= 0).all()


def streams():
    chain = [0.6, 0.3, 0.1], np.array([[0.8, 0.1, 0.1], [0.2, 0.7, 0.1], [0.3, 0.3, 0.4]])
    options = {"states": ["u", "v", "w"], "constraints": Precedence("u", "v")}
    yield ConstrainedHMM.from_parameters(*chain, **options), [-1.0, -2.0, -0.5]
    for emission, x in (
        (Categorical.from_parameters(np.full((3, 2), 0.5), symbols=["a", "b"]), "a"),
        (Categorical.from_parameters(np.full((3, 3, 2), 0.5), symbols=["b", "a"], order=1), "b"),
        (Gaussian.from_parameters(np.eye(3, 2), np.ones((3, 2))), [0.5, 0.0]),
        (Poisson.from_parameters([[1.0], [2.0], [3.0]]), 2),
    ):
        yield ConstrainedHMM.from_parameters(*chain, emission=emission, **options), x


@pytest.mark.parametrize(("model", "right"), list(streams()), ids=range(5))
@examples
@given(
    pushed=st.lists(
        st.one_of(scalars, arrays(max_side=4), st.lists(scalars, max_size=4)), max_size=6
    )
)
def test_observations_of_any_kind(model, right, pushed):
    """What is refused leaves no trace; what is taken gives probabilities."""
    stream, taken = model.stream(lag=1), []
    state = repr(model.emission_.__getstate__())
    for x in pushed:
        try:
            update = attempt(lambda x=x: stream.push(x), x)
        except InfeasibleSequenceError:
            continue
        if update is not None:
            taken.append(x)
            assert update.step == len(taken) - 1
            assert update.proba.sum() == pytest.approx(1)
    again = model.stream(lag=1)
    for x in taken:
        again.push(x)
    assert stream.push(right).proba == pytest.approx(again.push(right).proba)
    assert repr(model.emission_.__getstate__()) == state


@examples
@given(n_steps=st.one_of(scalars, st.integers(1, 4)), lag=st.one_of(scalars, st.integers(0, 3)))
def test_streams_of_any_length(n_steps, lag):
    model, right = next(streams())
    assume(not (isinstance(n_steps, int) and n_steps > 10**6))
    stream = attempt(lambda: model.stream(n_steps, lag=lag))
    if stream is not None:
        assert stream.push(right).step == 0
