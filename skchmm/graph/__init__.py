"""The augmented graph: the reachable pairs of a state and the controller's memory."""

from .augmented import AugmentedGraph

__all__ = ["AugmentedGraph"]
