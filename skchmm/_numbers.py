"""Values that the user gave: numbers, choices, and shares that something is compared with.

0.07 as a floating-point number is not 7/100, and 0.07 * 100 is more than 7. A threshold means the
simple fraction that it is nearest to, else the decimal that it prints as, so that 7 of 100 reach
0.07, 0.29 of 100 steps are 29, and 5/300 of 300 are 5.
"""

from fractions import Fraction
from functools import wraps
from numbers import Integral, Rational, Real

import numpy as np

MOST_STATES = 46_340  # their transitions are numbered in 32 bits

# Denominators up to this are those of counts; of such fractions, no two are the same number.
_SIMPLE = 10**6

# Relative rounding error that a bound from a numerical routine may have.
_ROUNDING = 1e-12


def is_whole(value):
    """Whether a value is an integer.

    Python counts bool among these, and numpy its spans of time; as a number of states or of
    iterations they are mistakes.
    """
    if type(value) is int:
        return True
    other = (bool, np.bool_, np.timedelta64)
    return isinstance(value, Integral) and not isinstance(value, other)


def is_real(value):
    """Whether a value is a number; numpy counts its spans of time among these."""
    return type(value) is float or (
        isinstance(value, Real) and not isinstance(value, np.timedelta64)
    )


def is_one_of(value, choices):
    """Whether a value is one of some strings; arrays and pandas' NA do not compare with these."""
    return isinstance(value, str) and value in choices


def check_choice(value, name, choices):
    """Refuse what is none of some strings."""
    if not is_one_of(value, choices):
        raise ValueError(f"{name} must be {' or '.join(map(repr, choices))}, got {value!r}.")


def check_real(value, name):
    """Refuse what is no number."""
    if not is_real(value):
        raise ValueError(f"{name} must be a number, got {value!r}.")


def check_flag(value, name):
    """Refuse what is neither true nor false."""
    if not (isinstance(value, (bool, np.bool_)) or (is_whole(value) and value in (0, 1))):
        raise ValueError(f"{name} must be True or False, got {value!r}.")


def check_at_least(value, name, least):
    """Refuse what is no whole number, or too small."""
    if not (is_whole(value) and value >= least):
        raise ValueError(f"{name} must be an integer >= {least}, got {value!r}.")


def check_n_states(n_states):
    """Refuse more states than there can be numbers of transitions for."""
    if n_states > MOST_STATES:
        raise ValueError(
            f"There are {n_states:,} states, but at most {MOST_STATES:,} are possible: a model has "
            "a table of all pairs of states."
        )


def exact(number):
    """What the user meant by a number, as a fraction."""
    if isinstance(number, Rational):
        return Fraction(number)
    simple = Fraction(float(number)).limit_denominator(_SIMPLE)
    return simple if float(simple) == float(number) else Fraction(str(number))


def reaches(part, whole, share):
    """Whether `part` of `whole` is at least a share, exactly."""
    return part >= exact(share) * whole


def bound_reaches(bound, share):
    """The same for a bound that was computed with rounding errors."""
    return bound >= float(share) * (1 - _ROUNDING)


def whole_parts(share, wholes):
    """The largest integers that are at most a share of each of the integers `wholes`, int64."""
    share = exact(share)
    values, place = np.unique(wholes, return_inverse=True)
    parts = [int(share * value) for value in values.tolist()]
    return np.array(parts, dtype=np.int64)[place]


def shortfall(value, share):
    """``"0.5499 is less than 0.55"``, with as many digits as it takes to tell them apart."""
    for digits in range(3, 18):
        shown = f"{float(value):.{digits}g}"
        if shown != f"{float(share):.{digits}g}":
            break
    return f"{shown} is less than {share}"


def names_priors(*names):
    """An M-step whose errors name the priors that do not fit the parameters."""

    def naming(method):
        @wraps(method)
        def named(self, *args, **kwargs):
            try:
                return method(self, *args, **kwargs)
            except (TypeError, ValueError) as error:
                priors = {name: getattr(self, name) for name in names}
                odd = {name: v for name, v in priors.items() if v is None or np.ndim(v) > 0}
                if not odd:
                    raise
                given = ", ".join(
                    f"{name}=None" if v is None else f"{name} of shape {np.shape(v)}"
                    for name, v in odd.items()
                )
                raise ValueError(f"The priors do not fit the parameters: {given}.") from error

        return named

    return naming
