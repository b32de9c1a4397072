"""The races are fair, the table tells what was met, and a failure stops nobody."""

import sys
import time
import types

import pytest

from benchmarks.peers import __main__ as peers
from benchmarks.peers.race import Line, race, summary


def test_functions_take_turns_after_a_warm_up():
    calls = []
    functions = {"a": lambda: calls.append("a"), "b": lambda: calls.append("b")}
    best = race(functions, seconds=10.0, most=3)
    assert calls == ["a", "b", "a", "b", "b", "a", "a", "b"]  # another one begins each time
    assert set(best) == {"a", "b"} and all(0 <= value < 1 for value in best.values())


def test_the_shortest_call_counts():
    pauses = iter([0.0, 0.02, 0.001, 0.02])
    best = race({"a": lambda: time.sleep(next(pauses))}, seconds=10.0, most=3)
    assert 0.001 <= best["a"] < 0.02


@pytest.mark.parametrize(
    "value, peer, demands, met",
    [
        (1.0, 5.0, {"at_least": 4}, True),
        (1.0, 3.0, {"at_least": 4}, False),
        (1.0, None, {"at_most": 2}, True),
        (3.0, None, {"at_most": 2}, False),
        (1.0, 0.4, {"at_least": 0.5, "at_most": 2}, True),
        (1.0, 5.0, {}, None),
    ],
)
def test_a_line_knows_whether_its_demand_is_met(value, peer, demands, met):
    line = Line("work", "size", "ours", value, "peer", peer, demand="d", **demands)
    assert line.met is met
    assert len(summary([line])) == (met is not None)


def test_a_race_that_fails_or_misses_its_peer_does_not_stop_the_others(monkeypatch, tmp_path):
    def module(name, run, needs=()):
        one = types.ModuleType(f"benchmarks.peers.{name}", doc=f"The race {name}.")
        one.run, one.NEEDS = run, needs
        monkeypatch.setitem(sys.modules, one.__name__, one)

    def fails(quick):
        yield Line("half", "small", "ours", 1e-3)
        raise ValueError("no luck")

    module("fails", fails)
    module("absent", lambda quick: [], needs=("no_such_package",))
    module("works", lambda quick: [Line("whole", "big", "ours", 2e-3, "theirs", 4e-3)])
    lines, missed = peers.run(["fails", "absent", "works"], quick=True)
    assert [line.work for _, line in lines] == ["half", "whole"]
    page = peers.page(lines, missed)
    assert "no luck" in page and "no_such_package not installed" in page and "2x" in page


def test_real_races_run(tmp_path):
    assert peers.main(["expm", "paper_times", "--quick", "--output", str(tmp_path)]) == 0
    page = (tmp_path / "README.rst").read_text()
    assert "same" in page and "another machine" in page
    assert (tmp_path / "results.csv").read_text().count("\n") == 1 + 2 + 7
