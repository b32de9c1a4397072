"""How states follow each other in continuous time: start probabilities and rates of jumps."""

from functools import cached_property

import numpy as np

from ..continuous.observed import ObservedChain
from ..continuous.path import PathChain
from ..continuous.semantics import reachable
from .transitions import (
    count_labels,
    known_pairs,
    known_probabilities,
    n_free_of,
    normalise,
    read_fixed,
)


class Rates:
    """The dynamics of a model in continuous time; its parameters are (startprob, generator).

    The methods are those of :class:`~skchmm.estimators.transitions.Transitions`.

    Parameters
    ----------
    model : estimator
        Whose parameters `semantics`, `smoothing`, `startprob_fixed` and `generator_fixed` count.
    mask : bool array (S, S) or None
        Jumps that constraints forbid as zeros of the generator.
    """

    names = ("startprob_", "generator_")
    in_parts = PathChain.takes_parts

    def __init__(self, model, mask=None):
        self.model = model
        self.mask = mask

    @property
    def n_states(self):
        return len(self.model.classes_)

    @cached_property
    def start_fixed(self):
        return read_fixed(self.model.startprob_fixed, (self.n_states,), "startprob_fixed")

    @cached_property
    def fixed(self):
        fixed = read_fixed_rates(self.model.generator_fixed, self.n_states)
        if self.mask is None:
            return fixed
        return np.where(self.mask, 0.0, np.nan if fixed is None else fixed)

    # -------------------------------------------------------------- the chain
    def supports(self, startprob, generator):
        """Which starts (S,) and which transitions (S, S) between steps of the graph there are."""
        observed = self.model.semantics == "observed"
        return startprob > 0, reachable(generator) if observed else generator > 0

    def chain(self, graph, startprob, generator):
        kind = ObservedChain if self.model.semantics == "observed" else PathChain
        return kind(graph, startprob, generator)

    def zeros(self, startprob, generator):
        """Starts and jumps that are impossible."""
        jumps = (generator == 0) & ~np.eye(self.n_states, dtype=bool)
        starts = np.flatnonzero(startprob == 0).tolist()
        return starts, [tuple(pair) for pair in np.argwhere(jumps).tolist()]

    def with_zeros(self, zero_starts, zero_jumps):
        """Parameters with these zeros and no others."""
        startprob, rates = np.ones(self.n_states), np.ones((self.n_states, self.n_states))
        startprob[list(zero_starts)] = 0.0
        for i, j in zero_jumps:
            rates[i, j] = 0.0
        return startprob, generator_of(rates)

    def n_parameters(self, starts, jumps):
        """Free ones, given which starts (S,) and which jumps (S, S) are of any use."""
        free = np.ones(jumps.shape, dtype=bool) if self.fixed is None else np.isnan(self.fixed)
        if self.model.semantics != "observed":  # there the chain is free between observations
            free &= jumps
        np.fill_diagonal(free, False)
        return n_free_of(starts, self.start_fixed) + int(free.sum())

    @staticmethod
    def check(startprob, generator):
        """Known parameters as arrays; what they cannot be is an error."""
        startprob = known_probabilities(startprob, 1, "startprob")
        return startprob, known_generator(generator, len(startprob))

    # --------------------------------------------------------------- learning
    def count(self, data):
        """Counts of what labels show, and times spent; they add up over sequences."""
        return count_jumps(
            data.codes, data.offsets, data.sequences.times.gaps, self.n_states, data.step_weights
        )

    def estimate(self, counts):
        """Parameters from the counts of labels, with pseudocounts."""
        starts, jumps, stays = counts
        return (
            normalise(starts + self.model.smoothing, self.start_fixed),
            smoothed_rates(jumps, stays, self.model.smoothing, self.fixed),
        )

    def start_weights(self, data, random_state):
        """Where EM starts if there are no labels: a jump in four typical gaps, or at random."""
        S, unit = self.n_states, _typical_gap(data)
        starts, rates = np.ones(S), np.full((S, S), 1.0 / (4 * unit * max(S - 1, 1)))
        if random_state is not None:
            starts = random_state.dirichlet(starts)
            rates = rates * random_state.gamma(2.0, 0.5, size=(S, S))
        return starts, rates

    def start(self, weights, data, random_state):
        """Parameters to start EM from, given some of the labels or none."""
        starts, rates = weights
        if data.has_labels:
            first, jumps, stays = self.count(data)
            starts = starts + first
            # the start values weigh as much as one expected jump from each state
            weight = 4 * _typical_gap(data)
            rates = (rates * weight + jumps) / (weight + stays)[:, None]
        return normalise(starts, self.start_fixed), generator_of(rates, self.fixed)

    def impose(self, startprob, generator):
        """Parameters with the given entries in place."""
        return normalise(startprob, self.start_fixed), generator_of(generator, self.fixed)

    def maximise(self, parameters, starts, counts):
        """The M-step: parameters from expected counts; what was never seen keeps what it has."""
        startprob, generator = parameters
        stays = counts.stays[:, None]
        rates = np.divide(counts.jumps, stays, out=generator.copy(), where=stays > 0)
        return normalise(starts, self.start_fixed, startprob), generator_of(rates, self.fixed)


def _typical_gap(data):
    gaps = data.sequences.times.gaps
    return float(np.median(gaps[gaps > 0])) if (gaps > 0).any() else 1.0


def generator_of(rates, fixed=None):
    """A generator from rates off the diagonal, given ones kept."""
    rates = np.array(rates, dtype=np.float64)
    if fixed is not None:
        rates = np.where(np.isnan(fixed), rates, fixed)
    np.fill_diagonal(rates, 0.0)
    np.fill_diagonal(rates, -rates.sum(axis=1))
    return rates


def read_fixed_rates(fixed, n_states):
    """Given rates: NaN is to be learned, a number is given; the diagonal says nothing."""
    if fixed is None:
        return None
    fixed = np.array(fixed, dtype=np.float64)
    if fixed.shape != (n_states, n_states):
        raise ValueError(
            f"generator_fixed has shape {fixed.shape}; expected {(n_states, n_states)}."
        )
    np.fill_diagonal(fixed, np.nan)
    if (fixed < 0).any() or np.isinf(fixed).any():
        raise ValueError("generator_fixed holds a number off the diagonal that is not a rate.")
    return fixed


def count_jumps(codes, offsets, gaps, n_states, step_weights):
    """Weighted counts of first labels (S,), of jumps (S, S), and times spent (S,).

    A state lasts until the next observation; between known labels only.
    """
    starts, jumps = count_labels(codes, offsets, n_states, step_weights)
    np.fill_diagonal(jumps, 0.0)
    to = known_pairs(codes, offsets)
    spent = step_weights[to] * gaps[to]
    return starts, jumps, np.bincount(codes[to - 1], weights=spent, minlength=n_states)


def smoothed_rates(jumps, stays, smoothing, fixed=None):
    """Generator from counted jumps and times.

    Every jump is counted `smoothing` times more, each in the mean time between jumps of all
    the data: (n_ij + smoothing) / (t_i + smoothing (S - 1) t / n). So a state that was never
    seen gets the average rate of leaving, and the unit of time does not matter.
    """
    S = len(stays)
    total = jumps.sum()
    between = stays.sum() / total if total > 0 else stays.sum()
    between = between if between > 0 else 1.0
    exposure = stays + smoothing * max(S - 1, 1) * between
    with np.errstate(divide="ignore", invalid="ignore"):
        rates = (jumps + smoothing) / exposure[:, None]
    # no time was spent there: as if it were average
    share = jumps / np.maximum(jumps.sum(axis=1, keepdims=True), 1e-300)
    rates = np.where(exposure[:, None] > 0, rates, share / between)
    return generator_of(rates, fixed)


def known_generator(generator, n_states):
    """Rates that the user knows, as a generator; what they cannot be is an error."""
    generator = np.array(generator, dtype=np.float64)
    if generator.shape != (n_states, n_states):
        raise ValueError(
            f"generator has shape {generator.shape}; startprob has {n_states} states, so it must "
            f"be {(n_states, n_states)}."
        )
    rates = generator - np.diag(np.diag(generator))
    if not np.isfinite(generator).all() or (rates < 0).any():
        raise ValueError("generator must hold rates that are not negative off its diagonal.")
    exits, diagonal = rates.sum(axis=1), np.diag(generator)
    wrong = (diagonal != 0) & (np.abs(exits + diagonal) > 1e-6 * np.maximum(exits, -diagonal))
    if wrong.any():
        raise ValueError(
            "The rows of generator must sum to 0 (or its diagonal be left at 0); the sums are "
            f"{generator.sum(axis=1).tolist()}."
        )
    return generator_of(rates)
