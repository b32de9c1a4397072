"""What an experiment hands over, and how it is written down."""

import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ..tables import simple_table, write_csv

RESULTS = Path(__file__).parent / "results"


@dataclass
class Table:
    caption: str
    header: list
    rows: list


@dataclass
class Report:
    """One experiment: text, tables, findings, every number (records) and perhaps a picture.

    ``measured`` is True where numbers are times, which no second run repeats to the digit.
    """

    name: str
    title: str
    text: str
    tables: list
    findings: list
    records: list
    draw: Callable | None = None  # takes a matplotlib Figure
    size: tuple = (7.0, 3.2)
    measured: bool = False

    def rst(self):
        parts = [f"{self.title}\n{'=' * len(self.title)}", paragraphs(self.text)]
        for table in self.tables:
            parts += [paragraphs(table.caption), simple_table(table.header, table.rows)]
        if self.findings:
            known = any(finding.verdict != "beyond" for finding in self.findings)
            parts.append(f"What {'the paper says, and what ' if known else ''}came out:")
            parts += [_bullet(finding) for finding in self.findings]
        if self.draw is not None:
            parts.append(f".. image:: {self.name}.png")
        return "\n\n".join(parts) + "\n"

    def write(self, folder):
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        # The last digits of a double differ between processors.
        decimals = None if self.measured else 6
        write_csv(folder / f"{self.name}.csv", self.records, decimals=decimals)
        (folder / f"{self.name}.rst").write_text(self.rst())
        if self.draw is not None:
            import matplotlib

            matplotlib.use("Agg")
            from matplotlib.figure import Figure

            figure = Figure(figsize=self.size, layout="constrained")
            self.draw(figure)
            figure.savefig(folder / f"{self.name}.png", dpi=90)


def number(value, digits=3):
    """Fixed digits, and never -0.000."""
    return f"{round(float(value), digits) + 0.0:.{digits}f}"


def mean_std(values, digits=3):
    return f"{number(np.mean(values), digits)} ({number(np.std(values), digits)})"


def beside(ours, paper):
    """A cell: ours | the paper's, if it has one."""
    return f"{ours} | {paper}" if paper not in ("", None) else str(ours)


def paragraphs(text):
    blocks = textwrap.dedent(text).strip().split("\n\n")
    return "\n\n".join(_fill(" ".join(block.split())) for block in blocks)


def _bullet(finding):
    text = f"**{finding.verdict}**: {finding.claim} Here: {finding.ours}"
    if finding.reason:
        text += f" *Likely reason:* {finding.reason}"
    return _fill(text, initial_indent="- ", subsequent_indent="  ")


def _fill(text, **indents):
    # A name such as *crf-gauss* must not be cut, nor a link.
    return textwrap.fill(text, 100, break_on_hyphens=False, break_long_words=False, **indents)
