"""The E-step of EM, some sequences at a time."""

from typing import NamedTuple

import numpy as np

from ._threads import each, ranges_of
from .inference import steps_at_once


class Part(NamedTuple):
    """Some of the sequences that EM learns from."""

    encoded: object
    offsets: np.ndarray
    weights: np.ndarray  # one a sequence
    codes: np.ndarray | None  # known labels, -1 elsewhere


class Expected(NamedTuple):
    """What the M-step looks at."""

    smoothed: tuple  # what the chain gives; of several parts, without posteriors
    starts: np.ndarray  # (S,) expected first states
    statistics: dict  # of the emission


def parts_of(emission, data, n_states, n_jobs, *, least):
    """The data in parts of at least `least` steps, or as one where that is None."""
    whole = Part(data.encoded, data.offsets, data.weights, data.codes)
    if least is None or data.sequences.n_steps < 2 * least:
        return [whole]
    ranges = ranges_of(data.offsets, n_jobs, most=steps_at_once(n_states))
    return [whole] if len(ranges) == 1 else [_part(emission, data, *r) for r in ranges]


def _part(emission, data, begin, end):
    sequences = data.sequences.part(begin, end)
    codes = data.codes
    if codes is not None:
        codes = codes[data.offsets[begin] : data.offsets[end]]
    encoded = emission.encode(sequences.X, sequences.offsets, reset=False)
    return Part(encoded, sequences.offsets, data.weights[begin:end], codes)


def expect(chain, emission, parts, n_jobs, check=None):
    """Expectations under the chain and the emission; `check` may refuse frames."""
    threads_within = n_jobs if len(parts) == 1 else None

    def run(part):
        frames = emission.log_likelihood(part.encoded)
        if check is not None:
            check(frames)
        if part.codes is not None:
            frames = frames.clamp(part.codes)
        smoothed = chain.smooth(
            frames, part.offsets, seq_weights=part.weights, counts=True, n_jobs=threads_within
        )
        return Expected(smoothed, *collect(emission, smoothed.posteriors, part))

    found = each(run, parts, n_jobs)
    if len(found) == 1:
        return found[0]
    smoothed = [one.smoothed for one in found]
    return Expected(
        smoothed[0]._replace(
            log_z=np.concatenate([one.log_z for one in smoothed]),
            posteriors=None,
            transitions=sum(one.transitions for one in smoothed),
        ),
        sum(one.starts for one in found),
        {name: sum(one.statistics[name] for one in found) for name in found[0].statistics},
    )


def collect(emission, posteriors, part):
    """Expected first states, and the statistics of the emission."""
    weights = part.weights
    if (weights == 0).any():
        posteriors = np.nan_to_num(posteriors)
    starts = posteriors[part.offsets[:-1]].T @ weights
    if (weights != 1).any():
        posteriors = posteriors * np.repeat(weights, np.diff(part.offsets))[:, None]
    if emission.needs_labels:
        return starts, {}
    return starts, emission.accumulate(part.encoded, posteriors, part.offsets)
