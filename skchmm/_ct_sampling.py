"""Exact draws from a CTConstrainedHMM: of whole jump paths, and of states given the data."""

import numbers

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from ._gapped_path import PathChain
from ._gapped_paths import draw_nodes
from ._jumps import Bridge, JumpPath, choose
from ._reasons import alone, ranges_of
from ._times import TimedFrames, TimedSequences, timed
from .exceptions import InfeasibleSequenceError
from .sequences import read_sequences


class CTSamplingMixin:
    """`sample`, `sample_paths` and `sample_posterior` in continuous time."""

    def sample(
        self, length=None, n_sequences=1, *, times=None, random_state=None, return_paths=False
    ):
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

        Returns
        -------
        X : ndarray (length, n_features), or a list of them
        y : ndarray of labels (length,), or a list of them
        paths : JumpPath, or a list of them
            With `return_paths`. Lists unless one sequence was asked for by a length or by one
            sequence of times.
        """
        sequences, many = self._observation_times(length, times, n_sequences)
        random_state = check_random_state(
            self.random_state if random_state is None else random_state
        )
        y, paths = self._draw(sequences, random_state)
        X = [self.emission_.sample(path, random_state) for path in y]
        y = [self.classes_[path] for path in y]
        answer = (X, y, paths) if return_paths else (X, y)
        return answer if many else tuple(part[0] for part in answer)

    def sample_paths(self, duration, n_sequences=1, *, random_state=None):
        """Draw whole jump paths from time 0 to `duration`, given that the constraints hold.

        Parameters
        ----------
        duration : float
        n_sequences : int, default=1
        random_state : int, RandomState or None

        Returns
        -------
        list of JumpPath
        """
        if not (np.isfinite(duration) and duration >= 0):
            raise ValueError(f"duration must be a time that is not negative, got {duration!r}.")
        sequences, _ = self._observation_times(None, np.array([0.0, duration]), n_sequences)
        random_state = check_random_state(
            self.random_state if random_state is None else random_state
        )
        return self._draw(sequences, random_state)[1]

    def _observation_times(self, length, times, n_sequences):
        """Sequences without observations, and whether a list was asked for."""
        check_is_fitted(self)
        if not isinstance(n_sequences, numbers.Integral) or n_sequences < 1:
            raise ValueError(f"n_sequences must be a positive integer, got {n_sequences!r}.")
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
        return TimedSequences(blank, every), many or n_sequences > 1

    def _draw(self, sequences, random_state):
        """State indices at the observations, and JumpPaths, one each a sequence."""
        chain, write = self._chain(), sequences.clock.write
        draw = self._draw_path if isinstance(chain, PathChain) else self._draw_observed
        y, paths, bridges = [], [], {}
        for s, (begin, end) in enumerate(ranges_of(sequences)):
            since = sequences.times[begin:end] - sequences.times[begin]
            jumps, first = draw(chain, since, bridges, random_state)
            entered = np.array([0.0] + [time for time, _ in jumps])
            states = np.array([first] + [state for _, state in jumps])
            y.append(states[np.searchsorted(entered, since, side="right") - 1])
            paths.append(
                JumpPath(
                    self.classes_[states],
                    write(sequences.times[begin] + entered, s),
                    write(sequences.times[end - 1 : end], s)[0],
                )
            )
        return y, paths

    def _draw_path(self, chain, since, bridges, random_state):
        graph, duration = chain.graph, float(since[-1])
        if duration not in bridges:
            bridges[duration] = Bridge(chain.rates, duration, graph.accept)
        able = np.flatnonzero(graph.start_nodes >= 0)
        masses = chain.start[able] * bridges[duration].masses()[graph.start_nodes[able]]
        if not masses.sum() > 0:
            raise InfeasibleSequenceError(
                f"No path of {duration:g} units of time satisfies the constraints."
            )
        first = int(able[choose(masses, random_state)])
        jumps = bridges[duration].draw([graph.start_nodes[first]], random_state)[0]
        return [(time, int(graph.node_states[node])) for time, node in jumps], first

    def _draw_observed(self, chain, since, bridges, random_state):
        gaps = np.diff(since, prepend=0.0)
        blank = TimedFrames(np.zeros((1, chain.graph.n_states)), np.zeros(len(gaps), int), gaps)
        drawn = draw_nodes(chain, blank, 1, random_state)
        if len(drawn) == 0:
            raise InfeasibleSequenceError(
                f"No sequence of {len(gaps)} states satisfies the constraints."
            )
        states = chain.graph.node_states[drawn[0]]
        return self._bridge(chain, states, gaps, bridges, random_state), int(states[0])

    def _bridge(self, chain, places, gaps, bridges, random_state):
        """Draw the jumps between places (states, or nodes) at the observations."""
        jumps, now = [], 0.0
        for t in range(1, len(places)):
            key = float(gaps[t]), int(places[t])
            if key not in bridges:
                bridges[key] = Bridge(
                    chain.rates, gaps[t], np.arange(chain.rates.n_nodes) == key[1]
                )
            drawn = bridges[key].draw([int(places[t - 1])], random_state)[0]
            jumps += [(now + time, node) for time, node in drawn]
            now += gaps[t]
        return jumps

    def sample_posterior(
        self, X, n_samples=1, times=None, *, lengths=None, groups=None, random_state=None,
        return_paths=False,
    ):  # fmt: skip
        """Draw feasible states at the observations given the data, exactly.

        Parameters
        ----------
        X, times, lengths, groups : the sequences
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
        if not isinstance(n_samples, numbers.Integral) or n_samples < 1:
            raise ValueError(f"n_samples must be a positive number of paths, got {n_samples!r}.")
        sequences = self._read(timed(X, times), lengths, groups)
        random_state = check_random_state(
            self.random_state if random_state is None else random_state
        )
        drawn = self._answer_each(
            sequences, lambda chain, frames: _Drawn(chain, frames, n_samples, random_state)
        )
        labels = alone([self.classes_[each.states] for each in drawn], sequences)
        if not return_paths:
            return labels
        paths = [
            self._drawn_paths(each, sequences, s, random_state) for s, each in enumerate(drawn)
        ]
        return labels, alone(paths, sequences)

    def _drawn_paths(self, drawn, sequences, s, random_state):
        chain, bridges, paths = drawn.chain, {}, []
        is_path = isinstance(chain, PathChain)
        write, begin = sequences.clock.write, sequences.offsets[s]
        end = sequences.times[sequences.offsets[s + 1] - 1]
        for places in drawn.nodes if is_path else drawn.states:
            jumps = self._bridge(chain, places, drawn.gaps, bridges, random_state)
            visited = np.array([places[0]] + [place for _, place in jumps])
            entered = sequences.times[begin] + np.array([0.0] + [time for time, _ in jumps])
            states = chain.graph.node_states[visited] if is_path else visited
            paths.append(
                JumpPath(self.classes_[states], write(entered, s), write(np.array([end]), s)[0])
            )
        return paths


class _Drawn:
    """Nodes drawn for one sequence, and what they were drawn from."""

    def __init__(self, chain, frames, n_samples, random_state):
        self.chain, self.gaps = chain, frames.gaps
        self.nodes = draw_nodes(chain, frames, n_samples, random_state)
        self.states = chain.graph.node_states[self.nodes] if len(self.nodes) else self.nodes

    def __len__(self):
        return len(self.nodes)
