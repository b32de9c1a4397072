"""Constraints to and from plain dictionaries (JSON, YAML)."""

import difflib
import inspect
from collections.abc import Mapping
from typing import Any

from ..sequences.labels import COMPARED
from .base import parameters_of, registry, short
from .limits import MAX_DEPTH, MAX_VALUES, check_nesting, listed, specified
from .logic import spec_of


def to_spec(constraints: Any) -> Any:
    """A constraint as a plain dictionary; a list of them (or None) as a list.

    Parameters
    ----------
    constraints : constraint, list of them or None

    Returns
    -------
    dict or list of dict

    See Also
    --------
    from_spec : Read a constraint from a dict.

    Examples
    --------
    >>> from skchmm.constraints import ExactVisits, to_spec
    >>> to_spec(ExactVisits("A", 2))
    {'type': 'ExactVisits', 'states': ['A'], 'k': 2}
    """
    check_nesting(constraints, listed, "The list of constraints")
    return _written(constraints)


def _written(constraints):
    if constraints is None:
        return []
    if isinstance(constraints, (list, tuple)):
        return [_written(constraint) for constraint in constraints]
    if not hasattr(constraints, "to_spec"):
        if hasattr(constraints, "accepts"):
            return spec_of(constraints)
        raise ValueError(f"to_spec takes a constraint or a list of them, got {short(constraints)}")
    return constraints.to_spec()


def from_spec(spec: Any) -> Any:
    """The constraint that a dictionary describes; for a list, the list of them.

    Parameters
    ----------
    spec : dict or list of dict
        As `to_spec` writes it; labels may be given alone or in a list.

    Returns
    -------
    constraint or list of them

    See Also
    --------
    to_spec : Write a constraint as a dict.

    Examples
    --------
    >>> from skchmm.constraints import from_spec
    >>> from_spec({"type": "ExactVisits", "states": "A", "k": 2})
    ExactVisits('A', 2)
    """
    # A combination is a dictionary in a list in a dictionary, and so are some labels.
    depth = 2 * MAX_DEPTH + 4
    check_nesting(spec, specified, "The specification", max_depth=depth, max_parts=MAX_VALUES)
    return read(spec)


def read(spec):
    """`from_spec` of what is not nested too deeply."""
    if isinstance(spec, (list, tuple)):
        return [read(each) for each in spec]
    if not isinstance(spec, Mapping):
        raise ValueError(f"A specification is a dictionary or a list of them, got {short(spec)}")
    fields = dict(spec)
    if "type" not in fields:
        raise ValueError(f"The specification {short(spec)} has no 'type', e.g. 'ExactVisits'")
    name = fields.pop("type")
    if not isinstance(name, str) or name not in registry:
        raise ValueError(
            f"Unknown constraint type {short(name)}{suggestion(name, registry)}; "
            f"known are {', '.join(sorted(registry))}"
        )
    kind = registry[name]
    parameters = parameters_of(kind)
    for field in fields:
        if field not in parameters:
            raise ValueError(
                f"{name} has no field {short(field)}{suggestion(field, parameters)}; "
                f"its fields are {', '.join(parameters)}"
            )
    missing = [
        field
        for field, parameter in parameters.items()
        if parameter.default is inspect.Parameter.empty and field not in fields
    ]
    if missing:
        raise ValueError(f"{name} needs the field {', '.join(map(repr, missing))}: {short(spec)}")
    return kind._from_fields(fields)


def suggestion(word, known):
    close = difflib.get_close_matches(str(word)[:COMPARED], list(known), n=1)
    return f" (did you mean {close[0]!r}?)" if close else ""
