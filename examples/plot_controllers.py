"""
What constraints compile to
===========================

A constraint becomes a small automaton that reads one label per step. A double circle is a state in
which a path may end; what leads nowhere is not drawn. Constraints that are combined stay small,
because products are built from what can be reached and then minimised.
"""

import matplotlib.pyplot as plt

import skchmm
from skchmm.constraints import ExactVisits, LTLf, MinDuration, Precedence

states = ["rest", "walk", "run"]
rules = {
    "walk before run": Precedence("walk", "run"),
    "run exactly once": ExactVisits("run", 1),
    "a walk lasts 3 steps": MinDuration("walk", 3),
    "after a run, a rest": LTLf("G(run -> F rest)"),
}

figure, axes = plt.subplots(2, 2, figsize=(11, 5), layout="constrained")
for ax, (name, rule) in zip(axes.ravel(), rules.items()):
    skchmm.compile(rule, states).plot(ax)
    ax.set_title(f"{name}: {rule!r}", loc="left", fontsize=10)

# %%
# All four together. The naive product of the four has the product of their sizes.

controllers = [skchmm.compile(rule, states) for rule in rules.values()]
together = skchmm.compile(list(rules.values()), states)
print("one by one:", [len(controller.accept) for controller in controllers])
print("together:  ", len(together.accept))

figure, ax = plt.subplots(figsize=(11, 3), layout="constrained")
together.plot(ax)

# %%
# Controllers answer questions about the paths they accept: a shortest one, and how many there are.

print(together.shortest_path())
print([together.count_paths(n) for n in range(8)])
