"""Why a sequence has no feasible path in continuous time."""

import numpy as np

from ._conflicts import irreducible, smallest_conflict
from ._times import TimedFrames
from .constraints.labels import check_states
from .constraints.logic import build
from .constraints.tables import trivial
from .controller import intersection
from .exceptions import ControllerTooLargeError
from .explain import MODEL_PARTS, Explanation


def explain_sequence(model, name, frames):
    """An Explanation of one infeasible sequence."""
    trial = _Trial(model, frames)
    states, conflict = trial.states, trial.smallest()
    rules, zeros, smallest = conflict
    position, forward_position = _death(model._chain(), frames)
    return Explanation(
        name,
        frames.n_steps,
        False,
        constraints=[model.constraints_[k] for k in rules],
        model_parts=[part for part in MODEL_PARTS if zeros[part]],
        starts=[states[i] for i in zeros["start"]],
        transitions=[(states[i], states[j]) for i, j in zeros["transitions"]],
        steps={
            t: [states[i] for i in np.flatnonzero(trial.allowed[t]).tolist()]
            for t in zeros["observations"]
        },
        position=position,
        forward_position=forward_position,
        smallest=smallest and not trial.gave_up,
    )


class _Trial:
    """Whether some constraints and some zeros of the model leave a path."""

    def __init__(self, model, frames):
        self.model, self.gaps = model, frames.gaps
        self.states = check_states(model.classes_.tolist())
        self.allowed = frames.dense() > -np.inf
        given = model.constraints_ if model._mask is None else []
        self.rules = [build(part, self.states, model.max_nodes).minimal() for part in given]
        off = ~np.eye(len(self.states), dtype=bool)
        self.zeros = {
            "start": np.flatnonzero(model.startprob_ == 0).tolist(),
            "transitions": [tuple(e) for e in np.argwhere((model.generator_ == 0) & off).tolist()],
            "observations": np.flatnonzero(~self.allowed.all(axis=1)).tolist(),
        }
        self.gave_up = False
        self._chains = {}

    def smallest(self):
        """Rules and zeros of a smallest conflict, and whether it is surely smallest."""
        n_rules = len(self.rules)
        items = list(range(n_rules)) + [part for part in MODEL_PARTS if self.zeros[part]]

        def chosen(picked):
            parts = [items[k] for k in picked]
            rules = [part for part in parts if isinstance(part, int)]
            return rules, {part: self.zeros[part] if part in parts else [] for part in MODEL_PARTS}

        picked, smallest = smallest_conflict(len(items), lambda p: self.feasible(*chosen(p)))
        rules, zeros = chosen(picked)
        for part in MODEL_PARTS:
            every = zeros[part]

            def some(places, part=part, every=every):
                return self.feasible(rules, zeros | {part: [every[k] for k in sorted(places)]})

            if every:
                places = irreducible(list(range(len(every))), some)
                zeros[part] = [every[k] for k in places]
        return rules, zeros, smallest

    def feasible(self, rules, zeros):
        chain = self._chain(tuple(rules), tuple(zeros["start"]), tuple(zeros["transitions"]))
        if chain is None:
            self.gave_up = True
            return True
        log_b = np.zeros(self.allowed.shape)
        steps = zeros["observations"]
        log_b[steps] = np.where(self.allowed[steps], 0.0, -np.inf)
        return _completes(chain, TimedFrames(log_b, None, self.gaps))

    def _chain(self, rules, zero_starts, zero_rates):
        key = rules, zero_starts, zero_rates
        if key not in self._chains:
            S = len(self.states)
            start, rates = np.ones(S), np.ones((S, S))
            start[list(zero_starts)] = 0.0
            for i, j in zero_rates:
                rates[i, j] = 0.0
            np.fill_diagonal(rates, 0.0)
            np.fill_diagonal(rates, -rates.sum(axis=1))
            try:
                controller = intersection(
                    [trivial(self.states)] + [self.rules[k] for k in rules],
                    max_nodes=self.model.max_nodes,
                )
                self._chains[key] = self.model._new_chain(controller, start, rates)
            except ControllerTooLargeError:
                self._chains[key] = None
        return self._chains[key]


def _completes(chain, frames):
    T = frames.n_steps
    return chain.alive_steps(frames, np.array([0, T]), 0) == T + 1


def _death(chain, frames):
    """The two positions of an Explanation."""
    T = frames.n_steps
    forward = chain.alive_steps(frames, np.array([0, T]), 0)
    dense = np.where(frames.dense() > -np.inf, 0.0, -np.inf)
    low, high = 0, T - 1
    while low < high:  # the first step whose observations, with those before, leave nothing
        middle = (low + high) // 2
        seen = dense.copy()
        seen[middle + 1 :] = 0.0
        if _completes(chain, TimedFrames(seen, None, frames.gaps)):
            low = middle + 1
        else:
            high = middle
    return low, min(forward, T)
