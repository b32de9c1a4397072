"""What all sequence estimators share: reading input, checking features and labels, scoring."""

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, validate_data

from ._documentation import DocumentedMixin
from ._threads import Allowed, threads_of
from .emissions import Precomputed
from .sequences import read_labels, read_sequences, read_step_weights, read_weights


class SequenceEstimator(DocumentedMixin, BaseEstimator):
    """Base class of the estimators that label sequences."""

    # Where one sequence ends and the next begins always concerns the estimator, so routing needs
    # no set_*_request for it.
    __metadata_request__fit = {"groups": True, "lengths": True}
    __metadata_request__predict = {"groups": True, "lengths": True}
    __metadata_request__predict_proba = {"groups": True, "lengths": True}
    __metadata_request__predict_log_proba = {"groups": True, "lengths": True}
    __metadata_request__score = {"groups": True, "lengths": True}

    def _read(self, X, lengths, groups, *, reset=False):
        """Sequences whose rows have the features that were (or are now) learned."""
        if not reset:
            check_is_fitted(self)
        with Allowed(threads_of(getattr(self, "n_jobs", None))):
            sequences = read_sequences(X, lengths=lengths, groups=groups)
        self._check_features(sequences.X, reset)
        return sequences

    def _check_features(self, X, reset):
        named = hasattr(X, "columns") or (not reset and hasattr(self, "feature_names_in_"))
        if X.ndim == 1 if hasattr(X, "ndim") else len(X.shape) == 1:
            if reset:
                self.__dict__.pop("feature_names_in_", None)
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

    def _choose_classes(self, y, emission=None):
        """State labels, from `states`, else from y, else 0, 1, ..., n_states - 1."""
        if self.states is not None:
            classes = _as_labels(self.states)
            if len(set(classes.tolist())) != len(classes) or len(classes) == 0:
                raise ValueError(f"states must be distinct labels, got {self.states!r}.")
        elif y is not None and known_labels(y).any():
            classes = np.unique(y[known_labels(y)])
            if y.dtype.kind == "O":
                classes = _as_labels(classes.tolist())
        elif self.n_states is not None:
            if not isinstance(self.n_states, (int, np.integer)) or self.n_states < 1:
                raise ValueError(f"n_states must be a positive integer, got {self.n_states!r}.")
            return np.arange(self.n_states)
        elif isinstance(emission, Precomputed):
            return np.arange(self.n_features_in_)
        else:
            raise ValueError(
                "How many states there are is not known: without labels y, give n_states or states."
            )
        if self.n_states is not None and self.n_states != len(classes):
            source = "states" if self.states is not None else "y"
            raise ValueError(
                f"n_states={self.n_states}, but {source} has {len(classes)} labels: "
                f"{classes.tolist()}. Give states= to name labels that y does not show."
            )
        return classes

    def _encode_labels(self, y, sequences):
        """Label indices of rows, int64; -1 where the label is missing."""
        labels = read_labels(y, sequences)
        return encode_labels(labels, self.classes_)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.target_tags.required = False
        return tags

    def score(self, X, y=None, *, lengths=None, groups=None, sample_weight=None):
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
        if y is None and sample_weight is None:
            return float(np.sum(self.log_likelihood(X, lengths=lengths, groups=groups)))
        sequences = self._read(X, lengths, groups)
        if y is None:
            log_likelihood = self.log_likelihood(X, lengths=lengths, groups=groups)
            weights = read_weights(sample_weight, sequences)
            return float(np.dot(log_likelihood[weights > 0], weights[weights > 0]))
        truth = self._encode_labels(y, sequences)
        predicted = self._predict_index(sequences)
        weights = read_step_weights(sample_weight, sequences) * (truth >= 0)
        return float(np.average(predicted == truth, weights=weights)) if weights.any() else np.nan


def _as_labels(values):
    """An array of labels that does not turn numbers among strings into strings."""
    values = list(values)
    array = np.asarray(values)
    if array.ndim != 1 or (
        array.dtype.kind in "US" and not all(isinstance(v, str) for v in values)
    ):
        array = np.empty(len(values), dtype=object)
        array[:] = values
    return array


def known_labels(y, minus_one=True):
    """Where labels are given: not None, not NaN and, among integers, not -1."""
    if y.dtype.kind in "iu":
        return y != -1 if minus_one else np.ones(len(y), dtype=bool)
    if y.dtype.kind == "f":
        known = ~np.isnan(y)
        return known & (y != -1) if minus_one and (y[known] == np.rint(y[known])).all() else known
    if y.dtype.kind == "O":
        return np.array(
            [not (v is None or v != v or (minus_one and _is_minus_one(v))) for v in y], dtype=bool
        )
    return np.ones(len(y), dtype=bool)


def _is_minus_one(value):
    return isinstance(value, (int, np.integer)) and value == -1


def encode_labels(labels, classes):
    """Indices into classes; -1 where the label is missing. Unknown labels are an error."""
    known = known_labels(labels, minus_one=-1 not in classes.tolist())
    codes = np.full(len(labels), -1, dtype=np.int64)
    if labels.dtype.kind == "O" or classes.dtype.kind == "O":
        number = {label: k for k, label in enumerate(classes.tolist())}
        found = [number.get(label, -2) for label in labels[known].tolist()]
        codes[known] = np.array(found, dtype=np.int64)
    else:
        order = np.argsort(classes, kind="stable")
        given = labels[known]
        place = np.searchsorted(classes, given, sorter=order).clip(max=len(classes) - 1)
        hit = classes[order][place] == given
        codes[known] = np.where(hit, order[place], -2)
    if (codes == -2).any():
        strange = list(dict.fromkeys(labels[codes == -2].tolist()))[:5]
        raise ValueError(
            f"y has labels that the model does not know: {strange}. It knows {classes.tolist()}; "
            "give states= to fit for all labels that can occur."
        )
    return codes
