"""
Oil prices: heavy tails, and what was known before
==================================================

The price of oil sometimes moves by a fifth in a week, which a normal distribution all but excludes.
Are the tails heavy, or are there calm and wild regimes? Emissions have other distributions than the
normal one, and priors say what is known before the data are seen. The weekly prices of the U.S.
Energy Information Administration come with the package.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy import stats

from skchmm import ConstrainedHMM
from skchmm.datasets import load_oil_prices
from skchmm.emissions import Gaussian, StudentT

oil = load_oil_prices()
X = 100 * np.diff(np.log(oil.prices))[:, None]  # per cent a week

# %%
# Which distribution?
# -------------------
#
# Student's t has a parameter for the weight of its tails, the degrees of freedom, which EM learns
# as well. BIC charges for it.

models = {}
for emission in (Gaussian(), StudentT()):
    for n in (1, 2, 3):
        model = ConstrainedHMM(n, emission=emission, n_iter=500, tol=1e-6, random_state=0).fit(X)
        models[type(emission).__name__, n] = model
        print(f"{type(emission).__name__:9s} {n} regimes: BIC {model.bic(X):.0f}")
for n in (1, 2):
    freedom = np.sort(models["StudentT", n].emission_.dofs_.ravel())
    print(
        f"StudentT {n} regimes: degrees of freedom {', '.join(f'{each:.0f}' for each in freedom)}"
    )

# %%
# Without regimes, heavy tails gain much. Two regimes gain more, and then their tails are light:
# most of what looks like heavy tails is that calm and wild weeks come in turn.
#
# The pseudo-residuals of the models without regimes: if the distribution is right, their quantiles
# are those of a normal distribution.

_, axes = plt.subplots(1, 2, figsize=(7, 3.2), sharey=True, layout="constrained")
for ax, name in zip(axes, ("Gaussian", "StudentT")):
    shares = np.clip(models[name, 1].pseudo_residuals(X)[:, 0], 1e-9, 1 - 1e-9)
    ax.plot(
        stats.norm.ppf((np.arange(len(X)) + 0.5) / len(X)), np.sort(stats.norm.ppf(shares)), "."
    )
    ax.axline((0, 0), slope=1, color="grey", lw=1)
    ax.set(title=f"{name}, one regime", xlabel="expected quantile")
    ax.spines[["top", "right"]].set_visible(False)
axes[0].set_ylabel("quantile of the residuals")

# %%
# What was known before
# ---------------------
#
# Someone who has seen other markets knows that regimes last: about two years, or a hundred weeks.
# ``transmat_prior`` says so as a Dirichlet distribution: its numbers, less one, count as
# transitions seen before. EM climbs the posterior density, which is what ``history_`` then holds.
# The more was seen before, the less the data change.

n = 3
print("seen before   mean length of regimes in weeks")
for weeks in (0, 100, 1000, 10000):
    prior = np.full((n, n), 1 + weeks * 0.01 / (n - 1))
    np.fill_diagonal(prior, 1 + weeks * 0.99)
    lasting = ConstrainedHMM(
        n, emission=StudentT(), transmat_prior=prior, n_iter=500, tol=1e-6, random_state=0
    ).fit(X)
    assert (np.diff(lasting.history_) > -1e-8).all()
    lengths = np.sort(1 / (1 - np.diag(lasting.transmat_)))
    print(f"{weeks:5d} weeks   {'  '.join(f'{length:6.0f}' for length in lengths)}")
