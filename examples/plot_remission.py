"""
Time to relapse: the leukaemia trial of 1963
============================================

In the trial of Freireich and others [1]_, children with acute leukaemia in remission were given
6-mercaptopurine or a placebo, and the weeks until the relapse were noted; some were still in
remission when they were last seen. These 42 numbers are in most books on survival. A relapse is
known to the week, so its time is exact; who was lost is known to have been in remission then. A
model in continuous time takes both as they are.

.. [1] E. J. Freireich et al. (1963). The effect of 6-mercaptopurine on the duration of
   steroid-induced remissions in acute leukemia. Blood 21, 699-716.
"""

import numpy as np

from skchmm import CTConstrainedHMM
from skchmm.plotting import SurvivalDisplay

RELAPSED = {
    "6-MP": [6, 6, 6, 7, 10, 13, 16, 22, 23],
    "placebo": [1, 1, 2, 2, 3, 4, 4, 5, 5, 8, 8, 8, 8, 11, 11, 12, 12, 15, 17, 22, 23],
}
STILL_IN_REMISSION = {"6-MP": [6, 9, 10, 11, 17, 19, 20, 25, 32, 32, 34, 35], "placebo": []}

# %%
# Two rows per child: in remission at week 0, then the relapse, or still in remission. The states
# are seen without error, so X and y are the same. ``exact_entry`` says that a relapse is entered at
# the time of its row; ``panel=True`` that the others are visits.


def rows_of(group):
    """Labels and times of the children of a group."""
    y = [["remission", "relapse"]] * len(RELAPSED[group])
    y += [["remission", "remission"]] * len(STILL_IN_REMISSION[group])
    return y, [[0.0, float(week)] for week in RELAPSED[group] + STILL_IN_REMISSION[group]]


models = {}
for group in RELAPSED:
    y, times = rows_of(group)
    model = CTConstrainedHMM(
        states=["remission", "relapse"], panel=True, exact_entry="relapse", smoothing=0, tol=1e-10,
        startprob_fixed=[1, 0],
    )  # fmt: skip
    models[group] = model.fit(y, y, times=times)
    rate = model.generator_[0, 1]
    by_hand = len(RELAPSED[group]) / sum(RELAPSED[group] + STILL_IN_REMISSION[group])
    lower, upper = model.confidence_intervals(y, y, times=times)["generator_"]
    print(f"{group:8s} {rate:.4f} relapses per week, by hand {by_hand:.4f};")
    print(f"  95% interval {lower[0, 1]:.3f} to {upper[0, 1]:.3f}")
    print(f"  mean remission {model.sojourn_times()[0]:.1f} weeks")

# %%
# Is one rate enough? The curve of Kaplan and Meier, which assumes none, steps around the models'.


def kaplan_meier(group):
    """Weeks of relapses, and the share in remission after each."""
    relapsed = np.array(RELAPSED[group])
    followed = np.concatenate([relapsed, STILL_IN_REMISSION[group]])
    weeks = np.unique(relapsed)
    left = [1 - np.sum(relapsed == week) / np.sum(followed >= week) for week in weeks]
    return weeks, np.cumprod(left)


display = SurvivalDisplay.from_estimator(models, "relapse", times=np.linspace(0, 36, 73))
for group in models:
    weeks, left = kaplan_meier(group)
    display.ax_.step([0, *weeks, 36], [1, *left, left[-1]], where="post", color="grey", lw=1)
display.ax_.set_xlabel("weeks")

# %%
# The likelihood says the same in numbers. Let the remission have two hidden phases that look alike,
# with rates of relapse of their own. There are two more rates, and one label for two states: a
# *set* says that one of them is right.

STATES, nan = ["early", "late", "relapse"], np.nan
guess = [[0, 0.3, 0.01], [0, 0, 0.1], [0, 0, 0]]
for group in RELAPSED:
    y, times = rows_of(group)
    y = [["early", {"early", "late"} if last == "remission" else last] for _, last in y]
    X = [np.zeros((2, 3))] * len(y)  # nothing is observed besides the labels
    phases = CTConstrainedHMM.from_parameters(
        [1, 0, 0], guess, states=STATES, panel=True, exact_entry="relapse", init="fitted",
        n_iter=2000, tol=1e-8, smoothing=0, startprob_fixed=[1, 0, 0],
        generator_fixed=[[nan, nan, nan], [0, nan, nan], [0, 0, 0]],
    ).fit(X, y, times=times)  # fmt: skip
    gain, y = phases.log_likelihood(X, times=times, known=y).sum(), rows_of(group)[0]
    gain -= models[group].log_likelihood(y, times=times, known=y).sum()
    print(f"{group:8s} two phases: log-likelihood {gain:+.2f} for two more rates")

# %%
# Neither group needs them: a constant rate of relapse fits. So what is still ahead does not depend
# on how long a remission has lasted. For a child on 6-MP that was in remission at week 20:

model = models["6-MP"]
proba = model.predict_proba(["remission", "remission"], times=[0, 20], at=[20, 30, 40, 60])
print(f"in remission at weeks 20, 30, 40 and 60: {proba[:, 0].round(2)}")
print(f"expected weeks to relapse: {model.expected_time_to('relapse')[0]:.0f}")
