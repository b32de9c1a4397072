"""The examples of the gallery run; the demo prints what the README says."""

import re
import runpy
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))


@pytest.fixture(autouse=True)
def no_windows():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from sklearn import config_context

    with config_context():
        yield
    from matplotlib import pyplot as plt

    plt.close("all")


def run(path, *arguments, monkeypatch):
    monkeypatch.setattr(sys, "argv", [str(path), *arguments])
    return runpy.run_path(str(path), run_name="__main__")


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.stem)
def test_examples_run(path, monkeypatch):
    run(path, monkeypatch=monkeypatch)


def test_the_demo_does_what_the_readme_says(monkeypatch, tmp_path, capsys):
    picture = tmp_path / "demo.png"
    run(ROOT / "examples" / "plot_demo.py", str(picture), monkeypatch=monkeypatch)
    assert picture.read_bytes().startswith(b"\x89PNG")
    printed = capsys.readouterr().out
    readme = (ROOT / "README.rst").read_text()
    for name in ("unconstrained", "constrained"):
        row = re.compile(rf"^ *{name}((?: +\d\.\d\d\d){{4}})", re.MULTILINE)
        said, found = (
            [float(x) for x in row.search(text)[1].split()] for text in (readme, printed)
        )
        # Another scikit-learn or compiler may move a step or two.
        assert found == pytest.approx(said, abs=0.003)
