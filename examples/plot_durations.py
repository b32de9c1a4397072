"""
Phases of a machine: durations or rules?
========================================

A washing machine heats, washes, rinses and spins. Its power is measured once a minute. A hidden
Markov model thinks that a phase may end at any minute, as radioactive atoms decay. There are two
ways to know better: a semi-Markov model learns how long phases last, and rules say it. Here both
are tried, alone and together. The cycles are drawn.
"""

import matplotlib.pyplot as plt
import numpy as np

from skchmm import ConstrainedHMM, HSMMDecoder
from skchmm.constraints import MaxDuration, MinDuration, Regex
from skchmm.metrics import segment_f1_score, sequence_accuracy_score
from skchmm.plotting import PathDisplay

# Mean power, and the minutes that a phase lasts.
PHASES = {"heat": (1.5, 12, 18), "wash": (0.9, 20, 30), "rinse": (0.7, 8, 12), "spin": (1.2, 5, 7)}
PROGRAMME = ["heat", "wash", "rinse", "spin", "rinse", "spin"]


def draw_cycle(rng):
    durations = [rng.integers(PHASES[phase][1], PHASES[phase][2] + 1) for phase in PROGRAMME]
    y = np.repeat(PROGRAMME, durations)
    power = np.array([PHASES[phase][0] for phase in y]) + rng.normal(scale=0.5, size=len(y))
    return power[:, None], y


rng = np.random.default_rng(0)
X, y = map(list, zip(*[draw_cycle(rng) for _ in range(230)]))
X_train, y_train, X_test, y_test = X[:30], y[:30], X[30:], y[30:]

# %%
# The rules: the programme, and the minutes from the manual. The last phase may be cut.

programme = Regex(" ".join(f"{phase}+" for phase in PROGRAMME))
minutes = [
    rule
    for phase, (_, least, most) in PHASES.items()
    for rule in (MinDuration(phase, least), MaxDuration(phase, most))
]
states = list(PHASES)
models = {
    "hidden Markov": ConstrainedHMM(states=states),
    "semi-Markov": HSMMDecoder(40, states=states),
    "programme": ConstrainedHMM(states=states, constraints=programme),
    "programme and minutes": ConstrainedHMM(states=states, constraints=[programme, *minutes]),
    "semi-Markov, programme": HSMMDecoder(40, states=states, constraints=programme, enforce=True),
}
decoded, right = {}, {}
print(f"{len(X_test)} cycles             accuracy  segment F1")
for name, model in models.items():
    decoded[name] = model.fit(X_train, y_train).predict(X_test)
    right[name] = sequence_accuracy_score(y_test, decoded[name])
    segments = segment_f1_score(y_test, decoded[name], tolerance=2)
    print(f"{name:24s} {right[name]:7.3f} {segments:11.3f}")

# %%
# What the semi-Markov model has learned, against what a hidden Markov model can say.

figure, ax = plt.subplots(figsize=(8, 2.6), layout="constrained")
k = states.index("wash")
lasts = np.arange(1, 41)
stay = models["hidden Markov"].transmat_[k, k]
ax.bar(lasts, models["semi-Markov"].durations_[k], color="#4477aa", label="semi-Markov")
ax.plot(lasts, (1 - stay) * stay ** (lasts - 1), color="#ee6677", label="hidden Markov")
ax.set(xlabel="minutes in the phase wash", ylabel="probability")
ax.legend(frameon=False)
ax.spines[["top", "right"]].set_visible(False)

# %%
# One cycle.

PathDisplay.from_predictions(
    y_test[0], {name: paths[0] for name, paths in decoded.items()}, labels=states
)
plt.gca().set_xlabel("minute")
