"""README.rst: which file answers which table or figure of the paper, and how it came out."""

import re
from collections import Counter
from pathlib import Path

from ..tables import simple_table
from .report import RESULTS, paragraphs
from .verdicts import RULES, VERDICTS

# In the order of the paper; what it has no word of comes last.
ORDER = (
    "overhead", "completeness", "misspecification", "decoders", "timing", "recovery", "fly",
    "fly_trace", "fly_thresholds", "smarthome", "smarthome_clock", "smarthome_caps", "har",
    "har_quantiser", "har_em", "fly_adapting", "receipt", "soft",
)  # fmt: skip

# Label in the paper's source, what it shows, the reports that answer it.
ANSWERS = (
    ("tab:constraint-catalog-complete", "constraint families and their controllers", "overhead"),
    ("fig:example-graph", "worked example: precedence", "overhead"),
    ("fig:completeness", "completeness of constraints", "completeness"),
    ("tab:sim-comparative", "seven decoders, synthetic chain", "decoders"),
    ("fig:recovery", "parameter recovery", "recovery"),
    ("fig:fly-qualitative", "decoders on one gene", "fly_trace"),
    ("tab:drosophila", "fly genes", "fly"),
    ("tab:casas", "smart homes", "smarthome, smarthome_clock"),
    ("tab:har", "activities under a protocol", "har"),
    ("tab:har-em", "EM on the activities", "har_em"),
    ("fig:visitation-graph", "worked example: visitation", "overhead"),
    ("tab:abl-eta-pres", "ablation: presence threshold", "fly_thresholds"),
    ("tab:abl-Kmax", "ablation: visit cap", "fly_thresholds"),
    ("tab:abl-eta-edge", "ablation: edge evidence", "fly_thresholds"),
    ("tab:abl-Lorder", "ablation: stage-chain cap", "smarthome_caps"),
    ("tab:abl-Lforbid", "ablation: forbidden-edge cap", "smarthome_caps"),
    ("tab:abl-Lnoreentry", "ablation: no-reentry cap", "smarthome_caps"),
    ("tab:abl-bins", "ablation: bins of the quantiser", "har_quantiser"),
    ("tab:abl-K", "ablation: alphabet of the quantiser", "har_quantiser"),
    ("tab:notation", "symbols", "no numbers; our words: doc/user_guide"),
    ("tab:complexity_overhead", "controller overhead by family", "overhead, timing"),
    ("tab:related-comparison", "kinds of methods", "no numbers; doc/user_guide/decoders.rst"),
    ("tab:sim-complexity", "decoding times", "timing"),
    ("tab:recovery", "parameter recovery, deviations", "recovery"),
    ("tab:drosophila-std", "fly genes, deviations", "fly"),
    ("tab:har-std", "activities, deviations", "har"),
    ("tab:casas-std", "smart homes, deviations", "smarthome"),
    ("fig:misspec", "bound under wrong constraints", "misspecification"),
    ("fig:sim-scaling", "decoding times, scaling", "timing"),
)  # fmt: skip
# Numbers that stand in the text alone.
IN_THE_TEXT = (
    ("runtime overhead on fly genes (4.1 times)", "timing"),
    ("reachable against naive controller on fly genes (25 pairs, 5 x 3,888)", "fly"),
    ("controllers of the smart homes (mean sizes)", "smarthome"),
)

INTRODUCTION = """
The paper is Patel and Damiano's, *Controller-Augmented Hidden Markov Models: A Computational
Framework for Constrained Sequential Inference*. This page is written by ``python -m
benchmarks.paper``; some experiments only: ``python -m benchmarks.paper decoders fly``. Where a cell
has two numbers, the first is ours and the second, after the bar, the paper's. Claims of the paper
are hypotheses here: below the tables of each report is what came out, and, where that is something
else, the most likely reason and what supports it.

The paper's data are not at hand: the real tasks run on substitutes of the same kind, and the
synthetic chain is a choice that the text states. Agreement is therefore about orders and sizes of
effects, not about digits.

Seeds and splits are fixed and stated in each report. A second run writes every file again byte for
byte, except ``results/timing.*``: all measured times are there and nowhere else.
"""

MORE_TASKS = """
Beyond the paper there is one further real task, a process log repaired under Declare rules
(receipt). A second one, such as labels of membrane proteins or of sleep stages, was looked for and
not found among data that may be shipped or are at hand without a network, so there is none. Real
images of digits come with scikit-learn, but no real numbers with check digits that they belong to:
they are an example of the gallery (a check digit read by a network) and not an experiment.
"""


def assemble(results=RESULTS, readme=None):
    """The index over the reports that are there."""
    results = Path(results)
    title = "The paper's experiments, run again"
    parts = [f"{title}\n{'=' * len(title)}", paragraphs(INTRODUCTION)]
    parts += [_heading("Verdicts"), paragraphs(RULES), _verdicts(results)]
    parts += [_heading("Tables and figures of the paper"), _answers()]
    parts += ["Numbers that stand only in its text:", _texts()]
    parts += [_heading("Further tasks"), paragraphs(MORE_TASKS)]
    readme = Path(__file__).parent / "README.rst" if readme is None else Path(readme)
    readme.write_text("\n\n".join(parts) + "\n")


def verdicts_of(page):
    """The verdicts in a report, in order."""
    return re.findall(r"^- \*\*([^*]+)\*\*:", page, flags=re.MULTILINE)


def _heading(text):
    return f"{text}\n{'-' * len(text)}"


def _verdicts(results):
    kinds = list(VERDICTS)
    rows = []
    for name in ORDER:
        path = results / f"{name}.rst"
        if not path.exists():
            continue
        page = path.read_text()
        counts = Counter(verdicts_of(page))
        unknown = set(counts) - set(kinds)
        if unknown:
            raise ValueError(f"{path} has verdicts of no known kind: {sorted(unknown)}")
        title = page.split("\n", 1)[0]
        # Times vary, and so may what is said of them.
        shown = ["(measured)"] * len(kinds) if name == "timing" else [counts[k] for k in kinds]
        rows.append([_link(name), title, *shown])
    return simple_table(["report", "about", *kinds], rows)


def _answers():
    rows = [
        [f"``{label}``", what, ", ".join(_link(each) for each in reports.split(", "))]
        for label, what, reports in ANSWERS
    ]
    return simple_table(["label in the paper", "shows", "answered by"], rows)


def _texts():
    return simple_table(["number", "answered by"], [[w, _link(r)] for w, r in IN_THE_TEXT])


def _link(name):
    return f"`{name} <results/{name}.rst>`__" if name in ORDER else name
