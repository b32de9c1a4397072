"""Sequences as users give them: the three input forms, labels, weights, times."""

from .aligned import read_label_pair, read_label_sequences, read_step_weights, read_weights
from .forms import Sequences, holds_sequences, read_labels, read_rows, read_sequences

__all__ = [
    "Sequences",
    "holds_sequences",
    "read_label_pair",
    "read_label_sequences",
    "read_labels",
    "read_rows",
    "read_sequences",
    "read_step_weights",
    "read_weights",
]
