"""Constrained hidden Markov models: exact inference and learning when labels obey rules."""

from .constrained import ConstrainedHMM
from .constraints.compile import compile, satisfies
from .continuous import CTConstrainedHMM
from .controller import Controller
from .decoders import (
    BeamRejectionDecoder,
    HSMMDecoder,
    PerceptronCRF,
    PostHocFilter,
    TopologyMaskedHMM,
)
from .exceptions import (
    ControllerTooLargeError,
    InfeasibleSequenceError,
    InfeasibleSequenceWarning,
    NotEnforcedWarning,
)

__all__ = [
    "BeamRejectionDecoder",
    "CTConstrainedHMM",
    "ConstrainedHMM",
    "Controller",
    "ControllerTooLargeError",
    "HSMMDecoder",
    "InfeasibleSequenceError",
    "InfeasibleSequenceWarning",
    "NotEnforcedWarning",
    "PerceptronCRF",
    "PostHocFilter",
    "TopologyMaskedHMM",
    "compile",
    "satisfies",
]

__version__ = "0.1.0.dev0"
