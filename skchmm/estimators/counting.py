"""Learning from labels that come chunk by chunk: counts, and what follows from them."""

from collections.abc import Collection
from copy import deepcopy
from typing import Any, Self

import numpy as np

from ..sequences.forms import read_labels
from ..sequences.labels import choose_states, known_labels, read_known
from .em import Data, emission_part
from .spreading import Task, join_labels, with_state


class CountingMixin:
    """`partial_fit`, and `fit_chunks` with all labels."""

    def _fit_counts(self, emission, spread):
        """Learn from chunks all labels of which are known."""
        total = spread.fold(Task(self, "_count_chunk", {"_settled": emission}))
        self._estimate(emission, total.values)

    def _count_chunk(self, found, number, wanted):
        sequences, labels, sample_weight = self._raw_chunk(**found)
        return self._counts_of(self._settled, sequences, labels, sample_weight)

    def _counts_of(self, emission, sequences, labels, sample_weight):
        encoded = emission.encode(sequences.X, sequences.offsets, reset=False)
        data = Data(sequences, sample_weight, read_known(labels, self.classes_), encoded)
        values = self._label_sums(emission, data)
        if values is None:
            raise ValueError(
                f"{emission} cannot be learned from labels chunk by chunk: it needs to see all "
                "rows at once. Use fit, or another emission."
            )
        return data.statistics(values, 0.0)

    def partial_fit(
        self,
        X: Any,
        y: Any,
        *,
        lengths: Collection[int] | None = None,
        groups: Any = None,
        sample_weight: Any = None,
    ) -> Self:
        """Learn from more labelled sequences, as if all had come at once.

        The first call forgets what `fit` has learned. New labels and new symbols may appear in
        any call, unless they were declared (``states=``, ``Categorical(symbols=...)``).

        Parameters
        ----------
        X : sequences in any of the three forms
        y : labels in the same form
            All of them; `fit` and `fit_chunks` also take labels that are partly missing.
        lengths : sequence of int, optional
        groups : sequence, optional
        sample_weight : sequence of float, optional
            As in `fit`.

        Returns
        -------
        self

        Examples
        --------
        >>> from skchmm import ConstrainedHMM
        >>> model = ConstrainedHMM()
        >>> for X, y in [(list("xxy"), list("aab")), (list("yzz"), list("bcc"))]:
        ...     model = model.partial_fit(X, y)
        >>> model.classes_
        array(['a', 'b', 'c'], dtype='<U1')
        """
        return self._partial_fit(X, y, lengths, groups, sample_weight)

    def _partial_fit(self, X, y, lengths, groups, sample_weight, **times):
        after = with_state(self, {})  # what cannot be counted changes nothing
        after._count_more(X, y, lengths, groups, sample_weight, **times)
        vars(self).update(vars(after))
        return self

    def _count_more(self, X, y, lengths, groups, sample_weight, **times):
        before = getattr(self, "_counted", None)
        self._check_parameters()
        sequences, y = self._read_chunk(X, y, lengths, groups, reset=before is None, **times)
        labels = read_labels(y, sequences)
        if not known_labels(labels, minus_one=-1 not in (self.states or [])).all():
            raise ValueError(
                "partial_fit counts labels, and some of y are missing; fit and fit_chunks learn "
                "from partly labelled sequences."
            )
        known = join_labels(labels[:0], labels)
        emission = self._unfitted(sequences)
        survey = emission.survey(sequences.X) if hasattr(emission, "survey") else None
        old = None
        if before is not None and type(emission) is not type(before["emission"]):
            now, then = (type(each).__name__ for each in (emission, before["emission"]))
            raise ValueError(
                f"X looks like data for {now} emissions, but partial_fit began with {then} "
                "emissions; the parameter emission says which to use."
            )
        if before is not None:
            old, known = self.classes_.tolist(), join_labels(before["labels"], known)
            survey = None if survey is None else before["survey"] + survey
        self._take_labels(known)
        classes = self.classes_.tolist()
        if old != classes:
            self._take_constraints(self._rules_without_mining())
        emission.name_states(classes)
        if survey is None:
            emission.encode(sequences.X, sequences.offsets, reset=True)
        else:
            emission.settle(survey, like=None if before is None else before["emission"])
            self._take_survey(survey)
        values = self._counts_of(emission, sequences, labels, sample_weight).values
        if before is not None:
            values = _added(_grown(before, survey), values, [classes.index(c) for c in old])
        self._counted = {
            "values": values, "labels": known, "survey": survey, "emission": deepcopy(emission),
        }  # fmt: skip
        self._estimate(emission, values)
        self._conclude()

    def _take_labels(self, labels):
        """Choose the states, of which the last may still be to come."""
        self.classes_ = choose_states(self.states, None, labels)
        if self.n_states is not None and len(self.classes_) > self.n_states:
            choose_states(self.states, self.n_states, labels)  # says what is wrong

    def _take_survey(self, rows):
        """Note what the rows of all chunks together show; the emission knows already."""


def _grown(before, survey):
    """Sums that there are, over the symbols that are known by now."""
    values, emission = before["values"], deepcopy(before["emission"])
    if not hasattr(emission, "grown"):
        return values
    more = emission.grown(emission_part(values), survey)
    return values | {f"emission {name}": value for name, value in more.items()}


def _added(before, values, place):
    """Sums of before and now; states there were before now stand in these places."""
    total = {}
    for name, value in values.items():
        old = before[name]
        value = np.array(value, dtype=np.result_type(value, old))  # counts may be whole or not
        grown = [k for k in range(value.ndim) if value.shape[k] != old.shape[k]]
        where = [place if k in grown else np.arange(n) for k, n in enumerate(value.shape)]
        value[np.ix_(*where)] += old
        total[name] = value
    return total
