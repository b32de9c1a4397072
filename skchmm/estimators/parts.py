"""Asking a chain about some sequences after the others, to say how far it is."""

from time import perf_counter

import numpy as np

from ..controller.progress import Counted
from ..emissions.base import PendingFrames
from ..graph.augmented import WIDTH
from ..inference.schedule import threads_of

SECONDS = 0.5  # that a part is to take, so that it costs nothing to stop after each


def in_parts(task, ask, frames, offsets, n_jobs):
    """What ask(frames, offsets) answers for all sequences, a part of them at a time.

    The first part is small and shows how long the others may be. All fill the lanes of the
    vectors, and frames that are pending stay so.

    Parameters
    ----------
    task : str
        What to call it in the terminal.
    ask : callable
        Returns a tuple of arrays, or None among them, with a row per sequence or per step.
    """
    n_sequences, results, begin = len(offsets) - 1, [], 0
    block = WIDTH * threads_of(n_jobs)
    with Counted(task, n_sequences, "sequences") as progress:
        n_steps = 0
        while begin < n_sequences:
            # As many blocks as fit, but one at least; what is left in the end may fill none.
            end = int(np.searchsorted(offsets, offsets[begin] + n_steps, side="right")) - 1
            if end < n_sequences:
                end = min(begin + max((end - begin) // block, 1) * block, n_sequences)
            cut = offsets[begin : end + 1] - offsets[begin]
            results.append(ask(_frames_of(frames, offsets, begin, end), cut))
            begin = end
            progress.tell(begin)
            pace = (perf_counter() - progress.since) / offsets[begin]
            n_steps = int(SECONDS / pace)
    if len(results) == 1:
        return results[0]
    return [None if part[0] is None else np.concatenate(part) for part in zip(*results)]


def _frames_of(frames, offsets, begin, end):
    if not isinstance(frames, PendingFrames):
        return frames.of_sequences(offsets, begin, end)
    return PendingFrames(
        lambda a, b: frames.of_sequences(offsets, begin + a, begin + b),
        end - begin, int(offsets[end] - offsets[begin]), frames.n_states, frames.row_bytes,
        frames.least,
    )  # fmt: skip
