"""What all estimators that label sequences share: reading, asking a chain, reporting."""

from collections.abc import Collection
from functools import partial, wraps
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, validate_data

from .._documentation import DocumentedMixin
from .._numbers import check_at_least, is_one_of
from ..emissions import Precomputed
from ..emissions.base import PendingFrames, check_size, numbers_of, steps_in_part
from ..graph import AugmentedGraph
from ..graph.augmented import graph_of
from ..inference.chain import labelled
from ..inference.schedule import Allowed, steps_at_once, threads_of
from ..sequences.aligned import read_step_weights
from ..sequences.forms import read_labels, read_rows, read_sequences
from ..sequences.labels import encode_labels, read_known
from .fallback import replace_paths, replace_posteriors
from .marginal_paths import path_of_marginals
from .parts import in_parts
from .rules import RulesMixin
from .saving import SavedMixin

ALGORITHMS = ("viterbi", "posterior", "mea", "map")

# The most that a row of a parameter sums to; rules and structural zeros may leave less.
_LARGEST_SUMS = {"startprob_": 1.0, "transmat_": 1.0, "generator_": 0.0}
# Parameters that are not probabilities.
_SIGNED = ("generator_", "start_weights_", "transition_weights_")


def all_or_nothing(fit):
    """A `fit` that is interrupted, or fails, leaves the attributes as they were.

    Except where EM has completed an iteration, whose parameters stay.
    """

    @wraps(fit)
    def fit_or_restore(self, *args, **kwargs):
        before = vars(self).copy()
        try:
            return fit(self, *args, **kwargs)
        except BaseException as error:
            if not getattr(error, "keeps_iterations", False):
                vars(self).clear()
                vars(self).update(before)
            raise

    return fit_or_restore


class SequenceEstimator(RulesMixin, SavedMixin, DocumentedMixin, BaseEstimator):
    """Base class of the estimators that label sequences.

    Once fitted, a subclass has `classes_`, `constraints_`, `controller_`, `emission_` and the
    attributes that `_parameter_names` lists. It says with `_supports` and `_new_chain` what chain
    these parameters make on which graph; everything else is asked of that chain.
    """

    # Where one sequence ends and the next begins, and which labels are known, always concerns the
    # estimator, so routing needs no set_*_request for it.
    __metadata_request__fit: dict[str, bool | None] = {"groups": True, "lengths": True}
    __metadata_request__partial_fit: dict[str, bool | None] = {"groups": True, "lengths": True}
    __metadata_request__predict = {"groups": True, "known": True, "lengths": True}
    __metadata_request__predict_proba: dict[str, bool | None]
    __metadata_request__predict_proba = {"groups": True, "known": True, "lengths": True}
    __metadata_request__predict_log_proba = {"groups": True, "known": True, "lengths": True}
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
        for name in self._parameter_names:  # noqa: SIM110 (asked in each call)
            if not hasattr(self, name):
                return False
        return True

    # --------------------------------------------------------------- reading
    def _read(self, X, lengths, groups, *, reset=False):
        """Sequences whose rows have the features that were (or are now) learned."""
        if not (reset or self.__sklearn_is_fitted__()):
            check_is_fitted(self)  # which costs as much as a short sequence
        return self._read_rows(X, lengths, groups, reset)

    def _read_rows(self, X, lengths, groups, reset):
        if self.on_infeasible == "relax":
            self.relaxed_ = []
        if type(X) is np.ndarray:  # nothing to join
            sequences = read_sequences(X, lengths=lengths, groups=groups)
        else:
            with Allowed(threads_of(self.n_jobs)):
                sequences = read_sequences(X, lengths=lengths, groups=groups)
        self._check_features(sequences.X, reset)
        return sequences

    def _hold(self, sequences, known):
        """The same sequences; what is `known` of their labels is held in every answer."""
        if known is not None:
            labels = read_rows(known, sequences, "known")
            sequences.known = read_known(labels, self.classes_, "known")
        return sequences

    def _check_features(self, X, reset):
        known = type(X) is np.ndarray and not (reset or hasattr(self, "feature_names_in_"))
        if known and X.size == len(X) * self.n_features_in_ > 0:
            return
        emission = getattr(self, "emission_", None)
        if hasattr(X, "columns") and not reset and getattr(emission, "finds_columns", False):
            return  # the emission looks them up
        named = not reset and hasattr(self, "feature_names_in_")
        if hasattr(X, "columns") and not isinstance(emission, Precomputed):
            # Columns of scores are named as the states, whatever fit has seen; a model from
            # parameters has seen no columns that names could differ from.
            named = not getattr(self, "_from_parameters_alone", False)
        if reset:
            self._from_parameters_alone = False
        if reset and type(X) is np.ndarray and (X.ndim == 1 or X.shape[1] > 0):
            self.__dict__.pop("feature_names_in_", None)
            self.n_features_in_ = 1 if X.ndim == 1 else X.shape[1]
        elif X.ndim == 1 if hasattr(X, "ndim") else len(X.shape) == 1:
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

    def _frames(self, sequences, emission=None):
        """Log-likelihoods of all steps under all states."""
        emission = self.emission_ if emission is None else emission
        encoded = emission.encode(sequences.X, sequences.offsets, reset=False)
        frames = emission.log_likelihood(encoded)
        check_size(frames, len(self.classes_), sequences.n_steps)
        if not (frames.bounded or frames.table.max(initial=-np.inf) < np.inf):  # NaN too
            raise ValueError(
                f"{emission} gives log-likelihoods that are NaN or infinite: its parameters "
                "are not valid, or do not suit X."
            )
        if sequences.known is not None:
            frames = frames.clamp(sequences.known)
        if sequences.times is None:
            return frames
        frames = frames.with_gaps(sequences.times.gaps)
        return self._chain().with_entries(frames, sequences.offsets)

    def _pending(self, sequences):
        """Frames, computed in parts where the chain takes them so and the result is the same."""
        if sequences.n_sequences > 1:
            pending = self._in_parts(sequences)
            if pending is not None:
                return pending
        with Allowed(threads_of(self.n_jobs, sequences.n_steps)):
            return self._frames(sequences)

    def _in_parts(self, sequences):
        emission, n_steps, n_states = self.emission_, sequences.n_steps, len(self.classes_)
        shares, row_bytes = emission._shares_work, emission._row_bytes(n_states)
        if (shares and n_steps <= steps_at_once(row_bytes)) or not self._chain().takes_parts:
            return None
        least = steps_in_part(emission)
        if least is None or not (shares or n_steps > 2 * least):
            return None
        return PendingFrames(
            lambda begin, end: self._frames(sequences.part(begin, end)),
            sequences.n_sequences, n_steps, n_states, row_bytes, None if shares else least,
        )  # fmt: skip

    # ------------------------------------------------------------- the chain
    def _parameters(self):
        """The fitted parameters, whose shapes are checked: they may have been replaced."""
        S, found = len(self.classes_), []
        for shape, name in zip(((S,), (S, S), (S, None)), self._parameter_names):
            value = numbers_of(getattr(self, name), name)
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
            least, largest = value.min(initial=0.0), value.max(initial=0.0)
            if not -np.inf < least <= largest < np.inf:
                raise ValueError(f"{name} holds NaN or infinity.")
            if name not in _SIGNED and least < 0:
                raise ValueError(f"{name} holds a negative number.")
            if name == "generator_" and (value[~np.eye(len(value), dtype=bool)] < 0).any():
                raise ValueError("generator_ holds a negative rate off its diagonal.")
            sums, most = value.sum(axis=-1), _LARGEST_SUMS.get(name, np.inf)
            if np.max(sums, initial=0.0) > most + 1e-6 * max(largest, 1.0):
                raise ValueError(f"{name} must sum to {most:g}; the sums are {sums.tolist()}.")
        if list(self.controller_.states) != self.classes_.tolist():
            raise ValueError(
                f"controller_ is for the states {list(self.controller_.states)}, but classes_ are "
                f"{self.classes_.tolist()}."
            )

    def _chain(self, parameters=None, *, constrained=True):
        """The chain of these parameters, by default the fitted ones.

        It is kept until they change; its graph as long as what is possible stays the same.
        """
        constrained = constrained and self._enforces
        kept = self._chains.get(constrained)
        if parameters is None:
            found = [getattr(self, name) for name in self._parameter_names]
            same_states = kept is not None and kept.graph.n_states == len(self.classes_)
            if same_states and kept.has(*found):  # which were checked before
                return kept
            parameters = self._parameters()
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
        return graph_of(self.controller_, start_support, support, self.max_nodes)

    def _supports(self, *parameters):
        """Which starts (S,) and which transitions (S, S) are possible."""
        raise NotImplementedError

    def _new_chain(self, graph, *parameters):
        raise NotImplementedError

    @property
    def graph_(self) -> AugmentedGraph:
        """The live nodes and edges of the constrained chain."""
        return self._chain().graph

    # ------------------------------------------------------------- inference
    def predict(
        self,
        X: Any,
        *,
        lengths: Collection[int] | None = None,
        groups: Any = None,
        known: Any = None,
    ) -> np.ndarray | list[np.ndarray]:
        """The decoded label path of each sequence.

        Parameters
        ----------
        X, lengths, groups : the sequences
        known : labels in the form of y, optional
            Labels that are held: missing (None, NaN, or -1 among integers) where nothing is known,
            a set of labels where one of them is right.

        Returns
        -------
        labels, in the form in which the sequences came
        """
        return self._predict_sequences(self._hold(self._read(X, lengths, groups), known))

    def _predict_sequences(self, sequences):
        if self.algorithm == "viterbi":
            frames = self._pending(sequences)
            return sequences.restore(self._best_paths(sequences, frames, self.classes_)[0])
        return sequences.restore(labelled(self._predict_index(sequences), self.classes_))

    def decode(
        self,
        X: Any,
        *,
        lengths: Collection[int] | None = None,
        groups: Any = None,
        known: Any = None,
    ) -> tuple[float | np.ndarray, np.ndarray | list[np.ndarray]]:
        """The most probable feasible paths and their log probabilities.

        Parameters
        ----------
        X, lengths, groups, known : the sequences and what is known of their labels
            As in `predict`.

        Returns
        -------
        log_prob : float for a single stacked sequence, else ndarray (n_sequences,)
            log P(path, Y).
        path : labels, in the form in which the sequences came
        """
        return self._decode_sequences(self._hold(self._read(X, lengths, groups), known))

    def _decode_sequences(self, sequences):
        path, log_prob = self._best_paths(sequences, self._pending(sequences), self.classes_)
        return float(log_prob[0]) if sequences.is_single else log_prob, sequences.restore(path)

    def predict_proba(
        self,
        X: Any,
        *,
        lengths: Collection[int] | None = None,
        groups: Any = None,
        known: Any = None,
    ) -> np.ndarray | list[np.ndarray]:
        """P(x_t | Y, Acc): exact smoothed marginals over the feasible paths.

        Parameters
        ----------
        X, lengths, groups, known : the sequences and what is known of their labels
            As in `predict`.

        Returns
        -------
        ndarray (n_steps, S), or a list of them; columns as in `classes_`
        """
        sequences = self._hold(self._read(X, lengths, groups), known)
        return sequences.restore(self._posteriors(sequences, self._pending(sequences)))

    def predict_log_proba(
        self,
        X: Any,
        *,
        lengths: Collection[int] | None = None,
        groups: Any = None,
        known: Any = None,
    ) -> np.ndarray | list[np.ndarray]:
        """Logarithm of `predict_proba`.

        Parameters
        ----------
        X, lengths, groups, known : the sequences and what is known of their labels
            As in `predict`.

        Returns
        -------
        ndarray (n_steps, S), or a list of them; columns as in `classes_`
        """
        return self._predict_log_proba(self._hold(self._read(X, lengths, groups), known))

    def _predict_log_proba(self, sequences):
        with np.errstate(divide="ignore"):
            logs = np.log(self._posteriors(sequences, self._pending(sequences)))
        return sequences.restore(logs)

    def log_feasibility(
        self, X: Any, *, lengths: Collection[int] | None = None, groups: Any = None
    ) -> np.ndarray:
        """log P(Acc | Y) of each sequence: how likely the rules are, given the data alone.

        Parameters
        ----------
        X, lengths, groups : the sequences

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
        for name, choices in (
            ("algorithm", ALGORITHMS),
            ("on_infeasible", ("raise", "warn", "relax")[: 3 if self._takes_soft else 2]),
        ):
            if not is_one_of(getattr(self, name), choices):
                raise ValueError(f"{name} must be one of {choices}, got {getattr(self, name)!r}.")
        check_at_least(self.max_nodes, "max_nodes", 1)

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
        self._check_choices()
        posteriors = self._posteriors(sequences, frames)
        return path_of_marginals(self, sequences, posteriors, self.algorithm)

    def _ask_all(self, task, ask, sequences, frames, **options):
        """What ask(frames, offsets, **options) answers; with `verbose`, in parts."""
        if self.verbose and sequences.n_sequences > 1:
            ask = partial(ask, n_jobs=self.n_jobs, **options)
            return in_parts(task, ask, frames, sequences.offsets, self.n_jobs)
        return ask(frames, sequences.offsets, n_jobs=self.n_jobs, **options)

    def _best_paths(self, sequences, frames, labels=None):
        """Paths of labels, or of state indices, and their log probabilities."""
        decode = self._chain().decode
        path, log_prob = self._ask_all("decoded", decode, sequences, frames, labels=labels)
        if log_prob[log_prob.argmin()] == -np.inf:
            bad = (log_prob == -np.inf).nonzero()[0]
            replace_paths(self, sequences, frames, bad, path, log_prob, labels)
        return path, log_prob

    def _posteriors(self, sequences, frames):
        smooth = self._chain().smooth
        log_z, posteriors, _ = self._ask_all("smoothed", smooth, sequences, frames)
        if log_z[log_z.argmin()] == -np.inf:
            bad = (log_z == -np.inf).nonzero()[0]
            replace_posteriors(self, sequences, frames, bad, log_z, posteriors)
        return posteriors

    # ---------------------------------------------------------- infeasibility
    # What to say of an impossible sequence, and besides its constraints of an infeasible one.
    _impossible = "its observations or transitions are impossible."
    _note = ""
