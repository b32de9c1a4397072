"""Constrained hidden Markov models: exact inference and learning when labels obey rules."""

from ._version import __version__ as __version__
from .constraints.compile import compile, satisfies
from .controller import Controller
from .controller.alignment import Alignment
from .decoders import (
    BeamRejectionDecoder,
    HSMMDecoder,
    PerceptronCRF,
    PostHocFilter,
    TopologyMaskedHMM,
)
from .estimators.constrained import ConstrainedHMM
from .estimators.continuous import CTConstrainedHMM
from .estimators.statistics import Statistics
from .exceptions import (
    BiasedRatesWarning,
    ControllerTooLargeError,
    InconsistentVersionWarning,
    InfeasibleSequenceError,
    InfeasibleSequenceWarning,
    NotEnforcedWarning,
)
from .inference.explain import Explanation
from .inference.stream import ConstrainedStream
from .mining.miner import ConstraintMiner
from .quantizer import HashingQuantizer

__all__ = [
    "Alignment",
    "BeamRejectionDecoder",
    "BiasedRatesWarning",
    "CTConstrainedHMM",
    "ConstrainedHMM",
    "ConstrainedStream",
    "ConstraintMiner",
    "Controller",
    "ControllerTooLargeError",
    "Explanation",
    "HSMMDecoder",
    "HashingQuantizer",
    "InconsistentVersionWarning",
    "InfeasibleSequenceError",
    "InfeasibleSequenceWarning",
    "NotEnforcedWarning",
    "PerceptronCRF",
    "PostHocFilter",
    "Statistics",
    "TopologyMaskedHMM",
    "compile",
    "satisfies",
]
