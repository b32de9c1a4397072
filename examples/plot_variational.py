"""
As many regimes as the data need
================================

How many regimes has the price of oil had? A variational model is given an upper limit, and states
that the data do not need stay empty. Here they compete for 34 years of weekly returns, first freely
and then under the rule that a regime lasts for a quarter of a year. The prices are real (U.S.
Energy Information Administration) and come with the package. The class is that of hmmlearn's
``vhmm``; the rule is ours.
"""

import matplotlib.pyplot as plt
import numpy as np

from skchmm.constraints import MinDuration
from skchmm.datasets import load_oil_prices
from skchmm.vhmm import VariationalGaussianHMM

oil = load_oil_prices()
X = 100 * np.diff(np.log(oil.prices))[:, None]  # per cent a week
weeks = oil.times[1:]
settings = {"n_init": 6, "n_iter": 300, "tol": 1e-2, "random_state": 0}

# %%
# The lower bound
# ---------------
#
# Learning climbs a lower bound of the evidence, the probability of the data with all parameters
# integrated out. It never falls, and it charges for parameters by itself, so that models of
# different sizes can be compared by it: the higher, the better.

bounds, free = {}, {}
for n in range(1, 5):
    free[n] = VariationalGaussianHMM(n, **settings).fit(X)
    bounds[n] = free[n].monitor_.history[-1]
    print(f"{n} regimes: bound {bounds[n]:.1f}")
best = max(bounds, key=bounds.get)
print(f"the bound is highest with {best} regimes")

# %%
# Empty states
# ------------
#
# With up to six regimes and no rule, spare states pick up some wild weeks here and there. A regime
# is something that lasts: ask for 13 weeks. Then three states take all, and the others keep their
# priors, without a week of their own.

rules = [MinDuration(k, 13) for k in range(6)]
spare = VariationalGaussianHMM(6, **settings).fit(X)
lasting = VariationalGaussianHMM(6, constraints=rules, **settings).fit(X)
expected = {}
for name, model in (("no rule", spare), ("13 weeks at least", lasting)):
    expected[name] = np.sort(model.beta_posterior_ - model.beta_prior_)[::-1]
    used = np.count_nonzero(expected[name] > 0.5)
    print(f"{name}: expected weeks {expected[name].round().astype(int)}, {used} states are used")
order = np.argsort(-lasting.beta_posterior_)[:3]
deviations = np.sqrt(np.ravel(lasting.covars_))[order]
print("standard deviations of these three:", deviations.round(1), "% a week")

# %%
# The three regimes.

figure, (left, right) = plt.subplots(
    1, 2, figsize=(10, 3.6), layout="constrained", width_ratios=(2, 5)
)
for k, (name, counts) in enumerate(expected.items()):
    left.bar(np.arange(1, 7) + 0.4 * k - 0.2, counts, 0.38, label=name, color=f"C{k}")
left.set_xlabel("state, by size")
left.set_ylabel("expected weeks")
left.legend(frameon=False)
right.plot(weeks, X, lw=0.5, color="#999999", label="return")
level = np.sqrt(np.ravel(lasting.covars_))[lasting.predict(X)]
right.fill_between(weeks, -level, level, step="mid", alpha=0.5, color="C1", label="one deviation")
right.set_ylabel("% a week")
right.legend(frameon=False, loc="upper left", ncols=2)
for ax in (left, right):
    ax.spines[["top", "right"]].set_visible(False)
