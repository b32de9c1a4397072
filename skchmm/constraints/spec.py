"""Constraints to and from plain dictionaries (JSON, YAML)."""

import difflib
import inspect
from collections.abc import Mapping

from .base import registry
from .logic import spec_of


def to_spec(constraints):
    """A constraint as a plain dictionary; a list of them (or None) as a list.

    Examples
    --------
    >>> from skchmm.constraints import ExactVisits, to_spec
    >>> to_spec(ExactVisits("A", 2))
    {'type': 'ExactVisits', 'states': ['A'], 'k': 2}
    """
    if constraints is None:
        return []
    if isinstance(constraints, (list, tuple)):
        return [to_spec(constraint) for constraint in constraints]
    if not hasattr(constraints, "to_spec"):
        if hasattr(constraints, "accepts"):
            return spec_of(constraints)
        raise ValueError(f"to_spec takes a constraint or a list of them, got {constraints!r}")
    return constraints.to_spec()


def from_spec(spec):
    """The constraint that a dictionary describes; for a list, the list of them.

    Examples
    --------
    >>> from skchmm.constraints import from_spec
    >>> from_spec({"type": "ExactVisits", "states": "A", "k": 2})
    ExactVisits('A', 2)
    """
    if isinstance(spec, (list, tuple)):
        return [from_spec(each) for each in spec]
    if not isinstance(spec, Mapping):
        raise ValueError(f"A specification is a dictionary or a list of them, got {spec!r}")
    fields = dict(spec)
    if "type" not in fields:
        raise ValueError(f"The specification {spec!r} has no 'type', e.g. 'ExactVisits'")
    name = fields.pop("type")
    if not isinstance(name, str) or name not in registry:
        raise ValueError(
            f"Unknown constraint type {name!r}{suggestion(name, registry)}; "
            f"known are {', '.join(sorted(registry))}"
        )
    kind = registry[name]
    parameters = inspect.signature(kind).parameters
    for field in fields:
        if field not in parameters:
            raise ValueError(
                f"{name} has no field {field!r}{suggestion(field, parameters)}; "
                f"its fields are {', '.join(parameters)}"
            )
    missing = [
        field
        for field, parameter in parameters.items()
        if parameter.default is inspect.Parameter.empty and field not in fields
    ]
    if missing:
        raise ValueError(f"{name} needs the field {', '.join(map(repr, missing))}: {spec!r}")
    return kind._from_fields(fields)


def suggestion(word, known):
    close = difflib.get_close_matches(str(word), list(known), n=1)
    return f" (did you mean {close[0]!r}?)" if close else ""
