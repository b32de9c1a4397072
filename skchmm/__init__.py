"""Constrained hidden Markov models: exact inference and learning when labels obey rules."""

from .constrained import ConstrainedHMM
from .constraints.compile import compile, satisfies
from .controller import Controller
from .exceptions import (
    ControllerTooLargeError,
    InfeasibleSequenceError,
    InfeasibleSequenceWarning,
)

__all__ = [
    "ConstrainedHMM",
    "Controller",
    "ControllerTooLargeError",
    "InfeasibleSequenceError",
    "InfeasibleSequenceWarning",
    "compile",
    "satisfies",
]

__version__ = "0.1.0.dev0"
