"""``python -m benchmarks.soft``: what a soft rule costs, against the same rule made hard."""

import argparse
import sys
import time
from functools import partial
from pathlib import Path

import numpy as np

from skchmm.constraints import (
    AtMostVisits,
    EndsIn,
    ForbiddenEdges,
    LTLf,
    MaxDuration,
    NoReentry,
    Precedence,
    Soft,
    StageMonotone,
    Window,
)

from .machine import describe_machine, one_thread
from .peers.problems import make_problem
from .peers.race import race
from .tables import simple_table, write_csv

RESULTS = Path(__file__).parent / "soft_results"
WORKS = ("predict", "predict_proba")
TEXT = """\
What a soft rule costs
======================

Written by ``python -m benchmarks.soft``. A path may break ``Soft(rule, 2.0)``, so its controller is
that of the hard rule and one more state, "broken", that no path leaves. *With a sink* is a hard
rule whose controller has that very shape: ``rule | EndsIn(...)``, where a path that breaks the rule
goes on. The numbers are times of one call: soft rule over hard rule with a sink, and soft rule over
the hard rule itself. That has fewer nodes; a rule without memory on a few states, or whose paths
never become negligible beside others, may also be answered by a faster kernel. The three take turns
in one process, the shortest of many calls counts, one thread, whose own time is taken. *Size*: the
number of states, of sequences and of their steps.

{machine}. Worst ratio to the rule with a sink: {worst:.2f}; median: {median:.2f}.

"""


def rules(n_states):
    """Name -> rule, over the states 0, 1, ..."""
    return {
        "Precedence": Precedence(0, 1),
        "ForbiddenEdges": ForbiddenEdges([(0, 1), (1, 2), (2, 0)]),
        "NoReentry": NoReentry(0),
        "AtMostVisits, k=5": AtMostVisits(0, 5),
        "MaxDuration, k=10": MaxDuration(0, 10),
        "Window": Window(0, 10, 150),
        "StageMonotone": StageMonotone(list(range(n_states))[:5]),
        "LTLf, response": LTLf("G(0 -> F 1)"),
    }


def compare(problem, rule, seconds):
    """Nodes and times of the soft rule, the hard rule with a sink, and the hard rule."""
    models = {
        "soft": problem.ours(constraints=Soft(rule, 2.0)),
        "sink": problem.ours(constraints=rule | EndsIn(2)),
        "hard": problem.ours(constraints=rule),
    }
    found = {f"{name} nodes": model.graph_.n_nodes for name, model in models.items()}
    found |= {f"{name} edges": model.graph_.n_edges for name, model in models.items()}
    for work in WORKS:
        calls = {
            name: partial(getattr(model, work), problem.X, lengths=problem.lengths)
            for name, model in models.items()
        }
        best = race(calls, seconds=seconds, least=5, most=500, clock=time.thread_time)
        found |= {f"{name} {work}": best[name] for name in models}
    return found


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="python -m benchmarks.soft", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small, and written nowhere")
    parser.add_argument("--output", type=Path, default=None, help="folder for the results")
    parser.add_argument("--seconds", type=float, default=2.0, help="of each function in a race")
    options = parser.parse_args(arguments)
    sizes = [(5, 200, 200), (20, 200, 200), (5, 1, 20_000), (20, 1, 5_000)]
    if options.quick:
        sizes = [(5, 10, 30)]
    records = []
    with one_thread():
        for n_states, n, length in sizes:
            problem = make_problem(n_states, [length] * n)
            size = f"S={n_states}, {n:,} x {length:,}"
            for name, rule in rules(n_states).items():
                found = compare(problem, rule, 0.01 if options.quick else options.seconds)
                records.append({"size": size, "rule": name, **found})
                print("  ".join(map(str, _row(records[-1]))), flush=True)
    output = options.output or (None if options.quick else RESULTS)
    if output is not None:
        output.mkdir(parents=True, exist_ok=True)
        write_csv(output / "soft.csv", records)
        ratios = [r[f"soft {work}"] / r[f"sink {work}"] for r in records for work in WORKS]
        text = TEXT.format(machine=describe_machine(), worst=max(ratios), median=np.median(ratios))
        table = simple_table(HEADER, [_row(record) for record in records])
        (output / "README.rst").write_text(text + table + "\n")
    return 0


HEADER = ["size", "rule", "nodes: soft, with a sink, hard"]
HEADER += [f"{work}: {peer}" for work in WORKS for peer in ("with a sink", "hard")]


def _row(record):
    nodes = ", ".join(str(record[f"{name} nodes"]) for name in ("soft", "sink", "hard"))
    ratios = [
        f"{record[f'soft {work}'] / record[f'{peer} {work}']:.2f}"
        for work in WORKS
        for peer in ("sink", "hard")
    ]
    return [record["size"], record["rule"], nodes, *ratios]


if __name__ == "__main__":
    sys.exit(main())
