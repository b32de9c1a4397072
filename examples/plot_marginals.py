"""
How sure is the model?
======================

Constraints change more than the best path. This example draws the smoothed probabilities of every
label, with and without constraints, for a sequence of noisy symbols. The rules: A, B, C and END
come in this order, each once, with REST anywhere.
"""

import matplotlib.pyplot as plt
import numpy as np

from skchmm import ConstrainedHMM
from skchmm.datasets import make_chain
from skchmm.plotting import MarginalsDisplay, PathDisplay, label_colors

data = make_chain(160, n_steps=120, noise=0.75, random_state=0)
plain = ConstrainedHMM(states=data.states).fit(data.X[:60], data.y[:60])
constrained = plain.with_constraints(data.constraints)

# %%
# We look at the sequence, of 100 new ones, for which the rules make the largest difference: what is
# clear at one step says something about all others, since after B there is no A.

difference = [
    abs(a - b).sum() for a, b in zip(*(m.predict_proba(data.X[60:]) for m in (plain, constrained)))
]
k = 60 + int(np.argmax(difference))
X, y = data.X[k], data.y[k]
colors = label_colors(data.states, {"REST": "#dddddd"})
figure, axes = plt.subplots(
    3, 1, figsize=(10, 6.5), layout="constrained", sharex=True, height_ratios=[1.5, 1, 1]
)
PathDisplay.from_estimator(
    {"unconstrained": plain, "constrained": constrained}, X, y, ax=axes[0], colors=colors
)
for ax, model, name in zip(axes[1:], (plain, constrained), ("without", "with")):
    MarginalsDisplay.from_estimator(model, X, ax=ax, colors=colors, legend=False)
    ax.set_title(f"probabilities {name} constraints", loc="left", fontsize=10)
axes[2].set_xlabel("step")

# %%
# The same model answers questions about whole paths. Does it end in END, and has B begun by
# step 40?

from skchmm.constraints import EndsIn, VisitBy  # noqa: E402

for question in (EndsIn("END"), VisitBy("B", 40)):
    before, after = (model.probability(question, X)[0] for model in (plain, constrained))
    print(f"{question!r:20} {before:.3f} without, {after:.3f} with the rules")

# %%
# And it names the next best paths, which are valid too.

for log_prob, path in constrained.kbest(X, 3):
    changes = [(int(t), str(path[t])) for t in range(1, len(path)) if path[t] != path[t - 1]]
    print(f"{log_prob:.2f}  {path[0]} until step {changes[0][0]}, then {changes}")
