"""Why a sequence has no feasible path: which rules exclude them all together, and where."""

from dataclasses import dataclass, field

import numpy as np

from ._conflicts import irreducible, smallest_conflict
from ._kernels.discrete.filtering import completions, first_step, step
from .completion import Live
from .constraints.base import short
from .constraints.labels import check_states
from .constraints.logic import build
from .constraints.tables import trivial
from .controller import intersection
from .emissions import Frames
from .exceptions import ControllerTooLargeError
from .graph import AugmentedGraph
from .inference import best_feasible_path

MODEL_PARTS = ("start", "transitions", "observations")


@dataclass(frozen=True, repr=False)
class Explanation:
    """Why a sequence has no feasible path. ``print`` it, or read its attributes.

    Attributes
    ----------
    sequence : int or label
        Its number, or its id where the sequences came with groups.
    n_steps : int
    feasible : bool
        Whether it has a feasible path after all; nothing else is set then.
    constraints : list
        The constraints of a smallest conflict: of all sets of constraints and of parts of the
        model that together leave no path of this length, one with the fewest members.
    model_parts : list of str
        The parts of the model in it. "start": start probabilities that are zero;
        "transitions": transition probabilities that are zero; "observations": observations that
        some states cannot have produced.
    starts : list of labels
        Of the start probabilities that are zero, those that the conflict needs.
    transitions : list of (label, label)
        Of the transition probabilities that are zero, those that it needs.
    steps : dict
        The steps whose observations it needs: step -> labels that can have produced it.
    position : int
        The first step t such that no path of this length agrees with all constraints, the chain
        and the observations up to t, whatever the later ones are.
    forward_position : int
        The same without regard to the length: the first step t such that no x_0..x_t that agrees
        with the observations up to t is the beginning of a feasible path of any length.
        `n_steps` if there is no such step: some path could go on but may not end there.
    smallest : bool
        False if the search for the smallest conflict was cut short; the conflict then has
        none within it, but there may be a smaller one elsewhere.
    """

    sequence: object
    n_steps: int
    feasible: bool
    constraints: list = field(default_factory=list)
    model_parts: list = field(default_factory=list)
    starts: list = field(default_factory=list)
    transitions: list = field(default_factory=list)
    steps: dict = field(default_factory=dict)
    position: int | None = None
    forward_position: int | None = None
    smallest: bool = True

    @property
    def reasons(self):
        """What makes up the conflict, one line of text each."""
        lines = [short(part) for part in self.constraints]
        if self.starts:
            lines.append(f"no path starts in {_listed(self.starts)} (start probability zero)")
        lines += [
            f"{i!r} is never followed by {j!r} (transition probability zero)"
            for i, j in self.transitions
        ]
        lines += [
            f"step {t}: "
            + (f"only {_listed(labels)}" if labels else "no state")
            + " can have produced the observation"
            for t, labels in self.steps.items()
        ]
        return lines

    def __str__(self):
        name = f"Sequence {self.sequence!r} of {self.n_steps} steps"
        if self.feasible:
            return f"{name} has a feasible path."
        if self.position == self.n_steps - 1:
            where = "The last path dies at the last step."
        else:
            where = (
                f"The last path dies at step {self.position}: whatever is observed after it, none "
                f"can be completed in {self.n_steps} steps."
            )
        if self.position < self.forward_position < self.n_steps:
            where += f" Dead ends reach as far as step {self.forward_position - 1}."
        elif self.forward_position == self.n_steps:
            where += " Some paths reach the end but may not end there."
        return "\n".join(
            [f"{name} has no feasible path. These leave none, taken together:"]
            + [f"  {line}" for line in self.reasons]
            + [where]
        )

    def __repr__(self):
        if self.feasible:
            return f"<Explanation: sequence {self.sequence!r} is feasible>"
        return (
            f"<Explanation: sequence {self.sequence!r}, conflict of {self.reasons}, "
            f"position {self.position}>"
        )


def _listed(labels):
    return " or ".join(map(repr, labels))


class Explainer:
    """Explanations of sequences under one model; the graphs of trials are kept."""

    def __init__(self, model):
        self.model = model
        self.states = check_states(model.classes_.tolist())
        self.rules = [
            build(part, self.states, model.max_nodes).minimal() for part in model.constraints_
        ]
        self.graph = model._chain().graph
        self.zero_starts = np.flatnonzero(model.startprob_ == 0).tolist()
        self.zero_transitions = [tuple(e) for e in np.argwhere(model.transmat_ == 0).tolist()]
        self._products, self._graphs = {}, {}

    def explain(self, sequence, allowed):
        """Explain one infeasible sequence; allowed[t, i]: state i can have produced step t."""
        conflict = _Conflict(self, allowed)
        position, forward_position = _death(self.graph, allowed)
        states = self.states
        return Explanation(
            sequence,
            len(allowed),
            False,
            constraints=[self.model.constraints_[k] for k in conflict.rules],
            model_parts=conflict.parts,
            starts=[states[i] for i in conflict.starts],
            transitions=[(states[i], states[j]) for i, j in conflict.transitions],
            steps={
                t: [states[i] for i in np.flatnonzero(allowed[t]).tolist()] for t in conflict.steps
            },
            position=position,
            forward_position=forward_position,
            smallest=conflict.smallest and not conflict.gave_up,
        )

    def trial_graph(self, rules, zero_starts, zero_transitions):
        """The graph of some rules and some zeros, None where it grows too large."""
        key = (tuple(sorted(rules)), tuple(zero_starts), tuple(zero_transitions))
        if key not in self._graphs:
            S = len(self.states)
            starts, support = np.ones(S, dtype=bool), np.ones((S, S), dtype=bool)
            starts[list(zero_starts)] = False
            for i, j in zero_transitions:
                support[i, j] = False
            try:
                self._graphs[key] = AugmentedGraph(
                    self._product(key[0]), starts, support, max_nodes=self.model.max_nodes
                )
            except ControllerTooLargeError:
                self._graphs[key] = None
        return self._graphs[key]

    def _product(self, rules):
        if rules not in self._products:
            chosen = [trivial(self.states)] + [self.rules[k] for k in rules]
            self._products[rules] = intersection(chosen, max_nodes=self.model.max_nodes)
        return self._products[rules]


class _Conflict:
    """The smallest conflict of one sequence, and within its parts of the model what it needs."""

    def __init__(self, explainer, allowed):
        self.explainer, self.allowed = explainer, allowed
        self.gave_up = False
        restricted = np.flatnonzero(~allowed.all(axis=1)).tolist()
        zeros = {
            "start": explainer.zero_starts,
            "transitions": explainer.zero_transitions,
            "observations": restricted,
        }
        n_rules = len(explainer.rules)
        items = list(range(n_rules)) + [part for part in MODEL_PARTS if zeros[part]]

        def chosen(picked):
            parts = [items[k] for k in picked]
            rules = [part for part in parts if isinstance(part, int)]
            return rules, {part: zeros[part] if part in parts else [] for part in MODEL_PARTS}

        picked, self.smallest = smallest_conflict(
            len(items), lambda trial: self.feasible(*chosen(trial))
        )
        self.rules, needed = chosen(picked)
        self.parts = [part for part in MODEL_PARTS if needed[part]]
        for part in self.parts:
            every = needed[part]
            places = irreducible(
                list(range(len(every))),
                lambda trial: self.feasible(
                    self.rules,
                    needed | {part: [every[k] for k in sorted(trial)]},  # noqa: B023
                ),
            )
            needed[part] = [every[k] for k in places]
        self.starts, self.transitions, self.steps = (needed[part] for part in MODEL_PARTS)

    def feasible(self, rules, zeros):
        graph = self.explainer.trial_graph(rules, zeros["start"], zeros["transitions"])
        if graph is None:
            self.gave_up = True
            return True
        log_b = np.zeros(self.allowed.shape)
        steps = zeros["observations"]
        log_b[steps] = np.where(self.allowed[steps], 0.0, -np.inf)
        offsets = np.array([0, len(log_b)])
        return best_feasible_path(graph, Frames(log_b), offsets)[1][0] > -np.inf


def _death(graph, allowed):
    """The two positions of an Explanation."""
    n_steps, N = len(allowed), graph.n_nodes
    if N == 0:
        return 0, 0
    layout, weightless = graph.layout, np.zeros(len(graph.base_edges))
    completable = np.empty((n_steps, N))
    completions(layout, weightless, completable)
    live = Live(graph)
    log_b = np.where(allowed, 0.0, -np.inf)
    position, now, before = None, np.empty(N), np.empty(N)
    for t in range(n_steps):
        if t == 0:
            first_step(layout, np.zeros(graph.n_states), log_b[0], now)
        else:
            step(layout, weightless, t, before, log_b[t], True, now)
        if position is None and not (now + completable[t] > -np.inf).any():
            position = t
        if not (now + live[t] > -np.inf).any():
            return position, t
        now, before = before, now
    return position, n_steps
