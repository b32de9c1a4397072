"""Fixtures that several test files use."""

import pytest

from skchmm._kernels.simd import instructions


@pytest.fixture
def instruction_sets():
    """All that the processor has; afterwards the one that was in use is back."""
    names = {instructions.use_instruction_set(k): k for k in range(3)}
    yield names
    instructions.use_instruction_set(2)
