"""``python -m benchmarks.growth``: how time grows, as figures with fitted exponents."""

import argparse
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np

from skchmm.constraints import AtMostVisits, MinDuration

from .machine import describe_machine, one_thread
from .peers.problems import make_problem
from .peers.race import race, show
from .tables import simple_table, write_csv

RESULTS = Path(__file__).parent / "growth_results"
WORKS = {"Viterbi": "predict", "posteriors": "predict_proba", "EM": None}
TEXT = """\
How time grows
==============

Written by ``python -m benchmarks.growth``. The exponent is the slope of log time on log size over
the larger half of the sizes, where fixed costs no longer count. What theory says: 1 in the length
of a sequence, in the number of sequences and in the size of the controller (edges grow with it), 2
in the number of states. *EM* is a fit of one iteration, with the E-step that ends it.
"""


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="python -m benchmarks.growth", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small sizes, written elsewhere")
    parser.add_argument("--output", type=Path, default=None, help="folder for the results")
    parser.add_argument("--only", help="one axis, whose table and figure get files of their own")
    options = parser.parse_args(arguments)
    output = options.output
    if output is None:
        output = Path(tempfile.mkdtemp(prefix="growth-")) if options.quick else RESULTS
    output.mkdir(parents=True, exist_ok=True)
    with one_thread(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # one iteration of EM does not converge
        records = [
            {"axis": axis, "size": size, "work": work, "seconds": seconds}
            for axis, sizes, build in axes(options.quick)
            if options.only in (None, axis)
            for size in sizes
            for work, seconds in measure(build(size)).items()
        ]
    if options.only is not None:
        name = options.only.replace(" ", "_")
        write_csv(output / f"{name}.csv", records)
        draw(records, output / f"{name}.png")
        print(table(records), output, sep="\n")
        return 0
    write_csv(output / "growth.csv", records)
    page = f"{TEXT}\n{describe_machine()}.\n\n{table(records)}\n\n.. image:: growth.png\n"
    (output / "README.rst").write_text(page)
    draw(records, output / "growth.png")
    print(page, output, sep="\n")
    return 0


def axes(quick):
    """Name, sizes, and the problem with its constraints for a size."""
    cut = 10 if quick else 1
    yield "length T", [n // cut for n in (1_000, 4_000, 16_000, 64_000, 256_000)], (
        lambda n: (make_problem(5, [n]), None)
    )  # fmt: skip
    yield "states S", (4, 8, 16, 32) if quick else (4, 8, 16, 32, 64, 128), (
        lambda n: (make_problem(n, [2_000 // cut]), None)
    )  # fmt: skip
    yield "controller states", (2, 8, 32) if quick else (2, 4, 8, 16, 32, 64, 128), (
        lambda n: (make_problem(8, [5_000 // cut]), AtMostVisits(0, n - 1))
    )  # fmt: skip
    yield "minimum duration", (2, 10, 100) if quick else (2, 5, 10, 30, 100, 1_000, 10_000), (
        lambda n: (make_problem(5, [20_000 // cut]), [MinDuration(k, n) for k in range(5)])
    )  # fmt: skip
    yield "sequences", [n // cut for n in (100, 400, 1_600, 6_400)], (
        lambda n: (make_problem(5, [200] * n), None)
    )  # fmt: skip


def measure(case):
    """Work -> seconds."""
    problem, constraints = case
    model = problem.ours(constraints=constraints)
    where = {"lengths": problem.lengths}
    functions = {
        work: (lambda method=method: getattr(model, method)(problem.X, **where))
        for work, method in WORKS.items()
        if method
    }
    learner = problem.ours(constraints=constraints, init="fitted", n_iter=1, tol=0.0)
    functions["EM"] = lambda: learner.fit(problem.X, **where)
    return race(functions, seconds=0.2, most=20)


def exponent(sizes, seconds):
    half = len(sizes) // 2
    return float(np.polyfit(np.log(sizes[half:]), np.log(seconds[half:]), 1)[0])


def curves(records):
    """(axis, work) -> sizes, seconds."""
    found = {}
    for record in records:
        sizes, seconds = found.setdefault((record["axis"], record["work"]), ([], []))
        sizes.append(record["size"])
        seconds.append(record["seconds"])
    return found


def table(records):
    rows = [
        [axis, work, f"{sizes[0]:,} to {sizes[-1]:,}",
         f"{show(seconds[0], 's')} to {show(seconds[-1], 's')}",
         f"{exponent(sizes, seconds):.2f}"]
        for (axis, work), (sizes, seconds) in curves(records).items()
    ]  # fmt: skip
    return simple_table(["axis", "work", "sizes", "time", "exponent"], rows)


def draw(records, path):
    from matplotlib.figure import Figure

    found = curves(records)
    names = list(dict.fromkeys(axis for axis, _ in found))
    figure = Figure(figsize=(3 * len(names), 3), layout="constrained")
    for panel, name in zip(figure.subplots(1, len(names), squeeze=False)[0], names):
        for work in WORKS:
            sizes, seconds = found[name, work]
            label = f"{work}, {exponent(sizes, seconds):.2f}"
            panel.loglog(sizes, seconds, "o-", ms=3, label=label)
        panel.set_xlabel(name, fontsize=8)
        panel.tick_params(labelsize=7)
        panel.legend(fontsize=6, title="exponent", title_fontsize=6)
    figure.axes[0].set_ylabel("seconds", fontsize=8)
    figure.savefig(path, dpi=90)


if __name__ == "__main__":
    sys.exit(main())
