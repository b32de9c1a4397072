"""``python -m benchmarks.paper [NAME ...]``: run experiments, print and write their reports."""

import argparse
import importlib
import os
import sys
import tempfile
import time
import warnings
from pathlib import Path

from .index import ORDER, assemble
from .report import RESULTS

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="python -m benchmarks.paper", description=__doc__)
    parser.add_argument("name", nargs="*", default="all", choices=[*ORDER, "all"],
                        help="experiments, by default all")  # fmt: skip
    parser.add_argument("--seeds", type=int, default=None, help="how many (default: the paper's)")
    parser.add_argument("--quick", action="store_true", help="small, and written elsewhere")
    parser.add_argument("--data", default=os.environ.get("SKCHMM_BENCH_DATA", DATA), type=Path,
                        help="folder with fly/, fly4/, har/, smarthome/ and receipt/")  # fmt: skip
    parser.add_argument("--output", type=Path, default=None, help="folder for the results")
    parser.add_argument("--check", action="store_true",
                        help="write elsewhere; fail if committed results differ")  # fmt: skip
    options = parser.parse_args(arguments)
    output = options.output
    if output is None:
        elsewhere = options.quick or options.check
        output = Path(tempfile.mkdtemp(prefix="paper-")) if elsewhere else RESULTS
    changed = []
    for name in ORDER if "all" in options.name else dict.fromkeys(options.name):
        experiment = importlib.import_module(f"benchmarks.paper.{name}")
        missing = [f for f in getattr(experiment, "FILES", ()) if not (options.data / f).exists()]
        if missing:
            print(f"{name}: skipped, no {options.data / missing[0]} (--data says where)\n")
            continue
        begin = time.perf_counter()
        with warnings.catch_warnings():
            # Baselines say what they do not enforce; here that is the point.
            warnings.simplefilter("ignore")
            report = experiment.run(options)
        report.write(output)
        print(report.rst())
        print(f"({time.perf_counter() - begin:.0f} s; {output / name}.*)\n", flush=True)
        if options.check and not report.measured:
            changed += [f.name for f in output.glob(f"{name}.*") if not _same(f, RESULTS / f.name)]
    if output == RESULTS:
        assemble()
    if changed:
        print(f"not as committed: {', '.join(sorted(changed))} (the new ones are in {output})")
    return 1 if changed else 0


def _same(a, b):
    return b.exists() and a.read_bytes() == b.read_bytes()


if __name__ == "__main__":
    sys.exit(main())
