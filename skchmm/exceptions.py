"""Errors and warnings that users may want to catch."""


class InfeasibleSequenceError(ValueError):
    """No path of a sequence satisfies the constraints (or has positive probability)."""


class InfeasibleSequenceWarning(UserWarning):
    """A sequence has no feasible path; the unconstrained path was returned instead."""


class ControllerTooLargeError(ValueError):
    """The product of the constraints outgrew ``max_nodes``."""


class NotEnforcedWarning(UserWarning):
    """A decoder was given constraints that it does not enforce, by its nature."""
