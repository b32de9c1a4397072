"""
Mining rules, and asking which to trust
=======================================

Rules need not be written by hand: a miner finds those that all labelled sequences keep. But what
holds in a few sequences may be chance. We mine the labels of fifteen genes of the fruit fly, and
ask of each rule: is it biology, does it hold in other genes, and what does it cost on genes without
labels? The genes come with the package.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np

import skchmm
from skchmm import ConstrainedHMM, ConstraintMiner, InfeasibleSequenceWarning
from skchmm.constraints import Regex
from skchmm.datasets import load_fly_genes
from skchmm.emissions import Categorical

genes = load_fly_genes()
X, y, X_new, y_new = genes.X[:15], genes.y[:15], genes.X[15:], genes.y[15:]
FAMILIES = ("precedence", "forbidden", "no_reentry", "starts", "ends", "min_duration")
miner = ConstraintMiner(families=FAMILIES, states=genes.states).fit(y)
print(f"{len(miner.constraints_)} rules from {len(y)} genes")

# %%
# Is it biology?
# --------------
#
# Here the truth is known: three letters of START, whole codons, three letters of STOP. A rule
# follows from it if it excludes no path that the truth allows: then the two automata, with it and
# without it, accept the same paths.

truth = Regex("UTR5+ START{3} (CDS CDS CDS)+ STOP{3} UTR3+")
controller = skchmm.compile(truth, genes.states)


def follows(rule):
    return skchmm.compile([truth, rule], genes.states).equivalent(controller)


wrong = [rule for rule in miner.constraints_ if not follows(rule)]
trusted = [rule for rule in miner.constraints_ if rule not in wrong]
for rule in wrong:
    held = np.mean([skchmm.satisfies(path, rule, genes.states) for path in y_new])
    print(f"  {rule} does not follow; it holds in {held:.2f} of {len(y_new)} other genes")

# %%
# Does it stay the same with more genes?
# --------------------------------------
#
# Mostly the truth is not known. Every rule above holds in 15 of 15 genes, so counting does not tell
# them apart. But one can mine fewer genes, and then more. What is true stays: START and STOP have
# three letters. What was the smallest of a few numbers goes on shrinking.

durations = ConstraintMiner(families=("min_duration",), min_edge_count=3, states=genes.states)
sizes, least = (5, 10, 15, 20, 25, 30, 35, 40, 44), {}
for n in sizes:
    for rule in durations.fit(genes.y[:n]).constraints_:
        least.setdefault(rule.states, []).append(rule.k)
figure, ax = plt.subplots(figsize=(8, 3), layout="constrained")
for (state, bounds), color in zip(least.items(), ["#ee7733", "#228833", "#66ccee", "#ccbb44"]):
    print(f"{state:5s} lasts at least {bounds[0]} letters in {sizes[0]} genes, {bounds[-1]} in all")
    ax.plot(sizes, bounds, "o--" if state == "STOP" else "o-", color=color, label=state)
ax.set(xlabel="genes that were mined", ylabel="letters at least, as mined", yscale="log")
ax.legend(frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
ax.spines[["top", "right"]].set_visible(False)

# %%
# What does it cost?
# ------------------
#
# No labels are needed to suspect a rule. `constraint_costs` says what the best path of each new
# sequence would gain without it: a gain of 5 means a path that is e^5 times as probable, and inf
# that there is no path with the rule. A high cost is a reason to look, not a verdict: the true rule
# EndsIn('UTR3') stands in the way of the two others, and costs as much.

model = ConstrainedHMM(emission=Categorical(order=2), constraints=miner.constraints_)
model.set_params(states=genes.states, on_infeasible="warn").fit(X, y)
costs = model.constraint_costs(X_new)
highest = costs.groupby("constraint")["log_prob_gain"].max().sort_values(ascending=False)
print(highest.head(5).round(2).to_string())

# %%
# A rule that is wrong for some genes may still help with the others: here most coding parts are
# long, which the simple model misses. But now there are genes that nothing can explain.

right, impossible = {}, {}
for name, rules in (("no rules", None), ("trusted", trusted), ("all mined", miner.constraints_)):
    decoder = model.with_constraints(rules)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InfeasibleSequenceWarning)
        right[name] = decoder.score(X_new, y_new)
    impossible[name] = sum(not why.feasible for why in decoder.explain(X_new))
    print(f"{name:9s} accuracy {right[name]:.3f}, {impossible[name]} genes without a path")
