"""Decoding time of the seven decoders against the length of a sequence."""

import time

import numpy as np

from skchmm.datasets import make_chain

from ..machine import describe_machine, one_thread
from .report import Finding, Report, Table
from .suite import seven_decoders

LENGTHS = (100, 200, 400, 800)
PAPER = {  # seconds
    "hmm": (3.46e-4, 6.44e-4, 1.31e-3, 2.57e-3),
    "tm": (3.30e-4, 6.44e-4, 1.27e-3, 2.61e-3),
    "hsmm": (4.92e-2, 1.94e-1, 5.82e-1, 1.37),
    "crf": (3.12e-4, 6.25e-4, 1.24e-3, 2.48e-3),
    "phf": (4.22e-3, 8.39e-3, 1.68e-2, 3.47e-2),
    "bsr": (2.80e-2, 4.07e-2, 7.56e-2, 1.76e-1),
    "chmm": (3.87e-3, 7.76e-3, 1.56e-2, 3.20e-2),
}

TEXT = """
Time of ``predict`` for one sequence, in microseconds: the public method, reading of the input
included; minimum of {repeats} calls, mean over eight sequences, one thread. {machine}. The
paper's is its own Python code on its own machine, so the ratio says what a user gains, not which
machine is faster.
"""


def run(options):
    repeats, n_test = (3, 2) if options.quick else (30, 8)
    lengths = LENGTHS[::3] if options.quick else LENGTHS
    records = []
    with one_thread():
        for n_steps in lengths:
            data = make_chain(60 + n_test, n_steps=n_steps, random_state=0)
            models = seven_decoders(data.constraints, states=data.states)
            for model in models.values():
                model.fit(data.X[:60], data.y[:60])
            seconds = _interleaved(models, data.X[60:], repeats)
            records += [{"method": m, "T": n_steps, "seconds": s} for m, s in seconds.items()]
    table = {(r["method"], r["T"]): r["seconds"] for r in records}
    rows = []
    for method, published in PAPER.items():
        theirs = dict(zip(LENGTHS, published))
        cells = [f"{1e6 * table[method, n]:.0f} | {1e6 * theirs[n]:.0f}" for n in lengths]
        rows.append([method, *cells, f"{theirs[lengths[-1]] / table[method, lengths[-1]]:.0f}x"])
    header = ["method", *(f"T = {n}" for n in lengths), f"ratio at {lengths[-1]}"]
    return Report(
        "timing",
        "Decoding time",
        TEXT.format(repeats=repeats, machine=describe_machine()),
        [Table("Microseconds a sequence | the paper's:", header, rows)],
        _findings(table, lengths),
        records,
        lambda figure: _draw(figure, table, lengths),
        size=(5.0, 3.6),
    )


def _interleaved(models, X, repeats):
    """Method -> seconds; the methods take turns, so that a slow moment hits them all."""
    best = {name: np.full(len(X), np.inf) for name in models}
    for _ in range(repeats):
        for name, model in models.items():
            for k, x in enumerate(X):
                begin = time.perf_counter()
                model.predict(x)
                best[name][k] = min(best[name][k], time.perf_counter() - begin)
    return {name: float(seconds.mean()) for name, seconds in best.items()}


def _findings(table, lengths):
    low, high = lengths[0], lengths[-1]
    growth = {m: table[m, high] / table[m, low] for m in PAPER}
    linear = max(growth.values())
    overhead = table["chmm", high] / table["hmm", high]
    return [
        Finding(
            "Constrained decoding takes about 12 times as long as unconstrained (T = 800).",
            f"{overhead:.2f} times.",
            overhead > 4,
            "" if overhead > 4 else "The rules compile to 9 live nodes and 20 edges, fewer than "
            "the 25 edges without rules.",
        ),
        Finding(
            "All but hsmm grow linearly; hsmm grows by 28 from T = 100 to 800.",
            f"hsmm grows by {growth['hsmm']:.1f}, the others by at most "
            f"{max(v for k, v in growth.items() if k != 'hsmm'):.1f} (8 would be linear; calls "
            "have a fixed part).",
            linear > 20,
            "" if linear > 20 else "Here hsmm is linear too once T exceeds the longest duration, "
            "with running sums: O(T S (D + S)).",
        ),
        Finding(
            "hsmm needs 1.37 s at T = 800.",
            f"{1e3 * table['hsmm', high]:.2f} ms at T = {high}.",
            table["hsmm", high] > 0.5,
        ),
    ]  # fmt: skip


def _draw(figure, table, lengths):
    axes = figure.subplots()
    for k, (method, published) in enumerate(PAPER.items()):
        ours = [table[method, n] for n in lengths]
        axes.loglog(lengths, ours, "o-", ms=3, color=f"C{k}", label=method)
        axes.loglog(LENGTHS, published, ":", lw=1, color=f"C{k}")
    axes.set_xlabel("T")
    axes.set_ylabel("seconds (dotted: the paper)")
    axes.legend(fontsize=7, ncols=2)
