"""
Learning from data in chunks
============================

A machine was watched for twenty days, and each day is a file. The files are never in memory
together: EM goes through them one at a time, and could as well give them to the workers of Dask,
Ray or Spark. It finds what it would find in all of them at once, to the last digits. Then the
learning is interrupted, saved, and taken up again. The measurements are drawn.
"""

import pickle
import tempfile
import warnings
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.exceptions import ConvergenceWarning

from skchmm import ConstrainedHMM
from skchmm.constraints import AtMostVisits

warnings.simplefilter("ignore", ConvergenceWarning)  # there will be few iterations at a time
folder = Path(tempfile.mkdtemp())
LEVELS, STAY = np.array([0.0, 1.0, 3.0]), 0.95

for day in range(20):
    rng = np.random.default_rng(day)
    jumps = rng.random(1_000) > STAY
    states = np.cumsum(jumps * rng.choice([1, -1], size=1_000)) % 3
    np.save(folder / f"{day}.npy", LEVELS[states][:, None] + rng.normal(scale=0.5, size=(1_000, 1)))


# %%
# Chunks
# ------
#
# A chunk is a function that loads some whole sequences. Here a day is one sequence.


def load(day):
    return np.load(folder / f"{day}.npy", mmap_mode="r")


chunks = [partial(load, day) for day in range(20)]
rules = AtMostVisits(0, 30)  # of one of the states, in a day
model = ConstrainedHMM(3, constraints=rules, random_state=0, n_iter=15, tol=0)
model.fit_chunks(chunks)
order = np.argsort(model.emission_.means_[:, 0])
print("levels that were learned:", model.emission_.means_[order, 0].round(2).tolist())

# %%
# The same bits, whoever does the work
# ------------------------------------
#
# Any map will do that keeps the order. Everything at once gives the same up to rounding.

with ThreadPoolExecutor(2) as pool:
    spread = ConstrainedHMM(3, constraints=rules, random_state=0, n_iter=15, tol=0)
    spread.fit_chunks(chunks, map=pool.map, per_task=8)
print("two workers, same bits:", np.array_equal(spread.transmat_, model.transmat_))
whole = ConstrainedHMM(3, constraints=rules, random_state=0, n_iter=15, tol=0)
whole.fit([np.array(load(day)) for day in range(20)])
apart = np.abs(np.array(whole.history_) / model.history_ - 1).max()
print(f"all days at once: log-likelihoods differ by {apart:.0e}")

# %%
# Interrupted, saved, taken up again
# ----------------------------------

part = ConstrainedHMM(3, constraints=rules, random_state=0, n_iter=6, tol=0).fit_chunks(chunks)
saved = pickle.dumps(part)
resumed = pickle.loads(saved).set_params(init="fitted", n_iter=9).fit_chunks(chunks)
print("resumed, same bits:", np.array_equal(resumed.transmat_, model.transmat_))

fig, axes = plt.subplots(1, 2, figsize=(9, 3), constrained_layout=True)
axes[0].plot(part.history_, lw=6, alpha=0.4, label="before it was saved")
axes[0].plot(range(6, 16), resumed.history_, lw=6, alpha=0.4, label="after")
axes[0].plot(model.history_, "k", lw=1, label="in one go")
axes[0].set(xlabel="iteration", ylabel="log-likelihood")
axes[0].legend()
x = load(0)[:300]
axes[1].plot(x, ".", ms=3, color="0.6")
axes[1].plot(model.emission_.means_[model.predict(x)], "k", lw=1)
axes[1].set(xlabel="step", ylabel="level, and what was measured")
plt.show()
