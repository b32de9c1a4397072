"""Fixtures that several test files use."""

import os

import pytest
from hypothesis import settings

from skchmm._kernels.simd import instructions


@pytest.fixture
def instruction_sets():
    """All that the processor has; afterwards the one that was in use is back."""
    names = {instructions.use_instruction_set(k): k for k in range(3)}
    yield names
    instructions.use_instruction_set(2)


def pytest_collection_modifyitems(items):
    """More or fewer cases of each random test, where SKCHMM_RANDOM_TIMES asks for them."""
    times = float(os.environ.get("SKCHMM_RANDOM_TIMES", "1"))
    tests = {
        getattr(item.obj, "__func__", item.obj)
        for item in items
        if hasattr(item, "obj") and "fuzz" not in item.path.parts  # it has a number of its own
    }
    for test in tests if times != 1 else ():
        known = getattr(test, "_hypothesis_internal_use_settings", None)
        if known is not None:
            more = settings(known, max_examples=max(1, round(times * known.max_examples)))
            test._hypothesis_internal_use_settings = more
