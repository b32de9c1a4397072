"""What has a limit of its own: HSMM, the cost of a call, two threads."""

import os
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from skchmm import ConstrainedHMM, HSMMDecoder
from skchmm.datasets import make_chain

from ..machine import processor_time
from .problems import make_problem
from .race import Line, race
from .roofline import N_STATES, bare_loop

NEEDS = ()


def run(quick=False):
    data = make_chain(61, n_steps=800, random_state=0)
    hsmm = HSMMDecoder(max_duration=200).fit(data.X[:60], data.y[:60])
    seconds = race({"ours": lambda: hsmm.predict(data.X[60])}, seconds=0.3)
    yield Line("HSMM decoding", "T=800, S=5, D=200", "HSMMDecoder", seconds["ours"],
               at_most=3e-3, demand="HSMM, T=800, S=5, D=200", peer="the paper", peer_value=1.37,
               note="the paper's time is from another machine")  # fmt: skip

    data = make_chain(61, n_steps=200, random_state=0)
    model = ConstrainedHMM(constraints=data.constraints).fit(data.X[:60], data.y[:60])
    for name, one in (("constrained", model), ("unconstrained", model.with_constraints(None))):
        seconds = race({"ours": lambda one=one: one.predict(data.X[60])}, seconds=0.3, most=2000)
        yield Line(f"one call of predict, {name}", "T=200, S=5", "ConstrainedHMM", seconds["ours"],
                   at_most=25e-6, demand="one call of predict, T=200, S=5")  # fmt: skip

    if (os.cpu_count() or 1) > 1:
        before = processor_time()
        for emission, n_states, n_steps in (
            ("categorical", 5, 200), ("categorical", 20, 200), ("categorical", 50, 200),
            ("categorical", 20, 1000), ("gaussian", 5, 200), ("gaussian", 20, 200),
        ):  # fmt: skip
            problem = make_problem(n_states, [n_steps] * (100 if quick else 1000), emission)
            for work in ("predict", "predict_proba"):
                yield _threads(problem, work)
        yield _machine(1_000 if quick else 20_000, before)


def _machine(n_steps, before):
    """Two threads that share nothing, not even an interpreter: what the machine gives just now.

    `before`: the processor time when two threads began.
    """
    chances = np.full((N_STATES, N_STATES), 1 / N_STATES)
    loops = [bare_loop(chances, chances, n_steps)[0] for _ in range(2)]

    def one():
        for loop in loops:
            loop()

    def two():
        future = pool.submit(loops[1])
        loops[0]()
        future.result()

    with ThreadPoolExecutor(1) as pool:
        seconds = race({"one": one, "two": two}, seconds=1.0)
    busy, stolen = (now - then for now, then in zip(processor_time(), before))
    note = (
        f"what the machine gave; its host took {stolen / max(busy + stolen, 1e-9):.1%} of the time"
    )
    return Line("two threads, a bare C loop", "", "two threads", seconds["two"], "one thread",
                seconds["one"], note=note)  # fmt: skip


def _threads(problem, work):
    def call(n_jobs):
        method = getattr(problem.ours(n_jobs=n_jobs), work)
        return lambda: method(problem.X, lengths=problem.lengths)

    # Both processors must be free for the whole of a call: that takes some patience.
    seconds = race({n_jobs: call(n_jobs) for n_jobs in (1, 2)}, seconds=3.0, most=3000)
    size = f"S={len(problem.startprob)}, {len(problem.lengths):,} x {problem.lengths[0]}"
    line = f"two threads, {work}, {problem.emission}"
    return Line(line, size, "n_jobs=2", seconds[2], "n_jobs=1", seconds[1],
                at_least=1.8, demand=f"two threads on 1,000 sequences: {work}")  # fmt: skip
