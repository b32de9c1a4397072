"""Adapting without labels: genes of another composition."""

from copy import deepcopy

import numpy as np

from skchmm.constraints import Regex
from skchmm.datasets import load_transcripts

from . import fly
from .report import Report
from .suite import METRICS, draw_metrics, evaluate, metric_records, metric_table
from .verdicts import Finding, difference

FILES = (*fly.FILES, "fly4/fly4_transcripts.tsv.gz")
N_FOLDS = 2
FREE = "EM, no rule, prior; decoded with it"
WEIGHT = 10_000  # transitions from each state that the prior is worth

TEXT = """
Beyond the paper. The model of codon positions of the report on fly genes, learned from its
{n_train} labelled training genes (share of G and C {gc:.2f}), labels {n_test} genes of chromosome 4
(share {other:.2f}, mean length {length:.0f}). *Supervised*: as it is. *EM*: its parameters are the
start of EM on unlabelled genes of the new kind, with the reading frame as a rule or without, and
with the pseudocount of the supervised fit ({smoothing}) in every step. *Prior*: the transitions
that were learned from labels are the mean of a Dirichlet prior, which is worth {weight:,}
transitions from each state. The new genes are cut into {folds} halves (a permutation with seed 0);
each is labelled by what EM has learned from the other, so no gene is scored that was used.
*Decoded*: with or without the rule. Scored on five labels as there; segments may be off by
{tolerance} T.
"""


def run(options):
    genes = fly.load(options)
    new = load_transcripts(options.data / FILES[1], one_per_gene=True)
    n_new = 20 if options.quick else len(new.X)
    order = np.random.default_rng(0).permutation(len(new.X))[:n_new]
    X, y = [new.X[k] for k in order], [new.y[k] for k in order]
    folds = [list(range(k, n_new, N_FOLDS)) for k in range(N_FOLDS)]
    frame = Regex(fly.FRAME)
    supervised = fly.frame_model(genes, None, n_iter=30)
    scores, iterations = {}, []
    for test in folds:
        adapt = [X[k] for k in range(n_new) if k not in test]
        models = {}
        for name, constraints in (("no rule", None), ("rule", frame)):
            start = supervised.with_constraints(constraints)
            learned = deepcopy(start).set_params(init="fitted").fit(adapt)
            iterations.append(learned.n_iter_)
            models[f"supervised, {name}"] = start
            models[f"EM, {name}"] = learned
            prior = 1 + WEIGHT * supervised.transmat_
            known = deepcopy(start).set_params(init="fitted", transmat_prior=prior)
            models[f"EM, {name}, prior"] = known.fit(adapt)
        free = models["EM, no rule, prior"]
        models[FREE] = free.with_constraints(frame)
        for method, model in models.items():
            predicted = fly.predict_frame(model, [X[k] for k in test])
            found = evaluate([y[k] for k in test], predicted, genes.rules, fly.TOLERANCE)
            for metric, values in found.items():
                scores.setdefault(method, {m: [] for m in METRICS})[metric] += values.tolist()
    return Report(
        "fly_adapting",
        "Adapting without labels: genes of another composition",
        TEXT.format(
            n_train=len(genes.X),
            gc=_gc(genes.X),
            n_test=n_new,
            other=_gc(X),
            length=np.mean([len(x) for x in X]),
            folds=N_FOLDS,
            tolerance=fly.TOLERANCE,
            smoothing=supervised.smoothing,
            weight=WEIGHT,
        ),
        [metric_table("Mean over new genes (deviation):", scores, {})],
        _findings(scores, iterations),
        metric_records(scores, "gene"),
        lambda figure: draw_metrics(figure, scores),
    )


def _gc(X):
    return float(np.mean(np.isin(np.concatenate(X), ["G", "C"])))


def _findings(scores, iterations):
    def gain(metric, a, b):
        return difference(scores[a][metric], scores[b][metric])

    return [
        Finding(
            "(Not in the paper.) EM without labels repairs a model that fails on new genes.",
            "with the rule, accuracy "
            f"{gain('accuracy', 'EM, rule', 'supervised, rule')} and segment F1 "
            f"{gain('segment F1', 'EM, rule', 'supervised, rule')}, in at most {max(iterations)} "
            "iterations.",
            "beyond",
        ),
        Finding(
            "(Not in the paper.) What a prior adds that keeps the known transitions.",
            f"with the rule, accuracy {gain('accuracy', 'EM, rule, prior', 'EM, rule')}, macro F1 "
            f"{gain('macro F1', 'EM, rule, prior', 'EM, rule')}; without it, accuracy "
            f"{gain('accuracy', 'EM, no rule, prior', 'EM, no rule')}, macro F1 "
            f"{gain('macro F1', 'EM, no rule, prior', 'EM, no rule')}.",
            "beyond",
        ),
        Finding(
            "(Not in the paper.) What the rule adds in learning, both decoded with it.",
            "accuracy "
            f"{gain('accuracy', 'EM, rule, prior', FREE)}, macro F1 "
            f"{gain('macro F1', 'EM, rule, prior', FREE)}.",
            "beyond",
        ),
        Finding(
            "(Not in the paper.) What the rule adds in decoding, after EM without it.",
            "accuracy "
            f"{gain('accuracy', FREE, 'EM, no rule, prior')}, segment F1 "
            f"{gain('segment F1', FREE, 'EM, no rule, prior')}.",
            "beyond",
        ),
    ]
