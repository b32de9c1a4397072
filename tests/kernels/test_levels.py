"""The environment variable that limits the vector instructions."""

import os
import subprocess
import sys

import pytest

from skchmm._kernels.simd import instructions

CODE = "from skchmm._kernels.simd.instructions import instruction_set; print(instruction_set())"


def level_with(value):
    done = subprocess.run(
        [sys.executable, "-c", CODE],
        env=os.environ | {"SKCHMM_SIMD": value},
        capture_output=True,
        text=True,
    )
    return done.stdout.strip() or done.stderr


@pytest.mark.parametrize(
    ("value", "at_most"), [("plain", 0), (" AVX2 ", 1), ("neon", 1), ("avx512", 2), ("", 2)]
)
def test_levels_by_name(value, at_most, instruction_sets):
    assert level_with(value) == instructions.use_instruction_set(at_most)


def test_an_unknown_level_is_an_error_that_lists_the_others():
    assert "SKCHMM_SIMD is 'sse9'; it may be one of plain, avx2, neon, avx512" in level_with("sse9")
