"""Fitting: from labels, or by EM in hmmlearn's order of update, report and stop."""

from dataclasses import replace

import numpy as np
from sklearn.utils import check_random_state

from ..emissions.base import steps_in_part
from ..estimators.estimation import count_labels, normalise
from ..estimators.expectation import accumulation, expect, parts_of
from ..estimators.progress import Progress, with_callbacks
from ..sequences.encoding import known_labels
from .answers import labels_or_lengths
from .hooks import as_rows, forget, learn, overridden
from .steps import LEARNING_HOOKS, StepsMixin


class LearningMixin(StepsMixin):
    """`fit`, from labels or by EM."""

    @with_callbacks
    def fit(self, X, y=None, lengths=None, *, groups=None, **weights):
        """Learn from unlabelled, labelled or partly labelled sequences.

        Parameters
        ----------
        X : array (n_samples, n_features), or sequences in any other form
            Missing values (NaN, None) are marginalised out.
        y : labels, or lengths
            One value a row: labels. Otherwise, as in hmmlearn's ``fit(X, lengths)``, the lengths
            (whole numbers; more or fewer than rows, or all 1). With all labels known, the
            probabilities come from counts with pseudocount `smoothing`; where labels are missing
            (None, NaN, or -1 among integers), from EM with the known ones held.
        lengths : sequence of int, optional
        groups : sequence, optional
        sample_weight : sequence of float, optional
            One weight a sequence for a list, else one a row, constant within a sequence.

        Returns
        -------
        self
        """
        y, lengths = labels_or_lengths(X, y, lengths)
        return self._fit(X, y, lengths, groups, weights)

    def _begin(self, sequences, labels):
        self._name_states(labels)
        if all(letter in self.init_params for letter in self._emission_parameters):
            forget(self, "n_features")
            forget(self, "n_trials")
        self._settle_monitor()

    def _encode(self, emission, sequences):
        """Nothing yet: what the emission looks like follows from the start values."""

    @property
    def _counts_labels(self):
        return not (self._emission_is_custom() or overridden(self, *LEARNING_HOOKS))

    def _emission_is_custom(self):
        return not self._emission_parameters or overridden(
            self, "_compute_log_likelihood", "_compute_likelihood"
        )

    def _name_states(self, labels):
        """Which state has which label, and how many there are."""
        forget(self, "n_components")
        self._labels = None
        self._check_states()
        if self.states is not None or labels is None:
            return
        found, S = np.unique(labels[known_labels(labels)]), self.n_components
        if found.dtype.kind in "iu" and ((found >= 0) & (found < S)).all():
            return
        if len(found) > 0 and S in (1, len(found)):
            self._labels = found
            learn(self, "n_components", len(found))
        elif len(found) > 0:
            raise ValueError(
                f"n_components={S}, but y has {len(found)} labels: {found[:8].tolist()}. Use 0 to "
                f"{S - 1}, or give states= to name labels that y does not show."
            )

    def _settle_monitor(self):
        """Start counting anew; parameters changed since the monitor was made take effect."""
        monitor, follows = self.monitor_, self._monitor_follows
        if follows is not None:
            for name, value in self._stopping_rule().items():
                if value != follows[name]:
                    setattr(monitor, name, value)
            self._monitor_follows = self._stopping_rule()
        monitor._reset()

    # -------------------------------------------------------------- labelled
    def _fit_labelled(self, emission, data):
        self._check_and_set_n_features(as_rows(data.sequences.X))
        emission, S = self._emission(without=self.params), self.n_components
        encoded = emission.encode(data.sequences.X, data.offsets, reset=True)
        emission.fit_supervised(
            encoded, data.codes, S, data.step_weights, offsets=data.offsets,
            smoothing=self.smoothing, random_state=self.random_state,
        )  # fmt: skip
        self._take(emission, self._to_set(self.params))
        counts = count_labels(data.codes, data.offsets, S, data.step_weights)
        self._count(counts, self.smoothing, self._to_set(self.params))
        self._check()

    def _to_set(self, letters):
        """These letters, and those of parameters that are not there yet."""
        names = {"s": "startprob_", "t": "transmat_"}
        names |= {letter: name for letter, (name, _) in self._emission_parameters.items()}
        return [p for p, name in names.items() if p in letters or not hasattr(self, name)]

    def _count(self, counts, pseudocount, letters):
        names, priors = ("startprob_", "transmat_"), (self.startprob_prior, self.transmat_prior)
        for letter, name, count, prior, fixed in zip("st", names, counts, priors, self._fixed()):
            if letter in letters:
                total = np.maximum(count + pseudocount + np.asarray(prior) - 1.0, 0.0)
                setattr(self, name, normalise(total, fixed))

    # -------------------------------------------------------------------- EM
    def _fit_em(self, emission, data, context):
        progress = Progress(self, context, 0)
        names = ["startprob_", "transmat_", *(n for n, _ in self._emission_parameters.values())]
        before = {name: vars(self)[name] for name in names if name in vars(self)}
        given, best = self.random_state, None
        try:
            for seed in self._seeds():
                for name in names:
                    vars(self).pop(name, None)
                vars(self).update(before)
                self.random_state = seed
                parts = self._start(data)
                self._iterate(data, parts, progress)
                if self.n_init == 1:
                    return
                value, _ = self._expect(self.emission_, data, parts, None)
                if best is None or value > best[0]:
                    best = value, {name: vars(self)[name] for name in names}, self.monitor_.history
                    self.monitor_.history = type(self.monitor_.history)()
        finally:
            self.random_state = given
        vars(self).update(best[1])
        self.monitor_.history, self.monitor_.iter = best[2], len(best[2])

    def _seeds(self):
        """The seed that was given, then others drawn from it."""
        rng = check_random_state(self.random_state) if self.n_init > 1 else None
        return [self.random_state, *(rng.randint(2**31 - 1) for _ in range(self.n_init - 1))]

    def _start(self, data):
        """Set start values; the parts in which the data are gone through."""
        self._init(as_rows(data.sequences.X), data.sequences.lengths)
        if data.has_labels:
            self._start_from_labels(data)
        for name, fixed in zip(("startprob_", "transmat_"), self._fixed()):
            if fixed is not None:
                setattr(self, name, normalise(getattr(self, name), fixed))
        self._check()
        emission = self.emission_
        encoded = emission.encode(data.sequences.X, data.offsets, reset=False)
        least = None if self._accumulates_itself() else steps_in_part(emission)
        data = replace(data, encoded=encoded)
        return parts_of(emission, data, self.n_components, self.n_jobs, least=least)

    def _accumulates_itself(self):
        return overridden(self, "_accumulate_sufficient_statistics")

    def _start_from_labels(self, data):
        counts = count_labels(data.codes, data.offsets, self.n_components, data.step_weights)
        self._count(counts, 1.0, self.init_params)
        emission = self._emission()
        if emission is not None:
            emission.fit_supervised(
                emission.encode(data.sequences.X, data.offsets, reset=False), data.codes,
                self.n_components, data.step_weights, offsets=data.offsets,
                smoothing=self.smoothing, random_state=self.random_state,
            )  # fmt: skip
            self._take(emission, self.init_params)

    def _iterate(self, data, parts, progress):
        monitor = self.monitor_
        monitor._reset()
        for iteration in range(self.n_iter):
            progress.begin()
            log_prob, statistics = self._do_estep(data, parts)
            self._do_mstep(statistics)
            monitor.report(log_prob)
            stop = progress.end(iteration, log_prob, None)
            if monitor.converged or stop:
                break

    def _do_estep(self, data, parts):
        seen = []

        def look(part, frames, posteriors):
            seen.append((frames, posteriors))
            return {}

        emission, itself = self.emission_, self._accumulates_itself()
        accumulate = look if itself else accumulation(emission)
        log_prob, expected = self._expect(emission, data, parts, accumulate)
        statistics = self._initialize_sufficient_statistics()
        statistics["nobs"] += data.sequences.n_sequences
        if "s" in self.params:
            statistics["start"] += expected.starts
        if "t" in self.params:
            statistics["trans"] += expected.smoothed.counts.transitions
        if itself:
            self._accumulate_by_sequence(statistics, *seen[0], data)
        else:
            self._add(statistics, expected.statistics)
        return log_prob, statistics

    def _expect(self, emission, data, parts, accumulate):
        expected = expect(
            self._chain(), emission, parts, self.n_jobs, accumulate=accumulate,
            check=self._check_underflow,
        )  # fmt: skip
        return self._objective(expected.smoothed.log_z, data), expected

    def _accumulate_by_sequence(self, statistics, frames, posteriors, data):
        lattice = frames.dense()
        if self.implementation == "scaling":
            lattice = np.exp(lattice)
        rows, cuts = as_rows(data.sequences.X), data.offsets[1:-1]
        for pieces in zip(*(np.split(part, cuts) for part in (rows, lattice, posteriors))):
            self._accumulate_sufficient_statistics(statistics, *pieces, None, None)
