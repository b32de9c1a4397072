"""Learning of a CTConstrainedHMM: labelled, unlabelled and partly labelled event streams."""

from copy import deepcopy

import numpy as np
from sklearn.utils.validation import check_is_fitted

from . import emissions
from ._estimation import normalise, read_fixed
from ._expectation import accumulation, collect
from ._learning import Data, LearningMixin, _check_columns, start_and_emission
from ._progress import with_callbacks
from ._semantics import SEMANTICS
from ._times import of_frames, timed
from .inference import check_frames
from .sequences import read_labels, read_step_weights, read_weights


class CTLearningMixin(LearningMixin):
    """`fit`, for estimators with the parameters of CTConstrainedHMM."""

    @with_callbacks
    def fit(self, X, y=None, *, times=None, lengths=None, groups=None, **weights):
        """Learn from labelled, unlabelled or partly labelled sequences.

        Parameters
        ----------
        X : sequences in any of the three forms
        y : labels in the same form, optional
            With all labels: jumps counted over the time spent, with pseudocount `smoothing`;
            a state is taken to last until the next observation. Without: EM. Partly missing
            (None, NaN, or -1 among integers): EM with the known labels held.
        times : numbers, datetimes or timedeltas, one a row, in the same form
            Must not decrease within a sequence. Without them the rows are one unit apart.
        lengths : sequence of int, optional
        groups : sequence, optional
        sample_weight : sequence of float, optional
            One weight a sequence for a list, else one a row, constant within a sequence.

        Returns
        -------
        self
        """
        sample_weight = weights.pop("sample_weight", None)
        if weights:
            raise TypeError(f"fit() got an unexpected keyword argument {next(iter(weights))!r}")
        self._check_parameters()
        self.__dict__.pop("_unmasked", None)
        sequences = self._read(timed(X, times), lengths, groups, reset=True)
        step_weights = read_step_weights(sample_weight, sequences)
        labels = None if y is None else read_labels(y, sequences)
        if self.init == "fitted":
            check_is_fitted(self, "generator_", msg="init='fitted' needs a fitted estimator.")
            emission = deepcopy(self.emission_)
        else:
            _check_columns(self.emission, sequences.X)
            emission = emissions.resolve(self.emission, sequences.X)
            self.classes_ = self._choose_classes(labels, emission)
        S = len(self.classes_)
        encoded = emission.encode(sequences.X, sequences.offsets, reset=self.init != "fitted")
        codes = None if y is None else self._encode_labels(y, sequences)
        self.constraints_ = self._resolve_constraints(y, lengths, groups)
        self._compile()
        start_fixed = read_fixed(self.startprob_fixed, (S,), "startprob_fixed")
        fixed = read_fixed_rates(self.generator_fixed, S)
        data = Data(encoded, sequences, step_weights, codes, start_fixed, self._masked(fixed))
        context = self._init_callback_context(max_subtasks=None)
        if codes is not None and (codes >= 0).all():
            self._fit_labelled(emission, data)
        else:
            data.weights = read_weights(sample_weight, sequences)
            self._fit_em(emission, data, context)
        self.graph_ = self._chain().graph
        return self

    def _check_parameters(self):
        super()._check_parameters()
        if self.semantics not in SEMANTICS:
            raise ValueError(f"semantics must be one of {SEMANTICS}, got {self.semantics!r}.")

    def _masked(self, fixed):
        """Given rates, those of masked jumps among them as zeros."""
        if self._mask is None:
            return fixed
        fixed = np.full(self._mask.shape, np.nan) if fixed is None else fixed
        return np.where(self._mask, 0.0, fixed)

    def _fit_labelled(self, emission, data):
        S = len(self.classes_)
        starts, jumps, stays = count_jumps(
            data.codes, data.offsets, data.sequences.gaps, S, data.step_weights
        )
        self.startprob_ = normalise(starts + self.smoothing, data.start_fixed)
        self.generator_ = smoothed_rates(jumps, stays, self.smoothing, data.fixed)
        emission.fit_supervised(
            data.encoded, data.codes, S, data.step_weights, offsets=data.offsets,
            smoothing=self.smoothing, random_state=self.random_state,
        )  # fmt: skip
        self.emission_ = emission
        self.history_, self.n_iter_, self.converged_ = [], 0, True

    def _fit_em(self, emission, data, context):
        # the loop is that of discrete time; what it calls the transition matrix is the generator
        super()._fit_em(emission, data, context)
        self.generator_ = self.__dict__.pop("transmat_")

    def _start_em(self, emission, data, random_state):
        """Start values: (startprob, generator, emission)."""
        S = len(self.classes_)
        if self.init == "fitted":
            startprob = normalise(self.startprob_, data.start_fixed)
            return startprob, generator_of(self.generator_, data.fixed), emission
        positive = data.sequences.gaps[data.sequences.gaps > 0]
        unit = float(np.median(positive)) if len(positive) else 1.0
        starts = np.ones(S)
        rates = np.full((S, S), 1.0 / (4 * unit * max(S - 1, 1)))
        if self.init == "random" or self.n_init > 1:
            starts = random_state.dirichlet(starts)
            rates = rates * random_state.gamma(2.0, 0.5, size=(S, S))
        if not emission.needs_labels:
            init = emission.default_init if self.init == "auto" else self.init
            emission.initialise(data.encoded, data.offsets, S, init=init, random_state=random_state)
        if data.codes is not None and (data.codes >= 0).any():
            first, jumps, stays = count_jumps(
                data.codes, data.offsets, data.sequences.gaps, S, data.step_weights
            )
            starts = starts + first
            # the start values weigh as much as one expected jump from each state
            weight = 4 * unit
            rates = (rates * weight + jumps) / (weight + stays)[:, None]
            emission.fit_supervised(
                data.encoded, data.codes, S, data.step_weights, offsets=data.offsets,
                smoothing=self.smoothing, random_state=random_state,
            )  # fmt: skip
        return normalise(starts, data.start_fixed), generator_of(rates, data.fixed), emission

    def _e_step(self, parameters, data, learn):
        startprob, generator, emission = parameters
        frames = emission.log_likelihood(data.encoded)
        check_frames(frames, len(startprob), data.sequences.n_steps)
        frames = of_frames(frames, data.sequences.gaps)
        if data.codes is not None:
            frames = frames.clamp(data.codes)
        smoothed = self._chain(startprob, generator).smooth(
            frames, data.offsets, seq_weights=data.weights, counts=True, n_jobs=self.n_jobs
        )
        expected = collect(smoothed, frames, data, accumulation(emission) if learn else None)
        return self._objective(smoothed.log_z, data), expected

    def _m_step(self, parameters, expected, data):
        startprob, generator, emission = parameters
        startprob, emission = start_and_emission(startprob, emission, expected, data)
        smoothed = expected.smoothed
        stays = smoothed.stays[:, None]
        rates = np.divide(smoothed.jumps, stays, out=generator.copy(), where=stays > 0)
        return startprob, generator_of(rates, data.fixed), emission


def generator_of(rates, fixed=None):
    """A generator from rates off the diagonal, given ones kept."""
    rates = np.array(rates, dtype=np.float64)
    if fixed is not None:
        rates = np.where(np.isnan(fixed), rates, fixed)
    np.fill_diagonal(rates, 0.0)
    np.fill_diagonal(rates, -rates.sum(axis=1))
    return rates


def read_fixed_rates(fixed, n_states):
    """Given rates: NaN is to be learned, a number is given; the diagonal says nothing."""
    if fixed is None:
        return None
    fixed = np.array(fixed, dtype=np.float64)
    if fixed.shape != (n_states, n_states):
        raise ValueError(
            f"generator_fixed has shape {fixed.shape}; expected {(n_states, n_states)}."
        )
    np.fill_diagonal(fixed, np.nan)
    if (fixed < 0).any() or np.isinf(fixed).any():
        raise ValueError("generator_fixed holds a number off the diagonal that is not a rate.")
    return fixed


def count_jumps(codes, offsets, gaps, n_states, step_weights):
    """Weighted counts of first labels (S,), of jumps (S, S), and times spent (S,).

    A state lasts until the next observation; between known labels only.
    """
    firsts = offsets[:-1][codes[offsets[:-1]] >= 0]
    starts = np.bincount(codes[firsts], weights=step_weights[firsts], minlength=n_states)
    inside = np.ones(len(codes), dtype=bool)
    inside[offsets[:-1]] = False
    to = np.flatnonzero(inside)
    to = to[(codes[to] >= 0) & (codes[to - 1] >= 0)]
    weights = step_weights[to]
    pairs = codes[to - 1] * n_states + codes[to]
    jumps = np.bincount(pairs, weights=weights, minlength=n_states**2)
    jumps = jumps.reshape(n_states, n_states)
    np.fill_diagonal(jumps, 0.0)
    stays = np.bincount(codes[to - 1], weights=weights * gaps[to], minlength=n_states)
    return starts, jumps, stays


def smoothed_rates(jumps, stays, smoothing, fixed=None):
    """Generator from counted jumps and times.

    Every jump is counted `smoothing` times more, each in the mean time between jumps of all
    the data: (n_ij + smoothing) / (t_i + smoothing (S - 1) t / n). So a state that was never
    seen gets the average rate of leaving, and the unit of time does not matter.
    """
    S = len(stays)
    total = jumps.sum()
    between = stays.sum() / total if total > 0 else stays.sum()
    between = between if between > 0 else 1.0
    exposure = stays + smoothing * max(S - 1, 1) * between
    with np.errstate(divide="ignore", invalid="ignore"):
        rates = (jumps + smoothing) / exposure[:, None]
    # no time was spent there: as if it were average
    share = jumps / np.maximum(jumps.sum(axis=1, keepdims=True), 1e-300)
    rates = np.where(exposure[:, None] > 0, rates, share / between)
    return generator_of(rates, fixed)
