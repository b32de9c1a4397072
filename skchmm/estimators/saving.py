"""What a saved model consists of."""

from inspect import Parameter, signature

import numpy as np

from .._version import __version__
from ..exceptions import InconsistentVersionWarning, warn


class SavedMixin:
    """Saves what a model was given and has learned, and makes the rest again when it is loaded.

    The version is saved too, and another one warns, as scikit-learn does for its own estimators.
    """

    # What follows from the rest: chains, and of older files the graph.
    _not_saved: tuple[str, ...] = ("_chains", "graph_")

    def __getstate__(self):
        """Without what follows from the rest, and with the version."""
        state = {k: v for k, v in super().__getstate__().items() if k not in self._not_saved}
        return state | {"_skchmm_version": __version__}

    def __setstate__(self, state):
        """Take a saved model. Kernels work on tables that are made again, never on saved ones."""
        if not isinstance(state, dict):
            raise ValueError(f"This is no saved {type(self).__name__}: its attributes are missing.")
        state = {k: v for k, v in state.items() if k not in self._not_saved}
        saved_by = state.pop("_skchmm_version", "unknown")
        if np.ndim(state.get("classes_", [])) != 1:
            raise ValueError(f"This is no saved {type(self).__name__}: classes_ must be a list.")
        for name, parameter in signature(type(self).__init__).parameters.items():
            if parameter.default is not Parameter.empty:  # one that is newer than the file
                state.setdefault(name, parameter.default)
        super().__setstate__(state)
        self._chains = {}
        if saved_by != __version__:
            name = type(self).__name__
            warn(InconsistentVersionWarning(name, __version__, saved_by), None)
