"""The examples of the gallery run, and find what they say; the README has what the demo prints."""

import runpy
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
CHECKS = {}


@pytest.fixture(autouse=True)
def quiet(monkeypatch, tmp_path):
    """No windows, an empty data home, scikit-learn's settings as they were."""
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from sklearn import config_context

    monkeypatch.setenv("SKCHMM_DATA", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    with config_context():
        yield
    from matplotlib import pyplot as plt

    plt.close("all")


def run(path, *arguments, monkeypatch):
    monkeypatch.setattr(sys, "argv", [str(path), *arguments])
    return runpy.run_path(str(path), run_name="__main__")


def looks_at(name):
    """Register what to look at in the names of an example and in what it printed."""

    def register(check):
        CHECKS[name] = check
        return check

    return register


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.stem)
def test_examples_find_what_they_say(path, monkeypatch, capsys):
    names = run(path, monkeypatch=monkeypatch)
    CHECKS[path.stem.removeprefix("plot_")](names, capsys.readouterr().out)


def test_the_readme_has_what_the_demo_prints(monkeypatch, tmp_path, capsys):
    picture = tmp_path / "demo.png"
    run(ROOT / "examples" / "plot_genes.py", str(picture), monkeypatch=monkeypatch)
    assert picture.read_bytes().startswith(b"\x89PNG")
    table = capsys.readouterr().out.split("\n\n")[0].splitlines()
    assert len(table) == 5
    readme = (ROOT / "README.rst").read_text()
    assert "\n".join(f"    {line}" for line in table) in readme
    exact = table[-1].split()[-1]
    assert f"{exact} of 44 genes" in readme


# ------------------------------------------------------------------- what is looked at
@looks_at("genes")
def _(names, printed):
    rows = [line.split() for line in printed.splitlines()[1:5]]
    accuracy, valid, exact = ([float(row[k]) for row in rows] for k in (-4, -2, -1))
    assert accuracy == sorted(accuracy)
    assert valid[-1] == 1 > valid[-2]
    assert exact[0] == 0 < exact[-2] < exact[-1]
    assert "114,135 letters" in printed


@looks_at("controllers")
def _(names, printed):
    sizes = [len(controller.accept) for controller in names["controllers"]]
    assert len(names["together"].accept) < 1.5 * sum(sizes)
    assert str(names["together"].shortest_path()) in printed


@looks_at("marginals")
def _(names, printed):
    assert "EndsIn('END')" in printed
    assert names["constrained"].probability(names["question"], names["X"])[0] == names["after"]
    assert printed.count("until step") == 3


@looks_at("protocol")
def _(names, printed):
    plain, ruled = (line.split() for line in printed.splitlines() if "constrained  " in line)
    assert float(plain[3]) < 0.1 < float(ruled[3]) == 1
    assert float(ruled[1]) > float(plain[1]) + 0.1
