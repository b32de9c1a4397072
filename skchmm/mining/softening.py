"""Mined rules as soft ones, with weights learned from the labels they were mined from."""

import numpy as np

from ..constraints import Soft
from ..constraints.compile import compile
from ..exceptions import ControllerTooLargeError
from ..graph import AugmentedGraph
from ..inference.weights import learn_weights, log_z_of_lengths

MAX_NODES = 5_000  # all soft rules are remembered together; learning goes over them many times
SMOOTHING = 0.5  # pseudocount of the chain under which breaks are expected


def soften_rules(rules, runs):
    """The rules as soft ones; those that would make their controller too large are left out.

    A rule whose weight comes out as 0 says nothing that the chain does not, and is left out too.
    """
    states, kept, controller = runs.states, [], None
    for rule in rules:
        soft = Soft(rule, "learn", each=rule._breaks(tuple(states), MAX_NODES) is not None)
        try:
            controller = compile([*kept, soft], states, max_nodes=MAX_NODES)
        except ControllerTooLargeError:
            continue
        kept.append(soft)
    if not kept:
        return []
    codes = np.repeat(runs.label, runs.length)
    lengths = np.bincount(runs.sequence, weights=runs.length).astype(np.int64)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    parameters = _chain(codes, offsets, len(states))
    graph = AugmentedGraph(controller, *(part > 0 for part in parameters))
    log_z_of = log_z_of_lengths(graph, parameters, lengths, np.ones(len(lengths)))
    total = controller.breaks_encoded(codes, offsets).sum(axis=0).astype(np.float64)
    learned = np.ones(len(kept), dtype=bool)
    weights = learn_weights(np.zeros(len(kept)), learned, total, log_z_of)
    return [
        Soft(rule.constraint, weight, each=rule.each)
        for rule, weight in zip(kept, weights.tolist())
        if weight > 0
    ]


def _chain(codes, offsets, n_states):
    """Start and transition probabilities of labels."""
    first = np.zeros(len(codes), dtype=bool)
    first[offsets[:-1]] = True
    starts = np.bincount(codes[first], minlength=n_states) + SMOOTHING
    to = np.flatnonzero(~first)
    pairs = np.bincount(codes[to - 1] * n_states + codes[to], minlength=n_states**2) + SMOOTHING
    transitions = pairs.reshape(n_states, n_states)
    return starts / starts.sum(), transitions / transitions.sum(axis=1, keepdims=True)
