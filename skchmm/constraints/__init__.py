"""Declarative constraints on label paths."""

from importlib import import_module
from typing import TYPE_CHECKING

from .base import Constraint
from .boundary import EndsIn, StartsIn
from .logic import And, Not, Or
from .ltlf import LTLf
from .ordering import ForbiddenEdges, Precedence, StageMonotone
from .path import AllDifferent, Segments, Transitions
from .regex import Regex
from .soft import Soft
from .spec import from_spec, to_spec
from .tags import TagScheme
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

if TYPE_CHECKING:
    from . import declare

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
    "LTLf",
    "MaxDuration",
    "MinDuration",
    "NoDwell",
    "NoReentry",
    "Not",
    "Occupancy",
    "Or",
    "Precedence",
    "Regex",
    "Segments",
    "Soft",
    "StageMonotone",
    "StartsIn",
    "TagScheme",
    "Transitions",
    "VisitBy",
    "Window",
    "declare",
    "from_spec",
    "to_spec",
]


def __getattr__(name: str) -> object:
    if name != "declare":  # imported when it is first asked for
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return import_module(".declare", __name__)
