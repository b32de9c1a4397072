"""Constrained hidden Markov models."""

from .controller import Controller
from .exceptions import (
    ControllerTooLargeError,
    InfeasibleSequenceError,
    InfeasibleSequenceWarning,
)

__all__ = [
    "Controller",
    "ControllerTooLargeError",
    "InfeasibleSequenceError",
    "InfeasibleSequenceWarning",
]

__version__ = "0.1.0.dev0"
