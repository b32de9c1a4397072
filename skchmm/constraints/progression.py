"""From a formula of temporal logic to a deterministic automaton, step by step.

A formula at step t is a Boolean function of formulas at step t + 1, once x_t is known:
"F b" is true if x_t is b, and otherwise what "F b" is at t + 1. So the state of the automaton
is a Boolean function of "formula k holds at the next step", which reading a label turns into the
next one. The functions are binary decision diagrams: equal ones are one object, and there are
finitely many. Past operators remember, as such functions, what held at the step before; those
of formulas without a future are constants, that is, bits.
"""

import sys

from ..controller import Controller

_COST_OF_NODE = 20  # in steps of `Work`; a node of a diagram takes a few hundred bytes


class Diagrams:
    """Ordered binary decision diagrams: 0 and 1 are the constants, other numbers are tests."""

    def __init__(self, work):
        self.work = work
        # The constants come after all variables.
        self.variable, self.low, self.high = [sys.maxsize] * 2, [0, 1], [0, 1]
        self._number, self._choices = {}, {}

    def test(self, variable, high=1, low=0):
        """If the variable holds then `high` else `low`, both of later variables only."""
        if high == low:
            return high
        key = (variable, high, low)
        if key not in self._number:
            self._number[key] = len(self.variable)
            self.variable.append(variable)
            self.high.append(high)
            self.low.append(low)
        return self._number[key]

    def choose(self, f, g, h):
        """If f then g else h."""
        # As `substitute`, by a list of what is still to do: diagrams may be deeper than the stack.
        variable, high, low = self.variable, self.high, self.low
        whole = (f, g, h)
        todo = [whole]
        while todo:
            key = todo[-1]
            if self._chosen(key) is not None:
                todo.pop()
                continue
            f, g, h = key
            in_f, in_g, in_h = variable[f], variable[g], variable[h]
            top = min(in_f, in_g, in_h)
            at_f, at_g, at_h = in_f == top, in_g == top, in_h == top
            highs = (high[f] if at_f else f, high[g] if at_g else g, high[h] if at_h else h)
            lows = (low[f] if at_f else f, low[g] if at_g else g, low[h] if at_h else h)
            if_high, if_low = self._chosen(highs), self._chosen(lows)
            if if_high is not None and if_low is not None:
                self.work.spend(_COST_OF_NODE)
                self._choices[key] = self.test(top, if_high, if_low)
                continue
            if if_high is None:
                todo.append(highs)
            if if_low is None:
                todo.append(lows)
        return self._chosen(whole)

    def _chosen(self, key):
        """What `choose` gives, if that is known."""
        f, g, h = key
        if f == 1 or g == h:
            return g
        if f == 0:
            return h
        if g == 1 and h == 0:
            return f
        return self._choices.get(key)

    def substitute(self, f, values, known):
        """f with a function for each variable; `known` keeps the results for these values."""
        todo = [f]
        while todo:
            k = todo[-1]
            if k < 2 or k in known:
                todo.pop()
                continue
            parts = [part for part in (self.high[k], self.low[k]) if part > 1 and part not in known]
            if parts:
                todo += parts
                continue
            self.work.spend(_COST_OF_NODE)
            high, low = (part if part < 2 else known[part] for part in (self.high[k], self.low[k]))
            known[k] = self.choose(values[self.variable[k]], high, low)
        return f if f < 2 else known[f]

    def evaluate(self, f, values):
        """f where each variable is true or false."""
        while f > 1:
            f = self.high[f] if values[self.variable[f]] else self.low[f]
        return bool(f)


# What past operators hold to have been before the first step.
_BEFORE = {"Y": 0, "O": 0, "H": 1, "S": 0}


class Progression:
    """The states and steps of the automaton of one formula.

    Parameters
    ----------
    nodes : list of tuples
        Subformulas, each after its own: an operator and the numbers of its operands, or
        ``("atom", labels)``, ``("true",)``, ``("false",)`` or ``("last",)``. The whole comes last.
    holds : callable
        ``holds(labels, a)``: whether an atom is true at label index a.
    work : Work
    """

    def __init__(self, nodes, holds, work):
        self.nodes, self.holds, self.work = nodes, holds, work
        self.diagrams = Diagrams(work)
        self.past = [k for k, node in enumerate(nodes) if node[0] in _BEFORE]
        self._steps = {}

    def initial(self, positive):
        """The whole formula, or its opposite, at the first step."""
        whole = self.diagrams.test(len(self.nodes) - 1)
        if not positive:
            whole = self.diagrams.choose(whole, 0, 1)
        return whole, False, tuple(_BEFORE[self.nodes[k][0]] for k in self.past)

    def follow(self, state, a):
        """The state after label a. It is (function, may the path end here, memory)."""
        f, _, memory = state
        if f < 2:  # decided: whatever follows, or nothing
            return (1, True, ()) if f else None
        key = (a, memory)
        self.work.spend(10 + 2 * len(memory))
        if key not in self._steps:
            self.work.spend(4 * len(self.nodes))
            self._steps[key] = self._step(a, memory)
        going_on, ending, known, remembered = self._steps[key]
        after = self.diagrams.substitute(f, going_on, known)
        accept = self.diagrams.evaluate(f, ending)
        if after == 0 and not accept:
            return None
        return after, accept, remembered if after > 1 else ()

    def _step(self, a, memory):
        """Every subformula at a step with label a: if the path goes on, and if it ends here."""
        D = self.diagrams
        going_on, ending, known = [], [], {}
        memory_of = dict(zip(self.past, memory))
        for k, (operator, *operands) in enumerate(self.nodes):
            more = [] if operator == "atom" else [going_on[i] for i in operands]
            end = [] if operator == "atom" else [ending[i] for i in operands]
            if operator in _BEFORE:
                before = memory_of[k]
                more.append(D.substitute(before, going_on, known))
                end.append(D.evaluate(before, ending))
            elif operator in ("X", "WX"):
                more.append(D.test(operands[0]))
            elif operator in ("F", "G", "U", "R", "W"):
                more.append(D.test(k))
            if operator == "atom":
                now = self.holds(operands[0], a)
                more, end = int(now), now
            else:
                more, end = _RULES[operator](D, more, end)
            going_on.append(more)
            ending.append(end)
        # Y remembers its operand, the others what they are themselves.
        remembered = tuple(
            going_on[self.nodes[k][1] if self.nodes[k][0] == "Y" else k] for k in self.past
        )
        return going_on, ending, known, remembered


def _or(D, f, g):
    return D.choose(f, 1, g)


def _and(D, f, g):
    return D.choose(f, g, 0)


# For each operator: from its operands (and, last, what it is at the next step or was at the step
# before) as functions when the path goes on and as truth values when it ends here, to the same
# two of the formula.
_RULES = {
    "true": lambda D, f, e: (1, True),
    "false": lambda D, f, e: (0, False),
    "last": lambda D, f, e: (0, True),
    "!": lambda D, f, e: (D.choose(f[0], 0, 1), not e[0]),
    "&": lambda D, f, e: (_and(D, *f), e[0] and e[1]),
    "|": lambda D, f, e: (_or(D, *f), e[0] or e[1]),
    "->": lambda D, f, e: (D.choose(f[0], f[1], 1), not e[0] or e[1]),
    "<->": lambda D, f, e: (D.choose(f[0], f[1], D.choose(f[1], 0, 1)), e[0] == e[1]),
    "X": lambda D, f, e: (f[1], False),
    "WX": lambda D, f, e: (f[1], True),
    "F": lambda D, f, e: (_or(D, *f), e[0]),
    "G": lambda D, f, e: (_and(D, *f), e[0]),
    "U": lambda D, f, e: (_or(D, f[1], _and(D, f[0], f[2])), e[1]),
    "R": lambda D, f, e: (_and(D, f[1], _or(D, f[0], f[2])), e[1]),
    "W": lambda D, f, e: (_or(D, f[1], _and(D, f[0], f[2])), e[0] or e[1]),
    "Y": lambda D, f, e: (f[1], e[1]),
    "O": lambda D, f, e: (_or(D, *f), e[0] or e[1]),
    "H": lambda D, f, e: (_and(D, *f), e[0] and e[1]),
    "S": lambda D, f, e: (_or(D, f[1], _and(D, f[0], f[2])), e[1] or (e[0] and e[2])),
}


def automaton(nodes, positive, holds, labels, max_nodes, work):
    """The controller, over label indices, of a formula or of its opposite."""
    progression = Progression(nodes, holds, work)
    return Controller.explore(
        labels,
        progression.initial(positive),
        progression.follow,
        lambda state: state[1],
        max_nodes=max_nodes,
    )
