"""
Adapting to another genome without labels
=========================================

A model of genes that was learned in one place may fail in another: the genes of chromosome 4 of the
fruit fly have fewer letters G and C than the rest. Nobody has labelled them, but the reading frame
is the same. EM under that rule adapts the model to the letters alone. The genes are those of the
file ``fly4/fly4_transcripts.tsv.gz``, if it is in your data home; otherwise they are drawn.
"""

from copy import deepcopy

import matplotlib.pyplot as plt
import numpy as np

from skchmm import ConstrainedHMM
from skchmm.constraints import Regex
from skchmm.datasets import load_fly_genes, load_transcripts
from skchmm.emissions import Categorical
from skchmm.metrics import sequence_accuracy_score
from skchmm.plotting import PathDisplay, label_colors

FRAME = Regex("UTR5+ START1 START2 START3 (CDS1 CDS2 CDS3)+ STOP1 STOP2 STOP3 UTR3+")
genes = load_fly_genes(codon_positions=True)
# A prior of 1.5 adds half a count of each letter to the half that ``smoothing`` adds.
emission = Categorical(order=2, prior=1.5)
model = ConstrainedHMM(emission=emission, constraints=FRAME, n_iter=20, tol=1e-3)
model.fit(genes.X, genes.y)

# %%
# The new genes
# -------------
#
# Where there is no file, take genes that the model draws itself, and replace letters G and C by A
# and T here and there: three of ten outside the coding part, and three of ten at the end of a
# codon.


def with_fewer_gc(x, y, rng):
    x = x.copy()
    outside = np.char.startswith(y, "UTR") & np.isin(x, ["G", "C"]) & (rng.random(len(x)) < 0.3)
    third = (y == "CDS3") & np.isin(x, ["G", "C"]) & (rng.random(len(x)) < 0.3)
    # TGG with an A at its end would be a stop codon.
    third[2:] &= x[:-2] != "T"
    x[outside] = rng.choice(["A", "T"], outside.sum())
    x[third] = np.where(x[third] == "G", "A", "T")
    return x


try:
    new = load_transcripts("fly4/fly4_transcripts.tsv.gz", codon_positions=True)
    print(f"{len(new.X)} genes of chromosome 4")
    X, y = new.X, new.y
except FileNotFoundError:
    rng = np.random.default_rng(0)
    lengths = rng.choice([900, 1200, 1800, 2400], size=40)
    X, y = model.sample(lengths, random_state=0)
    X = [with_fewer_gc(np.ravel(x), path, rng) for x, path in zip(X, y)]
    print(f"{len(X)} genes that were drawn (chromosome 4 is not in the data home)")
gc = [np.mean(np.isin(np.concatenate(each), ["G", "C"])) for each in (genes.X, X)]
print(f"share of G and C: {gc[0]:.2f} in the genes with labels, {gc[1]:.2f} in the new ones")

# %%
# Adapt on half of the genes, look at the other half
# --------------------------------------------------
#
# ``init="fitted"`` lets EM start from the parameters that the model has. The pseudocount
# ``smoothing`` acts in EM, too, so that no letter becomes impossible after two others.

half = len(X) // 2
adapted = deepcopy(model).set_params(init="fitted")
adapted.fit(X[:half])
parts = genes.parts
truth = [np.array([parts[label] for label in path]) for path in y[half:]]
decoded, right = {}, {}
for name, each in (("as learned", model), ("adapted", adapted)):
    paths = each.predict(X[half:])
    decoded[name] = [np.array([parts[label] for label in path]) for path in paths]
    right[name] = sequence_accuracy_score(truth, decoded[name], average=None)
    print(f"{name:10s} accuracy {right[name].mean():.3f}, {sum(right[name] == 1)} genes exact")

# %%
# The gene for which it matters most.

k = int(np.argmax(right["adapted"] - right["as learned"]))
colors = {"UTR5": "#dddddd", "UTR3": "#bbbbbb", "CDS": "#66ccee", "START": "#228833"}
labels = list(dict.fromkeys(parts.values()))
PathDisplay.from_predictions(
    truth[k], {name: paths[k] for name, paths in decoded.items()},
    labels=labels, colors=label_colors(labels, colors),
)  # fmt: skip
plt.gca().set_xlabel("letter")
