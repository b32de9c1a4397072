"""How states follow each other in discrete time: start and transition probabilities."""

from functools import cached_property

import numpy as np

from ..emissions.priors import log_dirichlet, shares
from ..inference.chain import Chain
from ..sequences.values import as_numbers


class Transitions:
    """The dynamics of a hidden Markov model; its parameters are (startprob, transmat).

    A model of another kind of dynamics has the same methods: what its parameters make possible,
    the chain they make, and how they are learned, from labels and in EM.

    Parameters
    ----------
    model : estimator
        Whose parameters `smoothing`, `startprob_fixed`, `transmat_fixed` and, if it has them,
        `startprob_prior` and `transmat_prior` count.
    """

    names: tuple[str, ...] = ("startprob_", "transmat_")
    in_parts = Chain.takes_parts  # whether EM may go through the sequences some at a time

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

    @cached_property
    def start_added(self):
        """Pseudocounts of starts (S,)."""
        return self._pseudocounts("startprob_prior", (self.n_states,), self.start_fixed)

    @cached_property
    def added(self):
        """Pseudocounts of transitions (S, S)."""
        return self._pseudocounts("transmat_prior", (self.n_states, self.n_states), self.fixed)

    def _pseudocounts(self, name, shape, fixed):
        prior = getattr(self.model, name, None)
        return pseudocounts(self.model.smoothing, prior, shape, name, fixed)

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

    def n_parameters(self, starts, transitions):
        """Free ones, given which starts (S,) and which transitions (S, S) are of any use."""
        return n_free_of(starts, self.start_fixed) + n_free_of(transitions, self.fixed)

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
            normalise(starts + self.start_added, self.start_fixed),
            normalise(transitions + self.added, self.fixed),
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
        if not holds(self.start_fixed, startprob):
            startprob = normalise(startprob, self.start_fixed)
        if not holds(self.fixed, transmat):
            transmat = normalise(transmat, self.fixed)
        return startprob.copy(), transmat.copy()

    def maximise(self, parameters, starts, counts):
        """The M-step: parameters from expected counts and pseudocounts.

        Zeros stay zero, and rows without any count keep what they have.
        """
        startprob, transmat = parameters
        return (
            normalise(starts + self.start_added * (startprob > 0), self.start_fixed, startprob),
            normalise(counts.transitions + self.added * (transmat > 0), self.fixed, transmat),
        )

    def log_prior(self, startprob, transmat):
        """Log density, up to a constant, of the prior that the pseudocounts stand for."""
        return log_dirichlet(self.start_added, startprob) + log_dirichlet(self.added, transmat)


def pseudocounts(smoothing, prior, shape, name, fixed=None):
    """What is added to counts: `smoothing`, and of a Dirichlet prior its parameters less 1.

    Given entries have none.
    """
    added = np.full(shape, float(smoothing))
    if prior is not None:
        prior = as_numbers(prior, name)
        if prior.shape not in ((), shape, shape[1:]):
            raise ValueError(f"{name} has shape {prior.shape}; expected a number or {shape}.")
        if not np.isfinite(prior).all() or (prior <= 0).any():
            raise ValueError(f"{name} must be positive numbers, got {prior.tolist()}.")
        added = added + prior - 1.0
    if fixed is not None:
        added = np.where(np.isnan(fixed), added, 0.0)
    if (added < 0).any():
        raise ValueError(
            f"{name} holds {np.min(prior):g}; below {1.0 - smoothing:g} (1 less the smoothing) the "
            "posterior has no maximum."
        )
    return added


def n_free_of(usable, fixed):
    """Free probabilities in rows that sum to 1; ``fixed`` has numbers where they are given."""
    usable = np.atleast_2d(usable)
    if fixed is None:
        return int(np.maximum(usable.sum(axis=1) - 1, 0).sum())
    fixed = np.atleast_2d(fixed)
    left = 1.0 - np.where(np.isnan(fixed), 0.0, fixed).sum(axis=1)
    n_free = (usable & np.isnan(fixed)).sum(axis=1)
    return int(np.maximum(n_free - 1, 0)[left > 1e-12].sum())


def read_fixed(fixed, shape, name):
    """A fixed-parameter array: NaN is to be learned, a number is given; None: all learned."""
    if fixed is None:
        return None
    fixed = as_numbers(fixed, name)
    if fixed.shape != shape:
        raise ValueError(f"{name} has shape {fixed.shape}; expected {shape}.")
    given = ~np.isnan(fixed)
    if (fixed[given] < 0).any() or np.isinf(fixed[given]).any():
        raise ValueError(f"{name} holds a number that is not a probability.")
    rows, all_given = np.atleast_2d(fixed), np.atleast_2d(given).all(axis=1)
    total = np.where(np.isnan(rows), 0.0, rows).sum(axis=1)
    if (total > 1 + 1e-8).any() or (all_given & (np.abs(total - 1) > 1e-8)).any():
        raise ValueError(
            f"{name}: what is given in a row must sum to 1, or to less where something is left to "
            f"learn; the sums are {total.tolist()}."
        )
    return fixed


def holds(fixed, values):
    """Whether values have the given entries already: to scale them again would change bits."""
    return fixed is None or bool((np.isnan(fixed) | (fixed == values)).all())


def known_probabilities(values, ndim, name):
    """Probabilities that the user knows, as an array; what they cannot be is an error."""
    values = as_numbers(values, name)
    if values.ndim != ndim or not np.isfinite(values).all() or (values < 0).any():
        raise ValueError(f"{name} must be a {ndim}-d array of probabilities.")
    if (np.abs(values.sum(axis=-1) - 1) > 1e-6).any():
        raise ValueError(f"{name} must sum to 1; the sums are {values.sum(axis=-1).tolist()}.")
    return values


def normalise(counts, fixed=None, old=None):
    """Rows of counts as probabilities, given entries kept.

    Rows without any count keep `old`, or are spread evenly where there is none.
    """
    counts = np.ascontiguousarray(counts, dtype=np.float64)
    found = shares(counts, 0.0) if fixed is None else None
    if found is not None:
        return found
    free = np.ones(counts.shape, dtype=bool) if fixed is None else np.isnan(fixed)
    given = np.where(free, 0.0, 0.0 if fixed is None else fixed)
    left = np.clip(1.0 - given.sum(axis=-1, keepdims=True), 0.0, 1.0)
    learned = np.where(free, counts, 0.0)
    total = learned.sum(axis=-1, keepdims=True)
    n_free = np.maximum(free.sum(axis=-1, keepdims=True), 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        share = learned / total
    fallback = np.where(free, left / n_free, given) if old is None else old
    return np.where(total > 0, np.where(free, share * left, given), fallback)


def update(old, counts, prior, fixed):
    """Posterior mode of distributions; a row without counts keeps its old values."""
    if type(prior) is float and prior == 1.0 and fixed is None:
        return normalise(counts, None, old)  # what is impossible has no counts
    total = np.maximum(np.asarray(prior) - 1.0 + counts, 0.0)
    return normalise(np.where(old == 0, 0.0, total), fixed, old)


def known_pairs(codes, offsets):
    """Steps whose label is known, and that of the step before in their sequence too."""
    inside = np.ones(len(codes), dtype=bool)
    inside[offsets[:-1]] = False
    to = np.flatnonzero(inside)
    return to[(codes[to] >= 0) & (codes[to - 1] >= 0)]


def count_labels(codes, offsets, n_states, step_weights):
    """Weighted counts of first labels (S,) and of transitions (S, S) between known labels.

    A transition counts with the weight of the step that it leads to.
    """
    first = offsets[:-1][codes[offsets[:-1]] >= 0]
    starts = np.bincount(codes[first], weights=step_weights[first], minlength=n_states)
    to = known_pairs(codes, offsets)
    pairs = codes[to - 1] * n_states + codes[to]
    transitions = np.bincount(pairs, weights=step_weights[to], minlength=n_states**2)
    return starts, transitions.reshape(n_states, n_states)
