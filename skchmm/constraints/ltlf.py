"""Linear temporal logic on finite paths."""

from ..controller import Controller, intersection, union
from ..exceptions import ControllerTooLargeError
from .base import Constraint
from .progression import automaton
from .syntax import Parser, classes, label_numbers

_TOKEN = (
    r"(?P<symbol><->|->|&&|\|\||[!~&|(){}])"
    r"""|(?P<label>(?:[^\s!~&|(){}<>'"\\-]|-(?!>))+)"""
)
_UNARY = ("!", "~", "X", "WX", "F", "G", "Y", "O", "H")
_BINARY = ("U", "R", "W", "S")
_CONSTANTS = ("last", "true", "false")
WORDS = frozenset((*_UNARY, *_BINARY, *_CONSTANTS))
_SAME = {"~": "!", "&&": "&", "||": "|"}


class _FormulaParser(Parser):
    """Recursive descent to a list of subformulas, as `progression` takes them."""

    def __init__(self, text):
        super().__init__(text, _TOKEN, words=WORDS)
        self.nodes, self._number, self.labels = [], {}, []

    def parse(self):
        if self.next.kind == "end":
            self.fail("the formula is empty")
        self.equivalence()
        if self.next.kind == ")":
            self.fail("this ')' closes nothing")
        if self.next.kind != "end":
            self.fail(f"expected an operator or the end, but there is {self.next.text!r}")
        return self

    def node(self, *key):
        if key not in self._number:
            self._number[key] = len(self.nodes)
            self.nodes.append(key)
        return self._number[key]

    def equivalence(self):
        left = self.implication()
        while self.take("<->"):
            left = self.node("<->", left, self.implication())
        return left

    def implication(self):
        parts = [self.disjunction()]
        while self.take("->"):
            parts.append(self.disjunction())
        return self._from_the_right(["->"] * (len(parts) - 1), parts)

    def disjunction(self):
        left = self.conjunction()
        while self.take("|", "||"):
            left = self.node("|", left, self.conjunction())
        return left

    def conjunction(self):
        left = self.binary()
        while self.take("&", "&&"):
            left = self.node("&", left, self.binary())
        return left

    def binary(self):
        operators, parts = [], [self.unary()]
        while token := self.take(*_BINARY):
            operators.append(token.kind)
            parts.append(self.unary())
        return self._from_the_right(operators, parts)

    def _from_the_right(self, operators, parts):
        right = parts.pop()
        while parts:
            right = self.node(operators.pop(), parts.pop(), right)
        return right

    def unary(self):
        operators = []
        while token := self.take(*_UNARY):
            operators.append(_SAME.get(token.kind, token.kind))
        number = self.single()
        for operator in reversed(operators):
            number = self.node(operator, number)
        return number

    def single(self):
        before = self.tokens[self.index - 1].kind if self.index else None
        token = self.take()
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
        if token.kind == "(":
            number = self.equivalence()
            if not self.take(")"):
                if self.next.kind == "end":
                    self.fail("this '(' is never closed by ')'", token)
                self.fail(f"expected an operator or ')', but there is {self.next.text!r}")
            return number
        found = "the formula ends" if token.kind == "end" else f"there is {token.text!r}"
        for word in (token.kind, before):
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

    From the tightest to the loosest bind: the operators of one formula; ``U``, ``W``, ``R`` and
    ``S``, from the right; ``&``; ``|``; ``->``, from the right; ``<->``. Future and past operators
    may be nested in each other. ``~``, ``&&`` and ``||`` are the same as ``!``, ``&`` and ``|``.
    Labels named as an operator are quoted, except in sets. A bare ``3`` is the label 3 or '3',
    whichever there is among the states ('3' if both are). The controller is minimal.

    Parameters
    ----------
    formula : str

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

    def __init__(self, formula):
        self.formula = formula

    def _parsed(self):
        if not isinstance(self.formula, str):
            raise self._error(f"formula must be a string, got {self.formula!r}")
        try:
            return _FormulaParser(self.formula).parse()
        except ValueError as error:
            raise self._error(str(error)) from None
        except RecursionError:
            raise self._error("the formula is nested too deeply") from None

    def _normal(self, name):
        return tuple(self._parsed().nodes)

    def labels(self):
        return list(dict.fromkeys(label.value for label in self._parsed().labels))

    def _build(self, states, max_nodes):
        parsed = self._parsed()
        try:
            numbers = label_numbers(parsed.labels, self.formula, states)
        except ValueError as error:
            raise self._error(str(error)) from None
        try:
            return _Compiler(parsed.nodes, numbers, states, max_nodes).compile()
        except ControllerTooLargeError as error:
            raise self._error(str(error), ControllerTooLargeError) from None
        except RecursionError:
            raise self._error("the formula is nested too deeply") from None


class _Compiler:
    """Conjunctions and disjunctions become products of small automata, the rest progresses."""

    def __init__(self, nodes, numbers, states, max_nodes):
        self.nodes, self.states, self.max_nodes = nodes, states, max_nodes
        atoms = {node[1] for node in nodes if node[0] == "atom"}
        self.members = {atom: {numbers[text] for text in atom} for atom in atoms}
        rows = [[a in self.members[atom] for atom in atoms] for a in range(len(states))]
        self.chosen, self.class_of = classes(rows)

    def compile(self):
        compact = self._controller(len(self.nodes) - 1, True)
        return Controller(self.states, compact.tables[:, :, self.class_of], compact.accept)

    def _controller(self, number, positive):
        node = self.nodes[number]
        while node[0] == "!":
            number, positive = node[1], not positive
            node = self.nodes[number]
        parts, combine = self._junction(number, positive)
        if len(parts) == 1:
            return self._leaf(number, positive)
        controllers = [self._controller(*part) for part in parts]
        return combine(controllers, max_nodes=self.max_nodes)

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
        place = {k: i for i, k in enumerate(sorted(needed))}
        nodes = [
            node if node[0] == "atom" else (node[0], *(place[k] for k in node[1:]))
            for node in (self.nodes[k] for k in sorted(needed))
        ]

        def holds(atom, a):
            return a in self.members[atom]

        return automaton(nodes, positive, holds, self.chosen, self.max_nodes).minimal()
