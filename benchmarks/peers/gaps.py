"""Decoding in continuous time where all gaps are different, against one exponential per gap.

The peer has the same nodes and the same rates between them: a dense exponential by scipy for each
gap, and the largest of all products. It is timed on a few gaps. Times are those of the processor.
"""

import resource
import string
import time

import numpy as np
from scipy.linalg import expm

import skchmm
from skchmm.constraints import AtMostVisits, NoReentry, Precedence
from skchmm.constraints.declare import Response

from .race import Line, race, timed

NEEDS = ()
FEW = 5  # gaps for which the peer is timed


def run(quick=False):
    small = {
        "two limited": (10, [AtMostVisits("a", 4), AtMostVisits("b", 3)]),
        "no way back": (6, [NoReentry(label) for label in "abcdef"]),
    }
    large = {
        "two limited": (12, [AtMostVisits("a", 8), AtMostVisits("b", 7)]),
        "no way back": (8, [NoReentry(label) for label in "abcdefgh"] + [Precedence("a", "b")]),
        "responses": (13, [Response(*pair) for pair in ("ab", "cd", "ef", "gh", "ij", "kl")]),
    }
    for rate in (0.3, 3.0):
        for name, (n_states, rules) in small.items():
            yield from _lines(name, n_states, rules, 1000, rate, 0.3)
    if not quick:
        for name, (n_states, rules) in large.items():
            yield from _lines(name, n_states, rules, 9000, 0.3, 120.0)


def _lines(name, n_states, rules, n, rate, at_most):
    rng = np.random.default_rng(0)
    Q = rng.gamma(1.0, size=(n_states, n_states)) * rate / n_states
    np.fill_diagonal(Q, 0)
    np.fill_diagonal(Q, -Q.sum(axis=1))
    model = skchmm.CTConstrainedHMM.from_parameters(
        np.full(n_states, 1 / n_states), Q, states=list(string.ascii_lowercase[:n_states]),
        constraints=rules,
    )  # fmt: skip
    times = np.cumsum(rng.exponential(size=n))
    logs = np.log(rng.dirichlet(np.ones(n_states), size=n))
    chain = model._chain().decoder
    rates = chain.rates
    nodes = np.zeros((rates.n_nodes, rates.n_nodes))
    nodes[rates.sources, rates.targets] = rates.rates
    np.fill_diagonal(nodes, -rates.exit_rates)
    start, ends = chain.log_first(), chain.graph.log_final
    states = chain.graph.node_states

    def theirs():
        return _best(start, nodes, logs[: FEW + 1, states], np.diff(times[: FEW + 1]), ends)

    ours = model.decode(logs[: FEW + 1], times=times[: FEW + 1])[0]
    agree = bool(np.isclose(ours, theirs(), rtol=1e-9))
    first = timed(lambda: model.predict(logs, times=times), time.thread_time)
    functions = {"theirs": theirs}
    if first < 2:
        functions["ours"] = lambda: model.predict(logs, times=times)
    seconds = {"ours": first, **race(functions, clock=time.thread_time)}
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    yield Line(
        f"decoding, all gaps different ({name})",
        f"{rates.n_nodes} nodes, {n:,} gaps, rate {rate:g}",
        "CTConstrainedHMM", seconds["ours"], "scipy expm a gap", seconds["theirs"] / FEW * (n - 1),
        at_most=at_most, agree=agree, note=f"peak of the process so far {memory:.2f} GiB",
        demand=f"decoding, {n:,} different gaps",
    )  # fmt: skip


def _best(log_start, Q, logs, gaps, log_final):
    value = log_start + logs[0]
    for gap, b in zip(gaps, logs[1:]):
        with np.errstate(divide="ignore"):
            value = (value[:, None] + np.log(np.maximum(expm(Q * gap), 0.0))).max(axis=0) + b
    return (value + log_final).max()
