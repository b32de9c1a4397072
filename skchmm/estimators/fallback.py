"""What is answered for sequences that have no feasible path: `on_infeasible`."""

import numpy as np

from ..inference.chain import labelled
from .infeasible import check_possible, report_infeasible
from .relaxation import Relaxation


def replace_paths(model, sequences, frames, bad, path, log_prob, labels):
    """Fill in paths of the sequences `bad` that are not feasible, or raise."""
    if _relaxes(model):
        _relax(Relaxation(model), sequences, frames, bad, decode_again, path, log_prob, labels)
        return
    report_infeasible(model, sequences, bad, frames)
    free, free_prob = model._chain(constrained=False).decode(
        frames, sequences.offsets, labels=labels, n_jobs=model.n_jobs
    )
    check_possible(sequences, free_prob, frames)
    _replace(path, free, sequences.offsets, bad)
    log_prob[bad] = free_prob[bad]


def replace_posteriors(model, sequences, frames, bad, log_z, posteriors):
    """Fill in marginals of the sequences `bad`, or raise."""
    offsets = sequences.offsets
    if _relaxes(model):

        def fill(s, rows, _):
            posteriors[offsets[s] : offsets[s + 1]] = rows

        relaxation = Relaxation(model)
        relaxation.answer(sequences, frames, bad, _smooth, fill)
        if model.algorithm not in ("posterior", "mea"):  # whose path says which rules are broken
            unused = np.empty(sequences.n_steps, dtype=np.int64)
            _relax(relaxation, sequences, frames, bad, decode_again, unused, log_z)
        return
    report_infeasible(model, sequences, bad, frames)
    free = model._chain(constrained=False).smooth(frames, offsets, n_jobs=model.n_jobs)
    check_possible(sequences, free.log_z, frames)
    _replace(posteriors, free.posteriors, offsets, bad)


def replace_by_scores(model, sequences, frames, bad, path, score):
    """Fill in the paths with the largest scores, for sequences that were reported before."""
    if _relaxes(model):
        _relax(Relaxation(model), sequences, frames, bad, _best_feasible, path, score)
        return
    free = model._chain(constrained=False)
    found = free.best_feasible(frames, sequences.offsets, n_jobs=model.n_jobs)[0]
    _replace(path, found, sequences.offsets, bad)


def other_chains(model, sequences, frames, bad):
    """Sequence -> the chain that answers for it, for the sequences `bad`; or raise."""
    if _relaxes(model):
        relaxation = Relaxation(model)
        broken = relaxation.answer_by_paths(sequences, frames, bad, decode_again, lambda *_: None)
        return {s: relaxation.chain(broken[s]) for s in bad}
    report_infeasible(model, sequences, bad, frames)
    return dict.fromkeys(bad, model._chain(constrained=False))


def _relaxes(model):
    return model.on_infeasible == "relax" and model._has_rules


def decode_again(chain, frames, offsets):
    """Scores and state indices of the best paths."""
    path, log_prob = chain.decode(frames, offsets)
    return log_prob, path


def _best_feasible(chain, frames, offsets):
    path, score = chain.best_feasible(frames, offsets)
    return score, path


def _smooth(chain, frames, offsets):
    return chain.smooth(frames, offsets)[:2]


def _relax(relaxation, sequences, frames, bad, solve, path, log_prob, labels=None):
    """Fill in paths that break as few rules as possible, and say so."""

    def fill(s, found, score):
        begin, end = sequences.ranges[s]
        path[begin:end], log_prob[s] = labelled(found, labels), score

    relaxation.answer_by_paths(sequences, frames, bad, solve, fill)


def _replace(values, others, offsets, chosen):
    for s in chosen:
        values[offsets[s] : offsets[s + 1]] = others[offsets[s] : offsets[s + 1]]
