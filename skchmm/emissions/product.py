"""Tables with columns of different kinds: one emission for each group of columns."""

from collections.abc import Collection, Hashable, Mapping
from copy import deepcopy
from importlib import import_module
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state

from .._numbers import is_whole
from ..sequences.values import as_array
from .base import Emission, Frames, check_frames
from .labelled import count_rows

# The share of a state's start values that comes from all rows, so that no value is impossible.
_SPREAD = 0.2
_MAPPINGS = ("emissions", "emissions_")


class Product(Emission):
    """Columns of different kinds, such as a symbol, three numbers and a count.

    Every emission has columns of its own. Given the state, columns of different emissions are
    independent of each other. Each emission treats missing values in its columns by its own rule.

    Parameters
    ----------
    emissions : dict
        Columns -> their emission. Columns are a name or a number, or a tuple of several; an
        emission is an object or a name, such as ``"gamma"``. Names are looked up in a dataframe,
        in whatever order its columns come. Columns that are not mentioned are ignored.

    Attributes
    ----------
    emissions_ : dict
        The same columns -> the fitted emission.

    Notes
    -----
    The parameters of an emission are reached by the name of its column, those of several columns
    joined by ``_``: ``set_params(age__min_covar=0.1)``, or in a grid search over a model
    ``emission__x_y__covariance_type``.

    EM starts from k-means on the columns of the first emission that supports it. The others start
    from the states that this gives to the rows.

    See Also
    --------
    Categorical : Symbols, in one or several columns.
    Gaussian : Numbers, one Gaussian per state; with full covariances, columns that vary together.

    Examples
    --------
    >>> import pandas as pd
    >>> from skchmm.emissions import Gaussian, Product
    >>> X = pd.DataFrame({"sky": list("ssrr"), "wind": [1.0, 2.0, 5.0, 6.0], "drops": [0, 0, 9, 7]})
    >>> emission = Product({"sky": "categorical", "wind": Gaussian(), "drops": "poisson"})
    >>> E = emission.encode(X, reset=True)
    >>> emission.fit_supervised(E, [0, 0, 1, 1], n_states=2).emissions_["drops"].rates_.ravel()
    array([1.e-10, 8.e+00])
    >>> emission.sample([1, 0], random_state=0)["sky"].tolist()
    ['r', 's']
    """

    default_init = "kmeans"

    def __init__(self, emissions: Mapping) -> None:
        self.emissions = emissions

    @classmethod
    def from_parameters(cls, emissions: Mapping) -> Self:
        """A fitted emission from fitted emissions.

        Parameters
        ----------
        emissions : dict
            Columns -> their fitted emission.

        Returns
        -------
        Product
        """
        product = cls(emissions)
        product._check_parameters()
        product.emissions_ = {columns: deepcopy(part) for columns, part in emissions.items()}
        for columns, part in product.emissions_.items():
            expected = len(_as_tuple(columns))
            if not isinstance(part, Emission) or getattr(part, "n_features_in_", 0) != expected:
                raise ValueError(
                    f"For the {_describe(columns)} there must be a fitted emission of {expected} "
                    f"columns, got {part!r}."
                )
        numbers = [c for c in product._columns() if _is_number(c)]
        product._order = sorted(numbers) if numbers else product._columns()
        product.n_features_in_ = max([*numbers, len(product._columns()) - 1]) + 1
        return product

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        fitted = getattr(self, "emissions_", self.emissions)
        return f"{type(self).__name__}({fitted!r})"

    # Saved as lists: keys that are tuples of columns are not for every format, as that of skops.
    def __getstate__(self):
        state = dict(super().__getstate__())
        for name in _MAPPINGS:
            if isinstance(state.get(name), Mapping):
                state[name] = list(state[name].items())
        return state

    def __setstate__(self, state):
        state = dict(state)
        for name in _MAPPINGS:
            if _are_pairs(state.get(name)):
                state[name] = dict(state[name])
        super().__setstate__(state)

    # ------------------------------------------------------------- parameters
    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The mapping and, if deep, each emission and its parameters by the names of columns."""
        params: dict[str, Any] = {"emissions": self.emissions}
        if deep and isinstance(self.emissions, Mapping):
            for columns, part in self.emissions.items():
                name = self.name_of(columns)
                params[name] = part
                if hasattr(part, "get_params") and not isinstance(part, type):
                    found = part.get_params(deep=True)
                    params |= {f"{name}__{key}": value for key, value in found.items()}
        return params

    def set_params(self, **params: Any) -> Self:
        """Replace the mapping, an emission, or a parameter of one."""
        if "emissions" in params:
            self.emissions = params.pop("emissions")
        columns_of = {self.name_of(columns): columns for columns in self.emissions}
        inner: dict[Hashable, dict[str, Any]] = {}
        for key, value in params.items():
            # the longest name first: names may have __ in them
            names = [n for n in columns_of if key == n or key.startswith(f"{n}__")]
            if not names:
                raise ValueError(
                    f"Invalid parameter {key!r} for {self}. Valid parameters are 'emissions', "
                    + ", ".join(map(repr, columns_of))
                    + ", and theirs after two underscores."
                )
            name = max(names, key=len)
            if key == name:
                self.emissions = {**self.emissions, columns_of[name]: value}
            else:
                inner.setdefault(columns_of[name], {})[key[len(name) + 2 :]] = value
        for columns, values in inner.items():
            self.emissions[columns].set_params(**values)
        return self

    def _check_parameters(self):
        if not isinstance(self.emissions, Mapping) or not self.emissions:
            raise TypeError(
                "Product takes a dictionary of columns and emissions, such as "
                f"Product({{'age': 'gamma', ('x', 'y'): Gaussian()}}); got {self.emissions!r}."
            )
        seen = set()
        for column in self._columns():
            if not (isinstance(column, str) or _is_number(column)):
                raise TypeError(f"Columns are names or numbers from 0 on; got {column!r}.")
            if column in seen:
                raise ValueError(f"The column {column!r} has two emissions in {self!r}.")
            seen.add(column)
        if len({isinstance(column, str) for column in seen}) > 1:
            raise ValueError(f"Columns are either all names or all numbers; got {list(seen)!r}.")

    @staticmethod
    def name_of(columns: Any) -> str:
        """What parameters of an emission are found under."""
        return "_".join(map(str, _as_tuple(columns)))

    def _columns(self):
        return [column for columns in self.emissions for column in _as_tuple(columns)]

    @property
    def finds_columns(self) -> bool:  # type: ignore[override]
        """Whether columns are looked up by name, so that their order does not count."""
        return all(isinstance(column, str) for column in self._columns())

    @property
    def needs_labels(self) -> bool:  # type: ignore[override]
        return any(part.needs_labels for part in self._parts())

    def _parts(self):
        """The emissions in their order; those that are fitted, if there are any."""
        if not hasattr(self, "emissions_"):
            self._begin()
        return list(self.emissions_.values())

    def _begin(self):
        from .resolution import resolve  # which knows this class

        self._check_parameters()
        self.emissions_ = {}
        for columns, part in self.emissions.items():
            if part == "auto" or isinstance(part, Product):
                raise ValueError(f"The {_describe(columns)} need an emission of their own.")
            self.emissions_[columns] = resolve(part)

    # ---------------------------------------------------------------- reading
    def name_states(self, states: Collection[Hashable]) -> None:
        for part in self._parts():
            part.name_states(states)

    def encode(self, X: Any, offsets: np.ndarray | None = None, *, reset: bool) -> Any:
        X = _as_table(X)
        if reset or not self.finds_columns:
            self._check_columns(X.shape[1], reset=reset)
        parts = self._parts()
        places = self._places(X)
        if reset:
            self._order = sorted(self._columns(), key=lambda column: places[column])
            self._library = type(X).__module__.partition(".")[0]
        found = []
        for columns, part in zip(self.emissions_, parts):
            rows = _take(X, [places[column] for column in _as_tuple(columns)])
            try:
                found.append(part.encode(rows, offsets, reset=reset))
            except (TypeError, ValueError) as error:
                raise type(error)(f"In the {_describe(columns)}: {error}") from error
        return found

    def _places(self, X):
        """Column -> its position in X."""
        names = [str(name) for name in X.columns] if hasattr(X, "columns") else None
        places = {}
        for column in self._columns():
            if isinstance(column, str):
                if names is None:
                    raise ValueError(
                        f"{self} has columns by name, but X is not a dataframe: it has no names. "
                        "Give a dataframe, or number the columns from 0 on."
                    )
                if names.count(column) != 1:
                    raise ValueError(
                        f"X has {names.count(column) or 'no'} column(s) named {column!r}; its "
                        f"columns are {names}."
                    )
                places[column] = names.index(column)
            elif column >= X.shape[1]:
                raise ValueError(f"X has no column {column}: it has {X.shape[1]}, from 0 on.")
            else:
                places[column] = column
        return places

    # --------------------------------------------------------------- learning
    def initialise(
        self,
        E: Any,
        offsets: np.ndarray | None,
        n_states: int,
        *,
        init: str,
        random_state: Any = None,
    ) -> None:
        self._check_init(init, ["kmeans", "random"])
        rng = check_random_state(random_state)
        parts = list(zip(self._parts(), E))
        parts.sort(key=lambda pair: pair[0].default_init != "kmeans")
        total = None
        for part, rows in parts:
            own = part.default_init if init == "kmeans" else init
            part.initialise(rows, offsets, n_states, init=own, random_state=rng)
            if total is not None:
                posteriors = np.exp(total - np.logaddexp.reduce(total, axis=1)[:, None])
                posteriors = (1 - _SPREAD) * posteriors + _SPREAD / n_states
                part.maximise(part.accumulate(rows, posteriors, offsets))
            log_p = check_frames(part.log_likelihood(rows)).dense()
            total = log_p if total is None else total + log_p

    def log_likelihood(self, E: Any) -> Frames:
        frames = [part.log_likelihood(rows) for part, rows in zip(self._parts(), E)]
        return Frames(sum(check_frames(of_part).dense() for of_part in frames))

    def accumulate(
        self, E: Any, posteriors: np.ndarray, offsets: np.ndarray | None = None
    ) -> dict[str, Any]:
        return {
            f"{i}_{name}": values
            for i, (part, rows) in enumerate(zip(self._parts(), E))
            for name, values in part.accumulate(rows, posteriors, offsets).items()
        }

    def maximise(self, statistics: dict[str, Any], *, smoothing: float = 0.0) -> None:
        for i, part in enumerate(self._parts()):
            part.maximise(_of_part(statistics, i), smoothing=smoothing)

    def log_prior(self, *, smoothing: float = 0.0) -> float:
        return sum(part.log_prior(smoothing=smoothing) for part in self._parts())

    def fit_supervised(
        self,
        E: Any,
        y_index: ArrayLike,
        n_states: int,
        weights: ArrayLike | None = None,
        *,
        offsets: np.ndarray | None = None,
        smoothing: float = 0.0,
        random_state: Any = None,
    ) -> Self:
        for part, rows in zip(self._parts(), E):
            part.fit_supervised(
                rows, y_index, n_states, weights, offsets=offsets, smoothing=smoothing,
                random_state=random_state,
            )  # fmt: skip
        return self

    def count(
        self,
        E: Any,
        y_index: ArrayLike,
        n_states: int,
        weights: ArrayLike | None = None,
        offsets: np.ndarray | None = None,
    ) -> dict[str, Any] | None:
        """Statistics of labelled rows that add up; None if those of some columns do not."""
        total = {}
        for i, (part, rows) in enumerate(zip(self._parts(), E)):
            counted = count_rows(part, rows, y_index, n_states, weights, offsets)
            if counted is None:
                return None
            total |= {f"{i}_{name}": values for name, values in counted.items()}
        return total

    def estimate(self, statistics: dict[str, Any], *, smoothing: float = 0.0) -> None:
        for i, part in enumerate(self._parts()):
            part.estimate(_of_part(statistics, i), smoothing=smoothing)

    # ----------------------------------------------------------------- chunks
    def survey(self, X: Any) -> Any:
        """What encoding notes of rows, in a form that adds up."""
        X = _as_table(X)
        self.encode(X, reset=True)
        places = self._places(X)
        parts = []
        for columns, part in self.emissions_.items():
            rows = _take(X, [places[column] for column in _as_tuple(columns)])
            parts.append(part.survey(rows) if hasattr(part, "survey") else _First(part))
        return _Surveys(parts, (self.n_features_in_, self._order, self._library))

    def settle(self, survey: Any, like: Any = None) -> None:
        """Take note of a survey, as encoding does of its rows; `like` one that has sums already."""
        self.n_features_in_, self._order, self._library = survey.columns
        likes = [None] * len(survey.parts) if like is None else like._parts()
        for part, found, other in zip(self._parts(), survey.parts, likes):
            if isinstance(found, _First):
                vars(part).update(deepcopy(vars(found.emission)))
            else:
                part.settle(found, like=other)

    def grown(self, statistics: dict[str, Any], survey: Any) -> dict[str, Any]:
        """Statistics over the present symbols as such over those of a survey, which has them all.

        Afterwards the emissions have the symbols of the survey.
        """
        total = {}
        for i, (part, found) in enumerate(zip(self._parts(), survey.parts)):
            mine = _of_part(statistics, i)
            if hasattr(part, "grown"):
                mine = part.grown(mine, found)
            total |= {f"{i}_{name}": values for name, values in mine.items()}
        return total

    # -------------------------------------------------------------- questions
    def n_parameters(self) -> int:
        return sum(part.n_parameters() for part in self._parts())

    def cdf(self, E: Any) -> tuple[np.ndarray, np.ndarray]:
        """P(value below) and P(value not above) of every value, (n_steps, n_columns, n_states).

        The columns are those that have an emission, in the order of the training data.
        """
        order = self._order
        places = np.argsort([order.index(column) for column in self._columns()])
        parts = [part.cdf(rows) for part, rows in zip(self._parts(), E)]
        below, upto = (np.concatenate(bounds, axis=1)[:, places] for bounds in zip(*parts))
        return below, upto

    def sample(self, path: ArrayLike, random_state: Any = None) -> Any:
        """Draw rows: a dataframe if columns have names, else an array, of objects if they differ.

        Columns come in the order of the training data. Columns that have numbers and no emission
        are missing.
        """
        rng = check_random_state(random_state)
        drawn: dict[Any, np.ndarray] = {}
        for columns, part in zip(self.emissions_, self._parts()):
            drawn |= zip(_as_tuple(columns), part.sample(path, rng).T)
        order = self._order
        if self.finds_columns:
            library = getattr(self, "_library", "pandas")
            return import_module(library).DataFrame({column: drawn[column] for column in order})
        same = len({column.dtype for column in drawn.values()}) == 1
        whole = same and len(drawn) == self.n_features_in_
        dtype = next(iter(drawn.values())).dtype if whole else object
        rows = np.full((len(np.asarray(path)), self.n_features_in_), None, dtype=object)
        for column, values in drawn.items():
            rows[:, column] = values
        return rows.astype(dtype)


class _Surveys:
    """What encoding notes of rows: a survey of each emission, and of which columns there are."""

    def __init__(self, parts, columns):
        self.parts, self.columns = parts, columns

    def __add__(self, other):
        return _Surveys([a + b for a, b in zip(self.parts, other.parts)], self.columns)


class _First:
    """An emission that has seen the first rows, for one that notes nothing that adds up."""

    def __init__(self, emission):
        self.emission = emission

    def __add__(self, other):
        return self


def _of_part(statistics, i):
    """Those of the emission at place i."""
    prefix = f"{i}_"
    return {
        name.removeprefix(prefix): values
        for name, values in statistics.items()
        if name.startswith(prefix)
    }


def _as_table(X):
    if hasattr(X, "columns"):
        return X
    X = as_array(X, "X")
    X = X.reshape(-1, 1) if X.ndim == 1 else X
    if X.ndim != 2:
        raise ValueError(f"Expected a table of two dimensions, got {X.ndim}.")
    return X


def _as_tuple(columns):
    return columns if isinstance(columns, tuple) else (columns,)


def _is_number(column):
    return is_whole(column) and column >= 0


def _describe(columns):
    columns = _as_tuple(columns)
    return ("column " if len(columns) == 1 else "columns ") + ", ".join(map(repr, columns))


def _take(X, places):
    if hasattr(X, "iloc"):
        return X.iloc[:, places]
    return X[:, places]


def _are_pairs(value):
    """Whether this is what `Product` saves of a dictionary."""
    return isinstance(value, list) and all(
        isinstance(pair, (tuple, list)) and len(pair) == 2 and isinstance(pair[0], Hashable)
        for pair in value
    )
