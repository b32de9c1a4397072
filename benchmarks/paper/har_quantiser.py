"""Ablations: the quantiser of the activities' features."""

import numpy as np
from scipy import stats

from skchmm import HashingQuantizer

from . import protocol
from .report import Report, Table, beside, number
from .suite import evaluate, seven_decoders
from .verdicts import Finding, same_level

FILES = protocol.FILES
METHODS = ("hsmm", "crf", "phf", "bsr")
# Parameter -> value -> the paper's accuracies, in the order of METHODS.
PAPER = {
    "n_bins": {
        2: (0.209, 0.291, 0.207, 0.264),
        3: (0.191, 0.289, 0.152, 0.161),
        4: (0.188, 0.291, 0.210, 0.245),
        6: (0.202, 0.291, 0.229, 0.291),
        8: (0.207, 0.291, 0.220, 0.278),
    },
    "n_symbols": {
        16: (0.228, 0.291, 0.220, 0.269),
        32: (0.223, 0.291, 0.221, 0.281),
        64: (0.188, 0.291, 0.210, 0.245),
        128: (0.223, 0.291, 0.181, 0.205),
        256: (0.204, 0.291, 0.202, 0.232),
    },
}
NAMES = {"n_bins": "number of bins", "n_symbols": "size of the alphabet"}

TEXT = """
The runs, the 80/20 split of subjects and the rules of the report on activities, with the decoders
that see hashed symbols. ``HashingQuantizer`` cuts each feature into bins of equal frequency and
hashes the tuple of bins to a symbol; one of its two parameters is changed at a time, the other at
the default ({n_bins} bins, {n_symbols} symbols). *chmm-vq*, beyond the paper, decodes the same
symbols exactly under the rules. *Tuples a symbol*: how many different tuples of bins share a symbol
in the training runs, on average.
"""


def run(options):
    data = protocol.load(options)
    runs = protocol.split(data, data.fifths[0])
    rules = protocol.rules()
    records, tables = [], []
    for parameter, sweep in PAPER.items():
        values = list(sweep)[1:4:2] if options.quick else list(sweep)
        rows = []
        for value in values:
            record = {
                "parameter": parameter,
                "value": value,
                **_sweep(runs, rules, parameter, value),
            }
            records.append(record)
            ours = [number(record[f"{m}-vq"]) for m in METHODS]
            cells = map(beside, ours, map(number, sweep[value]))
            rows.append([value, *cells, number(record["chmm-vq"]), number(record["tuples"], 1)])
        header = [parameter, *(f"{m}-vq" for m in METHODS), "chmm-vq", "tuples a symbol"]
        caption = f"Accuracy by the {NAMES[parameter]}, mean over runs | the paper's:"
        tables.append(Table(caption, header, rows))
    default = HashingQuantizer()
    return Report(
        "har_quantiser",
        "Ablation: the quantiser of the activities",
        TEXT.format(n_bins=default.n_bins, n_symbols=default.n_symbols),
        tables,
        _findings(records),
        records,
    )


def _sweep(runs, rules, parameter, value):
    quantizer = HashingQuantizer(**{parameter: value}).fit(runs.X)
    symbols, symbols_test = quantizer.transform(runs.X), quantizer.transform(runs.X_test)
    models = seven_decoders(rules, states=protocol.STATES, emission="categorical")
    found, valid = {}, []
    for name in (*METHODS, "chmm"):
        predicted = models[name].fit(symbols, runs.y).predict(symbols_test)
        scores = evaluate(runs.y_test, predicted, rules)
        found[f"{name}-vq"] = float(scores["accuracy"].mean())
        found[f"{name}-vq, validity"] = float(scores["validity"].mean())
        if name in METHODS:
            valid.append(found[f"{name}-vq, validity"])
    # A table of 2**31 symbols has next to no collisions, so its symbols are the tuples.
    exact = HashingQuantizer(quantizer.n_bins, n_symbols=2**31).fit(runs.X)
    found["tuples"] = _n_distinct(exact.transform(runs.X)) / _n_distinct(symbols)
    found["most valid"] = max(valid)
    return found


def _n_distinct(symbols):
    return len(np.unique(np.concatenate(symbols)))


def _findings(records):
    valid = max(record["most valid"] for record in records)
    found = [
        Finding(
            "None of the four decoders is ever valid, at any setting.",
            f"the most valid has {number(valid)}.",
            valid == 0,
        )
    ]
    crowded = [r["tuples"] for r in records]
    fall = {m: stats.spearmanr(crowded, [r[f"{m}-vq"] for r in records])[0] for m in METHODS}
    why = (
        "Accuracy depends on how many tuples of bins share a symbol (last column): over all "
        "settings the rank correlation of the two is "
        + ", ".join(f"{value:.2f} ({m})" for m, value in fall.items())
        + ". In the paper's recordings, with more channels, symbols are probably shared by so many "
        "tuples that they tell nothing at any setting."
    )
    for parameter in PAPER:
        ours = [r for r in records if r["parameter"] == parameter]
        spread = {m: np.ptp([r[f"{m}-vq"] for r in ours]) for m in METHODS}
        paper = {m: np.ptp([row[k] for row in PAPER[parameter].values()])
                 for k, m in enumerate(METHODS)}  # fmt: skip
        steps = {m: np.sign(np.diff([r[f"{m}-vq"] for r in ours])) for m in METHODS}
        monotone = [m for m, s in steps.items() if abs(s.sum()) == len(s)]
        same = all(same_level(spread[m], paper[m]) for m in METHODS)
        found.append(
            Finding(
                f"The {NAMES[parameter]} changes accuracy only modestly (by "
                f"{', '.join(f'{m} {value:.3f}' for m, value in paper.items())}), without a trend.",
                f"by {', '.join(f'{m} {value:.3f}' for m, value in spread.items())}; monotone: "
                f"{', '.join(monotone) or 'none'}.",
                same and not monotone,
                why if parameter == "n_bins" else "As for the number of bins.",
            )
        )
    best = max(r[f"{m}-vq"] for r in records for m in METHODS)
    theirs = max(max(row) for sweep in PAPER.values() for row in sweep.values())
    found.append(
        Finding(
            f"The best accuracy of any decoder at any setting is {theirs:.3f}.",
            f"{number(best)}.",
            same_level(best, theirs),
            "As for the number of bins.",
        )
    )
    return found
