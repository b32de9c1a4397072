"""Constraints read off labelled sequences."""

from collections.abc import Callable, Collection, Hashable
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from scipy.special import betaincinv
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from .._documentation import DocumentedMixin
from .._numbers import bound_reaches, reaches, shortfall
from ..constraints import ForbiddenEdges
from ..controller.checking import is_iterable
from ..sequences.aligned import read_label_sequences
from ..sequences.labels import check_states
from ..sequences.runs import read_runs
from . import candidates
from .softening import soften_rules

# In the order in which they are mined and listed.
FAMILIES: dict[str, Callable] = {
    "precedence": candidates.precedence,
    "stages": candidates.stages,
    "visits": candidates.visits,
    "forbidden": candidates.forbidden,
    "no_reentry": candidates.no_reentry,
    "min_duration": candidates.min_duration,
    "max_duration": candidates.max_duration,
    "starts": candidates.starts,
    "ends": candidates.ends,
}


class ConstraintMiner(DocumentedMixin, BaseEstimator):
    """Find the constraints that labelled sequences obey.

    A candidate is kept if it holds in every instance to which it applies (unit support) and if
    there are enough such instances (evidence). This is cautious on purpose: a wrong rule causes an
    error on every sequence that breaks it, while a missed rule only makes predictions less precise.

    Sequences are first compressed to segments (maximal runs of one label). The families:

    ==============  ===========================  ==========================  =======================
    family          candidates                   support: of ... those       evidence needed
    ==============  ===========================  ==========================  =======================
    precedence      ``Precedence(a, b)``         sequences with b / whose    b in at least
                                                 first a is before it        min_presence of all
    stages          ``StageMonotone(chain)``     the weakest link's          that of precedence
    visits          ``ExactVisits(a, k)``        all sequences / with k      k <= max_visits
                                                 entries
    forbidden       ``ForbiddenEdges([(a,b)])``  segments of a / not         more than
                                                 followed by b               min_edge_count
    no_reentry      ``NoReentry(a)``             sequences with a / with     at least min_edge_count
                                                 one segment of it
    min_duration    ``MinDuration(a, k)``        segments of a before the    more than
                                                 last; k is the shortest     min_edge_count
    max_duration    ``MaxDuration(a, k)``        segments of a; k is the     more than
                                                 longest                     min_edge_count
    starts, ends    ``StartsIn``, ``EndsIn``     all sequences; the labels   at least min_edge_count
                                                 that were seen there
    ==============  ===========================  ==========================  =======================

    Precedences that follow from others are left out (transitive reduction), and so is the
    no-reentry of a label that has exactly one visit. Staying in a state is never forbidden. All
    forbidden edges together are one constraint.

    Parameters
    ----------
    min_presence : float, default=0.5
        The share of the sequences in which the later label of a precedence must occur.
    min_edge_count : int, default=10
        The number of segments (there must be more) or of sequences (at least as many) that a
        candidate needs.
    max_visits : int, default=5
        The largest number of visits to ask for exactly.
    families : sequence of str, default=("precedence", "visits", "forbidden", "no_reentry")
        What to look for: names from the first column of the table; "starts" and "ends" are two
        names.
    max_stages : int, default=None
        Maximum number of stages in the chain; the first ones are kept.
    max_forbidden : int, default=None
        Maximum number of forbidden edges; those with the most evidence are kept.
    max_no_reentry : int, default=None
        Maximum number of no-reentry labels; those in the most sequences are kept.
    count_last : bool, default=True
        Whether the last segment of a sequence counts as one that b did not follow. Patel and
        Damiano's catalog of 16 edges for transcripts needs this, because nothing ever follows the
        last label of a transcript. With False, only segments that were followed by another count.
    confidence : float, default=None
        With None, only the support counts. With a number between 0 and 1, the lower
        Clopper-Pearson bound of the support at this confidence must reach `min_support`. For a
        candidate that holds in all of n instances, this bound is
        ``(1 - confidence) ** (1 / n)``, about 1 - 3 / n at 0.95 (the rule of three). So a rule
        that thousands of sequences obey survives a rare exception, for example a labelling error,
        and a few instances are not enough for a rule. The bound assumes that the instances are
        independent and that the candidate was not chosen by looking at them.
    min_support : float, default=None
        The support that is needed: by default 1, or 0.95 with `confidence`, or 0.8 with `soft`.
    soft : bool, default=False
        Whether to return every rule as a :class:`~skchmm.constraints.Soft` one, with a weight that
        is learned from the labels (maximum likelihood under their Markov chain). A rule that is
        broken now and then is then not dropped, but weighs less. Breaks are counted one by one
        where that is possible.
    states : sequence of labels, default=None
        All state labels, in order; by default those that occur, sorted.

    Attributes
    ----------
    constraints_ : list of Constraint
        The candidates that were kept. With unit support, every training sequence satisfies all of
        them.
    support_ : pandas.DataFrame
        Every candidate: family, constraint, support, evidence, lower_bound (with `confidence`),
        kept, and the reason if not. Needs pandas.
    states_ : ndarray
        The state labels.
    n_sequences_ : int
        The number of sequences that were used. Sequences with a missing label are not used.

    See Also
    --------
    ConstrainedHMM : The hidden Markov model with exact inference under constraints.
    compile : Compile constraints into a controller.

    Examples
    --------
    >>> from skchmm import ConstraintMiner
    >>> y = [["rest", "walk", "walk", "rest", "run"], ["rest", "rest", "walk", "run"]]
    >>> miner = ConstraintMiner(families=("precedence", "visits")).fit(y)
    >>> for constraint in miner.constraints_:
    ...     print(constraint)
    Precedence('rest', 'walk')
    Precedence('walk', 'run')
    ExactVisits('run', 1)
    ExactVisits('walk', 1)
    """

    def __init__(
        self,
        min_presence: float = 0.5,
        *,
        min_edge_count: int = 10,
        max_visits: int = 5,
        families: Collection[str] = ("precedence", "visits", "forbidden", "no_reentry"),
        max_stages: int | None = None,
        max_forbidden: int | None = None,
        max_no_reentry: int | None = None,
        count_last: bool = True,
        confidence: float | None = None,
        min_support: float | None = None,
        soft: bool = False,
        states: Collection[Hashable] | None = None,
    ) -> None:
        self.min_presence = min_presence
        self.min_edge_count = min_edge_count
        self.max_visits = max_visits
        self.families = families
        self.max_stages = max_stages
        self.max_forbidden = max_forbidden
        self.max_no_reentry = max_no_reentry
        self.count_last = count_last
        self.confidence = confidence
        self.min_support = min_support
        self.soft = soft
        self.states = states

    def fit(
        self, X: Any, y: Any = None, *, lengths: Collection[int] | None = None, groups: Any = None
    ) -> Self:
        """Mine label paths, in any of the three forms: ``fit(y)`` or ``fit(X, y)``.

        Parameters
        ----------
        X : label paths, or anything if `y` is given
            Observations tell nothing about constraints.
        y : 1-d array of labels, or list of 1-d arrays, default=None
            Sequences with a missing label (None, NaN, -1) are left out.
        lengths : sequence of int, default=None
            Length of each sequence in stacked paths.
        groups : sequence, default=None
            Sequence id of each step.

        Returns
        -------
        self
        """
        self._check_parameters()
        labels = X if y is None else y
        sequences = read_label_sequences(labels, lengths=lengths, groups=groups, name="y")
        states = None if self.states is None else check_states(self.states)
        runs = read_runs(sequences, states)

        wanted = dict.fromkeys(self.families)
        relations = []
        if "precedence" in wanted or "stages" in wanted:
            relations = self._judge(candidates.precedence(runs, self))
            _drop_cycles(relations, runs.n_states)
        chain = [relation for relation in relations if not relation.reason]
        found = []
        for family, listed in FAMILIES.items():
            if family not in wanted:
                continue
            if family == "precedence":
                _reduce(relations, runs.n_states)
                found += relations
            elif family == "stages":
                found += self._judge(candidates.stages(chain, runs, self))
            else:
                found += self._judge(listed(runs, self))
        _drop_implied(found)
        _cap(found, "forbidden", self.max_forbidden, "max_forbidden")
        _cap(found, "no_reentry", self.max_no_reentry, "max_no_reentry")

        self._found = found
        self.states_ = _label_array(runs.states)
        self.n_sequences_ = runs.n_sequences
        self.constraints_ = _constraints(found)
        if self.soft:
            self.constraints_ = soften_rules(self.constraints_, runs)
        return self

    @property
    def support_(self) -> Any:
        check_is_fitted(self)
        try:
            import pandas as pd
        except ImportError as error:
            raise ImportError(
                "ConstraintMiner.support_ is a dataframe and needs pandas (pip install pandas); "
                "constraints_ does not."
            ) from error
        found = self._found
        return pd.DataFrame(
            {
                "family": [c.family for c in found],
                "constraint": [repr(c.constraint) for c in found],
                "support": [c.support for c in found],
                "evidence": [c.evidence for c in found],
                "lower_bound": [c.lower_bound for c in found],
                "kept": [not c.reason for c in found],
                "reason": [c.reason for c in found],
            }
        )

    def _judge(self, candidates):
        """Reject what has too little support, unless there is a reason already."""
        threshold = self.min_support
        if threshold is None:
            threshold = 0.8 if self.soft else 1.0 if self.confidence is None else 0.95
        if self.confidence is None:
            for c in candidates:
                if not c.reason and not reaches(c.satisfied, c.evidence, threshold):
                    c.reason = f"support {shortfall(c.support, threshold)}"
            return candidates
        satisfied = np.array([c.satisfied for c in candidates], dtype=float)
        evidence = np.array([c.evidence for c in candidates], dtype=float)
        bounds = np.zeros(len(candidates))
        some = satisfied > 0
        bounds[some] = betaincinv(
            satisfied[some], (evidence - satisfied + 1)[some], 1 - self.confidence
        )
        for c, bound in zip(candidates, bounds.tolist()):
            c.lower_bound = bound
            if not c.reason and not bound_reaches(bound, threshold):
                c.reason = f"lower bound of the support {shortfall(bound, threshold)}"
        return candidates

    def _check_parameters(self):
        def complain(name, wanted):
            raise ValueError(f"{name} must be {wanted}, got {getattr(self, name)!r}.")

        names = self.families if is_iterable(self.families) else [None]
        if isinstance(names, str) or not all(isinstance(n, str) and n in FAMILIES for n in names):
            complain("families", f"a sequence of names among {', '.join(map(repr, FAMILIES))}")
        if not _is_number(self.min_presence) or not 0 <= self.min_presence <= 1:
            complain("min_presence", "between 0 and 1")
        for name in ("min_edge_count", "max_visits"):
            value = getattr(self, name)
            if not _is_number(value) or value < 0:
                complain(name, "a number that is not negative")
        for name in ("max_stages", "max_forbidden", "max_no_reentry"):
            value = getattr(self, name)
            if value is not None and (not isinstance(value, Integral) or value < 0):
                complain(name, "None or an integer that is not negative")
        if not isinstance(self.soft, (bool, np.bool_)):
            complain("soft", "True or False")
        if self.confidence is not None and not (
            _is_number(self.confidence) and 0 < self.confidence < 1
        ):
            complain("confidence", "None or between 0 and 1, both excluded")
        if self.min_support is not None:
            if not _is_number(self.min_support) or not 0 < self.min_support <= 1:
                complain("min_support", "None or above 0 and at most 1")
            if self.min_support == 1 and self.confidence is not None:
                complain("min_support", "below 1 with a confidence: no data can show a 1")


def _is_number(value):
    is_real = isinstance(value, Real) and not isinstance(value, (bool, np.bool_))
    return is_real and value == value  # NaN is none


def _drop_cycles(relations, n_states):
    """Reject relations that contradict better supported ones; with unit support there are none."""
    reach = np.eye(n_states, dtype=bool)
    kept = [relation for relation in relations if not relation.reason]
    for relation in sorted(kept, key=lambda r: (-r.support, -r.evidence)):
        a, b = relation.pair
        if reach[b, a]:
            relation.reason = "contradicts precedences with more support"
        elif not reach[a, b]:
            reach |= np.outer(reach[:, a], reach[b])


def _reduce(relations, n_states):
    """Reject relations that follow from two others."""
    kept = [relation for relation in relations if not relation.reason]
    reach = np.zeros((n_states, n_states), dtype=bool)
    for relation in kept:
        reach[relation.pair] = True
    while True:
        further = reach | ((reach.astype(np.float32) @ reach.astype(np.float32)) > 0)
        if np.array_equal(further, reach):
            break
        reach = further
    indirect = (reach.astype(np.float32) @ reach.astype(np.float32)) > 0
    for relation in kept:
        if indirect[relation.pair]:
            relation.reason = "follows from other precedences"


def _drop_implied(found):
    """Reject the no-reentry of labels with exactly one visit."""
    visits = [c.arguments for c in found if c.family == "visits" and not c.reason]
    once = {label for label, k in visits if k == 1}
    for c in found:
        if c.family == "no_reentry" and not c.reason and c.arguments[0] in once:
            c.reason = f"follows from ExactVisits({c.arguments[0]!r}, 1)"


def _cap(found, family, limit, name):
    """Keep the candidates of a family with most evidence."""
    if limit is None:
        return
    kept = [c for c in found if c.family == family and not c.reason]
    for c in sorted(kept, key=lambda c: -c.evidence)[limit:]:
        c.reason = f"others have as much evidence or more, {name}={limit}"


def _constraints(found):
    kept = [c for c in found if not c.reason]
    edges = [c.arguments[0][0] for c in kept if c.family == "forbidden"]
    constraints = []
    for c in kept:
        if c.family != "forbidden":
            constraints.append(c.constraint)
        elif edges:
            constraints.append(ForbiddenEdges(edges))
            edges = []
    return constraints


def _label_array(labels):
    array = np.asarray(labels)
    if array.ndim == 1 and array.tolist() == labels:
        return array
    array = np.empty(len(labels), dtype=object)
    array[:] = labels
    return array
