"""Declare's templates, one function each."""

from collections.abc import Callable
from typing import TypeVar

from ...controller.checking import check_integer
from ...sequences.labels import as_labels
from ..base import Constraint, States
from ..boundary import EndsIn, StartsIn
from ..ltlf import WORDS, LTLf
from ..syntax import quote
from ..visitation import Occupancy

Template = TypeVar("Template", bound=Callable[..., Constraint])


def _shown(call: str, kept: str, broken: str, related: str) -> Callable[[Template], Template]:
    """Complete the docstring of a template: a path of letters that keeps it, one that breaks it."""

    def complete(template: Template) -> Template:
        both = ", b" if '"b"' in call else ""
        n = "\n    n : int, default=1\n        The number of steps." if "2" in call else ""
        template.__doc__ = f"""{template.__doc__}

    Parameters
    ----------
    a{both} : label or collection of labels
        The event{"s" if both else ""}; of a collection, any one label will do.{n}

    Returns
    -------
    Constraint

    See Also
    --------
    {related}

    Examples
    --------
    >>> from skchmm import satisfies
    >>> from skchmm.constraints import declare
    >>> rule = declare.{template.__name__}({call})
    >>> satisfies(list("{kept}"), rule), satisfies(list("{broken}"), rule)
    (True, False)
    """
        return template

    return complete


def _formula(template, a, b):
    """The formula with the labels in the places of a and b."""
    atoms = []
    for name, value in (("a", a), ("b", b)):
        words = [quote(label, WORDS) for label in as_labels(value)]
        if not words:
            raise ValueError(f"{name} is empty; name at least one label")
        atoms.append(words[0] if len(words) == 1 else "{" + " ".join(words) + "}")
    return LTLf(template.format(a=atoms[0], b=atoms[1]))


@_shown('"a", 2', "aba", "ab", "Absence, Exactly, Choice")
def Existence(a: States, n: int = 1) -> Constraint:
    """a occurs at least n times: ``F(a & X F(a & ...))``."""
    return Occupancy(a, at_least=check_integer(n, "Existence: n", 0))


@_shown('"a", 2', "ab", "aba", "Existence, Exactly, NotCoExistence")
def Absence(a: States, n: int = 1) -> Constraint:
    """a occurs less than n times: ``!F(a & X F(a & ...))``; by default never, ``G !a``."""
    return Occupancy(a, at_most=check_integer(n, "Absence: n", 1) - 1)


@_shown('"a", 2', "aba", "ab", "Existence, Absence")
def Exactly(a: States, n: int = 1) -> Constraint:
    """a occurs exactly n times: ``Existence(a, n)`` and ``Absence(a, n + 1)``."""
    n = check_integer(n, "Exactly: n", 0)
    return Occupancy(a, at_least=n, at_most=n)


@_shown('"a"', "ab", "ba", "End, Precedence")
def Init(a: States) -> Constraint:
    """a occurs first: ``a``."""
    return StartsIn(a)


@_shown('"a"', "ba", "ab", "Init, Response")
def End(a: States) -> Constraint:
    """a occurs last: ``F(last & a)``."""
    return EndsIn(a)


@_shown('"a", "b"', "ba", "ac", "CoExistence, Response")
def RespondedExistence(a: States, b: States) -> Constraint:
    """If a occurs, b occurs, before or after: ``F a -> F b``."""
    return _formula("F {a} -> F {b}", a, b)


@_shown('"a", "b"', "ba", "ac", "RespondedExistence, NotCoExistence")
def CoExistence(a: States, b: States) -> Constraint:
    """If one of a and b occurs, so does the other: ``F a <-> F b``."""
    return _formula("F {a} <-> F {b}", a, b)


@_shown('"a", "b"', "aab", "ba", "Precedence, Succession, AlternateResponse, ChainResponse")
def Response(a: States, b: States) -> Constraint:
    """Whenever a occurs, b occurs at that step or after it: ``G(a -> F b)``."""
    return _formula("G({a} -> F {b})", a, b)


@_shown('"a", "b"', "ab", "ba", "Response, Succession, AlternatePrecedence, ChainPrecedence")
def Precedence(a: States, b: States) -> Constraint:
    """b occurs only after a has occurred: ``!b W a``."""
    return _formula("!{b} W {a}", a, b)


@_shown('"a", "b"', "aab", "aba", "Response, Precedence, NotSuccession")
def Succession(a: States, b: States) -> Constraint:
    """Response and precedence: ``G(a -> F b) & (!b W a)``."""
    return _formula("G({a} -> F {b}) & (!{b} W {a})", a, b)


@_shown('"a", "b"', "abab", "aab", "Response, ChainResponse")
def AlternateResponse(a: States, b: States) -> Constraint:
    """After each a, b occurs before the next a: ``G(a -> X(!a U b))``."""
    return _formula("G({a} -> X(!{a} U {b}))", a, b)


@_shown('"a", "b"', "abab", "abb", "Precedence, ChainPrecedence")
def AlternatePrecedence(a: States, b: States) -> Constraint:
    """Before each b, a has occurred since the last b: ``(!b W a) & G(b -> WX(!b W a))``."""
    return _formula("(!{b} W {a}) & G({b} -> WX(!{b} W {a}))", a, b)


@_shown('"a", "b"', "abcab", "aabb", "Succession, ChainSuccession")
def AlternateSuccession(a: States, b: States) -> Constraint:
    """a and b alternate, a first: ``G(a -> X(!a U b)) & (!b W a) & G(b -> WX(!b W a))``."""
    return _formula("G({a} -> X(!{a} U {b})) & (!{b} W {a}) & G({b} -> WX(!{b} W {a}))", a, b)


@_shown('"a", "b"', "abb", "acb", "Response, AlternateResponse")
def ChainResponse(a: States, b: States) -> Constraint:
    """Each a is followed by b at the next step: ``G(a -> X b)``."""
    return _formula("G({a} -> X {b})", a, b)


@_shown('"a", "b"', "aab", "acb", "Precedence, AlternatePrecedence")
def ChainPrecedence(a: States, b: States) -> Constraint:
    """Each b follows on an a at the step before: ``G(b -> Y a)``."""
    return _formula("G({b} -> Y {a})", a, b)


@_shown('"a", "b"', "abcab", "acb", "Succession, AlternateSuccession")
def ChainSuccession(a: States, b: States) -> Constraint:
    """a and b occur only one right after the other: ``G(a -> X b) & G(b -> Y a)``."""
    return _formula("G({a} -> X {b}) & G({b} -> Y {a})", a, b)


@_shown('"a", "b"', "aac", "acb", "CoExistence, ExclusiveChoice")
def NotCoExistence(a: States, b: States) -> Constraint:
    """a and b do not both occur: ``!(F a & F b)``."""
    return _formula("!(F {a} & F {b})", a, b)


@_shown('"a", "b"', "aac", "bca", "NotCoExistence, RespondedExistence")
def NotRespondedExistence(a: States, b: States) -> Constraint:
    """If a occurs, b does not, neither before nor after: ``F a -> !F b``."""
    return _formula("F {a} -> !F {b}", a, b)


@_shown('"a", "b"', "ba", "acb", "Response, NotSuccession")
def NotResponse(a: States, b: States) -> Constraint:
    """After a, b does not occur: ``G(a -> !F b)``."""
    return _formula("G({a} -> !F {b})", a, b)


@_shown('"a", "b"', "ba", "acb", "Precedence, NotSuccession")
def NotPrecedence(a: States, b: States) -> Constraint:
    """Before b, a has not occurred, which is to say: ``G(a -> !F b)``."""
    return _formula("G({a} -> !F {b})", a, b)


@_shown('"a", "b"', "acb", "ab", "ChainResponse, NotChainSuccession")
def NotChainResponse(a: States, b: States) -> Constraint:
    """Right after a, b does not occur: ``G(a -> !X b)``."""
    return _formula("G({a} -> !X {b})", a, b)


@_shown('"a", "b"', "acb", "ab", "ChainPrecedence, NotChainSuccession")
def NotChainPrecedence(a: States, b: States) -> Constraint:
    """Right before b, a does not occur: ``G(b -> !Y a)``."""
    return _formula("G({b} -> !Y {a})", a, b)


@_shown('"a", "b"', "ba", "acb", "Succession, NotChainSuccession")
def NotSuccession(a: States, b: States) -> Constraint:
    """After a, b does not occur: ``G(a -> !F b)``."""
    return _formula("G({a} -> !F {b})", a, b)


@_shown('"a", "b"', "acb", "ab", "ChainSuccession, NotSuccession")
def NotChainSuccession(a: States, b: States) -> Constraint:
    """Right after a, b does not occur: ``G(a -> !X b)``."""
    return _formula("G({a} -> !X {b})", a, b)


@_shown('"a", "b"', "ab", "cc", "ExclusiveChoice, Existence")
def Choice(a: States, b: States) -> Constraint:
    """a or b occurs: ``F a | F b``."""
    return _formula("F {a} | F {b}", a, b)


@_shown('"a", "b"', "aa", "ab", "Choice, NotCoExistence")
def ExclusiveChoice(a: States, b: States) -> Constraint:
    """a or b occurs, not both: ``(F a | F b) & !(F a & F b)``."""
    return _formula("(F {a} | F {b}) & !(F {a} & F {b})", a, b)
