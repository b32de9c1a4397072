"""Other decoders of hidden label paths, each with its own way to treat constraints."""

from .beam import BeamRejectionDecoder
from .hsmm import HSMMDecoder
from .perceptron import PerceptronCRF
from .post_hoc import PostHocFilter
from .topology import TopologyMaskedHMM

__all__ = [
    "BeamRejectionDecoder",
    "HSMMDecoder",
    "PerceptronCRF",
    "PostHocFilter",
    "TopologyMaskedHMM",
]
