"""
Live decoding from a stream
===========================

Is the market for oil in a crisis now? The answer is wanted this week, not ten years later. A stream
takes one return at a time. It gives the probability of each regime at once, and a label some weeks
later, which is never taken back. All labels together keep the rules. The prices come with the
package.
"""

import matplotlib.pyplot as plt
import numpy as np

from skchmm import ConstrainedHMM, satisfies
from skchmm.constraints import MinDuration
from skchmm.datasets import load_oil_prices
from skchmm.plotting import MarginalsDisplay, PathDisplay

oil = load_oil_prices()
returns, weeks = 100 * np.diff(np.log(oil.prices))[:, None], oil.times[1:]
past = weeks < np.datetime64("2004-01-01")
new, weeks = returns[~past], weeks[~past]
print(f"{past.sum()} weeks to learn from, {len(new)} weeks that come one at a time")

# %%
# Two regimes, learned from the past without labels. With the rule, each lasts a quarter of a year
# at least.

names = np.array(["calm", "wild"])
rules = [MinDuration(k, 13) for k in range(2)]
settings = {"startprob_fixed": [0.5, 0.5], "n_iter": 500, "tol": 1e-6, "random_state": 0}
models = {
    "no rule": ConstrainedHMM(2, **settings).fit(returns[past]),
    "13 weeks at least": ConstrainedHMM(2, constraints=rules, **settings).fit(returns[past]),
}


def named(model, path):
    """Names for the two states: the one with the larger variance is wild."""
    return np.where(path == np.ravel(model.emission_.covars_).argmax(), *names[::-1])


# %%
# The longer one waits, the better
# --------------------------------
#
# ``lag`` is the number of weeks between a return and its label. At the end, ``finish`` gives the
# labels that are still missing. We compare with the best path in hindsight, which sees all weeks.
# With the rule, two weeks are too few: what they say never outweighs a change that has to last.


def follow(model, lag):
    """The labels of the new weeks, one return at a time."""
    stream = model.stream(lag=lag)
    for row in new:
        stream.push(row)
    stream.finish()
    return stream.path


hindsight, right, valid, live = {}, {}, [], {}
for name, model in models.items():
    hindsight[name] = named(model, model.predict(new))
    for lag in (2, 4, 13, 26):
        path = follow(model, lag)
        live[name, lag] = named(model, path)
        right[name, lag] = np.mean(live[name, lag] == hindsight[name])
        if model.constraints:
            valid.append(satisfies(path, rules, [0, 1]))
        print(
            f"{name}: {right[name, lag]:.3f} of labels after {lag:2d} weeks are those of hindsight"
        )
print(f"{np.mean(valid):.0%} of the paths that were labelled live with the rule keep it")

# %%
# What is known at each moment
# ----------------------------
#
# The probabilities in each week, given the weeks before it. With the rule, one bad week alarms
# nobody, and a crisis is not over after one good week.

figure, axes = plt.subplots(3, 1, figsize=(9, 5.5), layout="constrained", sharex=True)
colors = {"calm": "#66ccee", "wild": "#aa3377"}
name = "13 weeks at least"
paths = {"in hindsight": hindsight[name]} | {
    f"after {lag} weeks": live[name, lag] for lag in (4, 13)
}
PathDisplay(paths, times=weeks, labels=list(colors)).plot(axes[0], colors=colors)
for ax, (name, model) in zip(axes[1:], models.items()):
    stream = model.stream()
    proba = np.array([stream.push(row).proba for row in new])
    MarginalsDisplay(proba, named(model, model.classes_).tolist(), times=weeks).plot(
        ax, colors=colors, legend=False
    )
    ax.set_title(f"known so far, {name}", loc="left", fontsize=10)
