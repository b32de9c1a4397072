"""Errors and warnings that users may want to catch."""

import sys
import warnings

# Frames of scikit-learn lie between `fit` and its caller where there are callbacks or pipelines.
_INSIDE = ("skchmm.", "sklearn.")


class InfeasibleSequenceError(ValueError):
    """No path of a sequence satisfies the constraints (or has positive probability)."""


class InfeasibleSequenceWarning(UserWarning):
    """A sequence has no feasible path; the unconstrained path was returned instead."""


class ControllerTooLargeError(ValueError):
    """The product of the constraints outgrew ``max_nodes``."""


class NotEnforcedWarning(UserWarning):
    """A decoder was given constraints that it does not enforce, by its nature."""


def warn(message, category):
    """Warn about the line outside the package that led here."""
    level, frame = 2, sys._getframe(1)
    while frame is not None and frame.f_globals.get("__name__", "").startswith(_INSIDE):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)
