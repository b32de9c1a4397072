"""Exact draws from a CTConstrainedHMM: of whole jump paths, and of states given the data."""

from collections.abc import Collection
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from ..continuous.draws import draw_nodes
from ..continuous.jumps import JumpPath
from ..continuous.paths import draw_between, draw_paths
from ..sequences.forms import read_sequences
from .asking import AskingMixin, check_number


class CTSamplingMixin(AskingMixin):
    """`sample`, `sample_paths` and `sample_posterior` in continuous time."""

    def sample(
        self,
        length: ArrayLike | None = None,
        n_sequences: int = 1,
        *,
        times: Any = None,
        random_state: Any = None,
        return_paths: bool = False,
        return_times: bool = False,
    ) -> tuple:
        """Draw sequences and their paths from the model, given that the constraints hold.

        Whole jump paths, exactly and without rejection; observations from the emission given
        the states at the observation times.

        Parameters
        ----------
        length : int or sequence of int, optional
            Number of observations, one unit of time apart, where `times` does not say it.
        n_sequences : int, default=1
            How many; with several lengths or several sequences of times, one for each.
        times : sequence of times, or a list of such sequences, optional
            The observation times; a list has one sequence of times for each sequence.
        random_state : int, RandomState or None
            Default: the parameter of the estimator.
        return_paths : bool, default=False
        return_times : bool, default=False

        Returns
        -------
        X : ndarray (length, n_features), or a list of them
        y : ndarray of labels (length,), or a list of them
        paths : JumpPath, or a list of them
            With `return_paths`. Lists unless one sequence was asked for by a length or by one
            sequence of times.
        times : ndarray of times, or a list of them
            With `return_times`: when the observations were made. These are the times that were
            asked for, except for the first in a state of `exact_entry`, which is made at the time
            of entry.
        """
        sequences, many = self._observation_times(length, times, n_sequences)
        random_state = self._random(random_state)
        y, paths = self._draw(sequences, random_state)
        X = [self.emission_.sample(path, random_state) for path in y]
        y = [self.classes_[path] for path in y]
        answer = (X, y, paths) if return_paths else (X, y)
        if return_times:
            answer = (*answer, self._times_of(sequences, y, paths))
        return answer if many else tuple(part[0] for part in answer)

    def _times_of(self, sequences, y, paths):
        """When draws were observed: the first in an exact state at the time of its entry."""
        exact, every = self._dynamics().exact, []
        for s, (begin, end) in enumerate(sequences.ranges):
            times = sequences.times.write(sequences.times.values[begin:end], s)
            if exact is not None:
                seen = np.isin(y[s], self.classes_[exact])
                if seen.any() and not seen[0]:
                    times = times.copy()
                    times[seen.argmax()] = paths[s].times[-1]
            every.append(times)
        return every

    def sample_paths(
        self, duration: float, n_sequences: int = 1, *, random_state: Any = None
    ) -> list[JumpPath]:
        """Draw whole jump paths from time 0 to `duration`, given that the constraints hold.

        With a `clock`, the whole duration is one gap.

        Parameters
        ----------
        duration : float
        n_sequences : int, default=1
        random_state : int, RandomState or None

        Returns
        -------
        list of JumpPath
        """
        if not (isinstance(duration, Real) and 0 <= duration < np.inf):
            raise ValueError(f"duration must be a time that is not negative, got {duration!r}.")
        sequences, _ = self._observation_times(None, np.array([0.0, duration]), n_sequences)
        random_state = self._random(random_state)
        return self._draw(sequences, random_state)[1]

    def _observation_times(self, length, times, n_sequences):
        """Sequences without observations, and whether a list was asked for."""
        check_is_fitted(self)
        check_number(n_sequences, "n_sequences must be a positive integer")
        if (length is None) == (times is None):
            raise ValueError("Give either length, a number of observations, or times.")
        if times is None:
            sizes = np.asarray(length)
            if sizes.ndim > 1 or sizes.dtype.kind not in "iu" or (sizes < 1).any():
                raise ValueError(f"length must be a number of observations, got {length!r}.")
            times = [np.arange(n, dtype=np.float64) for n in np.atleast_1d(sizes)]
            times = times if sizes.ndim else times[0]
        many = isinstance(times, (list, tuple)) and len(times) and np.ndim(times[0]) > 0
        if many and n_sequences not in (1, len(times)):
            raise ValueError(f"times has {len(times)} sequences, but n_sequences is {n_sequences}.")
        every = list(times) if many else [times] * n_sequences
        blank = read_sequences([np.zeros(len(each)) for each in every])
        return self._at(blank, every), many or n_sequences > 1

    def _draw(self, sequences, random_state):
        """State indices at the observations, and JumpPaths, one each per sequence."""
        return draw_paths(self._chain(), sequences, self.classes_, random_state)

    def sample_posterior(
        self,
        X: Any,
        n_samples: int = 1,
        times: Any = None,
        *,
        lengths: Collection[int] | None = None,
        groups: Any = None,
        known: Any = None,
        random_state: Any = None,
        return_paths: bool = False,
    ) -> Any:
        """Draw feasible states at the observations given the data, exactly.

        Parameters
        ----------
        X, times, lengths, groups, known : as in `predict`
        n_samples : int, default=1
            Draws of each sequence.
        random_state : int, RandomState or None
            Default: the parameter of the estimator.
        return_paths : bool, default=False
            Whether to draw the jumps between observations too.

        Returns
        -------
        labels : ndarray (n_samples, n_steps) for a single stacked sequence, else a list of them
        paths : list of JumpPath, or a list of such lists
            With `return_paths`.
        """
        check_number(n_samples, "n_samples must be a positive number of paths")
        sequences = self._hold(self._read(X, lengths, groups, times=times), known)
        random_state = self._random(random_state)
        drawn = self._answer_each(
            sequences, lambda chain, frames: _Drawn(chain, frames, n_samples, random_state)
        )
        labels = sequences.alone([self.classes_[each.states] for each in drawn])
        if not return_paths:
            return labels
        paths = [
            draw_between(
                each.chain, each.nodes, each.gaps, sequences.times, s, sequences.offsets,
                self.classes_, random_state,
            )
            for s, each in enumerate(drawn)
        ]  # fmt: skip
        return labels, sequences.alone(paths)


class _Drawn:
    """Nodes drawn for one sequence, and what they were drawn from."""

    def __init__(self, chain, frames, n_samples, random_state):
        self.chain, self.gaps = chain, frames.gaps
        self.nodes = draw_nodes(chain, frames, n_samples, random_state)

    @property
    def states(self):
        return self.chain.states_of(self.nodes)

    def __len__(self):
        return len(self.nodes)
