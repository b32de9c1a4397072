"""
Market regimes that last
========================

The price of oil is calm for years, then wild for months. A hidden Markov model finds such regimes
in the weekly returns, without labels. How many are there? And how do we keep it from calling a
single bad week a crisis? The prices are real (U.S. Energy Information Administration, 1986 to 2019)
and come with the package.
"""

import matplotlib.pyplot as plt
import numpy as np

from skchmm import ConstrainedHMM
from skchmm.constraints import MinDuration
from skchmm.datasets import load_oil_prices
from skchmm.plotting import PathDisplay

oil = load_oil_prices()
X = 100 * np.diff(np.log(oil.prices))[:, None]  # per cent per week
weeks = oil.times[1:]
print(f"{len(X)} weekly returns with a standard deviation of {X.std():.1f} %")

# %%
# How many regimes?
# -----------------
#
# The Bayesian information criterion weighs the fit against the number of parameters: of n states,
# n - 1 start probabilities, n (n - 1) transition probabilities, n means and n variances. The lowest
# value wins. EM may find a poor optimum, so the best of five starts is taken.

bic, models, settings = {}, {}, {"n_init": 5, "n_iter": 500, "tol": 1e-6, "random_state": 0}
for n in range(1, 5):
    models[n] = ConstrainedHMM(n, **settings).fit(X)
    bic[n] = models[n].bic(X)
    print(f"{n} regimes: BIC {bic[n]:.0f}")
n = min(bic, key=bic.get)
print(f"BIC chooses {n} regimes")

# %%
# Without and with a minimum duration
# -----------------------------------
#
# A regime lasts at least 13 weeks, a quarter of a year. The rule is known to EM as well: it learns
# the regimes of paths that keep the rule.

rules = [MinDuration(k, 13) for k in range(n)]
lasting = ConstrainedHMM(n, constraints=rules, **settings).fit(X)
decoded, shortest = {}, {}
for name, model in (("no rule", models[n]), ("13 weeks at least", lasting)):
    deviation = np.sqrt(np.ravel(model.emission_.covars_))
    wildest = int(deviation.argmax())
    decoded[name] = np.where(model.predict(X) == wildest, "wild", "calm")
    borders = [0, *(np.flatnonzero(decoded[name][1:] != decoded[name][:-1]) + 1).tolist(), len(X)]
    shortest[name] = int(np.diff(borders[:-1]).min())
    print(f"{name}: {len(borders) - 1} regimes, the shortest lasts {shortest[name]} weeks")

# %%
# When was it wild?
# -----------------
#
# The dates are easy to recognise: prices collapse in 1986, there is a war in the Gulf in 1990 and
# another in Iraq in 2003, the banks fail in 2008, and at the end of 2015 there is too much oil.

crises = []
for start, stop in zip(borders, borders[1:]):
    if decoded["13 weeks at least"][start] == "wild":
        crises.append((str(weeks[start])[:7], str(weeks[stop - 1])[:7]))
        print(f"{' to '.join(crises[-1])}: {stop - start} weeks")

# %%
# A picture of the paths, and of the price. It has dates, since the paths are drawn with times.

figure, (top, bottom) = plt.subplots(
    2, 1, figsize=(9, 4.5), layout="constrained", sharex=True, height_ratios=[1, 1.4]
)
colors = {"calm": "#66ccee", "wild": "#aa3377"}
PathDisplay(decoded, times=weeks, labels=list(colors)).plot(top, colors=colors)
bottom.plot(oil.times, oil.prices, lw=0.9, color="#ee7733")
bottom.set(ylabel="dollars per barrel", yscale="log", yticks=[10, 20, 50, 100])
bottom.set_yticklabels(["10", "20", "50", "100"])
bottom.minorticks_off()
bottom.spines[["top", "right"]].set_visible(False)
