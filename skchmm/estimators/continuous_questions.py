"""What a model in continuous time can say beyond one path."""

from collections.abc import Collection
from typing import Any

import numpy as np

from ..continuous.jumps import JumpPath
from ..continuous.paths import fill_in
from ..inference.chain import Durations
from ..inference.explain import Explanation
from ..sequences.clocks import GapMap
from .asking import AskingMixin, check_number
from .fallback import other_chains
from .infeasible import check_possible
from .questions import Paths

# Of entries into a set of states, more than so many are never counted.
MAX_VISITS = 10_000


class CTQuestionsMixin(AskingMixin):
    """Other paths, probabilities and reasons, for a `LikelihoodModel` in continuous time."""

    def filter_proba(
        self,
        X: Any,
        times: Any = None,
        *,
        lengths: Collection[int] | None = None,
        groups: Any = None,
        known: Any = None,
    ) -> np.ndarray | list[np.ndarray]:
        """P(x_t | y_0..y_t, some completion is feasible): marginals that do not look ahead.

        Parameters
        ----------
        X, times, lengths, groups, known : as in `predict`
            A label that is known counts from its step on.

        Returns
        -------
        ndarray (n_steps, S), or a list of them; columns as in `classes_`

        Examples
        --------
        >>> import numpy as np
        >>> from skchmm import CTConstrainedHMM
        >>> from skchmm.constraints import StartsIn
        >>> model = CTConstrainedHMM.from_parameters(
        ...     [0.5, 0.5], [[-1.0, 1.0], [1.0, -1.0]], states=["a", "b"],
        ...     constraints=StartsIn("a"))
        >>> model.filter_proba(np.zeros((3, 2)), times=[0.0, 0.1, 9.0]).round(2)
        array([[1.  , 0.  ],
               [0.91, 0.09],
               [0.5 , 0.5 ]])
        """
        sequences = self._hold(self._read(X, lengths, groups, times=times), known)
        return sequences.restore(self._filter(sequences))

    def decode_path(
        self,
        X: Any,
        times: Any = None,
        *,
        lengths: Collection[int] | None = None,
        groups: Any = None,
        known: Any = None,
    ) -> JumpPath | list[JumpPath]:
        """The decoded states with the most likely jumps between them.

        `decode` gives the states at the observations. Between two of them, of all orders in which
        states can have been visited under the constraint, the one with the largest probability
        is filled in; the times of its jumps are integrated out, and their expectations
        given.

        Parameters
        ----------
        X, times, lengths, groups, known : as in `predict`

        Returns
        -------
        JumpPath for a single stacked sequence, else a list of them
            With ``states``, ``times`` at which they are entered, ``segments``, ``log_prob``
            and ``exact``.
        """
        sequences = self._hold(self._read(X, lengths, groups, times=times), known)
        frames = self._frames(sequences)
        chains = [self._chain().decoder] * sequences.n_sequences
        nodes, log_prob = chains[0].decode_nodes(frames, sequences.offsets, n_jobs=self.n_jobs)
        bad = np.flatnonzero(np.isneginf(log_prob))
        if len(bad):
            for s, chain in other_chains(self, sequences, frames, bad).items():
                begin, end = sequences.ranges[s]
                chains[s] = chain.decoder
                nodes[begin:end], (log_prob[s],) = chains[s].decode_nodes(
                    frames.part(begin, end), np.array([0, end - begin])
                )
            check_possible(sequences, log_prob, frames)
        filled: dict = {}
        paths = [
            fill_in(
                chains[s], nodes[begin:end], frames.part(begin, end), sequences.times, s, begin,
                self.classes_, filled,
            )
            for s, (begin, end) in enumerate(sequences.ranges)
        ]  # fmt: skip
        return sequences.alone(paths)

    def kbest(
        self,
        X: Any,
        k: int,
        times: Any = None,
        *,
        lengths: Collection[int] | None = None,
        groups: Any = None,
        known: Any = None,
    ) -> Paths | list[Paths]:
        """The k best assignments of states to the observations of each sequence.

        As in `decode`, the best are those of the augmented states (a state and what the
        constraint remembers); of assignments with the same labels only the best is listed.

        Parameters
        ----------
        X, times, lengths, groups, known : as in `predict`
        k : int

        Returns
        -------
        list of (log_prob, path), or a list of them
            The best path first; fewer than k where fewer are feasible. A list for a single
            stacked sequence, else a list with one such list per sequence.
        """
        check_number(k, "k must be a positive number of paths")
        return self._kbest(self._hold(self._read(X, lengths, groups, times=times), known), k)

    # ---------------------------------------------------------- probabilities
    def probability(
        self,
        constraint: Any,
        X: Any,
        times: Any = None,
        *,
        lengths: Collection[int] | None = None,
        groups: Any = None,
        known: Any = None,
    ) -> np.ndarray:
        """P(another constraint holds | Y, Acc), for each sequence.

        Parameters
        ----------
        constraint : constraint, Controller or list of them
            Read in the same way as those of the model (``semantics``).
        X, times, lengths, groups, known : as in `predict`

        Returns
        -------
        ndarray (n_sequences,)
        """
        sequences = self._hold(self._read(X, lengths, groups, times=times), known)
        return self._probability(constraint, *self._ask(sequences))

    def visit_distribution(
        self,
        states: Any,
        X: Any,
        times: Any = None,
        *,
        max_visits: int | None = None,
        lengths: Collection[int] | None = None,
        groups: Any = None,
        known: Any = None,
    ) -> np.ndarray:
        """P(the number of entries into the states is k | Y, Acc), for k = 0, 1, ...

        Parameters
        ----------
        states : label or collection of labels
        X, times, lengths, groups, known : as in `predict`
        max_visits : int, optional
            The largest k. By default as many as leave less than 1e-10 to more.

        Returns
        -------
        ndarray (n_sequences, max_visits + 1)
        """
        if max_visits is not None:
            check_number(max_visits, "max_visits must be a number of visits", least=0)
        most = max(MAX_VISITS, max_visits or 0)
        sequences = self._hold(self._read(X, lengths, groups, times=times), known)
        return self._visit_distribution(states, sequences, max_visits, most)

    def expected_duration(
        self,
        states: Any,
        X: Any,
        times: Any = None,
        *,
        lengths: Collection[int] | None = None,
        groups: Any = None,
        known: Any = None,
    ) -> Durations:
        """Expected time in a set of states given Y and Acc: time, visits, time a visit.

        Parameters
        ----------
        states : label or collection of labels
        X, times, lengths, groups, known : as in `predict`

        Returns
        -------
        Durations
            With one value per sequence each: ``steps``, the expected time in the states;
            ``visits``, the expected number of entries into them, between observations too;
            ``length``, their ratio.
        """
        sequences = self._hold(self._read(X, lengths, groups, times=times), known)
        gap_map = None if self.clock is None else GapMap(self.clock)
        return self._expected_duration(states, sequences, gap_map=gap_map)

    # ---------------------------------------------------------------- reasons
    def explain(
        self,
        X: Any,
        times: Any = None,
        *,
        lengths: Collection[int] | None = None,
        groups: Any = None,
        known: Any = None,
    ) -> Explanation | list[Explanation]:
        """Why sequences have no feasible path.

        Parameters
        ----------
        X, times, lengths, groups, known : as in `predict`

        Returns
        -------
        Explanation for a single stacked sequence, else a list of them
            The smallest set of constraints (and zeros of the model) that together leave no path
            through these observations, and where the last path dies.
        """
        return self._explain(self._hold(self._read(X, lengths, groups, times=times), known))

    def constraint_costs(
        self,
        X: Any,
        times: Any = None,
        *,
        lengths: Collection[int] | None = None,
        groups: Any = None,
    ) -> Any:
        """What each constraint costs each sequence: what would be gained without it.

        Parameters
        ----------
        X, times, lengths, groups : the sequences and their times

        Returns
        -------
        pandas.DataFrame
            As :meth:`skchmm.ConstrainedHMM.constraint_costs` returns it.
        """
        return self._constraint_costs(self._read(X, lengths, groups, times=times))

    # ------------------------------------------------------------- likelihoods
    def log_likelihood(
        self,
        X: Any,
        times: Any = None,
        *,
        lengths: Collection[int] | None = None,
        groups: Any = None,
        known: Any = None,
    ) -> np.ndarray:
        """log P(Y, Acc) of each sequence, -inf for one without a feasible path.

        Parameters
        ----------
        X, times, lengths, groups : the sequences and their times
        known : labels in the same form, optional
            What is known of the states at the observations, as in `predict`. The probability is
            that of the observations and of these labels.

        Returns
        -------
        ndarray (n_sequences,)
        """
        return self._log_likelihoods(self._hold(self._read(X, lengths, groups, times=times), known))

    def log_feasibility(
        self,
        X: Any,
        times: Any = None,
        *,
        lengths: Collection[int] | None = None,
        groups: Any = None,
    ) -> np.ndarray:
        """log P(Acc | Y) of each sequence: how likely the rules are, given the data alone.

        Parameters
        ----------
        X, times, lengths, groups : the sequences and their times

        Returns
        -------
        ndarray (n_sequences,), -inf where there is no feasible path
        """
        return self._log_feasibility(self._read(X, lengths, groups, times=times))

    def score(
        self,
        X: Any,
        y: Any = None,
        *,
        times: Any = None,
        lengths: Collection[int] | None = None,
        groups: Any = None,
        sample_weight: Any = None,
    ) -> float:
        """Accuracy of `predict` on labelled steps; without y, log P(Y, Acc) of all sequences.

        Parameters
        ----------
        X, times, lengths, groups : the sequences
        y : labels, optional
            Steps whose label is missing do not count.
        sample_weight : sequence of float, optional
            As in `fit`.

        Returns
        -------
        float
        """
        return self._score_sequences(self._read(X, lengths, groups, times=times), y, sample_weight)
