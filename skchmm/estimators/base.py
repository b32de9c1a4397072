"""What all estimators that label sequences share: reading, asking a chain, reporting."""

from collections.abc import Collection
from copy import copy
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, validate_data

from .._documentation import DocumentedMixin
from ..constraints.compile import compile, flatten
from ..controller import everything
from ..emissions import Precomputed
from ..emissions.base import Frames, PendingFrames, check_size, steps_in_part
from ..graph import AugmentedGraph
from ..inference.chain import labelled
from ..inference.schedule import Allowed, steps_at_once, threads_of
from ..sequences.aligned import read_step_weights
from ..sequences.forms import read_labels, read_sequences
from ..sequences.labels import encode_labels
from ..sequences.values import as_numbers
from .infeasible import check_possible, report_infeasible
from .saving import SavedMixin

ALGORITHMS = ("viterbi", "posterior", "map")

# Parameters that are not probabilities.
_SIGNED = ("generator_", "start_weights_", "transition_weights_")


class SequenceEstimator(SavedMixin, DocumentedMixin, BaseEstimator):
    """Base class of the estimators that label sequences.

    Once fitted, a subclass has `classes_`, `constraints_`, `controller_`, `emission_` and the
    attributes that `_parameter_names` lists. It says with `_supports` and `_new_chain` what chain
    these parameters make on which graph; everything else is asked of that chain.
    """

    # Where one sequence ends and the next begins always concerns the estimator, so routing needs
    # no set_*_request for it.
    __metadata_request__fit: dict[str, bool | None] = {"groups": True, "lengths": True}
    __metadata_request__partial_fit: dict[str, bool | None] = {"groups": True, "lengths": True}
    __metadata_request__predict = {"groups": True, "lengths": True}
    __metadata_request__predict_proba: dict[str, bool | None] = {"groups": True, "lengths": True}
    __metadata_request__predict_log_proba = {"groups": True, "lengths": True}
    __metadata_request__score = {"groups": True, "lengths": True}

    _parameter_names: tuple[str, ...] = ()  # what a chain is made of
    _enforces = True  # whether paths must satisfy the constraints

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.target_tags.required = False
        return tags

    def __sklearn_is_fitted__(self):
        return all(hasattr(self, name) for name in self._parameter_names)

    # --------------------------------------------------------------- reading
    def _read(self, X, lengths, groups, *, reset=False):
        """Sequences whose rows have the features that were (or are now) learned."""
        if not reset:
            check_is_fitted(self)
        with Allowed(threads_of(self.n_jobs)):
            sequences = read_sequences(X, lengths=lengths, groups=groups)
        self._check_features(sequences.X, reset)
        return sequences

    def _check_features(self, X, reset):
        named = not reset and hasattr(self, "feature_names_in_")
        if hasattr(X, "columns") and not isinstance(getattr(self, "emission_", None), Precomputed):
            named = True  # columns of scores are named as the states, whatever fit has seen
        if X.ndim == 1 if hasattr(X, "ndim") else len(X.shape) == 1:
            if reset:
                if hasattr(self, "feature_names_in_"):
                    del self.feature_names_in_
                self.n_features_in_ = 1
            elif self.n_features_in_ != 1:
                raise ValueError(
                    f"Expected 2D array, got 1D array instead: {type(self).__name__} was fitted on "
                    f"{self.n_features_in_} features. Reshape your data either using "
                    "X.reshape(-1, 1) if it has a single feature or X.reshape(1, -1) if it is a "
                    "single step."
                )
        elif X.shape[1] == 0:
            raise ValueError(
                f"Found array with 0 feature(s) (shape={X.shape}) while a minimum of 1 is required."
            )
        elif reset or named:
            validate_data(self, X, reset=reset, skip_check_array=True)
        elif X.shape[1] != self.n_features_in_:
            raise ValueError(
                f"X has {X.shape[1]} features, but {type(self).__name__} is expecting "
                f"{self.n_features_in_} features as input."
            )

    def _frames(self, sequences):
        """Log-likelihoods of all steps under all states."""
        emission = self.emission_
        encoded = emission.encode(sequences.X, sequences.offsets, reset=False)
        frames = emission.log_likelihood(encoded)
        check_size(frames, len(self.classes_), sequences.n_steps)
        if not (frames.bounded or frames.table.max(initial=-np.inf) < np.inf):  # NaN too
            raise ValueError(
                f"{emission} gives log-likelihoods that are NaN or infinite: its parameters "
                "are not valid, or do not suit X."
            )
        return frames if sequences.times is None else frames.with_gaps(sequences.times.gaps)

    def _pending(self, sequences):
        """Frames, computed in parts where the chain takes them so and the result is the same."""
        if sequences.n_sequences > 1 and self._chain().takes_parts:
            n_steps, n_states = sequences.n_steps, len(self.classes_)
            shares = self.emission_._shares_work
            if not shares or n_steps > steps_at_once(n_states):
                least = steps_in_part(self.emission_)
                if least is not None and (shares or n_steps > 2 * least):
                    return PendingFrames(
                        lambda begin, end: self._frames(sequences.part(begin, end)),
                        sequences.n_sequences, n_steps, n_states, None if shares else least,
                    )  # fmt: skip
        with Allowed(threads_of(self.n_jobs, sequences.n_steps)):
            return self._frames(sequences)

    # ------------------------------------------------------------- the chain
    def _parameters(self):
        """The fitted parameters, whose shapes are checked: they may have been replaced."""
        S, found = len(self.classes_), []
        for shape, name in zip(((S,), (S, S), (S, None)), self._parameter_names):
            value = getattr(self, name)
            if type(value) is not np.ndarray or value.dtype != np.float64:
                value = as_numbers(value, name)
            if value.ndim == 2 and value.size and shape[-1] is None:
                shape = (S, value.shape[1])
            if value.shape != shape:
                raise ValueError(
                    f"{name} has the shape {value.shape}; {type(self).__name__} has {S} states, so "
                    f"it must be {shape}.".replace("None", "n")
                )
            found.append(value)
        return tuple(found)

    def _check_values(self, parameters):
        """Refuse parameters that are no probabilities, and a controller of other states."""
        for name, value in zip(self._parameter_names, parameters):
            if not np.isfinite(value).all():
                raise ValueError(f"{name} holds NaN or infinity.")
            if name not in _SIGNED and (value < 0).any():
                raise ValueError(f"{name} holds a negative number.")
        if list(self.controller_.states) != self.classes_.tolist():
            raise ValueError(
                f"controller_ is for the states {list(self.controller_.states)}, but classes_ are "
                f"{self.classes_.tolist()}."
            )

    def _chain(self, parameters=None, *, constrained=True):
        """The chain of these parameters, by default the fitted ones.

        It is kept until they change; its graph as long as what is possible stays the same.
        """
        if parameters is None:
            parameters = self._parameters()
        constrained = constrained and self._enforces
        kept = self._chains.get(constrained)
        if kept is not None and kept.has(*parameters):
            return kept
        self._check_values(parameters)
        graph, supports = None if kept is None else kept.graph, self._supports(*parameters)
        if graph is None or not graph.matches(*supports):
            graph = self._graph(constrained, *supports)
        chain = self._chains[constrained] = self._new_chain(graph, *parameters)
        return chain

    def _graph(self, constrained, start_support, support):
        if not constrained:
            return AugmentedGraph.unconstrained(self.controller_.states, start_support, support)
        return AugmentedGraph(self.controller_, start_support, support, max_nodes=self.max_nodes)

    def _supports(self, *parameters):
        """Which starts (S,) and which transitions (S, S) are possible."""
        raise NotImplementedError

    def _new_chain(self, graph, *parameters):
        raise NotImplementedError

    def _compile(self, constraints):
        """Take these constraints as those of the model, before its parameters are learned."""
        states, self._chains = self.classes_.tolist(), {}
        if constraints is None:
            self.constraints_, self.controller_ = [], everything(states)
            return
        self.constraints_ = flatten(constraints)
        self.controller_ = compile(self.constraints_, states, max_nodes=self.max_nodes)
        self._check_controller(self.controller_, self.constraints_)

    def _check_controller(self, controller, constraints):
        """Refuse constraints that have no meaning for the model."""

    def _conclude(self):
        """What follows once parameters and constraints are there."""
        self._chain()
        return self

    @property
    def graph_(self) -> AugmentedGraph:
        """The live nodes and edges of the constrained chain."""
        return self._chain().graph

    def with_constraints(self, constraints: Any) -> Self:
        """The same fitted model under other constraints.

        Parameters
        ----------
        constraints : as in the constructor

        Returns
        -------
        estimator of the same class
        """
        check_is_fitted(self)
        model = copy(self)
        model.constraints = constraints
        model._release()
        model._compile(constraints)
        return model._conclude()

    def _release(self):
        """Take back what constraints have done to the parameters."""

    # ------------------------------------------------------------- inference
    def predict(
        self, X: Any, *, lengths: Collection[int] | None = None, groups: Any = None
    ) -> np.ndarray | list[np.ndarray]:
        """The decoded label path of each sequence.

        Parameters
        ----------
        X, lengths, groups : the sequences

        Returns
        -------
        labels, in the form in which the sequences came
        """
        return self._predict_sequences(self._read(X, lengths, groups))

    def _predict_sequences(self, sequences):
        if self.algorithm == "viterbi":
            frames = self._pending(sequences)
            return sequences.restore(self._best_paths(sequences, frames, self.classes_)[0])
        return sequences.restore(labelled(self._predict_index(sequences), self.classes_))

    def decode(
        self, X: Any, *, lengths: Collection[int] | None = None, groups: Any = None
    ) -> tuple[float | np.ndarray, np.ndarray | list[np.ndarray]]:
        """The most probable feasible paths and their log probabilities.

        Returns
        -------
        log_prob : float for a single stacked sequence, else ndarray (n_sequences,)
            log P(path, Y).
        path : labels, in the form in which the sequences came
        """
        return self._decode_sequences(self._read(X, lengths, groups))

    def _decode_sequences(self, sequences):
        path, log_prob = self._best_paths(sequences, self._pending(sequences), self.classes_)
        return float(log_prob[0]) if sequences.is_single else log_prob, sequences.restore(path)

    def predict_proba(
        self, X: Any, *, lengths: Collection[int] | None = None, groups: Any = None
    ) -> np.ndarray | list[np.ndarray]:
        """P(x_t | Y, Acc): exact smoothed marginals over the feasible paths.

        Returns
        -------
        ndarray (n_steps, S), or a list of them; columns as in `classes_`
        """
        sequences = self._read(X, lengths, groups)
        return sequences.restore(self._posteriors(sequences, self._pending(sequences)))

    def predict_log_proba(
        self, X: Any, *, lengths: Collection[int] | None = None, groups: Any = None
    ) -> np.ndarray | list[np.ndarray]:
        """Logarithm of `predict_proba`."""
        return self._predict_log_proba(self._read(X, lengths, groups))

    def _predict_log_proba(self, sequences):
        with np.errstate(divide="ignore"):
            logs = np.log(self._posteriors(sequences, self._pending(sequences)))
        return sequences.restore(logs)

    def log_feasibility(
        self, X: Any, *, lengths: Collection[int] | None = None, groups: Any = None
    ) -> np.ndarray:
        """log P(Acc | Y) of each sequence: how likely the rules are, given the data alone.

        Returns
        -------
        ndarray (n_sequences,), -inf where there is no feasible path
        """
        return self._log_feasibility(self._read(X, lengths, groups))

    def _log_feasibility(self, sequences):
        frames, offsets = self._frames(sequences), sequences.offsets
        with_rules = self._chain().log_likelihood(frames, offsets, n_jobs=self.n_jobs)
        without = self._chain(constrained=False).log_likelihood(frames, offsets, n_jobs=self.n_jobs)
        impossible = np.isneginf(without)  # whatever the rules
        return np.where(impossible, -np.inf, with_rules - np.where(impossible, 0.0, without))

    def score(
        self,
        X: Any,
        y: Any,
        *,
        lengths: Collection[int] | None = None,
        groups: Any = None,
        sample_weight: Any = None,
    ) -> float:
        """Accuracy of `predict` on labelled steps.

        Parameters
        ----------
        X, lengths, groups : the sequences
        y : labels
            Steps whose label is missing do not count.
        sample_weight : sequence of float, optional
            One per sequence for a list, else one per row.

        Returns
        -------
        float
        """
        return self._accuracy(self._read(X, lengths, groups), y, sample_weight)

    def _check_choices(self):
        for name, choices in (("algorithm", ALGORITHMS), ("on_infeasible", ("raise", "warn"))):
            if getattr(self, name) not in choices:
                raise ValueError(f"{name} must be one of {choices}, got {getattr(self, name)!r}.")

    def _accuracy(self, sequences, y, sample_weight):
        truth = encode_labels(read_labels(y, sequences), self.classes_)
        predicted = self._predict_index(sequences)
        weights = read_step_weights(sample_weight, sequences) * (truth >= 0)
        return float(np.average(predicted == truth, weights=weights)) if weights.any() else np.nan

    def _predict_index(self, sequences):
        """State indices of `predict`, flat."""
        frames = self._pending(sequences)
        if self.algorithm == "viterbi":
            return self._best_paths(sequences, frames)[0]
        posteriors = self._posteriors(sequences, frames)
        if self.algorithm == "map":
            return posteriors.argmax(axis=1)
        if self.algorithm != "posterior":
            self._check_choices()
        return self._feasible_path(sequences, posteriors)

    def _feasible_path(self, sequences, posteriors):
        """The feasible path with the largest sum of log marginals."""
        with np.errstate(divide="ignore"):
            frames = Frames(np.log(posteriors))
        if sequences.times is not None:
            frames = frames.with_gaps(sequences.times.gaps)
        offsets = sequences.offsets
        path, score = self._chain().best_feasible(frames, offsets, n_jobs=self.n_jobs)
        bad = np.flatnonzero(np.isneginf(score))
        if len(bad):  # only sequences answered without the constraints
            free = self._chain(constrained=False)
            _replace(path, free.best_feasible(frames, offsets, n_jobs=self.n_jobs)[0], offsets, bad)
        return path

    def _best_paths(self, sequences, frames, labels=None):
        """Paths of labels, or of state indices, and their log probabilities."""
        path, log_prob = self._chain().decode(
            frames, sequences.offsets, labels=labels, n_jobs=self.n_jobs
        )
        bad = np.flatnonzero(np.isneginf(log_prob))
        if len(bad):
            report_infeasible(self, sequences, bad, frames)
            free, free_prob = self._chain(constrained=False).decode(
                frames, sequences.offsets, labels=labels, n_jobs=self.n_jobs
            )
            check_possible(sequences, free_prob, frames)
            _replace(path, free, sequences.offsets, bad)
            log_prob[bad] = free_prob[bad]
        return path, log_prob

    def _posteriors(self, sequences, frames):
        smoothed = self._chain().smooth(frames, sequences.offsets, n_jobs=self.n_jobs)
        bad = np.flatnonzero(np.isneginf(smoothed.log_z))
        if len(bad):
            report_infeasible(self, sequences, bad, frames)
            free = self._chain(constrained=False).smooth(
                frames, sequences.offsets, n_jobs=self.n_jobs
            )
            check_possible(sequences, free.log_z, frames)
            _replace(smoothed.posteriors, free.posteriors, sequences.offsets, bad)
        return smoothed.posteriors

    # ---------------------------------------------------------- infeasibility
    # What to say of an impossible sequence, and besides its constraints of an infeasible one.
    _impossible = "its observations or transitions are impossible."
    _note = ""

    @property
    def _rules(self):
        """The constraints that the controller is made of."""
        return self.constraints_

    @property
    def _has_rules(self):
        return self._enforces and len(self.constraints_) > 0


def _replace(values, others, offsets, chosen):
    for s in chosen:
        values[offsets[s] : offsets[s + 1]] = others[offsets[s] : offsets[s + 1]]
