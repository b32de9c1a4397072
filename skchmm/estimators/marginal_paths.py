"""Paths that are chosen by the marginals of their labels, not by their own probability."""

import numpy as np

from ..emissions.base import Frames


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
        frames = frames.with_gaps(sequences.times.gaps)
    offsets = sequences.offsets
    path, score = model._chain().best_feasible(frames, offsets, n_jobs=model.n_jobs)
    bad = np.flatnonzero(np.isneginf(score))
    if len(bad):  # only sequences answered without the constraints
        free = model._chain(constrained=False)
        others = free.best_feasible(frames, offsets, n_jobs=model.n_jobs)[0]
        for s in bad:
            path[offsets[s] : offsets[s + 1]] = others[offsets[s] : offsets[s + 1]]
    return path
