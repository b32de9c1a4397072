"""Fitting in hmmlearn's order of update, report and stop, with the hooks that subclasses override.

`fit` is that of all likelihood models; what differs is where EM starts, that parameters are
attributes from the first iteration on, and that every step has hmmlearn's name.
"""

import logging
from collections.abc import Collection
from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.utils import check_random_state

from ..emissions import GMM, Gaussian
from ..emissions.base import steps_in_part
from ..emissions.priors import log_dirichlet
from ..estimators.em import (
    Data,
    Progress,
    accumulation,
    emission_part,
    expect,
    fell,
    lost_to_rounding,
    parts_of,
    with_callbacks,
)
from ..estimators.transitions import count_labels, normalise, read_fixed, update
from ..sequences.forms import read_sequences
from ..sequences.labels import sorted_labels
from .hooks import (
    LEARNING_HOOKS,
    accumulate_by_sequence,
    as_rows,
    forget,
    labels_or_lengths,
    learn,
    overridden,
    random_numbers,
    underflow,
)
from .plain import PlainSteps

_log = logging.getLogger("skchmm.hmm")

# hmmlearn's scaled recursions give up where a step's likelihood is below 1e-300.
_LOG_UNDERFLOW = np.log(1e-300)


class LearningMixin:
    """`fit`, from labels or by EM."""

    @with_callbacks
    def fit(
        self,
        X: Any,
        y: Any = None,
        lengths: Collection[int] | None = None,
        *,
        groups: Any = None,
        **weights: Any,
    ) -> Self:
        """Learn from unlabelled, labelled or partly labelled sequences.

        Parameters
        ----------
        X : array (n_samples, n_features), or sequences in any other form
            Missing values (NaN, None) are marginalised out.
        y : labels, or lengths
            One value per row: labels. Otherwise, as in hmmlearn's ``fit(X, lengths)``, the lengths
            (whole numbers; more or fewer than rows, or all 1). With all labels known, the
            probabilities come from counts with pseudocount `smoothing`; where labels are missing
            (None, NaN, or -1 among integers), from EM with the known ones held.
        lengths : sequence of int, optional
        groups : sequence, optional
        sample_weight : sequence of float, optional
            One weight per sequence for a list, else one per row, constant within a sequence.

        Returns
        -------
        self
        """
        X = self._stacked(X, y if lengths is None else lengths)
        y, lengths = labels_or_lengths(X, y, lengths)
        return self._fit_sequences(X, y, lengths, groups, weights)

    def _begin(self, sequences, labels):
        self._name_states(labels)
        S = self.n_components
        self._check_priors((S,), (S, S))
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
        self._skchmm_labels = None
        self._check_states()
        if self.states is not None or labels is None:
            return
        found, S = sorted_labels(labels), self.n_components
        if found.dtype.kind in "iu" and ((found >= 0) & (found < S)).all():
            return
        if len(found) > 0 and S in (1, len(found)):
            self._skchmm_labels = found
            learn(self, "n_components", len(found))
        elif len(found) > 0:
            raise ValueError(
                f"n_components={S}, but y has {len(found)} labels: {found[:8].tolist()}. Use 0 to "
                f"{S - 1}, or give states= to name labels that y does not show."
            )

    def _settle_monitor(self):
        """Start counting anew; parameters changed since the monitor was made take effect."""
        monitor, made_for = self.monitor_, self._skchmm_monitor[1]
        if made_for is not None:
            for name, value in self._stopping_rule().items():
                if value != made_for[name]:
                    setattr(monitor, name, value)
            self._skchmm_monitor = (monitor, self._stopping_rule())
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
    def _progress(self):
        # The monitor prints.
        return Progress(self, range(1, self.n_iter + 1), n_starts=self.n_init)

    def _fit_em(self, emission, data, progress, e_step=None):
        names = self._learned_names()
        before = {name: vars(self)[name] for name in names if name in vars(self)}
        given, best = self.random_state, None
        try:
            for _, seed in zip(progress.starts(), self._seeds()):
                for name in names:
                    vars(self).pop(name, None)
                vars(self).update(before)
                self.random_state = seed
                steps = self._start(data)
                if e_step is not None:
                    steps = e_step, self._do_mstep
                self._iterate(*steps, progress)
                if self.n_init == 1:
                    return
                value = self._compute_lower_bound(steps[0]()[0])
                if best is None or value > best[0]:
                    best = value, {name: vars(self)[name] for name in names}, self.monitor_.history
                    self.monitor_.history = type(self.monitor_.history)()
        finally:
            self.random_state = given
        vars(self).update(best[1])
        self.monitor_.history, self.monitor_.iter = best[2], len(best[2])

    def _learned_names(self):
        return ["startprob_", "transmat_", *(n for n, _ in self._emission_parameters.values())]

    def _seeds(self):
        """The seed that was given, then others drawn from it."""
        rng = check_random_state(self.random_state) if self.n_init > 1 else None
        return [self.random_state, *(rng.randint(2**31 - 1) for _ in range(self.n_init - 1))]

    def _start(self, data):
        """Set start values; the E-step and the M-step."""
        self._init(as_rows(data.sequences.X), data.sequences.lengths)
        if data.has_labels:
            self._start_from_labels(data)
        for name, fixed in zip(("startprob_", "transmat_"), self._fixed()):
            if fixed is not None:
                setattr(self, name, normalise(getattr(self, name), fixed))
        self._check()
        if overridden(self, "_do_estep"):
            rows, lengths = as_rows(data.sequences.X), data.sequences.lengths
            return lambda: self._do_estep(rows, lengths)[::-1], self._do_mstep
        parts = self._parts(data)
        plain = self._takes_plain_steps and self.constraints is None
        if plain and PlainSteps.serve(self, data, parts):
            steps = PlainSteps(self, data, parts[0])
            return steps.expect, steps.maximise
        return lambda: self._statistics(data, parts), self._do_mstep

    _takes_plain_steps = True

    def _learning_emission(self):
        """The emission of the E-step."""
        return self.emission_

    def _learning_chain(self):
        """The chain of the E-step."""
        return self._chain()

    def _parts(self, data):
        emission = self._learning_emission()
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

    def _iterate(self, e_step, m_step, progress):
        try:
            self._iterations(e_step, m_step, progress)
        except BaseException as error:  # an interrupt leaves the last complete iteration
            error.keeps_iterations = self.monitor_.iter > 0  # type: ignore[attr-defined]
            raise

    def _iterations(self, e_step, m_step, progress):
        monitor, names, before = self.monitor_, self._learned_names(), None
        monitor._reset()
        for iteration in range(self.n_iter):
            progress.begin()
            log_prob, statistics = e_step()
            bound = self._compute_lower_bound(log_prob)
            if before and self._lost_to_rounding(bound - monitor.history[-1], bound, before):
                lost, bound = monitor.history[-1] - bound, monitor.history[-1]
                _log.warning(lost_to_rounding(lost, iteration))
                vars(self).update(before)
                monitor.report(bound)
                progress.end(iteration + 1, bound, None)
                break
            before = {name: vars(self)[name] for name in names if name in vars(self)}
            try:
                m_step(statistics)
            except BaseException:
                vars(self).update(before)
                raise
            monitor.report(bound)
            stop = progress.end(iteration + 1, bound, None)
            if monitor.converged or stop:
                break

    def _lost_to_rounding(self, change, bound, before):
        """Whether the likelihood has fallen since parameters of before, and not for a prior.

        That is known of Gaussians whose means and covariances have none.
        """
        is_likelihood = type(self)._compute_lower_bound is LearningMixin._compute_lower_bound
        if not fell(change, bound) or not is_likelihood:
            return False
        if overridden(self, "_do_estep", "_do_mstep", *LEARNING_HOOKS):
            return False
        emission = self._emission()
        if isinstance(emission, GMM):
            emission.set_params(weights_prior=1.0)
        if not isinstance(emission, (Gaussian, GMM)) or emission.log_prior() != 0.0:
            return False
        for name in ("startprob", "transmat", "weights"):
            added = np.asarray(getattr(self, f"{name}_prior", 1.0)) - 1.0
            if added.any() and f"{name}_" in before:
                old, new = before[f"{name}_"], getattr(self, f"{name}_")
                if not np.array_equal(old == 0, new == 0):
                    return False  # a prior below 1 likes nothing more
                change += log_dirichlet(added, new) - log_dirichlet(added, old)
        return fell(change, bound)

    def _statistics(self, data, parts):
        """The log-likelihood, and the statistics of an iteration."""
        log_prob, values = self._sums(data, parts)
        return log_prob, self._as_statistics(values)

    def _sums(self, data, parts):
        """The log-likelihood, and sums that add up over sequences."""
        emission = self._learning_emission()
        if self._accumulates_itself():
            statistics = self._initialize_sufficient_statistics()
            return accumulate_by_sequence(self, emission, statistics, data, parts[0]), statistics
        log_prob, expected = self._expect(emission, data, parts, accumulation(emission))
        values = {f"emission {name}": value for name, value in expected.statistics.items()}
        values |= {"nobs": data.sequences.n_sequences, "start": expected.starts}
        return log_prob, values | {"trans": expected.smoothed.counts.transitions}

    def _as_statistics(self, values):
        """Sums as the M-step takes them, under hmmlearn's names."""
        if self._accumulates_itself():
            return values
        statistics = self._initialize_sufficient_statistics()
        statistics["nobs"] += values["nobs"]
        if "s" in self.params:
            statistics["start"] += values["start"]
        if "t" in self.params:
            statistics["trans"] += values["trans"]
        self._add(statistics, emission_part(values))
        return statistics

    def _expect(self, emission, data, parts, accumulate):
        expected = expect(
            self._learning_chain(), emission, parts, self.n_jobs, accumulate=accumulate,
            check=self._check_underflow,
        )  # fmt: skip
        return self._objective(expected.smoothed.log_z, data, emission), expected

    def _check_underflow(self, frames):
        if self.implementation != "scaling":
            return
        # column by column: numpy reduces a short last axis slowly
        under = np.logical_and.reduce([column < _LOG_UNDERFLOW for column in frames.table.T])
        if np.any(under if frames.index is None else under[frames.index]):
            raise underflow()

    # ----------------------------------------- steps under hmmlearn's names
    def _init(self, X, lengths=None):
        """Start values for what `init_params` names and for what is not there yet."""
        self._check_and_set_n_features(X)
        S = self.n_components
        rng = random_numbers(self.random_state)
        if self._needs_init("s", "startprob_"):
            self.startprob_ = rng.dirichlet(np.full(S, 1 / S))
        if self._needs_init("t", "transmat_"):
            self.transmat_ = rng.dirichlet(np.full(S, 1 / S), size=S)
        self._warn_if_few(X)
        needed = [p for p, (name, _) in self._emission_parameters.items()
                  if self._needs_init(p, name)]  # fmt: skip
        if needed:
            emission = self._emission(without=needed)
            encoded = emission.encode(X, reset=True)
            init, seed = emission.default_init, self.random_state
            if init == "kmeans" and "m" not in needed:
                init, seed = "random", 0  # only the covariances are used
            elif init == "random":
                seed = random_numbers(seed)
            emission.initialise(encoded, None, S, init=init, random_state=seed)
            self._take(emission, needed)

    def _warn_if_few(self, X):
        n_scalars = self._get_n_fit_scalars_per_param()
        wanted = sum(n_scalars.get(letter, 0) for letter in self.params)
        if np.size(X) < wanted:
            _log.warning(
                "Fitting a model with %d free scalar parameters with only %d data points will "
                "result in a degenerate solution.",
                wanted,
                np.size(X),
            )

    def _needs_init(self, code, name):
        if code not in self.init_params:
            return not hasattr(self, name)
        if hasattr(self, name):
            _log.warning(
                "Even though the %r attribute is set, it will be overwritten during "
                "initialization because 'init_params' contains %r",
                name,
                code,
            )
        return True

    def _check_and_set_n_features(self, X):
        n_features = np.shape(X)[1]
        if getattr(self, "n_features", n_features) != n_features:
            raise ValueError(
                f"Unexpected number of dimensions, got {n_features} but expected {self.n_features}"
            )
        learn(self, "n_features", n_features)

    def _initialize_sufficient_statistics(self):
        """Zero for every statistic of an iteration."""
        S = self.n_components
        statistics = {"nobs": 0, "start": np.zeros(S), "trans": np.zeros((S, S))}
        emission = self._emission() if overridden(self, *LEARNING_HOOKS) else None
        if emission is not None:  # who overrides may look for its statistics
            nothing = emission.encode(np.full((1, self._n_columns()), np.nan), reset=False)
            self._add(statistics, emission.accumulate(nothing, np.zeros((1, S))))
        return statistics

    def _do_estep(self, X, lengths):
        """The statistics of an iteration, and the log-likelihood."""
        data = Data(read_sequences(X, lengths=lengths), None, None)
        log_prob, statistics = self._statistics(data, self._parts(data))
        return statistics, log_prob

    def _compute_lower_bound(self, curr_logprob):
        """What EM maximises and reports to the monitor."""
        return curr_logprob

    def _accumulate_sufficient_statistics(
        self, stats, X, lattice, posteriors, fwdlattice, bwdlattice
    ):
        """Add what one sequence says.

        `fwdlattice` and `bwdlattice` are None under constraints: there are none over states.
        """
        stats["nobs"] += 1
        if "s" in self.params:
            stats["start"] += posteriors[0]
        if "t" in self.params and self._skchmm_transitions is not None:
            stats["trans"] += self._skchmm_transitions
        emission = self._emission()
        if emission is not None:
            self._add(stats, emission.accumulate(emission.encode(X, reset=False), posteriors))

    def _add(self, statistics, more):
        for name, value in self._as_hmmlearn_names(more).items():
            statistics[name] = statistics.get(name, 0) + value

    def _as_hmmlearn_names(self, statistics):
        """Statistics of the emission under the names that hmmlearn gives them."""
        return statistics

    def _as_emission_names(self, statistics):
        return statistics

    def _fixed(self):
        S = self.n_components
        return (
            read_fixed(self.startprob_fixed, (S,), "startprob_fixed"),
            read_fixed(self.transmat_fixed, (S, S), "transmat_fixed"),
        )

    def _do_mstep(self, stats):
        """The parameters that `params` names, from the statistics; zeros stay zero."""
        start_fixed, trans_fixed = self._fixed()
        if "s" in self.params:
            self.startprob_ = update(
                self.startprob_, stats["start"], self.startprob_prior, start_fixed
            )
        if "t" in self.params:
            self.transmat_ = update(
                self.transmat_, stats["trans"], self.transmat_prior, trans_fixed
            )
        letters = [letter for letter in self._emission_parameters if letter in self.params]
        if letters:
            emission = self._emission()
            emission.maximise(self._as_emission_names(stats))
            self._take(emission, letters)
