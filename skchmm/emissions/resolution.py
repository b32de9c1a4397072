"""From what the user writes as ``emission=`` to an `Emission`."""

from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier

from ..sequences.values import is_missing
from .base import Emission
from .categorical import Categorical
from .gaussian import Gaussian
from .gmm import GMM
from .multinomial import Multinomial
from .poisson import Poisson
from .precomputed import Precomputed
from .sklearn_models import ClassifierEmission, DensityEmission
from .vocabulary import columns_of

_BY_NAME = {
    "categorical": Categorical,
    "gaussian": Gaussian,
    "gmm": GMM,
    "multinomial": Multinomial,
    "poisson": Poisson,
    "precomputed": Precomputed,
}


def resolve(emission: Any, X: Any = None) -> Emission:
    """A fresh, unfitted `Emission`.

    Parameters
    ----------
    emission : str, Emission, classifier or density estimator
        ``"auto"`` looks at X: floating-point columns mean Gaussian (whole numbers beside them are
        numbers too), anything else categorical. A column of Python objects counts as floating-point
        if it holds at least one float, and nothing but numbers and missing values.
    X : array or dataframe
        Flat rows; only needed for ``"auto"``.
    """
    if isinstance(emission, str):
        if emission == "auto":
            return _by_type(X)
        if emission in _BY_NAME:
            return _BY_NAME[emission]()
        raise ValueError(
            f"Unknown emission {emission!r}; use 'auto', {', '.join(map(repr, _BY_NAME))}, an "
            "Emission object, a scikit-learn classifier or a density estimator."
        )
    if isinstance(emission, type):
        raise TypeError(
            f"emission must be an object, not the class {emission.__name__}; "
            f"write {emission.__name__}()."
        )
    if isinstance(emission, Emission):
        return clone(emission)
    if hasattr(emission, "fit") and is_classifier(emission):
        return ClassifierEmission(clone(emission))
    if hasattr(emission, "fit") and hasattr(emission, "score_samples"):
        return DensityEmission(clone(emission))
    raise TypeError(
        f"emission={emission!r} is neither a name, an Emission, a classifier, nor a density "
        "estimator (with score_samples)."
    )


def _by_type(X):
    plain = type(X) is np.ndarray and X.dtype.kind != "O"
    kinds = [_kind(X)] if plain else [_kind(column) for column in columns_of(X)]
    if "float" not in kinds:
        return Categorical()
    if "symbol" in kinds:
        column = kinds.index("symbol")
        raise ValueError(
            "emission='auto' cannot tell what to do with X: some columns are floating-point, but "
            f"column {column} holds symbols. Choose an emission, or convert the columns."
        )
    return Gaussian()


def _kind(column):
    if column.dtype.kind == "c":
        raise ValueError(f"Complex data not supported\n{column}\n")
    if column.dtype.kind != "O":
        return {"f": "float", "i": "whole", "u": "whole", "b": "whole"}.get(
            column.dtype.kind, "symbol"
        )
    kinds = {type(value) for value in column.tolist() if not is_missing(value)}
    numbers = (int, float, np.integer, np.floating)
    if not kinds or not all(issubclass(kind, numbers) for kind in kinds):
        return "symbol" if kinds else "whole"
    return "float" if any(issubclass(kind, (float, np.floating)) for kind in kinds) else "whole"
