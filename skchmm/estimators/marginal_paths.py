"""Paths that are chosen by the marginals of their labels, not by their own probability."""

import numpy as np

from ..emissions.base import Frames
from .fallback import replace_by_scores


def path_of_marginals(model, sequences, posteriors, algorithm):
    """State indices, flat, of the path that an algorithm other than "viterbi" returns.

    "map": the most probable state of each step. "posterior": the feasible path with the largest
    sum of log marginals; "mea": with the largest sum of marginals. In both a feasible path has
    positive probability, so no step of it has marginal zero.
    """
    if algorithm == "map":
        return posteriors.argmax(axis=1)
    with np.errstate(divide="ignore"):
        logs = np.log(posteriors)
    frames = Frames(
        logs if algorithm == "posterior" else np.where(posteriors > 0, posteriors, logs)
    )
    if sequences.times is not None:
        frames = frames.with_gaps(model._frames(sequences).gaps)
    offsets = sequences.offsets
    path, score = model._chain().best_feasible(frames, offsets, n_jobs=model.n_jobs)
    bad = np.flatnonzero(np.isneginf(score))
    if len(bad):
        replace_by_scores(model, sequences, frames, bad, path, score)
    return path
