"""Every public method of every estimator, and the functions around them, with any arguments.

The methods and their parameters are looked up, so a new one is called here without further notice.
"""

import inspect
import os
import tempfile
import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

from skchmm import HashingQuantizer, datasets, hmm, metrics
from skchmm.constraints import AtMostVisits, EndsIn, NoDwell, Soft, StartsIn, declare

from .anything import anything, scalars
from .test_estimators_fuzz import ESTIMATORS, FITTED, ask, each_estimator, tables
from .test_estimators_fuzz import soon as fresh

# New, so that it still finds much: `make fuzz` draws fresh cases, the tests the same in each run.
soon = settings(fresh, derandomize="SKCHMM_FUZZ_EXAMPLES" not in os.environ)
LABELS = [0, 1, 0, 0, 1, 0, 1, 1, 0, 1]
RULES = [EndsIn(1), NoDwell(0), Soft(StartsIn(1), 1.5), AtMostVisits({0, 1}, 3), EndsIn(7)]


def small(value):
    """Numbers that ask for a lot of work are no mistake."""
    return -1 if isinstance(value, (int, float)) and abs(value) > 30 else value


numbers = st.one_of(st.integers(-2, 4), st.floats(-1, 5), scalars).map(small)
names = st.one_of(st.sampled_from([0, 1, {0, 1}, [0], 7, [], "a"]), anything)
rules = st.one_of(st.sampled_from(RULES), st.lists(st.sampled_from(RULES), max_size=3), scalars)
at_times = st.one_of(
    st.just(np.arange(10.0)), st.lists(st.floats(-2, 20), min_size=10, max_size=10), anything
)
ARGUMENTS = {
    "constraint": rules, "constraints": rules, "true_constraints": rules,
    "states": names, "into": names, "start": names, "if_entered": st.booleans(),
    "times": at_times, "at": at_times, "duration": numbers, "length": numbers, "k": numbers,
    "n_samples": numbers, "n_sequences": numbers, "n_steps": numbers, "lag": numbers,
    "n_draws": st.just(2), "max_visits": numbers, "level": numbers, "currstate": numbers,
    "method": st.sampled_from(["information", "bootstrap", "x", None]),
    "kind": st.sampled_from(["forecast", "ordinary", "x", None]),
    "algorithm": st.sampled_from(["viterbi", "map", "x", None]),
    "random_state": st.one_of(st.just(0), scalars).map(small),
    "y": st.one_of(st.none(), st.just(LABELS), anything),
    "known": st.one_of(st.none(), st.just([None] * 9 + [1]), anything),
    "return_paths": st.booleans(), "return_times": st.booleans(),
}  # fmt: skip


def methods(kind):
    """Public methods but those that learn, and those of parameters and routing."""
    skip = ("set_", "get_", "fit", "partial_fit", "e_step", "m_step", "from_parameters")
    return [
        name for name in sorted(dir(kind))
        if not name.startswith(("_", *skip)) and inspect.isfunction(getattr(kind, name, None))
    ]  # fmt: skip


def drawn(data, call, right):
    """Arguments for a call: those that it needs, and some of the others."""
    found = {}
    for name, one in inspect.signature(call).parameters.items():
        needed = one.default is inspect.Parameter.empty
        if one.kind in (one.VAR_POSITIONAL, one.VAR_KEYWORD) or name == "n_jobs":
            continue
        if name == "X":
            found[name] = right if data.draw(st.integers(0, 2)) else data.draw(tables)
        elif needed or not data.draw(st.integers(0, 3)):
            found[name] = data.draw(ARGUMENTS.get(name, anything))
    return found


# Of missing values, of what is never entered, or of nothing at all.
MAY_BE_NAN = {"confidence_intervals", "pseudo_residuals", "score", "expected_time_to", "hazard"}


def check_numbers(answer):
    for one in answer if isinstance(answer, (list, tuple)) else [answer]:
        if isinstance(one, np.ndarray) and one.dtype.kind == "f":
            assert not np.isnan(one).any()


@each_estimator
@soon
@given(data=st.data())
def test_methods_of_any_kind(name, data):
    """An answer without NaN, or an error in our words; the model stays as it was."""
    model, right = FITTED[name]
    method = data.draw(st.sampled_from(methods(type(model))))
    call = getattr(model, method)
    arguments = drawn(data, call, right)
    before = model.predict(right).tolist()
    answer = ask(lambda: call(**arguments), *arguments.values())
    if method not in MAY_BE_NAN:
        check_numbers(answer)
    if method in ("predict_proba", "filter_proba") and "at" not in arguments:
        answer = answer if isinstance(answer, list) else [answer]
        for proba in (one for one in answer if one is not None):
            np.testing.assert_allclose(proba.sum(axis=1), 1, atol=1e-8)
    assert model.predict(right).tolist() == before


LEARNERS = [name for name, model in ESTIMATORS.items() if hasattr(model, "e_step")]


@pytest.mark.parametrize("name", LEARNERS)
@soon
@given(data=st.data(), X=tables, y=st.one_of(st.none(), st.just(LABELS), anything))
def test_learning_in_steps_of_any_kind(name, data, X, y):
    model, right = FITTED[name]
    model = clone(model).set_params(constraints=None)
    chunk = right if data.draw(st.booleans()) else X
    if data.draw(st.booleans()) and hasattr(type(model), "partial_fit") and "gmm" not in name:
        ask(lambda: model.partial_fit(chunk, y), chunk, y)
        ask(lambda: model.partial_fit(right, LABELS))
        ask(lambda: model.partial_fit(X, y), X, y)
        return
    chunks = data.draw(
        st.one_of(st.just([(chunk, y), (right, LABELS)]), st.just([chunk, right]), anything)
    )
    ask(lambda: model.fit_chunks(chunks))
    statistics = ask(lambda: FITTED[name][0].e_step(chunk, y), chunk, y)
    if statistics is not None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            again = ask(lambda: clone(FITTED[name][0]).fit(right, LABELS).m_step(statistics))
        assert again is None or again.predict(right).shape == (10,)
    ask(lambda: clone(model).m_step(data.draw(st.one_of(scalars, anything))))


lines = st.lists(
    st.one_of(
        st.text(max_size=20),
        st.lists(st.sampled_from(
            ["activity", "a", "b", "[", "]", ",", "|", "Response[a, b]", "Absence2[a]", "Init[a] |",
             "Choice", "Existence3[", "bind a: x", "x: integer between 1 and 2", "#", "\t"]
        ), max_size=6).map(" ".join),
    ), max_size=8,
).map("\n".join)  # fmt: skip


@soon
@given(content=st.one_of(lines.map(str.encode), st.binary(max_size=40)))
def test_models_of_declare_of_any_kind(content):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.decl")
        path.write_bytes(content)
        rules = ask(lambda: declare.read_decl(path))
        if rules:
            ask(lambda: declare.write_decl(rules, path))


@soon
@given(model=anything)
def test_models_of_other_packages_of_any_kind(model):
    ask(lambda: declare.from_pm4py(model), model)
    ask(lambda: hmm.from_hmmlearn(model), model)


@soon
@given(data=st.data(), X=tables)
def test_quantizers_of_any_kind(data, X):
    quantizer = HashingQuantizer(data.draw(numbers), n_symbols=data.draw(numbers))
    if ask(lambda: quantizer.fit(X), X) is not None:
        symbols = ask(lambda: quantizer.transform(X), X)
        assert symbols is None or len(symbols) == len(X)
        ask(lambda: quantizer.transform(data.draw(tables)))


@soon
@given(data=st.data(), make=st.sampled_from([datasets.make_chain, datasets.make_protocol]))
def test_generated_data_of_any_kind(data, make):
    known = {"n_sequences": st.one_of(st.integers(1, 3), numbers),
             "n_steps": st.one_of(st.integers(5, 40), st.tuples(numbers, numbers))}  # fmt: skip
    arguments = {name: data.draw(one) for name, one in known.items()}
    for name in inspect.signature(make).parameters:
        if name not in known and name != "return_X_y" and not data.draw(st.integers(0, 4)):
            arguments[name] = data.draw(numbers if name != "activities" else anything)
    found = ask(lambda: make(**arguments))
    assert found is None or len(found.X) == len(found.y)


@soon
@given(data=st.data())
def test_bounds_of_any_kind(data):
    model, right = FITTED["constrained"]
    arguments = drawn(data, metrics.misspecification_bound, right) | {"model": model}
    ask(lambda: metrics.misspecification_bound(**arguments))
