"""
How sure is the model?
======================

Constraints change more than the best path. This example draws the smoothed probabilities of every
part of a gene of the fruit fly, letter by letter, without and with the reading frame, and asks
questions about the whole path. The genes come with the package.
"""

import matplotlib.pyplot as plt
import numpy as np

from skchmm import ConstrainedHMM
from skchmm.constraints import ExactVisits, Regex, VisitBy
from skchmm.datasets import load_fly_genes
from skchmm.emissions import Categorical
from skchmm.plotting import MarginalsDisplay, PathDisplay

FRAME = Regex("UTR5+ START1 START2 START3 (CDS1 CDS2 CDS3)+ STOP1 STOP2 STOP3 UTR3+")
genes = load_fly_genes(codon_positions=True)
X_new, y_new = genes.X[30:], genes.y[30:]
plain = ConstrainedHMM(emission=Categorical(order=2)).fit(genes.X[:30], genes.y[:30])
ruled = plain.with_constraints(FRAME)
models = {"without rules": plain, "with the frame": ruled}

# %%
# The model has a state for each position in a codon. Summed over them, the probabilities are those
# of the five parts of a gene.

parts = list(dict.fromkeys(genes.parts.values()))
of_part = np.array([[genes.parts[state] == part for part in parts] for state in plain.classes_])


def in_parts(path):
    return np.array([genes.parts[label] for label in path])


proba = {name: [p @ of_part for p in model.predict_proba(X_new)] for name, model in models.items()}
truth = [np.array(parts)[:, None] == in_parts(path) for path in y_new]
for name, each in proba.items():
    mean = np.mean([p.T[t].mean() for p, t in zip(each, truth)])
    print(f"{name:14s} the true part has probability {mean:.3f} on average")

# %%
# We look at the gene, of 14 new ones, for which the frame makes the largest difference. What is
# clear at one letter says something about all others: a stop codon that would cut the only long
# reading frame is none.

difference = [abs(a - b).mean() for a, b in zip(*proba.values())]
k = int(np.argmax(difference))
X, y = X_new[k], y_new[k]
colors = dict(zip(parts, ["#dddddd", "#228833", "#66ccee", "#ccbb44", "#bbbbbb"]))
figure, axes = plt.subplots(
    3, 1, figsize=(10, 6), layout="constrained", sharex=True, height_ratios=[1.6, 1, 1]
)
paths = {name: in_parts(model.predict(X)) for name, model in models.items()}
PathDisplay.from_predictions(in_parts(y), paths, ax=axes[0], labels=parts, colors=colors)
for ax, (name, each) in zip(axes[1:], proba.items()):
    MarginalsDisplay(each[k], parts).plot(ax, colors=colors, legend=False)
    ax.set_title(f"probabilities {name}", loc="left", fontsize=10)
axes[1].set_xlabel("")
axes[2].set_xlabel(f"letter of the transcript {genes.ids[30 + k]}")

# %%
# The same models answer questions about whole paths. Is there exactly one start codon, and has the
# coding part begun by letter 200?

for question in (ExactVisits("START1", 1), VisitBy("START1", 200)):
    before, after = (model.probability(question, X)[0] for model in models.values())
    print(f"{question!r:24} {before:.3f} without, {after:.3f} with the frame")

# %%
# And they name the next best paths, with their probabilities. With the frame, each is a gene.

total = ruled.log_likelihood(X)[0]
for log_prob, path in ruled.kbest(X, 3):
    inside = np.flatnonzero(~np.char.startswith(path, "UTR"))
    print(f"{np.exp(log_prob - total):.3f}  coding from letter {inside[0]} to {inside[-1]}")
