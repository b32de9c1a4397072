"""
Mining rules, and asking which to trust
=======================================

Rules need not be written by hand: a miner finds those that all labelled sequences keep. But what
holds in a few sequences may be chance. Here the true rules are known, since the data are drawn: A,
B, C, END in this order, with REST anywhere. We mine rules from 15 sequences and ask of each: does
it follow from the truth, how much evidence is there, and what does it cost on sequences without
labels?
"""

import matplotlib.pyplot as plt
import numpy as np

import skchmm
from skchmm import ConstrainedHMM, ConstraintMiner
from skchmm.datasets import make_chain

data = make_chain(415, n_steps=60, stay=0.93, noise=0.5, random_state=1)
X, y, X_new, y_new = data.X[:15], data.y[:15], data.X[15:], data.y[15:]
FAMILIES = ("precedence", "forbidden", "no_reentry", "starts", "ends", "min_duration")
settings = {"families": FAMILIES, "min_edge_count": 5, "states": data.states}
miner = ConstraintMiner(**settings).fit(y)

# %%
# Does it follow from the truth?
# ------------------------------
#
# A rule follows if it excludes no path that the true rules allow: then the two automata, with it
# and without it, accept the same paths.

truth = skchmm.compile(data.constraints, data.states)


def follows(rule):
    return skchmm.compile([*data.constraints, rule], data.states).equivalent(truth)


wrong = [rule for rule in miner.constraints_ if not follows(rule)]
print(f"{len(miner.constraints_)} rules from {len(y)} sequences, {len(wrong)} of them are wrong:")
for rule in wrong:
    held = np.mean([skchmm.satisfies(path, rule, data.states) for path in y_new])
    print(f"  {rule} holds in {held:.2f} of {len(y_new)} new sequences")

# %%
# How much evidence is there?
# ---------------------------
#
# With ``confidence``, a rule must hold in 80% of all sequences at least, as far as the sample can
# say. Rules that were seen in few places are not kept any more, and the table says why. But some
# wrong rules have as much evidence as the true ones: only more sequences can tell them apart.

careful = ConstraintMiner(confidence=0.95, min_support=0.8, **settings).fit(y)
table = careful.support_
left_out = table.loc[~table["kept"], ["constraint", "evidence", "reason"]]
print(left_out.tail(3).to_string(index=False))
n_wrong = {}
for n, support in ((15, 0.8), (60, 0.95), (240, 0.98)):
    more = ConstraintMiner(confidence=0.95, min_support=support, **settings).fit(data.y[:n])
    n_wrong[n] = sum(not follows(rule) for rule in more.constraints_)
    print(f"from {n} sequences, to hold in {support:.0%}: {len(more.constraints_)} rules, "
          f"{n_wrong[n]} wrong")  # fmt: skip

# %%
# What does it cost?
# ------------------
#
# No labels are needed to suspect a rule. `constraint_costs` says what the best path of each new
# sequence would gain without it: a gain of 5 means a path that is e^5 times as probable. A high
# cost is a reason to look, not a verdict: a true rule that corrects the model costs as well.

model = ConstrainedHMM(states=data.states, constraints=miner.constraints_, on_infeasible="warn")
model.fit(X, y)
costs = model.constraint_costs(X_new)
highest = costs.groupby("constraint")["log_prob_gain"].max().sort_values(ascending=False)
print(highest.head(len(wrong) + 2).round(2).to_string())

# %%
# The largest gain of each rule: wrong rules are red.

figure, ax = plt.subplots(figsize=(8, 0.6 + 0.3 * len(highest)), layout="constrained")
colors = ["#c1121f" if name in map(repr, wrong) else "#4477aa" for name in highest.index]
ax.barh(range(len(highest)), highest, color=colors)
names = [name if len(name) < 45 else name[:42] + "..." for name in highest.index]
ax.set_yticks(range(len(highest)), names)
ax.invert_yaxis()
ax.set_xlabel("largest gain in log probability without the rule")
ax.spines[["top", "right"]].set_visible(False)
right = {}
for name, rules in (("no rules", None), ("mined", miner.constraints_), ("true", data.constraints)):
    right[name] = model.with_constraints(rules).score(X_new, y_new)
    print(f"{name:9s} accuracy {right[name]:.3f}")
