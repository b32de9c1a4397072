"""All measured times: by the length of a sequence, on fly genes, and by family of constraints."""

import time

import numpy as np

from skchmm import ConstrainedHMM
from skchmm.datasets import make_chain
from skchmm.emissions import Categorical

from ..machine import describe_machine, one_thread
from . import fly
from .overhead import FAMILIES, STATES
from .report import Report, Table
from .sizes import size_of
from .suite import seven_decoders
from .verdicts import Finding, same_size

FILES = fly.FILES
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

PAPER_FLY = 4.1  # chmm over hmm on fly genes
N_STEPS_FAMILY = 800

TEXT = """
Time of ``predict`` for one sequence: the public method, reading of the input included; minimum of
{repeats} calls that take turns with those of the other methods, mean over {n_test} sequences, one
thread. {machine}. The paper's is its own Python code on its own machine, so a ratio of ours to
theirs says what a user gains, not which machine is faster; ratios of two of ours say what rules
cost. These numbers are the only ones that a second run does not repeat to the digit.
"""


def run(options):
    repeats, n_test = _size(options.quick)
    lengths = LENGTHS[::3] if options.quick else LENGTHS
    records = by_length(lengths, options.quick)
    with one_thread():
        genes = fly.load(options)
        on_fly = _interleaved(_fly_models(genes), genes.X_test[:n_test], repeats)
        families = _interleaved(_family_models(), _symbols(n_test), repeats)
    catalog = make_chain(1, random_state=0)
    table = {(r["method"], r["T"]): r["seconds"] for r in records}
    records += [{"method": m, "T": "fly", "seconds": s} for m, s in on_fly.items()]
    records += [{"method": m, "T": N_STEPS_FAMILY, "seconds": s} for m, s in families.items()]
    return Report(
        "timing",
        "Decoding time",
        TEXT.format(repeats=repeats, n_test=n_test, machine=describe_machine()),
        [_length_table(table, lengths), _fly_table(on_fly), _family_table(families)],
        _findings(table, lengths, on_fly, families, size_of(catalog.constraints, catalog.states)),
        records,
        lambda figure: _draw(figure, table, lengths),
        size=(5.0, 3.6),
        measured=True,
    )


def by_length(lengths, quick):
    """Seconds of each of the seven decoders on the synthetic chain."""
    repeats, n_test = _size(quick)
    records = []
    with one_thread():
        for n_steps in lengths:
            data = make_chain(60 + n_test, n_steps=n_steps, random_state=0)
            models = seven_decoders(data.constraints, states=data.states)
            for model in models.values():
                model.fit(data.X[:60], data.y[:60])
            seconds = _interleaved(models, data.X[60:], repeats)
            records += [{"method": m, "T": n_steps, "seconds": s} for m, s in seconds.items()]
    return records


def _size(quick):
    return (3, 2) if quick else (30, 8)


def _fly_models(genes):
    models = {
        "hmm": ConstrainedHMM(states=genes.states),
        "chmm": ConstrainedHMM(states=genes.states, constraints=genes.rules),
    }
    return {name: model.fit(genes.X, genes.y) for name, model in models.items()}


def _family_models():
    """One random chain, without rules and with each family."""
    rng = np.random.default_rng(0)
    S = len(STATES)
    startprob, transmat = rng.dirichlet(np.ones(S)), rng.dirichlet(np.ones(S), size=S)
    emission = Categorical.from_parameters(rng.dirichlet(np.ones(8), size=S), list(range(8)))
    # No path of more than S steps has all its states different.
    rules = {name: [rule] for name, (rule, _) in FAMILIES.items() if name != "all different"}
    return {
        name: ConstrainedHMM.from_parameters(
            startprob, transmat, states=STATES, emission=emission, constraints=constraints
        )
        for name, constraints in {"no rules": None, **rules}.items()
    }


def _symbols(n_sequences):
    rng = np.random.default_rng(1)
    return [rng.integers(8, size=N_STEPS_FAMILY) for _ in range(n_sequences)]


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


def _length_table(table, lengths):
    rows = []
    for method, published in PAPER.items():
        theirs = dict(zip(LENGTHS, published))
        cells = [f"{1e6 * table[method, n]:.0f} | {1e6 * theirs[n]:.0f}" for n in lengths]
        rows.append([method, *cells, f"{theirs[lengths[-1]] / table[method, lengths[-1]]:.0f}x"])
    header = ["method", *(f"T = {n}" for n in lengths), f"ratio at {lengths[-1]}"]
    return Table("Synthetic chain, microseconds per sequence | the paper's:", header, rows)


def _fly_table(on_fly):
    ratio = on_fly["chmm"] / on_fly["hmm"]
    cells = [f"{1e6 * on_fly[m]:.0f}" for m in ("hmm", "chmm")]
    return Table("Fly genes, microseconds a gene; ratio | the paper's:",
                 ["hmm", "chmm", "ratio"], [[*cells, f"{ratio:.2f} | {PAPER_FLY}"]])  # fmt: skip


def _family_table(families):
    rows = []
    for name, seconds in families.items():
        size = size_of([FAMILIES[name][0]] if name in FAMILIES else [], STATES)
        ratio = seconds / families["no rules"]
        theirs = f" | {FAMILIES[name][1]}" if name in FAMILIES else ""
        rows.append([name, size.edges, f"{1e6 * seconds:.0f}", f"{ratio:.2f}{theirs}"])
    header = ["rules", "edges", "microseconds", "times as long as without | at most, by the paper"]
    return Table(f"By family, T = {N_STEPS_FAMILY}, {len(STATES)} states:", header, rows)


def _findings(table, lengths, on_fly, families, size):
    low, high = lengths[0], lengths[-1]
    growth = {m: table[m, high] / table[m, low] for m in PAPER}
    others = max(v for k, v in growth.items() if k != "hsmm")
    overhead = table["chmm", high] / table["hmm", high]
    fly_overhead = on_fly["chmm"] / on_fly["hmm"]
    worse = [
        name for name in families
        if name in FAMILIES and families[name] / families["no rules"] > FAMILIES[name][1] + 0.5
    ]  # fmt: skip
    pruned = (
        f"The rules compile to {size.nodes} nodes and {size.edges} edges, against "
        f"{size.free_edges} edges without rules and {size.dense_edges} of the composed catalog."
    )
    return [
        Finding(
            "Constrained decoding takes about 12 times as long as unconstrained (T = 800).",
            f"{overhead:.2f} times at T = {high}.",
            same_size(overhead, 12),
            pruned,
        ),
        Finding(
            f"On fly genes it takes {PAPER_FLY} times as long.",
            f"{fly_overhead:.2f} times.",
            same_size(fly_overhead, PAPER_FLY),
            "The same: the report on fly genes counts fewer edges with rules than without.",
        ),
        Finding(
            "A family costs at most its controller states.",
            f"more than half a time above that in {len(worse)} of {len(families) - 1} families"
            + (f" ({', '.join(worse)})." if worse else "."),
            not worse,
            "Where a graph is no longer complete, a step takes longer for each edge.",
        ),
        Finding(
            "All but hsmm grow linearly; hsmm grows by 28 from T = 100 to 800.",
            f"hsmm grows by {growth['hsmm']:.1f}, the others by at most {others:.1f} from T = "
            f"{low} to {high} ({high / low:g} would be linear; calls have a fixed part).",
            "agrees" if same_size(growth["hsmm"], 28) else "differs",
            "Here hsmm is linear too once T exceeds the longest duration, with running sums: "
            "O(T S (D + S)).",
        ),
        Finding(
            "hsmm needs 1.37 s at T = 800.",
            f"{1e3 * table['hsmm', high]:.2f} ms at T = {high}.",
            same_size(table["hsmm", high], 1.37),
            "Compiled code, and running sums instead of a loop over durations.",
        ),
    ]


def _draw(figure, table, lengths):
    axes = figure.subplots()
    for k, (method, published) in enumerate(PAPER.items()):
        ours = [table[method, n] for n in lengths]
        axes.loglog(lengths, ours, "o-", ms=3, color=f"C{k}", label=method)
        axes.loglog(LENGTHS, published, ":", lw=1, color=f"C{k}")
    axes.set_xlabel("T")
    axes.set_ylabel("seconds (dotted: the paper)")
    axes.legend(fontsize=7, ncols=2)
