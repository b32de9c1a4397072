"""Regular expressions over labels."""

from collections.abc import Hashable
from functools import lru_cache

from ..exceptions import ControllerTooLargeError
from .base import Constraint
from .glushkov import automaton
from .limits import COST_OF_PART, Work, spend_on_reading
from .syntax import Parser, label_numbers

_TOKEN = r"""(?P<symbol>\[\^|[()|*+?.\[\]{}])|(?P<label>[^\s()|*+?.\[\]{}^'"\\]+)"""
_DIGITS = 18
_SHORT = 500  # letters of a pattern that is remembered
_STARS = {"*": (0, None), "+": (1, None), "?": (0, 1)}


class _Group:
    """An open group: how many alternatives it has so far, and parts in the last of them."""

    __slots__ = ("n_done", "n_parts", "opening")

    def __init__(self, opening):
        self.opening, self.n_done, self.n_parts = opening, 0, 0


class _PatternParser(Parser):
    """From a pattern to a program, as `glushkov` describes it."""

    def __init__(self, text):
        super().__init__(text, _TOKEN)
        self.program, self.groups = [], [_Group(None)]

    def parse(self):
        if self.next.kind == "end":
            self.fail("the pattern is empty; a path has at least one label")
        while self.groups:
            group, token = self.groups[-1], self.next
            if token.kind == "(":
                self.groups.append(_Group(self.take()))
            elif token.kind in ("label", ".", "[", "[^"):
                self.program.append(self.single())
                self.repetitions()
                group.n_parts += 1
            elif group.n_parts == 0:
                found = "the pattern ends" if token.kind == "end" else f"there is {token.text!r}"
                self.fail(f"expected a label, '.', a set or a group, but {found}")
            elif self.take("|"):
                self.end_alternative()
            else:
                self.end_group()
        return tuple(self.program)

    def end_alternative(self):
        group = self.groups[-1]
        if group.n_parts > 1:
            self.program.append(("seq", group.n_parts))
        group.n_done, group.n_parts = group.n_done + 1, 0

    def end_group(self):
        opening = self.groups[-1].opening
        if opening is None:
            if self.next.kind == ")":
                self.fail("this ')' closes nothing")
            if self.next.kind != "end":
                self.fail(f"{self.next.text!r} does not belong here")
        elif not self.take(")"):
            self.unclosed(opening, ")", f"{self.next.text!r} does not belong here")
        self.end_alternative()
        group = self.groups.pop()
        if group.n_done > 1:
            self.program.append(("or", group.n_done))
        if self.groups:
            self.repetitions()
            self.groups[-1].n_parts += 1

    def repetitions(self):
        while token := self.take("*", "+", "?", "{"):
            low, high = _STARS.get(token.kind) or self.bounds(token)
            self.program.append(("repeat", low, high))

    def bounds(self, opening):
        """m}, m,n} or m,} after a brace."""
        text = ""
        while token := self.take("label"):
            text += token.text
        low, comma, high = text.partition(",")
        good = low.isdecimal() and (high.isdecimal() or not high)
        if not good or not self.take("}"):
            self.fail("a repetition is {m}, {m,n} or {m,}, with numbers m and n", opening)
        if max(len(low), len(high)) > _DIGITS:
            self.fail(f"a repetition has numbers of at most {_DIGITS} digits", opening)
        low = int(low)
        high = low if not comma else int(high) if high else None
        if high is not None and low > high:
            self.fail(f"at least {low} and at most {high} contradict each other", opening)
        return low, high

    def single(self):
        token = self.take()
        if token.kind == "label":
            return ("set", False, (self.label(token),))
        if token.kind == ".":
            return ("set", True, ())
        labels = []
        while inner := self.take("label"):
            labels.append(self.label(inner))
        if not labels:
            self.fail("a set names at least one label")
        if not self.take("]"):
            self.unclosed(token, "]", "a set holds labels only, and ends with ']'")
        return ("set", token.kind == "[^", tuple(labels))

    def unclosed(self, opening, closing, otherwise):
        if self.next.kind == "end":
            self.fail(f"this {opening.text!r} is never closed by {closing!r}", opening)
        self.fail(otherwise)


def _parse(pattern):
    return _PatternParser(pattern).parse()


# Comparing, hashing and building all read the pattern.
_remembered = lru_cache(maxsize=4096)(_parse)


def _labels(program):
    return [label for kind, *values in program if kind == "set" for label in values[1]]


class Regex(Constraint):
    """The whole path matches a regular expression over labels.

    Labels are separated by spaces. All other spaces are ignored.

    ================================  =======================================================
    ``a``                             the label a, for one step
    ``'x y'``, ``"3+"``               a quoted label; a backslash takes the next character as
                                      it is
    ``.``                             any label
    ``[a b]``, ``[^a b]``             one of the labels; any other label
    ``e f``, ``e | f``                e, then f; e or f
    ``e*``, ``e+``, ``e?``            any number of times; at least once; at most once
    ``e{m}``, ``e{m,n}``, ``e{m,}``   m times; m to n times; at least m times
    ``( )``                           grouping
    ================================  =======================================================

    Repetition binds tighter than sequence, and sequence tighter than ``|``. A bare ``3`` is the
    label 3 or '3', whichever of them is a state ('3' if both are). The controller is
    minimal.

    Parameters
    ----------
    pattern : str

    See Also
    --------
    LTLf : A formula of linear temporal logic on finite traces.
    Precedence : One label comes before another.

    Examples
    --------
    A gene with its reading frame:

    >>> from skchmm import satisfies
    >>> from skchmm.constraints import Regex
    >>> gene = Regex("UTR5+ START{3} (CDS CDS CDS)+ STOP{3} UTR3+")
    >>> path = ["UTR5"] + ["START"] * 3 + ["CDS"] * 9 + ["STOP"] * 3 + ["UTR3"] * 4
    >>> satisfies(path, gene)
    True
    >>> satisfies([x for t, x in enumerate(path) if t != 5], gene)
    False
    """

    _label_parameters = ()

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern

    def _parsed(self):
        if not isinstance(self.pattern, str):
            raise self._error(f"pattern must be a string, got {self.pattern!r}")
        spend_on_reading(self.pattern)
        try:
            return (_remembered if len(self.pattern) <= _SHORT else _parse)(self.pattern)
        except ValueError as error:
            raise self._error(str(error)) from None

    def _normal(self, name):
        return self._parsed()

    def labels(self) -> list[Hashable]:
        return list(dict.fromkeys(label.value for label in _labels(self._parsed())))

    def _build(self, states, max_nodes):
        program = self._parsed()
        try:
            numbers = label_numbers(_labels(program), self.pattern, states)
        except ValueError as error:
            raise self._error(str(error)) from None
        try:
            work = Work(max_nodes)
            work.spend(COST_OF_PART * len(program))
            return automaton(program, numbers, states, max_nodes, work)
        except ControllerTooLargeError as error:
            raise self._error(str(error), ControllerTooLargeError) from None
