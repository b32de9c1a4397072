"""The templates of the process language Declare, by their names, and models of Declare tools.

Each template returns a constraint: an :class:`~skchmm.constraints.LTLf` formula, or the constraint
of the catalog that says the same. An event is a step of the path; a and b are labels or collections
of labels, of which any one will do. Formulas are read as :class:`~skchmm.constraints.LTLf` says.

Examples
--------
>>> from skchmm.constraints import declare
>>> declare.Response("order", {"deliver", "refund"})
LTLf('G(order -> F {deliver refund})')
"""

from .files import read_decl, write_decl
from .models import from_pm4py
from .templates import (
    Absence,
    AlternatePrecedence,
    AlternateResponse,
    AlternateSuccession,
    ChainPrecedence,
    ChainResponse,
    ChainSuccession,
    Choice,
    CoExistence,
    End,
    Exactly,
    ExclusiveChoice,
    Existence,
    Init,
    NotChainPrecedence,
    NotChainResponse,
    NotChainSuccession,
    NotCoExistence,
    NotPrecedence,
    NotRespondedExistence,
    NotResponse,
    NotSuccession,
    Precedence,
    RespondedExistence,
    Response,
    Succession,
)

__all__ = [
    "Absence",
    "AlternatePrecedence",
    "AlternateResponse",
    "AlternateSuccession",
    "ChainPrecedence",
    "ChainResponse",
    "ChainSuccession",
    "Choice",
    "CoExistence",
    "End",
    "Exactly",
    "ExclusiveChoice",
    "Existence",
    "Init",
    "NotChainPrecedence",
    "NotChainResponse",
    "NotChainSuccession",
    "NotCoExistence",
    "NotPrecedence",
    "NotRespondedExistence",
    "NotResponse",
    "NotSuccession",
    "Precedence",
    "RespondedExistence",
    "Response",
    "Succession",
    "from_pm4py",
    "read_decl",
    "write_decl",
]
