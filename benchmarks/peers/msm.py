"""The likelihood of a hidden illness-death process against R's msm, by Rscript."""

import json
import math
import shutil
import subprocess
import tempfile
from pathlib import Path

import numpy as np

from skchmm import CTConstrainedHMM
from skchmm.emissions import Gaussian

from .race import Line, race

NEEDS = ()
INSTALL = "R's msm is not installed; on Debian: apt-get install r-cran-msm"
GENERATOR = np.array([[-0.35, 0.25, 0.10], [0.15, -0.45, 0.30], [0.0, 0.0, 0.0]])
MEANS, DEVIATIONS = np.array([0.0, 2.0, 5.0]), np.array([1.0, 0.8, 0.5])
SCRIPT = """
suppressMessages(library(msm))
data <- read.csv("data.csv")
Q <- rbind(c(0, 0.25, 0.1), c(0.15, 0, 0.3), c(0, 0, 0))
once <- function() msm(marker ~ time, subject = subject, data = data, qmatrix = Q,
  hmodel = list(hmmNorm(0, 1), hmmNorm(2, 0.8), hmmNorm(5, 0.5)), fixedpars = TRUE)
fit <- once()
times <- sapply(1:5, function(k) system.time(once())[["elapsed"]])
cat(sprintf('{"log_likelihood": %.10f, "seconds": %.6f}', -fit$minus2loglik / 2, min(times)))
"""


def run(quick=False):
    if shutil.which("Rscript") is None:
        raise RuntimeError(INSTALL)
    X, times = _draw(50 if quick else 400, np.random.default_rng(0))
    model = CTConstrainedHMM.from_parameters(
        [1.0, 0.0, 0.0], GENERATOR,
        emission=Gaussian.from_parameters(MEANS[:, None], DEVIATIONS[:, None] ** 2),
    )  # fmt: skip

    def ours():
        return float(model.log_likelihood(X, times=times).sum())

    with tempfile.TemporaryDirectory() as folder:
        rows = [
            f"{k},{t:.6f},{x[0]:.6f}"
            for k, (x_k, t_k) in enumerate(zip(X, times), 1)
            for x, t in zip(x_k, t_k)
        ]
        Path(folder, "data.csv").write_text("\n".join(["subject,time,marker", *rows]) + "\n")
        done = subprocess.run(
            ["Rscript", "-e", SCRIPT], cwd=folder, capture_output=True, text=True, check=False
        )
    if done.returncode:
        raise RuntimeError(INSTALL if "there is no package" in done.stderr else done.stderr[-300:])
    theirs = json.loads(done.stdout)
    same = math.isclose(ours(), theirs["log_likelihood"], rel_tol=1e-8)
    seconds = race({"ours": ours}, seconds=0.5)
    yield Line("hidden illness-death process, likelihood", f"{len(X)} subjects, 8 visits each",
               "CTConstrainedHMM", seconds["ours"], "msm", theirs["seconds"], at_least=5,
               agree=same, demand="continuous time, likelihood, msm",
               note="its time is that of its call within R")  # fmt: skip


def _draw(n_subjects, rng):
    """Noisy markers at irregular visits, rounded as they are written."""
    X, times = [], []
    for _ in range(n_subjects):
        t = np.concatenate([[0.0], np.cumsum(rng.uniform(0.3, 1.7, size=7))]).round(6)
        state, left, path = 0, t[0] + rng.exponential(1 / 0.35), []
        for now in t:
            while state < 2 and left <= now:
                rates = np.where(np.arange(3) == state, 0.0, GENERATOR[state])
                state = int(rng.choice(3, p=rates / rates.sum()))
                left += rng.exponential(1 / -GENERATOR[state, state]) if state < 2 else np.inf
            path.append(state)
        X.append(rng.normal(MEANS[path], DEVIATIONS[path]).round(6)[:, None])
        times.append(t)
    return X, times
