"""And, or, not, of any constraints."""

from collections.abc import Hashable, Sequence
from typing import Any, Self

from ..controller import Controller, intersection, union
from ..sequences.labels import unique
from .base import Constraint, is_constraint, short
from .limits import build_all, check_nesting


def build(part, states, max_nodes):
    """The controller of a constraint or of a ready controller, over these states."""
    if isinstance(part, Controller):
        return part.over(states)
    return part._build(states, max_nodes)


def check_hard(part):
    """Refuse a soft rule within a combination."""
    if hasattr(part, "weight"):
        part._refuse()


def labels_of(part):
    return list(part.states) if isinstance(part, Controller) else part.labels()


def key_of(part):
    """Equal for equal constraints, and for controllers of the same tables."""
    if not isinstance(part, Controller):
        return part
    arrays = part.tables, part.accept, part.epochs
    return part.states, part.horizon, *((array.shape, array.tobytes()) for array in arrays)


def spec_of(part):
    if isinstance(part, Controller):
        raise ValueError(
            "A Controller has no plain specification; only declarative constraints have one"
        )
    if not isinstance(part, Constraint):
        raise ValueError(f"to_spec takes a constraint or a list of them, got {short(part)}")
    return part.to_spec()


def parts_of(value):
    """What a combination is made of: for `check_nesting`, so that malformed ones have none."""
    if isinstance(value, _Junction):
        return value._listed()
    return (value.constraint,) if isinstance(value, Not) else ()


class _Combination(Constraint):
    """What is made of other constraints."""

    _label_parameters = ()

    def __setattr__(self, name, value):
        """Refuse what is nested too deeply to be copied, saved or printed."""
        before = self.__dict__.get(name)
        super().__setattr__(name, value)
        try:
            check_nesting(self, parts_of, type(self).__name__)
        except ValueError:
            self.__dict__[name] = before
            raise

    def set_params(self, **params: Any) -> Self:
        """Set parameters by the names of `get_params`, in place."""
        super().set_params(**params)
        check_nesting(self, parts_of, type(self).__name__)
        return self


class _Junction(_Combination):
    """And, or: the same list of constraints, combined one way or the other."""

    _symbol: str | None = None

    def __init__(self, constraints: Sequence[Constraint | Controller]) -> None:
        self.constraints = constraints

    @classmethod
    def _joined(cls, left, right):
        """``left & right`` or ``left | right``, without needless nesting."""
        if not (is_constraint(left) and is_constraint(right)):
            return NotImplemented
        for side in (left, right):
            check_hard(side)
        parts = []
        for side in (left, right):
            parts.extend(side.constraints if type(side) is cls else [side])
        return cls(parts)

    def _listed(self):
        """The constraints, or nothing where they are not a list (printing must not fail)."""
        return self.constraints if isinstance(self.constraints, (list, tuple)) else []

    def _parts(self):
        """The constraints, checked, with nested ones of the same kind taken apart."""
        parts = self._listed()
        if not parts:
            raise self._error("constraints must be a list of at least one constraint")
        flat = []
        for part in parts:
            if not is_constraint(part):
                raise self._error(
                    f"constraints must be a list of constraints, but has {short(part)}"
                )
            check_hard(part)
            flat.extend(part._parts() if type(part) is type(self) else [part])
        return flat

    def _combined(self, combine, states, max_nodes):
        parts = list(dict.fromkeys(self._parts()))
        controllers = build_all(parts, lambda part: build(part, states, max_nodes), max_nodes)
        names = [short(part) for part in parts]
        return combine(controllers, names=names, max_nodes=max_nodes)

    def labels(self) -> list[Hashable]:
        return unique([label for part in self._parts() for label in labels_of(part)])

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters by name; with `deep`, those of the parts too: ``0__k`` is k of the first."""
        params = {"constraints": self.constraints}
        if deep:
            for number, part in enumerate(self._listed()):
                params[str(number)] = part
                if isinstance(part, Constraint):
                    nested = part.get_params(deep=True).items()
                    params.update((f"{number}__{name}", value) for name, value in nested)
        return params

    def set_params(self, **params: Any) -> Self:
        """Set parameters by the names of `get_params`; ``"0"`` replaces the first part."""
        if "constraints" in params:
            self.constraints = params.pop("constraints")
        replaced = [name for name in self.get_params() if name.isdecimal() and name in params]
        if replaced:
            parts = list(self.constraints)
            for number in replaced:
                parts[int(number)] = params.pop(number)
            self.constraints = parts
        return super().set_params(**params)

    def _normal(self, name):
        return frozenset(map(key_of, self._parts()))

    def to_spec(self) -> dict[str, Any]:
        return {
            "type": type(self).__name__,
            "constraints": [spec_of(part) for part in self._listed()],
        }

    @classmethod
    def _from_fields(cls, fields):
        from .spec import read

        parts = fields["constraints"]
        if not isinstance(parts, (list, tuple)):
            raise ValueError(f"{cls.__name__}: constraints must be a list, got {short(parts)}")
        return cls(read(parts))

    def __repr__(self):
        parts = self._listed()
        if len(parts) < 2:
            return f"{type(self).__name__}({self.constraints!r})"
        return f" {self._symbol} ".join(operand(part) for part in parts)


class And(_Junction):
    """All of several constraints; ``a & b`` writes it.

    A path satisfies it if and only if it satisfies each of them. The controller has at most as
    many states as the product of their sizes, and usually far fewer.

    Parameters
    ----------
    constraints : list of constraints or controllers

    See Also
    --------
    Or : At least one of several rules holds.
    Not : A rule does not hold.

    Examples
    --------
    >>> from skchmm import satisfies
    >>> from skchmm.constraints import EndsIn, StartsIn
    >>> satisfies(["A", "B"], StartsIn("A") & EndsIn("B"))
    True
    """

    _symbol = "&"

    def _build(self, states, max_nodes):
        return self._combined(intersection, states, max_nodes)


class Or(_Junction):
    """At least one of several constraints; ``a | b`` writes it.

    A path satisfies it if and only if it satisfies at least one of them. The controller has at
    most as many states as the product of their sizes, each with one more for having failed.

    Parameters
    ----------
    constraints : list of constraints or controllers

    See Also
    --------
    And : All of several rules hold.
    Not : A rule does not hold.

    Examples
    --------
    >>> from skchmm import satisfies
    >>> from skchmm.constraints import EndsIn, StartsIn
    >>> satisfies(["B", "B"], StartsIn("A") | EndsIn("B"))
    True
    """

    _symbol = "|"

    def _build(self, states, max_nodes):
        return self._combined(union, states, max_nodes)


class Not(_Combination):
    """The opposite of a constraint; ``~a`` writes it.

    A path satisfies it if and only if it does not satisfy the constraint. The controller has at
    most one state more than that of the constraint.

    Parameters
    ----------
    constraint : constraint or controller

    See Also
    --------
    And : All of several rules hold.
    Or : At least one of several rules holds.

    Examples
    --------
    >>> from skchmm import satisfies
    >>> from skchmm.constraints import StartsIn
    >>> satisfies(["B", "A"], ~StartsIn("A"))
    True
    """

    def __init__(self, constraint: Constraint | Controller) -> None:
        self.constraint = constraint

    def _part(self):
        if not is_constraint(self.constraint):
            raise self._error("~ needs a constraint")
        check_hard(self.constraint)
        return self.constraint

    def _build(self, states, max_nodes):
        return ~build(self._part(), states, max_nodes)

    def labels(self) -> list[Hashable]:
        return labels_of(self._part())

    def _normal(self, name):
        return frozenset([key_of(self._part())])  # which knows its hash, once it is taken

    def to_spec(self) -> dict[str, Any]:
        return {"type": "Not", "constraint": spec_of(self.constraint)}

    @classmethod
    def _from_fields(cls, fields):
        from .spec import read

        return cls(read(fields["constraint"]))

    def __invert__(self) -> Any:
        return self.constraint

    def __repr__(self):
        return f"~{operand(self.constraint)}"


def operand(part):
    """The repr of a part, in parentheses where it is itself a combination."""
    return f"({part!r})" if isinstance(part, _Junction) and len(part._listed()) > 1 else repr(part)
