"""
Activities under a protocol
===========================

Volunteers carry a phone while they go through a protocol: stand, sit, stand, lie, and so on, then
walk and climb stairs. The recordings are those of HAPT (UCI 341), if the file
``har/hapt_1s_features.csv.gz`` is in your data home; otherwise recordings of another protocol are
drawn. A hidden Markov model knows that activities last a while. The same model, with the same
parameters, is also told the protocol.
"""

from itertools import groupby

import matplotlib.pyplot as plt
import numpy as np
from sklearn.preprocessing import StandardScaler

from skchmm import ConstrainedHMM
from skchmm.constraints import Regex
from skchmm.datasets import load_runs, make_protocol
from skchmm.metrics import (
    segment_f1_score,
    sequence_accuracy_score,
    sequence_macro_f1_score,
    trajectory_validity_rate,
)
from skchmm.plotting import PathDisplay, label_colors

# %%
# The recordings
# --------------
#
# One row per second. What is between two activities, or not labelled, is "other".

NAMES = dict(enumerate(["walk", "upstairs", "downstairs", "sit", "stand", "lie"], start=1))
STAIRS = ["downstairs", "upstairs"]
try:
    data = load_runs(
        "har/hapt_1s_features.csv.gz", run="exp", label="label", time="second", group="user",
        labels={0: "other", **NAMES, **dict.fromkeys(range(7, 13), "other")},
    )  # fmt: skip
    protocol = ["stand", "sit", "stand", "lie", "sit", "lie", "walk", *(3 * STAIRS)]
    print(f"{len(data.X)} recordings of HAPT")
except FileNotFoundError:
    data = make_protocol(60, rest="other", separation=0.5, subject=0.4, random_state=0)
    protocol = [state for state in data.states if state != "other"]
    print(f"{len(data.X)} recordings that were drawn (HAPT is not in the data home)")


def follows(path):
    """Whether the volunteer did what the protocol says."""
    return [label for label, _ in groupby(path[path != "other"])] == protocol


kept = [k for k, path in enumerate(data.y) if follows(path)]
print(f"{len(kept)} of them follow the protocol: {' '.join(protocol)}")
subjects = np.unique(data.groups)
train = [k for k in kept if data.groups[k] in subjects[: len(subjects) // 2]]
test = [k for k in kept if k not in train]
scaler = StandardScaler().fit(np.concatenate([data.X[k] for k in train]))
X, y = [scaler.transform(x) for x in data.X], data.y

# %%
# Two decoders, one set of parameters
# -----------------------------------
#
# The protocol is a regular expression: each activity in turn, perhaps with interruptions, and
# "other" between any two.

rule = Regex("other* " + " other ".join(f"{each} ({each} | other)*" for each in protocol))
plain = ConstrainedHMM().fit([X[k] for k in train], [y[k] for k in train])
decoders = {"without rules": plain, "with the protocol": plain.with_constraints(rule)}
X_test, y_test = [X[k] for k in test], [y[k] for k in test]
decoded = {name: decoder.predict(X_test) for name, decoder in decoders.items()}
print(f"\n{len(test):3d} new recordings  accuracy  macro F1  validity  segment F1")
for name, paths in decoded.items():
    accuracy, macro_f1 = (
        score(y_test, paths) for score in (sequence_accuracy_score, sequence_macro_f1_score)
    )
    validity, segment_f1 = trajectory_validity_rate(paths, rule), segment_f1_score(y_test, paths)
    print(f"{name:18s} {accuracy:9.3f} {macro_f1:9.3f} {validity:9.3f} {segment_f1:11.3f}")

# %%
# The recording in the middle, by how much the protocol helped.

right = [sequence_accuracy_score(y_test, paths, average=None) for paths in decoded.values()]
k = int(np.argsort(right[1] - right[0])[len(test) // 2])
colors = label_colors(sorted(set(protocol)), {}) | {"other": "#dddddd"}
figure, ax = plt.subplots(figsize=(10, 2.8), layout="constrained")
PathDisplay.from_predictions(
    y_test[k], {name: paths[k] for name, paths in decoded.items()}, ax=ax,
    labels=list(colors), colors=colors,
)  # fmt: skip
ax.set_xlabel("step")
