"""ConstrainedHMM as users meet it: forms, sizes, errors, copies."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import DataConversionWarning, NotFittedError

from skchmm import (
    ConstrainedHMM,
    Controller,
    ControllerTooLargeError,
    CTConstrainedHMM,
    InfeasibleSequenceError,
    InfeasibleSequenceWarning,
    satisfies,
)
from skchmm.constraints import (
    AllDifferent,
    AtLeastVisits,
    AtMostVisits,
    EndsIn,
    ExactVisits,
    Precedence,
    Segments,
    StartsIn,
    Transitions,
)
from skchmm.emissions import Categorical, Gaussian
from skchmm.mining import ConstraintMiner

HALF = np.full(2, 0.5), np.full((2, 2), 0.5)


def toy(n=4, seed=0):
    rng = np.random.default_rng(seed)
    y = [np.repeat(["a", "b", "c"], rng.integers(2, 6, 3)) for _ in range(n)]
    X = [np.char.upper(path) for path in y]
    for x in X:
        x[rng.random(len(x)) < 0.1] = "A"
    return X, y


class TestForms:
    def test_three_forms_give_one_answer(self):
        X, y = toy()
        lengths = [len(x) for x in X]
        groups = np.repeat(["p", "q", "r", "s"], lengths)
        flat, labels = np.concatenate(X), np.concatenate(y)
        make = ConstrainedHMM(constraints=[Precedence("a", "b"), EndsIn("c")])
        listed = clone(make).fit(X, y)
        stacked = clone(make).fit(flat, labels, lengths=lengths)
        grouped = clone(make).fit(flat, labels, groups=groups)
        for model, args in ((stacked, {"lengths": lengths}), (grouped, {"groups": groups})):
            np.testing.assert_allclose(model.transmat_, listed.transmat_)
            np.testing.assert_array_equal(
                model.predict(flat, **args), np.concatenate(listed.predict(X))
            )
            np.testing.assert_allclose(
                model.predict_proba(flat, **args), np.concatenate(listed.predict_proba(X))
            )
            np.testing.assert_allclose(model.log_likelihood(flat, **args), listed.log_likelihood(X))
            log_prob, _ = model.decode(flat, **args)
            np.testing.assert_allclose(log_prob, listed.decode(X)[0])
            assert model.score(flat, labels, **args) == listed.score(X, y)

    def test_dataframes(self):
        X, y = toy()
        frame = pd.DataFrame({"seen": np.concatenate(X), "again": np.concatenate(X)})
        lengths = [len(x) for x in X]
        model = ConstrainedHMM().fit(frame, pd.Series(np.concatenate(y)), lengths=lengths)
        assert model.feature_names_in_.tolist() == ["seen", "again"]
        assert model.n_features_in_ == 2
        path = model.predict(frame, lengths=lengths)
        assert path.shape == (len(frame),)
        with pytest.raises(ValueError, match="feature names"):
            model.predict(frame.rename(columns={"seen": "other"}))

    def test_a_model_from_parameters_takes_columns_of_any_name(self):
        coin = Categorical.from_parameters([[0.9, 0.1], [0.1, 0.9]], symbols=["H", "T"])
        model = ConstrainedHMM.from_parameters(*HALF, emission=coin)
        frame = pd.DataFrame({"toss": list("HHTT")})
        path = model.predict(frame)  # without a warning
        assert path.tolist() == model.predict(list("HHTT")).tolist()
        model.set_params(n_iter=1, tol=1e9, init="fitted").fit([list("HHTT")])
        with pytest.warns(UserWarning, match="fitted without feature names"):
            model.predict(frame)

    def test_one_stacked_sequence_gives_a_float(self):
        X, y = toy(1)
        model = ConstrainedHMM().fit(X[0], y[0])
        log_prob, path = model.decode(X[0])
        assert isinstance(log_prob, float)
        assert path.shape == X[0].shape

    def test_log_probabilities(self):
        X, y = toy()
        model = ConstrainedHMM().fit(X, y)
        for p, log_p in zip(model.predict_proba(X), model.predict_log_proba(X)):
            np.testing.assert_allclose(np.exp(log_p), p)


class TestSizes:
    def test_one_step_one_state(self):
        model = ConstrainedHMM.from_parameters([1.0], [[1.0]], constraints=StartsIn(0))
        assert model.predict(np.zeros((1, 1))).tolist() == [0]
        assert model.predict_proba(np.zeros((1, 1))).tolist() == [[1.0]]
        assert model.log_feasibility(np.zeros((1, 1))).tolist() == [0.0]

    def test_exactly_one_path(self):
        rules = [StartsIn(0), EndsIn(2), Segments(3), AllDifferent()]
        model = ConstrainedHMM.from_parameters(
            np.full(3, 1 / 3), np.full((3, 3), 1 / 3), constraints=rules
        )
        X = np.random.default_rng(0).normal(size=(3, 3)) * 10
        log_prob, path = model.decode(X)
        assert path.tolist() == [0, 1, 2]
        assert log_prob == pytest.approx(model.log_likelihood(X)[0])
        np.testing.assert_allclose(model.predict_proba(X), np.eye(3))

    def test_everything_missing(self):
        X, y = toy()
        model = ConstrainedHMM(constraints=ExactVisits("b", 1)).fit(X, y)
        nothing = np.array([None] * 6, dtype=object)
        assert satisfies(model.predict(nothing), ExactVisits("b", 1), ["a", "b", "c"])
        prior = model.log_likelihood(nothing)[0]
        assert prior == pytest.approx(model.log_feasibility(nothing)[0])

    def test_ten_thousand_sequences_of_one_step(self):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(10_000, 2))
        y = (X[:, 0] > 0).astype(int)
        model = ConstrainedHMM(constraints=Transitions(0), emission="gaussian")
        model.fit(X, y, lengths=np.ones(10_000, dtype=int))
        assert model.score(X, y, lengths=np.ones(10_000, dtype=int)) > 0.9
        assert model.log_likelihood(X, lengths=np.ones(10_000, dtype=int)).shape == (10_000,)

    def test_a_million_steps(self):
        rng = np.random.default_rng(0)
        y = np.repeat([0, 1, 2, 0, 2, 1, 0, 1], 125_000)
        X = (y + (rng.random(len(y)) < 0.3)) % 3
        rule = AtMostVisits(0, 3)
        model = ConstrainedHMM(constraints=rule).fit(X, y)
        path = model.predict(X)
        assert len(path) == 1_000_000
        assert (path == y).mean() > 0.9
        assert satisfies(path, rule, [0, 1, 2])
        assert np.isfinite(model.score(X))
        np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1)

    def test_a_label_never_seen_in_training(self):
        X, y = toy()
        model = ConstrainedHMM(states=["a", "b", "c", "d"], constraints=AtLeastVisits("d", 1)).fit(
            X, y
        )
        assert "d" in model.predict(X[0])
        assert model.classes_.tolist() == ["a", "b", "c", "d"]

    def test_too_large(self):
        X, y = toy()
        rules = [AtLeastVisits(s, 30) for s in "abc"]
        with pytest.raises(ControllerTooLargeError, match=r"AtLeastVisits\('a', 30\)"):
            ConstrainedHMM(constraints=rules, max_nodes=1000).fit(X, y)


class TestErrors:
    def test_not_fitted(self):
        with pytest.raises(NotFittedError):
            ConstrainedHMM().predict(np.zeros((3, 2)))

    @pytest.mark.parametrize(
        "params, message",
        [
            ({"algorithm": "best"}, "algorithm"),
            ({"on_infeasible": "ignore"}, "on_infeasible"),
            ({"init": "zeros"}, "init"),
            ({"smoothing": -1}, "smoothing"),
            ({"smoothing": "some"}, "smoothing"),
            ({"tol": None}, "tol"),
            ({"n_iter": 1.5}, "n_iter"),
            ({"n_init": 0}, "n_init"),
            ({"n_states": 7}, "n_states=7"),
            ({"states": ["a", "a", "b", "c"]}, "distinct"),
            ({"states": ["a", "b"]}, "does not know: .'c'"),
            ({"emission": "normal"}, "emission"),
        ],
    )
    def test_parameters(self, params, message):
        X, y = toy()
        with pytest.raises(ValueError, match=message):
            ConstrainedHMM(**params).fit(X, y)

    def test_labels_in_a_column_are_warned_about_once(self):
        X, y = toy()
        with pytest.warns(DataConversionWarning, match="column-vector") as caught:
            ConstrainedHMM().fit(X[0], np.asarray(y[0])[:, None])
        assert len(caught) == 1

    def test_how_many_states(self):
        with pytest.raises(ValueError, match="n_states or states"):
            ConstrainedHMM().fit(np.zeros((5, 1)))

    def test_constraint_with_an_unknown_label(self):
        X, y = toy()
        with pytest.raises(ValueError, match=r"Precedence\('a', 'B'\).*'B'"):
            ConstrainedHMM(constraints=Precedence("a", "B")).fit(X, y)

    def test_label_that_constraints_do_not_know(self):
        X, y = toy()
        y[1] = np.array(["?"] * len(y[1]))
        model = ConstrainedHMM(states=["a", "b", "c"], constraints=Precedence("a", "b"))
        with pytest.raises(ValueError, match=r"\['\?'\]"):
            model.fit(X, y)

    def test_contradiction(self):
        X, y = toy()
        with pytest.raises(ValueError, match="AtLeastVisits") as error:
            ConstrainedHMM(
                constraints=[StartsIn("a"), AtMostVisits("b", 1), AtLeastVisits("b", 2)]
            ).fit(X, y)
        assert "StartsIn" not in str(error.value)

    def test_unseen_symbol(self):
        X, y = toy()
        model = ConstrainedHMM().fit(X, y)
        with pytest.raises(ValueError, match="'Q'"):
            model.predict(np.array(["A", "Q"]))
        model = ConstrainedHMM(emission=Categorical(unseen="ignore")).fit(X, y)
        assert len(model.predict(np.array(["A", "Q"]))) == 2

    def test_nan_where_it_means_nothing(self):
        for bad in (np.inf, -np.inf):
            X = np.zeros((4, 2))
            X[1, 0] = bad
            with pytest.raises(ValueError, match="inf"):
                ConstrainedHMM(emission="gaussian").fit(X, [0, 0, 1, 1])
        with pytest.raises(ValueError, match="probabilities"):
            ConstrainedHMM.from_parameters([0.5, np.nan], np.eye(2))

    def test_wrong_shapes(self):
        X = np.zeros((4, 2))
        y = [0, 0, 1, 1]
        model = ConstrainedHMM(emission="gaussian").fit(X + np.arange(4)[:, None], y)
        with pytest.raises(ValueError, match="3 features"):
            model.predict(np.zeros((4, 3)))
        with pytest.raises(ValueError, match="Reshape"):
            model.predict(np.zeros(4))
        with pytest.raises(ValueError, match="lengths sum to 3"):
            model.predict(X, lengths=[1, 2])
        with pytest.raises(ValueError, match="next to each other"):
            model.predict(X, groups=[0, 1, 0, 1])
        with pytest.raises(ValueError, match="y has 3 values"):
            model.fit(X, y[:3])
        with pytest.raises(TypeError, match="lenghts"):
            model.fit(X, y, lenghts=[4])

    def test_from_parameters(self):
        for start, trans, message in (
            ([0.5, 0.6], np.eye(2), "sum to 1"),
            ([0.5, 0.5], np.eye(3), "shape"),
            ([0.5, 0.5], [[1, 0], [0.5, 0.4]], "sum to 1"),
            ([1.5, -0.5], np.eye(2), "probabilities"),
        ):
            with pytest.raises(ValueError, match=message):
                ConstrainedHMM.from_parameters(start, trans)
        with pytest.raises(ValueError, match="3 labels"):
            ConstrainedHMM.from_parameters(*HALF, states=["a", "b", "c"])
        with pytest.raises(ValueError, match="from_parameters"):
            ConstrainedHMM.from_parameters(*HALF, emission="categorical")

    def test_emission_without_a_density(self):
        emission = Gaussian.from_parameters([[0.0], [1.0]], [[1.0], [1.0]])
        emission.covars_[0] = np.nan
        model = ConstrainedHMM.from_parameters(*HALF, emission=emission)
        with pytest.raises(ValueError, match="NaN or infinite"):
            model.predict(np.zeros((3, 1)))

    @pytest.mark.parametrize("n_states", [1, 3])
    def test_emission_of_another_number_of_states(self, n_states):
        emission = Gaussian.from_parameters(np.zeros((n_states, 1)), np.ones((n_states, 1)))
        model = ConstrainedHMM.from_parameters(*HALF, emission=emission)
        X = np.zeros((4, 1))
        for method in (model.predict, model.predict_proba, model.log_likelihood, model.explain):
            with pytest.raises(ValueError, match=f"emission has {n_states} states.*chain has 2"):
                method(X)
        with pytest.raises(ValueError, match=f"emission has {n_states} states.*chain has 2"):
            model.kbest(X, 2)


class TestInfeasible:
    def test_raise_names_sequence_and_constraints(self):
        model = ConstrainedHMM.from_parameters(*HALF, constraints=Segments(3))
        X = [np.zeros((5, 2)), np.zeros((2, 2))]
        for ask in (model.predict, model.predict_proba, model.decode):
            with pytest.raises(InfeasibleSequenceError, match=r"Sequence 1 .*Segments\(3\)"):
                ask(X)
        with pytest.raises(InfeasibleSequenceError, match="Sequence 'q'"):
            model.predict(np.concatenate(X), groups=list("pppppqq"))
        assert model.log_likelihood(X)[1] == -np.inf
        assert model.score(X) == -np.inf

    def test_warn_answers_without_constraints(self):
        X = [np.zeros((5, 2)), np.log([[0.9, 0.1], [0.2, 0.8]])]
        strict = ConstrainedHMM.from_parameters(*HALF, constraints=Segments(3))
        free = strict.with_constraints(None)
        for algorithm in ("viterbi", "posterior", "map"):
            lenient = strict.with_constraints(Segments(3)).set_params(
                on_infeasible="warn", algorithm=algorithm
            )
            with pytest.warns(InfeasibleSequenceWarning, match="Sequence 1"):
                path = lenient.predict(X)
            assert satisfies(path[0], Segments(3), [0, 1]) or algorithm == "map"
            np.testing.assert_array_equal(path[1], free.predict(X)[1])
        with pytest.warns(InfeasibleSequenceWarning):
            np.testing.assert_allclose(lenient.predict_proba(X)[1], free.predict_proba(X)[1])

    def test_scores_of_minus_infinity_are_counted(self):
        # The rule alone leaves paths, and so do the scores.
        X = np.array([[0.0, -np.inf], [-np.inf, 0.0], [0.0, -1.0]])
        model = ConstrainedHMM.from_parameters(*HALF, constraints=Segments(1))
        with pytest.raises(InfeasibleSequenceError, match=r"-inf\) at 2 of its steps"):
            model.predict(X)
        with pytest.raises(InfeasibleSequenceError) as caught:
            model.with_constraints(Segments(4)).predict(np.zeros((3, 2)))
        assert "probability zero" not in str(caught.value)

    def test_impossible_whatever_the_rules(self):
        X = np.array([[0.0, 0.0], [0.0, -np.inf]])
        never = [0.5, 0.5], [[0.0, 1.0], [0.0, 1.0]]
        rules = {"constraints": StartsIn(1), "on_infeasible": "warn"}
        model = ConstrainedHMM.from_parameters(*never, **rules)
        with (
            pytest.warns(InfeasibleSequenceWarning),
            pytest.raises(InfeasibleSequenceError, match="with or without"),
        ):
            model.predict(X)
        with pytest.raises(InfeasibleSequenceError, match="transitions are impossible"):
            model.with_constraints(None).predict(X)  # there is nothing to warn of


class TestCopies:
    def test_clone_pickle_and_other_constraints(self):
        X, y = toy()
        model = ConstrainedHMM(constraints=[Precedence("a", "b")]).fit(X, y)
        again = pickle.loads(pickle.dumps(model))
        np.testing.assert_array_equal(again.predict(X[0]), model.predict(X[0]))
        assert clone(model).get_params()["constraints"] == [Precedence("a", "b")]
        other = model.with_constraints(ExactVisits("b", 2))
        assert satisfies(other.predict(X[0]), ExactVisits("b", 2), ["a", "b", "c"])
        np.testing.assert_array_equal(again.predict(X[0]), model.predict(X[0]))

    def test_parameters_set_by_hand_take_effect(self):
        model = ConstrainedHMM.from_parameters(*HALF)
        X = np.log([[0.6, 0.4], [0.4, 0.6]])
        assert model.predict(X).tolist() == [0, 1]
        model.transmat_ = np.eye(2)
        assert model.predict(X).tolist() == [0, 0]
        model.transmat_ = np.array([[0.0, 1.0], [1.0, 0.0]])
        model.startprob_ = np.array([0.0, 1.0])
        assert model.predict(X).tolist() == [1, 0]

    @pytest.mark.parametrize("wrong", [np.ones((2, 2)), np.array([[0.5, 0.5], [0.9, 0.2]])])
    def test_parameters_set_by_hand_that_sum_to_more_than_one(self, wrong):
        model, X = ConstrainedHMM.from_parameters(*HALF), np.zeros((3, 2))
        right, model.transmat_ = model.transmat_, wrong
        with pytest.raises(ValueError, match="transmat_ must sum to 1; the sums are"):
            model.predict_proba(X)
        model.transmat_, model.startprob_ = right, np.ones(2)
        with pytest.raises(ValueError, match="startprob_ must sum to 1"):
            model.predict(X)
        rates = CTConstrainedHMM.from_parameters([0.5, 0.5], [[-1.0, 1.0], [2.0, -2.0]])
        rates.generator_ = wrong - np.eye(2)
        with pytest.raises(ValueError, match="generator_ must sum to 0"):
            rates.predict(X, times=[0, 1, 2])

    def test_custom_controller(self):
        alternate = Controller(["a", "b"], [[1, 2], [-1, 2], [1, -1]], [True, True, True])
        model = ConstrainedHMM.from_parameters(*HALF, states=["a", "b"], constraints=alternate)
        assert model.predict(np.zeros((5, 2))).tolist() == ["a", "b", "a", "b", "a"]

    def test_constraints_from_a_miner(self):
        X, y = toy(30)
        model = ConstrainedHMM(constraints=ConstraintMiner()).fit(X, y)
        assert Precedence("a", "b") in model.constraints_ or model.constraints_
        assert all(satisfies(path, model.constraints_, list("abc")) for path in model.predict(X))
        with pytest.raises(ValueError, match="give y"):
            ConstrainedHMM(3, constraints=ConstraintMiner()).fit(X)
