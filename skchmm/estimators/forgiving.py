"""Learning from sequences that have no feasible path, as `on_infeasible` says."""

import numpy as np

from ..exceptions import InfeasibleSequenceWarning, warn
from .fallback import decode_again
from .infeasible import describe_infeasible
from .relaxation import Relaxation, relax_paths, taken


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
        self.model, self.chain, self.takes_parts = model, chain, chain.takes_parts
        self.relaxation = Relaxation(model, parameters)
        n_rules = len(self.relaxation.rules)
        self.steps = range(1, n_rules + 1) if model.on_infeasible == "relax" else [n_rules]

    def smooth(self, frames, offsets, *, seq_weights=None, counts=False, n_jobs=None):
        """As the chain does, but every possible sequence has an answer."""
        options = {"seq_weights": seq_weights, "counts": counts, "n_jobs": n_jobs}
        infeasible = np.isneginf(self.chain.log_likelihood(frames, offsets, n_jobs=n_jobs))
        if not infeasible.any():
            return self.chain.smooth(frames, offsets, **options)
        n_sequences, S = len(offsets) - 1, self.chain.graph.n_states
        log_z = np.full(n_sequences, -np.inf)
        posteriors, totals = np.full((frames.n_steps, S), np.nan), []
        left, chains = np.arange(n_sequences), [self.chain, *map(self.relaxation.chain, self.steps)]
        for chain in chains:
            if len(left) == 0:
                break
            rows, cut = _rows_of(offsets, left)
            part = taken(frames.whole(), rows)
            feasible = chain.log_likelihood(part, cut, n_jobs=n_jobs) > -np.inf
            chosen, left = left[feasible], left[~feasible]
            if len(chosen) == 0:
                continue
            rows, cut = _rows_of(offsets, chosen)
            weights = None if seq_weights is None else np.ascontiguousarray(seq_weights[chosen])
            options["seq_weights"] = weights
            found = chain.smooth(taken(frames.whole(), rows), cut, **options)
            log_z[chosen], posteriors[rows] = found.log_z, found.posteriors
            totals.append(found.counts)
        if not counts or not totals:
            return found._replace(log_z=log_z, posteriors=posteriors)
        total = type(totals[0])(*map(sum, zip(*totals)))
        return found._replace(log_z=log_z, posteriors=posteriors, counts=total)


def _rows_of(offsets, chosen):
    """The steps of some sequences, and their offsets."""
    rows = np.concatenate([np.arange(offsets[s], offsets[s + 1]) for s in chosen])
    return rows, np.concatenate([[0], np.cumsum(offsets[chosen + 1] - offsets[chosen])])


def report_learned(model, data):
    """Warn of sequences without a feasible path that a model has learned from."""
    sequences, emission = data.sequences, model.emission_
    frames = emission.log_likelihood(emission.encode(sequences.X, sequences.offsets, reset=False))
    if sequences.times is not None:
        frames = frames.with_gaps(sequences.times.gaps)
    frames = frames.clamp(data.known)
    log_z = model._chain().log_likelihood(frames, sequences.offsets, n_jobs=model.n_jobs)
    bad = np.flatnonzero(np.isneginf(log_z) & (data.weights > 0))
    if len(bad) == 0:
        return
    if model.on_infeasible == "relax":
        relax_paths(model, sequences, frames, bad, decode_again, lambda *_: None)
        return
    message = describe_infeasible(model, sequences, bad[0], frames, len(bad))
    warn(message + " EM learned from it without the constraints.", InfeasibleSequenceWarning)
