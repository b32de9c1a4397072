"""Any classifier as an emission."""

from collections.abc import Collection, Hashable, Mapping
from copy import copy
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.utils.validation import check_is_fitted

from ..sequences.values import as_numbers
from .base import Frames
from .sklearn_models import ModelEmission, fit_clone


class ClassifierEmission(ModelEmission):
    """Any classifier; its probabilities are divided by the class priors.

    The log-likelihood is scale * (log P(state | row) - log P(state)), up to a term that all states
    share. Rows missing as a whole are marginalised out; other missing values are left to the
    classifier.

    Parameters
    ----------
    classifier : scikit-learn classifier
        Fitted as a clone, unless it is prefit. The classes of a prefit classifier are labels of
        states.
    min_proba : float, default=1e-12
        Smaller probabilities are raised to this, so that a classifier that says 0 does not
        forbid a state. A state without training rows gets the log-likelihood log(min_proba).
    prefit : bool, default=False
        Whether the classifier is fitted already and stays as it is. scikit-learn's
        ``FrozenEstimator`` says so too. Then no labels are needed: EM learns the transitions.
    scale : float, default=1.0
        How much weight the classifier has (an inverse temperature). Choose less than 1 for a
        classifier that is too sure of itself, or if neighbouring rows contain the same
        information. With 0 the classifier is ignored.
    priors : None, dict or array of shape (n_states,), default=None
        P(state) in the data that the classifier was fitted to, by label or in the order of
        `classes_`. By default the shares of the states in the labelled training rows; without
        labels, the means of the probabilities that the classifier gives to the training rows.

    Attributes
    ----------
    classifier_ : the fitted classifier, or None when all training rows had one state
    priors_ : ndarray of shape (n_states,)

    See Also
    --------
    DensityEmission : A density estimator, one clone per state.
    Precomputed : Log-likelihoods from any other model.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from skchmm.emissions import ClassifierEmission
    >>> X, y = np.array([[0.0], [0.5], [3.0], [4.0]]), [0, 0, 1, 1]
    >>> emission = ClassifierEmission(GaussianNB())
    >>> E = emission.encode(X, reset=True)
    >>> emission.fit_supervised(E, y, n_states=2)
    ClassifierEmission(classifier=GaussianNB())
    >>> emission.log_likelihood(E).dense().argmax(axis=1)
    array([0, 0, 1, 1])

    A classifier that is fitted already, for states with names:

    >>> from skchmm import ConstrainedHMM
    >>> known = GaussianNB().fit(X, ["low", "low", "high", "high"])
    >>> emission = ClassifierEmission(known, prefit=True, scale=0.5)
    >>> ConstrainedHMM(states=["low", "high"], emission=emission).fit(X).predict(X)
    array(['low', 'low', 'high', 'high'], dtype='<U4')
    """

    def __init__(
        self,
        classifier: Any,
        *,
        min_proba: float = 1e-12,
        prefit: bool = False,
        scale: float = 1.0,
        priors: Mapping | ArrayLike | None = None,
    ) -> None:
        self.classifier = classifier
        self.min_proba = min_proba
        self.prefit = prefit
        self.scale = scale
        self.priors = priors

    @classmethod
    def from_parameters(cls, classifier: Any, priors: ArrayLike, **params: Any) -> Self:
        """A fitted emission from a fitted classifier and the priors of the states, in their order.

        The classes of the classifier are labels of the states.

        Parameters
        ----------
        classifier : fitted scikit-learn classifier
        priors : array (n_states,)
            P(state) in the data that the classifier was fitted to.
        **params : other parameters of the constructor

        Returns
        -------
        emission of this class
        """
        emission = cls(classifier, prefit=True, priors=priors, **params)
        emission._take_prefit(np.size(np.asarray(priors)))
        emission.n_features_in_ = getattr(classifier, "n_features_in_", 1)
        return emission

    @property
    def _is_prefit(self):
        return self.prefit or isinstance(self.classifier, FrozenEstimator)

    @property
    def needs_labels(self) -> bool:  # type: ignore[override]
        return not self._is_prefit

    def __sklearn_clone__(self):
        """A clone keeps a classifier that is fitted already."""
        params = self.get_params(deep=False)
        if not self._is_prefit:
            params["classifier"] = clone(self.classifier, safe=False)
        return type(self)(**params)

    def __deepcopy__(self, memo):
        """Nothing is changed in place, so a large classifier need not be copied."""
        return copy(self)

    def name_states(self, states: Collection[Hashable]) -> None:
        self._states = states.tolist() if isinstance(states, np.ndarray) else list(states)

    # --------------------------------------------------------------- learning
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
        self._check_parameters()
        known, labels, weights = self._labelled(E, y_index, n_states, weights)
        counts = np.bincount(labels, weights=weights, minlength=n_states)
        if self._is_prefit:
            self._take_prefit(n_states, counts / counts.sum())
            return self
        self.priors_ = self._read_priors(n_states, counts / counts.sum())
        self.classifier_ = None
        self._only = int(counts.argmax())
        if np.count_nonzero(counts) > 1:
            self.classifier_ = fit_clone(self.classifier, E.take(known), weights, labels)
        return self

    def initialise(
        self,
        E: Any,
        offsets: np.ndarray | None,
        n_states: int,
        *,
        init: str | None = None,
        random_state: Any = None,
    ) -> None:
        if not self._is_prefit:
            self._refuse()
        self._check_parameters()
        self._take_prefit(n_states, np.full(n_states, 1 / n_states))
        if self.priors is None:
            present = np.flatnonzero(~E.missing)
            if len(present):
                share = np.zeros(n_states)
                share[self._numbers()] = self._probabilities(E, present).mean(axis=0)
                self.priors_ = share

    def accumulate(
        self, E: Any, posteriors: np.ndarray, offsets: np.ndarray | None = None
    ) -> dict[str, Any]:
        return {} if self._is_prefit else super().accumulate(E, posteriors, offsets)

    def maximise(self, statistics: dict[str, Any], *, smoothing: float = 0.0) -> None:
        if not self._is_prefit:
            self._refuse()

    def _check_parameters(self):
        if not hasattr(self.classifier, "predict_proba"):
            raise ValueError(
                f"{self.classifier!r} has no predict_proba; wrap it in CalibratedClassifierCV."
            )
        if not np.isfinite(as_numbers(self.scale, "scale")) or self.scale < 0:
            raise ValueError(f"scale must be a number from 0 on, got {self.scale!r}.")

    def _take_prefit(self, n_states, learned=None):
        self._check_parameters()
        check_is_fitted(
            self.classifier, msg=f"{self.classifier!r} is said to be fitted already, but it is not."
        )
        self.classifier_ = self.classifier
        self.priors_ = self._read_priors(n_states, learned)

    def _read_priors(self, n_states, learned):
        priors = self.priors
        if priors is None:
            return learned
        if isinstance(priors, Mapping):
            states = getattr(self, "_states", range(n_states))
            if set(priors) != set(states):
                raise ValueError(
                    f"priors are those of {list(priors)}, but the states are {list(states)}."
                )
            priors = [priors[state] for state in states]
        priors = as_numbers(priors, "priors")
        if priors.shape != (n_states,) or not ((priors > 0) & np.isfinite(priors)).all():
            raise ValueError(
                f"priors must be {n_states} numbers above 0, one per state; got {self.priors!r}."
            )
        return priors / priors.sum()

    # ---------------------------------------------------------------- scoring
    def log_likelihood(self, E: Any) -> Frames:
        log_p = np.full((len(E.missing), len(self.priors_)), np.log(self.min_proba))
        log_p[E.missing] = 0.0
        present = np.flatnonzero(~E.missing)
        if self.classifier_ is None:
            log_p[present, self._only] = 0.0
        elif len(present):
            seen = self._numbers()
            proba = np.maximum(self._probabilities(E, present), self.min_proba)
            priors = np.maximum(self.priors_[seen], self.min_proba)
            log_p[present[:, None], seen] = np.log(proba) - np.log(priors)
        return Frames(self.scale * log_p)

    def _probabilities(self, E, present):
        """What the classifier says of rows; EM asks again and again."""
        kept = getattr(E, "proba", None)
        if kept is not None and kept[0] is self.classifier_:
            return kept[1]
        proba = np.asarray(self.classifier_.predict_proba(E.take(present)))
        if np.isnan(proba).any():
            raise ValueError(
                f"{self.classifier!r} gives NaN as the probability of a state, for row "
                f"{present[np.isnan(proba).any(axis=1).argmax()]} of X."
            )
        E.proba = self.classifier_, proba
        return proba

    def _numbers(self):
        """The state of each class. Classifiers fitted here know states by their numbers."""
        classes = np.asarray(self.classifier_.classes_).tolist()
        numbers = range(len(self.priors_))
        states = getattr(self, "_states", numbers)
        if not self._is_prefit and set(classes) <= set(numbers):
            states = numbers
        strangers = [label for label in classes if label not in states]
        if strangers:
            raise ValueError(
                f"{self.classifier!r} was fitted to the classes {classes}, but {strangers} are not "
                f"among the states {list(states)}. Give states= with all of them."
            )
        places = {label: number for number, label in enumerate(states)}
        return [places[label] for label in classes]

    def sample(self, path: ArrayLike, random_state: Any = None) -> np.ndarray:
        raise ValueError(
            "A classifier says how likely a state is given a row, not how to draw a row: "
            "ClassifierEmission cannot be sampled."
        )
