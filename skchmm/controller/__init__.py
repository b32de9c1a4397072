"""Finite automata over state labels: what constraints compile to.

Public: `Controller`. The other modules are how it is built, compared, counted and drawn.
"""

from .controller import Controller, everything
from .minimise import coarsest_partition
from .products import intersection, union
from .soft import SoftController

__all__ = [
    "Controller",
    "SoftController",
    "coarsest_partition",
    "everything",
    "intersection",
    "union",
]
