"""From what the user writes as ``emission=`` to an `Emission`."""

from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier

from ..sequences.values import is_missing
from .base import Emission
from .bernoulli import Bernoulli
from .categorical import Categorical
from .classifier import ClassifierEmission
from .exponential import Exponential
from .gamma import Gamma
from .gaussian import Gaussian
from .gmm import GMM
from .lognormal import LogNormal
from .multinomial import Multinomial
from .negative_binomial import NegativeBinomial
from .poisson import Poisson
from .precomputed import Precomputed
from .product import Product
from .sklearn_models import DensityEmission
from .student_t import StudentT
from .vocabulary import columns_of
from .von_mises import VonMises

_BY_NAME = {
    "bernoulli": Bernoulli,
    "categorical": Categorical,
    "exponential": Exponential,
    "gamma": Gamma,
    "gaussian": Gaussian,
    "gmm": GMM,
    "lognormal": LogNormal,
    "multinomial": Multinomial,
    "negative_binomial": NegativeBinomial,
    "poisson": Poisson,
    "precomputed": Precomputed,
    "student_t": StudentT,
    "von_mises": VonMises,
}


def resolve(emission: Any, X: Any = None) -> Emission:
    """A fresh, unfitted `Emission`.

    Parameters
    ----------
    emission : str, Emission, classifier or density estimator
        ``"auto"`` looks at X: floating-point columns mean Gaussian (whole numbers beside them are
        numbers too), anything else categorical, and columns of both kinds a `Product` of the two. A
        column of Python objects counts as floating-point if it holds at least one float, and
        nothing but numbers and missing values.
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
    if "symbol" not in kinds:
        return Gaussian()
    names = list(range(len(kinds)))
    if hasattr(X, "columns") and len(set(map(str, X.columns))) == len(kinds):
        names = list(map(str, X.columns))
    numbers = tuple(name for name, kind in zip(names, kinds) if kind != "symbol")
    symbols = tuple(name for name, kind in zip(names, kinds) if kind == "symbol")
    return Product(
        {
            numbers if len(numbers) > 1 else numbers[0]: Gaussian(),
            symbols if len(symbols) > 1 else symbols[0]: Categorical(),
        }
    )


def _kind(column):
    if column.dtype.kind == "c":
        raise ValueError(f"Complex data not supported\n{column}\n")
    if column.dtype.kind != "O":
        return {"f": "float", "i": "whole", "u": "whole"}.get(column.dtype.kind, "symbol")
    kinds = {type(value) for value in column.tolist() if not is_missing(value)}
    numbers = (int, float, np.integer, np.floating)
    if not kinds or kinds == {bool} or not all(issubclass(kind, numbers) for kind in kinds):
        return "symbol" if kinds else "whole"
    return "float" if any(issubclass(kind, (float, np.floating)) for kind in kinds) else "whole"
