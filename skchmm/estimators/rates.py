"""How states follow each other in continuous time: start probabilities and rates of jumps."""

from functools import cached_property

import numpy as np

from ..continuous.entries import is_marked
from ..continuous.observed import ObservedChain
from ..continuous.path import PathChain
from ..continuous.semantics import reachable
from ..emissions.priors import log_dirichlet
from ..exceptions import BiasedRatesWarning, warn
from ..sequences.labels import members
from ..sequences.values import as_numbers
from .transitions import (
    count_labels,
    holds,
    known_pairs,
    known_probabilities,
    n_free_of,
    normalise,
    pseudocounts,
    read_fixed,
)


class Rates:
    """The dynamics of a model in continuous time; its parameters are (startprob, generator).

    The methods are those of :class:`~skchmm.estimators.transitions.Transitions`.

    Parameters
    ----------
    model : estimator
        Whose parameters `semantics`, `smoothing`, `startprob_prior`, `generator_prior`,
        `startprob_fixed` and `generator_fixed` count.
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
    def exact(self):
        """Which states (S,) are entered when they are observed; None if no state is."""
        labels = self.model.exact_entry
        if labels is None:
            return None
        exact = members(labels, self.model.classes_.tolist(), "exact_entry")
        return exact if exact.any() else None

    @cached_property
    def fixed(self):
        fixed = read_fixed_rates(self.model.generator_fixed, self.n_states)
        if self.mask is not None:
            fixed = np.where(self.mask, 0.0, np.nan if fixed is None else fixed)
        if self.exact is not None:
            fixed = np.full((self.n_states,) * 2, np.nan) if fixed is None else fixed.copy()
            self._check_exact(np.nan_to_num(fixed))
            fixed[self.exact] = 0.0
        return fixed

    def _check_exact(self, generator):
        """Refuse rates out of states whose entry is all that is known of them."""
        left = np.flatnonzero(self.exact & (generator > 0).any(axis=1))
        if len(left):
            label = self.model.classes_.tolist()[left[0]]
            raise ValueError(
                f"exact_entry: the state {label!r} can be left. The time of entry can be exact "
                "only for states that are never left, such as death: its rates must be 0."
            )

    @cached_property
    def free(self):
        """Jumps (S, S) whose rates are learned."""
        off = ~np.eye(self.n_states, dtype=bool)
        return off if self.fixed is None else off & np.isnan(self.fixed)

    @cached_property
    def start_added(self):
        """Pseudocounts of starts (S,)."""
        model, shape = self.model, (self.n_states,)
        return pseudocounts(
            model.smoothing, model.startprob_prior, shape, "startprob_prior", self.start_fixed
        )

    @cached_property
    def prior(self):
        """Pseudocounts of where jumps go (S, S), and jumps (S, S) in times (S,) seen beforehand."""
        return read_rate_prior(self.model.generator_prior, self.model.smoothing, self.free)

    # -------------------------------------------------------------- the chain
    def supports(self, startprob, generator):
        """Which starts (S,) and which transitions (S, S) between steps of the graph there are."""
        observed = self.model.semantics == "observed"
        return startprob > 0, reachable(generator) if observed else generator > 0

    def chain(self, graph, startprob, generator):
        kind = ObservedChain if self.model.semantics == "observed" else PathChain
        if self.exact is not None:
            self._check_exact(generator)
        return kind(graph, startprob, generator, self.exact)

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
        if self.exact is not None:
            rates[self.exact] = 0.0
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
        added, more_jumps, more_stays = self.prior
        jumps = np.where(self.free, jumps + more_jumps, 0.0)
        leaving = leaving_rates(jumps.sum(axis=1), stays + more_stays, self.model.smoothing)
        rates = leaving[:, None] * _shares(jumps + added)
        return normalise(starts + self.start_added, self.start_fixed), generator_of(
            rates, self.fixed
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
        if not holds(self.start_fixed, startprob):
            startprob = normalise(startprob, self.start_fixed)
        if not holds(self.fixed, generator):
            generator = generator_of(generator, self.fixed)
        return startprob.copy(), generator.copy()

    def maximise(self, parameters, starts, counts):
        """The M-step: parameters from expected counts and pseudocounts.

        Zeros stay zero, and what was never seen keeps what it has.
        """
        startprob, generator = parameters
        added, more_jumps, more_stays = self.prior
        there = self.free & (generator > 0)
        jumps = np.where(there, counts.jumps + more_jumps, 0.0)
        stays = (counts.stays + more_stays)[:, None]
        n_jumps = jumps.sum(axis=1, keepdims=True)
        # with pseudocounts, a rate of leaving of 0 would leave nothing to say of where to
        seen = (stays > 0) & ((n_jumps > 0) | ~(added > 0).any(axis=1, keepdims=True))
        leaving = np.divide(n_jumps, stays, out=np.zeros_like(stays), where=seen)
        rates = np.where(seen, leaving * _shares(jumps + np.where(there, added, 0.0)), generator)
        startprob = normalise(
            starts + self.start_added * (startprob > 0), self.start_fixed, startprob
        )
        return startprob, generator_of(rates, self.fixed)

    def log_prior(self, startprob, generator):
        """Log density, up to a constant, of the prior of the starts and of the rates."""
        added, more_jumps, more_stays = self.prior
        rates = np.where(self.free & (generator > 0), generator, 0.0)
        return (
            log_dirichlet(self.start_added, startprob)
            + log_dirichlet(added, _shares(rates))
            + log_dirichlet(more_jumps, rates)
            - float(more_stays @ rates.sum(axis=1))
        )


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
    fixed = as_numbers(fixed, "generator_fixed")
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


def _shares(jumps):
    """Where jumps go: rows that sum to 1, or to 0 where there are none."""
    total = jumps.sum(axis=1, keepdims=True)
    return np.divide(jumps, total, out=np.zeros_like(jumps), where=total > 0)


def warn_if_biased(data, exact=None):
    """Warn where labels change so often that there must be more jumps than they show.

    Where the share p of regular gaps shows a change, a state is left at a rate of at least
    -log(1 - p) per gap, and p is counted; of jumps there and back nothing is seen at all. That is
    said where it makes more than a tenth, and more than chance. Labels that change more often than
    if they were drawn independently are not visits but events: each tells of a jump.
    """
    to = known_pairs(data.codes, data.offsets)
    lasting = (data.sequences.times.gaps[to] > 0) & (data.step_weights[to] > 0)
    if exact is not None:
        lasting &= ~exact[data.codes[to]]
    to = to[lasting]
    changes = int((data.codes[to] != data.codes[to - 1]).sum())
    if changes == 0:
        return
    share, labels = changes / len(to), np.bincount(data.codes[to]) / len(to)
    if share >= 1.0 - (labels**2).sum():
        return
    low = 1.0 + share / np.log1p(-share)
    if low <= max(0.1, changes**-0.5):
        return
    warn(
        f"The label changes in {share:.0%} of the gaps between labels. A label is taken to last "
        "until the next one, so jumps in between are not seen, and the rates come out too low, by "
        f"{low:.0%} or more. If the labels are the states at visits (panel data), set panel=True: "
        "EM then learns the rates from the same labels. If each lasts until the next, all is well.",
        BiasedRatesWarning,
    )


def warn_if_no_entry(model, data):
    """Warn where a state is said to have exact times of entry, and no row shows one."""
    if model._dynamics().exact is None:
        return
    sequences, emission = data.sequences, model.emission_
    frames = emission.log_likelihood(emission.encode(sequences.X, sequences.offsets, reset=False))
    frames = frames.clamp(data.known).with_gaps(sequences.times.gaps)
    if not is_marked(model._chain().with_entries(frames, sequences.offsets).gaps).any():
        warn(
            f"exact_entry={model.exact_entry!r}, but no sequence shows an entry: every later row "
            "may be in another state as well. Say in y which rows are in these states, or give the "
            "emission zeros there (Categorical.from_parameters).",
            UserWarning,
        )


def leaving_rates(n_jumps, stays, smoothing):
    """How often each state is left, from how often it was, and times spent there.

    A state that was left keeps its own rate, however many other states there are: pseudocounts say
    where jumps go and not how often they happen. What is missing to one jump is counted
    `smoothing` times, each in the mean time between jumps of all the data, so a state that was
    never left has a small rate, one that was never seen the average one, and the unit of time does
    not matter.
    """
    total = n_jumps.sum()
    between = stays.sum() / total if total > 0 else stays.sum()
    between = between if between > 0 else 1.0
    missing = smoothing * np.maximum(1.0 - n_jumps, 0.0)
    jumps, time = n_jumps + missing, stays + missing * between
    at_once = np.where(jumps > 0, 1.0 / between, 0.0)  # no time was spent there
    return np.divide(jumps, time, out=at_once, where=time > 0)


def read_rate_prior(prior, smoothing, free):
    """`generator_prior` as pseudocounts of where jumps go, and as jumps and times seen before."""
    shape, name = free.shape, "generator_prior"
    fixed = np.where(free, np.nan, 0.0)
    if not (isinstance(prior, tuple) and len(prior) == 2 and np.ndim(prior[0]) == 2):
        added = pseudocounts(smoothing, prior, shape, name, fixed)
        return added, np.zeros(shape), np.zeros(len(free))
    jumps, stays = (as_numbers(part, name) for part in prior)
    if jumps.shape != shape or stays.shape != shape[:1]:
        raise ValueError(
            f"{name} holds jumps of shape {jumps.shape} and times of shape {stays.shape}; expected "
            f"{shape} and {shape[:1]}."
        )
    jumps = np.where(free, jumps, 0.0)
    if not (np.isfinite(jumps).all() and np.isfinite(stays).all()):
        raise ValueError(f"{name} must hold finite numbers.")
    if (jumps < 0).any() or (stays < 0).any():
        raise ValueError(f"{name} holds a negative number of jumps or a negative time.")
    return pseudocounts(smoothing, None, shape, name, fixed), jumps, stays


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
