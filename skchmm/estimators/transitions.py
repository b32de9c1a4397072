"""How states follow each other in discrete time: start and transition probabilities."""

from functools import cached_property

import numpy as np

from ..inference.chain import Chain
from .estimation import count_labels, known_probabilities, normalise, read_fixed


class Transitions:
    """The dynamics of a hidden Markov model; its parameters are (startprob, transmat).

    A model of another kind of dynamics has the same methods: what its parameters make possible,
    the chain they make, and how they are learned, from labels and in EM.

    Parameters
    ----------
    model : estimator
        Whose parameters `smoothing`, `startprob_fixed` and `transmat_fixed` count.
    """

    names = ("startprob_", "transmat_")
    in_parts = True  # whether EM may go through the sequences some at a time

    def __init__(self, model):
        self.model = model

    @property
    def n_states(self):
        return len(self.model.classes_)

    @cached_property
    def start_fixed(self):
        return read_fixed(self.model.startprob_fixed, (self.n_states,), "startprob_fixed")

    @cached_property
    def fixed(self):
        shape = self.n_states, self.n_states
        return read_fixed(self.model.transmat_fixed, shape, "transmat_fixed")

    # -------------------------------------------------------------- the chain
    def supports(self, startprob, transmat):
        """Which starts (S,) and which transitions (S, S) are possible."""
        return startprob > 0, transmat > 0

    def chain(self, graph, startprob, transmat):
        return Chain(graph, startprob, transmat)

    def zeros(self, startprob, transmat):
        """Starts and transitions that are impossible."""
        starts = np.flatnonzero(startprob == 0).tolist()
        return starts, [tuple(pair) for pair in np.argwhere(transmat == 0).tolist()]

    def with_zeros(self, zero_starts, zero_transitions):
        """Parameters with these zeros and no others; they need not be probabilities."""
        startprob, transmat = np.ones(self.n_states), np.ones((self.n_states, self.n_states))
        startprob[list(zero_starts)] = 0.0
        for i, j in zero_transitions:
            transmat[i, j] = 0.0
        return startprob, transmat

    @staticmethod
    def check(startprob, transmat):
        """Known parameters as arrays; what they cannot be is an error."""
        startprob = known_probabilities(startprob, 1, "startprob")
        transmat = known_probabilities(transmat, 2, "transmat")
        S = len(startprob)
        if transmat.shape != (S, S):
            raise ValueError(
                f"transmat has shape {transmat.shape}; startprob has {S} states, so it must be "
                f"{(S, S)}."
            )
        return startprob, transmat

    # --------------------------------------------------------------- learning
    def count(self, data):
        """Counts of what labels show; they add up over sequences."""
        return count_labels(data.codes, data.offsets, self.n_states, data.step_weights)

    def estimate(self, counts):
        """Parameters from the counts of labels, with pseudocounts."""
        starts, transitions = counts
        return (
            normalise(starts + self.model.smoothing, self.start_fixed),
            normalise(transitions + self.model.smoothing, self.fixed),
        )

    def start_weights(self, data, random_state):
        """Where EM starts if there are no labels; at random if there is a random_state."""
        S = self.n_states
        if random_state is None:
            return np.ones(S), np.ones((S, S))
        return random_state.dirichlet(np.ones(S)), random_state.dirichlet(np.ones(S), size=S)

    def start(self, weights, data, random_state):
        """Parameters to start EM from, given some of the labels or none."""
        starts, transitions = weights
        if data.has_labels:
            counted = count_labels(data.codes, data.offsets, self.n_states, data.step_weights)
            starts, transitions = starts + counted[0], transitions + counted[1]
        return normalise(starts, self.start_fixed), normalise(transitions, self.fixed)

    def impose(self, startprob, transmat):
        """Parameters with the given entries in place, the others scaled to what is left."""
        if self.start_fixed is not None:
            startprob = normalise(startprob, self.start_fixed)
        if self.fixed is not None:
            transmat = normalise(transmat, self.fixed)
        return startprob.copy(), transmat.copy()

    def maximise(self, parameters, starts, counts):
        """The M-step: parameters from expected counts; rows without any keep what they have."""
        startprob, transmat = parameters
        return (
            normalise(starts, self.start_fixed, startprob),
            normalise(counts.transitions, self.fixed, transmat),
        )
