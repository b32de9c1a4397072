"""Other decoders of hidden label paths, each with its own way to treat constraints."""

from .beam import BeamRejectionDecoder
from .post_hoc import PostHocFilter
from .topology import TopologyMaskedHMM

__all__ = ["BeamRejectionDecoder", "PostHocFilter", "TopologyMaskedHMM"]
