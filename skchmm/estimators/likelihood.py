"""LikelihoodModel: what all models share that say how probable the observations are.

Here is the one fit of all of them, for labelled, unlabelled and partly labelled sequences. The
dynamics of a model (`Transitions`, `Rates`, `Segments`) say how states follow each other, and its
emission what they produce; here is what is learned of the two, and in which order.
"""

from collections.abc import Collection
from copy import deepcopy
from typing import Any, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from .. import emissions
from .._numbers import check_at_least, check_choice, check_real
from ..constraints.compile import flatten
from ..emissions.labelled import count_rows
from ..sequences.aligned import read_weights
from ..sequences.forms import read_labels
from ..sequences.labels import choose_states, read_known
from .base import SequenceEstimator, all_or_nothing
from .chunks import ChunksMixin
from .climbing import ClimbingMixin
from .criteria import CriteriaMixin
from .em import (
    CallbacksMixin,
    Data,
    Progress,
    emission_part,
    with_callbacks,
)
from .forgiving import report_learned
from .softness import check_weights, learn_soft_weights, with_known_weights
from .spreading import Spread, chunks_of_files
from .transitions import Transitions


class LikelihoodModel(ClimbingMixin, ChunksMixin, CriteriaMixin, CallbacksMixin, SequenceEstimator):
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
            missing (None, NaN, or -1 among integers), or a set of labels where one of them is
            right: EM with what is known held.
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

    @all_or_nothing
    def _fit_sequences(self, X, y, lengths, groups, weights, **times):
        sample_weight = pop_sample_weight(weights)
        if y is None and type(X) in (list, tuple) and X and type(X[0]) is np.memmap:
            chunks = chunks_of_files(X, sample_weight, **({"times": None} | times))
            if chunks is not None:
                return self._fit_spread(Spread(chunks, map, 1, self.verbose))
        self._check_parameters()
        sequences = self._read(X, lengths, groups, reset=True, **times)
        labels = None if y is None else read_labels(y, sequences)
        emission = self._begin(sequences, labels)
        known = None if y is None else read_known(labels, self.classes_)
        data = Data(sequences, sample_weight, known, self._encode(emission, sequences))
        self._take_constraints(mine_constraints(self.constraints, y, lengths, groups))
        if data.is_labelled and self._counts_labels:
            progress = Progress(self, range(0))
            self._fit_labelled(emission, data)
            learn_soft_weights(self, data)
        else:
            progress = self._progress()
            check_weights(self.constraints_)
            self._fit_em(emission, data, progress)
        self._conclude()
        if self._forgives and not (data.is_labelled and self._counts_labels):
            report_learned(self, data)
        progress.close()
        return self

    @property
    def _forgives(self):
        """Whether EM may learn from sequences that have no feasible path."""
        return self.on_infeasible != "raise" and self._has_rules

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
        check_choice(self.init, "init", ("auto", "kmeans", "random", "fitted"))
        self._check_learning()

    def _check_learning(self):
        for name in ("smoothing", "tol"):
            check_real(getattr(self, name), name)
        if not self.smoothing >= 0:
            raise ValueError(f"smoothing must not be negative, got {self.smoothing!r}.")
        if self.smoothing == np.inf:
            raise ValueError("smoothing must be finite.")
        check_at_least(self.n_iter, "n_iter", 0)
        check_at_least(self.n_init, "n_init", 1)

    def _learned(self, parameters, emission, history, converged):
        for name, value in zip(self._parameter_names, parameters):
            setattr(self, name, value)
        self.emission_ = emission
        self.history_, self.n_iter_, self.converged_ = history, max(len(history) - 1, 0), converged

    def _take_constraints(self, constraints):
        """Compile constraints, unless learning goes on with those that are there."""
        if self.init == "fitted" and hasattr(self, "constraints_"):
            constraints = with_known_weights(flatten(constraints), self.constraints_)
            same_states = list(self.controller_.states) == self.classes_.tolist()
            if constraints == self.constraints_ and same_states:
                return
        self._compile(constraints)

    # -------------------------------------------------------------- labelled
    def _fit_labelled(self, emission, data):
        dynamics = self._dynamics()
        parameters = dynamics.estimate(dynamics.count(data))
        self._fit_emission(emission, data, self.random_state)
        self._learned(parameters, emission, [], True)

    def _label_sums(self, emission, data):
        """Sums of what labels show; None for an emission that learns more from them than sums."""
        counted = count_rows(
            emission, data.encoded, data.codes, len(self.classes_), data.step_weights, data.offsets
        )
        if counted is None:
            return None
        values = {f"emission {name}": value for name, value in counted.items()}
        return values | {f"labels {k}": v for k, v in enumerate(self._dynamics().count(data))}

    def _estimate(self, emission, values):
        """Set the parameters that sums of labelled sequences give."""
        counts = [value for name, value in values.items() if name.startswith("labels ")]
        emission.estimate(emission_part(values), smoothing=self.smoothing)
        self._learned(self._dynamics().estimate(counts), emission, [], True)

    def _fit_emission(self, emission, data, random_state):
        """Learn an emission from the labels that are known."""
        emission.fit_supervised(
            data.encoded, data.codes, len(self.classes_), data.step_weights, offsets=data.offsets,
            smoothing=self.smoothing, random_state=random_state,
        )  # fmt: skip

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
        model._from_parameters_alone = True
        model._learned(parameters, known, [], True)
        model._compile(constraints)
        return model._conclude()

    # ------------------------------------------------------------- questions
    def log_likelihood(
        self,
        X: Any,
        *,
        lengths: Collection[int] | None = None,
        groups: Any = None,
        known: Any = None,
    ) -> np.ndarray:
        """log P(Y, Acc) of each sequence, -inf for one without a feasible path.

        Parameters
        ----------
        X, lengths, groups : the sequences
        known : labels in the form of y, optional
            As in `predict`; the probability is then that of these labels too.

        Returns
        -------
        ndarray (n_sequences,)
        """
        return self._log_likelihoods(self._hold(self._read(X, lengths, groups), known))

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
    auto = isinstance(emission, str) and emission == "auto"
    if auto and len(X.shape) == 1 and getattr(X.dtype, "kind", "") == "f":
        raise ValueError(
            "Expected 2D array, got 1D array of floating-point numbers instead. Reshape your data "
            "using X.reshape(-1, 1) if it has a single feature (of a pandas Series: X.to_frame()), "
            "or choose an emission."
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
