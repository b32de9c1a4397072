"""The .decl files of Declare tools such as RuM and Declare4Py."""

import os
import re
from itertools import permutations, product
from typing import Any, NamedTuple

from ...sequences.labels import listing
from ..base import Constraint, short
from ..boundary import EndsIn, StartsIn
from ..compile import flatten
from ..ltlf import LTLf
from ..ordering import ForbiddenEdges
from ..ordering import Precedence as CatalogPrecedence
from ..visitation import Occupancy
from .models import BINARY, find_template

# A constraint: template, activities, and conditions between bars.
_RULE = re.compile(r"(?P<template>[^\[\]:|]+)\[(?P<activities>.*)\]\s*(?P<conditions>(\|.*)?)")


def read_decl(path: str | os.PathLike[str]) -> list[Constraint]:
    """The constraints of a .decl file.

    Lines are ``activity NAME``, constraints such as ``Response[A, B] | | |``, attributes and
    ``bind`` lines, which have no effect here, and comments after ``#``. Constraints hold between
    activities alone: one with a condition on data or time is refused.

    Parameters
    ----------
    path : str or path

    Returns
    -------
    list of constraints
        In the order of the file.

    Raises
    ------
    ValueError
        With all lines that cannot be read: unknown templates, activities that no ``activity`` line
        names, conditions.

    See Also
    --------
    write_decl : the inverse.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from skchmm.constraints import declare
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "model.decl")
    ...     _ = path.write_text("activity order\\nactivity pay\\nResponse[order, pay] | | |\\n")
    ...     declare.read_decl(path)
    [LTLf('G(order -> F pay)')]
    """
    try:
        with open(path, encoding="utf-8-sig") as file:
            text = file.read()
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is not a text in UTF-8: {error.reason}.") from None
    return read_text(text, os.fspath(path))


class _Activities(NamedTuple):
    """The activities that a file names, worked out once for all its lines.

    Two names meet only at few of the commas of a line: those that leave as many commas on both
    sides as some names have.
    """

    names: frozenset
    commas: frozenset
    sentence: str

    @classmethod
    def of(cls, names):
        named = f"the file names {listing(names)}" if names else "no 'activity' line names any"
        return cls(frozenset(names), frozenset(name.count(",") for name in names), named)


def read_text(text, name):
    """The constraints of the text of a .decl file, which messages call `name`."""
    lines = [(number, line.strip()) for number, line in enumerate(text.splitlines(), start=1)]
    lines = [(number, line) for number, line in lines if line and not line.startswith("#")]
    names, rest = [], []
    for number, line in lines:
        word, _, activity = line.partition(" ")
        if word == "activity" and activity.strip():
            names.append(activity.strip())
        else:
            rest.append((number, line))
    known = _Activities.of(list(dict.fromkeys(names)))
    constraints, wrong = [], []
    for number, line in rest:
        found, problems = _read_line(line, known)
        constraints += found
        wrong += [f"  line {number}: {problem}" for problem in problems]
    if wrong:
        raise ValueError(f"{name} cannot be read:\n" + "\n".join(wrong))
    return constraints


def _read_line(line, known):
    """The constraints of a line (one or none), and what is wrong with it."""
    rule = _RULE.fullmatch(line)
    if rule is None:
        if line.startswith("bind "):
            activity = line[5:].partition(":")[0].strip()
            return [], [] if activity in known.names else _unknown([activity], known)
        attribute = ":" in line  # its values do not matter to paths
        return [], [] if attribute else [f"{short(line)} is no activity, attribute or constraint"]
    template, takes = find_template(rule["template"])
    if template is None:
        return [], [takes]
    conditions = [part.strip() for part in rule["conditions"].split("|")]
    problems = [
        f"the condition {short(condition)} is about data or time, which paths of labels do not have"
        for condition in conditions
        if condition
    ]
    activities = _split(rule["activities"], takes, known)
    if len(activities) != takes:
        word = "activity" if takes == 1 else "activities"
        problems.append(
            f"{rule['template'].strip()} takes {takes} {word}, not {listing(activities)}"
        )
    unknown = [activity for activity in activities if activity not in known.names]
    problems += _unknown(unknown, known) if unknown else []
    return ([] if problems else [template(*activities)]), problems


def _split(text, takes, known):
    """The activities between brackets; some may have commas in their names."""
    parts = text.split(",")
    commas = known.commas if takes == 2 else ()
    cuts = [k + 1 for k in commas if len(parts) - k - 2 in commas]
    ways = [[",".join(parts[:k]), ",".join(parts[k:])] for k in sorted(cuts)]
    ways = [[activity.strip() for activity in way] for way in ways + [[text]] * (takes == 1)]
    whole = [way for way in ways if all(activity in known.names for activity in way)]
    return whole[0] if whole else [part.strip() for part in parts]


def _unknown(activities, known):
    noun = "activity" if len(activities) == 1 else "activities"
    return [f"unknown {noun} {listing(activities)}; {known.sentence}"]


def write_decl(constraints: Any, path: str | os.PathLike[str]) -> None:
    """Write constraints to a .decl file.

    Parameters
    ----------
    constraints : constraint or list of them
        What the templates of :mod:`skchmm.constraints.declare` give for single activities, and
        constraints of the catalog that say the same: ``Occupancy``, ``StartsIn``, ``EndsIn``,
        ``Precedence`` and ``ForbiddenEdges``. Of templates that mean the same (not succession,
        not response, not precedence), one is written.
    path : str or path
        An existing file is replaced.

    Returns
    -------
    None

    Raises
    ------
    ValueError
        With all constraints that no template says, or that activities cannot be named in; nothing
        is written then.

    See Also
    --------
    read_decl : the inverse.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from skchmm.constraints import declare
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "model.decl")
    ...     declare.write_decl([declare.Init("order"), declare.Response("order", "pay")], path)
    ...     print(path.read_text())
    activity order
    activity pay
    Init[order] | |
    Response[order, pay] | | |
    <BLANKLINE>
    """
    lines, wrong, activities = [], [], {}
    for constraint in flatten(constraints):
        found = _written(constraint)
        names = [name for _, names in found or () for name in names]
        if found is None:
            wrong.append(f"  {short(constraint)}: no template of Declare says this")
        elif not all(map(_can_be_read, names)):
            wrong.append(f"  {short(constraint)}: activities must be strings on one line")
        else:
            activities |= dict.fromkeys(names)
            lines += [f"{name}[{', '.join(names)}] |{' |' * len(names)}" for name, names in found]
    text = "\n".join([*(f"activity {name}" for name in activities), *lines, ""])
    if not wrong:
        wrong = _changed(flatten(constraints), text)
    if wrong:
        raise ValueError(
            "These constraints cannot be written to a .decl file:\n" + "\n".join(wrong)
        )
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def _can_be_read(name):
    return isinstance(name, str) and name and name == name.strip() and len(name.splitlines()) == 1


def _changed(constraints, text):
    """Constraints that would be read back as others, since of names such as ``a, b``."""
    back = iter(read_text(text, "the file"))
    return [
        f"  {short(constraint)}: it would be read as another"
        for constraint in constraints
        if any(_written(next(back)) != [rule] for rule in _written(constraint))
    ]


def _written(constraint):
    """The lines of a constraint as (template, activities); None where no template says it."""
    if isinstance(constraint, Occupancy):
        return _written_count(constraint)
    for kind, name in ((StartsIn, "Init"), (EndsIn, "End")):
        if isinstance(constraint, kind):
            return [(name, labels)] if len(labels := constraint.labels()) == 1 else None
    if isinstance(constraint, CatalogPrecedence):
        sides = constraint._plain("before"), constraint._plain("after")
        return (
            [("Precedence", [*sides[0], *sides[1]])]
            if len(sides[0]) == len(sides[1]) == 1
            else None
        )
    if isinstance(constraint, ForbiddenEdges):
        pairs = constraint._pairs() or []
        edges = dict.fromkeys(edge for sides in pairs for edge in product(*sides))
        return [("Not Chain Response", list(edge)) for edge in edges] or None
    labels = constraint.labels() if isinstance(constraint, LTLf) else []
    pairs = permutations(labels) if len(labels) == 2 else product(labels, repeat=2)
    for pair in pairs if len(labels) <= 2 else ():
        for name, template in BINARY.items():
            if template(*pair) == constraint:
                return [(name, list(pair))]
    return None


def _written_count(constraint):
    labels, low, high = constraint.labels(), constraint.at_least, constraint.at_most
    if len(labels) != 1:
        return None
    if low == high:
        return [(f"Exactly{low}", labels)]
    found = [] if low is None else [(f"Existence{low}", labels)]
    return found + ([] if high is None else [(f"Absence{high + 1}", labels)])
