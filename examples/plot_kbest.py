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


def coding_part(path):
    """Where the coding part begins and ends."""
    inside = np.flatnonzero(~np.char.startswith(path, "UTR"))
    return int(inside[0]), int(inside[-1]) + 1


# %%
# The ten best paths
# ------------------
#
# How often is the true path the best, and how often is it among the ten best?

X_test = [genes.X[k] for k in test]
found = model.kbest(X_test, 10)
places = []
for k, paths in zip(test, found):
    parts = [coding_part(path) for _, path in paths]
    truth = coding_part(genes.y[k])
    places.append(parts.index(truth) if truth in parts else None)
n_best, n_ten = places.count(0), len(places) - places.count(None)
print(f"{len(test)} genes: the best path is right for {n_best}, one of the ten best for {n_ten}")

# %%
# The gene for which best and second best are closest. Divided by the likelihood of the letters,
# they are probabilities.

closest = int(np.argmin([paths[0][0] - paths[1][0] for paths in found]))
paths, x, y = found[closest], X_test[closest], genes.y[test[closest]]
total = model.log_likelihood(x)[0]
print(f"{genes.ids[test[closest]]}: the coding part is {coding_part(y)} of {len(x)} letters")
for log_prob, path in paths[:5]:
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
start = coding_part(y)[0]
later = np.mean([coding_part(path)[0] > start for path in draws])
print(f"the probability that it begins after letter {start} is {later:.2f}")

# %%
# Where the coding part begins, in the draws and in truth.

figure, ax = plt.subplots(figsize=(9, 2.6), layout="constrained")
ax.hist([coding_part(path)[0] for path in draws], bins=np.arange(450, 600, 3), color="#4477aa")
ax.axvline(start, color="#c1121f", lw=1.5, label="truth")
ax.set(xlabel="letter where the coding part begins", ylabel="draws out of 1000")
ax.legend(frameon=False)
ax.spines[["top", "right"]].set_visible(False)
