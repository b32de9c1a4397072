"""Learning from chunks is learning from everything: exactly, whoever does the work."""

import pickle
import random
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from functools import partial

import numpy as np
import pytest
from joblib import Parallel, delayed
from sklearn.naive_bayes import GaussianNB

from skchmm import (
    ConstrainedHMM,
    ConstraintMiner,
    CTConstrainedHMM,
    HSMMDecoder,
    InfeasibleSequenceError,
    Statistics,
    TopologyMaskedHMM,
    hmm,
)
from skchmm.constraints import AtLeastVisits, AtMostVisits, StartsIn
from skchmm.emissions import GMM, Categorical, Gaussian, Poisson, Product, StudentT
from skchmm.estimators import chunks as chunks_module
from skchmm.estimators import spreading

pytestmark = pytest.mark.filterwarnings("ignore:EM did not converge")

LENGTHS = np.random.default_rng(0).integers(3, 30, size=23).tolist()
RULES = AtMostVisits(0, 4)


def sequences(kind, seed=0):
    rng = np.random.default_rng(seed)
    if kind == "times":
        return [np.cumsum(rng.exponential(size=n)) for n in LENGTHS]
    if kind == "labels":
        return [np.repeat(rng.integers(3, size=n), 2)[:n] for n in LENGTHS]
    if kind == "symbols":
        return [rng.integers(5, size=n) for n in LENGTHS]
    if kind == "counts":
        return [rng.poisson(3 + 5 * rng.integers(2), size=(n, 2)) for n in LENGTHS]
    if kind == "table":
        return [
            np.column_stack([rng.integers(4, size=n), rng.normal(size=n), rng.poisson(3, size=n)])
            for n in LENGTHS
        ]
    return [rng.normal(size=(n, 2)) + 3 * rng.integers(2) for n in LENGTHS]


PRODUCT = Product({0: "categorical", 1: "gaussian", 2: "poisson"})


MODELS = {
    "symbols": (ConstrainedHMM(3, constraints=RULES, n_iter=4, tol=0, random_state=0), "symbols"),
    "contexts": (
        ConstrainedHMM(3, emission=Categorical(order=1), n_iter=4, tol=0, random_state=0),
        "symbols",
    ),
    "numbers": (ConstrainedHMM(3, constraints=RULES, n_iter=4, tol=0, random_state=0), "numbers"),
    "full": (
        ConstrainedHMM(3, emission=Gaussian("full"), n_iter=4, tol=0, random_state=0),
        "numbers",
    ),
    "mixture": (ConstrainedHMM(2, emission=GMM(2), n_iter=4, tol=0, random_state=0), "numbers"),
    "counts": (ConstrainedHMM(3, emission=Poisson(), n_iter=4, tol=0, random_state=0), "counts"),
    "table": (ConstrainedHMM(3, emission=PRODUCT, n_iter=4, tol=0, random_state=0), "table"),
    "heavy tails": (
        ConstrainedHMM(2, emission=StudentT(), n_iter=4, tol=0, random_state=0),
        "numbers",
    ),
    "continuous": (CTConstrainedHMM(3, n_iter=3, tol=0, random_state=0), "numbers"),
    "observed": (
        CTConstrainedHMM(3, semantics="observed", n_iter=3, tol=0, random_state=0),
        "symbols",
    ),
    "durations": (HSMMDecoder(20, n_states=3, n_iter=3, tol=0, random_state=0), "symbols"),
    "hmmlearn's Gaussian": (hmm.GaussianHMM(3, n_iter=4, tol=-np.inf, random_state=0), "numbers"),
    "hmmlearn's symbols": (hmm.CategoricalHMM(3, n_iter=4, tol=-np.inf, random_state=0), "symbols"),
    "hmmlearn's mixture": (hmm.GMMHMM(2, 2, n_iter=3, tol=-np.inf, random_state=0), "numbers"),
    "hmmlearn's Poisson": (hmm.PoissonHMM(3, n_iter=3, tol=-np.inf, random_state=0), "counts"),
    "hmmlearn's counts": (
        hmm.MultinomialHMM(3, n_iter=3, tol=-np.inf, random_state=0, n_trials=None),
        "counts",
    ),
}


def model_of(name, **params):
    model = pickle.loads(pickle.dumps(MODELS[name][0]))
    return model.set_params(**params)


def all_data(name, labels=False):
    data = {"X": sequences(MODELS[name][1])}
    if isinstance(MODELS[name][0], CTConstrainedHMM):
        data["times"] = sequences("times")
    if labels:
        data["y"] = sequences("labels")
    return data


def cut(data, *sizes):
    """Chunks with so many sequences each, the last with the rest."""
    ends = [0, *np.cumsum(sizes), len(LENGTHS)]
    return [{k: v[a:b] for k, v in data.items()} for a, b in zip(ends, ends[1:])]


def learned(model):
    """Everything that was learned, as arrays."""
    values = [np.asarray(model.history_)]
    for name in sorted(vars(model)):
        if name in ("startprob_", "transmat_", "generator_", "durations_", "means_", "_covars_",
                    "emissionprob_", "lambdas_", "weights_"):  # fmt: skip
            values.append(getattr(model, name))
    emission = vars(model).get("emission_")
    for part in getattr(emission, "emissions_", {"all": emission}).values():
        for name, value in sorted(vars(part).items()) if part is not None else ():
            found = value if isinstance(value, list) else [value]  # one per column of symbols
            if name.endswith("_") and isinstance(found[0], np.ndarray):
                values.extend(found)
    return values


def same(a, b, rtol=None):
    assert len(learned(a)) == len(learned(b)) >= 3
    for x, y in zip(learned(a), learned(b)):
        if rtol is None:
            np.testing.assert_array_equal(x, y)
        else:
            np.testing.assert_allclose(x, y, rtol=rtol, atol=1e-12)


# ------------------------------------------------------------------------- exact
@pytest.mark.parametrize("name", MODELS)
def test_chunks_give_what_everything_at_once_gives(name):
    data = all_data(name)
    whole = model_of(name).fit(**data)
    same(whole, model_of(name).fit_chunks(cut(data, 5, 1, 9)), rtol=1e-9)
    same(whole, model_of(name).fit_chunks(cut(data)), rtol=1e-12)
    np.testing.assert_allclose(
        model_of(name).fit_chunks(cut(data, 5, 1, 9)).history_, whole.history_, rtol=1e-12
    )


ADDITIVE = [name for name in MODELS if "mixture" not in name and name != "heavy tails"]


@pytest.mark.filterwarnings("ignore:The label changes")
@pytest.mark.parametrize("name", ADDITIVE)
def test_labelled_chunks_are_counted(name):
    data = all_data(name, labels=True)
    whole = model_of(name).fit(**data)
    same(whole, model_of(name).fit_chunks(cut(data, 5, 1, 9)), rtol=1e-12)
    model = model_of(name)
    for chunk in cut(data, 5, 1, 9):
        assert model.partial_fit(**chunk) is model
    same(whole, model, rtol=1e-12)


@pytest.mark.parametrize("name", ["mixture", "heavy tails"])
def test_labels_are_held_where_counts_are_not_enough(name):
    data = all_data(name, labels=True)
    data["y"] = [y % 2 for y in data["y"]]
    whole = model_of(name).fit(**data)
    model = model_of(name, n_iter=300, tol=1e-9).fit_chunks(cut(data, 5))
    np.testing.assert_allclose(model.transmat_, whole.transmat_, atol=1e-12)
    # EM from another start than that of fit: as good, up to how closely the two have converged
    assert joint(model, data) > joint(whole, data) - 0.5
    with pytest.raises(ValueError, match="all rows at once"):
        model_of(name).partial_fit(**data)


def joint(model, data):
    """Log-likelihood of rows and labels."""
    emission = model.emission_
    rows, y = np.concatenate(data["X"]), np.concatenate(data["y"])
    scores = emission.log_likelihood(emission.encode(rows, reset=False)).dense()
    return scores[np.arange(len(y)), y].sum()


def test_what_needs_all_rows_at_once_says_so():
    data = all_data("numbers", labels=True)
    with pytest.raises(ValueError, match="all rows at once"):
        ConstrainedHMM(emission=GaussianNB()).fit_chunks(cut(data, 5))


def test_partly_labelled_and_weighted():
    rng = np.random.default_rng(1)
    data = all_data("symbols", labels=True)
    data["y"] = [np.where(rng.random(len(y)) < 0.7, -1, y) for y in data["y"]]
    data["sample_weight"] = rng.integers(1, 3, size=len(LENGTHS)).tolist()
    whole = model_of("contexts").fit(**data)
    same(whole, model_of("contexts").fit_chunks(cut(data, 8, 2, 2)), rtol=1e-9)


def test_missing_values_in_some_chunks_only():
    data = all_data("numbers")
    data["X"][3][1] = np.nan
    data["X"][20][0, 1] = np.nan
    for name in ("numbers", "full", "hmmlearn's Gaussian"):
        whole = model_of(name).fit(**data)
        same(whole, model_of(name).fit_chunks(cut(data, 5, 10)), rtol=1e-9)


# --------------------------------------------------------- the same to the last bit
def load(data, begin, end):
    return {k: v[begin:end] for k, v in data.items()}


def shuffled(function, items):
    """Works in another order than it answers."""
    items = list(items)
    order = random.Random(0).sample(range(len(items)), len(items))
    found = {k: function(items[k]) for k in order}
    return [found[k] for k in range(len(items))]


def travelling(function, items):
    """As if every task went to another process."""
    return [pickle.loads(pickle.dumps(function))(pickle.loads(pickle.dumps(i))) for i in items]


@pytest.fixture
def mappers():
    with ProcessPoolExecutor(2) as processes, ThreadPoolExecutor(3) as threads:
        yield {
            "shuffled": shuffled,
            "travelling": travelling,
            "threads": threads.map,
            "futures": lambda f, items: [threads.submit(f, item) for item in items],
            "processes": processes.map,
            "joblib": lambda f, items: Parallel(2)(delayed(f)(item) for item in items),
        }


@pytest.mark.parametrize("name", ["symbols", "numbers", "continuous", "hmmlearn's Gaussian"])
def test_bits_do_not_depend_on_the_map(name, mappers):
    data = all_data(name)
    chunks = [partial(load, data, k, k + 3) for k in range(0, len(LENGTHS), 3)]
    expected = model_of(name).fit_chunks(chunks)
    for label, mapper in mappers.items():
        if name == "symbols" or label == "travelling":
            same(expected, model_of(name).fit_chunks(chunks, map=mapper))
    for per_task in (2, 4, 16):
        same(expected, model_of(name).fit_chunks(chunks, per_task=per_task))


def test_the_tree_of_sums_has_a_fixed_shape():
    rng = np.random.default_rng(0)
    model = model_of("numbers").fit(sequences("numbers"))
    for n in (1, 2, 3, 7, 8, 13):
        parts = [
            model.e_step([10 ** rng.uniform(0, 2) * rng.normal(size=(9, 2))], chunk=k)
            for k in range(n)
        ]

        def level_by_level(parts):
            while len(parts) > 1:
                pairs = [sum(parts[k : k + 2]) for k in range(0, len(parts), 2)]
                parts = pairs
            return parts[0]

        expected, found = level_by_level(parts), Statistics.merge(iter(parts))
        blocks = [Statistics.merge(parts[k : k + 4]) for k in range(0, n, 4)]
        for other in (found, Statistics.merge(blocks)):
            assert other.log_likelihood == expected.log_likelihood
            for name, value in expected.values.items():
                np.testing.assert_array_equal(other.values[name], value)
        assert found.chunks == ((0, n),) and found.n_sequences == n


def test_few_statistics_are_held_while_merging():
    model = model_of("symbols").fit(sequences("symbols"))
    one = model.e_step([np.array([0, 1, 2])], chunk=0)
    alive = most = 0

    class Counted(Statistics):
        def __del__(self):
            nonlocal alive
            alive -= 1

    def parts(n):
        nonlocal alive, most
        for k in range(n):
            alive += 1
            most = max(most, alive)
            fields = {**vars(one), "chunks": ((k, k + 1),)}
            yield Counted(**fields)

    assert Statistics.merge(parts(1000)).n_sequences == 1000
    assert most < 5


# --------------------------------------------------------------- steps by hand
@pytest.mark.parametrize("name", MODELS)
def test_steps_by_hand_are_those_of_fit(name):
    data = all_data(name)
    model = model_of(name)
    if not isinstance(model, hmm.BaseHMM):
        model.set_params(smoothing=0)  # then history_ is the log-likelihood alone
    model.fit(**data)
    params = {"init_params": ""} if isinstance(model, hmm.BaseHMM) else {"init": "fitted"}
    expected = pickle.loads(pickle.dumps(model)).set_params(n_iter=1, **params).fit(**data)
    parts = [model.e_step(**chunk, chunk=k) for k, chunk in enumerate(cut(data, 5, 1, 9))]
    total = Statistics.merge(pickle.loads(pickle.dumps(parts)))
    assert total.log_likelihood == pytest.approx(expected.history_[0], rel=1e-12)
    assert total.n_steps == sum(LENGTHS)
    assert model.m_step(total) is model
    for a, b in zip(learned(expected)[1:], learned(model)[1:]):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12)
    assert model.history_[-1] == total.log_likelihood


class OwnStep(hmm.GaussianHMM):
    """Overrides a step of hmmlearn's."""

    def _do_estep(self, X, lengths):
        statistics, log_prob = super()._do_estep(X, lengths)
        statistics["start"] += 1.0
        return statistics, log_prob


class OwnStatistics(hmm.GaussianHMM):
    """Has statistics of its own."""

    def _accumulate_sufficient_statistics(self, stats, X, lattice, posteriors, fwd, bwd):
        super()._accumulate_sufficient_statistics(stats, X, lattice, posteriors, fwd, bwd)
        stats["rows"] = stats.get("rows", 0) + len(X)


@pytest.mark.parametrize("kind", [OwnStep, OwnStatistics])
def test_steps_that_subclasses_override(kind):
    X = sequences("numbers")
    whole = kind(2, n_iter=3, tol=-np.inf, random_state=0).fit(X)
    found = kind(2, n_iter=3, tol=-np.inf, random_state=0).fit_chunks([(X,)])
    same(whole, found, rtol=1e-12)
    total = found.e_step(X[:5], chunk=0) + found.e_step(X[5:], chunk=1)
    assert total.values.get("rows", sum(LENGTHS)) == sum(LENGTHS)
    found.m_step(total)


def test_statistics_know_what_they_are_of():
    data = all_data("symbols")
    model = model_of("symbols").fit(**data)
    one, two = (model.e_step(**chunk) for chunk in cut(data, 5))
    assert (one + two).n_sequences == len(LENGTHS)
    with pytest.raises(ValueError, match="count twice"):
        one + one
    with pytest.raises(ValueError, match="count twice"):
        Statistics.merge([one, two, model.e_step(**cut(data, 5)[0])])
    with pytest.raises(ValueError, match="Chunk 3 is in both"):
        sum(model.e_step(data["X"][k], chunk=number) for k, number in enumerate([1, 3, 2, 3]))
    model.m_step(one + two)
    with pytest.raises(ValueError, match="different parameters"):
        one + model.e_step(**cut(data, 5)[1])
    with pytest.raises(ValueError, match="other parameters"):
        model.m_step(one + two)
    with pytest.raises(TypeError, match="takes Statistics"):
        model.m_step({})
    with pytest.raises(ValueError, match="no statistics"):
        Statistics.merge([])
    with pytest.raises(TypeError):
        one + 1
    ruled = model.with_constraints(StartsIn(0))
    with pytest.raises(ValueError, match="different parameters"):
        model.e_step(data["X"]) + ruled.e_step(data["X"][:3])


def test_a_group_that_is_cut_is_noticed():
    X = np.random.default_rng(0).integers(3, size=60)
    groups = np.repeat(["ann", "bob", "cyd"], 20)
    model = ConstrainedHMM(2, n_iter=2, random_state=0)
    whole = [(X[:40], None, None, groups[:40]), (X[40:], None, None, groups[40:])]
    split = [{"X": X[a:b], "groups": groups[a:b]} for a, b in ((0, 30), (30, 60))]
    model.fit_chunks(whole)
    for attempt in (
        lambda: model.fit_chunks(split),
        lambda: model.set_params(init="fitted").fit_chunks(split),
        lambda: model.e_step(**split[0]) + model.e_step(**split[1]),
    ):
        with pytest.raises(ValueError, match=r"'bob' is in two chunks.*read_sequences"):
            attempt()


# ----------------------------------------------------------------- how to give chunks
def test_chunks_in_every_form():
    X, y = sequences("symbols"), sequences("labels")
    stacked = np.concatenate(X)
    expected = model_of("symbols").fit(X)
    for chunks in (
        [X],
        [(X,)],
        [{"X": X}],
        [(stacked, None, LENGTHS)],
        [(stacked, {"lengths": LENGTHS})],
        [(stacked, None, {"groups": np.repeat(np.arange(len(X)), LENGTHS)})],
        (lambda: X,),
        Again(X),
    ):
        same(expected, model_of("symbols").fit_chunks(chunks), rtol=1e-12)
    same(
        model_of("symbols").fit(X, y),
        model_of("symbols").fit_chunks([(X[:4], y[:4]), (X[4:], y[4:], {})]),
        rtol=1e-12,
    )


class Again:
    """Can be gone through again, but has neither length nor items."""

    def __init__(self, X):
        self.X = X

    def __iter__(self):
        return iter([self.X])


@pytest.mark.parametrize(
    ("chunks", "error", "message"),
    [
        (iter([]), TypeError, "only once"),
        ((x for x in [[0, 1]]), TypeError, "only once"),
        ([], ValueError, "no chunks"),
        (5, TypeError, "list of chunks"),
        ("ab", TypeError, "list of chunks"),
        ([{"x": [0]}], ValueError, "holds X"),
        ([{"y": [0]}], ValueError, "no X"),
        ([tuple(range(6))], ValueError, "6 parts"),
        ([(np.array([0, 1]),), (np.array(["a"]),)], None, None),
        ([np.zeros((3, 1)), np.zeros((3, 2))], ValueError, "Chunks must agree: of columns"),
        ([np.zeros((3, 1)), np.zeros((3, 1), int)], ValueError, "Chunks must agree: of emission"),
    ],
)
def test_wrong_chunks(chunks, error, message):
    model = ConstrainedHMM(2, n_iter=1, random_state=0)
    if error is None:
        assert len(model.fit_chunks(chunks).emission_.symbols_) == 3
        return
    with pytest.raises(error, match=message):
        model.fit_chunks(chunks)


def test_wrong_maps():
    X = sequences("symbols")
    chunks = [X[:9], X[9:15], X[15:]]
    for mapper, error, message in (
        (lambda f, items: [f(i) for i in items][::-1], ValueError, "keep the order"),
        (lambda f, items: [f(i) for i in items][:2], ValueError, "2 results for 3 tasks"),
        (lambda f, items: [], ValueError, "0 results"),
        (lambda f, items: [object() for i in items], TypeError, "fetch them in map"),
        ("map", TypeError, "must be a function"),
    ):
        with pytest.raises(error, match=message):
            model_of("symbols").fit_chunks(chunks, map=mapper)
    with pytest.raises(ValueError, match="per_task must be 1, 2, 4"):
        model_of("symbols").fit_chunks(chunks, per_task=3)
    with pytest.raises(ValueError, match="mines rules from all labels"):
        model_of("symbols", constraints=ConstraintMiner()).fit_chunks(chunks)


def test_errors_say_which_chunk():
    X = sequences("symbols")
    model = model_of("symbols", emission=Categorical(symbols=5)).fit(X).set_params(init="fitted")
    with pytest.raises(ValueError, match="symbol 7") as caught:
        model.fit_chunks([X[:9], [np.array([7, 7])]])
    assert "In chunk 1." in caught.value.__notes__
    model = model_of("symbols", constraints=AtLeastVisits(0, 20))
    with pytest.raises(InfeasibleSequenceError, match="AtLeastVisits") as caught:
        model.fit_chunks([[np.zeros(50, int)], X[9:]])
    assert "In chunk 1." in caught.value.__notes__


def test_labels_and_symbols_that_turn_up_late():
    X = [list("xxyy"), list("yyzz"), list("wwx")]
    y = [list("aabb"), list("bbcc"), list("00a")]
    for order in (0, 2):
        whole = ConstrainedHMM(emission=Categorical(order=order)).fit(X, y)
        model = ConstrainedHMM(emission=Categorical(order=order))
        for k in range(3):
            model.partial_fit([X[k]], [y[k]])
        assert model.classes_.tolist() == whole.classes_.tolist() == ["0", "a", "b", "c"]
        same(whole, model, rtol=1e-13)
        assert model.predict(X)[0].tolist() == whole.predict(X)[0].tolist()
    chunks = [([X[k]], [y[k]]) for k in range(3)]
    same(ConstrainedHMM().fit(X, y), ConstrainedHMM().fit_chunks(chunks), rtol=1e-13)


def test_partial_fit_needs_all_labels():
    with pytest.raises(ValueError, match="some of y are missing"):
        ConstrainedHMM().partial_fit([0, 1, 1], [0, -1, 1])
    with pytest.raises(ValueError, match="n_states=2, but y has 3"):
        ConstrainedHMM(2).partial_fit([0, 1, 1], [0, 1, 2])
    X = np.random.default_rng(0).normal(size=(3, 2))
    model = ConstrainedHMM().partial_fit(X, [0, 1, 1])
    expected = model.predict_proba(X)
    with pytest.raises(ValueError, match="X has 3 features"):
        model.partial_fit(np.zeros((3, 3)), [0, 1, 1])
    with pytest.raises(ValueError, match="infinity"):
        model.partial_fit(np.full((3, 2), np.inf), [0, 1, 2])
    assert model.classes_.tolist() == [0, 1]
    np.testing.assert_array_equal(model.predict_proba(X), expected)
    assert model.partial_fit(X, [2, 2, 2]).classes_.tolist() == [0, 1, 2]


# ------------------------------------------------------------------- starts, traffic
def test_em_starts_from_a_sample_of_whole_sequences(monkeypatch):
    monkeypatch.setattr(chunks_module, "SAMPLE_STEPS", 60)
    seen = []
    original = ConstrainedHMM._start_em

    def look(self, dynamics, emission, data, random_state):
        seen.append(data)
        return original(self, dynamics, emission, data, random_state)

    monkeypatch.setattr(ConstrainedHMM, "_start_em", look)
    data = all_data("numbers")
    model = model_of("numbers", n_iter=30, tol=1e-6).fit_chunks(cut(data, 5, 1, 9))
    sample = seen[0].sequences
    assert 20 < sample.n_steps < 140
    there = {x.tobytes() for x in data["X"]}
    assert all(x.tobytes() in there for x in sample.split(np.ascontiguousarray(sample.X)))
    # the spread of all rows, not of the sample
    np.testing.assert_allclose(model.emission_._shift, np.concatenate(data["X"]).mean(axis=0))


def test_tasks_carry_parameters_alone_once_the_model_is_known():
    sizes = []

    def travelling_and_weighed(function, items):
        sizes.append(len(pickle.dumps(function)))
        return travelling(function, items)

    rules = [AtMostVisits(k, 9) for k in range(3)]
    data = all_data("symbols")
    model = model_of("symbols", constraints=rules)
    chunks = cut(data, 9)
    model.fit_chunks(chunks, map=travelling_and_weighed)
    assert model.graph_.n_nodes > 900
    assert len(sizes) == 2 + 5
    assert max(sizes) < 10_000 and max(sizes[3:]) < 4000

    def forgetful(function, items):
        spreading._seen.clear()
        return travelling(function, items)

    same(model, model_of("symbols", constraints=rules).fit_chunks(chunks, map=forgetful))


def test_models_are_saved_without_what_can_be_made_again():
    rules = [AtMostVisits(k, 20) for k in range(3)]
    model = model_of("symbols", constraints=rules).fit(sequences("symbols"))
    assert model.graph_.n_nodes > 5000
    size = len(pickle.dumps(model))
    model.predict(sequences("symbols"))
    assert len(pickle.dumps(model)) == size < 1.2 * len(pickle.dumps(model.controller_)) + 20_000


def test_whole_counts_and_others_are_added():
    """Bincounts of one step are whole numbers, those that there are may not be."""
    X, y = [np.array([5, 5]), np.array([0])], [np.array([0, 1]), np.array([0])]
    model = ConstrainedHMM(emission="categorical")
    for chunk in zip(X, y):
        model.partial_fit(*chunk)
    at_once = ConstrainedHMM(emission="categorical").fit(X, y)
    np.testing.assert_allclose(model.transmat_, at_once.transmat_)
    np.testing.assert_allclose(model.emission_.probabilities_, at_once.emission_.probabilities_)


def test_symbols_after_numbers_are_refused():
    model = TopologyMaskedHMM(states=[0, 1]).partial_fit(["a", "b"], [0, 1])
    with pytest.raises(ValueError, match="for Gaussian emissions, but partial_fit began with Cat"):
        model.partial_fit(np.array([[0.5], [1.5]]), [0, 1])
    model = TopologyMaskedHMM(states=[0, 1]).partial_fit(np.array([[0.5], [1.5]]), [0, 1])
    with pytest.raises(ValueError, match="for Categorical emissions, but partial_fit began with G"):
        model.partial_fit(["a", "b"], [0, 1])
