"""Candidate constraints of each family, with how often label paths satisfy them.

Each function takes `Runs` and the miner with its thresholds, and returns all candidates; those
short of evidence already carry the reason.
"""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from .._numbers import reaches
from ..constraints import (
    EndsIn,
    ExactVisits,
    ForbiddenEdges,
    MaxDuration,
    MinDuration,
    NoReentry,
    Precedence,
    StageMonotone,
    StartsIn,
)


@dataclass(slots=True)
class Candidate:
    """A constraint that may hold.

    It held in `satisfied` of the `evidence` instances it applies to. `reason` says why it is not
    kept; it is empty for one that is. `pair` are the label numbers of a relation.
    """

    family: str
    kind: type
    arguments: tuple
    satisfied: int
    evidence: int
    reason: str = ""
    lower_bound: float = np.nan
    pair: tuple = ()

    @property
    def support(self):
        return self.satisfied / self.evidence if self.evidence else np.nan

    @property
    def constraint(self):
        return self.kind(*self.arguments)


def precedence(runs, miner):
    """a before b: of the sequences with b, those in which a comes first."""
    first = runs.first()
    n_runs, n_sequences = len(runs.label), runs.n_sequences
    candidates = []
    for b, after in enumerate(runs.states):
        with_b = first[first[:, b] < n_runs]
        evidence = len(with_b)
        earlier = np.count_nonzero(with_b < with_b[:, b : b + 1], axis=0).tolist()
        reason = _too_rare(after, evidence, n_sequences, miner.min_presence)
        candidates += [
            Candidate("precedence", Precedence, (before, after), n, evidence, reason, pair=(a, b))
            for a, (before, n) in enumerate(zip(runs.states, earlier))
            if a != b
        ]
    return sorted(candidates, key=lambda candidate: candidate.pair)


def _too_rare(label, evidence, n_sequences, min_presence):
    if evidence == 0:
        return f"{label!r} never occurs"
    if not reaches(evidence, n_sequences, min_presence):
        return (
            f"{label!r} occurs in {evidence} of {n_sequences} sequences, "
            f"min_presence={min_presence}"
        )
    return ""


def visits(runs, miner):
    """Exactly k entries, k the most frequent number of them (the lowest of several)."""
    candidates = []
    for a, counts in zip(runs.states, runs.entries().T):
        frequency = np.bincount(counts)
        k = int(frequency.argmax())
        reason = ""
        if k == 0:
            reason = f"most sequences have no {a!r}" if counts.any() else f"{a!r} never occurs"
        elif k > miner.max_visits:
            reason = f"{k} visits, max_visits={miner.max_visits}"
        candidates.append(
            Candidate("visits", ExactVisits, (a, k), int(frequency[k]), len(counts), reason)
        )
    return candidates


def forbidden(runs, miner):
    """b never next to a: of the segments of a, those that b does not follow."""
    counts = runs.successions()
    if miner.count_last:
        chances = np.bincount(runs.label, minlength=runs.n_states)
    else:
        chances = counts.sum(axis=1)
    counts, chances = counts.tolist(), chances.tolist()
    candidates = []
    for a, source in enumerate(runs.states):
        n = chances[a]
        reason = _too_few_segments(source, n, miner.min_edge_count)
        candidates += [
            Candidate("forbidden", ForbiddenEdges, ([(source, target)],), n - seen, n, reason)
            for b, (target, seen) in enumerate(zip(runs.states, counts[a]))
            if a != b
        ]
    return candidates


def _too_few_segments(label, n, min_edge_count):
    if n == 0 or n <= min_edge_count:
        return f"{n} segments of {label!r}, not more than min_edge_count={min_edge_count}"
    return ""


def no_reentry(runs, miner):
    """One entry at most: of the sequences with a, those with a single segment of it."""
    candidates = []
    for a, counts in zip(runs.states, runs.entries().T):
        evidence, single = int(np.count_nonzero(counts)), int(np.count_nonzero(counts == 1))
        reason = _too_few_sequences(evidence, miner.min_edge_count, f" with {a!r}")
        candidates.append(Candidate("no_reentry", NoReentry, (a,), single, evidence, reason))
    return candidates


def _too_few_sequences(n, min_edge_count, which=""):
    if n == 0 or n < min_edge_count:
        return f"{n} sequences{which}, fewer than min_edge_count={min_edge_count}"
    return ""


def min_duration(runs, miner):
    """The shortest segment that was not cut by the end of its sequence."""
    whole = ~runs.is_last
    return [
        _duration(runs, miner, a, "min_duration", MinDuration, (runs.label == a) & whole)
        for a in range(runs.n_states)
    ]


def max_duration(runs, miner):
    """The longest segment."""
    return [
        _duration(runs, miner, a, "max_duration", MaxDuration, runs.label == a)
        for a in range(runs.n_states)
    ]


def _duration(runs, miner, a, family, kind, which):
    lengths = runs.length[which]
    n, label = len(lengths), runs.states[a]
    reason = _too_few_segments(label, n, miner.min_edge_count)
    if family == "max_duration":
        k = int(lengths.max(initial=1))
    else:
        k = int(lengths.min()) if n else 1
        if k == 1 and not reason:
            reason = "every path satisfies it"
    return Candidate(family, kind, (label, k), n, n, reason)


def starts(runs, miner):
    """The states in which sequences start."""
    is_first = np.append(True, runs.is_last[:-1])
    return [_boundary(runs, miner, "starts", StartsIn, runs.label[is_first])]


def ends(runs, miner):
    """The states in which sequences end."""
    return [_boundary(runs, miner, "ends", EndsIn, runs.label[runs.is_last])]


def _boundary(runs, miner, family, kind, label):
    seen = [runs.states[a] for a in np.unique(label)]
    n = len(label)
    reason = _too_few_sequences(n, miner.min_edge_count)
    if len(seen) == runs.n_states and not reason:
        reason = "every path satisfies it"
    return Candidate(family, kind, (seen[0] if len(seen) == 1 else seen,), n, n, reason)


def stages(relations, runs, miner):
    """The longest chain of precedences; as well supported as its weakest link."""
    # What comes first in a chain is in every sequence that what comes later is in.
    chain = _longest_chain(relations, runs.n_states)[: miner.max_stages]
    if len(chain) < 2:
        return []
    by_pair = {relation.pair: relation for relation in relations}
    links = [by_pair[pair] for pair in pairwise(chain)]
    weakest = min(links, key=lambda link: (link.support, link.evidence))
    arguments = ([runs.states[a] for a in chain],)
    return [Candidate("stages", StageMonotone, arguments, weakest.satisfied, weakest.evidence)]


def _longest_chain(relations, n_states):
    """The longest path along relations without a cycle; of several, that with most evidence."""
    successors = [[] for _ in range(n_states)]
    for relation in relations:
        successors[relation.pair[0]].append(relation)
    best = {}

    def follow(a):
        if a not in best:
            best[a] = (1, 0, (a,))
            for relation in successors[a]:
                length, evidence, chain = follow(relation.pair[1])
                longer = (length + 1, evidence + relation.evidence, (a, *chain))
                if longer[:2] > best[a][:2]:
                    best[a] = longer
        return best[a]

    return max((follow(a) for a in range(n_states)), key=lambda found: found[:2])[2]
