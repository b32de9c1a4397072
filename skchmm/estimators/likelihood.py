"""LikelihoodModel: what all models share that say how probable the observations are.

Here is the one fit of all of them, for labelled, unlabelled and partly labelled sequences. The
dynamics of a model (`Transitions`, `Rates`, `Segments`) say how states follow each other, and its
emission what they produce; here is what is learned of the two, and in which order.
"""

import numbers
from collections.abc import Collection
from copy import deepcopy
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from .. import emissions
from ..constraints.compile import flatten
from ..emissions.base import steps_in_part
from ..exceptions import InfeasibleSequenceError
from ..sequences.aligned import read_step_weights, read_weights
from ..sequences.forms import Sequences, read_labels
from ..sequences.labels import choose_states, encode_labels
from .base import SequenceEstimator
from .criteria import CriteriaMixin
from .em import (
    CallbackSupportMixin,
    Progress,
    accumulation,
    expect,
    parts_of,
    run_em,
    warn_not_converged,
    with_callbacks,
)
from .infeasible import describe_infeasible
from .transitions import Transitions

# Beyond so many steps, to find the smallest conflict takes longer than one waits for an error.
LONGEST_EXPLAINED = 2000


@dataclass(frozen=True)
class Data:
    """What a fit looks at, read once."""

    sequences: Sequences
    sample_weight: object
    codes: np.ndarray | None  # state index of each step, -1 where it is not known
    encoded: object = None  # the rows as the emission takes them

    @property
    def offsets(self):
        return self.sequences.offsets

    @cached_property
    def step_weights(self):
        if self.sample_weight is None:
            return np.ones(self.sequences.n_steps)
        return read_step_weights(self.sample_weight, self.sequences)

    @cached_property
    def weights(self):
        """One per sequence."""
        if self.sample_weight is None:
            return np.ones(self.sequences.n_sequences)
        return read_weights(self.sample_weight, self.sequences)

    @cached_property
    def is_labelled(self):
        """Whether all labels are known."""
        return self.codes is not None and bool((self.codes >= 0).all())

    @cached_property
    def has_labels(self):
        """Whether any label is known."""
        return self.codes is not None and bool((self.codes >= 0).any())


class LikelihoodModel(CriteriaMixin, CallbackSupportMixin, SequenceEstimator):
    """An estimator with an emission and with dynamics: how states follow each other."""

    # scikit-learn takes a sample_weight in the signature of fit for a weight of exchangeable rows
    # and tests it as one. Here it weighs sequences, so it is declared for routing instead.
    __metadata_request__fit = {"sample_weight": None}

    _dynamics_of: type = Transitions
    _parameter_names = Transitions.names

    def _dynamics(self):
        return self._dynamics_of(self)

    def _supports(self, *parameters):
        return self._dynamics().supports(*parameters)

    def _new_chain(self, graph, *parameters):
        return self._dynamics().chain(graph, *parameters)

    @with_callbacks
    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        lengths: Collection[int] | None = None,
        groups: Any = None,
        **weights: Any,
    ) -> Self:
        """Learn from labelled, unlabelled or partly labelled sequences.

        Parameters
        ----------
        X : sequences in any of the three forms
        y : labels in the same form, optional
            With all labels: maximum likelihood with pseudocount `smoothing`. Without: EM. Partly
            missing (None, NaN, or -1 among integers): EM with the known labels held.
        lengths : sequence of int, optional
        groups : sequence, optional
        sample_weight : sequence of float, optional
            One weight per sequence for a list, else one per row, constant within a sequence. With
            all labels known the rows of a sequence may differ in weight: an emission counts with
            the weight of its row, a transition with that of the row it leads to.

        Returns
        -------
        self
        """
        return self._fit_sequences(X, y, lengths, groups, weights)

    def _fit_sequences(self, X, y, lengths, groups, weights, **times):
        sample_weight = pop_sample_weight(weights)
        self._check_parameters()
        sequences = self._read(X, lengths, groups, reset=True, **times)
        labels = None if y is None else read_labels(y, sequences)
        emission = self._begin(sequences, labels)
        codes = None if y is None else encode_labels(labels, self.classes_)
        data = Data(sequences, sample_weight, codes, self._encode(emission, sequences))
        self._compile(mine_constraints(self.constraints, y, lengths, groups))
        if data.is_labelled and self._counts_labels:
            progress = Progress(self, range(0))
            self._fit_labelled(emission, data)
        else:
            progress = self._progress()
            self._fit_em(emission, data, progress)
        self._conclude()
        progress.close()
        return self

    def _progress(self):
        n_starts = 1 if self.init == "fitted" else self.n_init
        return Progress(self, range(self.n_iter + 1), n_starts=n_starts, verbose=self.verbose)

    _counts_labels = True  # whether a model with all labels is learned without EM

    def _begin(self, sequences, labels):
        """Choose the states and the emission; the emission has yet to be learned."""
        if self.init == "fitted":
            message = "init='fitted' needs a fitted estimator."
            check_is_fitted(self, self._parameter_names[-1], msg=message)
            return deepcopy(self.emission_)
        _check_columns(self.emission, sequences.X)
        emission = emissions.resolve(self.emission, sequences.X)
        precomputed = isinstance(emission, emissions.Precomputed)
        self.classes_ = choose_states(
            self.states, self.n_states, labels, self.n_features_in_ if precomputed else None
        )
        emission.name_states(self.classes_)
        return emission

    def _encode(self, emission, sequences):
        return emission.encode(sequences.X, sequences.offsets, reset=self.init != "fitted")

    def _check_parameters(self):
        self._check_choices()
        if self.init not in ("auto", "kmeans", "random", "fitted"):
            raise ValueError(
                f"init must be 'auto', 'kmeans', 'random' or 'fitted', got {self.init!r}."
            )
        for name in ("smoothing", "tol"):
            if not isinstance(getattr(self, name), numbers.Real):
                raise ValueError(f"{name} must be a number, got {getattr(self, name)!r}.")
        if not self.smoothing >= 0:
            raise ValueError(f"smoothing must not be negative, got {self.smoothing!r}.")
        if not (isinstance(self.n_iter, (int, np.integer)) and self.n_iter >= 0):
            raise ValueError(f"n_iter must be an integer >= 0, got {self.n_iter!r}.")
        if not (isinstance(self.n_init, (int, np.integer)) and self.n_init >= 1):
            raise ValueError(f"n_init must be an integer >= 1, got {self.n_init!r}.")

    def _learned(self, parameters, emission, history, converged):
        for name, value in zip(self._parameter_names, parameters):
            setattr(self, name, value)
        self.emission_ = emission
        self.history_, self.n_iter_, self.converged_ = history, max(len(history) - 1, 0), converged

    # -------------------------------------------------------------- labelled
    def _fit_labelled(self, emission, data):
        dynamics = self._dynamics()
        parameters = dynamics.estimate(dynamics.count(data))
        self._fit_emission(emission, data, self.random_state)
        self._learned(parameters, emission, [], True)

    def _fit_emission(self, emission, data, random_state):
        """Learn an emission from the labels that are known."""
        emission.fit_supervised(
            data.encoded, data.codes, len(self.classes_), data.step_weights, offsets=data.offsets,
            smoothing=self.smoothing, random_state=random_state,
        )  # fmt: skip

    # -------------------------------------------------------------------- EM
    def _fit_em(self, emission, data, progress):
        if emission.needs_labels and not data.has_labels:
            raise ValueError(
                f"{emission} is learned from labels only, and none were given: pass y, or use an "
                "emission of skchmm.emissions."
            )
        dynamics, random_state = self._dynamics(), check_random_state(self.random_state)
        least = steps_in_part(emission) if dynamics.in_parts else None
        parts = parts_of(emission, data, len(self.classes_), self.n_jobs, least=least)

        def e_step(parameters, learn):
            *parameters, emission = parameters
            accumulate = accumulation(emission) if learn else None
            chain = self._chain(parameters)
            expected = expect(chain, emission, parts, self.n_jobs, accumulate=accumulate)
            return (
                self._objective(expected.smoothed.log_z, data, emission, parameters),
                expected,
            )

        def m_step(parameters, expected):
            *parameters, emission = parameters
            if not emission.needs_labels:
                emission = deepcopy(emission)
                emission.maximise(expected.statistics)
            counts = expected.smoothed.counts
            return *dynamics.maximise(parameters, expected.starts, counts), emission

        best, histories = None, []
        for _ in progress.starts():
            start = self._start_em(dynamics, deepcopy(emission), data, random_state)
            result = run_em(
                start, e_step, m_step, n_iter=self.n_iter, tol=self.tol, progress=progress
            )
            histories.append(result[1])
            if best is None or result[1][-1] > best[1][-1]:
                best = result
        (*parameters, emission), history, converged = best
        self._learned(parameters, emission, history, converged)
        self.histories_ = histories
        if not converged and self.n_iter > 0:
            warn_not_converged(self.n_iter, self)

    def _start_em(self, dynamics, emission, data, random_state):
        """Start values: those of the dynamics, then the emission."""
        if self.init == "fitted":
            return *dynamics.impose(*self._parameters()), emission
        at_random = self.init == "random" or self.n_init > 1
        weights = dynamics.start_weights(data, random_state if at_random else None)
        if not emission.needs_labels:
            init = emission.default_init if self.init == "auto" else self.init
            emission.initialise(
                data.encoded, data.offsets, len(self.classes_), init=init, random_state=random_state
            )
        if data.has_labels:
            self._fit_emission(emission, data, random_state)
        return *dynamics.start(weights, data, random_state if at_random else None), emission

    def _objective(self, log_z, data, emission, parameters=None):
        """log P(Y, Acc) of all sequences by weight."""
        used = data.weights > 0
        bad = np.flatnonzero(np.isneginf(log_z) & used)
        if len(bad):
            message = self._why_infeasible(data, bad, emission, parameters)
            raise InfeasibleSequenceError(message)
        return float(np.dot(log_z[used], data.weights[used]))

    def _why_infeasible(self, data, bad, emission, parameters):
        """Why the first of some sequences has no feasible path with its known labels."""
        sequences, (begin, end) = data.sequences, data.sequences.ranges[bad[0]]
        encoded = emission.encode(sequences.X, sequences.offsets, reset=False)
        frames = emission.log_likelihood(encoded)
        brief = describe_infeasible(self, sequences, bad[0], frames, len(bad))
        possible = frames.impossible_step(begin, end) is None
        if not (possible and self._has_rules and hasattr(self, "_explainer")):
            return brief
        if end - begin > LONGEST_EXPLAINED:
            return brief
        mine = frames.part(begin, end)
        if sequences.times is not None:
            mine = mine.with_gaps(sequences.times.gaps[begin:end])
        if data.codes is not None:
            mine = mine.clamp(data.codes[begin:end])
        explainer = self._explainer(self._chain(parameters), parameters)
        others = f"\n{len(bad) - 1} more have none either." if len(bad) > 1 else ""
        return f"{explainer.explain(sequences.names[bad[0]], mine)}{others}"

    @classmethod
    def _from_parameters(cls, parameters, states, emission, constraints, params):
        """A fitted model from known parameters of its dynamics and a known emission."""
        parameters = cls._dynamics_of.check(*parameters)
        S = len(parameters[0])
        model = cls(states=states, emission=emission, constraints=constraints, **params)
        model._check_parameters()
        classes = None if states is None else choose_states(states, model.n_states, None)
        model.classes_ = np.arange(S) if classes is None else classes
        if len(model.classes_) != S:
            raise ValueError(f"states has {len(model.classes_)} labels but startprob has {S}.")
        known = emissions.resolve(emission)
        if isinstance(emission, emissions.Emission):
            known = deepcopy(emission)
        known.name_states(model.classes_)
        model.n_features_in_ = _features_of(known, S)
        model._learned(parameters, known, [], True)
        model._compile(constraints)
        return model._conclude()

    # ------------------------------------------------------------- questions
    def log_likelihood(
        self, X: Any, *, lengths: Collection[int] | None = None, groups: Any = None
    ) -> np.ndarray:
        """log P(Y, Acc) of each sequence, -inf for one without a feasible path.

        Returns
        -------
        ndarray (n_sequences,)
        """
        return self._log_likelihoods(self._read(X, lengths, groups))

    def _log_likelihoods(self, sequences):
        return self._chain().log_likelihood(
            self._pending(sequences), sequences.offsets, n_jobs=self.n_jobs
        )

    def score(
        self,
        X: Any,
        y: Any = None,
        *,
        lengths: Collection[int] | None = None,
        groups: Any = None,
        sample_weight: Any = None,
    ) -> float:
        """Accuracy of `predict` on labelled steps; without y, log P(Y, Acc) of all sequences.

        Parameters
        ----------
        X, lengths, groups : the sequences
        y : labels, optional
            Steps whose label is missing do not count.
        sample_weight : sequence of float, optional
            As in `fit`.

        Returns
        -------
        float
        """
        return self._score_sequences(self._read(X, lengths, groups), y, sample_weight)

    def _score_sequences(self, sequences, y, sample_weight):
        if y is not None:
            return self._accuracy(sequences, y, sample_weight)
        log_likelihood = self._log_likelihoods(sequences)
        if sample_weight is None:
            return float(np.sum(log_likelihood))
        weights = read_weights(sample_weight, sequences)
        return float(np.dot(log_likelihood[weights > 0], weights[weights > 0]))


def pop_sample_weight(weights):
    """The one further argument that `fit` takes; see FitMixin."""
    sample_weight = weights.pop("sample_weight", None)
    if weights:
        raise TypeError(f"fit() got an unexpected keyword argument {next(iter(weights))!r}")
    return sample_weight


def mine_constraints(constraints, y, lengths, groups):
    """Constraints as a flat list, or None; a miner among them learns from y."""
    if constraints is None:
        return None
    given = list(constraints) if isinstance(constraints, (list, tuple)) else [constraints]
    parts = []
    for part in given:
        if hasattr(part, "fit") and not isinstance(part, type):  # a miner
            if y is None:
                raise ValueError(f"{type(part).__name__} mines constraints from labels: give y.")
            part = clone(part).fit(y, lengths=lengths, groups=groups).constraints_
        parts.append(part)
    return flatten([part for part in parts if part is not None])


def _check_columns(emission, X):
    """1-d rows are symbols; 1-d numbers may have been meant as one row as well as one column."""
    if emission == "auto" and len(X.shape) == 1 and getattr(X.dtype, "kind", "") == "f":
        raise ValueError(
            "Expected 2D array, got 1D array of floating-point numbers instead. Reshape your data "
            "using X.reshape(-1, 1) if it has a single feature, or choose an emission."
        )


def _features_of(emission, n_states):
    if isinstance(emission, emissions.Precomputed):
        return n_states
    if not hasattr(emission, "n_features_in_"):
        raise ValueError(
            f"{emission} has no parameters yet; use {type(emission).__name__}.from_parameters(...) "
            "or a fitted emission."
        )
    return emission.n_features_in_
