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
from .explain import Explanation
from .mining import ConstraintMiner
from .quantizer import HashingQuantizer
from .streaming import ConstrainedStream

__all__ = [
    "BeamRejectionDecoder",
    "CTConstrainedHMM",
    "ConstrainedHMM",
    "ConstrainedStream",
    "ConstraintMiner",
    "Controller",
    "ControllerTooLargeError",
    "Explanation",
    "HSMMDecoder",
    "HashingQuantizer",
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
