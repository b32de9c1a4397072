"""The seven decoders, the four metrics, and the table of one by the other."""

import numpy as np

from skchmm import (
    BeamRejectionDecoder,
    ConstrainedHMM,
    HSMMDecoder,
    PerceptronCRF,
    PostHocFilter,
    TopologyMaskedHMM,
)
from skchmm.metrics import (
    segment_f1_score,
    sequence_accuracy_score,
    sequence_macro_f1_score,
    trajectory_validity_rate,
)

from .report import Table, beside, mean_std

METRICS = ("accuracy", "macro F1", "validity", "segment F1")


def seven_decoders(constraints, *, emission="auto", states=None, seed=0):
    """Name -> estimator, with the settings of the paper."""
    known = {"constraints": constraints, "states": states}
    generative = {**known, "emission": emission}
    return {
        "hmm": ConstrainedHMM(emission=emission, states=states),
        "tm": TopologyMaskedHMM(**generative),
        "hsmm": HSMMDecoder(**generative),
        "crf": PerceptronCRF(**known, random_state=seed),
        "phf": PostHocFilter(**generative),
        "bsr": BeamRejectionDecoder(**generative),
        "chmm": ConstrainedHMM(**generative),
    }


def evaluate(y_true, y_pred, constraints, tolerance=0.1):
    """Metric -> one value per sequence."""
    each = {"average": None}
    return {
        "accuracy": sequence_accuracy_score(y_true, y_pred, **each),
        "macro F1": sequence_macro_f1_score(y_true, y_pred, **each),
        "validity": trajectory_validity_rate(y_pred, constraints, **each).astype(float),
        "segment F1": segment_f1_score(y_true, y_pred, tolerance, **each),
    }


def metric_table(caption, scores, published):
    """Rows: methods; cells: our mean and deviation | the paper's.

    scores : method -> metric -> values over the unit of replication
    published : method -> four strings, as METRICS; may lack methods
    """
    rows = []
    for method, values in scores.items():
        theirs = published.get(method, ("",) * len(METRICS))
        ours = [mean_std(values[metric]) for metric in METRICS]
        rows.append([method, *map(beside, ours, theirs)])
    return Table(caption, ["method", *METRICS], rows)


def metric_records(scores, unit):
    """Long form for the CSV: one row a method and unit."""
    records = []
    for method, values in scores.items():
        for k in range(len(values[METRICS[0]])):
            record = {"method": method, unit: k}
            record.update({metric: float(values[metric][k]) for metric in METRICS})
            records.append(record)
    return records


def always_valid(scores):
    """The methods whose paths satisfy the rules on every unit."""
    return [method for method, values in scores.items() if np.min(values["validity"]) == 1]


def most_valid_other(scores, exact):
    """(method, validity) of the best row that is not named in `exact`."""
    validity = {m: v for m, v in means(scores, "validity").items() if m not in exact}
    return max(validity.items(), key=lambda item: item[1])


def means(scores, metric):
    return {method: float(np.mean(values[metric])) for method, values in scores.items()}


def draw_metrics(figure, scores):
    """One panel a metric, one bar a method."""
    methods = list(scores)
    for k, (axes, metric) in enumerate(zip(figure.subplots(1, len(METRICS), sharey=True), METRICS)):
        values = [np.mean(scores[m][metric]) for m in methods]
        errors = [np.std(scores[m][metric]) for m in methods]
        best = ["tab:orange" if m.startswith(("chmm", "ct-chmm")) else "tab:gray" for m in methods]
        axes.barh(range(len(methods)), values, xerr=errors, color=best, height=0.7)
        axes.set_title(metric, fontsize=9)
        axes.set_xlim(0, 1.05)
        axes.tick_params(labelsize=7)
        if k == 0:
            axes.set_yticks(range(len(methods)), methods)
            axes.invert_yaxis()
