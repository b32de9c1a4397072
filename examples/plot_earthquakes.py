"""
Earthquakes: how many states?
=============================

Each year from 1900 to 2006 had some earthquakes of magnitude 7 and more. This is another classic of
hmmlearn's gallery, with the data of Zucchini and MacDonald's textbook; again only the import has
changed. We choose the number of states, and then ask for regimes that last.
"""

import matplotlib.pyplot as plt
import numpy as np

from skchmm import hmm
from skchmm.constraints import MinDuration

earthquakes = np.array([
    13, 14, 8, 10, 16, 26, 32, 27, 18, 32, 36, 24, 22, 23, 22, 18, 25, 21, 21, 14, 8, 11, 14, 23,
    18, 17, 19, 20, 22, 19, 13, 26, 13, 14, 22, 24, 21, 22, 26, 21, 23, 24, 27, 41, 31, 27, 35,
    26, 28, 36, 39, 21, 17, 22, 17, 19, 15, 34, 10, 15, 22, 18, 15, 20, 15, 22, 19, 16, 30, 27,
    29, 23, 20, 16, 21, 21, 25, 16, 18, 15, 18, 14, 10, 15, 8, 15, 6, 11, 8, 7, 18, 16, 13, 12,
    13, 20, 15, 16, 12, 18, 15, 16, 13, 15, 16, 11, 11,
])[:, None]  # fmt: skip
years = np.arange(1900, 2007)

# %%
# More states always fit better. The Bayesian information criterion (BIC) subtracts what their
# parameters would gain by chance; the lowest value wins.

models = {}
print("states  log likelihood    BIC")
for n in range(1, 5):
    starts = [
        hmm.PoissonHMM(n_components=n, n_iter=500, tol=1e-6, random_state=seed).fit(earthquakes)
        for seed in range(10 if n > 1 else 1)
    ]
    models[n] = max(starts, key=lambda model: model.score(earthquakes))
    score, bic = models[n].score(earthquakes), models[n].bic(earthquakes)
    print(f"{n:6d} {score:15.2f} {bic:6.1f}")
chosen = min(models, key=lambda n: models[n].bic(earthquakes))
print(f"BIC chooses {chosen} states, with {np.sort(models[chosen].lambdas_[:, 0]).round(1)} a year")

# %%
# Some regimes of the best path last a year or two, which may be chance. Ask for at least five
# years: the rule enters learning as well as decoding.

lasting = hmm.PoissonHMM(
    n_components=chosen, n_iter=500, tol=1e-6, random_state=0,
    constraints=[MinDuration([k], 5) for k in range(chosen)],
).fit(earthquakes)  # fmt: skip
paths = {"without a rule": models[chosen], "at least five years": lasting}
figure, axes = plt.subplots(2, 1, figsize=(9, 5), layout="constrained", sharex=True)
shortest = {}
for ax, (name, model) in zip(axes, paths.items()):
    path = model.predict(earthquakes)
    borders = np.flatnonzero(np.diff(path)) + 1
    shortest[name] = int(np.diff([0, *borders]).min())
    print(f"{name}: {len(borders) + 1} regimes, the shortest of {shortest[name]} years")
    ax.plot(years, earthquakes, ".-", color="#bbbbbb", lw=1, label="earthquakes")
    ax.step(years, model.lambdas_[path, 0], where="mid", color="#c1121f", label="mean of the state")
    ax.set_title(name, loc="left", fontsize=10)
    ax.set_ylabel("per year")
    ax.spines[["top", "right"]].set_visible(False)
axes[0].legend(frameon=False, loc="upper right")
