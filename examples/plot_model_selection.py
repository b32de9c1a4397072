"""
Choosing rules by cross-validation
==================================

Constraints are parameters like any other: they go into a grid search. Subjects do three exercises
in an order that they choose, each once, and rest between them. Which of four sets of rules is
right? We let cross-validation choose, with the scaler in the pipeline and all rows of a subject in
the same fold. The recordings are drawn.
"""

import matplotlib.pyplot as plt
import numpy as np
import sklearn
from sklearn.model_selection import GridSearchCV, GroupKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skchmm import ConstrainedHMM
from skchmm.constraints import ExactVisits, ForbiddenEdges, Precedence
from skchmm.metrics import accuracy_scorer

sklearn.set_config(enable_metadata_routing=True)
EXERCISES = ["squat", "row", "press"]


def draw_subject(rng):
    y = []
    for exercise in rng.permutation(EXERCISES):
        y += ["rest"] * rng.integers(6, 20) + [exercise] * rng.integers(10, 30)
    levels = {"rest": (0, 0), "squat": (1, 0), "row": (0, 1), "press": (0.8, 0.8)}
    return np.array([levels[label] for label in y]) + rng.normal(size=(len(y), 2)), np.array(y)


rng = np.random.default_rng(0)
subjects = [draw_subject(rng) for _ in range(40)]
X, y = (np.concatenate(column) for column in zip(*subjects))
groups = np.repeat(np.arange(40), [len(labels) for _, labels in subjects])
print(f"{len(X)} rows of {len(subjects)} subjects, one table")

# %%
# One parameter of the grid is the list of rules itself.

rest_between = ForbiddenEdges([(a, b) for a in EXERCISES for b in EXERCISES if a != b])
once = [rest_between, *(ExactVisits(exercise, 1) for exercise in EXERCISES)]
in_order = [*once, Precedence("squat", "row"), Precedence("row", "press")]
candidates = {
    "no rules": None,
    "rest between": [rest_between],
    "each once": once,
    "squat, row, press": in_order,
}
model = ConstrainedHMM().set_fit_request(groups=True).set_predict_request(groups=True)
model.set_score_request(groups=True)
search = GridSearchCV(
    make_pipeline(StandardScaler(), model),
    {"constrainedhmm__constraints": list(candidates.values())},
    scoring=accuracy_scorer,
    cv=GroupKFold(5),
)
search.fit(X, y, groups=groups)

# %%
# The table of the search
# -----------------------
#
# More rules are better as long as they are true. Not every subject begins with squats, and the
# search finds out.

scores = dict(zip(candidates, search.cv_results_["mean_test_score"]))
spread = search.cv_results_["std_test_score"]
for name, score in scores.items():
    print(f"{name:18s} accuracy {score:.3f}")
best = max(scores, key=scores.get)
print(f"cross-validation chooses: {best}")

figure, ax = plt.subplots(figsize=(7, 2.4), layout="constrained")
ax.errorbar(list(scores.values()), list(scores), xerr=spread, fmt="o", color="#4477aa", capsize=3)
ax.invert_yaxis()
ax.set_xlabel("accuracy on subjects that were not seen (mean and deviation of five folds)")
ax.spines[["top", "right"]].set_visible(False)
