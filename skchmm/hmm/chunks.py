"""Learning from chunks under hmmlearn's names; see skchmm.estimators.chunks."""

from dataclasses import replace
from typing import Self

import numpy as np

from ..estimators.chunks import ChunksMixin
from ..estimators.em import emission_part
from ..estimators.spreading import Task
from ..estimators.statistics import Statistics, digest
from .hooks import HookedEmission, as_rows, forget, labels_or_lengths, overridden

# What follows from the rest, or does not concern a worker.
_NOT_SENT = ("_skchmm_monitor", "_skl_callbacks", "_callback_fit_ctx", "_counted", "random_state")


class HMMChunksMixin(ChunksMixin):
    """`e_step`, `m_step`, `fit_chunks` and `partial_fit`, where parameters are attributes."""

    def m_step(self, statistics: Statistics) -> Self:
        """Set the parameters that `params` names to those that fit statistics best.

        ``monitor_`` gets the log-likelihood of the statistics.

        Parameters
        ----------
        statistics : Statistics
            Of all the data, under the present parameters.

        Returns
        -------
        self

        Examples
        --------
        >>> import numpy as np
        >>> from skchmm.hmm import GaussianHMM
        >>> X = np.array([[0.1], [0.0], [0.2], [5.1], [4.9], [5.0], [5.2], [0.1]])
        >>> model = GaussianHMM(2, n_iter=0, random_state=0).fit(X)
        >>> before = model.score(X)
        >>> bool(model.m_step(model.e_step(X)).score(X) > before)
        True
        """
        self._check_statistics(statistics)
        bound = self._compute_lower_bound(statistics.log_likelihood)
        self._do_mstep(self._for_m_step(statistics.values))
        self.monitor_.report(bound)
        return self

    def _fingerprint(self, parameters=None, emission=None):
        rules = list(map(repr, self.constraints_))
        return digest(self._state(), self.classes_.tolist(), rules)

    def _state(self):
        """Everything that learning may change."""
        given = {*self.get_params(deep=False), *self._not_saved, *_NOT_SENT}
        return {name: value for name, value in vars(self).items() if name not in given}

    @property
    def _state_names(self):
        return tuple(self._state())

    def _read_chunk(self, X, y, lengths, groups, *, reset):
        if isinstance(X, list) and all(type(rows) is np.ndarray for rows in X):
            X = [as_rows(rows) for rows in X]  # sequences, and not rows
        X = self._stacked(X, y if lengths is None else lengths)
        y, lengths = labels_or_lengths(X, y, lengths)
        return self._read(X, lengths, groups, reset=reset), y

    def _statistics_of(self, data):
        if overridden(self, "_do_estep"):
            values, log_prob = self._do_estep(as_rows(data.sequences.X), data.sequences.lengths)
        else:
            log_prob, values = self._sums(data, self._parts(data))
        return data.statistics(values, float(log_prob))

    def _for_m_step(self, values):
        return values if overridden(self, "_do_estep") else self._as_statistics(values)

    # ------------------------------------------------------------------- EM by chunks
    def _begin_chunks(self, spread):
        names = {"s": "startprob_", "t": "transmat_"}
        names |= {letter: name for letter, (name, _) in self._emission_parameters.items()}
        if not any(c in self.init_params or not hasattr(self, n) for c, n in names.items()):
            self._settle_monitor()
            self._take_constraints(self._rules_without_mining())
            self._check()
            return None, None, False
        return self._look_first(spread)

    def _begin_from(self, sequences, survey):
        self._begin(sequences, survey.labels)
        emission = self._unfitted(sequences)
        if survey.rows is not None:
            self._take_survey(survey.rows)
        return emission

    def _unfitted(self, sequences):
        if self._emission_is_custom():
            return HookedEmission(self, None)
        vars(self).pop("_surveyed", None)
        for name in ("n_features", "n_trials"):
            forget(self, name)
        self._check_and_set_n_features(as_rows(sequences.X))
        return self._emission(without=self._emission_parameters)

    def _take_labels(self, labels):
        self._name_states(labels)

    def _fit_em_chunks(self, emission, sample, spread, progress):
        task = None

        def e_step():
            nonlocal task
            state = self._state()
            state["_token"] = digest(state)
            task = Task(self, "_e_step_of_chunk", state) if task is None else task.next(state)
            total = spread.fold(task)
            return total.log_likelihood, self._for_m_step(total.values)

        try:
            if sample is None:
                self._iterate(e_step, self._do_mstep, progress)
            else:
                self._fit_em(None, replace(sample, encoded=None), progress, e_step)
        finally:
            vars(self).pop("_surveyed", None)

    # ---------------------------------------------------------------------- labels
    def _estimate(self, emission, values):
        letters = self._to_set(self.params)
        emission.estimate(emission_part(values), smoothing=self.smoothing)
        self._take(emission, letters)
        counts = [value for name, value in values.items() if name.startswith("labels ")]
        self._count(counts, self.smoothing, letters)
        self._check()
