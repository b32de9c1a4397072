"""What a model with hmmlearn's interface answers."""

from bisect import bisect_right
from collections.abc import Collection, Hashable
from typing import Any

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from .._numbers import is_whole
from ..emissions.base import given
from ..emissions.gaussian import Gaussian
from ..emissions.gmm import GMM
from ..emissions.multinomial import Multinomial
from ..emissions.poisson import Poisson
from ..estimators.base import ALGORITHMS
from ..estimators.marginal_paths import path_of_marginals
from ..estimators.questions import QuestionsMixin
from ..inference.sampling import draw_constrained_paths
from ..sequences.values import as_numbers
from .hooks import as_rows, labels_or_lengths, overridden, random_numbers, underflow


class AnswersMixin(QuestionsMixin):
    """hmmlearn's methods in terms of those of other estimators."""

    # of the class that this is mixed into
    classes_: np.ndarray
    transmat_: np.ndarray

    def predict(
        self,
        X: Any,
        lengths: Collection[int] | None = None,
        *,
        groups: Any = None,
        known: Any = None,
    ) -> np.ndarray | list[np.ndarray]:
        """The decoded path of each sequence.

        Parameters
        ----------
        X : array (n_samples, n_features), or sequences in any other form
        lengths : sequence of int, optional
        groups : sequence, optional
        known : states in the form of the path, optional
            States that are held, as in :meth:`skchmm.ConstrainedHMM.predict`.

        Returns
        -------
        array of states (n_samples,), or a list of them for a list
        """
        return self.decode(X, lengths, groups=groups, known=known)[1]

    def decode(
        self,
        X: Any,
        lengths: Collection[int] | None = None,
        algorithm: str | None = None,
        *,
        groups: Any = None,
        known: Any = None,
    ) -> tuple[float, np.ndarray | list[np.ndarray]]:
        """The decoded paths, and how good they are.

        Parameters
        ----------
        X, lengths, groups, known : as in `predict`
        algorithm : {"viterbi", "map", "posterior", "mea"}, optional
            Default: that of the model.

        Returns
        -------
        log_prob : float
            Over all sequences together: log P(path, X) for "viterbi", the sum of the largest
            posteriors for "map", the sum of the log posteriors along the path for "posterior",
            that of the posteriors for "mea".
        state_sequence : array of states (n_samples,), or a list of them for a list
        """
        algorithm = algorithm or self.algorithm
        if algorithm not in ALGORITHMS:
            raise ValueError(f"Unknown decoder {algorithm!r}; use one of {ALGORITHMS}.")
        sequences = self._hold(self._read(X, lengths, groups), known)
        if algorithm in ("viterbi", "map") and overridden(self, f"_decode_{algorithm}"):
            if known is not None:
                raise ValueError(
                    f"known is not taken where a class has its own _decode_{algorithm}."
                )
            return self._decode_each(sequences, getattr(self, f"_decode_{algorithm}"))
        frames = self._pending(sequences)
        if algorithm == "viterbi":
            path, values = self._best_paths(sequences, frames, self.classes_)
        else:
            posteriors = self._posteriors(sequences, frames)
            path = path_of_marginals(self, sequences, posteriors, algorithm)
            values = posteriors[np.arange(len(path)), path]
            if algorithm == "posterior":
                values = np.log(values)
            path = self.classes_.take(path)
        return float(np.sum(values)), sequences.restore(path)

    def _decode_each(self, sequences, decoder):
        rows = as_rows(sequences.X)
        decoded = [decoder(rows[begin:end]) for begin, end in sequences.ranges]
        path = self.classes_.take(np.concatenate([path for _, path in decoded]))
        return float(sum(log_prob for log_prob, _ in decoded)), sequences.restore(path)

    def _decode_viterbi(self, X):
        """log P(path, X) of one sequence, and the states of the path as numbers."""
        sequences = self._read(X, None, None)
        path, log_prob = self._best_paths(sequences, self._frames(sequences))
        return float(log_prob[0]), path

    def _decode_map(self, X):
        """The sum of the largest posteriors of one sequence, and their states as numbers."""
        sequences = self._read(X, None, None)
        posteriors = self._posteriors(sequences, self._frames(sequences))
        return float(posteriors.max(axis=1).sum()), posteriors.argmax(axis=1)

    def score_samples(
        self, X: Any, lengths: Collection[int] | None = None, *, groups: Any = None
    ) -> tuple[float, np.ndarray | list[np.ndarray]]:
        """The log-likelihood of all sequences together, and the posteriors of the states.

        Parameters
        ----------
        X, lengths, groups : the sequences

        Returns
        -------
        log_prob : float
        posteriors : array (n_samples, n_components), or a list of them for a list
        """
        sequences = self._read(X, lengths, groups)
        frames = self._pending(sequences)
        posteriors = self._posteriors(sequences, frames)
        log_prob = self._log_likelihoods(sequences, frames).sum()
        return float(log_prob), sequences.restore(posteriors)

    def score(
        self, X: Any, y: Any = None, lengths: Collection[int] | None = None, *, groups: Any = None
    ) -> float:
        """The log-likelihood of all sequences together; with labels, the accuracy of `predict`.

        Parameters
        ----------
        X, groups : the sequences
        y : labels, or lengths
            One value per row: labels. Otherwise, as in hmmlearn, the lengths.
        lengths : sequence of int, optional

        Returns
        -------
        float
        """
        X = self._stacked(X, y if lengths is None else lengths)
        y, lengths = labels_or_lengths(X, y, lengths)
        return super().score(X, y, lengths=lengths, groups=groups)

    def log_likelihood(
        self,
        X: Any,
        lengths: Collection[int] | None = None,
        *,
        groups: Any = None,
        known: Any = None,
    ) -> np.ndarray:
        """log P(X) of each sequence; with constraints, log P(X, feasible).

        Parameters
        ----------
        X, lengths, groups, known : the sequences and what is known of their labels

        Returns
        -------
        ndarray (n_sequences,)
        """
        return self._log_likelihoods(self._hold(self._read(X, lengths, groups), known))

    def predict_proba(
        self,
        X: Any,
        lengths: Collection[int] | None = None,
        *,
        groups: Any = None,
        known: Any = None,
    ) -> np.ndarray | list[np.ndarray]:
        """The posteriors of the states.

        Parameters
        ----------
        X, lengths, groups, known : the sequences and what is known of their labels

        Returns
        -------
        ndarray (n_samples, n_components), or a list of them
        """
        return super().predict_proba(X, lengths=lengths, groups=groups, known=known)

    def filter_proba(
        self, X: Any, lengths: Collection[int] | None = None, *, groups: Any = None
    ) -> np.ndarray | list[np.ndarray]:
        """The posteriors of the states given the observations so far, without those to come.

        Parameters
        ----------
        X, lengths, groups : the sequences

        Returns
        -------
        ndarray (n_samples, n_components), or a list of them
        """
        return super().filter_proba(X, lengths=lengths, groups=groups)

    def predict_log_proba(
        self,
        X: Any,
        lengths: Collection[int] | None = None,
        *,
        groups: Any = None,
        known: Any = None,
    ) -> np.ndarray | list[np.ndarray]:
        """Logarithm of `predict_proba`.

        Parameters
        ----------
        X, lengths, groups, known : the sequences and what is known of their labels

        Returns
        -------
        ndarray (n_samples, n_components), or a list of them
        """
        return super().predict_log_proba(X, lengths=lengths, groups=groups, known=known)

    def _pending(self, sequences):
        # scaled recursions look at all frames before they begin
        scaling = self.implementation == "scaling"
        return self._frames(sequences) if scaling else super()._pending(sequences)

    def _posteriors(self, sequences, frames):
        self._check_underflow(frames)
        return super()._posteriors(sequences, frames)

    def _log_likelihoods(self, sequences, frames=None):
        frames = self._pending(sequences) if frames is None else frames
        self._check_underflow(frames)
        values = self._chain().log_likelihood(frames, sequences.offsets, n_jobs=self.n_jobs)
        if self.implementation == "scaling" and not self.constraints_ and np.isneginf(values).any():
            raise underflow()
        return values

    # ---------------------------------------------------------- other answers
    def sample(
        self, n_samples: int = 1, random_state: Any = None, currstate: Hashable = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Draw one sequence and its path; under constraints, exactly from the feasible ones.

        Parameters
        ----------
        n_samples : int, default=1
            Steps.
        random_state : int, RandomState or None
            Default: the parameter of the model.
        currstate : state, optional
            The state of the first step.

        Returns
        -------
        X : array (n_samples, n_features)
        state_sequence : array of states (n_samples,)
        """
        if not self.__sklearn_is_fitted__():
            check_is_fitted(self)  # slow
        self._check()
        if not is_whole(n_samples) or n_samples < 1:
            raise ValueError(f"n_samples must be a positive integer, got {n_samples!r}.")
        # what a class outside draws may come from other models, so it is not to share a generator
        others = overridden(self, "_generate_sample_from_state")
        seed = self.random_state if random_state is None else random_state
        rng = check_random_state(seed) if others else random_numbers(seed)
        start = self.startprob_
        if currstate is not None:
            start = np.asarray(self.classes_ == currstate, dtype=float)
            if start.sum() != 1:
                raise ValueError(f"currstate={currstate!r} is not a state of the model.")
        if self.constraints_:
            path = draw_constrained_paths(
                self._chain((start, self.transmat_)).graph, start, self.transmat_, n_samples, 1, rng
            )[0]
            rows = [self._generate_sample_from_state(state, rng) for state in path]
        else:
            path, rows = self._walk(start, n_samples, rng, draw_first=currstate is None)
        return np.atleast_2d(rows), self.classes_[np.asarray(path, dtype=int)]

    def _walk(self, start, n_samples, rng, *, draw_first):
        """One step after the other, with random numbers in hmmlearn's order."""
        # what a draw needs is put together once, unless a class outside draws its own way
        draw = self._generate_sample_from_state
        if not overridden(self, "_generate_sample_from_state"):
            draw = self._drawing(rng) or draw
        cdf = np.cumsum(self.transmat_, axis=1).tolist()
        state = (np.cumsum(start) > rng.rand()).argmax() if draw_first else start.argmax()
        path, rows = [], []
        for t in range(n_samples):
            if t > 0:
                state = first_above(cdf[state], rng.rand())
            path.append(state)
            rows.append(draw(state, rng))
        return path, rows

    def _drawing(self, rng):
        """A function of a state, and of rng, that draws a row; None where nothing is observed."""
        emission = self._emission()
        return None if emission is None else _rows_of(emission, rng)

    def _generate_sample_from_state(self, state, random_state):
        emission = self._emission()
        return () if emission is None else emission.sample([state], random_state)[0]

    def get_stationary_distribution(self) -> np.ndarray:
        """The distribution over states that `transmat_` leaves as it is.

        Returns
        -------
        ndarray (n_components,)
        """
        check_is_fitted(self, "transmat_")
        transmat = as_numbers(self.transmat_, "transmat_")
        if transmat.shape != 2 * transmat.shape[:1] or not np.isfinite(transmat).all():
            raise ValueError(f"transmat_ must be a square table of numbers, got {transmat!r}.")
        values, vectors = np.linalg.eig(transmat.T)
        found = np.real(vectors[:, np.argmax(values.real)])
        return found / found.sum()

    def _n_parameters(self):
        """As hmmlearn counts them; its subclasses may count others."""
        return sum(self._get_n_fit_scalars_per_param().values())

    def aic(self, X: Any, lengths: Collection[int] | None = None, *, groups: Any = None) -> float:
        """Akaike's information criterion: the lower, the better.

        Parameters
        ----------
        X, lengths, groups : the sequences

        Returns
        -------
        float
        """
        return super().aic(X, lengths=lengths, groups=groups)

    def bic(self, X: Any, lengths: Collection[int] | None = None, *, groups: Any = None) -> float:
        """The Bayesian information criterion: the lower, the better.

        Parameters
        ----------
        X, lengths, groups : the sequences

        Returns
        -------
        float
        """
        return super().bic(X, lengths=lengths, groups=groups)

    def icl(self, X: Any, lengths: Collection[int] | None = None, *, groups: Any = None) -> float:
        """The integrated completed likelihood: the lower, the better.

        Parameters
        ----------
        X, lengths, groups : the sequences

        Returns
        -------
        float

        Examples
        --------
        >>> import numpy as np
        >>> from skchmm.hmm import GaussianHMM
        >>> X = np.array([[0.1], [0.0], [0.2], [5.1], [4.9], [5.0], [5.2], [0.1]])
        >>> model = GaussianHMM(2, random_state=0).fit(X)
        >>> bool(model.icl(X) >= model.bic(X))  # the best path is one of many
        True
        """
        return super().icl(X, lengths=lengths, groups=groups)


def first_above(cdf, value):
    """The first place of an increasing list with more than this; 0 if rounding leaves none."""
    place = bisect_right(cdf, value)
    return place if place < len(cdf) else 0


def _rows_of(emission, rng):
    """A function of a state, and of rng, that draws a row as `sample` of the emission does.

    What does not depend on the draw is found once; most of the work of numpy's draws is that.
    """

    def as_ever(state, _):
        return emission.sample([state], rng)[0]

    if type(emission) is Poisson:
        rates = given(emission.rates_, "lambdas_", ndim=2, at_least=0).tolist()
        return lambda state, _: [rng.poisson(rate) for rate in rates[state]]
    if type(emission) is Multinomial and emission.n_trials_ is not None:
        n, probabilities = emission.n_trials_, emission.probabilities_
        given(probabilities, "emissionprob_", ndim=2, at_least=0, rows_sum_to_1=True)
        return lambda state, _: rng.multinomial(n, probabilities[state], 1)[0]
    if type(emission) is Gaussian:
        normal = _Normal(*emission._components_to_draw_from(), rng)
        return lambda state, _: normal.draw(state) if normal.can(state) else as_ever(state, _)
    if type(emission) is not GMM:
        return as_ever
    weights = given(emission.weights_, "weights_", at_least=0, rows_sum_to_1=True)
    normal, n_mix = _Normal(*emission._components_to_draw_from(), rng), weights.shape[1]
    shares = np.cumsum(weights, axis=1)
    shares = (shares / shares[:, -1:]).tolist()

    def draw(state, _):
        if not all(map(normal.can, range(state * n_mix, (state + 1) * n_mix))):
            return as_ever(state, _)
        return normal.draw(state * n_mix + first_above(shares[state], rng.random_sample()))

    return draw


class _Normal:
    """Draws from Gaussians, with the numbers that numpy's `multivariate_normal` takes."""

    def __init__(self, means, covars, rng):
        self.means, self.covars, self.rng = means, covars, rng
        self.factors = {}

    def can(self, k):
        """Whether the covariance of Gaussian k is one; otherwise numpy says what is wrong."""
        if k not in self.factors:
            _, s, v = np.linalg.svd(self.covars[k])
            valid = np.allclose(np.dot(v.T * s, v), self.covars[k], rtol=1e-8, atol=1e-8)
            self.factors[k] = np.sqrt(s)[:, None] * v if valid else None
        return self.factors[k] is not None

    def draw(self, k):
        row = np.dot(self.rng.standard_normal((1, self.means.shape[1])), self.factors[k])
        return row[0] + self.means[k]
