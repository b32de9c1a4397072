"""
A classifier that is already there: reading a meter
===================================================

A meter shows a digit, which stays or goes up by one from photo to photo. Someone has trained a
classifier for handwritten digits long ago, on other data and too few; it is used as it is. A
hidden Markov model learns from its scores, without a label, how the digit moves, and reads the
photos together. The digits are those of scikit-learn.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split

from skchmm import ConstrainedHMM
from skchmm.constraints import ForbiddenEdges
from skchmm.emissions import ClassifierEmission

WORDS = np.array(["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"])
images, digits = load_digits(return_X_y=True)
rng = np.random.default_rng(0)
images = images + 4 * rng.normal(size=images.shape)  # a bad camera
X_few, X_rest, y_few, y_rest = train_test_split(
    images, digits, train_size=150, stratify=digits, random_state=0
)
classifier = LogisticRegression(max_iter=2000).fit(X_few, WORDS[y_few])

# %%
# Forty meters, thirty photos of each: the digit goes up in four of ten steps.

ups = rng.random((40, 30)) < 0.4
paths = (rng.integers(10, size=(40, 1)) + np.cumsum(ups, axis=1)) % 10
X = [X_rest[[rng.choice(np.flatnonzero(y_rest == d)) for d in path]] for path in paths]
y = [WORDS[path] for path in paths]


def share_right(found):
    return np.mean([np.mean(a == b) for a, b in zip(y, found)])


print(f"one by one:            {share_right([classifier.predict(x) for x in X]):.3f} right")

# %%
# `FrozenEstimator` says that the classifier is not to be fitted again. The states have its labels.
# EM learns how they follow each other, from the scores alone.

model = ConstrainedHMM(
    states=WORDS.tolist(), emission=FrozenEstimator(classifier), n_iter=200, random_state=0
).fit(X)
print(f"with learned steps:    {share_right(model.predict(X)):.3f} right")
stays, ups_learned = (
    np.diag(model.transmat_).mean(),
    np.diag(np.roll(model.transmat_, -1, 1)).mean(),
)
print(f"the digit stays with probability {stays:.2f} and goes up with {ups_learned:.2f}")

# %%
# What is known need not be learned: the digit never skips one, nor goes back.

possible = {(k, (k + step) % 10) for k in range(10) for step in (0, 1)}
skips = [(WORDS[a], WORDS[b]) for a in range(10) for b in range(10) if (a, b) not in possible]
settings = {"states": WORDS.tolist(), "constraints": ForbiddenEdges(skips), "n_iter": 200}
model = ConstrainedHMM(emission=FrozenEstimator(classifier), **settings).fit(X)
print(f"with the rule as well: {share_right(model.predict(X)):.3f} right")

# %%
# A classifier may be too sure of itself, or not sure enough. `scale` multiplies the logarithms of
# its scores: below 1 it tempers them, and the other photos count for more. Here the scores are
# about right as they are. With ``prefit=True`` an emission takes the classifier as it is, too.

scales = [0.05, 0.1, 0.2, 0.4, 0.7, 1.0, 1.5]
right = []
for scale in scales:
    emission = ClassifierEmission(classifier, prefit=True, scale=scale)
    right.append(share_right(ConstrainedHMM(emission=emission, **settings).fit(X).predict(X)))
best = scales[int(np.argmax(right))]
print(f"best scale {best}: {max(right):.3f} right")

_, ax = plt.subplots(figsize=(6, 3), layout="constrained")
ax.plot(scales, right, "o-")
ax.set(xlabel="scale of the classifier's scores", ylabel="share of photos read right", xscale="log")
ax.spines[["top", "right"]].set_visible(False)
