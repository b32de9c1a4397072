"""Constrained hidden Markov models: exact inference and learning when labels obey rules."""

from importlib import import_module
from typing import TYPE_CHECKING

# Here, where few frames are on the stack: Python maps memory for its frames in small pieces, and
# imports from deep within ours happened to map and unmap a piece 30,000 times, for 0.2 seconds.
import sklearn.base  # noqa: F401

from ._version import __version__ as __version__
from .constraints.compile import compile, satisfies
from .controller import Controller
from .controller.alignment import Alignment
from .estimators.constrained import ConstrainedHMM
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

if TYPE_CHECKING:
    from .decoders import (
        BeamRejectionDecoder,
        HSMMDecoder,
        PerceptronCRF,
        PostHocFilter,
        TopologyMaskedHMM,
    )
    from .estimators.continuous import CTConstrainedHMM
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

# What most programs do not use is imported when it is first asked for.
_LATER = {
    "BeamRejectionDecoder": ".decoders",
    "CTConstrainedHMM": ".estimators.continuous",
    "ConstraintMiner": ".mining.miner",
    "HSMMDecoder": ".decoders",
    "HashingQuantizer": ".quantizer",
    "PerceptronCRF": ".decoders",
    "PostHocFilter": ".decoders",
    "TopologyMaskedHMM": ".decoders",
}


def __getattr__(name: str) -> object:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_LATER[name], __name__), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_LATER})
