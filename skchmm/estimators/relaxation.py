"""Sequences that no path fits without breaking a rule: as few rules as possible are broken.

The controller of *at most b of the rules are broken* is a hard one: with L(k, b) the paths that
break at most b of the first k rules, L(k, b) = (L(k - 1, b) and rule k) or L(k - 1, b - 1). So a
sequence is answered exactly, by the first b for which it has a path.
"""

from dataclasses import dataclass

import numpy as np

from ..constraints.logic import build
from ..constraints.soft import Soft, add_soft
from ..controller import everything, intersection, union
from ..emissions.base import Frames
from ..exceptions import InfeasibleSequenceWarning, warn
from ..graph import AugmentedGraph
from .infeasible import check_possible

SHOWN = 3  # sequences described in a warning before the rest is only counted


@dataclass(frozen=True)
class Relaxed:
    """The rules that the answer to one sequence breaks.

    Attributes
    ----------
    sequence : int or label
        Its number, or the name of its group.
    broken : list of (constraint, step)
        Each broken rule, and the first step at which no continuation could keep it any more;
        the number of steps of the sequence where only the end breaks it.
    """

    sequence: object
    n_steps: int
    broken: list

    def __str__(self):
        parts = [
            f"{rule!r} " + ("at its end" if step == self.n_steps else f"at step {step}")
            for rule, step in self.broken
        ]
        return f"sequence {self.sequence!r} ({self.n_steps} steps) breaks " + ", ".join(parts)


class Relaxation:
    """Answers that break as few of a model's hard rules as possible."""

    def __init__(self, model, parameters=None):
        self.model, self.rules = model, model._rules
        self.parameters = model._parameters() if parameters is None else parameters
        self.states = tuple(model.classes_.tolist())
        self.controllers = [build(rule, self.states, model.max_nodes) for rule in self.rules]
        self.controllers = [controller.minimal() for controller in self.controllers]
        self.chains = {}

    def controller(self, b):
        """Of the paths that break at most b rules."""
        kept, limit = self.model._chains.setdefault("relaxed", {}), self.model.max_nodes
        if b >= len(self.rules):
            return everything(self.states)
        if b in kept:
            return kept[b]
        here = [everything(self.states)] * (b + 1)
        for rule in self.controllers:
            before = here
            here = [intersection([each, rule], max_nodes=limit) for each in before]
            for k in range(1, b + 1):
                here[k] = union([here[k], before[k - 1]], max_nodes=limit)
        kept[b] = here[b]
        return kept[b]

    def chain(self, b):
        if b not in self.chains:
            model, controller = self.model, self.controller(b)
            soft = [rule for rule in model.constraints_ if isinstance(rule, Soft)]
            if soft:
                controller = add_soft(controller, soft, model.max_nodes)
            supports = model._supports(*self.parameters)
            graph = AugmentedGraph(controller, *supports, max_nodes=model.max_nodes)
            self.chains[b] = model._new_chain(graph, *self.parameters)
        return self.chains[b]

    def answer(self, sequences, frames, bad, solve, fill):
        """Answer the sequences `bad` with the fewest broken rules.

        Parameters
        ----------
        solve : callable
            (chain, frames, offsets) -> log probabilities and an answer
        fill : callable
            (sequence, answer, log probability) puts an answer in its place.

        Returns
        -------
        dict
            The number of broken rules of each sequence.
        """
        broken, frames = {}, frames.whole()
        for b in range(1, len(self.rules) + 1):
            left = [s for s in bad if s not in broken]
            if not left:
                break
            rows, offsets = rows_of(sequences.offsets, np.array(left))
            log_prob, found = solve(self.chain(b), taken(frames, rows), offsets)
            for k, s in enumerate(left):
                if log_prob[k] > -np.inf:
                    broken[s] = b
                    fill(s, found[offsets[k] : offsets[k + 1]], log_prob[k])
        left = [s for s in bad if s not in broken]
        if left:  # impossible whatever the rules
            impossible = np.zeros(sequences.n_sequences)
            impossible[left] = -np.inf
            check_possible(sequences, impossible, frames)
        return broken

    def describe(self, sequence, path):
        """The rules that a path of state indices breaks, and where."""
        broken, T = [], len(path)
        for rule, controller in zip(self.rules, self.controllers):
            q, step = 0, None
            for t, a in enumerate(path.tolist()):
                e = int(np.searchsorted(controller.epochs, t, side="right")) - 1
                q = controller.tables[e, q, a]
                if q < 0:
                    step = t
                    break
            if step is None and not controller.accept[q]:
                step = T
            if step is not None:
                broken.append((rule, step))
        return Relaxed(sequence, T, broken)

    def answer_by_paths(self, sequences, frames, bad, solve, fill):
        """Answer by paths of state indices, note in `relaxed_` what they break, and warn.

        Returns how many rules each sequence breaks.
        """
        found = {}

        def note(s, path, log_prob):
            found[s] = self.describe(sequences.names[s], path)
            fill(s, path, log_prob)

        broken = self.answer(sequences, frames, bad, solve, note)
        self.model.relaxed_ = [found[s] for s in sorted(found)]
        report_relaxed(self.model.relaxed_)
        return broken


def rows_of(offsets, chosen):
    """The steps of some sequences, and the offsets of these sequences among them."""
    rows = np.concatenate([np.arange(offsets[s], offsets[s + 1]) for s in chosen])
    return rows, np.concatenate([[0], np.cumsum(offsets[chosen + 1] - offsets[chosen])])


def taken(frames, rows):
    """The frames of some steps."""
    index = rows if frames.index is None else np.asarray(frames.index)[rows]
    gaps = None if frames.gaps is None else frames.gaps[rows]
    return Frames(frames.table, index.astype(np.int32), gaps=gaps)


def report_relaxed(relaxed):
    """Warn of the sequences that break rules."""
    more = len(relaxed) - SHOWN
    lines = "; ".join(map(str, relaxed[:SHOWN])) + (f"; and {more} more" if more > 0 else "")
    warn(
        f"{len(relaxed)} sequence{'s have' if len(relaxed) > 1 else ' has'} no feasible path and "
        f"{'are' if len(relaxed) > 1 else 'is'} answered by the most probable path that breaks the "
        f"fewest rules: {lines}. relaxed_ lists all of them.",
        InfeasibleSequenceWarning,
    )
