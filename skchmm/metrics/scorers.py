"""Scorers: callables ``scorer(estimator, X, y)`` for scikit-learn's ``scoring=``.

They decode X and score the paths. With scikit-learn's metadata routing on they ask for ``lengths``,
``groups`` and ``times`` and hand them to ``predict``, through a pipeline too, if the last step asks
for them. Cross-validation slices ``groups`` and ``times``, one per row, but not ``lengths``: use
``groups`` or lists there.
"""

import copy
import inspect
from collections.abc import Callable, Collection
from typing import Any, Self

from sklearn.utils.metadata_routing import MetadataRequest

from ..sequences.forms import holds_sequences
from .edit import edit_score
from .entities import entity_f1_score
from .scores import (
    segment_f1_score,
    sequence_accuracy_score,
    sequence_macro_f1_score,
    trajectory_validity_rate,
)


class SequenceScorer:
    """Decode, then compare with the true paths by a score.

    Parameters
    ----------
    name : str
        What it prints as.
    score : callable
        ``score(y_true, y_pred, *, lengths, groups, **options)``, larger is better.
    **options
        Passed on to `score`.
    """

    def __init__(self, name: str, score: Callable[..., Any], **options: Any) -> None:
        self.name = name
        self.score = score
        self.options = options
        self.requests: dict[str, bool | str | None]
        self.requests = {"lengths": True, "groups": True, "times": True}

    def __call__(
        self,
        estimator: Any,
        X: Any,
        y: Any = None,
        *,
        lengths: Collection[int] | None = None,
        groups: Any = None,
        times: Any = None,
    ) -> float:
        """Score the paths that `estimator` decodes from `X`.

        Parameters
        ----------
        estimator : fitted estimator
            A decoder, or a pipeline or search around one.
        X, y : sequences and their true paths, in any of the three forms
        lengths, groups : see the three forms
        times : one per step, for decoders in continuous time

        Returns
        -------
        float
        """
        y_pred = _predict(estimator, X, lengths, groups, times)
        return self._compare(estimator, y, y_pred, lengths=lengths, groups=groups)

    def _compare(self, estimator, y, y_pred, **where):
        if y is None:
            raise ValueError(f"{self!r} compares with the true paths: y is needed.")
        return self.score(y, y_pred, **where, **self.options)

    def get_metadata_routing(self) -> Any:
        """What scikit-learn's metadata routing passes on to the scorer."""
        request = MetadataRequest(owner=self.name)
        for parameter, alias in self.requests.items():
            request.score.add_request(param=parameter, alias=alias)
        return request

    def set_score_request(self, **requests: bool | str | None) -> Self:
        """A copy of the scorer that asks for other metadata.

        Parameters
        ----------
        **requests : bool, None or str
            For `lengths`, `groups` and `times`, as in scikit-learn: whether to ask for it, or under
            which other name.
        """
        unknown = set(requests) - set(self.requests)
        if unknown:
            raise TypeError(
                f"{self!r} can ask for lengths, groups and times, not for "
                f"{', '.join(sorted(unknown))}."
            )
        other = copy.copy(self)
        other.requests = self.requests | requests
        return other

    def __repr__(self):
        return self.name


class ValidityScorer(SequenceScorer):
    """Decode, then check constraints; without any of its own, those of the fitted estimator."""

    def _compare(self, estimator, y, y_pred, **where):
        options = self.options
        if "constraints" not in options:
            options = {"constraints": _constraints_of(estimator)}
        return self.score(y_pred, **where, **options)


def make_tvr_scorer(constraints: Any) -> SequenceScorer:
    """Scorer of the share of decoded paths that satisfy the constraints.

    Parameters
    ----------
    constraints : None, constraint, Controller or list of them

    Returns
    -------
    SequenceScorer

    See Also
    --------
    trajectory_validity_rate : The share of paths that obey the rules.
    make_segment_f1_scorer : Make a scorer of the segment F1 score.

    Examples
    --------
    >>> from skchmm.constraints import EndsIn
    >>> from skchmm.metrics import make_tvr_scorer
    >>> make_tvr_scorer(EndsIn("home"))
    make_tvr_scorer(EndsIn('home'))
    """
    name = f"make_tvr_scorer({constraints!r})"
    return ValidityScorer(name, trajectory_validity_rate, constraints=constraints)


def make_segment_f1_scorer(
    tolerance: float | None = None, overlap: float | None = None
) -> SequenceScorer:
    """Scorer of the segment F1 at a tolerance or an overlap.

    Parameters
    ----------
    tolerance : float or int, optional
        A fraction of the last time index of the sequence, or a number of steps. 0.1 if neither is
        given.
    overlap : float, optional
        The least intersection over union, usually 0.1, 0.25 or 0.5. Give only one of the two.

    Returns
    -------
    SequenceScorer

    See Also
    --------
    segment_f1_score : The F1 score of whole segments.
    make_tvr_scorer : Make a scorer of the trajectory validity rate.

    Examples
    --------
    >>> from skchmm.metrics import make_segment_f1_scorer
    >>> make_segment_f1_scorer(0.05)
    make_segment_f1_scorer(0.05)
    >>> make_segment_f1_scorer(overlap=0.5)
    make_segment_f1_scorer(overlap=0.5)
    """
    if overlap is not None:
        if tolerance is not None:
            raise ValueError("tolerance and overlap are two ways to match segments; give only one.")
        name = f"make_segment_f1_scorer(overlap={overlap!r})"
        return SequenceScorer(name, segment_f1_score, overlap=overlap)
    tolerance = 0.1 if tolerance is None else tolerance
    name = f"make_segment_f1_scorer({tolerance!r})"
    return SequenceScorer(name, segment_f1_score, tolerance=tolerance)


accuracy_scorer = SequenceScorer("accuracy_scorer", sequence_accuracy_score)
macro_f1_scorer = SequenceScorer("macro_f1_scorer", sequence_macro_f1_score)
segment_f1_scorer = SequenceScorer("segment_f1_scorer", segment_f1_score)
edit_scorer = SequenceScorer("edit_scorer", edit_score)
entity_f1_scorer = SequenceScorer("entity_f1_scorer", entity_f1_score)
tvr_scorer = ValidityScorer("tvr_scorer", trajectory_validity_rate)


def _predict(estimator, X, lengths, groups, times):
    # In a list the groups are for the splitter alone.
    given = {"lengths": lengths, "groups": None if holds_sequences(X) else groups, "times": times}
    given = {name: value for name, value in given.items() if value is not None}
    if not given:
        return estimator.predict(X)
    # A search has no metadata in its predict; the estimator it found has.
    while hasattr(estimator, "best_estimator_"):
        estimator = estimator.best_estimator_
    taken = inspect.signature(_innermost(estimator).predict).parameters
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in taken.values()):
        return estimator.predict(X, **given)
    # A classifier of single rows takes neither, and needs neither.
    return estimator.predict(X, **{name: given[name] for name in given if name in taken})


def _innermost(estimator):
    """The estimator that decodes, inside pipelines and searches."""
    while True:
        if hasattr(estimator, "best_estimator_"):
            estimator = estimator.best_estimator_
        elif hasattr(estimator, "steps"):
            estimator = estimator.steps[-1][1]
        else:
            return estimator


def _constraints_of(estimator):
    inner = _innermost(estimator)
    if not hasattr(inner, "constraints_"):
        raise ValueError(
            f"{type(inner).__name__} has no constraints_ to check paths against; say which with "
            f"make_tvr_scorer(constraints)."
        )
    return inner.constraints_
