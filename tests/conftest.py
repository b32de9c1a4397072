"""Fixtures that several test files use."""

import pytest

from skchmm._kernels import layout


@pytest.fixture
def instruction_sets():
    """All that the processor has; afterwards the one that was in use is back."""
    names = {layout.use_instruction_set(k): k for k in range(3)}
    yield names
    layout.use_instruction_set(2)
