"""Scores of label paths, and scorers for scikit-learn's model selection."""

from .edit import edit_score
from .entities import entity_f1_score, entity_precision_score, entity_recall_score
from .misspecification import MisspecificationBound, misspecification_bound
from .scorers import (
    accuracy_scorer,
    edit_scorer,
    entity_f1_scorer,
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
    "edit_score",
    "edit_scorer",
    "entity_f1_score",
    "entity_f1_scorer",
    "entity_precision_score",
    "entity_recall_score",
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
