"""Scores of label paths, and scorers for scikit-learn's model selection."""

from .misspecification import MisspecificationBound, misspecification_bound
from .scorers import (
    accuracy_scorer,
    macro_f1_scorer,
    make_segment_f1_scorer,
    make_tvr_scorer,
    segment_f1_scorer,
    tvr_scorer,
)
from .scores import (
    segment_f1_score,
    sequence_accuracy_score,
    sequence_macro_f1_score,
    trajectory_validity_rate,
)

__all__ = [
    "MisspecificationBound",
    "accuracy_scorer",
    "macro_f1_scorer",
    "make_segment_f1_scorer",
    "make_tvr_scorer",
    "misspecification_bound",
    "segment_f1_score",
    "segment_f1_scorer",
    "sequence_accuracy_score",
    "sequence_macro_f1_score",
    "trajectory_validity_rate",
    "tvr_scorer",
]
