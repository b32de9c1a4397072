"""What a model can say beyond one path: other paths, draws, probabilities of other rules."""

from collections.abc import Collection
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from .._numbers import is_whole
from ..inference.chain import Durations
from ..inference.sampling import draw_constrained_paths
from .asking import AskingMixin, check_number

Paths = list[tuple[float, np.ndarray]]


class KBestMixin(AskingMixin):
    """`kbest`, for a `SequenceEstimator`."""

    def kbest(
        self,
        X: Any,
        k: int,
        *,
        lengths: Collection[int] | None = None,
        groups: Any = None,
        known: Any = None,
    ) -> Paths | list[Paths]:
        """The k most probable feasible paths of each sequence.

        Parameters
        ----------
        X, lengths, groups, known : the sequences and what is known of their labels
            As in `predict`.
        k : int

        Returns
        -------
        list of (log_prob, path), or a list of them
            log P(path, Y) and the labels, the best path first; fewer than k where fewer are
            feasible. For a single stacked sequence one such list, else a list with one such
            list per sequence. Equally probable paths are ordered by their last label, then by the
            label before, and so on.

        Examples
        --------
        >>> import numpy as np
        >>> from skchmm import ConstrainedHMM
        >>> from skchmm.constraints import Precedence
        >>> model = ConstrainedHMM.from_parameters(
        ...     [0.5, 0.5], [[0.8, 0.2], [0.4, 0.6]], states=["a", "b"],
        ...     constraints=Precedence("a", "b"))
        >>> X = np.log([[0.5, 0.5], [0.1, 0.9], [0.3, 0.7]])
        >>> for log_prob, path in model.kbest(X, 2):
        ...     print(path, round(float(np.exp(log_prob)), 4))
        ['a' 'b' 'b'] 0.0189
        ['a' 'b' 'a'] 0.0054
        """
        check_number(k, "k must be a positive number of paths")
        return self._kbest(self._hold(self._read(X, lengths, groups), known), k)


class QuestionsMixin(KBestMixin):
    """Draws and probabilities, for a `LikelihoodModel` in discrete time."""

    def filter_proba(
        self,
        X: Any,
        *,
        lengths: Collection[int] | None = None,
        groups: Any = None,
        known: Any = None,
    ) -> np.ndarray | list[np.ndarray]:
        """P(x_t | y_0..y_t, some completion is feasible): marginals that do not look ahead.

        The same as `stream` gives row by row, for all sequences at once.

        Parameters
        ----------
        X, lengths, groups, known : the sequences and what is known of their labels
            As in `predict`; a label that is known counts from its step on.

        Returns
        -------
        ndarray (n_steps, S), or a list of them; columns as in `classes_`

        Examples
        --------
        >>> import numpy as np
        >>> from skchmm import ConstrainedHMM
        >>> from skchmm.constraints import StartsIn
        >>> model = ConstrainedHMM.from_parameters(
        ...     [0.5, 0.5], [[0.8, 0.2], [0.4, 0.6]], states=["a", "b"],
        ...     constraints=StartsIn("a"))
        >>> model.filter_proba(np.zeros((3, 2))).round(2)
        array([[1.  , 0.  ],
               [0.8 , 0.2 ],
               [0.72, 0.28]])
        """
        sequences = self._hold(self._read(X, lengths, groups), known)
        return sequences.restore(self._filter(sequences))

    def sample(
        self, length: ArrayLike, n_sequences: int = 1, *, random_state: Any = None
    ) -> tuple[Any, Any]:
        """Draw sequences and their paths from the model, given that the constraints hold.

        Paths come from the chain conditioned on feasibility at that length, exactly and without
        rejection; observations from the emission given the path.

        Parameters
        ----------
        length : int or sequence of int
            Steps of each sequence.
        n_sequences : int, default=1
            Number of sequences. If `length` has several values, there is one sequence per value.
        random_state : int, RandomState or None
            Default: the parameter of the estimator.

        Returns
        -------
        X : ndarray (length, n_features), or a list of them
        y : ndarray of labels (length,), or a list of them
            Lists unless `length` is a number and `n_sequences` is 1.
        """
        check_is_fitted(self)
        random_state = self._random(random_state)
        many = np.ndim(length) > 0
        sizes = _sizes(length, n_sequences)
        chain, paths = self._chain(), [None] * len(sizes)
        for size in np.unique(sizes):
            drawn = draw_constrained_paths(
                chain.graph, chain.start, chain.transmat, int(size), int((sizes == size).sum()),
                random_state,
            )  # fmt: skip
            for place, path in zip(np.flatnonzero(sizes == size), drawn):
                paths[place] = path
        X = [self.emission_.sample(path, random_state) for path in paths]
        y = [self.classes_[path] for path in paths]
        return (X, y) if many or len(y) != 1 else (X[0], y[0])

    def sample_posterior(
        self,
        X: Any,
        n_samples: int = 1,
        *,
        lengths: Collection[int] | None = None,
        groups: Any = None,
        known: Any = None,
        random_state: Any = None,
    ) -> np.ndarray | list[np.ndarray]:
        """Draw feasible paths given the observations, exactly.

        Parameters
        ----------
        X, lengths, groups, known : the sequences and what is known of their labels
            As in `predict`.
        n_samples : int, default=1
            Number of paths per sequence.
        random_state : int, RandomState or None
            Default: the parameter of the estimator.

        Returns
        -------
        ndarray of labels (n_samples, n_steps) for a single stacked sequence, else a list of them
        """
        check_number(n_samples, "n_samples must be a positive number of paths")
        sequences = self._hold(self._read(X, lengths, groups), known)
        random_state = self._random(random_state)
        drawn = self._answer_each(
            sequences, lambda chain, frames: chain.draw_paths(frames, n_samples, random_state)
        )
        return sequences.alone([self.classes_[paths] for paths in drawn])

    # ---------------------------------------------------------- probabilities
    def probability(
        self,
        constraint: Any,
        X: Any,
        *,
        lengths: Collection[int] | None = None,
        groups: Any = None,
        known: Any = None,
    ) -> np.ndarray:
        """P(another constraint holds | Y, Acc), for each sequence.

        Parameters
        ----------
        constraint : constraint, Controller or list of them
            The rule in question; if there are several, the question is whether all of them hold.
        X, lengths, groups, known : the sequences and what is known of their labels
            As in `predict`.

        Returns
        -------
        ndarray (n_sequences,)

        Examples
        --------
        >>> import numpy as np
        >>> from skchmm import ConstrainedHMM
        >>> from skchmm.constraints import EndsIn, StartsIn
        >>> model = ConstrainedHMM.from_parameters(
        ...     [0.5, 0.5], [[0.8, 0.2], [0.4, 0.6]], states=["a", "b"],
        ...     constraints=StartsIn("a"))
        >>> model.probability(EndsIn("b"), np.zeros((2, 2)))
        array([0.2])
        """
        sequences = self._hold(self._read(X, lengths, groups), known)
        return self._probability(constraint, *self._ask(sequences))

    def visit_distribution(
        self,
        states: Any,
        X: Any,
        *,
        max_visits: int | None = None,
        lengths: Collection[int] | None = None,
        groups: Any = None,
        known: Any = None,
    ) -> np.ndarray:
        """P(the number of entries into the states is k | Y, Acc), for k = 0, 1, ...

        An entry is a step in the states whose predecessor, if there is one, is not.

        Parameters
        ----------
        states : label or collection of labels
        X, lengths, groups, known : the sequences and what is known of their labels
            As in `predict`.
        max_visits : int, optional
            The largest k. If a row sums to less than 1, the rest is the probability of more
            visits. By default, k is so large that this rest is below 1e-10 for all sequences.

        Returns
        -------
        ndarray (n_sequences, max_visits + 1)
        """
        if max_visits is not None:
            check_number(max_visits, "max_visits must be a number of visits", least=0)
        sequences = self._hold(self._read(X, lengths, groups), known)
        most = (int(sequences.lengths.max()) + 1) // 2
        return self._visit_distribution(states, sequences, max_visits, most)

    def expected_duration(
        self,
        states: Any,
        X: Any,
        *,
        lengths: Collection[int] | None = None,
        groups: Any = None,
        known: Any = None,
    ) -> Durations:
        """Expected time in a set of states given Y and Acc: steps, visits, steps per visit.

        Parameters
        ----------
        states : label or collection of labels
        X, lengths, groups, known : the sequences and what is known of their labels
            As in `predict`.

        Returns
        -------
        Durations
            Three arrays with one value per sequence: ``steps``, the expected number of steps in the
            states; ``visits``, the expected number of entries into them; ``length``, steps /
            visits: the mean length of a visit over many draws of the path (NaN if there are none).
        """
        sequences = self._hold(self._read(X, lengths, groups), known)
        return self._expected_duration(states, sequences)


def _sizes(length, n_sequences):
    """One number of steps per sequence."""
    sizes = np.asarray(length)
    if sizes.ndim > 1 or sizes.dtype.kind not in "iu" or sizes.size == 0 or (sizes < 1).any():
        raise ValueError(f"length must be a number of steps or several of them, got {length!r}.")
    if not is_whole(n_sequences) or n_sequences < 1:
        raise ValueError(f"n_sequences must be a positive integer, got {n_sequences!r}.")
    if sizes.ndim == 0:
        return np.full(n_sequences, sizes)
    if n_sequences not in (1, len(sizes)):
        raise ValueError(
            f"length has {len(sizes)} values, one per sequence, but n_sequences is {n_sequences}."
        )
    return sizes
