"""hmmlearn's own tests, unchanged, with skchmm.hmm in its place."""

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("hmmlearn")

ROOT = Path(__file__).parents[2]
TOOL = ROOT.parent / "shared" / "tools" / "run_hmmlearn_tests.py"
# test_variational_gaussian.py spends a quarter of an hour on hmmlearn's own variational models
FILES = [
    "test_categorical_hmm.py",
    "test_gaussian_hmm.py",
    "test_gmm_hmm.py",
    "test_gmm_hmm_multisequence.py",
    "test_gmm_hmm_new.py",
    "test_multinomial_hmm.py",
    "test_poisson_hmm.py",
    "test_variational_categorical.py",
]


@pytest.mark.skipif(not TOOL.exists(), reason="the tool that swaps modules is not there")
def test_their_tests_pass():
    files = [argument for name in FILES for argument in ("--files", name)]
    done = subprocess.run(
        [sys.executable, str(TOOL), "--standin", "skchmm.hmm", "--group", "public", "--group",
         "private", *files],
        cwd=ROOT, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
