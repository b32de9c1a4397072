"""Constrained hidden Markov models: exact inference and learning when labels obey rules."""
# ruff: noqa: E402, since scikit-learn is imported before our own modules

from importlib import import_module
from typing import TYPE_CHECKING


def _import_scikit_learn():
    import sklearn.base  # noqa: F401


# Python keeps its frames in chunks of 16 KiB, and gives a chunk back when it is empty. Depending on
# how deep the stack is, a call that an import makes 30,000 times can be just the one that needs a
# new chunk, and the import then takes up to twice as long. A frame that asks for more than a
# chunk holds gets a large one, with room in it for all the calls from there.
_import_scikit_learn.__code__ = _import_scikit_learn.__code__.replace(co_stacksize=1 << 15)
_import_scikit_learn()

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
