"""
Patients at irregular times
===========================

A disease comes back now and then, for some months. The patients of a register were chosen because
each had exactly one relapse while they were observed. They are tested when they come, which may be
after two weeks or after two years, and the test is wrong now and then. A model in continuous time
takes the gaps as they are. How the patients were chosen is a rule that no rates can say. The
patients are drawn.
"""

import matplotlib.pyplot as plt
import numpy as np

from skchmm import CTConstrainedHMM
from skchmm.constraints import ExactVisits
from skchmm.emissions import Categorical
from skchmm.metrics import sequence_accuracy_score
from skchmm.plotting import MarginalsDisplay, PathDisplay

RATES = {"fine": 0.5, "relapse": 1.2}  # of leaving the state, per year
POSITIVE = {"fine": 0.25, "relapse": 0.75}  # probability of a positive test


def draw_patient(rng):
    """Times of the visits, test results and true states of a patient with exactly one relapse."""
    times = np.cumsum(0.04 + rng.gamma(1.0, 0.2, size=rng.integers(12, 25)))
    while True:
        changes = [times[0]]
        while changes[-1] < times[-1]:
            state = "relapse" if len(changes) % 2 == 0 else "fine"
            changes.append(changes[-1] + rng.exponential(1 / RATES[state]))
        if len(changes) in (3, 4):  # the last change is after the last visit
            break
    y = np.where(np.searchsorted(changes, times, side="right") % 2 == 0, "relapse", "fine")
    chance = np.array([POSITIVE[state] for state in y])
    return times, np.where(rng.random(len(y)) < chance, "positive", "negative"), y


rng = np.random.default_rng(0)
times, X, y = (list(column) for column in zip(*[draw_patient(rng) for _ in range(300)]))
gaps = np.concatenate([np.diff(t) for t in times])
print(f"between visits: {gaps.min() * 365:.0f} days to {gaps.max():.1f} years")

# %%
# The model
# ---------
#
# How often the disease comes back and how often the test is wrong is known from other studies, of
# patients who were not chosen. Only the rule is about this register.

states, leave = list(RATES), np.array(list(RATES.values()))
positive = np.array(list(POSITIVE.values()))
free = CTConstrainedHMM.from_parameters(
    [1.0, 0.0], [[-leave[0], leave[0]], [leave[1], -leave[1]]], states=states,
    emission=Categorical.from_parameters(
        np.column_stack([1 - positive, positive]), ["negative", "positive"]
    ),
)  # fmt: skip
ruled = free.with_constraints(ExactVisits("relapse", 1))

# %%
# Who had a relapse, and when?
# ----------------------------

decoded = {"tests": [np.where(x == "positive", "relapse", "fine") for x in X]}
for name, model in (("without the rule", free), ("one relapse", ruled)):
    decoded[name] = model.predict(X, times=times)
right = {name: sequence_accuracy_score(y, paths) for name, paths in decoded.items()}
for name, paths in decoded.items():
    ill = [np.concatenate([[False], path == "relapse"]) for path in paths]
    once = np.mean([np.sum(each[1:] & ~each[:-1]) == 1 for each in ill])
    print(f"{name:17s} {right[name]:.3f} of visits right, {once:.3f} of patients with one relapse")

# %%
# The rule binds what happens between visits too: the relapse may fall between two of them, so not
# every path has one at a visit. The patient for whom the rule helped most:

gain = [np.mean(b == t) - np.mean(a == t) for a, b, t in
        zip(decoded["without the rule"], decoded["one relapse"], y)]  # fmt: skip
k = int(np.argmax(gain))
colors = {"fine": "#66ccee", "relapse": "#aa3377"}
figure, axes = plt.subplots(
    2, 1, figsize=(9, 4), layout="constrained", sharex=True, height_ratios=[2, 1]
)
PathDisplay.from_predictions(
    y[k], {name: paths[k] for name, paths in decoded.items()}, times=times[k],
    labels=list(colors), ax=axes[0], colors=colors,
)  # fmt: skip
proba = ruled.predict_proba(X[k], times=times[k])
display = MarginalsDisplay(proba, states, times=times[k])
display.plot(axes[1], colors=colors, legend=False)
axes[1].set_xlabel("years")
