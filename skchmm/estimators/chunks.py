"""Learning from chunks of sequences: the steps of EM, EM over any map, counts that go on.

What travels to workers is in spreading.py, what comes back in statistics.py.
"""

from collections.abc import Callable, Collection, Iterable
from copy import deepcopy
from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.random import sample_without_replacement

from .. import emissions
from ..sequences.aligned import read_weights
from ..sequences.forms import read_labels
from ..sequences.labels import known_labels, read_known
from .counting import CountingMixin
from .em import Data, Progress, with_callbacks
from .spreading import Spread, Survey, Task, join_labels
from .statistics import Statistics, digest, named

# EM starts from whole sequences of about so many steps.
SAMPLE_STEPS = 100_000


class ChunksMixin(CountingMixin):
    """`e_step`, `m_step`, `fit_chunks` and `partial_fit`."""

    def e_step(
        self,
        X: Any,
        y: Any = None,
        *,
        lengths: Collection[int] | None = None,
        groups: Any = None,
        sample_weight: Any = None,
        chunk: Any = None,
    ) -> Statistics:
        """Expected statistics of some sequences under the present parameters.

        Parameters
        ----------
        X : sequences in any of the three forms
        y : labels in the same form, optional
            Known ones are held, as in `fit`.
        lengths : sequence of int, optional
        groups : sequence, optional
        sample_weight : sequence of float, optional
            As in `fit`.
        chunk : int or str, optional
            Number or name of this chunk of the data, so that none is counted twice. Default: a
            digest of what was found.

        Returns
        -------
        Statistics

        See Also
        --------
        m_step : the parameters that follow from statistics.
        fit_chunks : both, for many chunks, until it has converged.

        Examples
        --------
        >>> from skchmm import ConstrainedHMM
        >>> model = ConstrainedHMM(2, n_iter=0, random_state=0).fit(list("abbabab"))
        >>> statistics = model.e_step(list("abba")) + model.e_step(list("bab"))
        >>> statistics.n_sequences, statistics.n_steps
        (2, 7)
        """
        return self._e_step(X, y, lengths, groups, sample_weight, chunk)

    def _e_step(self, X, y, lengths, groups, sample_weight, chunk, fingerprint=None, **times):
        data = self._chunk_data(X, y, lengths, groups, sample_weight, **times)
        statistics = self._statistics_of(data)
        if chunk is None:
            chunk = digest(statistics.values, statistics.log_likelihood, data.offsets)
        if fingerprint is None:
            fingerprint = self._fingerprint()
        return replace(statistics, fingerprint=fingerprint, chunks=named(chunk))

    def _chunk_data(self, X, y, lengths, groups, sample_weight, *, reset=False, **times):
        """Sequences of a chunk with their labels; the states are known."""
        sequences, y = self._read_chunk(X, y, lengths, groups, reset=reset, **times)
        known = None if y is None else read_known(read_labels(y, sequences), self.classes_)
        return Data(sequences, sample_weight, known)

    def _read_chunk(self, X, y, lengths, groups, *, reset, **times):
        """Sequences, and labels as they were given."""
        return self._read(X, lengths, groups, reset=reset, **times), y

    def _statistics_of(self, data):
        emission = self.emission_
        sequences = data.sequences
        data = replace(data, encoded=emission.encode(sequences.X, sequences.offsets, reset=False))
        parameters = *self._parameters(), emission
        return self._take_e_step(parameters, data, self._parts_of(emission, data))

    def m_step(self, statistics: Statistics) -> Self:
        """Set the parameters to those that fit statistics of an `e_step` best.

        ``history_`` gets what EM climbs: the log-likelihood of the statistics, that of the
        parameters before, and the log density of their prior.

        Parameters
        ----------
        statistics : Statistics
            Of all the data, under the present parameters.

        Returns
        -------
        self

        See Also
        --------
        e_step : where statistics come from.

        Examples
        --------
        >>> from skchmm import ConstrainedHMM
        >>> X = list("abbabab")
        >>> model = ConstrainedHMM(2, n_iter=0, random_state=0).fit(X)
        >>> before = model.score(X)
        >>> model.m_step(model.e_step(X)).score(X) > before
        True
        """
        self._check_statistics(statistics)
        before = (*self._parameters(), self.emission_)
        *parameters, emission = self._maximise(before, statistics)
        history = [*self.history_, statistics.log_likelihood + self._log_prior(before)]
        self._learned(parameters, emission, history, False)
        self.n_iter_ = len(history)
        return self

    def _check_statistics(self, statistics):
        if not isinstance(statistics, Statistics):
            raise TypeError(
                f"m_step takes Statistics, as e_step returns them, not {type(statistics).__name__}."
            )
        if statistics.fingerprint != self._fingerprint():
            raise ValueError(
                "These statistics were computed from other parameters than the model has now: call "
                "e_step again. An M-step follows one E-step over all the data."
            )

    # ------------------------------------------------------------------- EM by chunks
    @with_callbacks
    def fit_chunks(self, chunks: Iterable[Any], *, map: Callable = map, per_task: int = 1) -> Self:
        """Learn from chunks of sequences, which need not fit into memory together.

        It learns what `fit` would from all of them. The statistics of the chunks are added up in
        an order that depends on nothing but the number of chunks, so that the result is the same
        to the last bit whatever `map` is, and however many workers it has.

        Parameters
        ----------
        chunks : list, or any other iterable that can be gone through again
            Each chunk is a tuple (X, y, lengths, groups, sample_weight), as far as they are needed,
            perhaps with a dict of the others by name at its end; or a dict of all by name (with
            ``times`` in continuous time); or X alone; or a function without arguments that returns
            one of these, which is called where the work is done. Chunks hold whole sequences.
        map : callable, default=the builtin map
            Any map that keeps the order: that of an executor, or a function that calls joblib,
            Dask, Ray or Spark. What it is given can be pickled.
        per_task : int, default=1
            Number of chunks in one task: 1, 2, 4, 8, ... Each task returns one result. What is
            learned does not depend on it.

        Returns
        -------
        self

        See Also
        --------
        e_step, m_step : the two steps that it is made of.
        skchmm.datasets.read_sequences : chunks of whole sequences from Parquet or Arrow.

        Notes
        -----
        With ``init="fitted"`` learning goes on from the parameters that there are. Otherwise a
        first pass over the chunks finds the labels, the symbols of categorical columns, and the
        means and variances of numeric ones; then EM starts from a sample of whole sequences with
        about 100,000 steps, or all if there are fewer: then it starts where `fit` does. With all
        labels known, a second pass counts them; for emissions that counts are not enough for, such
        as mixtures, EM holds the labels.

        Examples
        --------
        >>> import numpy as np
        >>> from skchmm import ConstrainedHMM
        >>> rng = np.random.default_rng(0)
        >>> chunks = [{"X": rng.integers(3, size=60), "lengths": [20, 40]} for _ in range(4)]
        >>> model = ConstrainedHMM(2, random_state=0, tol=1e-3).fit_chunks(chunks)
        >>> model.transmat_.shape
        (2, 2)
        """
        return self._fit_spread(Spread(chunks, map, per_task, self.verbose))

    def _fit_spread(self, spread):
        self._check_parameters()
        emission, sample, labelled = self._begin_chunks(spread)
        if labelled and self._counts_labels and self._adds_up(emission, sample):
            progress = Progress(self, range(0))
            self._fit_counts(emission, spread)
        else:
            progress = self._progress()
            self._fit_em_chunks(emission, sample, spread, progress)
        self._conclude()
        progress.close()
        return self

    def _adds_up(self, emission, sample):
        """Whether labels are counted. What must see all rows to learn from them says so there."""
        return emission.needs_labels or self._label_sums(deepcopy(emission), sample) is not None

    def _begin_chunks(self, spread):
        """Choose states and emission; what EM starts from, and whether all labels are known.

        With parameters that are there, EM starts from these.
        """
        if self.init == "fitted":
            emission = self._begin(None, None)
            self._take_constraints(self._rules_without_mining())
            return emission, None, False
        return self._look_first(spread)

    def _look_first(self, spread):
        survey = spread.fold(Task(self, "_survey_chunk", {}))
        kept = self._sample_chunks(spread, survey)
        sequences, _ = self._read_chunk(kept["X"], None, None, None, reset=True, **kept["times"])
        emission = self._begin_from(sequences, survey)
        if survey.rows is not None:
            emission.settle(survey.rows)
        encoded = emission.encode(sequences.X, sequences.offsets, reset=survey.rows is None)
        known = None
        if survey.labels is not None and survey.n_labels > 0:
            y = [
                np.full(len(rows), None) if y is None else y
                for rows, y in zip(kept["X"], kept["y"])
            ]
            known = read_known(read_labels(y, sequences), self.classes_)
        self._take_constraints(self._rules_without_mining())
        sample = Data(sequences, kept["weights"], known, encoded)
        return emission, sample, survey.n_labels == survey.n_steps

    def _begin_from(self, sequences, survey):
        return self._begin(sequences, survey.labels)

    def _rules_without_mining(self):
        rules = self.constraints
        for rule in rules if isinstance(rules, (list, tuple)) else [rules]:
            if hasattr(rule, "fit"):
                raise ValueError(
                    f"{type(rule).__name__} mines rules from all labels at once. Fit it to the "
                    "labels, or to a sample of them, and give its constraints_."
                )
        return rules

    def _survey_chunk(self, found, number, wanted):
        """A first look at a chunk."""
        sequences, labels, sample_weight = self._raw_chunk(**found)
        known = None if labels is None else labels[known_labels(labels)]
        emission = self._unfitted(sequences)
        rows = emission.survey(sequences.X) if hasattr(emission, "survey") else None
        names = getattr(self, "feature_names_in_", None)
        return Survey(
            sequences.n_steps,
            0 if known is None else len(known),
            (sequences.n_sequences,),
            None if known is None else join_labels(known[:0], known),
            (
                self.n_features_in_,
                None if names is None else tuple(names),
                getattr(self, "_timed", False),
            ),
            type(emission).__name__,
            rows,
            Data(sequences, sample_weight, None).groups,
        )

    def _unfitted(self, sequences):
        """The emission that rows like these have, before it is learned."""
        return emissions.resolve(self.emission, sequences.X)

    def _raw_chunk(self, X, y=None, lengths=None, groups=None, sample_weight=None, **times):
        """Sequences, labels and weights of a chunk, before states are known."""
        sequences, y = self._read_chunk(X, y, lengths, groups, reset=True, **times)
        return sequences, None if y is None else read_labels(y, sequences), sample_weight

    def _sample_chunks(self, spread, survey):
        """Whole sequences of all chunks, drawn with equal probability, in their order."""
        n_sequences = sum(survey.sizes)
        n_drawn = max(1, int(n_sequences * min(1.0, SAMPLE_STEPS / survey.n_steps)))
        drawn = np.arange(n_sequences)
        if n_drawn < n_sequences:
            rng = check_random_state(self.random_state)
            drawn = np.sort(sample_without_replacement(n_sequences, n_drawn, random_state=rng))
        ends = np.cumsum(survey.sizes)
        wanted = {}
        for s in drawn.tolist():
            number = int(np.searchsorted(ends, s, side="right"))
            wanted.setdefault(number, []).append(s - int(ends[number]) + survey.sizes[number])
        X, y, times, weights = [], [], [], []
        for part in spread.results(Task(self, "_sequences_of_chunk", {}), wanted):
            for more, into in zip(part, (X, y, times, weights)):
                into.extend(more)
        kept = {"X": X, "y": y, "weights": weights, "times": {}}
        if survey.features[2]:
            kept["times"] = {"times": times}
        if all(weight == 1.0 for weight in weights):
            kept["weights"] = None
        return kept

    def _sequences_of_chunk(self, found, number, wanted):
        """Some sequences of a chunk, cut where they are too long to start from."""
        sequences, labels, sample_weight = self._raw_chunk(**found)
        weights, ranges = read_weights(sample_weight, sequences), sequences.ranges
        out = ([], [], [], [])
        for s in wanted:
            begin, end = ranges[s]
            rows = slice(begin, min(end, begin + SAMPLE_STEPS))
            out[0].append(_copied(sequences.X, rows))
            out[1].append(None if labels is None else labels[rows].copy())
            out[2].append(None if sequences.times is None else sequences.times.values[rows].copy())
            out[3].append(float(weights[s]))
        return Sampled(out)

    def _fit_em_chunks(self, emission, sample, spread, progress):
        task = None

        def e_step(parameters):
            nonlocal task
            *parameters, emission = parameters
            state = dict(zip(self._parameter_names, parameters)) | {"emission_": emission}
            state["_token"] = digest(list(parameters), emission.__getstate__())
            task = Task(self, "_e_step_of_chunk", state) if task is None else task.next(state)
            return spread.fold(task)

        self._climb(e_step, emission, sample, progress, spread.key())

    def _e_step_of_chunk(self, found, number, wanted):
        options = {"y": None, "lengths": None, "groups": None, "sample_weight": None} | found
        return self._e_step(**options, chunk=number, fingerprint=self._token)

    _state_names = ("emission_", "startprob_", "transmat_", "generator_", "durations_")


def _copied(X, rows):
    """Rows that hold nothing else in memory."""
    if isinstance(X, np.ndarray):
        return np.array(X[rows])
    return X.iloc[rows].copy() if hasattr(X, "iloc") else X[rows]


class Sampled(tuple):
    """Sequences, labels, times and weights drawn from one chunk."""
