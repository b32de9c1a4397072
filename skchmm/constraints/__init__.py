"""Declarative constraints on label paths."""

from .base import Constraint
from .boundary import EndsIn, StartsIn
from .logic import And, Not, Or
from .ordering import ForbiddenEdges, Precedence, StageMonotone
from .path import AllDifferent, Segments, Transitions
from .spec import from_spec, to_spec
from .temporal import (
    CoolDown,
    MaxDuration,
    MinDuration,
    NoDwell,
    NoReentry,
    VisitBy,
    Window,
)
from .visitation import AtLeastVisits, AtMostVisits, ExactVisits, Occupancy

__all__ = [
    "AllDifferent",
    "And",
    "AtLeastVisits",
    "AtMostVisits",
    "Constraint",
    "CoolDown",
    "EndsIn",
    "ExactVisits",
    "ForbiddenEdges",
    "MaxDuration",
    "MinDuration",
    "NoDwell",
    "NoReentry",
    "Not",
    "Occupancy",
    "Or",
    "Precedence",
    "Segments",
    "StageMonotone",
    "StartsIn",
    "Transitions",
    "VisitBy",
    "Window",
    "from_spec",
    "to_spec",
]
