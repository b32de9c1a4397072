"""Nanoseconds per edge and step against a bare C loop, compiled here and now."""

import ctypes
import subprocess
import tempfile
from pathlib import Path

import numpy as np

from skchmm import ConstrainedHMM
from skchmm.constraints import ExactVisits
from skchmm.emissions import Categorical

from .race import Line, race

NEEDS = ()
SOURCE = Path(__file__).with_name("roofline.c")
N_STATES, VISITS = 12, 13


def run(quick=False):
    n_steps = 2_000 if quick else 20_000
    rng = np.random.default_rng(0)
    transmat = 0.5 * np.eye(N_STATES) + 0.5 * rng.dirichlet(np.ones(N_STATES), size=N_STATES)
    transmat /= transmat.sum(axis=1, keepdims=True)
    startprob = np.full(N_STATES, 1 / N_STATES)
    emissionprob = rng.dirichlet(np.ones(16), size=N_STATES)
    X = rng.integers(16, size=n_steps)
    model = ConstrainedHMM.from_parameters(
        startprob,
        transmat,
        emission=Categorical.from_parameters(emissionprob),
        constraints=ExactVisits(0, VISITS),
    )
    loop, edges = bare_loop(transmat, emissionprob, n_steps)
    functions = {"ours": lambda: model.predict(X), "bare": loop}
    seconds = race(functions, seconds=0.6)
    ours = 1e9 * seconds["ours"] / (model.graph_.n_edges * n_steps)
    bare = 1e9 * seconds["bare"] / (edges * n_steps)
    graph = model.graph_
    yield Line("exactly 13 visits, per edge and step",
               f"S=12, T={n_steps:,}, {graph.n_nodes} nodes, {graph.n_edges} edges",
               "ConstrainedHMM.predict", ours, "bare C loop", bare, unit="ns", at_least=0.5,
               at_most=0.5, demand="exactly 13 visits, S=12, per edge and step, bare C loop",
               note="all of predict; the loop only the forward pass")  # fmt: skip


def bare_loop(transmat, emissionprob, n_steps):
    """A call of the compiled loop, and how many edges it has."""
    library = Path(tempfile.mkdtemp()) / "roofline.so"
    command = ["cc", "-O3", "-march=native", "-shared", "-fPIC", str(SOURCE), "-o", str(library)]
    subprocess.run(command, check=True, capture_output=True)
    steps = ctypes.CDLL(str(library)).steps
    length = VISITS + 1
    weights, frames = np.log(transmat), np.ascontiguousarray(np.log(emissionprob).T)
    buffers = np.zeros((2, N_STATES * length))

    def pointer(array):
        return array.ctypes.data_as(ctypes.POINTER(ctypes.c_double))

    def loop():
        steps(ctypes.c_long(n_steps), N_STATES, length, pointer(weights), pointer(frames),
              ctypes.c_long(len(frames)), pointer(buffers[0]), pointer(buffers[1]))  # fmt: skip

    return loop, N_STATES**2 * length
