"""Alignments of traces with Declare rules, against pm4py on the same rules as a Petri net."""

import math
import os
from pathlib import Path

import numpy as np

import skchmm
from skchmm import ConstrainedHMM
from skchmm.constraints import declare

from ..paper import receipt
from ..paper.__main__ import DATA
from .race import Line, race

NEEDS = ("pm4py",)
ACTIVITIES = [f"a{k}" for k in range(12)]
RULES = [
    declare.Init("a0"), declare.Absence("a0", 2), declare.Precedence("a1", "a2"),
    declare.Response("a2", "a3"), declare.NotSuccession("a4", "a5"), declare.Exactly("a6", 1),
]  # fmt: skip
NOISE = 0.15


def run(quick=False):
    for size, controller, traces in _problems(quick):
        align = _pm4py(controller)

        def ours(traces=traces, controller=controller):
            return [controller.align(trace, substitute=math.inf).cost for trace in traces]

        def theirs(traces=traces, align=align):
            return [align(trace) for trace in traces]

        same = ours() == theirs()
        times = race({"ours": ours, "theirs": theirs}, seconds=0.5 if quick else 2.0)
        size = f"{size}, {controller.n_states} controller states"
        yield Line("alignment", size, "Controller.align", times["ours"], "pm4py", times["theirs"],
                   at_least=1, agree=same, demand="alignments, pm4py")  # fmt: skip


def _problems(quick):
    """Size, rules and traces: drawn ones, and noisy ones of the receipt log, if it is at hand."""
    controller = skchmm.compile(RULES, ACTIVITIES)
    for n_traces, length in ((3, 10),) if quick else ((20, 15), (10, 30)):
        yield f"{n_traces} traces of {length}", controller, _traces(controller, n_traces, length)
    log = Path(os.environ.get("SKCHMM_BENCH_DATA", DATA)) / receipt.FILES[0]
    if log.exists():
        traces, activities = receipt.read(log)
        rules = receipt.declare_rules(traces[:1000], activities)
        rng = np.random.default_rng(0)
        noisy = [receipt.replace_some(trace, activities, rng).tolist() for trace in traces[1000:]]
        chosen = noisy[: 5 if quick else 50]
        yield f"{len(chosen)} cases of the receipt log", skchmm.compile(rules, activities), chosen


def _traces(controller, n_traces, length):
    """Draws of traces that satisfy the rules, some of whose events are then replaced."""
    S, rng = len(ACTIVITIES), np.random.default_rng(0)
    even = np.full((S, S), 1 / S)
    model = ConstrainedHMM.from_parameters(
        even[0], even, states=ACTIVITIES, constraints=controller, random_state=0
    )
    paths = model.sample_posterior([np.zeros((length, S))] * n_traces)
    return [
        [str(rng.choice(ACTIVITIES)) if rng.random() < NOISE else str(x) for x in drawn[0]]
        for drawn in paths
    ]


def _pm4py(controller):
    """A function from a trace to the number of moves of its alignment."""
    from pm4py.algo.conformance.alignments.petri_net import algorithm
    from pm4py.objects.log.obj import Event, Trace
    from pm4py.objects.petri_net.obj import Marking, PetriNet
    from pm4py.objects.petri_net.utils.petri_utils import add_arc_from_to

    net, table = PetriNet("rules"), controller.tables[0]
    places = [PetriNet.Place(f"state {q}") for q in range(len(table))]
    start, end = PetriNet.Place("start"), PetriNet.Place("end")
    net.places.update([*places, start, end])
    edges = [(start, places[there], a) for a, there in enumerate(table[0]) if there >= 0]
    edges += [(places[q], places[table[q, a]], a) for q, a in zip(*np.nonzero(table >= 0))]
    edges += [(places[q], end, None) for q in np.flatnonzero(controller.accept)]
    for number, (source, target, a) in enumerate(edges):
        label = None if a is None else controller.states[a]
        transition = PetriNet.Transition(f"edge {number}", label)
        net.transitions.add(transition)
        add_arc_from_to(source, transition, net)
        add_arc_from_to(transition, target, net)

    def align(trace):
        events = Trace([Event({"concept:name": x}) for x in trace])
        found = algorithm.apply_trace(events, net, Marking({start: 1}), Marking({end: 1}))
        return float(found["cost"] // 10_000)  # what a move costs there

    return align
