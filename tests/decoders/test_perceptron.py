from itertools import product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.utils import check_random_state

from skchmm import (
    InfeasibleSequenceError,
    NotEnforcedWarning,
    PerceptronCRF,
    satisfies,
)
from skchmm.constraints import AtLeastVisits, EndsIn, ExactVisits, Precedence
from tests.decoders.cases import STATES, labels, toy
from tests.oracles.perceptron import path_score, train
from tests.oracles.predicates import holds
from tests.oracles.strategies import constraint_lists


def random_problem(rng, n=5, longest=4, S=3):
    lengths = rng.integers(1, longest + 1, n)
    X = [rng.integers(0, 4, length) for length in lengths]
    y = [rng.integers(0, S, length) for length in lengths]
    y[0][0], y[1][0], y[2][0] = 0, 1, 2
    return X, y


def transcribed(model, X, y, steps):
    """The slow transcription on the same sequences, in the same orders."""
    rng = check_random_state(model.random_state)
    orders = [rng.permutation(len(X)) for _ in range(model.n_epochs)]
    codes = [[model.classes_.tolist().index(label) for label in path] for path in y]
    return train(list(zip(steps, codes)), orders, len(model.classes_))


def check_weights(model, weights, names):
    S = len(model.classes_)
    for i in range(S):
        np.testing.assert_allclose(model.start_weights_[i], weights["start", i], atol=1e-9)
        for j in range(S):
            np.testing.assert_allclose(
                model.transition_weights_[i, j], weights["transition", i, j], atol=1e-9
            )
    for row, name in enumerate(names):
        for i in range(S):
            np.testing.assert_allclose(
                model.feature_weights_[row, i], weights["feature", name, i], atol=1e-9
            )


class TestTraining:
    @settings(max_examples=25, deadline=None)
    @given(st.integers(0, 10**6), st.integers(1, 4))
    def test_symbols(self, seed, n_epochs):
        X, y = random_problem(np.random.default_rng(seed))
        model = PerceptronCRF(n_epochs, random_state=seed).fit(X, y)
        weights, wrong = transcribed(model, X, y, [[{str(v): 1.0} for v in x] for x in X])
        check_weights(model, weights, model.feature_names_)
        assert model.history_ == wrong

    @pytest.mark.parametrize("seed", range(4))
    def test_numbers(self, seed):
        rng = np.random.default_rng(seed)
        _, y = random_problem(rng)
        X = [np.round(rng.normal(size=(len(path), 2)), 3) for path in y]
        model = PerceptronCRF(3, random_state=seed).fit(X, y)
        steps = [[{"x0": a, "x1": b} for a, b in x] for x in X]
        check_weights(model, transcribed(model, X, y, steps)[0], ["x0", "x1"])

    def test_dictionaries(self):
        rng = np.random.default_rng(0)
        _, y = random_problem(rng)
        X = [
            [{"word": str(rng.choice(list("pqr"))), "size": float(rng.integers(3)), "up": True}
             for _ in path]
            for path in y
        ]  # fmt: skip
        model = PerceptronCRF(3, random_state=1).fit(X, y)
        steps = [[{f"word={d['word']}": 1.0, "size": d["size"], "up": 1.0} for d in x] for x in X]
        check_weights(model, transcribed(model, X, y, steps)[0], model.feature_names_)

    def test_mixed_columns(self):
        X, y = toy()
        rng = np.random.default_rng(0)
        X = [pd.DataFrame({"symbol": x, "number": rng.normal(size=len(x))}) for x in X]
        model = PerceptronCRF(random_state=0).fit(X, y)
        assert model.feature_names_ == ["symbol=A", "symbol=B", "symbol=C", "number"]
        assert model.score(X, y) > 0.9

    def test_weights_scale_the_corrections(self):
        X, y = toy()
        one = PerceptronCRF(1, shuffle=False).fit(X[:1], y[:1])
        three = PerceptronCRF(1, shuffle=False).fit(X[:1], y[:1], sample_weight=[3.0])
        np.testing.assert_allclose(three.feature_weights_, 3 * one.feature_weights_)
        half = PerceptronCRF(1, shuffle=False).fit(X[:2], y[:2], sample_weight=[1.0, 0.0])
        np.testing.assert_allclose(half.feature_weights_, one.feature_weights_)

    def test_same_seed_same_weights(self):
        X, y = toy()
        first = PerceptronCRF(random_state=3).fit(X, y)
        np.testing.assert_array_equal(
            PerceptronCRF(random_state=3).fit(X, y).feature_weights_, first.feature_weights_
        )

    def test_learns(self):
        X, y = toy(40)
        model = PerceptronCRF(random_state=0).fit(X, y)
        assert model.score(X, y) > 0.93
        assert model.history_[-1] < model.history_[0]


def slow_inference(model, steps, constraints):
    """All feasible paths and their scores, from the weights by name."""
    weights = {("start", i): model.start_weights_[i] for i in range(3)}
    for i, j in product(range(3), repeat=2):
        weights["transition", i, j] = model.transition_weights_[i, j]
        for row, name in enumerate(model.feature_names_):
            weights["feature", name, i] = model.feature_weights_[row, i]
    paths = [
        path for path in product(range(3), repeat=len(steps)) if holds(constraints, labels(path))
    ]
    return paths, np.array([path_score(weights, steps, path) for path in paths])


class TestInference:
    @settings(max_examples=60, deadline=None)
    @given(
        st.integers(0, 10**6), constraint_lists(STATES, max_size=2), st.integers(1, 5),
        st.sampled_from([1.0, 300.0]),
    )  # fmt: skip
    def test_enforced_constraints(self, seed, constraints, n_steps, scale):
        rng = np.random.default_rng(seed)
        X, y = toy(4, seed)
        model = PerceptronCRF(3, random_state=0, constraints=constraints, enforce=True)
        try:
            model.fit(X, y)
        except ValueError as error:
            assert "satisf" in str(error)
            return
        model.start_weights_ *= scale  # weights of any size
        model.transition_weights_ = rng.normal(size=(3, 3)) * scale
        model.feature_weights_ *= scale
        model._chains.clear()
        x = rng.choice(["A", "B", "C"], n_steps)
        paths, scores = slow_inference(model, [{v: 1.0} for v in x], constraints)
        if not paths:
            with pytest.raises(InfeasibleSequenceError):
                model.predict(x)
            return
        score, path = model.decode(x)
        np.testing.assert_allclose(score, scores.max(), rtol=1e-9, atol=1e-9)
        assert holds(constraints, path.tolist())
        posterior = np.exp(scores - np.logaddexp.reduce(scores))
        marginals = np.zeros((n_steps, 3))
        for each, p in zip(paths, posterior):
            marginals[np.arange(n_steps), list(each)] += p
        np.testing.assert_allclose(model.predict_proba(x), marginals, atol=1e-10)
        _, free = slow_inference(model, [{v: 1.0} for v in x], [])
        np.testing.assert_allclose(
            model.log_feasibility(x),
            np.logaddexp.reduce(scores) - np.logaddexp.reduce(free),
            atol=1e-8,
        )

    def test_not_enforced_says_so_once(self):
        X, y = toy()
        with pytest.warns(NotEnforcedWarning, match="enforce=True") as caught:
            model = PerceptronCRF(constraints=EndsIn("a"), random_state=0).fit(X, y)
        assert len(caught) == 1
        assert model.not_enforced_ == [EndsIn("a")]
        free = PerceptronCRF(random_state=0).fit(X, y)
        assert all((a == b).all() for a, b in zip(model.predict(X), free.predict(X)))

    def test_enforced_on_many_sequences(self):
        X, y = toy(20)
        rules = [ExactVisits("b", 2), EndsIn("c"), Precedence("c", "a")]
        model = PerceptronCRF(constraints=rules, enforce=True, random_state=0).fit(X, y)
        assert all(satisfies(path.tolist(), rules, STATES) for path in model.predict(X))
        two = model.with_constraints(EndsIn("a"))
        assert all(path[-1] == "a" for path in two.predict(X))

    @pytest.mark.parametrize("algorithm", ["posterior", "mea", "map"])
    def test_other_algorithms(self, algorithm):
        X, y = toy()
        rule = AtLeastVisits("a", 2)
        model = PerceptronCRF(constraints=rule, enforce=True, algorithm=algorithm, random_state=0)
        paths = model.fit(X, y).predict(X)
        if algorithm != "map":
            assert all(satisfies(path.tolist(), rule, STATES) for path in paths)
        else:
            best = [p.argmax(axis=1) for p in model.predict_proba(X)]
            assert [path.tolist() for path in paths] == [labels(p) for p in best]

    def test_kbest_are_the_best_scores(self):
        X, y = toy()
        model = PerceptronCRF(random_state=0).fit(X, y)
        x = np.array(["A", "B", "C", "A"])
        scores = np.sort(slow_inference(model, [{v: 1.0} for v in x], [])[1])[::-1]
        found = model.kbest(x, 10)
        np.testing.assert_allclose([score for score, _ in found], scores[:10])


class TestFeatures:
    def test_what_is_unknown_or_missing_has_no_weight(self):
        X, y = toy()
        model = PerceptronCRF(random_state=0).fit(X, y)
        bare = model.decode(np.array(["?", "B"], dtype=object))
        missing = model.decode(np.array([None, "B"], dtype=object))
        assert bare[0] == missing[0]

    def test_missing_numbers(self):
        rng = np.random.default_rng(0)
        X, y = rng.normal(size=(20, 2)), rng.integers(0, 2, 20)
        model = PerceptronCRF(random_state=0).fit(X, y)
        zero, nan = X.copy(), X.copy()
        zero[3], nan[3] = 0.0, np.nan
        assert model.decode(zero)[0] == model.decode(nan)[0]
        with pytest.raises(ValueError, match="infinity"):
            model.predict(np.where(np.isnan(nan), np.inf, nan))

    def test_integers_are_symbols_unless_told_otherwise(self):
        X, y = np.array([[5], [9], [5]]), np.array([0, 1, 0])
        assert PerceptronCRF().fit(X, y).feature_names_ == ["x0=5", "x0=9"]
        assert PerceptronCRF(features="numeric").fit(X, y).feature_names_ == ["x0"]
        assert PerceptronCRF(features="symbols").fit(X / 2, y).feature_names_ == [
            "x0=2.5", "x0=4.5",
        ]  # fmt: skip

    def test_dictionaries_in_all_forms(self):
        X, y = toy(4)
        X = [[{"s": str(v)} for v in x] for x in X]
        lengths = [len(x) for x in X]
        flat, path = [step for x in X for step in x], np.concatenate(y)
        groups = np.repeat(np.arange(4), lengths)
        listed = PerceptronCRF(random_state=0).fit(X, y)
        expected = np.concatenate(listed.predict(X))
        for kind in ({"lengths": lengths}, {"groups": groups}):
            model = PerceptronCRF(random_state=0).fit(flat, path, **kind)
            np.testing.assert_array_equal(model.predict(flat, **kind), expected)
            as_array = np.array(flat, dtype=object)
            np.testing.assert_array_equal(model.predict(as_array, **kind), expected)

    def test_dictionaries_and_columns_do_not_mix(self):
        X, y = toy()
        columns = PerceptronCRF().fit(X, y)
        with pytest.raises(ValueError, match="fit saw columns"):
            columns.predict([{"s": "A"}])
        dictionaries = PerceptronCRF().fit([[{"s": str(v)} for v in x] for x in X], y)
        with pytest.raises(ValueError, match="must be a dictionary"):
            dictionaries.predict(X)
        with pytest.raises(ValueError, match="NaN or infinite"):
            dictionaries.predict([{"s": np.nan}])


class TestErrors:
    @pytest.mark.parametrize(
        "params, message",
        [
            ({"n_epochs": 0}, "n_epochs must be an integer >= 1"),
            ({"features": "words"}, "features must be one of"),
            ({"algorithm": "beam"}, "algorithm must be one of"),
            ({"on_infeasible": "ignore"}, "on_infeasible must be one of"),
        ],
    )
    def test_bad_parameters(self, params, message):
        X, y = toy()
        with pytest.raises(ValueError, match=message):
            PerceptronCRF(**params).fit(X, y)

    def test_labels_are_needed(self):
        X, y = toy()
        with pytest.raises(ValueError, match="requires y"):
            PerceptronCRF().fit(X, None)
        partly = [path.astype(object) for path in y]
        partly[0][2] = None
        with pytest.raises(ValueError, match="no label in row 2"):
            PerceptronCRF().fit(X, partly)
        with pytest.raises(ValueError, match="score needs y"):
            PerceptronCRF().fit(X, y).score(X, None)

    def test_infeasible(self):
        X, y = toy()
        model = PerceptronCRF(constraints=AtLeastVisits("a", 50), enforce=True).fit(X, y)
        with pytest.raises(InfeasibleSequenceError, match=r"AtLeastVisits\('a', 50\)"):
            model.predict(X)

    def test_is_no_generative_model(self):
        for name in ("sample", "log_likelihood", "from_parameters"):
            assert not hasattr(PerceptronCRF(), name)
