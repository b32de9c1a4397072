"""Models that hmmlearn has made."""

import io
import pickle
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from .base import BaseHMM
from .categorical import CategoricalHMM
from .gaussian import GaussianHMM
from .gmm import GMMHMM
from .monitor import ConvergenceMonitor
from .multinomial import MultinomialHMM
from .poisson import PoissonHMM

MODELS = {
    kind.__name__: kind
    for kind in (CategoricalHMM, GaussianHMM, GMMHMM, MultinomialHMM, PoissonHMM)
}


def from_hmmlearn(model: Any) -> BaseHMM:
    """Convert a model of hmmlearn into one of this package, with the same parameters.

    Parameters
    ----------
    model : GaussianHMM, GMMHMM, CategoricalHMM, MultinomialHMM or PoissonHMM of hmmlearn

    Returns
    -------
    The model of the same name in `skchmm.hmm`

    See Also
    --------
    load_hmmlearn : Read a pickled model of hmmlearn.

    Examples
    --------
    >>> from hmmlearn import hmm as theirs  # doctest: +SKIP
    >>> from skchmm import hmm
    >>> model = hmm.from_hmmlearn(theirs.GaussianHMM(2).fit(X))  # doctest: +SKIP
    """
    name, home = type(model).__name__, type(model).__module__.partition(".")[0]
    if name not in MODELS or home != "hmmlearn":
        raise TypeError(
            f"from_hmmlearn takes a model of hmmlearn ({', '.join(sorted(MODELS))}), not {name}."
            + _hint(name)
        )
    return _restored(MODELS[name], vars(model))


def load_hmmlearn(file: str | PathLike | bytes | Any) -> BaseHMM:
    """Load a pickled model of hmmlearn; hmmlearn itself is not needed.

    Only load files that you trust: unpickling can run code.

    Parameters
    ----------
    file : path, bytes, or a file open for reading bytes

    Returns
    -------
    The model of the same name in `skchmm.hmm`

    See Also
    --------
    from_hmmlearn : Convert a fitted model of hmmlearn.

    Examples
    --------
    >>> from skchmm import hmm
    >>> model = hmm.load_hmmlearn("model.pickle")  # doctest: +SKIP
    """
    if isinstance(file, (str, PathLike)):
        file = Path(file).read_bytes()
    if isinstance(file, bytes):
        file = io.BytesIO(file)
    found = _Unpickler(file).load()
    if not isinstance(found, _Model):
        raise ValueError(f"The file holds a {type(found).__name__}, not a model of hmmlearn.")
    return _restored(found.kind, vars(found))


class _Model(BaseEstimator):
    """Takes the state of a model of hmmlearn while it is unpickled."""

    kind: type

    def __setstate__(self, state):
        self.__dict__.update(state)


class _Unpickler(pickle.Unpickler):
    def find_class(self, module, name):
        if module.partition(".")[0] != "hmmlearn":
            return super().find_class(module, name)
        if name == "ConvergenceMonitor":
            return ConvergenceMonitor
        if name not in MODELS:
            raise ValueError(
                f"There is no counterpart to hmmlearn's {name} in skchmm.hmm." + _hint(name)
            )
        return type(name, (_Model,), {"kind": MODELS[name]})


def _hint(name):
    known = name in MODELS or not name.startswith("Variational")
    return "" if known else " Variational models are known after import skchmm.vhmm."


def _restored(kind, state):
    """A model with the parameters and the fitted attributes of a state."""
    names = kind._get_param_names()
    model = kind(**{name: state[name] for name in names if name in state})
    for name, value in state.items():
        if name.endswith("_") and name not in ("monitor_",) and not name.startswith("__"):
            derived = isinstance(getattr(kind, name, None), property)
            if not derived or getattr(kind, name).fset is not None:
                setattr(model, name, _as_ours(model, name, value))
    monitor = state.get("monitor_")
    if monitor is not None:
        mine = ConvergenceMonitor(monitor.tol, monitor.n_iter, monitor.verbose)
        mine.history, mine.iter = monitor.history, monitor.iter
        model.monitor_ = mine
    model._check()
    return model


def _as_ours(model, name, value):
    """An attribute in our shape: learned spherical variances have a column each in hmmlearn."""
    spherical = getattr(model, "covariance_type", None) == "spherical"
    if name == "_covars_" and spherical and np.ndim(value) == 2:
        return np.mean(value, axis=1)
    return value
