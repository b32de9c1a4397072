"""
When a rule may be broken
=========================

Scanned pages carry a number, and somebody wants the last digit of each. Pages follow each other,
so that digits go up by one, from 9 to 0. But now and then a page is missing. A rule that must hold
is wrong from the first missing page on; without the rule, unclear digits stay unclear. A *soft*
rule may be broken, at a price, and the price is learned. The images are handwritten digits of
scikit-learn; a classifier that has seen only 60 of them reads them.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression

from skchmm import ConstrainedHMM
from skchmm.constraints import ForbiddenEdges, Soft
from skchmm.metrics import sequence_accuracy_score

rng = np.random.default_rng(0)
digits = load_digits()
classifier = LogisticRegression(max_iter=1000).fit(digits.data[:60] / 16, digits.target[:60])
pages_of = [np.flatnonzero(digits.target[60:] == digit) + 60 for digit in range(10)]


def scan_book(n_pages=40, missing=0.05):
    """Labels, images and log-likelihoods of a book, of which some pages are missing."""
    numbers = np.cumsum(1 + (rng.random(n_pages) < missing))
    labels = numbers % 10
    images = digits.data[[rng.choice(pages_of[digit]) for digit in labels]] / 16
    return labels, images, classifier.predict_log_proba(images)


books = [scan_book() for _ in range(60)]
y, images, X = (list(each) for each in zip(*books))
train, test = slice(0, 20), slice(20, None)

# %%
# Three models
# ------------
#
# The rule forbids every step but that to the next digit. Nothing else is known of how digits follow
# each other: the transition probabilities are given, and all the same.

wrong_steps = ForbiddenEdges([(i, j) for i in range(10) for j in range(10) if j != (i + 1) % 10])
flat = {"startprob_fixed": np.full(10, 0.1), "transmat_fixed": np.full((10, 10), 0.1)}
rules = {
    "no rule": None,
    "hard rule": wrong_steps,
    "soft rule": Soft(wrong_steps, "learn", each=True),
}
models = {
    name: ConstrainedHMM(emission="precomputed", constraints=rule, **flat).fit(X[train], y[train])
    for name, rule in rules.items()
}
accuracy = {
    name: sequence_accuracy_score(y[test], model.predict(X[test])) for name, model in models.items()
}
for name, value in accuracy.items():
    print(f"{name:10} accuracy {value:.3f}")
weight = models["soft rule"].soft_weights_[0]
print(f"a missing page costs {weight:.2f} nats: e^-{weight:.2f} = {np.exp(-weight):.4f} in odds")

# %%
# One book
# --------
#
# Errors of each model are marked. The soft rule pays once for each missing page and goes on from
# there.

example = max(range(20, 60), key=lambda k: (np.diff(y[k]) % 10 != 1).sum())
fig, ax = plt.subplots(figsize=(9, 2.6), layout="constrained")
for row, model in enumerate(models.values()):
    path = model.predict(X[example])
    for t, (digit, true) in enumerate(zip(path, y[example])):
        right = digit == true
        box = None if right else {"facecolor": "C3", "edgecolor": "none", "pad": 2}
        color = "C0" if right else "white"
        ax.text(t, row, str(digit), ha="center", va="center", color=color, bbox=box)
for t in np.flatnonzero(np.diff(y[example]) % 10 != 1):
    ax.axvline(t + 0.5, color="0.5", linestyle=":")
ax.set(xlim=(-1, 40), ylim=(2.6, -0.6), xlabel="page (dotted: one is missing here)")
ax.set_yticks(range(3), list(models))
ax.set_title("What each model reads; errors are red")
plt.show()
