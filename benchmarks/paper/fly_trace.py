"""One gene, as every decoder labels it."""

import numpy as np

from skchmm.constraints import Regex
from skchmm.metrics import sequence_accuracy_score, trajectory_validity_rate

from . import fly
from .report import Report, Table
from .verdicts import Finding

FILES = fly.FILES
COLOURS = {"UTR5": "#9ecae1", "START": "#ffd92f", "CDS": "#a1d99b", "STOP": "#fd8d3c",
           "UTR3": "#fcbba1"}  # fmt: skip

TEXT = """
A gene of the {n_test} test genes of the report on fly genes, chosen by rule: of the {n_broken} on
which hmm breaks a constraint, the one with the median accuracy of chmm (the lower of two). It is
transcript {name}, {length} nucleotides. Each decoder's segments, with their first and last position
(from 0), and the rules that they break.
"""


def run(options):
    genes = fly.load(options)
    models = fly.decoders(genes)
    free = models["hmm"].predict(genes.X_test)
    of_hmm = _broken_kinds(free, genes)
    broken = [k for k, kinds in enumerate(of_hmm) if kinds]
    k = _typical(broken or range(len(free)), models["chmm"], genes)
    x, truth = genes.X_test[k], genes.y_test[k]
    paths = {"true": truth}
    paths.update({name: model.predict(x) for name, model in models.items()})
    for name, constraints in (("hmm, frame", None), ("chmm, frame", Regex(fly.FRAME))):
        paths[name] = fly.predict_frame(fly.frame_model(genes, constraints), [x])[0]
    rules = {
        name: [f"{kinds.count(kind)} {kind}" for kind in dict.fromkeys(kinds)]
        for name, kinds in zip(paths, _broken_kinds(list(paths.values()), genes))
    }
    rows = [
        [name, f"{np.mean(path == truth):.3f}", _segments(path), ", ".join(rules[name]) or "none"]
        for name, path in paths.items()
    ]
    return Report(
        "fly_trace",
        "One gene, all decoders",
        TEXT.format(n_test=len(free), n_broken=len(broken), name=genes.ids_test[k], length=len(x)),
        [Table("True labels and decoders:", ["path", "accuracy", "segments", "broken"], rows)],
        _findings(paths, rules, of_hmm),
        [
            {"path": name, "label": label, "first": first, "last": last}
            for name, path in paths.items()
            for label, first, last in segments(path)
        ],
        lambda figure: _draw(figure, paths),
        size=(7.5, 3.6),
    )


def _typical(candidates, model, genes):
    candidates = list(candidates)
    y = [genes.y_test[k] for k in candidates]
    accuracy = sequence_accuracy_score(
        y, model.predict([genes.X_test[k] for k in candidates]), average=None
    )
    return candidates[int(np.argsort(accuracy, kind="stable")[(len(candidates) - 1) // 2])]


def segments(path):
    """(label, first, last) of each maximal run."""
    cuts = np.flatnonzero(path[1:] != path[:-1])
    firsts = np.r_[0, cuts + 1]
    lasts = np.r_[cuts, len(path) - 1]
    return [(str(path[a]), int(a), int(b)) for a, b in zip(firsts, lasts)]


def _segments(path):
    found = segments(path)
    text = ", ".join(f"{label} {a}-{b}" for label, a, b in found[:6])
    return text + (f", and {len(found) - 6} more" if len(found) > 6 else "")


def _broken_kinds(paths, genes):
    """For each path, the kind of each mined rule that it breaks."""
    kept = [trajectory_validity_rate(paths, [rule], average=None) for rule in genes.rules]
    return [
        [type(rule).__name__ for rule, valid in zip(genes.rules, kept) if not valid[k]]
        for k in range(len(paths))
    ]


def _findings(paths, rules, of_hmm):
    order = [label for label, _, _ in segments(paths["true"])]
    mine = [label for label, _, _ in segments(paths["chmm"])]
    wrong = {name: int(np.sum(path != paths["true"])) for name, path in paths.items()}
    n = {kind: sum(kind in kinds for kinds in of_hmm) for kind in ("Precedence", "ExactVisits")}
    return [
        Finding(
            "chmm recovers a feasible segmentation in the true order.",
            f"{len(mine)} segments, {'the true order' if mine == order else 'another order'}.",
            not rules["chmm"] and mine == order,
        ),
        Finding(
            "chmm is off by a single position.",
            f"{wrong['chmm']} of {len(paths['true'])} positions are wrong.",
            wrong["chmm"] <= 1,
            "The paper's gene is not a typical one, for its own accuracy over all is 0.734; a "
            "model of single nucleotides cannot place codons, one that knows the reading frame "
            f"can ({wrong['chmm, frame']} wrong positions here).",
        ),
        Finding(
            "hmm puts coding sequence before the start codon, which breaks a precedence.",
            f"hmm breaks {', '.join(rules['hmm']) or 'nothing'} on this gene; a precedence on "
            f"{n['Precedence']} of {len(of_hmm)} genes, a number of visits on {n['ExactVisits']}.",
            any("Precedence" in each for each in rules["hmm"]),
            "Transitions that never occur in training have next to no probability, so hmm hardly "
            "ever leaves the order; it ends before all labels have been visited.",
        ),
    ]


def _draw(figure, paths):
    from matplotlib.patches import Patch

    axes = figure.subplots()
    for row, path in enumerate(paths.values()):
        for label, first, last in segments(path):
            # Codons are widened to be seen.
            width = max(last - first + 1, 0.006 * len(path))
            axes.barh(row, width, left=first, color=COLOURS[label], height=0.75)
    axes.set_yticks(range(len(paths)), list(paths), fontsize=8)
    axes.invert_yaxis()
    axes.set_xlabel("nucleotide", fontsize=8)
    axes.tick_params(labelsize=7)
    handles = [Patch(color=colour, label=label) for label, colour in COLOURS.items()]
    axes.legend(
        handles=handles, ncols=5, fontsize=7, loc="upper center", bbox_to_anchor=(0.5, -0.14)
    )
