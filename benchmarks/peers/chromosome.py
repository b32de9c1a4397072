"""23 million steps: time, and memory beyond input and output, in a process of its own."""

import json
import subprocess
import sys

from .race import Line

NEEDS = ()

SCRIPT = """
import json, sys, time
import numpy as np
from skchmm import ConstrainedHMM
from skchmm.constraints import AtMostVisits
from skchmm.emissions import Categorical

def status(key):
    with open("/proc/self/status") as file:
        for line in file:
            if line.startswith(key):
                return int(line.split()[1]) * 1024

n, classes = int(sys.argv[1]), int(sys.argv[2])
rng = np.random.default_rng(0)
rules = AtMostVisits(0, classes - 1) if classes > 1 else None
model = ConstrainedHMM.from_parameters(
    np.full(5, 0.2), 0.99 * np.eye(5) + 0.002,
    emission=Categorical.from_parameters(rng.dirichlet(np.ones(4), size=5)), constraints=rules)
X = rng.integers(4, size=n)
model.predict(X[:1000])
with open("/proc/self/clear_refs", "w") as file:
    file.write("5")  # forget the peak so far
before = status("VmRSS")
begin = time.perf_counter()
path = model.predict(X)
seconds = time.perf_counter() - begin
peak = status("VmHWM")
print(json.dumps({"seconds": seconds, "megabytes": (peak - before - path.nbytes) / 2**20,
                  "nodes": model.graph_.n_nodes}))
"""


def run(quick=False):
    n = 2_300_000 if quick else 23_000_000
    for classes in (1, 10):
        tenth, whole = _measure(n // 10, classes), _measure(n, classes)
        size = f"T={n:,}, {whole['nodes']} nodes"
        yield Line("memory beyond input and output", size, "ConstrainedHMM", whole["megabytes"],
                   unit="MB", at_most=500, demand="23 million steps: memory")  # fmt: skip
        growth = whole["seconds"] / tenth["seconds"]
        yield Line("decoding", size, "ConstrainedHMM", whole["seconds"],
                   note=f"{growth:.1f} times a tenth of it")  # fmt: skip


def _measure(n, classes):
    command = [sys.executable, "-c", SCRIPT, str(n), str(classes)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    if done.returncode:
        raise RuntimeError(done.stderr.strip().splitlines()[-1])
    return json.loads(done.stdout)
