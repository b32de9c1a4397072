"""
Where does the gene start? The k best paths, and exact samples
==============================================================

The best path is one answer. Often the second best is almost as probable, and says something else.
We ask for the best ten ways to read a gene of the fruit fly, and draw a thousand more from the
exact posterior. Every one of them keeps the reading frame.
"""

from collections import Counter

import matplotlib.pyplot as plt
import numpy as np

from skchmm import ConstrainedHMM
from skchmm.constraints import Regex
from skchmm.datasets import load_fly_genes
from skchmm.emissions import Categorical

FRAME = Regex("UTR5+ START1 START2 START3 (CDS1 CDS2 CDS3)+ STOP1 STOP2 STOP3 UTR3+")
genes = load_fly_genes(codon_positions=True)
train, test = range(30), range(30, 44)
model = ConstrainedHMM(emission=Categorical(order=2), constraints=FRAME, smoothing=0.01)
model.fit([genes.X[k] for k in train], [genes.y[k] for k in train])

# %%
# A gene that is not clear
# ------------------------
#
# The probability of the best path given the letters is the ratio of two likelihoods. We take the
# test gene where it is lowest.

X_test = [genes.X[k] for k in test]
best = np.array([model.decode(x)[0] for x in X_test])
sure = np.exp(best - model.log_likelihood(X_test))
print("probability of the best path:", " ".join(f"{p:.2f}" for p in np.sort(sure)))
k = int(test[int(np.argmin(sure))])
x, y = genes.X[k], genes.y[k]


def coding_part(path):
    """Where the coding part begins and ends."""
    inside = np.flatnonzero(~np.char.startswith(path, "UTR"))
    return int(inside[0]), int(inside[-1]) + 1


print(f"{genes.ids[k]}: the coding part is {coding_part(y)} of {len(x)} letters")

# %%
# The ten best paths
# ------------------

total = model.log_likelihood(x)[0]
paths = model.kbest(x, 10)
for log_prob, path in paths:
    print(f"{np.exp(log_prob - total):.3f}  {coding_part(path)}")

# %%
# A thousand draws from all paths
# -------------------------------
#
# They are exact draws: the share of a path among them is its probability. So any question about the
# path is answered by counting.

draws = model.sample_posterior(x, 1000, random_state=0)
counts = Counter(coding_part(path) for path in draws)
for log_prob, path in paths[:3]:
    drawn = counts[coding_part(path)] / 1000
    print(f"{coding_part(path)}: probability {np.exp(log_prob - total):.3f}, drawn {drawn:.3f}")
lengths = [end - start for start, end in map(coding_part, draws)]
start, end = coding_part(y)
print(f"length of the coding part: {np.mean(lengths):.0f} in the mean, {end - start} in truth")

# %%
# Where the coding part begins and ends, in the draws and in truth.

figure, axes = plt.subplots(1, 2, figsize=(9, 2.8), layout="constrained", sharey=True)
for ax, place, name in zip(axes, (0, 1), ("begins", "ends")):
    places = [coding_part(path)[place] for path in draws]
    ax.hist(places, bins=np.linspace(0, len(x), 60), color="#4477aa")
    ax.axvline(coding_part(y)[place], color="#c1121f", lw=1.5, label="truth")
    ax.set_xlabel(f"letter where the coding part {name}")
    ax.spines[["top", "right"]].set_visible(False)
axes[0].set_ylabel("draws out of 1000")
axes[0].legend(frameon=False)
