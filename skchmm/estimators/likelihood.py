"""What all models share that say how probable the observations are."""

from collections.abc import Sequence
from copy import deepcopy
from typing import Any, Self

import numpy as np

from .. import emissions
from ..sequences.aligned import read_weights
from ..sequences.encoding import choose_states
from .base import SequenceEstimator
from .fitting import FitMixin
from .progress import with_callbacks
from .transitions import Transitions


class LikelihoodModel(FitMixin, SequenceEstimator):
    """An estimator with an emission and with dynamics: how states follow each other."""

    _dynamics_of = Transitions
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
        lengths: Sequence[int] | None = None,
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
        return self._fit(X, y, lengths, groups, weights)

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
        if known is not emission and not isinstance(emission, str):
            known = deepcopy(emission)
        model.n_features_in_ = _features_of(known, S)
        model._learned(parameters, known, [], True)
        model._compile(constraints)
        return model._conclude()

    def log_likelihood(
        self, X: Any, *, lengths: Sequence[int] | None = None, groups: Any = None
    ) -> np.ndarray:
        """log P(Y, Acc) of each sequence, -inf for one without a feasible path.

        Returns
        -------
        ndarray (n_sequences,)
        """
        return self._log_likelihood(self._read(X, lengths, groups))

    def _log_likelihood(self, sequences):
        return self._chain().log_likelihood(
            self._pending(sequences), sequences.offsets, n_jobs=self.n_jobs
        )

    def score(
        self,
        X: Any,
        y: Any = None,
        *,
        lengths: Sequence[int] | None = None,
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
        return self._score(self._read(X, lengths, groups), y, sample_weight)

    def _score(self, sequences, y, sample_weight):
        if y is not None:
            return self._accuracy(sequences, y, sample_weight)
        log_likelihood = self._log_likelihood(sequences)
        if sample_weight is None:
            return float(np.sum(log_likelihood))
        weights = read_weights(sample_weight, sequences)
        return float(np.dot(log_likelihood[weights > 0], weights[weights > 0]))


def _features_of(emission, n_states):
    if isinstance(emission, emissions.Precomputed):
        return n_states
    if not hasattr(emission, "n_features_in_"):
        raise ValueError(
            f"{emission} has no parameters yet; use {type(emission).__name__}.from_parameters(...) "
            "or a fitted emission."
        )
    return emission.n_features_in_
