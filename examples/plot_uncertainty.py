"""
Earthquakes: is the model right, and how sure is it?
====================================================

A fitted model has numbers for everything, whether they mean something or not. Two questions come
before they are used. Do the data look as the model expects? And how far could parameters be from
the truth? We ask them of the yearly numbers of large earthquakes, a classic of Zucchini and
MacDonald's textbook.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy import stats

from skchmm import ConstrainedHMM

earthquakes = np.array([
    13, 14, 8, 10, 16, 26, 32, 27, 18, 32, 36, 24, 22, 23, 22, 18, 25, 21, 21, 14, 8, 11, 14, 23,
    18, 17, 19, 20, 22, 19, 13, 26, 13, 14, 22, 24, 21, 22, 26, 21, 23, 24, 27, 41, 31, 27, 35,
    26, 28, 36, 39, 21, 17, 22, 17, 19, 15, 34, 10, 15, 22, 18, 15, 20, 15, 22, 19, 16, 30, 27,
    29, 23, 20, 16, 21, 21, 25, 16, 18, 15, 18, 14, 10, 15, 8, 15, 6, 11, 8, 7, 18, 16, 13, 12,
    13, 20, 15, 16, 12, 18, 15, 16, 13, 15, 16, 11, 11,
])[:, None]  # fmt: skip

# %%
# A Poisson distribution has as much variance as mean; a negative binomial one may have more. Which
# is it, and with how many states? AIC and BIC charge for parameters, ICL for states that overlap
# too. Lower is better.

models = {}
print("counts             states  parameters     AIC     BIC     ICL")
for emission in ("poisson", "negative_binomial"):
    for n in (1, 2, 3):
        model = ConstrainedHMM(
            n, emission=emission, n_init=5, n_iter=2000, tol=1e-9, random_state=0
        ).fit(earthquakes)
        models[emission, n] = model
        values = "".join(f"{f(earthquakes):8.1f}" for f in (model.aic, model.bic, model.icl))
        print(f"{emission:18s} {n:6d} {model.n_parameters_:11d}{values}")

# %%
# AIC takes three Poisson states. For BIC and ICL two are enough, and for ICL best with counts that
# vary more than Poisson counts. One state is never enough: years depend on each other.
#
# Pseudo-residuals show what a model misses. Each says which share of the distribution that is
# expected, given all other years, lies below what was observed; if the model is right, they are
# uniform.

residuals = {
    name: models[name].pseudo_residuals(earthquakes)[:, 0]
    for name in (("poisson", 1), ("poisson", 3))
}
for (emission, n), values in residuals.items():
    p = stats.kstest(values, "uniform").pvalue
    far = np.mean((values < 0.005) | (values > 0.995))
    print(f"{emission}, {n} state(s): p = {p:.3f} of being uniform, {far:.0%} beyond 99 percent")

figure, axes = plt.subplots(1, 3, figsize=(11, 3.6), layout="constrained")
for ax, ((emission, n), values) in zip(axes, residuals.items()):
    ax.hist(values, bins=10, range=(0, 1), color="#669bbc", edgecolor="white")
    ax.axhline(len(values) / 10, color="#c1121f", lw=1)
    ax.set(title=f"{emission}, {n} state(s)", xlabel="pseudo-residual")

# %%
# How sure are the rates of the three states? The curvature of the likelihood says, and so do fits
# to draws from the model, which need more time and no normal approximation.

model = models["poisson", 3]
order = np.argsort(model.emission_.rates_[:, 0])
intervals = {
    "information": model.confidence_intervals(earthquakes, level=0.9)["rates_"],
    "bootstrap": model.confidence_intervals(
        earthquakes, level=0.9, method="bootstrap", n_draws=40, random_state=0
    )["rates_"],
}
for method, (lower, upper) in intervals.items():
    shown = [f"({lower[s, 0]:.1f}, {upper[s, 0]:.1f})" for s in order]
    print(f"{method:12s} {'  '.join(shown)}")
for k, (method, (lower, upper)) in enumerate(intervals.items()):
    y = np.arange(3) + 0.15 * k
    axes[2].hlines(y, lower[order, 0], upper[order, 0], color=f"C{k}", lw=3, label=method)
axes[2].plot(model.emission_.rates_[order, 0], np.arange(3), "k.")
axes[2].set(yticks=range(3), ylabel="state", xlabel="earthquakes a year", title="90 percent")
axes[2].legend()
plt.show()
