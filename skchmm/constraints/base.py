"""What all constraints share: parameters, validation, equality, printing, `&`, `|`, `~`."""

import html
import inspect
from collections.abc import Collection, Hashable
from functools import cache
from typing import Any, Self

import numpy as np

from ..controller import Controller
from ..controller.checking import check_integer, limit_in_words, most_states
from ..controller.soft import Breaks
from ..exceptions import ControllerTooLargeError
from ..sequences.labels import as_labels, check_states, listing, plain, unique, unknown_labels

# What constraints take as a set of states: one label, or a collection of labels.
States = Hashable | Collection[Hashable]

registry: dict[str, type] = {}  # every concrete constraint by the name that `from_spec` knows it by


class Constraint:
    """A rule on whole label paths. It names labels, and does not depend on probabilities.

    Constraints are equal if their parameters mean the same (``'A'`` and ``{'A'}``, for example).
    They combine with ``&``, ``|`` and ``~``, and compile to a :class:`~skchmm.Controller`. A new
    family derives from this class, stores its parameters in ``__init__`` and implements ``_build``.

    See Also
    --------
    And : All of several rules hold.
    Or : At least one of several rules holds.
    Not : A rule does not hold.
    skchmm.compile : Compile constraints into a controller.
    skchmm.satisfies : Whether a path obeys constraints.

    Notes
    -----
    ``set_params`` changes a constraint and its hash in place. If the constraint is in a set or is
    a key of a dictionary, copy it first (:func:`sklearn.base.clone`) and change the copy.

    Examples
    --------
    >>> from skchmm.constraints import EndsIn, StartsIn
    >>> rule = StartsIn("A") & ~EndsIn({"A", "B"})
    >>> rule.labels()
    ['A', 'B']
    >>> rule.controller(["A", "B", "C"])
    <Controller: 2 states over 3 labels>
    >>> StartsIn("A").to_spec()
    {'type': 'StartsIn', 'states': ['A']}
    """

    # Parameters that hold one label or a collection of labels.
    _label_parameters: tuple[str, ...] = ("states",)
    # Parameters that count something, with the least they may be; None is one of some of them.
    _counts: dict[str, int] = {}
    _optional_counts: tuple[str, ...] = ()

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        if not cls.__name__.startswith("_"):
            registry[cls.__name__] = cls

    def __setattr__(self, name, value):
        """Refuse a count that is none, at once: what is stored later makes sense."""
        if name in self._counts and not (value is None and name in self._optional_counts):
            check_integer(value, f"{type(self).__name__}: {name}", self._counts[name])
        super().__setattr__(name, value)

    def __setstate__(self, state):
        """Take a saved constraint, whose parameters are checked as new ones are."""
        for name, value in state.items():
            setattr(self, name, value)

    def controller(self, states: Collection[Hashable], max_nodes: int = 1_000_000) -> Controller:
        """Check the parameters against the states and build the automaton.

        Parameters
        ----------
        states : sequence of labels
            All state labels.
        max_nodes : int, default=1_000_000
            The largest automaton to build; past it, a :class:`~skchmm.ControllerTooLargeError`.

        Returns
        -------
        Controller
            It accepts exactly the paths that satisfy the constraint; trimmed and minimal.
        """
        states, max_nodes = check_states(states), check_integer(max_nodes, "max_nodes", 1)
        controller = self._build(states, max_nodes).minimal()
        if accepts_nothing(controller):
            raise self._error(f"no path over the states {listing(states)} satisfies it")
        return controller

    def _build(self, states, max_nodes):
        """The controller of checked parameters over checked states; it may accept nothing."""
        raise NotImplementedError

    def _breaks(self, states, max_nodes):
        """Its breaks, counted one by one; None where that has no meaning."""
        return None

    def labels(self) -> list[Hashable]:
        """The labels that the constraint names, each once, in order.

        Returns
        -------
        list of labels
        """
        values = [getattr(self, name) for name in self._label_parameters]
        return unique([x for value in values if value is not None for x in as_labels(value)])

    # Parameters, as scikit-learn's `clone` and searches take them. Not by its base class, for which
    # scikit-learn has a way of printing of its own inside the repr of an estimator.

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters by name; with `deep`, those of a constraint among them too."""
        params = {}
        for parameter in self._signature():
            value = params[parameter.name] = getattr(self, parameter.name)
            if deep and isinstance(value, Constraint):
                nested = value.get_params().items()
                params.update((f"{parameter.name}__{name}", each) for name, each in nested)
        return params

    def set_params(self, **params: Any) -> Self:
        """Set parameters by the names of `get_params`, in place."""
        known, nested = self.get_params(), {}
        for key, value in params.items():
            name, _, rest = key.partition("__")
            if name not in known:
                own = [known_name for known_name in known if "__" not in known_name]
                raise ValueError(f"Invalid parameter {name!r} for {self}; it has {own}.")
            if rest:
                nested.setdefault(name, {})[rest] = value
            else:
                setattr(self, name, value)
                known[name] = value
        for name, values in nested.items():
            known[name].set_params(**values)
        return self

    def _hint_at_each(self, states):
        """What may have been meant by a rule that names all states and excludes nothing."""
        if "states" not in self._label_parameters or set(self.labels()) != set(states):
            return ""
        others = [f"{p.name}={getattr(self, p.name)!r}" for p in self._signature()[1:]]
        call = ", ".join(["state", *others])
        return (
            " It names all states, so that they count as one. For a rule about each of them write "
            f"[{type(self).__name__}({call}) for state in states]."
        )

    # Validation, for `_build`.

    def _error(self, message, kind=ValueError):
        return kind(f"{short(self)}: {message}")

    def _check_known(self, labels, states):
        problem = unknown_labels(labels, states)
        if problem:
            raise self._error(problem)

    def _subset(self, name, states):
        """The labels of parameter `name` as a mask over the states."""
        labels = as_labels(getattr(self, name))
        if not labels:
            raise self._error(f"{name} is empty; name at least one label")
        self._check_known(labels, states)
        labels = set(labels)
        return np.array([state in labels for state in states])

    def _check_size(self, size, states, max_nodes):
        """Raise before a table of so many controller states is built."""
        if size > most_states(max_nodes, len(states)):
            shown = f"{size:,}" if size < 2**64 else f"about 2^{size.bit_length() - 1}"
            message = f"needs {shown} controller states, {limit_in_words(max_nodes, len(states))}"
            raise self._error(message, ControllerTooLargeError)

    # Values: equality, hash, printing, specification.

    def _normal(self, name):
        """Parameter `name` in a hashable form, the same for the same meaning."""
        value = getattr(self, name)
        if name in self._label_parameters and value is not None:
            return frozenset(as_labels(value))
        return plain(value)

    def _plain(self, name):
        """Parameter `name` as plain lists, labels and numbers."""
        value = getattr(self, name)
        if name in self._label_parameters and value is not None:
            return as_labels(value)
        return plain(value)

    def _signature(self):
        return list(parameters_of(type(self)).values())

    def _key(self):
        try:
            key = tuple(self._normal(parameter.name) for parameter in self._signature())
            hash(key)
        except ControllerTooLargeError:
            raise
        except (TypeError, ValueError):
            return repr(self)  # malformed parameters, which only validation complains about
        return key

    def __eq__(self, other):
        if type(other) is not type(self):
            return NotImplemented
        return self._key() == other._key()

    def __hash__(self):
        return hash((type(self).__name__, self._key()))

    def __repr__(self):
        parts = []
        for parameter in self._signature():
            value = self._plain(parameter.name)
            if parameter.name in self._label_parameters and value is not None:
                value = one_or_many(value)
            if parameter.default is inspect.Parameter.empty:
                parts.append(repr(value))
            elif value != parameter.default:
                parts.append(f"{parameter.name}={value!r}")
        return f"{type(self).__name__}({', '.join(parts)})"

    def _repr_html_(self):
        return f"<code>{html.escape(repr(self))}</code>"

    def to_spec(self) -> dict[str, Any]:
        """The constraint as a plain dictionary that JSON and YAML can hold.

        Parameters at their default are left out; sets of labels become sorted lists.
        :func:`skchmm.constraints.from_spec` is the inverse.

        Returns
        -------
        dict
        """
        spec = {"type": type(self).__name__}
        for parameter in self._signature():
            value = self._plain(parameter.name)
            if parameter.default is inspect.Parameter.empty or value != parameter.default:
                spec[parameter.name] = value
        return spec

    @classmethod
    def _from_fields(cls, fields):
        """The constraint of a specification's fields, the type taken off."""
        return cls(**fields)

    # Composition. The imports are local because `logic` builds on this module.

    def __and__(self, other: "Constraint | Controller") -> "Constraint":
        from .logic import And

        return And._joined(self, other)

    def __rand__(self, other: "Constraint | Controller") -> "Constraint":
        from .logic import And

        return And._joined(other, self)

    def __or__(self, other: "Constraint | Controller") -> "Constraint":
        from .logic import Or

        return Or._joined(self, other)

    def __ror__(self, other: "Constraint | Controller") -> "Constraint":
        from .logic import Or

        return Or._joined(other, self)

    def __invert__(self) -> "Constraint":
        from .logic import Not

        return Not(self)


@cache
def parameters_of(kind):
    """The parameters of a kind of constraint, by name; there may be thousands of its kind."""
    return inspect.signature(kind).parameters


def is_constraint(value):
    """Whether `value` can stand where a constraint is asked for."""
    return isinstance(value, (Constraint, Controller))


def one_or_many(labels):
    """A list of labels as users write it: a single label by itself."""
    return labels[0] if len(labels) == 1 else labels


def short(constraint, width=200):
    """The repr for a message: long ones are cut."""
    text = repr(constraint)
    return text if len(text) <= width else f"{text[: width - 3]}..."


def accepts_nothing(controller):
    """Whether a minimal controller accepts no path."""
    if len(controller.epochs) == 1 and controller.horizon is None:
        # Trimmed: what is left leads to acceptance, however many steps away.
        return not (controller.tables >= 0).any()
    return controller.is_empty()


def membership(states, members, inside, outside, accept, *, epochs=(0,)):
    """The controller of two columns: the next state after a label in A, and after any other.

    Parameters
    ----------
    states : tuple of labels
    members : bool array (n_states,), which states are in A
    inside, outside : int arrays (n,) or (n_epochs, n); -1 is dead
    accept : bool array (n,)
    epochs : first step of each epoch
    """
    inside = np.atleast_2d(np.asarray(inside, dtype=np.int32))
    outside = np.atleast_2d(np.asarray(outside, dtype=np.int32))
    tables = np.where(members, inside[:, :, None], outside[:, :, None])
    return Controller(states, tables, np.asarray(accept, dtype=bool), epochs=epochs)


def every_step(table, broken):
    """The breaks of a rule whose steps are broken or not, whatever the time and the end."""
    ends = np.zeros(len(table), dtype=bool)
    return Breaks(table[None], broken[None], ends, np.zeros(1, dtype=np.int64), None)


def count_breaks(states, members, inside, outside, broken, *, epochs=(0,)):
    """The breaks of a rule on A, as `membership` takes it; no step is dead.

    Parameters
    ----------
    broken : bool array like `inside`
        Whether a step into A breaks the rule.
    """
    members = np.asarray(members, dtype=bool)
    inside = np.atleast_2d(np.asarray(inside, dtype=np.int32))
    outside = np.atleast_2d(np.asarray(outside, dtype=np.int32))
    tables = np.where(members, inside[:, :, None], outside[:, :, None])
    steps = np.atleast_2d(np.asarray(broken, dtype=bool))[:, :, None] & members
    return Breaks(tables, steps, np.zeros(tables.shape[1], dtype=bool), np.array(epochs), None)
