"""Emission of symbols: one or several columns, each with a memory of earlier symbols if wanted."""

from collections.abc import Collection
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state

from .._kernels.data.finite import same_bits
from .._numbers import is_one_of, is_whole, names_priors
from .base import (
    Emission,
    Frames,
    check_path,
    check_posteriors,
    draw_symbols,
    frames_in_range,
    given,
    normalise_rows,
    numbers_of,
    sum_by,
)
from .priors import check_prior, climb, estimate, log_dirichlet, used_contexts
from .scales import Simplex
from .vocabulary import (
    ADVICE,
    Vocabularies,
    Vocabulary,
    columns_of,
    compress,
    n_cells,
    number_cells,
    sizes_of,
    vocabulary_of,
)

_MAX_KEPT = 4096  # probabilities, whose logarithms are kept


class Categorical(Emission):
    """Symbols from a finite set, with one distribution per state.

    Several columns are independent of each other given the state. A missing symbol (``None``,
    ``NaN``) is marginalised out.

    Parameters
    ----------
    order : int, default=0
        The symbol depends on the state and on the ``order`` symbols before it in the same column of
        the same sequence. At the start of a sequence, and after a missing symbol, only the symbols
        since then are known; such shorter contexts have distributions of their own.
    symbols : None, int, list, or list of lists, default=None
        All possible symbols: a number n for the integers 0 to n - 1, a list of symbols, or for
        several columns one such list per column. By default, the symbols of the training data.
        Probabilities and priors have their columns in this order.
    unseen : {"error", "ignore"}, default="error"
        What to do about a symbol that is not known: raise an error, or treat it as missing.
    prior : float or array of shape (n_states, n_symbols), default=1.0
        Parameters of a Dirichlet prior on each distribution; 1 is plain maximum likelihood.

    Attributes
    ----------
    symbols_ : ndarray, or list of one ndarray per column
        The known symbols, in the order of `symbols`; those of the training data are sorted.
    probabilities_ : ndarray of shape (n_states, n_symbols), or list of one per column
        With ``order=k`` there are k axes between the two: the symbols before, oldest first.
        Index -1 on such an axis stands for "not known".

    See Also
    --------
    Multinomial : Counts with a total.
    Poisson : Counts without a bound.

    Examples
    --------
    >>> import numpy as np
    >>> from skchmm.emissions import Categorical
    >>> emission = Categorical()
    >>> E = emission.encode(np.array(["a", "b", "b", "a"]), reset=True)
    >>> emission.fit_supervised(E, [0, 0, 1, 0], n_states=2).probabilities_
    array([[0.66666667, 0.33333333],
           [0.        , 1.        ]])
    """

    def __init__(
        self,
        order: int = 0,
        *,
        symbols: int | Collection | None = None,
        unseen: str = "error",
        prior: ArrayLike = 1.0,
    ) -> None:
        self.order = order
        self.symbols = symbols
        self.unseen = unseen
        self.prior = prior

    @classmethod
    def from_parameters(
        cls, probabilities: Any, symbols: int | Collection | None = None, **params: Any
    ) -> Self:
        """A fitted emission from known probabilities (a list of arrays for several columns).

        Parameters
        ----------
        probabilities : array (n_states, n_symbols), or a list of them
            With ``order=k``, k axes of symbols come before the last one.
        symbols : int or sequence of symbols, optional
            As in the constructor.
        **params : other parameters of the constructor

        Returns
        -------
        emission of this class
        """
        several = isinstance(probabilities, (list, tuple)) and any(
            np.ndim(table) > 1 for table in probabilities
        )
        emission = cls(symbols=symbols, **params)
        emission._check_parameters()
        if several:
            emission.probabilities_ = [emission._distributions(p) for p in probabilities]
        else:
            emission.probabilities_ = emission._distributions(probabilities)
        emission.n_features_in_ = len(probabilities) if several else 1
        emission._vocabularies()  # raises where the symbols do not fit
        return emission

    @property
    def symbols_(self) -> np.ndarray | list[np.ndarray]:
        found = [vocabulary.symbols for vocabulary in self._vocabularies()]
        return found[0] if len(found) == 1 else found

    @property
    def part_steps(self) -> int:  # type: ignore[override]
        # each part computes the logarithms of the whole table
        return 100_000 + 10 * sum(n_cells(len(v), self.order) for v in self._vocabularies())

    @property
    def _shares_work(self):
        return self.order == 0 and self.n_features_in_ == 1

    def _row_bytes(self, n_states):
        # of one column, a step has the number of its row in a small table
        return 16 if self.n_features_in_ == 1 else super()._row_bytes(n_states)

    def encode(self, X: Any, offsets: np.ndarray | None = None, *, reset: bool) -> Any:
        self._check_parameters()
        columns = columns_of(X)
        self._check_columns(len(columns), reset=reset)
        if reset:
            check_prior(self.prior, "prior")
            self._learn_symbols(columns)
        vocabularies, cells = self._vocabularies(), []
        sizes = sizes_of(vocabularies, self.order)
        for j, (column, vocabulary) in enumerate(zip(columns, vocabularies)):
            where = f", column {j}" if len(columns) > 1 else ""
            missing = -1 if self.order else len(vocabulary)
            codes = vocabulary.codes(
                column, unseen=self.unseen, missing=missing, where=where, advice=self._advice
            )
            if self.order:
                codes = number_cells(codes, offsets, len(vocabulary), self.order)
            cells.append(codes)
        return compress(cells, sizes)

    _advice = ADVICE  # against symbols that are not known

    def _check_parameters(self):
        if not is_one_of(self.unseen, ("error", "ignore")):
            raise ValueError(f"unseen must be 'error' or 'ignore', got {self.unseen!r}.")
        if not is_whole(self.order) or self.order < 0:
            raise ValueError(f"order must be 0, 1, 2, ..., got {self.order!r}.")

    def initialise(
        self,
        E: Any,
        offsets: np.ndarray | None,
        n_states: int,
        *,
        init: str,
        random_state: Any = None,
    ) -> None:
        self._check_init(init, ["random"])
        rng = check_random_state(random_state)
        self._set_tables(
            [
                normalise_rows(rng.rand(n_states, (v + 1) ** self.order, v))
                for v in map(len, self._vocabularies())
            ]
        )

    def log_likelihood(self, E: Any) -> Frames:
        logs, bounded = self._scores()
        self._check_cells(E, list(map(len, logs)))
        if E.cells is None:
            return frames_in_range(logs[0].copy(), E.index, bounded=bounded)
        return frames_in_range(sum(log[E.cells[:, j]] for j, log in enumerate(logs)), E.index)

    _keeps_scores = True  # whether they depend on the probabilities alone

    def _scores(self):
        """Log probabilities by cell, a table per column; whether none is NaN or infinite.

        Kept from call to call while the probabilities stay the same, of small tables.
        """
        given = self.probabilities_
        if not (self._keeps_scores and type(given) is np.ndarray and given.size <= _MAX_KEPT):
            return self._score_cells(), False
        kept = self.__dict__.get("_kept_scores")
        if kept is None or kept[0] != self.order or not same_bits(kept[1], given):
            logs = self._score_cells()
            self._kept_scores = self.order, given.copy(), logs, False
            return logs, False
        *key, logs, bounded = kept
        if not bounded and logs[0].max(initial=-np.inf) < np.inf:
            bounded = True
            self._kept_scores = *key, logs, bounded
        return logs, bounded

    def _score_cells(self):
        found = []
        for table in self._log_tables():
            table = table.reshape(len(table), -1).T
            logs = np.zeros((len(table) + 1, table.shape[1]))  # the last one is missing
            logs[:-1] = table
            found.append(logs)
        return found

    def __getstate__(self):
        """Without what follows from the rest."""
        return {k: v for k, v in super().__getstate__().items() if k != "_kept_scores"}

    def _log_tables(self):
        with np.errstate(divide="ignore"):
            return [np.log(table) for table in self._tables()]

    def _check_cells(self, E, sizes):
        """Cells are looked up in tables of the size they were numbered for, without a look."""
        if E.sizes != sizes:
            raise ValueError(
                f"The rows were encoded for {[size - 1 for size in E.sizes]} pairs of context and "
                f"symbol a column, but probabilities_ has {[size - 1 for size in sizes]}."
            )

    def accumulate(
        self, E: Any, posteriors: np.ndarray, offsets: np.ndarray | None = None
    ) -> dict[str, Any]:
        sizes = sizes_of(self._vocabularies(), self.order)
        self._check_cells(E, sizes)
        posteriors = check_posteriors(posteriors, E.n_steps)
        if E.cells is None:
            by_cell = [sum_by(E.index, posteriors, sizes[0])]
        else:
            weights = posteriors
            if E.index is not None:
                weights = sum_by(E.index, posteriors, len(E.cells))
            by_cell = [sum_by(E.cells[:, j], weights, size) for j, size in enumerate(sizes)]
        # the last cell is the missing symbol, which says nothing
        return {f"counts_{j}": counts[:-1].T.copy() for j, counts in enumerate(by_cell)}

    def estimate(self, statistics: dict[str, Any], *, smoothing: float = 0.0) -> None:
        self._learn(statistics, smoothing, estimate)

    def maximise(self, statistics: dict[str, Any], *, smoothing: float = 0.0) -> None:
        climbs = hasattr(self, "probabilities_") and not self._as_hmmlearn
        self._learn(statistics, smoothing, climb if climbs else estimate)

    @names_priors("prior")
    def _learn(self, statistics, smoothing, distributions):
        old = self._tables() if hasattr(self, "probabilities_") else [None] * len(statistics)
        sizes = map(len, self._vocabularies())
        tables = []
        for j, n_symbols in enumerate(sizes):
            counts = statistics[f"counts_{j}"]
            counts = counts.reshape((len(counts), *[n_symbols + 1] * self.order, n_symbols))
            tables.append(distributions(counts, smoothing + np.asarray(self.prior) - 1.0, old[j]))
        self._set_tables(tables)

    def log_prior(self, *, smoothing: float = 0.0) -> float:
        added = np.asarray(smoothing + np.asarray(self.prior) - 1.0)
        added = added[:, None] if added.ndim == 2 else added
        if not added.any():
            return 0.0
        tables = self._tables()
        used = [used_contexts(table.shape[-1], self.order) for table in tables]
        return sum(log_dirichlet(added, table[:, u]) for table, u in zip(tables, used))

    def cdf(self, E: Any) -> tuple[np.ndarray, np.ndarray]:
        """P(symbol before) and P(symbol not after) each symbol, (n_steps, n_columns, n_states).

        Symbols are in the order of `symbols_`.
        """
        tables = self._tables()
        self._check_cells(E, [table[0].size + 1 for table in tables])
        bounds = []
        for j, table in enumerate(tables):
            upto = np.cumsum(table, axis=-1)
            both = np.stack([upto - table, upto]).reshape(2, len(table), -1)
            both = np.concatenate([both, np.full((2, len(table), 1), np.nan)], axis=-1)
            cells = E.index if E.cells is None else E.cells[:, j]
            if E.cells is not None and E.index is not None:
                cells = cells[E.index]
            bounds.append(both[:, :, cells])
        below, upto = np.moveaxis(np.stack(bounds, axis=1), -1, 1)
        return below, upto

    def n_parameters(self) -> int:
        # contexts of every length up to order; the other cells of a table are never used
        return sum(
            len(table) * sum(v**k for k in range(self.order + 1)) * (v - 1)
            for table, v in zip(self._tables(), map(len, self._vocabularies()))
        )

    def scales(self) -> dict[str, Any]:
        return {"probabilities_": Simplex}

    def sample(self, path: ArrayLike, random_state: Any = None) -> np.ndarray:
        rng = check_random_state(random_state)
        path = check_path(path, len(self._tables()[0]))
        vocabularies = self._vocabularies()
        if not all(map(len, vocabularies)):
            raise ValueError("Nothing to draw from: the training data had no symbols.")
        uniforms = rng.random_sample((len(path), len(vocabularies)))
        drawn = [
            vocabulary.symbols[self._draw(table, path, uniforms[:, j])]
            for j, (table, vocabulary) in enumerate(zip(self._tables(), vocabularies))
        ]
        same = len({column.dtype for column in drawn}) == 1
        return np.stack(drawn if same else [column.astype(object) for column in drawn], axis=1)

    def _draw(self, table, path, uniforms):
        if self.order == 0:
            return draw_symbols(table[path, 0], uniforms)
        n_symbols = table.shape[-1]
        n_contexts = (n_symbols + 1) ** self.order
        codes = np.empty(len(path), dtype=np.int64)
        context = n_contexts - 1  # all unknown
        for t, state in enumerate(path):
            codes[t] = draw_symbols(table[state, context], uniforms[t])
            context = (context * (n_symbols + 1) + codes[t]) % n_contexts
        return codes

    def survey(self, X: Any) -> Any:
        """The symbols of each column, as something that adds up."""
        self._check_parameters()
        columns = columns_of(X)
        self._check_columns(len(columns), reset=True)
        self._learn_symbols(columns)
        return Vocabularies(self._learned)

    def settle(self, survey: Any, like: Any = None) -> None:
        """Take these for the symbols of the training data."""
        self._check_columns(len(survey.columns), reset=True)
        self._learned = survey.columns

    def grown(self, statistics: dict[str, Any], survey: Any) -> dict[str, Any]:
        """Statistics over the present symbols as such over those of a survey, which has them all.

        Afterwards the emission has the symbols of the survey.
        """
        out = {}
        for j, (old, new) in enumerate(zip(self._vocabularies(), survey.columns)):
            n, m, counts = len(old), len(new), statistics[f"counts_{j}"]
            place = new.codes(old.symbols, unseen="error") if n else np.zeros(0, dtype=int)
            table = np.zeros((len(counts), *[m + 1] * self.order, m))
            context = np.append(place, m)  # the last one stands for "not known"
            where = np.ix_(np.arange(len(counts)), *[context] * self.order, place)
            table[where] = counts.reshape(len(counts), *[n + 1] * self.order, n)
            out[f"counts_{j}"] = table.reshape(len(counts), -1)
        if hasattr(self, "probabilities_"):
            del self.probabilities_
        self.settle(survey)
        return out

    def _learn_symbols(self, columns):
        if self.symbols is None:
            found = [Vocabulary.learn(column) for column in columns]
        else:
            found = [Vocabulary(symbols) for symbols in self._given_symbols(len(columns))]
        sizes_of(found, self.order)
        self._learned = found

    def _given_symbols(self, n_columns):
        symbols = self.symbols
        nested = hasattr(symbols, "__iter__") and any(
            isinstance(entry, (list, tuple, np.ndarray)) for entry in symbols
        )
        if not nested:
            return [symbols] * n_columns
        if len(symbols) != n_columns:
            raise ValueError(
                f"symbols lists {len(symbols)} columns of symbols, but X has {n_columns} columns."
            )
        return symbols

    def _vocabularies(self):
        if hasattr(self, "_learned"):
            return self._learned
        # probabilities were set by hand: the symbols are those given, or 0, 1, 2, ...
        tables = (
            self.probabilities_ if isinstance(self.probabilities_, list) else [self.probabilities_]
        )
        sizes = [np.shape(table)[-1] for table in tables]
        given = sizes if self.symbols is None else self._given_symbols(len(tables))
        vocabularies = [vocabulary_of(symbols) for symbols in given]
        for size, vocabulary in zip(sizes, vocabularies):
            if size != len(vocabulary):
                raise ValueError(
                    f"probabilities_ has {size} columns, but there are {len(vocabulary)} symbols."
                )
        return vocabularies

    def _tables(self):
        """The probabilities as one (n_states, n_contexts, n_symbols) array per column."""
        tables = self.probabilities_
        plain = type(tables) is np.ndarray and tables.dtype == np.float64
        if plain and self.order == 0 and tables.ndim == 2 and len(tables) > 0:
            return [tables[:, None]]
        tables = tables if isinstance(tables, list) else [tables]
        tables = [numbers_of(table, "probabilities_") for table in tables]
        for table in tables:
            self._check_shape(table)
        return [
            table.reshape(len(table), (table.shape[-1] + 1) ** self.order, table.shape[-1])
            for table in tables
        ]

    def _check_shape(self, table):
        n_symbols = table.shape[-1] if table.ndim else 0
        if table.ndim < 2 or len(table) == 0 or table[0].size != n_cells(n_symbols, self.order):
            contexts = f", {self.order} axes of symbols before (one more each than symbols)"
            raise ValueError(
                f"Probabilities must have one row per state{contexts if self.order else ''} and "
                f"one column per symbol; got the shape {table.shape}."
            )

    def _distributions(self, table):
        table = given(table, "probabilities", at_least=0, rows_sum_to_1=True)
        self._check_shape(table)
        return table

    def _set_tables(self, tables):
        if self.order == 0:
            tables = [table.reshape(len(table), -1) for table in tables]
            self.probabilities_ = tables[0] if len(tables) == 1 else tables
            return
        shaped = [
            table.reshape((len(table), *[table.shape[-1] + 1] * self.order, table.shape[-1]))
            for table in tables
        ]
        self.probabilities_ = shaped[0] if len(shaped) == 1 else shaped
