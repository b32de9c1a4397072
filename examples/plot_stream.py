"""
Live decoding from a stream
===========================

A pump is watched while it runs: it is primed, runs, is flushed, and stops, in this order. Labels
are wanted now, not at the end of the day. A stream takes one measurement at a time. It gives the
probability of each state at once, and a label a few steps later, which is never taken back. All
labels together keep the rules. The measurements are drawn.
"""

import matplotlib.pyplot as plt
import numpy as np

from skchmm import ConstrainedHMM, satisfies
from skchmm.constraints import StageMonotone, StartsIn
from skchmm.plotting import MarginalsDisplay, PathDisplay

STATES = {"prime": (0.5, 30), "run": (1.5, 80), "flush": (0.9, 25), "stop": (0.0, 30)}
rules = [StartsIn("prime"), StageMonotone(list(STATES), allow_backward=False)]


def draw_day(rng):
    durations = [rng.poisson(mean) + 1 for _, mean in STATES.values()]
    y = np.repeat(list(STATES), durations)
    return (np.array([STATES[s][0] for s in y]) + rng.normal(scale=0.6, size=len(y)))[:, None], y


rng = np.random.default_rng(0)
days = [draw_day(rng) for _ in range(40)]
model = ConstrainedHMM(states=list(STATES), constraints=rules)
model.fit([x for x, _ in days[:20]], [y for _, y in days[:20]])

# %%
# The longer one waits, the better
# --------------------------------
#
# ``lag`` is the number of steps between a measurement and its label. At the end, ``finish`` gives
# the labels that are still missing.


def follow(model, x, lag):
    """The labels of a day, one measurement at a time."""
    stream = model.stream(lag=lag)
    for row in x:
        stream.push(row)
    stream.finish()
    return stream.path


right, valid = {}, []
for lag in (0, 2, 5, 20):
    paths = [follow(model, x, lag) for x, _ in days[20:]]
    right[lag] = np.mean([np.mean(path == y) for path, (_, y) in zip(paths, days[20:])])
    valid += [satisfies(path, rules, list(STATES)) for path in paths]
    print(f"label after {lag:2d} more steps: {right[lag]:.3f} right")
whole = model.score([x for x, _ in days[20:]], [y for _, y in days[20:]])
print(f"label at the end of the day: {whole:.3f} right")
print(f"{np.mean(valid):.0%} of the days, as labelled live, keep the order")

# %%
# What is known at each moment
# ----------------------------
#
# The probabilities after each measurement, without and with the order. With it, a dip of the
# running pump is soon known not to be a stop.

x, y = days[25]
figure, axes = plt.subplots(3, 1, figsize=(9, 5.5), layout="constrained", sharex=True)
paths = {"live, lag 5": follow(model, x, 5), "at the end": model.predict(x)}
PathDisplay.from_predictions(y, paths, ax=axes[0], labels=list(STATES))
for ax, name, each in zip(axes[1:], ("without", "with"), (model.with_constraints(None), model)):
    stream = each.stream()
    live = np.array([stream.push(row).proba for row in x])
    MarginalsDisplay(live, list(STATES)).plot(ax, legend=False)
    ax.set_title(f"known so far, {name} the order", loc="left", fontsize=10)
axes[-1].set_xlabel("step")
