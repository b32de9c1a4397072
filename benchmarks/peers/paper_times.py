"""The timing table of Patel and Damiano's paper, at its longest sequences."""

from ..paper import timing
from .race import Line

NEEDS = ()


def run(quick=False):
    longest = timing.LENGTHS[-1]
    for record in timing.by_length([longest], quick):
        yield Line("decoding, one sequence", f"T={longest}, S=5", record["method"],
                   record["seconds"], "the paper", timing.PAPER[record["method"]][-1],
                   note="the paper's time is from another machine")  # fmt: skip
