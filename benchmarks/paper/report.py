"""What an experiment hands over, and how it is written down."""

import textwrap
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from ..tables import simple_table, write_csv

HERE = Path(__file__).parent
RESULTS = HERE / "results"
ORDER = (
    "completeness", "misspecification", "decoders", "timing", "recovery", "fly", "har", "smarthome"
)  # fmt: skip

INTRODUCTION = """\
The paper's experiments, run again
==================================

Written by ``python -m benchmarks.paper all``; one experiment: ``python -m benchmarks.paper
decoders``. Seeds are fixed. Every number is in ``results/*.csv``. Where a table has two numbers in
a cell, the first is ours and the second, after the bar, the paper's. Claims of the paper are
hypotheses here: below each table is what came out.

The paper's data are not at hand: the real tasks run on substitutes of the same kind, and the
synthetic chain is a choice that the text states. Agreement is therefore about orders and sizes of
effects, not about digits.
"""


@dataclass
class Table:
    caption: str
    header: list
    rows: list


@dataclass
class Finding:
    """A claim of the paper and what came out here."""

    claim: str
    ours: str
    agrees: bool | str
    why: str = ""

    @property
    def verdict(self):
        if isinstance(self.agrees, str):
            return self.agrees
        return "agrees" if self.agrees else "differs"


@dataclass
class Report:
    name: str
    title: str
    text: str
    tables: list
    findings: list
    records: list
    draw: Callable | None = None  # takes a matplotlib Figure
    size: tuple = (7.0, 3.2)
    notes: list = field(default_factory=list)

    def rst(self):
        parts = [f"{self.title}\n{'-' * len(self.title)}", _paragraphs(self.text)]
        for table in self.tables:
            parts += [_paragraphs(table.caption), simple_table(table.header, table.rows)]
        if self.findings:
            parts.append("What the paper says, and what came out:")
            parts += [_bullet(finding) for finding in self.findings]
        parts += [_paragraphs(note) for note in self.notes]
        if self.draw is not None:
            parts.append(f".. image:: results/{self.name}.png")
        return "\n\n".join(parts) + "\n"

    def write(self, folder):
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        write_csv(folder / f"{self.name}.csv", self.records)
        (folder / f"{self.name}.rst").write_text(self.rst())
        if self.draw is not None:
            import matplotlib

            matplotlib.use("Agg")
            from matplotlib.figure import Figure

            figure = Figure(figsize=self.size, layout="constrained")
            self.draw(figure)
            figure.savefig(folder / f"{self.name}.png", dpi=90)


def assemble(results=RESULTS, readme=HERE / "README.rst"):
    """Put the parts that are there together."""
    parts = [results / f"{name}.rst" for name in ORDER]
    readme.write_text("\n\n".join([INTRODUCTION, *(p.read_text() for p in parts if p.exists())]))


def mean_std(values, digits=3):
    values = np.asarray(values, dtype=float)
    return f"{values.mean():.{digits}f} ({values.std():.{digits}f})"


def _paragraphs(text):
    blocks = textwrap.dedent(text).strip().split("\n\n")
    return "\n\n".join(textwrap.fill(" ".join(block.split()), 100) for block in blocks)


def _bullet(finding):
    text = f"**{finding.verdict}**: {finding.claim} Here: {finding.ours}"
    if finding.why:
        text += f" {finding.why}"
    return textwrap.fill(text, 100, initial_indent="- ", subsequent_indent="  ")
