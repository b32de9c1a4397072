"""Continuous features to discrete symbols."""

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from ._documentation import DocumentedMixin
from ._numbers import is_whole
from .sequences.forms import holds_sequences, read_sequences

BASE = 131  # of the polynomial hash


class HashingQuantizer(
    DocumentedMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator
):
    """Turn each row of features into one of a few symbols, for decoders of discrete symbols.

    Each feature is cut into bins that hold equally many training rows; the bins b_1 ... b_D of a
    row are hashed to the symbol ``(sum_d 131^(D - d) b_d) mod n_symbols``. Equal rows get equal
    symbols. Different rows may also get equal symbols (a collision); with fewer symbols, more do.

    Parameters
    ----------
    n_bins : int, default=4
        Bins per feature.
    n_symbols : int, default=64
        Size of the alphabet: symbols are 0, ..., n_symbols - 1. A multiple of 131 would leave only
        the last feature to tell the symbols apart, and is refused.

    Attributes
    ----------
    bin_edges_ : ndarray of shape (n_features_in_, n_bins - 1)
        A value is in bin k if k edges of its feature are not above it.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        The names of the features, if they have any.

    See Also
    --------
    skchmm.emissions.Categorical : Symbols.
    ConstrainedHMM : The hidden Markov model with exact inference under constraints.

    Notes
    -----
    A missing value (NaN) is not used to find edges and falls in a bin of its own, number n_bins.
    Infinities are an error. A feature with few different values fills fewer bins.

    A list of sequences is transformed to a list. The bin edges are those of all rows together.

    Examples
    --------
    >>> import numpy as np
    >>> from skchmm import HashingQuantizer
    >>> X = np.arange(8.0).reshape(-1, 1)
    >>> HashingQuantizer(n_bins=4).fit_transform(X).ravel()
    array([0, 0, 1, 1, 2, 2, 3, 3])
    >>> HashingQuantizer(n_bins=4).fit(X).transform([[-1.0], [6.5]]).ravel()
    array([0, 3])
    """

    def __init__(self, n_bins: int = 4, *, n_symbols: int = 64) -> None:
        self.n_bins = n_bins
        self.n_symbols = n_symbols

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the bin edges.

        Parameters
        ----------
        X : array or dataframe of shape (n_samples, n_features), or list of such
        y : ignored

        Returns
        -------
        self
        """
        for name, minimum in (("n_bins", 2), ("n_symbols", 1)):
            value = getattr(self, name)
            if not is_whole(value) or value < minimum:
                raise ValueError(f"{name} must be an integer of at least {minimum}, got {value!r}.")
        if self.n_symbols % BASE == 0:
            raise ValueError(
                f"n_symbols must not be a multiple of {BASE}, got {self.n_symbols}: the hash would "
                f"see the last feature only."
            )
        X, _ = self._read(X, reset=True)
        self.bin_edges_ = np.stack([_edges(column, self.n_bins) for column in X.T])
        self._n_features_out = 1
        return self

    def transform(self, X: Any) -> np.ndarray | list[np.ndarray]:
        """The symbols of rows.

        Parameters
        ----------
        X : array or dataframe of shape (n_samples, n_features), or list of such

        Returns
        -------
        ndarray of int64, shape (n_samples, 1), or list of such
        """
        check_is_fitted(self)
        X, sequences = self._read(X, reset=False)
        symbols = np.zeros(len(X), dtype=np.int64)
        n_bins = self.bin_edges_.shape[1] + 1
        for column, edges in zip(X.T, self.bin_edges_):
            bins = np.searchsorted(edges, column, side="right")
            bins[np.isnan(column)] = n_bins
            symbols = (symbols * BASE + bins) % self.n_symbols
        symbols = symbols.reshape(-1, 1)
        return symbols if sequences is None else sequences.restore(symbols)

    def _read(self, X, *, reset):
        sequences = None
        if holds_sequences(X):
            sequences = read_sequences(X)
            X = sequences.X
        X = validate_data(self, X, reset=reset, dtype=np.float64, ensure_all_finite="allow-nan")
        return X, sequences

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.transformer_tags.preserves_dtype = []
        return tags


def _edges(column, n_bins):
    known = column[~np.isnan(column)]
    if len(known) == 0:
        return np.zeros(n_bins - 1)
    return np.quantile(known, np.arange(1, n_bins) / n_bins)
