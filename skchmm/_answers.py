"""What a ConstrainedHMM can say beyond one path: other paths, draws, probabilities, reasons."""

import numbers

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from ._reasons import ReasonsMixin, alone, ranges_of
from .constraints.compile import flatten
from .constraints.labels import check_states
from .constraints.logic import build
from .constraints.visitation import ExactVisits
from .controller import intersection
from .graph import AugmentedGraph
from .inference import Chain
from .kbest import best_paths
from .posterior import Durations, draw_posterior_paths, expected_durations
from .sampling import draw_constrained_paths
from .streaming import ConstrainedStream

# The distribution of the number of visits ends where less than this is left of it.
NEGLIGIBLE = 1e-10


class AnswersMixin(ReasonsMixin):
    """Questions to a fitted model, for estimators with the methods of ConstrainedHMM."""

    # ------------------------------------------------------------ other paths
    def kbest(self, X, k, *, lengths=None, groups=None):
        """The k most probable feasible paths of each sequence.

        Parameters
        ----------
        X, lengths, groups : the sequences
        k : int

        Returns
        -------
        list of (log_prob, path), or a list of them
            log P(path, Y) and the labels, the best path first; fewer than k where fewer are
            feasible. A list for a single stacked sequence, else a list with one such list a
            sequence. Of equally probable paths the one whose last label is lowest comes first,
            and so on backwards.

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
        if not isinstance(k, numbers.Integral) or k < 1:
            raise ValueError(f"k must be a positive number of paths, got {k!r}.")
        sequences = self._read(X, lengths, groups)
        found = self._answer_each(sequences, lambda *sequence: best_paths(*sequence, k))
        found = [[(log_prob, self.classes_[path]) for log_prob, path in paths] for paths in found]
        return alone(found, sequences)

    def sample(self, length, n_sequences=1, *, random_state=None):
        """Draw sequences and their paths from the model, given that the constraints hold.

        Paths come from the chain conditioned on feasibility at that length, exactly and without
        rejection; observations from the emission given the path.

        Parameters
        ----------
        length : int or sequence of int
            Steps of each sequence.
        n_sequences : int, default=1
            How many; with several lengths, one sequence a length.
        random_state : int, RandomState or None
            Default: the parameter of the estimator.

        Returns
        -------
        X : ndarray (length, n_features), or a list of them
        y : ndarray of labels (length,), or a list of them
            Lists unless `length` is a number and `n_sequences` is 1.
        """
        check_is_fitted(self)
        random_state = check_random_state(
            self.random_state if random_state is None else random_state
        )
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

    def sample_posterior(self, X, n_samples=1, *, lengths=None, groups=None, random_state=None):
        """Draw feasible paths given the observations, exactly.

        Parameters
        ----------
        X, lengths, groups : the sequences
        n_samples : int, default=1
            Paths of each sequence.
        random_state : int, RandomState or None
            Default: the parameter of the estimator.

        Returns
        -------
        ndarray of labels (n_samples, n_steps) for a single stacked sequence, else a list of them
        """
        if not isinstance(n_samples, numbers.Integral) or n_samples < 1:
            raise ValueError(f"n_samples must be a positive number of paths, got {n_samples!r}.")
        sequences = self._read(X, lengths, groups)
        random_state = check_random_state(
            self.random_state if random_state is None else random_state
        )
        drawn = self._answer_each(
            sequences, lambda *sequence: draw_posterior_paths(*sequence, n_samples, random_state)
        )
        drawn = [self.classes_[paths] for paths in drawn]
        return alone(drawn, sequences)

    # ---------------------------------------------------------- probabilities
    def probability(self, constraint, X, *, lengths=None, groups=None):
        """P(another constraint holds | Y, Acc), for each sequence.

        Parameters
        ----------
        constraint : constraint, Controller or list of them
            What is asked about; of several, whether all hold.
        X, lengths, groups : the sequences

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
        asked = self._ask(X, lengths, groups)
        return self._probability(constraint, *asked)

    def visit_distribution(self, states, X, *, max_visits=None, lengths=None, groups=None):
        """P(the number of entries into the states is k | Y, Acc), for k = 0, 1, ...

        An entry is a step in the states whose predecessor, if there is one, is not.

        Parameters
        ----------
        states : label or collection of labels
        X, lengths, groups : the sequences
        max_visits : int, optional
            The largest k; what a row lacks to 1 is the probability of more. By default as many
            as leave less than 1e-10 to more, for all sequences.

        Returns
        -------
        ndarray (n_sequences, max_visits + 1)
        """
        if max_visits is not None and (
            not isinstance(max_visits, numbers.Integral) or max_visits < 0
        ):
            raise ValueError(f"max_visits must be a number of visits, got {max_visits!r}.")
        asked = self._ask(X, lengths, groups)
        sequences = asked[0]
        most = (int(sequences.lengths.max()) + 1) // 2
        last = most if max_visits is None else max_visits
        columns, left = [], np.ones(sequences.n_sequences)
        for k in range(last + 1):
            if k > most:
                columns.append(np.zeros(sequences.n_sequences))
                continue
            columns.append(self._probability(ExactVisits(states, k), *asked))
            left = left - columns[-1]
            if max_visits is None and (left < NEGLIGIBLE).all():
                break
        return np.stack(columns, axis=1)

    def expected_duration(self, states, X, *, lengths=None, groups=None):
        """Expected time in a set of states given Y and Acc: steps, visits, steps a visit.

        Parameters
        ----------
        states : label or collection of labels
        X, lengths, groups : the sequences

        Returns
        -------
        Durations
            With one value a sequence each: ``steps``, the expected number of steps in the states;
            ``visits``, the expected number of entries into them; ``length``, steps / visits: the
            mean length of a visit over many draws of the path (NaN where there are no visits).
        """
        sequences = self._read(X, lengths, groups)
        members = ExactVisits(states, 1)._subset("states", tuple(self.classes_.tolist()))
        values = self._answer_each(
            sequences, lambda *sequence: expected_durations(*sequence, members)
        )
        return Durations(*np.array(values).T)

    # -------------------------------------------------------------- streaming
    def stream(self, n_steps=None, *, lag=0):
        """An object that takes the observations of one sequence as they come.

        Parameters
        ----------
        n_steps : int, optional
            How long the sequence will be, where that is known.
        lag : int, default=0
            How many steps later a label is decided.

        Returns
        -------
        ConstrainedStream
        """
        return ConstrainedStream(self, n_steps=n_steps, lag=lag)

    # ---------------------------------------------------------------- helpers
    def _answer_each(self, sequences, answer):
        """``answer(chain, frames, begin, end)`` for each sequence; empty where infeasible."""
        frames, ranges = self._frames(sequences), ranges_of(sequences)
        answers = [answer(self._chain(), frames, *steps) for steps in ranges]
        bad = [s for s, found in enumerate(answers) if len(found) == 0]
        if bad:
            self._report_infeasible(sequences, bad)
            free = self._chain(constrained=False)
            for s in bad:
                answers[s] = answer(free, frames, *ranges[s])
            self._check_possible(sequences, [0.0 if len(a) else -np.inf for a in answers])
        return answers

    def _ask(self, X, lengths, groups):
        """The sequences, their frames, the chain that answers for each, and its log_z.

        That is the constrained one; where `on_infeasible` says so, the plain one for sequences
        without a feasible path.
        """
        sequences = self._read(X, lengths, groups)
        frames, offsets = self._frames(sequences), sequences.offsets
        log_z = self._chain().log_likelihood(frames, offsets, n_jobs=self.n_jobs)
        bad = np.flatnonzero(np.isneginf(log_z))
        chains = [self._chain()] * sequences.n_sequences
        if len(bad):
            self._report_infeasible(sequences, bad)
            free = self._chain(constrained=False)
            plain = free.log_likelihood(frames, offsets, n_jobs=self.n_jobs)
            self._check_possible(sequences, plain)
            for s in bad:
                chains[s], log_z[s] = free, plain[s]
        return sequences, frames, chains, log_z

    def _probability(self, constraint, sequences, frames, chains, log_z):
        states = check_states(self.classes_.tolist())
        parts = [build(part, states, self.max_nodes) for part in flatten(constraint)]
        result = np.empty(sequences.n_sequences)
        for chain in {id(chain): chain for chain in chains}.values():
            graph = chain.graph
            controller = intersection([graph.controller] + parts, max_nodes=self.max_nodes)
            both = Chain(
                AugmentedGraph(
                    controller, graph.start_support, graph.support, max_nodes=self.max_nodes
                ),
                chain.start,
                chain.transmat,
            )
            log_both = both.log_likelihood(frames, sequences.offsets, n_jobs=self.n_jobs)
            mine = np.array([each is chain for each in chains])
            result[mine] = np.minimum(np.exp(log_both[mine] - log_z[mine]), 1.0)
        return result


def _sizes(length, n_sequences):
    """One number of steps a sequence."""
    sizes = np.asarray(length)
    if sizes.ndim > 1 or sizes.dtype.kind not in "iu" or sizes.size == 0 or (sizes < 1).any():
        raise ValueError(f"length must be a number of steps or several of them, got {length!r}.")
    if not isinstance(n_sequences, numbers.Integral) or n_sequences < 1:
        raise ValueError(f"n_sequences must be a positive integer, got {n_sequences!r}.")
    if sizes.ndim == 0:
        return np.full(n_sequences, sizes)
    if n_sequences not in (1, len(sizes)):
        raise ValueError(
            f"length has {len(sizes)} values, one a sequence, but n_sequences is {n_sequences}."
        )
    return sizes
