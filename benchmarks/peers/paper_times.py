"""The timing table of Patel and Damiano's paper, at its longest sequences."""

from argparse import Namespace

from ..paper import timing
from .race import Line

NEEDS = ()


def run(quick=False):
    report = timing.run(Namespace(quick=quick, seeds=None))
    for record in report.records:
        if record["T"] == 800:
            yield Line("decoding, one sequence", "T=800, S=5", record["method"],
                       record["seconds"], "the paper", timing.PAPER[record["method"]][-1],
                       note="the paper's time is from another machine")  # fmt: skip
