"""Gaps between the observations of sequences, numbered."""

import numpy as np


class Gaps:
    """The distinct gaps before steps, and which of them is before each."""

    def __init__(self, gaps, offsets):
        inside = np.ones(len(gaps), dtype=bool)
        inside[offsets[:-1]] = False
        self.lengths, index, self.counts = np.unique(
            gaps[inside], return_inverse=True, return_counts=True
        )
        self.index = np.zeros(len(gaps), dtype=np.int32)
        self.index[inside] = index
        if len(self.lengths) == 0:
            self.lengths, self.counts = np.zeros(1), np.zeros(1, dtype=np.int64)

    def __len__(self):
        return len(self.lengths)
