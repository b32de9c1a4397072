"""Why a sequence has no feasible path: which rules exclude them all together, and where."""

from dataclasses import dataclass, field

import numpy as np

from ..constraints.base import short
from ..constraints.logic import build
from ..controller import everything, intersection
from ..controller.conflicts import irreducible, smallest_conflict
from ..emissions.base import Frames
from ..exceptions import ControllerTooLargeError
from ..sequences.labels import check_states

MODEL_PARTS = ("start", "transitions", "observations")


@dataclass(frozen=True, repr=False)
class Explanation:
    """Why a sequence has no feasible path. ``print`` it, or read its attributes.

    Attributes
    ----------
    sequence : int or label
        The number of the sequence, or its id if the sequences came with groups.
    n_steps : int
    feasible : bool
        Whether the sequence has a feasible path. If so, nothing else is set.
    constraints : list
        The constraints in a smallest conflict. A conflict is a set of constraints and of parts of
        the model that together leave no path of this length; a smallest one has the fewest members.
    model_parts : list of str
        The parts of the model in the conflict. "start": start probabilities that are zero;
        "transitions": transition probabilities that are zero; "observations": observations that
        some states cannot have produced.
    starts : list of labels
        The states whose start probability is zero, as far as the conflict needs them.
    transitions : list of (label, label)
        The transitions whose probability is zero, as far as the conflict needs them.
    steps : dict
        The steps whose observations, or known labels, the conflict needs: {step: labels that can
        have produced it}.
    known : dict
        Of these steps, those whose label is known, or one of several: {step: these labels}.
    position : int
        The first step t such that no path of this length agrees with all constraints, the chain
        and the observations up to t, whatever the later ones are.
    forward_position : int
        The same without regard to the length: the first step t such that no x_0..x_t that agrees
        with the observations up to t is the beginning of a feasible path of any length.
        `n_steps` if there is no such step: some path could go on but may not end there.
    smallest : bool
        False if the search for the smallest conflict was cut short. Then no part of this conflict
        is a conflict, but there may be a smaller one elsewhere.

    See Also
    --------
    ConstrainedHMM : The hidden Markov model with exact inference under constraints.
    skchmm.plotting.ExplanationDisplay : Which rule fails where.

    Examples
    --------
    >>> import numpy as np
    >>> from skchmm import ConstrainedHMM
    >>> from skchmm.constraints import AtLeastVisits
    >>> model = ConstrainedHMM.from_parameters(
    ...     [0.5, 0.5], [[0.8, 0.2], [0.4, 0.6]], constraints=AtLeastVisits(0, 3))
    >>> why = model.explain(np.zeros((4, 2)))
    >>> why.feasible, why.constraints, why.position
    (False, [AtLeastVisits(0, 3)], 0)
    """

    sequence: object
    n_steps: int
    feasible: bool
    constraints: list = field(default_factory=list)
    model_parts: list = field(default_factory=list)
    starts: list = field(default_factory=list)
    transitions: list = field(default_factory=list)
    steps: dict = field(default_factory=dict)
    known: dict = field(default_factory=dict)
    position: int | None = None
    forward_position: int | None = None
    smallest: bool = True

    @property
    def reasons(self) -> list[str]:
        """What makes up the conflict, one line of text each."""
        lines = [short(part) for part in self.constraints]
        if self.starts:
            lines.append(f"no path starts in {_listed(self.starts)} (start probability zero)")
        lines += [
            f"{i!r} is never followed by {j!r} (transition probability zero)"
            for i, j in self.transitions
        ]
        return lines + [self._reason_at(t, labels) for t, labels in self.steps.items()]

    def _reason_at(self, t, labels):
        known = self.known.get(t)
        if known is None:
            which = f"only {_listed(labels)}" if labels else "no state"
            return f"step {t}: {which} can have produced the observation"
        line = f"step {t}: known to be {_listed(known)}"
        if len(labels) == len(known):
            return line
        which = f"of which only {_listed(labels)}" if labels else "which"
        return f"{line}, {which} can{'' if labels else 'not'} have produced the observation"

    def __str__(self):
        name = f"Sequence {self.sequence!r} ({self.n_steps} steps)"
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

    @classmethod
    def _of_feasible(cls, sequence, n_steps):
        """That of a sequence with a feasible path; most have one, so it is to take little time."""
        found = object.__new__(cls)
        found.__dict__.update(
            sequence=sequence, n_steps=n_steps, feasible=True, constraints=[], model_parts=[],
            starts=[], transitions=[], steps={}, known={}, position=None, forward_position=None,
            smallest=True,
        )  # fmt: skip
        return found

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
    """Explanations of sequences under one model, in discrete or in continuous time.

    Parameters
    ----------
    chain : chain of the model
    constraints : list
        What its controller was made of.
    zero_starts : list of int
        States in which the chain never starts.
    zero_transitions : list of (int, int)
        Transitions, or jumps, that it never makes.
    chain_of : callable
        (controller, zero_starts, zero_transitions) -> a chain with these zeros and no others
    max_nodes : int
    """

    def __init__(self, chain, constraints, zero_starts, zero_transitions, chain_of, max_nodes):
        self.chain, self.constraints = chain, constraints
        self.states = check_states(chain.graph.controller.states)
        self.rules = [build(part, self.states, max_nodes).minimal() for part in constraints]
        self.zero_starts, self.zero_transitions = zero_starts, zero_transitions
        self._chain_of, self._max_nodes = chain_of, max_nodes
        self._products, self._chains, self._conflicts = {}, {}, {}

    def explain(self, sequence, frames, known=None):
        """Explain one infeasible sequence, in whose frames known labels are held."""
        allowed = frames.table > -np.inf
        if frames.index is not None:
            allowed = None if allowed.all() else allowed[frames.index]
        if allowed is None or allowed.all():
            allowed = np.broadcast_to(True, (frames.n_steps, frames.n_states))
        conflict, position, forward_position = self._conflict(allowed, frames.gaps)
        states = self.states
        held = {t: None if known is None else known.states_at(t) for t in conflict.steps}
        return Explanation(
            sequence,
            len(allowed),
            False,
            constraints=[self.constraints[k] for k in conflict.rules],
            model_parts=conflict.parts,
            starts=[states[i] for i in conflict.starts],
            transitions=[(states[i], states[j]) for i, j in conflict.transitions],
            steps={
                t: [states[i] for i in np.flatnonzero(allowed[t]).tolist()] for t in conflict.steps
            },
            known={t: [states[i] for i in at] for t, at in held.items() if at is not None},
            position=position,
            forward_position=forward_position,
            smallest=conflict.smallest and not conflict.gave_up,
        )

    def _conflict(self, allowed, gaps):
        """The smallest conflict and where the last path dies; many sequences have the same ones."""
        bits = b"" if 0 in allowed.strides else np.packbits(allowed).tobytes()
        key = len(allowed), bits, gaps if gaps is None else gaps.tobytes()
        if key not in self._conflicts:
            possible = Frames(np.where(allowed, 0.0, -np.inf), gaps=gaps)
            self._conflicts[key] = _Conflict(self, allowed, gaps), *self.chain.death(possible)
        return self._conflicts[key]

    def trial(self, rules, zero_starts, zero_transitions):
        """The chain of some rules and some zeros, None where it grows too large."""
        key = (tuple(sorted(rules)), tuple(zero_starts), tuple(zero_transitions))
        if key not in self._chains:
            try:
                self._chains[key] = self._chain_of(self._product(key[0]), *key[1:])
            except ControllerTooLargeError:
                self._chains[key] = None
        return self._chains[key]

    def _product(self, rules):
        if rules not in self._products:
            chosen = [everything(self.states)] + [self.rules[k] for k in rules]
            self._products[rules] = intersection(chosen, max_nodes=self._max_nodes)
        return self._products[rules]


class _Conflict:
    """The smallest conflict of one sequence, and within its parts of the model what it needs."""

    def __init__(self, explainer, allowed, gaps):
        self.explainer, self.allowed, self.gaps = explainer, allowed, gaps
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
        chain = self.explainer.trial(rules, zeros["start"], zeros["transitions"])
        if chain is None:
            self.gave_up = True
            return True
        log_b = np.zeros(self.allowed.shape)
        steps = zeros["observations"]
        log_b[steps] = np.where(self.allowed[steps], 0.0, -np.inf)
        return chain.completes(Frames(log_b, gaps=self.gaps))
