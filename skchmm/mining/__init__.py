"""Constraints learned from label paths."""

from .miner import FAMILIES, ConstraintMiner

__all__ = ["FAMILIES", "ConstraintMiner"]
