"""
Patients at irregular times: illness and death
==============================================

Patients are well, fall ill and die. They are tested when they come, which may be after two months
or after four years, and the test is wrong now and then. A model in continuous time takes the gaps
as they are, and learns how fast the disease is from the tests alone. What cannot happen is said in
two ways: as rates that are zero, and as rules. The patients are drawn, so that the truth is known.
"""

import matplotlib.pyplot as plt
import numpy as np

from skchmm import CTConstrainedHMM
from skchmm.constraints import AtLeastVisits, Precedence
from skchmm.emissions import Categorical
from skchmm.metrics import sequence_accuracy_score
from skchmm.plotting import PrevalenceDisplay, SurvivalDisplay

STATES, RESULTS = ["well", "ill", "dead"], ["negative", "positive", "dead"]
TRUTH = {"well to ill": 0.12, "well to dead": 0.03, "ill to dead": 0.3}  # per year


def draw_patient(rng):
    """Times of the visits, test results and true states; the last visit finds the death."""
    leave = rng.exponential(1 / 0.15)
    falls_ill = rng.random() < 0.12 / 0.15
    onset, death = (leave, leave + rng.exponential(1 / 0.3)) if falls_ill else (np.inf, leave)
    times = np.concatenate([[0.0], np.cumsum(0.2 + rng.gamma(1.5, 0.6, size=12))])
    y = np.where(times >= death, "dead", np.where(times >= onset, "ill", "well"))
    times, y = (each[: np.sum(y != "dead") + 1] for each in (times, y))
    positive = rng.random(len(y)) < np.where(y == "ill", 0.8, 0.1)
    return times, np.where(y == "dead", "dead", np.where(positive, "positive", "negative")), y


rng = np.random.default_rng(0)
times, X, y = (list(column) for column in zip(*[draw_patient(rng) for _ in range(400)]))
gaps = np.concatenate([np.diff(t) for t in times])
print(f"{len(X)} patients; between visits: {gaps.min() * 12:.0f} months to {gaps.max():.1f} years")

# %%
# Learn the rates from the tests
# ------------------------------
#
# Nobody recovers and nobody comes back from death: these rates are fixed at zero. EM starts from a
# doctor's guess, all rates 0.2 and three of ten tests wrong, so that "ill" stays what the doctor
# calls ill. No state is ever shown to the model.

guess = np.array([[-0.4, 0.2, 0.2], [0.0, -0.2, 0.2], [0.0, 0.0, 0.0]])
tests = Categorical.from_parameters(np.array([[0.7, 0.3, 0], [0.3, 0.7, 0], [0, 0, 1]]), RESULTS)
model = CTConstrainedHMM.from_parameters(
    [1, 0, 0], guess, states=STATES, emission=tests, init="fitted", n_iter=500, tol=1e-7,
    startprob_fixed=[1, 0, 0], generator_fixed=np.where(guess == 0, 0.0, np.nan),
)  # fmt: skip
model.fit(X, times=times)
rates = dict(zip(TRUTH, model.generator_[[0, 0, 1], [1, 2, 2]]))
for name, rate in rates.items():
    print(f"{name:12s} {rate:.3f} per year learned, {TRUTH[name]:.3f} in truth")
right = {"tests": [np.select([x == "positive", x == "dead"], ["ill", "dead"], "well") for x in X]}
right["model"] = model.predict(X, times=times)
right = {name: sequence_accuracy_score(y, paths) for name, paths in right.items()}
print(f"right at {right['tests']:.3f} of visits by the test, {right['model']:.3f} by the model")

# %%
# What a rule adds
# ----------------
#
# Some died without a positive test. Were they ill? The model says how probable that is. Now the
# death certificate says that they died of the disease. That is a rule, and it binds what happens
# between visits too: ill comes before dead. It says when the illness began.

hidden = [k for k in range(len(X)) if X[k][-1] == "dead" and "positive" not in X[k]]
X_hidden, times_hidden = [X[k] for k in hidden], [times[k] for k in hidden]
asked = AtLeastVisits("ill", 1)
certified = model.with_constraints(Precedence("ill", "dead"))
before, after = (m.probability(asked, X_hidden, times=times_hidden) for m in (model, certified))
span = f"{before.min():.2f} to {before.max():.2f}"
print(f"{len(hidden)} died without a positive test; that they were ill has probability {span},")
print(f"and {after.min():.2f} with the certificate. One of them:")
path = certified.decode_path(X_hidden[0], times=times_hidden[0])
print(", ".join(f"{state} from year {at:.1f}" for state, at in zip(path.states, path.times)))

# %%
# Survival, and a look at the fit: the share of each state over time, as the model expects it and
# as decoded.

SurvivalDisplay.from_estimator(model, "dead", times=np.linspace(0, 15, 61), start=["well", "ill"])
plt.gca().set_xlabel("years")
PrevalenceDisplay.from_estimator(
    model, model.predict(X, times=times), times, at=np.linspace(0, 10, 41)
)
