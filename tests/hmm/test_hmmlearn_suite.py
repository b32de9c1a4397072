"""hmmlearn's own tests, unchanged, with skchmm.hmm and skchmm.vhmm in the place of its modules."""

import subprocess
import sys
from pathlib import Path

import pytest

hmmlearn = pytest.importorskip("hmmlearn", reason="hmmlearn is not installed")

ROOT = Path(__file__).parents[2]
TOOL = Path(__file__).with_name("run_hmmlearn_tests.py")
THEIRS = Path(hmmlearn.__file__).parent / "tests"
FILES = [
    "test_categorical_hmm.py",
    "test_gaussian_hmm.py",
    "test_gmm_hmm.py",
    "test_gmm_hmm_multisequence.py",
    "test_gmm_hmm_new.py",
    "test_multinomial_hmm.py",
    "test_poisson_hmm.py",
]
VARIATIONAL = [
    "test_kl_divergence.py",
    "test_variational_categorical.py",
    "test_variational_gaussian.py",
]
OURS = ["vhmm=skchmm.vhmm", "_kl_divergence=skchmm.vhmm.divergences"]


@pytest.mark.skipif(
    not (THEIRS / "__init__.py").exists(),
    reason="this copy of hmmlearn has no tests in it; those from PyPI do",
)
@pytest.mark.parametrize(
    ("files", "replaced"), [(FILES, []), (VARIATIONAL, OURS)], ids=["hmm", "vhmm"]
)
def test_their_tests_pass(files, replaced):
    files = [argument for name in files for argument in ("--files", name)]
    replaced = [argument for pair in replaced for argument in ("--replace", pair)]
    done = subprocess.run(
        [sys.executable, str(TOOL), "--standin", "skchmm.hmm", *replaced, "--group", "public",
         "--group", "private", *files],
        cwd=ROOT, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
