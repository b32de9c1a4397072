"""The examples of the gallery run, and find what they say; the README has what the demo prints."""

import math
import re
import runpy
import shutil
import subprocess
import sys
from itertools import groupby
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


@looks_at("chunks")
def _(names, printed):
    assert printed.count("same bits: True") == 2
    assert names["apart"] < 1e-12
    found = names["model"].emission_.means_[names["order"], 0]
    assert found == pytest.approx(names["LEVELS"], abs=0.1)


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
    plain, ruled = (line.split()[-4:] for line in printed.splitlines()[-2:])
    assert float(plain[2]) < 0.1 < float(ruled[2]) == 1
    assert float(ruled[0]) > float(plain[0]) + 0.03
    assert "that were drawn" in printed


@looks_at("adapting")
def _(names, printed):
    learned, adapted = names["right"].values()
    assert adapted.mean() > learned.mean() + 0.03
    assert adapted.mean() > 0.95
    assert "that were drawn" in printed


@looks_at("bio_tags")
def _(names, printed):
    alone, ruled = names["exact"].values()
    assert ruled > alone + 0.1
    assert "with the rules  1.000 of sentences valid" in printed
    assert names["mended"]


@looks_at("casino")
def _(names, printed):
    assert names["learned"][0] == pytest.approx([1 / 6] * 6, abs=0.03)
    assert names["learned"][1] == pytest.approx([0.1] * 5 + [0.5], abs=0.03)
    plain, ruled = names["right"].values()
    assert ruled > plain + 0.05


@looks_at("check_digit")
def _(names, printed):
    alone, ruled = (
        (read == names["numbers"]).all(axis=1).mean() for read in names["read"].values()
    )
    assert ruled > alone + 0.2
    assert not ((names["read"]["with the rule"] @ names["weights"]) % 10).any()
    assert names["right"][names["sure"] > 0.99].mean() > 0.98


@looks_at("durations")
def _(names, printed):
    right = names["right"]
    assert right["hidden Markov"] < right["programme"] < right["semi-Markov, programme"]
    assert right["hidden Markov"] < right["semi-Markov"] < right["semi-Markov, programme"]
    assert right["programme and minutes"] == max(right.values())


@looks_at("earthquakes")
def _(names, printed):
    # Zucchini and MacDonald's value for one state: the numbers are theirs.
    assert names["models"][1].score(names["earthquakes"]) == pytest.approx(-391.9189, abs=1e-4)
    assert names["chosen"] == 2
    assert names["shortest"]["without a rule"] < 5 <= names["shortest"]["at least five years"]


@looks_at("event_log")
def _(names, printed):
    logged, plain, ruled = names["exact"].values()
    assert logged + 0.2 < plain < ruled - 0.02
    assert "1.000 keep the rules" in printed
    assert "that were drawn" in printed


@looks_at("explain")
def _(names, printed):
    assert [rule.to_spec()["type"] for rule in names["why"].constraints] == [
        "StartsIn",
        "EndsIn",
        "MinDuration",
        "AtLeastVisits",
    ]
    assert set(names["why_strange"].steps) == {3, 6, 9}
    assert all(names["possible"].values())


@looks_at("kbest")
def _(names, printed):
    probabilities = [log_prob for log_prob, _ in names["paths"]]
    assert probabilities == sorted(probabilities, reverse=True)
    assert len({names["coding_part"](path) for _, path in names["paths"]}) == 10
    assert 0 < names["n_best"] < names["n_ten"]
    share = names["counts"][names["coding_part"](names["paths"][0][1])] / 1000
    best = math.exp(probabilities[0] - names["total"])
    assert abs(share - best) < 4 * (best * (1 - best) / 1000) ** 0.5


@looks_at("market")
def _(names, printed):
    assert names["n"] == 3
    plain, ruled = names["right"].values()
    assert ruled >= plain > 0.9
    for path in names["decoded"]["a month at least"]:
        assert all(len(run) >= 21 for run in runs_of(path)[:-1])


@looks_at("mining")
def _(names, printed):
    assert len(names["wrong"]) == 3
    assert names["n_wrong"] == {15: 2, 60: 0, 240: 0}
    assert names["right"]["mined"] < names["right"]["no rules"] < names["right"]["true"]


@looks_at("model_selection")
def _(names, printed):
    assert names["best"] == "each once"
    assert names["scores"]["each once"] > names["scores"]["no rules"] + 0.03
    assert names["scores"]["squat, row, press"] < names["scores"]["no rules"]


@looks_at("patients")
def _(names, printed):
    once = [float(line.split()[-6]) for line in printed.splitlines() if "one relapse" in line]
    assert once[0] < once[1] < 0.5 < 0.85 < once[2]
    assert names["right"]["one relapse"] >= names["right"]["without the rule"]


@looks_at("stream")
def _(names, printed):
    right = list(names["right"].values())
    assert right == sorted(right)
    assert right[-1] < names["whole"] + 0.01
    assert all(names["valid"])


def runs_of(path):
    """The maximal runs of a path."""
    return [list(run) for _, run in groupby(path)]


SHARED = ROOT.parent / "shared" / "data"


@pytest.mark.skipif(not SHARED.exists(), reason="the files are not there")
@pytest.mark.parametrize("name", ["adapting", "event_log", "protocol"])
def test_examples_take_real_files_where_there_are_some(name, monkeypatch, capsys):
    monkeypatch.setenv("SKCHMM_DATA", str(SHARED))
    names = run(ROOT / "examples" / f"plot_{name}.py", monkeypatch=monkeypatch)
    printed = capsys.readouterr().out
    assert "drawn" not in printed
    if name == "adapting":
        learned, adapted = names["right"].values()
        assert adapted.mean() > learned.mean() + 0.1
    elif name == "event_log":
        logged, plain, ruled = names["exact"].values()
        assert logged < plain < ruled
    else:
        assert "58 of them follow" in printed


def test_there_are_at_least_sixteen_short_examples():
    assert len(EXAMPLES) >= 16
    lengths = {path.name: len(path.read_text().splitlines()) for path in EXAMPLES}
    assert {name: n for name, n in lengths.items() if not 40 <= n <= 100} == {}


@pytest.mark.skipif(shutil.which("make") is None, reason="needs make")
def test_the_demo_installs_what_it_needs_and_no_more(tmp_path):
    command = ["make", "-n", "-C", str(ROOT), f"VENV={tmp_path / 'venv'}"]
    demo, test = (
        subprocess.run([*command, goal], capture_output=True, text=True, check=True).stdout
        for goal in ("demo", "test")
    )
    assert " plot > " in demo
    assert " test lint > " not in demo
    assert " test lint > " in test
    assert demo.count("pip") < test.count("pip")
    assert re.search(r"SKCHMM_BUILD_JOBS=\d+ .*build_ext --inplace -j \d+", demo)
