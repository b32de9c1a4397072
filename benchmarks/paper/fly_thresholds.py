"""Ablations: the thresholds of mining, on the fly genes."""

import numpy as np

from skchmm import ConstrainedHMM, ConstraintMiner

from . import fly
from .report import Report, Table, beside, number
from .suite import METRICS, evaluate
from .verdicts import Finding, same_level

FILES = fly.FILES
PAPER = (0.734, 0.391, 1.000, 0.463)  # the same in every row of the three tables
# Parameter -> values, the rules it acts on, and how many of them the paper keeps throughout.
SWEEPS = {
    "min_presence": ((0.1, 0.3, 0.5, 0.7, 0.9), "Precedence", 4),
    "max_visits": ((2, 3, 5, 10, 20), "ExactVisits", 5),
    "min_edge_count": ((1, 5, 10, 20, 50), "ForbiddenEdges", 16),
}

TEXT = """
The genes, the split and chmm of the report on fly genes ({n_train} training and {n_test} test
genes), with one threshold of ``ConstraintMiner`` changed at a time: the share of transcripts in
which the later label of a precedence has to occur (``min_presence``, the paper's eta_pres), the
largest number of visits to ask for (``max_visits``, K_max), and the evidence that a forbidden edge
needs (``min_edge_count``, eta_edge). *Rules* counts those that the threshold acts on.
"""


def run(options):
    genes = fly.load(options)
    decoded = {}  # most thresholds give the same rules
    records, tables = [], []
    for parameter, (values, kind, n_paper) in SWEEPS.items():
        rows = []
        for value in values:
            rules = ConstraintMiner(**{parameter: value}).fit(genes.y).constraints_
            key = repr(rules)
            if key not in decoded:
                decoded[key] = _means(genes, rules)
            found = decoded[key]
            n_rules = count(rules, kind)
            records.append({"parameter": parameter, "value": value, "rules": n_rules, **found})
            cells = [beside(number(found[m]), number(p)) for m, p in zip(METRICS, PAPER)]
            rows.append([value, beside(n_rules, n_paper), *cells])
        tables.append(
            Table(f"``{parameter}``, acting on {kind} | the paper's:",
                  [parameter, "rules", *METRICS], rows)
        )  # fmt: skip
    return Report(
        "fly_thresholds",
        "Ablation: mining thresholds on the fly genes",
        TEXT.format(n_train=len(genes.X), n_test=len(genes.X_test)),
        tables,
        _findings(records),
        records,
    )


def count(rules, kind):
    """How many rules of a kind; forbidden edges are counted one by one."""
    found = [rule for rule in rules if type(rule).__name__ == kind]
    return sum(len(rule.edges) for rule in found) if kind == "ForbiddenEdges" else len(found)


def _means(genes, rules):
    model = ConstrainedHMM(states=genes.states, constraints=rules).fit(genes.X, genes.y)
    predicted = model.predict(genes.X_test)
    scores = evaluate(genes.y_test, predicted, rules, fly.TOLERANCE)
    return {metric: float(np.mean(scores[metric])) for metric in METRICS}


def _findings(records):
    found = []
    for parameter, (values, kind, n_paper) in SWEEPS.items():
        ours = [r for r in records if r["parameter"] == parameter]
        counts = {r["rules"] for r in ours}
        spread = max(np.ptp([r[m] for r in ours]) for m in METRICS)
        found.append(
            Finding(
                f"From {values[0]} to {values[-1]}, {parameter} changes neither the {n_paper} "
                f"{kind} rules nor any score.",
                f"{' or '.join(map(str, sorted(counts)))} rules; the scores move by at most "
                f"{number(spread)}.",
                counts == {n_paper} and spread == 0,
                "A threshold binds here: some labels are rare in the smaller set.",
            )
        )
    valid = min(r["validity"] for r in records)
    found.append(
        Finding("chmm is valid at every setting.", f"lowest validity {number(valid)}.", valid == 1)
    )
    default = next(r for r in records if (r["parameter"], r["value"]) == ("max_visits", 5))
    level = [same_level(default[m], p) for m, p in zip(METRICS, PAPER)]
    found.append(
        Finding(
            f"The scores are {', '.join(f'{m} {p:.3f}' for m, p in zip(METRICS, PAPER))}.",
            ", ".join(f"{m} {default[m]:.3f}" for m in METRICS) + ".",
            "agrees" if all(level) else "differs",
            "The generative models do better on these genes to begin with; the report on fly genes "
            "says what was tried to find out why.",
        )
    )
    return found
