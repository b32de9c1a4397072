"""Linear temporal logic on finite paths."""

from collections.abc import Hashable
from functools import lru_cache

from ..controller import intersection, union
from ..exceptions import ControllerTooLargeError
from .base import Constraint
from .limits import COST_OF_PART, Work, spend_on_reading
from .progression import automaton
from .syntax import Classes, Parser, label_numbers

_TOKEN = (
    r"(?P<symbol><->|->|&&|\|\||[!~&|(){}])"
    r"""|(?P<label>(?:[^\s!~&|(){}<>'"\\-]|-(?!>))+)"""
)
_UNARY = ("!", "~", "X", "WX", "F", "G", "Y", "O", "H")
_BINARY = ("U", "R", "W", "S")
_CONSTANTS = ("last", "true", "false")
WORDS = frozenset((*_UNARY, *_BINARY, *_CONSTANTS))
_SAME = {"~": "!", "&&": "&", "||": "|"}
# Small automata cost about as much as so many steps of `Work`.
_COST_OF_LEAF, _COST_OF_PRODUCT = 700, 1_700


# How tightly binary operators bind, and those of them that are read from the right.
_BINDING = {"<->": 0, "->": 1, "|": 2, "||": 2, "&": 3, "&&": 3} | dict.fromkeys(_BINARY, 4)
_FROM_THE_RIGHT = {"->", *_BINARY}


class _Group:
    """An open group: its operands, and the operators that still wait for their right side."""

    __slots__ = ("opening", "operands", "operators", "unary")

    def __init__(self, opening):
        self.opening, self.operands, self.operators, self.unary = opening, [], [], []


class _FormulaParser(Parser):
    """From a formula to a list of subformulas, as `progression` takes them.

    Operators wait until one that binds less tightly comes; the groups that are open are a list, so
    that nothing here needs recursion.
    """

    def __init__(self, text):
        super().__init__(text, _TOKEN, words=WORDS)
        self.nodes, self._number, self.labels = [], {}, []
        self.groups = [_Group(None)]

    def parse(self):
        if self.next.kind == "end":
            self.fail("the formula is empty")
        while self.groups:
            self.operand()
            while self.groups and not self.operator():
                self.end_group()
        return self

    def node(self, *key):
        if key not in self._number:
            self._number[key] = len(self.nodes)
            self.nodes.append(key)
        return self._number[key]

    def operand(self):
        """Everything up to the next single formula, which may be within groups."""
        while True:
            if token := self.take(*_UNARY):
                self.groups[-1].unary.append(_SAME.get(token.kind, token.kind))
            elif token := self.take("("):
                self.groups.append(_Group(token))
            else:
                return self.found(self.single())

    def found(self, number):
        """An operand of the innermost group, under the operators written before it."""
        group = self.groups[-1]
        while group.unary:
            number = self.node(group.unary.pop(), number)
        group.operands.append(number)

    def operator(self):
        """Take a binary operator; None if there is none."""
        token = self.take(*_BINDING)
        if token:
            kind = _SAME.get(token.kind, token.kind)
            self.combine(_BINDING[kind] + (kind in _FROM_THE_RIGHT))
            self.groups[-1].operators.append(kind)
        return token

    def combine(self, binding):
        """Give the waiting operators that bind at least so tightly their operands."""
        group = self.groups[-1]
        while group.operators and _BINDING[group.operators[-1]] >= binding:
            right, left = group.operands.pop(), group.operands.pop()
            group.operands.append(self.node(group.operators.pop(), left, right))

    def end_group(self):
        opening = self.groups[-1].opening
        if opening is None:
            if self.next.kind == ")":
                self.fail("this ')' closes nothing")
            if self.next.kind != "end":
                self.fail(f"expected an operator or the end, but there is {self.next.text!r}")
        elif not self.take(")"):
            if self.next.kind == "end":
                self.fail("this '(' is never closed by ')'", opening)
            self.fail(f"expected an operator or ')', but there is {self.next.text!r}")
        self.combine(0)
        (number,) = self.groups.pop().operands
        if self.groups:
            self.found(number)

    def single(self):
        before, token = self.before, self.take()
        if token.kind == "label":
            return self.atom([token])
        if token.kind in _CONSTANTS:
            return self.node(token.kind)
        if token.kind == "{":
            inside = []
            while self.next.kind == "label" or self.next.text.isalpha():
                inside.append(self.take())
            if not inside or not self.take("}"):
                self.fail("a set is {a b}, with at least one label", token)
            return self.atom(inside)
        found = "the formula ends" if token.kind == "end" else f"there is {token.text!r}"
        for word in (token.kind, before and before.kind):
            if word in WORDS and word.isalpha():
                found += f" ({word} is an operator; write '{word}' in quotes for a label)"
                break
        self.fail(f"expected a label or a formula, but {found}", token)

    def atom(self, tokens):
        labels = [self.label(token) for token in tokens]
        self.labels.extend(labels)
        return self.node("atom", frozenset(label.text for label in labels))


class LTLf(Constraint):
    """A formula of linear temporal logic holds on the path.

    A formula speaks of a step t of the path x_0..x_T; the path satisfies it if it holds at t = 0.

    ============================  ===========================================================
    ``a``, ``'x y'``, ``{a b}``   x_t is the label a; a quoted label; one of several
    ``true``, ``false``           always; never
    ``last``                      t = T
    ``!f``, ``f & g``, ``f | g``  not; and; or
    ``f -> g``, ``f <-> g``       implies; if and only if
    ``X f``                       t < T, and f holds at t + 1
    ``WX f``                      t = T, or f holds at t + 1
    ``F f``, ``G f``              f holds at some step from t on; at all of them
    ``f U g``                     g holds at some s >= t, and f at all steps from t to s - 1
    ``f W g``                     ``(f U g) | G f``
    ``f R g``                     g holds from t on, up to and including the first step at
                                  which f holds, if there is one
    ``Y f``                       t > 0, and f held at t - 1
    ``O f``, ``H f``              f held at some step up to t; at all of them
    ``f S g``                     g held at some s <= t, and f at all steps from s + 1 to t
    ============================  ===========================================================

    Operators bind in this order, the tightest first: the operators of one formula; ``U``, ``W``,
    ``R`` and ``S``, from the right; ``&``; ``|``; ``->``, from the right; ``<->``. Future and
    past operators may be nested in each other. ``~``, ``&&`` and ``||`` mean the same as ``!``,
    ``&`` and ``|``.
    Labels with the name of an operator are quoted, except in sets. A bare ``3`` is the label 3 or
    '3', whichever of them is a state ('3' if both are). The controller is minimal.

    Parameters
    ----------
    formula : str

    See Also
    --------
    Regex : A regular expression over the labels.
    And : All of several rules hold.
    Or : At least one of several rules holds.
    Not : A rule does not hold.

    Examples
    --------
    >>> from skchmm import satisfies
    >>> from skchmm.constraints import LTLf
    >>> answered = LTLf("G(call -> F answer) & !hangup U answer")
    >>> satisfies(["idle", "call", "call", "answer", "hangup"], answered)
    True
    >>> satisfies(["call", "answer", "call"], answered)
    False
    """

    _label_parameters = ()

    def __init__(self, formula: str) -> None:
        self.formula = formula

    def _parsed(self):
        if not isinstance(self.formula, str):
            raise self._error(f"formula must be a string, got {self.formula!r}")
        spend_on_reading(self.formula)
        try:
            read = _parsed if len(self.formula) < _LONG else _parsed.__wrapped__
            return read(self.formula)
        except ValueError as error:
            raise self._error(str(error)) from None

    def _normal(self, name):
        return tuple(self._parsed().nodes)

    def labels(self) -> list[Hashable]:
        return list(dict.fromkeys(label.value for label in self._parsed().labels))

    def _build(self, states, max_nodes):
        parsed = self._parsed()
        try:
            numbers = label_numbers(parsed.labels, self.formula, states)
        except ValueError as error:
            raise self._error(str(error)) from None
        atoms = {node[1] for node in parsed.nodes if node[0] == "atom"}
        members = {atom: frozenset(numbers[text] for text in atom) for atom in atoms}
        classes = Classes(members.values(), len(states))
        inside = {atom: frozenset(classes.of(numbers)) for atom, numbers in members.items()}
        nodes = tuple(
            ("atom", inside[node[1]]) if node[0] == "atom" else node for node in parsed.nodes
        )
        try:
            build = _compact if len(nodes) < _LONG else _compact.__wrapped__
            compact = build(nodes, classes.n_classes, max_nodes)
            return compact._with_labels(states, classes.class_of, max_nodes)
        except ControllerTooLargeError as error:
            raise self._error(str(error), ControllerTooLargeError) from None


# Both are asked for more than once: a model is full of formulas that differ in their labels alone.
# Longer ones than this, in letters and in parts, are not kept.
_LONG = 1000


@lru_cache(maxsize=2048)
def _parsed(formula):
    return _FormulaParser(formula).parse()


@lru_cache(maxsize=256)
def _compact(nodes, n_classes, max_nodes):
    """The minimal controller of a formula whose atoms are sets of classes, over the classes."""
    return _Compiler(nodes, n_classes, max_nodes).compile()


class _Compiler:
    """Conjunctions and disjunctions become products of small automata, the rest progresses."""

    def __init__(self, nodes, n_classes, max_nodes):
        self.nodes, self.n_classes, self.max_nodes = nodes, n_classes, max_nodes
        self.work = Work(max_nodes)
        self.work.spend(COST_OF_PART * len(nodes))

    def compile(self):
        """The automaton of the whole formula, those of its parts first."""
        whole = (len(self.nodes) - 1, True)
        todo, done, junctions = [whole], {}, {}
        while todo:
            part = todo[-1]
            if part in done:
                todo.pop()
                continue
            if part not in junctions:
                junctions[part] = self._junction(*part)
                if len(junctions[part][0]) > 1:
                    todo += junctions[part][0]
                    continue
            parts, combine = junctions[part]
            if len(parts) == 1:
                done[part] = self._leaf(*parts[0])
            else:
                self.work.spend(_COST_OF_PRODUCT * len(parts))
                controllers = [done[each] for each in parts]
                done[part] = combine(controllers, max_nodes=self.max_nodes)
                self.work.spend(done[part].tables.size)
        return done[whole].minimal()

    def _junction(self, number, positive):
        """The parts of which all, or one, must hold, taken apart as far as it goes."""
        parts, todo, operator = [], [(number, positive)], None
        while todo:
            number, sign = todo.pop()
            kind, *operands = self.nodes[number]
            if kind == "!":
                todo.append((operands[0], not sign))
                continue
            # With a minus sign each is the other, by De Morgan.
            found = {"&": "and" if sign else "or", "|": "or" if sign else "and",
                     "->": "or" if sign else "and"}.get(kind)  # fmt: skip
            operator = operator or found
            if found is None or found != operator:
                parts.append((number, sign))
                continue
            left, right = operands
            todo.append((right, sign))
            todo.append((left, not sign if kind == "->" else sign))
        return list(dict.fromkeys(parts)), intersection if operator == "and" else union

    def _leaf(self, number, positive):
        # Only what the subformula is made of, so that nothing else is remembered.
        needed, todo = {number}, [number]
        while todo:
            kind, *operands = self.nodes[todo.pop()]
            fresh = [] if kind == "atom" else [k for k in operands if k not in needed]
            needed.update(fresh)
            todo.extend(fresh)
        self.work.spend(_COST_OF_LEAF + 4 * len(needed))
        place = {k: i for i, k in enumerate(sorted(needed))}
        nodes = [
            node if node[0] == "atom" else (node[0], *(place[k] for k in node[1:]))
            for node in (self.nodes[k] for k in sorted(needed))
        ]

        def holds(classes, k):
            return k in classes

        labels = range(self.n_classes)
        return automaton(nodes, positive, holds, labels, self.max_nodes, self.work).minimal()
