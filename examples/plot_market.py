"""
Market regimes that last
========================

Daily returns of a market are calm for months, then wild. A hidden Markov model finds such regimes
without labels. How many are there? And how do we keep it from calling a single bad day a crisis?
The returns are drawn: two years of trading days in each of five markets, in three regimes that each
last a month at least.
"""

import matplotlib.pyplot as plt
import numpy as np

from skchmm import ConstrainedHMM
from skchmm.constraints import MinDuration
from skchmm.metrics import sequence_accuracy_score
from skchmm.plotting import PathDisplay

REGIMES = {"calm": (0.08, 0.5), "nervous": (0.0, 1.2), "crisis": (-0.3, 3.0)}  # per cent a day


def draw_market(rng, n_days=500):
    path = []
    while len(path) < n_days:
        path += [rng.choice(list(REGIMES), p=[0.5, 0.3, 0.2])] * rng.integers(21, 120)
    path = np.array(path[:n_days])
    means, deviations = np.array([REGIMES[regime] for regime in path]).T
    # Real returns have heavier tails than a normal distribution.
    return (means + deviations * rng.standard_t(6, n_days) / np.sqrt(1.5))[:, None], path


rng = np.random.default_rng(3)
X, y = map(list, zip(*[draw_market(rng) for _ in range(5)]))
n_days = sum(map(len, X))

# %%
# How many regimes?
# -----------------
#
# The Bayesian information criterion weighs the fit against the number of parameters: of n states,
# n - 1 start probabilities, n (n - 1) transition probabilities, n means and n variances.

bic, models, settings = {}, {}, {"n_init": 3, "n_iter": 300, "tol": 1e-3, "random_state": 0}
for n in range(1, 5):
    models[n] = ConstrainedHMM(n, **settings).fit(X)
    n_parameters = (n - 1) + n * (n - 1) + 2 * n
    bic[n] = n_parameters * np.log(n_days) - 2 * models[n].log_likelihood(X).sum()
    print(f"{n} regimes: BIC {bic[n]:.0f}")
n = min(bic, key=bic.get)
print(f"BIC chooses {n} regimes")

# %%
# Without and with a minimum duration
# -----------------------------------
#
# A regime lasts 21 trading days at least. The rule is known to EM as well: what it learns are the
# regimes of paths that keep it.

rules = [MinDuration(k, 21) for k in range(n)]
lasting = ConstrainedHMM(n, constraints=rules, **settings).fit(X)
decoded, right = {}, {}
for name, model in (("no rule", models[n]), ("a month at least", lasting)):
    variances = np.ravel(model.emission_.covars_)
    names = np.array(list(REGIMES) + ["other"] * (n - 3))[np.argsort(np.argsort(variances))]
    decoded[name] = [names[path] for path in model.predict(X)]
    n_runs = sum(1 + np.sum(path[1:] != path[:-1]) for path in decoded[name])
    right[name] = sequence_accuracy_score(y, decoded[name])
    print(f"{name:16s} {right[name]:.3f} of days right, {n_runs} regimes (truth: "
          f"{sum(1 + np.sum(path[1:] != path[:-1]) for path in y)})")  # fmt: skip

# %%
# The market with most changes.

k = int(np.argmax([np.sum(path[1:] != path[:-1]) for path in decoded["no rule"]]))
colors = {"calm": "#66ccee", "nervous": "#ccbb44", "crisis": "#aa3377"}
figure, (top, bottom) = plt.subplots(2, 1, figsize=(9, 4), layout="constrained", sharex=True)
paths = {name: paths[k] for name, paths in decoded.items()}
PathDisplay.from_predictions(y[k], paths, ax=top, labels=list(colors), colors=colors)
bottom.plot(X[k], lw=0.8, color="#444444")
bottom.set(xlabel="trading day", ylabel="return, %")
bottom.spines[["top", "right"]].set_visible(False)
