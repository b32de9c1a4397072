"""Hidden Markov model of symbols."""

from collections.abc import Collection, Hashable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .._numbers import check_at_least, check_choice
from ..emissions import Categorical
from ..emissions.vocabulary import Vocabulary, missing_in, vocabulary_of
from .answers import first_above
from .base import BaseHMM
from .hooks import learn

_ADVICE = "Fit with n_features=, the number of all possible symbols, or use unseen='ignore'"


class CategoricalHMM(BaseHMM):
    """Hidden Markov model with categorical emissions.

    X has one column of symbols: whole numbers from 0, as in hmmlearn, or anything hashable.

    Parameters
    ----------
    n_components : int, default=1
        Number of states.
    startprob_prior, transmat_prior : float or array, default=1.0
        Parameters of the Dirichlet priors of `startprob_` and of the rows of `transmat_`.
    emissionprob_prior : float or array, default=1.0
        Parameters of the Dirichlet prior of the rows of `emissionprob_`.
    n_features : int, optional
        Number of symbols; by default, those of the training data.
    unseen : {"error", "ignore"}, default="error"
        What to do about other symbols: raise, or treat them as missing.
    algorithm, random_state, n_iter, tol, verbose, implementation
        See :class:`BaseHMM`.
    params, init_params : str, default="ste"
        What EM updates, and what gets start values: "s" (startprob), "t" (transmat), "e"
        (emissionprob).
    constraints, states, startprob_fixed, transmat_fixed, smoothing, n_init, on_infeasible, \
max_nodes, n_jobs
        See :class:`BaseHMM`.

    Attributes
    ----------
    startprob_ : array (n_components,)
    transmat_ : array (n_components, n_components)
    emissionprob_ : array (n_components, n_features)
    symbols_ : array (n_features,)
        The symbol of each column of `emissionprob_`.
    monitor_ : ConvergenceMonitor

    See Also
    --------
    MultinomialHMM : Counts with a total.
    PoissonHMM : Counts without a bound.
    skchmm.ConstrainedHMM : The hidden Markov model with exact inference under constraints.

    Examples
    --------
    >>> import numpy as np
    >>> from skchmm import hmm
    >>> from skchmm.constraints import AtMostVisits
    >>> model = hmm.CategoricalHMM(2, states=["rainy", "sunny"])
    >>> model.startprob_ = np.array([0.6, 0.4])
    >>> model.transmat_ = np.array([[0.7, 0.3], [0.4, 0.6]])
    >>> model.emissionprob_ = np.array([[0.1, 0.4, 0.5], [0.6, 0.3, 0.1]])
    >>> model.predict([[0], [2], [0]])
    array(['sunny', 'rainy', 'sunny'], dtype='<U5')
    >>> model.set_params(constraints=AtMostVisits("sunny", 1)).predict([[0], [2], [0]])
    array(['sunny', 'sunny', 'sunny'], dtype='<U5')
    >>> log_prob, posteriors = model.score_samples([[0], [2], [0]])
    >>> posteriors.round(2).tolist()
    [[0.4, 0.6], [0.57, 0.43], [0.36, 0.64]]
    >>> model.filter_proba([[0], [2], [0]])[2].round(2)
    array([0.36, 0.64])
    >>> round(float(model.aic([[0], [2], [0]])), 2), round(float(model.bic([[0], [2], [0]])), 2)
    (22.39, 16.08)
    >>> model.get_stationary_distribution().round(2)
    array([0.57, 0.43])
    >>> X, states = model.sample(5, random_state=0)
    >>> states.tolist()
    ['rainy', 'rainy', 'rainy', 'rainy', 'rainy']
    """

    _emission_parameters = {"e": ("emissionprob_", "probabilities_")}
    emissionprob_prior: Any

    def __init__(
        self,
        n_components: int = 1,
        startprob_prior: ArrayLike = 1.0,
        transmat_prior: ArrayLike = 1.0,
        *,
        emissionprob_prior: ArrayLike = 1.0,
        n_features: int | None = None,
        algorithm: str = "viterbi",
        random_state: Any = None,
        n_iter: int = 10,
        tol: float = 1e-2,
        verbose: bool = False,
        params: str = "ste",
        init_params: str = "ste",
        implementation: str = "log",
        unseen: str = "error",
        constraints: Any = None,
        states: Collection[Hashable] | None = None,
        startprob_fixed: ArrayLike | None = None,
        transmat_fixed: ArrayLike | None = None,
        smoothing: float = 0.5,
        n_init: int = 1,
        on_infeasible: str = "raise",
        max_nodes: int = 1_000_000,
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(
            n_components,
            startprob_prior,
            transmat_prior,
            algorithm,
            random_state,
            n_iter,
            tol,
            verbose,
            params,
            init_params,
            implementation,
            constraints=constraints,
            states=states,
            startprob_fixed=startprob_fixed,
            transmat_fixed=transmat_fixed,
            smoothing=smoothing,
            n_init=n_init,
            on_infeasible=on_infeasible,
            max_nodes=max_nodes,
            n_jobs=n_jobs,
        )
        self.emissionprob_prior = emissionprob_prior
        self.n_features = n_features
        self.unseen = unseen

    _surveyed = None  # the symbols of all chunks, while a model is learned from these

    @property
    def symbols_(self) -> np.ndarray:
        symbols = vars(self).get("_symbols")
        if symbols is not None:
            return symbols
        given = self.n_features
        return np.arange(np.shape(self.emissionprob_)[1] if given is None else given)

    @symbols_.setter
    def symbols_(self, symbols):
        self._symbols = Vocabulary(symbols).symbols

    def _check_parameters(self):
        super()._check_parameters()
        check_choice(self.unseen, "unseen", ("error", "ignore"))
        given = vars(self).get("n_features")
        if given is not None:
            check_at_least(given, "n_features", 1)

    def _new_emission(self):
        emission = Categorical(unseen=self.unseen, prior=self.emissionprob_prior)
        emission._advice = _ADVICE
        emission.symbols = symbols = self.symbols_
        numbered = vars(self).get("_symbols") is None and symbols.dtype == np.int64
        if numbered and len(symbols) > 0:
            emission._learned = [vocabulary_of(len(symbols))]
        else:
            emission._learn_symbols([symbols])
        return emission

    def _n_columns(self):
        return 1

    def _check_features(self, X, reset):
        super()._check_features(X, reset)
        if len(X.shape) == 2 and X.shape[1] != 1:
            raise ValueError(
                f"X has {X.shape[1]} columns; {type(self).__name__} takes one column of symbols. "
                "For several, use ConstrainedHMM(emission='categorical')."
            )

    def _check_and_set_n_features(self, X):
        X = np.asarray(X)
        if X.dtype.kind in "OUSMm":
            self._learn_symbols(X)
            return
        self._symbols = None
        missing = missing_in(X.ravel())
        known = X.ravel()[~missing]
        # numbers come as floats only where some are missing
        if X.dtype.kind not in "biu" and not (missing.any() and (known == np.rint(known)).all()):
            raise ValueError("Symbols should be integers")
        if len(known) and known.min() < 0:
            raise ValueError("Symbols should be nonnegative")
        largest = int(known.max()) if len(known) else 0
        if self.n_features is None:
            learn(self, "n_features", largest + 1)
        elif largest >= self.n_features and self.unseen != "ignore":
            raise ValueError(
                f"Largest symbol is {largest} but the model only emits symbols up to "
                f"{self.n_features - 1}"
            )

    def _learn_symbols(self, X):
        found = self._surveyed
        if found is None:
            found = Vocabulary.learn(X.ravel()).symbols
        if "e" not in self.init_params and hasattr(self, "emissionprob_"):
            return  # the symbols are those of the probabilities that are kept
        given = vars(self)["n_features"]
        if given not in (None, len(found)):
            raise ValueError(f"n_features={given}, but X has {len(found)} different symbols.")
        self._symbols = found
        learn(self, "n_features", len(found))

    def _take_survey(self, rows):
        (vocabulary,) = rows.columns
        if vars(self)["n_features"] is None:
            learn(self, "n_features", len(vocabulary))
        if not vocabulary.contiguous:
            self._symbols = self._surveyed = vocabulary.symbols

    def _check(self):
        super()._check()
        self.emissionprob_ = np.atleast_2d(self.emissionprob_)
        if self.n_features is None:
            learn(self, "n_features", self.emissionprob_.shape[1])
        if self.emissionprob_.shape != (self.n_components, self.n_features):
            raise ValueError(
                "emissionprob_ must have shape (n_components, n_features) = "
                f"{(self.n_components, self.n_features)}, not {self.emissionprob_.shape}."
            )
        self._check_sum_1("emissionprob_")

    def _drawing(self, rng):
        cdf, symbols = np.cumsum(self.emissionprob_, axis=1).tolist(), self.symbols_
        return lambda state, _: [symbols[first_above(cdf[state], rng.rand())]]

    def _generate_sample_from_state(self, state, random_state):
        cdf = np.cumsum(self.emissionprob_[state])
        return [self.symbols_[(cdf > random_state.rand()).argmax()]]

    def _as_hmmlearn_names(self, statistics):
        return {"obs": statistics["counts_0"]}

    def _as_emission_names(self, statistics):
        return {"counts_0": statistics["obs"]}

    def _get_n_fit_scalars_per_param(self):
        e = self.n_components * (self.n_features - 1)
        return super()._get_n_fit_scalars_per_param() | {"e": e}

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.one_d_array = True
        tags.input_tags.two_d_array = False  # but for a single column
        tags.input_tags.categorical = True
        return tags
