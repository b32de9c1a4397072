"""
Why is this impossible?
=======================

A nurse's week is planned by rules, and badge readers guess where she was each hour: ward, desk,
break or home. Sometimes no path keeps all rules. Then the model does not return something close; it
says so, and it can say why: the smallest set of rules that exclude each other, and the hour at
which the last path ends.
"""

import numpy as np

from skchmm import ConstrainedHMM, InfeasibleSequenceError
from skchmm.constraints import AtLeastVisits, EndsIn, MaxDuration, MinDuration, Precedence, StartsIn
from skchmm.plotting import ExplanationDisplay

STATES = ["home", "ward", "desk", "break"]
rules = [
    StartsIn("home"),
    EndsIn("home"),
    MinDuration("ward", 3),  # rounds last three hours
    MaxDuration("ward", 4),
    AtLeastVisits("ward", 2),
    Precedence("ward", "break"),
    AtLeastVisits("break", 1),
]
stay, n = 0.6, len(STATES)
transmat = np.full((n, n), (1 - stay) / (n - 1)) + (stay - (1 - stay) / (n - 1)) * np.eye(n)
model = ConstrainedHMM.from_parameters(np.full(n, 0.25), transmat, states=STATES, constraints=rules)

# %%
# A long day has a feasible path. A short one has not: two rounds of three hours do not fit in.

rng = np.random.default_rng(0)
long_day, short_day = (np.log(rng.dirichlet(np.ones(n), size=hours)) for hours in (12, 8))
print(" ".join(model.predict(long_day)))
try:
    model.predict(short_day)
except InfeasibleSequenceError as error:
    print(f"\n{error}")

# %%
# Which rules are in the way? Only those that matter are named. The picture adds them one by one,
# and shows at which hour the last path ends.

why = model.explain(short_day)
print(f"\n{why}")
ExplanationDisplay.from_estimator(model, short_day)

# %%
# Observations can be in the way too. At three hours of a long day the nurse was seen at home,
# without any doubt: every other state has probability zero. Between them there is no time for
# rounds.

strange_day = long_day.copy()
strange_day[[3, 6, 9], 1:] = -np.inf
why_strange = model.explain(strange_day)
print(f"\n{why_strange}")

# %%
# What to do? Drop a rule that is named, and look again. Each of those in the smallest conflict is
# worth a try.

possible = {}
for rule in why.constraints:
    others = [each for each in rules if each != rule]
    possible[repr(rule)] = model.with_constraints(others).explain(short_day).feasible
    print(f"without {rule!r}: {'possible' if possible[repr(rule)] else 'still impossible'}")
