"""Learning from data that do not fit: what chunks cost, what workers gain, what grows.

    python -m benchmarks.scale                       # 200 million steps, some minutes
    python -m benchmarks.scale --steps 2_000_000     # a try

All numbers are ratios or differences within one run. The data are symbols (int8) in sequences of
1,000 steps, in files of a million steps that are mapped, not loaded. CPU is that of one E-step,
measured in turns, the least of several; the machine's own limit is measured beside it, by two bare
processes that only compute. The forecast at the end shows its arithmetic.
"""

import argparse
import os
import pickle
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np

from skchmm import ConstrainedHMM
from skchmm.constraints import ForbiddenEdges
from skchmm.emissions import Categorical

LENGTH = 1_000
CHUNK = 1_000_000
N_SYMBOLS, N_STATES = 6, 3
MORE = 10  # iterations whose CPU is measured at a time


def write(folder, n_steps):
    """Files of symbols with some structure; each is written once and used for several chunks."""
    paths = []
    for k in range(min(max(n_steps // CHUNK, 1), 20)):
        rng = np.random.default_rng(k)
        n = min(CHUNK, n_steps)
        states = np.repeat(rng.integers(N_STATES, size=n // 20 + 1), 20)[:n]
        symbols = (2 * states + rng.integers(3, size=n)) % N_SYMBOLS
        path = Path(folder) / f"{k}.bin"
        symbols.astype(np.int8).tofile(path)
        paths.append(str(path))
    return paths


def load(path):
    """A chunk; its symbols are read where it is worked on."""
    X = np.memmap(path, dtype=np.int8, mode="r")
    return {"X": X, "lengths": np.full(len(X) // LENGTH, LENGTH)}


def chunks_of(paths, n_steps):
    return [partial(load, paths[k % len(paths)]) for k in range(max(n_steps // CHUNK, 1))]


def started(paths):
    """A model with start values, from a sample."""
    sample = np.fromfile(paths[0], dtype=np.int8)[: 100 * LENGTH]
    model = ConstrainedHMM(
        N_STATES, emission=Categorical(symbols=N_SYMBOLS), constraints=ForbiddenEdges([(0, 2)]),
        n_iter=0, random_state=0,
    )  # fmt: skip
    lengths = np.full(len(sample) // LENGTH, LENGTH)
    return model.fit(sample, lengths=lengths).set_params(init="fitted", tol=0)


def cpu(call):
    """Seconds of CPU of this process."""
    before = time.process_time()
    call()
    return time.process_time() - before


def wall(call):
    before = time.perf_counter()
    call()
    return time.perf_counter() - before


def iterations(model, n):
    return pickle.loads(pickle.dumps(model)).set_params(n_iter=n)


# ------------------------------------------------------------- chunks against fit
def overhead(model, paths, n_steps, repeats):
    """CPU of an iteration in chunks, relative to `fit` on all of it in memory."""
    chunks = chunks_of(paths, n_steps)
    X = np.concatenate([chunk()["X"] for chunk in chunks])
    lengths = np.full(len(X) // LENGTH, LENGTH)
    least = {"fit": np.inf, "chunks": np.inf}
    for _ in range(repeats):  # so many iterations more, and nothing else
        for name, run in (
            ("fit", lambda m: m.fit(X, lengths=lengths)),
            ("chunks", lambda m: m.fit_chunks(chunks)),
        ):
            seconds = cpu(lambda run=run: run(iterations(model, 1 + MORE)))
            seconds -= cpu(lambda run=run: run(iterations(model, 1)))
            least[name] = min(least[name], seconds / MORE)
    return least["fit"], least["chunks"]


# ------------------------------------------------------------- two workers against one
def spin(n):
    """Nothing but computing."""
    total = 0
    for k in range(n):
        total += k * k
    return total


def bare_gain(n=4_000_000):
    """How much faster two processes that only compute are than one, now."""
    with ProcessPoolExecutor(2) as pool:
        list(pool.map(spin, [1, 1]))
        one = wall(lambda: [pool.submit(spin, n).result() for _ in range(4)])
        two = wall(lambda: list(pool.map(spin, [n] * 4)))
    return one / two


def gain(model, chunks, n_iter):
    """Seconds of iterations by one worker process and by two."""
    seconds = {}
    for n_workers in (1, 2):
        with ProcessPoolExecutor(n_workers) as pool:
            run = iterations(model, n_iter)
            list(pool.map(spin, [1] * n_workers))
            seconds[n_workers] = wall(
                lambda pool=pool, run=run: run.fit_chunks(chunks, map=pool.map)
            )
    return seconds[1], seconds[2]


# ------------------------------------------------------------------------- memory
def memory(n_steps, folder):
    """Peak memory (bytes) of a process that learns from so many steps."""
    command = [sys.executable, "-m", "benchmarks.scale", "--memory-of", str(n_steps), folder]
    return int(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def print_peak(n_steps, folder):
    paths = sorted(map(str, Path(folder).glob("*.bin")))
    started(paths).set_params(n_iter=1).fit_chunks(chunks_of(paths, n_steps))
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)


# ------------------------------------------------------------------------ traffic
class Weighing:
    """A map through which everything travels as bytes, which it counts."""

    def __init__(self):
        self.tasks, self.results, self.passes = [], [], []

    def __call__(self, function, items):
        items = list(items)
        self.passes.append(len(pickle.dumps(function)))
        for item in items:
            task = pickle.dumps((function, item))
            self.tasks.append(len(task))
            function_, item_ = pickle.loads(task)
            result = pickle.dumps(function_(item_))
            self.results.append(len(result))
            yield pickle.loads(result)


def traffic(model, chunks):
    weighing = Weighing()
    iterations(model, 2).fit_chunks(chunks[:4], map=weighing)
    return weighing


def driver_seconds(model, chunk, n=2_000):
    """CPU of the driver for each result: to unpickle it, and to add it up."""
    from skchmm import Statistics

    one = model.e_step(**chunk(), chunk=0)
    copies = [pickle.dumps(_numbered(one, k)) for k in range(n)]
    return cpu(lambda: Statistics.merge(map(pickle.loads, copies))) / n


def _numbered(statistics, number):
    from dataclasses import replace

    return replace(statistics, chunks=((number, number + 1),))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--steps", type=lambda text: int(text.replace("_", "")), default=200_000_000
    )
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--memory-of", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if options.memory_of:
        print_peak(int(options.memory_of[0]), options.memory_of[1])
        return
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    n = options.steps
    with tempfile.TemporaryDirectory() as folder:
        paths = write(folder, n)
        model, chunks = started(paths), chunks_of(paths, n)
        print(f"{n:,} steps in {len(chunks)} chunks, {model.graph_.n_nodes} nodes")
        small = min(n, 10_000_000)
        fit, by_chunks = overhead(model, paths, small, options.repeats)
        print(
            f"CPU of an iteration over {small:,} steps: fit {fit:.3f} s, chunks one by one "
            f"{by_chunks:.3f} s, ratio {by_chunks / fit:.3f} (at most 1.05)"
        )
        before = bare_gain()
        one, two = gain(model, chunks, 1)
        after = bare_gain()
        print(
            f"two workers over {n:,} steps: {one:.1f} s / {two:.1f} s = {one / two:.2f} times as "
            f"fast (at least 1.7); two bare processes gain {before:.2f} and {after:.2f} just now"
        )
        sizes = [max(n // 100, CHUNK), max(n // 10, CHUNK), n]
        peaks = [memory(size, folder) for size in sizes]
        for size, peak in zip(sizes, peaks):
            print(f"peak memory of {size:>13,} steps: {peak / 1e6:6.0f} MB")
        grown = (peaks[-1] - peaks[0]) / max(sizes[-1] - sizes[0], 1)
        print(f"that is {grown:.4f} bytes per further step (a flat line: 0)")
        sent = traffic(model, chunks)
        task, result = max(sent.tasks[len(chunks[:4]) :]), max(sent.results)
        print(
            f"traffic: the first task {sent.tasks[0]:,} bytes with the model, later ones at most "
            f"{task:,} (at most 10,000), results at most {result:,}"
        )
        each = driver_seconds(model, chunks[0])
        forecast(by_chunks / small, task, result, each)


def forecast(cpu_per_step, task, result, driver):
    """10^12 steps on 1,000 cores, from what was measured."""
    steps, cores, iterations = 10**12, 1000, 50
    per_task = 128
    chunk = per_task * CHUNK  # chunks as they were measured, so many per task
    n_chunks = steps // chunk
    hours = steps * cpu_per_step / 3600
    each, hold = n_chunks * (task + result), np.log2(n_chunks)
    minutes = hours / cores * 60
    for line in (
        "",
        f"Forecast: {steps:.0e} steps in chunks of {CHUNK:,}, {per_task} a task, {cores:,} cores",
        f"  CPU      {steps:.0e} steps x {cpu_per_step * 1e9:.1f} ns = {hours:,.0f} core hours",
        f"           an iteration; / {cores:,} cores = {minutes:,.1f} min;",
        f"           x {iterations} iterations = {minutes * iterations / 60:,.1f} h",
        f"  tasks    {steps:.0e} / {chunk:,} = {n_chunks:,} an iteration",
        f"  traffic  {n_chunks:,} x ({task:,} + {result:,} bytes) = {each / 1e6:,.0f} MB",
        f"  driver   {n_chunks:,} x {driver * 1e6:.0f} us = {n_chunks * driver:,.1f} s, holding",
        f"           log2({n_chunks:,}) = {hold:.0f} statistics of {result:,} bytes",
        "  memory   of a worker that of one chunk, whatever the number of steps",
        "CPU is proportional to the steps; traffic and work of the driver to the tasks;",
        "what the driver holds, to the logarithm of the tasks.",
    ):
        print(line)


if __name__ == "__main__":
    main()
