"""Templates by the names that Declare tools give them, and the models of pm4py."""

import re
from collections.abc import Mapping
from typing import Any

from ...sequences.labels import listing
from ..base import Constraint, short
from ..spec import suggestion
from . import templates

# The templates as .decl files name them; a number may follow the first three.
COUNTED = {"Existence": templates.Existence, "Absence": templates.Absence,
           "Exactly": templates.Exactly}  # fmt: skip
UNARY = {"Init": templates.Init, "End": templates.End}
BINARY = {
    "Choice": templates.Choice,
    "Exclusive Choice": templates.ExclusiveChoice,
    "Responded Existence": templates.RespondedExistence,
    "Response": templates.Response,
    "Alternate Response": templates.AlternateResponse,
    "Chain Response": templates.ChainResponse,
    "Precedence": templates.Precedence,
    "Alternate Precedence": templates.AlternatePrecedence,
    "Chain Precedence": templates.ChainPrecedence,
    "Succession": templates.Succession,
    "Alternate Succession": templates.AlternateSuccession,
    "Chain Succession": templates.ChainSuccession,
    "Co-Existence": templates.CoExistence,
    "Not Responded Existence": templates.NotRespondedExistence,
    "Not Response": templates.NotResponse,
    "Not Precedence": templates.NotPrecedence,
    "Not Chain Response": templates.NotChainResponse,
    "Not Chain Precedence": templates.NotChainPrecedence,
    "Not Succession": templates.NotSuccession,
    "Not Chain Succession": templates.NotChainSuccession,
    "Not Co-Existence": templates.NotCoExistence,
}
# Other names that tools use, without spaces, hyphens and capitals.
ALIASES = {
    "last": "End",
    "exactlyone": "Exactly",
    "participation": "Existence",
    "atmostone": "Absence2",
    "notcoexistence": "Not Co-Existence",
    "noncoexistence": "Not Co-Existence",
    "nonsuccession": "Not Succession",
    "nonchainsuccession": "Not Chain Succession",
    **{f"alt{kind}": f"Alternate {kind.capitalize()}"
       for kind in ("response", "precedence", "succession")},
}  # fmt: skip


_DIGITS = 9  # of a number of events


def _bare(name):
    return re.sub(r"[\s_-]", "", name).lower()


_NAMES = {_bare(name): name for name in (*COUNTED, *UNARY, *BINARY)}


def find_template(name):
    """A function of activities from the name of a template, and how many it takes.

    Returns
    -------
    template, number of activities
        Or None and what is wrong with the name.
    """
    bare = ALIASES.get(_bare(name), name)
    word = bare.strip().rstrip("0123456789")
    digits = bare.strip()[len(word) :]
    known = _NAMES.get(_bare(word))
    if known is None or (digits and known not in COUNTED):
        close = suggestion(name.strip(), [*_NAMES.values()])
        return None, f"unknown template {short(name.strip())}{close}"
    if known in COUNTED:
        if len(digits) > _DIGITS:
            return None, f"{short(name.strip())} asks for too many events"
        n, least = int(digits or 1), int(known == "Absence")
        if n < least:
            return None, f"{name.strip()!r} asks for fewer than {n} events"
        return lambda a: COUNTED[known](a, n), 1
    return (UNARY[known], 1) if known in UNARY else (BINARY[known], 2)


def from_pm4py(model: Mapping[str, Any]) -> list[Constraint]:
    """The constraints of a Declare model that pm4py has discovered.

    Parameters
    ----------
    model : mapping
        What ``pm4py.discover_declare`` returns: for each template the activities, or pairs of
        activities, that it holds for.

    Returns
    -------
    list of constraints

    Notes
    -----
    Templates have the meaning that Declare defines. pm4py keeps rules that some traces break
    (confidence below support), and does not count traces to which a rule does not apply.
    :func:`~skchmm.metrics.trajectory_validity_rate` tells how many traces satisfy a rule.

    See Also
    --------
    read_decl : Constraints from a file of a Declare tool.
    skchmm.ConstraintMiner : Rules that the labels of the training data obey.

    Examples
    --------
    >>> from skchmm.constraints import declare
    >>> mined = {"init": {"order": {"support": 9, "confidence": 9}},
    ...          "response": {("order", "pay"): {"support": 9, "confidence": 8}}}
    >>> declare.from_pm4py(mined)
    [StartsIn('order'), LTLf('G(order -> F pay)')]
    """
    if not isinstance(model, Mapping):
        raise ValueError(
            "from_pm4py takes the dictionary that pm4py.discover_declare returns: template -> "
            f"activities; got {short(model)}"
        )
    constraints, wrong = [], []
    for name, rules in model.items():
        template, takes = find_template(name) if isinstance(name, str) else (None, f"{name!r}")
        if template is None:
            wrong.append(takes)
            continue
        for key in rules:
            activities = key if isinstance(key, tuple) else (key,)
            if len(activities) != takes:
                wrong.append(f"{name!r} takes {takes} activities, not {listing(list(activities))}")
            else:
                constraints.append(template(*activities))
    if wrong:
        raise ValueError("The model of pm4py cannot be read: " + "; ".join(wrong))
    return constraints
