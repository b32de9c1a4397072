"""The experiments run, write what they should, and say the truth about validity."""

import csv

import pytest

from benchmarks.paper import families
from benchmarks.paper.__main__ import main
from benchmarks.paper.report import Finding, Report, Table, assemble
from skchmm import compile, satisfies

pytest.importorskip("matplotlib")


@pytest.mark.parametrize("name", ["decoders", "misspecification", "recovery"])
def test_an_experiment_writes_its_table_numbers_and_figure(name, tmp_path, capsys):
    assert main([name, "--quick", "--seeds", "1", "--output", str(tmp_path)]) == 0
    page = (tmp_path / f"{name}.rst").read_text()
    assert page.strip() in capsys.readouterr().out
    assert (tmp_path / f"{name}.png").read_bytes().startswith(b"\x89PNG")
    with open(tmp_path / f"{name}.csv") as file:
        rows = list(csv.DictReader(file))
    if name == "decoders":
        assert [row["validity"] for row in rows if row["method"] == "chmm"] == ["1"]
        assert len(rows) == 7
    elif name == "misspecification":
        assert all(row["holds"] == "True" for row in rows)
    else:
        assert all(row["never down"] == "True" for row in rows)


def test_without_data_an_experiment_is_skipped(tmp_path, capsys):
    assert main(["fly", "--data", str(tmp_path), "--output", str(tmp_path / "out")]) == 0
    assert "skipped" in capsys.readouterr().out
    assert not (tmp_path / "out").exists()


def test_reports_are_assembled_in_the_order_of_the_paper(tmp_path):
    for name in ("recovery", "decoders"):
        finding = Finding("It holds.", "it does not.", False, "Because.")
        table = Table("Numbers:", ["a", "b"], [["x", "1"], ["", "2"]])
        Report(name, name.title(), "Text.", [table], [finding], [{"a": 1.0}]).write(tmp_path)
    assemble(tmp_path, tmp_path / "README.rst")
    page = (tmp_path / "README.rst").read_text()
    assert page.index("Decoders\n----") < page.index("Recovery\n----")
    assert "- **differs**: It holds. Here: it does not. Because." in page


@pytest.mark.parametrize(
    "path, n_back", [([1, 2, 3], 0), ([1, 2, 1, 2], 1), ([3, 2, 1], 2), ([2, 2, 1, 1], 1)]
)
def test_steps_back_are_counted(path, n_back):
    for k in range(4):
        assert families.at_most_backward(k).accepts(path) == (n_back <= k)


def test_complete_rules_imply_partial_ones():
    import numpy as np

    rng = np.random.default_rng(0)
    for family in families.FAMILIES:
        whole = compile(families.true_constraints(family), families.STATES)
        for alpha in (0.1, 0.5, 0.9):
            part = families.partial_constraints(family, alpha, rng)
            assert (whole & ~compile(part, families.STATES)).is_empty()
    assert satisfies([1, 2, 3, 4, 5], families.true_constraints("stages"), families.STATES)
