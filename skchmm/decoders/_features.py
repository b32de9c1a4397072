"""Sparse features of steps, from symbols, numbers or dictionaries."""

from collections.abc import Mapping

import numpy as np
from scipy.sparse import csr_array
from sklearn.feature_extraction import DictVectorizer

from .._kernels.data.dictionaries import encode
from ..emissions.resolution import _kind
from ..emissions.vocabulary import Vocabulary, columns_of

KINDS = ("auto", "symbols", "numeric")
_NO_DICTIONARIES = "Every step must be a dictionary of features, as in fit."


def holds_dicts(X):
    """Whether X is one run of dictionaries (and not a list of such runs)."""
    if not isinstance(X, (list, tuple, np.ndarray)) or getattr(X, "ndim", 1) == 0 or len(X) == 0:
        return False
    return isinstance(X[0], Mapping)


def as_rows(dicts):
    rows = np.empty(len(dicts), dtype=object)
    rows[:] = list(dicts)
    return rows


class DictFeatures:
    """A dictionary a step: numbers are values, a string under a key is one feature."""

    def fit_transform(self, X):
        rows, numbers = list(X), {}
        found = encode(rows, numbers, True)
        self._vectorizer = DictVectorizer(sparse=True)
        if found is None:  # lists of strings, keys that are no strings, other numbers
            self._vectorizer.fit(_checked(rows))
        else:
            names = self._vectorizer.feature_names_ = sorted(numbers)
            self._vectorizer.vocabulary_ = {name: place for place, name in enumerate(names)}
        self.names = list(self._vectorizer.feature_names_)
        if found is None:
            return self.transform(X)
        indptr, indices, values = found
        places = np.array([self._vectorizer.vocabulary_[name] for name in numbers], dtype=np.int32)
        return csr_array(
            (values, places[indices], indptr), shape=(len(indptr) - 1, len(self.names))
        )

    def transform(self, X):
        if not holds_dicts(X):
            raise ValueError(_NO_DICTIONARIES)
        rows = list(X)
        found = encode(rows, self._vectorizer.vocabulary_, False)
        if found is None:
            return csr_array(self._vectorizer.transform(_checked(rows)), dtype=np.float64)
        indptr, indices, values = found
        return csr_array((values, indices, indptr), shape=(len(indptr) - 1, len(self.names)))


def _checked(rows):
    if not all(isinstance(row, Mapping) for row in rows):
        raise ValueError(_NO_DICTIONARIES)
    if not all(np.isfinite(v) for row in rows for v in row.values() if isinstance(v, float)):
        raise ValueError("A feature is NaN or infinite; leave out what is not known.")
    return rows


class ColumnFeatures:
    """A column of symbols gives a feature for each symbol, a column of numbers gives one.

    Symbols that were not there in fit, and missing values, give none.
    """

    def __init__(self, kind="auto"):
        self.kind = kind

    def fit_transform(self, X):
        self.vocabularies, self.names = [], []
        for column, name in zip(columns_of(X), _names(X)):
            numeric = self.kind == "numeric" or (self.kind == "auto" and _kind(column) == "float")
            vocabulary = None if numeric else Vocabulary.learn(column)
            self.vocabularies.append(vocabulary)
            symbols = [] if numeric else vocabulary.symbols.tolist()
            self.names += [name] if numeric else [_join(name, symbol) for symbol in symbols]
        return self.transform(X)

    def transform(self, X):
        if holds_dicts(X):
            raise ValueError("X holds dictionaries, but fit saw columns.")
        columns = columns_of(X)
        index = np.empty((len(columns[0]), len(columns)), dtype=np.int32)
        value = np.ones(index.shape)
        first = 0
        for j, (column, vocabulary) in enumerate(zip(columns, self.vocabularies)):
            if vocabulary is None:
                index[:, j], value[:, j] = first, _numbers(column, j)
                first += 1
            else:
                codes = vocabulary.codes(column, unseen="ignore")
                index[:, j], value[:, j] = first + codes, codes >= 0
                first += len(vocabulary)
        there = value != 0
        indptr = np.concatenate([[0], np.cumsum(there.sum(axis=1))])
        return csr_array((value[there], index[there], indptr), shape=(len(index), first))


def _numbers(column, j):
    try:
        numbers = column.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"Column {j} of X must hold numbers: {error}") from error
    if np.isinf(numbers).any():
        raise ValueError("Input X contains infinity or a value too large for dtype('float64').")
    return np.nan_to_num(numbers)


def _names(X):
    if hasattr(X, "columns"):
        return [str(name) for name in X.columns]
    return [""] if X.ndim == 1 else [f"x{j}" for j in range(X.shape[1])]


def _join(name, symbol):
    return f"{name}={symbol}" if name else str(symbol)
