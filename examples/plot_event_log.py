"""
An event log, repaired under Declare rules
==========================================

An office receives applications and logs each activity of each case. Now some entries of the log are
wrong: 15% of the activities were replaced by one drawn at random. The log is that of the receipt
phase of an environmental permit process (CoSeLoG), if the file ``receipt/receipt.csv.gz`` is in
your data home; otherwise cases of a smaller process are drawn. Declare is the language in which
process mining says what a case must look like.
"""

import gzip
from itertools import groupby, permutations
from pathlib import Path

import numpy as np

from skchmm import ConstrainedHMM
from skchmm.constraints import declare
from skchmm.datasets import get_data_home
from skchmm.emissions import Categorical
from skchmm.metrics import trajectory_validity_rate
from skchmm.plotting import PathDisplay

# %%
# The log
# -------

file = Path(get_data_home()) / "receipt" / "receipt.csv.gz"
if file.exists():
    lines = gzip.decompress(file.read_bytes()).decode().splitlines()
    rows = [line.split(",")[:2] for line in lines[1:]]
    cases = [[name for _, name in rows] for _, rows in groupby(rows, key=lambda row: row[0])]
    print(f"{len(cases)} cases of the receipt log")
else:
    names = ["register", "check", "ask", "answer", "decide", "inform", "archive"]
    process = [
        *(declare.Exactly(each, 1) for each in ("register", "decide", "archive")),
        declare.Init("register"), declare.End("archive"), declare.Precedence("check", "decide"),
        declare.AlternateSuccession("ask", "answer"), declare.ChainSuccession("decide", "inform"),
    ]  # fmt: skip
    n, rng = len(names), np.random.default_rng(1)
    source = ConstrainedHMM.from_parameters(
        np.full(n, 1 / n), np.full((n, n), 1 / n), states=names, constraints=process,
        emission=Categorical.from_parameters(np.eye(n), names),
    )  # fmt: skip
    cases = source.sample(rng.integers(6, 12, size=600), random_state=1)[1]
    print(f"{len(cases)} cases that were drawn (the receipt log is not in the data home)")

activities = sorted({name for case in cases for name in case})
truth = [np.array(case, dtype="U60") for case in cases]
rng = np.random.default_rng(0)
noisy = [np.where(rng.random(len(c)) < 0.15, rng.choice(activities, len(c)), c) for c in truth]
order = rng.permutation(len(truth))
train, test = order[: int(0.7 * len(order))], order[int(0.7 * len(order)) :]

# %%
# Mine the rules
# --------------
#
# Of a few templates, keep what holds in every correct case and applies to thirty of them or more.

having = {a: [truth[k].tolist() for k in train if a in truth[k]] for a in activities}
often = [a for a in activities if len(having[a]) >= 30]
rules = [declare.Init({truth[k][0] for k in train}), declare.End({truth[k][-1] for k in train})]
rules += [declare.Absence(a, 2) for a in often if all(case.count(a) == 1 for case in having[a])]
for a, b in permutations(often, 2):
    if all(b in case and case.index(b) < case.index(a) for case in having[a]):
        rules.append(declare.Precedence(b, a))
    if all(b in case[case.index(a) :] for case in having[a]) and len(having[b]) < len(train):
        rules.append(declare.RespondedExistence(a, b))
    if all(c[k + 1 : k + 2] == [b] for c in having[a] for k, name in enumerate(c) if name == a):
        rules.append(declare.ChainResponse(a, b))

# %%
# Repair
# ------
#
# The observations are the entries of the log, the hidden states the activities that took place.

model = ConstrainedHMM(states=activities, emission=Categorical(symbols=activities))
model.fit([noisy[k] for k in train], [truth[k] for k in train])
ruled = model.with_constraints(rules)
print(f"{len(rules)} rules compile to {ruled.graph_}")
X, exact = [noisy[k] for k in test], {}
logs = {"as logged": X, "without rules": model.predict(X), "with the rules": ruled.predict(X)}
for name, log in logs.items():
    wrong = [np.sum(truth[k] != case) for k, case in zip(test, log)]
    exact[name] = np.mean(np.equal(wrong, 0))
    valid = trajectory_validity_rate(log, rules)
    counts = f"{np.mean(wrong):.2f} entries wrong per case, {valid:.3f} keep the rules"
    print(f"{name:15s} {exact[name]:.3f} of cases exact, {counts}")

# %%
# One case, as it was logged and as it was repaired.

for k, *paths in zip(test, *logs.values()):
    if (paths[2] == truth[k]).all() and (paths[1] != truth[k]).any():
        break
PathDisplay.from_predictions(truth[k], dict(zip(logs, paths)))
