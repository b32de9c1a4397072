"""Learning what the breaks of soft rules cost."""

import numpy as np

from ..constraints.soft import Soft
from ..emissions.base import Frames
from ..graph import AugmentedGraph
from ..inference.chain import Chain
from ..inference.weights import learn_weights, log_z_of_lengths


def check_weights(constraints):
    """Refuse weights that were to be learned, and could not be."""
    unknown = [rule for rule in constraints if isinstance(rule, Soft) and rule.learned]
    if unknown:
        raise ValueError(
            f"{unknown[0]!r}: weight='learn' needs labels; call fit(X, y) with a label for every "
            "step, or give the weight as a number."
        )


def with_known_weights(rules, before):
    """The rules, with the weights that an earlier fit has learned where they are to be learned."""
    known = {(rule.constraint, rule.each): rule for rule in before if isinstance(rule, Soft)}
    return [
        known.get((rule.constraint, rule.each), rule)
        if isinstance(rule, Soft) and rule.learned
        else rule
        for rule in rules
    ]


def learn_soft_weights(model, data):
    """After the labelled fit: weights by maximum likelihood, given the other parameters.

    Sequences whose labels break a hard rule do not count.
    """
    soft = [rule for rule in model.constraints_ if isinstance(rule, Soft)]
    learned = np.array([rule.learned for rule in soft], dtype=bool)
    if not learned.any():
        return
    controller, parameters = model.controller_, model._parameters()
    graph = AugmentedGraph(controller, *model._supports(*parameters), max_nodes=model.max_nodes)
    breaks = controller.breaks_encoded(data.codes, data.offsets)
    used = np.flatnonzero((breaks >= 0).all(axis=1) & (data.weights > 0))
    if len(used) == 0:
        raise ValueError(
            "The labels of every sequence break a hard rule, so that no weight of a soft rule can "
            "be learned from them."
        )
    share = data.weights[used]
    log_z_of = _expectations(model, data, graph, parameters, used)
    weights = learn_weights(controller.weights, learned, share @ breaks[used], log_z_of)
    numbers = iter(weights.tolist())
    model._compile(
        [
            Soft(rule.constraint, next(numbers), each=rule.each) if isinstance(rule, Soft) else rule
            for rule in model.constraints_
        ]
    )


def _expectations(model, data, graph, parameters, used):
    """The function of weights that `learn_weights` needs."""
    lengths, share = np.diff(data.offsets)[used], data.weights[used]
    if isinstance(model._new_chain(graph, *parameters), Chain):
        return log_z_of_lengths(graph, parameters, lengths, share, model.n_jobs)
    n_steps, times = int(data.offsets[-1]), data.sequences.times
    blank = Frames(np.zeros((1, graph.n_states)), np.zeros(n_steps, dtype=np.int32))
    blank = blank if times is None else blank.with_gaps(times.gaps)

    def of_chain(weights):
        chain = model._new_chain(graph.weighing(weights), *parameters)
        log_z = chain.log_likelihood(blank, data.offsets, n_jobs=model.n_jobs)
        return share @ log_z[used], None

    return of_chain
