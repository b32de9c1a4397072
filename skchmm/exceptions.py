"""Errors and warnings that users may want to catch."""

import sys
import warnings

from sklearn import exceptions

# Frames of scikit-learn lie between `fit` and its caller where there are callbacks or pipelines.
_INSIDE = ("skchmm.", "sklearn.")


class InfeasibleSequenceError(ValueError):
    """No path of a sequence satisfies the constraints (or has positive probability).

    See Also
    --------
    InfeasibleSequenceWarning : The same as a warning.
    Explanation : The answer of `explain`.
    """


class InfeasibleSequenceWarning(UserWarning):
    """A sequence has no feasible path; the unconstrained path was returned instead.

    See Also
    --------
    InfeasibleSequenceError : A sequence has no feasible path.
    Explanation : The answer of `explain`.
    """


class ControllerTooLargeError(ValueError):
    """The product of the constraints outgrew ``max_nodes``.

    See Also
    --------
    compile : Compile constraints into a controller.
    """


class NotEnforcedWarning(UserWarning):
    """A decoder was given constraints that it cannot enforce.

    See Also
    --------
    PostHocFilter : Takes the best of the k best paths that obeys the rules.
    HSMMDecoder : A semi-Markov model: explicit durations.
    """


class BiasedRatesWarning(UserWarning):
    """Rates were counted from labels that change too often between observations.

    See Also
    --------
    CTConstrainedHMM : With ``panel=True`` the rates are learned by EM from such labels.
    """


class InconsistentVersionWarning(exceptions.InconsistentVersionWarning):
    """A model is loaded that another version of skchmm has saved.

    Parameters
    ----------
    estimator_name : str
    current_version, original_version : str
        The version in use, and the one that saved the model.

    See Also
    --------
    sklearn.exceptions.InconsistentVersionWarning : The warning of scikit-learn.
    """

    def __init__(self, estimator_name: str, current_version: str, original_version: str) -> None:
        self.estimator_name = estimator_name
        self.current_version = current_version
        self.original_version = original_version

    def __str__(self):
        return (
            f"This {self.estimator_name} was saved by skchmm {self.original_version} and is loaded "
            f"by skchmm {self.current_version}. Its answers may differ, or it may not work; fit it "
            "again, or load it with the version that saved it."
        )


def warn(message, category):
    """Warn about the line outside the package that led here."""
    level, frame = 2, sys._getframe(1)
    while frame is not None and frame.f_globals.get("__name__", "").startswith(_INSIDE):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)
