"""Ablations: how much may be mined in a smart home."""

import numpy as np

from . import smarthome
from .report import Report, Table, beside, number
from .suite import METRICS, evaluate
from .verdicts import FACTOR, Finding, difference, same_level

FILES = smarthome.FILES
# Cap -> value -> the paper's median and largest |C|, then the four scores.
PAPER = {
    "max_stages": {
        3: (2.0, 32, 0.402, 0.234, 1.000, 0.372),
        4: (2.0, 40, 0.402, 0.234, 1.000, 0.372),
        6: (2.0, 48, 0.402, 0.234, 1.000, 0.372),
        8: (2.0, 48, 0.402, 0.234, 1.000, 0.372),
        12: (2.0, 48, 0.402, 0.234, 1.000, 0.372),
    },
    "max_forbidden": {
        4: (2.0, 48, 0.418, 0.256, 1.000, 0.398),
        8: (2.0, 48, 0.398, 0.242, 1.000, 0.375),
        12: (2.0, 48, 0.402, 0.234, 1.000, 0.372),
        20: (2.0, 48, 0.363, 0.207, 1.000, 0.364),
        50: (2.0, 48, 0.315, 0.169, 1.000, 0.354),
    },
    "max_no_reentry": {
        0: (1.0, 6, 0.401, 0.238, 1.000, 0.373),
        1: (2.0, 12, 0.404, 0.238, 1.000, 0.372),
        3: (2.0, 48, 0.402, 0.234, 1.000, 0.372),
        5: (2.0, 192, 0.401, 0.233, 1.000, 0.371),
        8: (2.0, 192, 0.401, 0.233, 1.000, 0.371),
    },
}
NAMES = {
    "max_stages": "stage chain",
    "max_forbidden": "forbidden edges",
    "max_no_reentry": "no-reentry activities",
}

TEXT = """
The home, the {folds} blocks of days and ct-chmm of the report on the smart home, with one cap of
``ConstraintMiner`` changed at a time and the others at {caps}. *Kept*: the mean number that was
mined under the cap; *true*: the share of the true test days that satisfy all mined rules. *Median*
and *largest* are controller states over the blocks by the paper's catalog, *minimal* the same two
as they compile.
"""


def run(options):
    home = smarthome.load(options)
    found = {
        (cap, value): _sweep(home, {cap: value})
        for cap, values in PAPER.items()
        for value in values
    }
    tables = [_table(cap, found) for cap in PAPER]
    records = [
        {"cap": cap, "value": value, **each["sizes"],
         **{metric: float(np.mean(each["scores"][metric])) for metric in METRICS}}
        for (cap, value), each in found.items()
    ]  # fmt: skip
    return Report(
        "smarthome_caps",
        "Ablation: controller caps in the smart home",
        TEXT.format(folds=len(home.folds), caps=tuple(smarthome.CAPS.values())),
        tables,
        _findings(found),
        records,
    )


def _sweep(home, caps):
    scores, sizes, truth = {metric: [] for metric in METRICS}, [], []
    for train, test in home.folds:
        rules = smarthome.mine(smarthome.pick(home.y, train), **caps)
        y_test = smarthome.pick(home.y, test)
        predicted = smarthome.predict_timed(home, train, test, rules)
        for metric, values in evaluate(y_test, predicted, rules).items():
            scores[metric] += values.tolist()
        truth += evaluate(y_test, y_test, rules)["validity"].tolist()
        sizes.append(smarthome.controller_sizes(rules, home.states))

    def over_blocks(function, name):
        return float(function([each[name] for each in sizes]))

    return {
        "scores": scores,
        "true": np.array(truth),
        "kept": {
            "max_stages": over_blocks(np.mean, "stages in the chain"),
            "max_forbidden": over_blocks(np.mean, "forbidden edges"),
            "max_no_reentry": over_blocks(np.mean, "no-reentry activities"),
        },
        "sizes": {
            "median": over_blocks(np.median, "controller states (catalog)"),
            "largest": over_blocks(np.max, "controller states (catalog)"),
            "median minimal": over_blocks(np.median, "controller states (minimal)"),
            "largest minimal": over_blocks(np.max, "controller states (minimal)"),
        },
    }


def _table(cap, found):
    rows = []
    for value, (median, largest, *scores) in PAPER[cap].items():
        each = found[cap, value]
        sizes = each["sizes"]
        rows.append([
            value,
            f"{each['kept'][cap]:.2f}",
            number(each["true"].mean(), 2),
            beside(f"{sizes['median']:g}", f"{median:g}"),
            beside(f"{sizes['largest']:g}", largest),
            f"{sizes['median minimal']:g}, {sizes['largest minimal']:g}",
            *(beside(number(np.mean(each["scores"][m])), number(p))
              for m, p in zip(METRICS, scores)),
        ])  # fmt: skip
    header = [cap, "kept", "true", "median", "largest", "minimal", *METRICS]
    return Table(f"Cap on the {NAMES[cap]} | the paper's:", header, rows)


def _findings(found):
    findings = []
    for cap in ("max_stages", "max_no_reentry"):
        values = list(PAPER[cap])
        moves = {
            metric: np.ptp([np.mean(found[cap, v]["scores"][metric]) for v in values])
            for metric in METRICS
        }
        findings.append(
            Finding(
                f"The cap on the {NAMES[cap]} hardly moves any score.",
                ", ".join(f"{metric} {number(move)}" for metric, move in moves.items())
                + f"; from {found[cap, values[0]]['kept'][cap]:.2f} to "
                f"{found[cap, values[-1]]['kept'][cap]:.2f} are kept.",
                all(same_level(move, 0) for move in moves.values()),
                "In one home a single rule more or less changes whole days.",
            )
        )
    first, last = list(PAPER["max_forbidden"])[:: len(PAPER["max_forbidden"]) - 1]
    few, many = found["max_forbidden", first], found["max_forbidden", last]
    for metric, column in (("accuracy", 2), ("macro F1", 3)):
        loss = difference(many["scores"][metric], few["scores"][metric])
        theirs = PAPER["max_forbidden"][last][column] - PAPER["max_forbidden"][first][column]
        change = np.subtract(many["scores"][metric], few["scores"][metric])
        true = many["true"] == 1
        findings.append(
            Finding(
                f"More forbidden edges cost {metric}: {theirs:+.3f} from a cap of {first} to "
                f"{last}.",
                f"{loss}, while the share of true days that satisfy the rules goes from "
                f"{few['true'].mean():.2f} to {many['true'].mean():.2f}.",
                loss.against(theirs),
                "A wrong edge costs only the few steps it forbids on a day, and right ones repair "
                f"others: the change is {_mean(change[~true])} on the {np.sum(~true)} days that "
                f"break a rule and {_mean(change[true])} on those that do not. At most "
                f"{many['kept']['max_forbidden']:.2f} edges have the evidence to be kept in this "
                f"home; the paper's homes keep up to {last}.",
            )
        )
    valid = min(np.min(each["scores"]["validity"]) for each in found.values())
    findings.append(
        Finding(
            "ct-chmm is valid at every cap.", f"lowest validity {number(valid)}.", bool(valid == 1)
        )
    )
    largest = [found["max_no_reentry", v]["sizes"]["largest"] for v in PAPER["max_no_reentry"]]
    paper = [sizes[1] for sizes in PAPER["max_no_reentry"].values()]
    grows = all(a <= b for a, b in zip(largest, largest[1:])) and largest[0] < largest[-1]
    close = all(1 / FACTOR <= a / b <= FACTOR for a, b in zip(largest, paper))
    findings.append(
        Finding(
            "Each no-reentry activity doubles the largest controller "
            f"({' to '.join(map(str, paper))}).",
            f"{' to '.join(f'{value:g}' for value in largest)} by the catalog, which counts three "
            "states per rule; minimal at most "
            f"{max(each['sizes']['largest minimal'] for each in found.values()):g}.",
            "agrees" if grows and close else "agrees in direction only" if grows else "differs",
            "This home has at most "
            f"{max(e['kept']['max_no_reentry'] for e in found.values()):.2f} such activities in "
            "the mean of its blocks, so higher caps do not bind.",
        )
    )
    return findings


def _mean(values):
    return f"{np.mean(values):+.3f}" if len(values) else "nothing"
