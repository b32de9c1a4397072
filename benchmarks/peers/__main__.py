"""``python -m benchmarks.peers``: every race, and a table of ratios."""

import argparse
import importlib
import importlib.util
import sys
import tempfile
import time
import warnings
from pathlib import Path

from ..machine import describe_machine, one_thread, versions
from ..tables import simple_table, write_csv
from .race import HEADER, SUMMARY, summary

HERE = Path(__file__).parent
RACES = (
    "own", "durations", "rules", "catalogs", "roofline", "chromosome", "paper_times",
    "librosa_viterbi", "crfsuite_perceptron", "dynamax_inference", "expm", "gaps", "conin_map",
    "hmmlearn_inference", "hmmlearn_em", "hmmlearn_small", "pm4py_alignments", "openfst", "msm",
    "everyday",
)  # fmt: skip
PACKAGES = (
    "skchmm", "numpy", "scipy", "scikit-learn", "hmmlearn", "conin", "librosa", "numba",
    "python-crfsuite", "dynamax", "jax", "pm4py", "pynini",
)  # fmt: skip


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="race", help=f"of {', '.join(RACES)}")
    parser.add_argument("--quick", action="store_true", help="small sizes, written elsewhere")
    parser.add_argument("--output", type=Path, default=None, help="folder for table and csv")
    options = parser.parse_args(arguments)
    unknown = set(options.names) - set(RACES)
    if unknown:
        parser.error(f"no race {', '.join(sorted(unknown))}; there are {', '.join(RACES)}")
    output = options.output
    if output is None:
        # The table in the repository is always a whole one.
        whole = not (options.quick or options.names)
        output = HERE if whole else Path(tempfile.mkdtemp(prefix="peers-"))
    lines, missed = run(options.names or RACES, options.quick)
    output.mkdir(parents=True, exist_ok=True)
    write_csv(output / "results.csv", [{"race": race, **line.record()} for race, line in lines])
    (output / "README.rst").write_text(page(lines, missed))
    print(f"\n{output / 'README.rst'}")
    return 0


def run(names, quick):
    """Lines with their race, and races that could not be run with the reason."""
    lines, missed = [], []
    for name in names:
        begin = time.perf_counter()
        try:
            race = importlib.import_module(f"benchmarks.peers.{name}")
            absent = [m for m in race.NEEDS if importlib.util.find_spec(m) is None]
            if absent:
                hint = getattr(race, "HINT", "pip install -e .[bench]")
                missed.append((name, f"{', '.join(absent)} not installed ({hint})"))
            else:
                with one_thread(), warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    for line in race.run(quick):
                        lines.append((name, line))
                        print("  ".join(cell for cell in line.cells() if cell), flush=True)
        except Exception as error:  # one that fails does not stop the others
            missed.append((name, f"{type(error).__name__}: {error}"))
        if missed and missed[-1][0] == name:
            print(f"{name}: {missed[-1][1]}", flush=True)
        print(f"-- {name}: {time.perf_counter() - begin:.0f} s", flush=True)
    return lines, missed


def page(lines, missed):
    found = ", ".join(f"{k} {v}" for k, v in versions(PACKAGES).items() if v is not None)
    parts = [
        "Side by side with other libraries\n=================================",
        "Written by ``python -m benchmarks.peers`` (the peers: ``pip install -e .[bench]``). Same\n"
        "data, same process, taking turns; the shortest of several calls; one thread, unless the\n"
        "work says otherwise. The ratio is the peer's time over ours: more is better for us.",
        f"{describe_machine()}. {found}.",
    ]
    parts.append(
        "What is demanded, over all cases of it (emissions, works, our two classes); a ratio is\n"
        "met where the peer takes at least so many times as long:"
    )
    parts.append(simple_table(SUMMARY, summary([line for _, line in lines])))
    for race in dict.fromkeys(race for race, _ in lines):
        module = sys.modules[f"benchmarks.peers.{race}"]
        rows = [line.cells() for name, line in lines if name == race]
        used = [k for k in range(len(HEADER)) if any(row[k] for row in rows)]
        parts.append(module.__doc__.strip())
        parts.append(simple_table([HEADER[k] for k in used], [[r[k] for k in used] for r in rows]))
    if missed:
        parts.append("Not run:")
        parts += [f"- {name}: {reason}" for name, reason in missed]
    return "\n\n".join(parts) + "\n"


if __name__ == "__main__":
    sys.exit(main())
