"""Learning from sequences that have no feasible path, as `on_infeasible` says."""

import numpy as np

from ..exceptions import InfeasibleSequenceWarning, warn
from ..inference.chain import Smoothed
from .fallback import decode_again
from .infeasible import describe_infeasible
from .relaxation import Relaxation, rows_of, taken


class ForgivingChain:
    """The E-step of a chain, where infeasible sequences are smoothed under fewer rules, or none.

    Parameters
    ----------
    model : LikelihoodModel
    chain : chain of its rules
    parameters : tuple
        Those of the chain.
    """

    def __init__(self, model, chain, parameters):
        self.model, self.chain, self.parameters = model, chain, parameters
        self.takes_parts = chain.takes_parts

    def _chains(self):
        """The chains to try, those of fewer rules only once they are needed."""
        yield self.chain
        relaxation = Relaxation(self.model, self.parameters)
        n_rules = len(relaxation.rules)
        for b in range(1 if self.model.on_infeasible == "relax" else n_rules, n_rules + 1):
            yield relaxation.chain(b)

    def with_entries(self, frames, offsets):
        return self.chain.with_entries(frames, offsets)

    def smooth(self, frames, offsets, *, seq_weights=None, counts=False, n_jobs=None):
        """As the chain does, but every possible sequence has an answer."""
        smoothed = None
        left, frames = np.arange(len(offsets) - 1), frames.whole()
        for chain in self._chains():
            rows, cut = rows_of(offsets, left)
            feasible = chain.log_likelihood(taken(frames, rows), cut, n_jobs=n_jobs) > -np.inf
            if feasible.all() and smoothed is None:
                return chain.smooth(
                    frames, offsets, seq_weights=seq_weights, counts=counts, n_jobs=n_jobs
                )
            chosen, left = left[feasible], left[~feasible]
            if smoothed is None:
                smoothed = _nothing(self.chain, frames, offsets)
            if len(chosen):
                rows, cut = rows_of(offsets, chosen)
                weights = None if seq_weights is None else np.ascontiguousarray(seq_weights[chosen])
                found = chain.smooth(
                    taken(frames, rows), cut, seq_weights=weights, counts=counts, n_jobs=n_jobs
                )
                smoothed.log_z[chosen], smoothed.posteriors[rows] = found.log_z, found.posteriors
                total = found.counts
                if counts and smoothed.counts is not None:
                    total = type(total)(*map(sum, zip(smoothed.counts, total)))
                smoothed = smoothed._replace(counts=total)
            if len(left) == 0:
                break
        return smoothed


def _nothing(chain, frames, offsets):
    """What there is before any sequence is feasible."""
    posteriors = np.full((frames.n_steps, chain.graph.n_states), np.nan)
    return Smoothed(np.full(len(offsets) - 1, -np.inf), posteriors, None)


def report_learned(model, data):
    """Warn of sequences without a feasible path that a model has learned from."""
    sequences, emission = data.sequences, model.emission_
    frames = emission.log_likelihood(emission.encode(sequences.X, sequences.offsets, reset=False))
    frames = frames.clamp(data.known)
    if sequences.times is not None:
        frames = frames.with_gaps(sequences.times.gaps)
        frames = model._chain().with_entries(frames, sequences.offsets)
    log_z = model._chain().log_likelihood(frames, sequences.offsets, n_jobs=model.n_jobs)
    bad = np.flatnonzero(np.isneginf(log_z) & (data.weights > 0))
    if len(bad) == 0:
        return
    if model.on_infeasible == "relax":
        relaxation = Relaxation(model)
        relaxation.answer_by_paths(sequences, frames, bad, decode_again, lambda *_: None)
        return
    message = describe_infeasible(model, sequences, bad[0], frames, len(bad))
    warn(message + " EM learned from it without the constraints.", InfeasibleSequenceWarning)
