"""
Decoding an exercise protocol
=============================

Patients wear a sensor while they go through a protocol: five exercises in a given order, each
once, with a rest before, between and after. The sensor is noisy, and worn a little differently
by everyone. A hidden Markov model knows that exercises last a while; it does not know the
protocol. This example compares it with the same model, same parameters, that does.

``make demo`` runs this file: it prints the table and writes the picture.
"""

import sys
from itertools import pairwise
from time import perf_counter

import numpy as np

from skchmm import ConstrainedHMM
from skchmm.constraints import EndsIn, ExactVisits, ForbiddenEdges, Precedence, StartsIn
from skchmm.metrics import (
    segment_f1_score,
    sequence_accuracy_score,
    sequence_macro_f1_score,
    trajectory_validity_rate,
)

# %%
# The data
# --------
#
# Two sensor channels, effort and cadence. The noise of neighbouring steps is correlated and every
# patient has an offset, as with real sensors; the model assumes neither.

EXERCISES = ["walk", "stairs", "cycle", "row", "run"]
LEVELS = {"rest": (0, 0), "walk": (1, 1.6), "stairs": (1.7, 1.2), "cycle": (1.4, 2.4),
          "row": (2.2, 1.9), "run": (2.8, 2.8)}  # fmt: skip


def record_patient(rng):
    """One session: observations (n, 2) and the exercise at each step."""
    bouts = ["rest"] + [bout for exercise in EXERCISES for bout in (exercise, "rest")]
    durations = [rng.integers(8, 25) if b == "rest" else rng.integers(15, 50) for b in bouts]
    y = np.repeat(bouts, durations)
    noise = rng.normal(size=(len(y), 2))
    for t in range(1, len(y)):
        noise[t] = 0.7 * noise[t - 1] + 0.6 * noise[t]
    offset = rng.normal(scale=0.3, size=2)
    return np.array([LEVELS[label] for label in y]) + noise + offset, y


rng = np.random.default_rng(7)
X_train, y_train = map(list, zip(*[record_patient(rng) for _ in range(30)]))
X_test, y_test = map(list, zip(*[record_patient(rng) for _ in range(100)]))

# %%
# The protocol, as constraints
# ----------------------------
#
# Each line is one sentence of the protocol.

protocol = [
    StartsIn("rest"),
    EndsIn("rest"),
    *[ExactVisits(exercise, 1) for exercise in EXERCISES],
    *[Precedence(a, b) for a, b in pairwise(EXERCISES)],
    ForbiddenEdges([(a, set(EXERCISES) - {a}) for a in EXERCISES]),
]

# %%
# Two decoders, one set of parameters
# -----------------------------------

plain = ConstrainedHMM(states=["rest", *EXERCISES], emission="gaussian").fit(X_train, y_train)
constrained = plain.with_constraints(protocol)
decoders = {"unconstrained": plain, "constrained": constrained}
print(f"The {len(protocol)} constraints compile to {constrained.graph_}.")

print(f"\n{len(X_test)} sessions  accuracy  macro F1  validity  segment F1  ms/session")
decoded = {}
for name, decoder in decoders.items():
    start = perf_counter()
    y_pred = decoded[name] = decoder.predict(X_test)
    time = 1000 * (perf_counter() - start) / len(X_test)
    accuracy = sequence_accuracy_score(y_test, y_pred)
    macro_f1 = sequence_macro_f1_score(y_test, y_pred)
    validity = trajectory_validity_rate(y_pred, protocol)
    segment_f1 = segment_f1_score(y_test, y_pred)
    print(
        f"{name:13s} {accuracy:8.3f} {macro_f1:9.3f} {validity:9.3f} {segment_f1:11.3f} "
        f"{time:11.3f}"
    )

# %%
# The paths
# ---------
#
# Three sessions: where the constraints helped most, in the middle, and least. A red line runs
# under steps that are wrong.


def draw():
    """The observations and the three paths of three sessions."""
    import matplotlib.pyplot as plt

    from skchmm.plotting import PathDisplay, add_legend, label_colors

    right = {
        name: sequence_accuracy_score(y_test, paths, average=None)
        for name, paths in decoded.items()
    }
    order = np.argsort(right["unconstrained"] - right["constrained"])
    chosen = {"helped most": order[0], "in the middle": order[50], "helped least": order[-1]}
    labels = plain.classes_.tolist()
    colors = label_colors(labels, {"rest": "#dddddd"})

    figure = plt.figure(figsize=(11, 10), layout="constrained")
    figure.suptitle("An exercise protocol, decoded from two noisy channels", x=0.01, ha="left")
    add_legend(figure, colors, mistakes=True, loc="upper right", bbox_to_anchor=(1, 1))
    parts = figure.subfigures(len(chosen), 1, hspace=0.04)
    for (title, k), part in zip(chosen.items(), parts):
        signal, strips = part.subplots(2, 1, height_ratios=[1, 1.5], sharex=True)
        signal.plot(X_test[k][:, 0], lw=1, color="#222222", label="effort")
        signal.plot(X_test[k][:, 1], lw=1, color="#999999", label="cadence")
        if part is parts[0]:
            signal.legend(loc="upper left", ncols=2, frameon=False, fontsize=8, borderaxespad=0)
        signal.set_title(
            f"Session {k}, {title}: accuracy {right['unconstrained'][k]:.2f} unconstrained, "
            f"{right['constrained'][k]:.2f} constrained",
            loc="left",
            fontsize=10,
        )
        signal.set_ylim(top=7.5)
        signal.set_yticks([])
        signal.tick_params(axis="x", length=0)
        signal.spines[["top", "right", "left", "bottom"]].set_visible(False)
        paths = {name: paths[k] for name, paths in decoded.items()}
        PathDisplay.from_predictions(
            y_test[k], paths, labels=labels, ax=strips, colors=colors, legend=False
        )
    strips.set_xlabel("step")
    return figure


figure = draw()
if len(sys.argv) > 1 and sys.argv[1].endswith(".png"):
    figure.savefig(sys.argv[1], dpi=150)
    print(f"\nThe decoded paths of three sessions are drawn in {sys.argv[1]}.")
