"""What a CTConstrainedHMM can say beyond one path."""

import numbers

import numpy as np

from ._answers import NEGLIGIBLE, AnswersMixin
from ._ct_explain import explain_sequence
from ._ct_sampling import CTSamplingMixin
from ._gapped_path import PathChain
from ._gapped_paths import unrolled
from ._jumps import JumpPath, most_likely_jumps
from ._reasons import alone, ranges_of
from ._times import timed
from .constraints.compile import flatten
from .constraints.labels import check_states
from .constraints.logic import build
from .constraints.visitation import ExactVisits
from .controller import intersection
from .decoders._rules import Hidden
from .explain import Explanation
from .kbest import iterate_paths
from .posterior import Durations

MAX_VISITS = 10_000


class CTAnswersMixin(CTSamplingMixin, AnswersMixin):
    """Questions to a fitted model, for estimators with the methods of CTConstrainedHMM."""

    stream = Hidden()

    # ------------------------------------------------------------ other paths
    def decode_path(self, X, times=None, *, lengths=None, groups=None):
        """The decoded states with the most likely jumps between them.

        `decode` gives the states at the observations. Between two of them, of all orders in which
        states can have been visited under the constraint, the one with the largest probability
        is filled in; the times of its jumps are integrated out, and their expectations
        given.

        Parameters
        ----------
        X, times, lengths, groups : the sequences

        Returns
        -------
        JumpPath for a single stacked sequence, else a list of them
            With ``states``, ``times`` at which they are entered, ``segments``, ``log_prob``
            and ``exact``.
        """
        sequences = self._read(timed(X, times), lengths, groups)
        frames = self._frames(sequences)
        chains = [self._chain().decoder] * sequences.n_sequences
        nodes, log_prob = chains[0].decode_nodes(frames, sequences.offsets, n_jobs=self.n_jobs)
        bad = np.flatnonzero(np.isneginf(log_prob))
        if len(bad):
            self._report_infeasible(sequences, bad)
            free = self._chain(constrained=False)
            others, free_prob = free.decode_nodes(frames, sequences.offsets, n_jobs=self.n_jobs)
            self._check_possible(sequences, free_prob)
            for s in bad:
                part = slice(sequences.offsets[s], sequences.offsets[s + 1])
                chains[s], nodes[part] = free, others[part]
        known = {}
        paths = [
            self._fill_in(chains[s], nodes[begin:end], frames.part(begin, end), sequences, s, known)
            for s, (begin, end) in enumerate(ranges_of(sequences))
        ]
        return alone(paths, sequences)

    def _fill_in(self, chain, nodes, frames, sequences, s, known):
        states = chain.graph.node_states[nodes]
        places = nodes if isinstance(chain, PathChain) else states
        start = sequences.times[sequences.offsets[s]]
        visited, entered, now, exact = [int(places[0])], [start], start, True
        log_prob = chain.log_start[states[0]] + frames.dense()[np.arange(len(states)), states].sum()
        for t in range(1, len(places)):
            key = id(chain), int(places[t - 1]), int(places[t]), float(frames.gaps[t])
            if key not in known:
                known[key] = most_likely_jumps(chain.rates, *key[1:])
            order, log_order, stays, sure = known[key]
            visited += order[1:]
            entered += (now + np.cumsum(stays[:-1])).tolist()
            now = sequences.times[sequences.offsets[s] + t]
            log_prob, exact = log_prob + log_order, exact and sure
        visited = np.array(visited)
        if isinstance(chain, PathChain):
            visited = chain.graph.node_states[visited]
        write = sequences.clock.write
        return JumpPath(
            self.classes_[visited], write(np.array(entered), s), write(np.array([now]), s)[0],
            float(log_prob), exact,
        )  # fmt: skip

    def kbest(self, X, k, times=None, *, lengths=None, groups=None):
        """The k best assignments of states to the observations of each sequence.

        As in `decode`, the best are those of the augmented states (a state and what the
        constraint remembers); of assignments with the same labels only the best is listed.

        Parameters
        ----------
        X, times, lengths, groups : the sequences
        k : int

        Returns
        -------
        list of (log_prob, path), or a list of them
            The best path first; fewer than k where fewer are feasible. A list for a single
            stacked sequence, else a list with one such list a sequence.
        """
        if not isinstance(k, numbers.Integral) or k < 1:
            raise ValueError(f"k must be a positive number of paths, got {k!r}.")
        sequences = self._read(timed(X, times), lengths, groups)
        found = self._answer_each(
            sequences, lambda chain, frames: _distinct(chain.decoder, frames, k)
        )
        found = [[(log_prob, self.classes_[path]) for log_prob, path in paths] for paths in found]
        return alone(found, sequences)

    # ---------------------------------------------------------- probabilities
    def probability(self, constraint, X, times=None, *, lengths=None, groups=None):
        """P(another constraint holds | Y, Acc), for each sequence.

        Parameters
        ----------
        constraint : constraint, Controller or list of them
            Read in the same way as those of the model (``semantics``).
        X, times, lengths, groups : the sequences

        Returns
        -------
        ndarray (n_sequences,)
        """
        return super().probability(constraint, timed(X, times), lengths=lengths, groups=groups)

    def _probability(self, constraint, sequences, frames, chains, log_z):
        states = check_states(self.classes_.tolist())
        parts = [build(part, states, self.max_nodes) for part in flatten(constraint)]
        result = np.empty(sequences.n_sequences)
        for chain in {id(chain): chain for chain in chains}.values():
            controller = intersection([chain.graph.controller] + parts, max_nodes=self.max_nodes)
            both = self._build_chain(controller, flatten(constraint), chain)
            log_both = both.log_likelihood(frames, sequences.offsets, n_jobs=self.n_jobs)
            mine = np.array([each is chain for each in chains])
            result[mine] = np.minimum(np.exp(log_both[mine] - log_z[mine]), 1.0)
        return result

    def visit_distribution(
        self, states, X, times=None, *, max_visits=None, lengths=None, groups=None
    ):
        """P(the number of entries into the states is k | Y, Acc), for k = 0, 1, ...

        Parameters
        ----------
        states : label or collection of labels
        X, times, lengths, groups : the sequences
        max_visits : int, optional
            The largest k. By default as many as leave less than 1e-10 to more.

        Returns
        -------
        ndarray (n_sequences, max_visits + 1)
        """
        if max_visits is not None and (
            not isinstance(max_visits, numbers.Integral) or max_visits < 0
        ):
            raise ValueError(f"max_visits must be a number of visits, got {max_visits!r}.")
        asked = self._ask(timed(X, times), lengths, groups)
        columns, left = [], np.ones(asked[0].n_sequences)
        for k in range((MAX_VISITS if max_visits is None else max_visits) + 1):
            columns.append(self._probability(ExactVisits(states, k), *asked))
            left = left - columns[-1]
            if max_visits is None and (left < NEGLIGIBLE).all():
                break
        return np.stack(columns, axis=1)

    def expected_duration(self, states, X, times=None, *, lengths=None, groups=None):
        """Expected time in a set of states given Y and Acc: time, visits, time a visit.

        Parameters
        ----------
        states : label or collection of labels
        X, times, lengths, groups : the sequences

        Returns
        -------
        Durations
            With one value a sequence each: ``steps``, the expected time in the states;
            ``visits``, the expected number of entries into them, between observations too;
            ``length``, their ratio.
        """
        sequences = self._read(timed(X, times), lengths, groups)
        members = ExactVisits(states, 1)._subset("states", tuple(self.classes_.tolist()))

        def answer(chain, frames):
            smoothed = chain.smooth(frames, np.array([0, frames.n_steps]), counts=True)
            if np.isneginf(smoothed.log_z[0]):
                return ()
            time = smoothed.stays[members].sum()
            visits = smoothed.posteriors[0, members].sum()
            visits += smoothed.jumps[~members][:, members].sum()
            return time, visits, time / visits if visits > 0 else np.nan

        return Durations(*np.array(self._answer_each(sequences, answer)).T)

    # ---------------------------------------------------------------- reasons
    def explain(self, X, times=None, *, lengths=None, groups=None):
        """Why sequences have no feasible path.

        Parameters
        ----------
        X, times, lengths, groups : the sequences

        Returns
        -------
        Explanation for a single stacked sequence, else a list of them
            The smallest set of constraints (and zeros of the model) that together leave no path
            through these observations, and where the last path dies.
        """
        sequences = self._read(timed(X, times), lengths, groups)
        frames, chain = self._frames(sequences), self._chain()
        log_z = chain.log_likelihood(frames, sequences.offsets, n_jobs=self.n_jobs)
        explanations = []
        for s, (begin, end) in enumerate(ranges_of(sequences)):
            name = s if sequences.ids is None else sequences.ids[s]
            if np.isneginf(log_z[s]):
                explanations.append(explain_sequence(self, name, frames.part(begin, end)))
            else:
                explanations.append(Explanation(name, end - begin, True))
        return alone(explanations, sequences)

    def constraint_costs(self, X, times=None, *, lengths=None, groups=None):
        """What each constraint costs each sequence; see ConstrainedHMM.constraint_costs."""
        return super().constraint_costs(timed(X, times), lengths=lengths, groups=groups)

    def _answer_each(self, sequences, answer):
        """``answer(chain, frames)`` for each sequence; empty where it is infeasible."""
        frames, ranges = self._frames(sequences), ranges_of(sequences)
        answers = [answer(self._chain(), frames.part(*steps)) for steps in ranges]
        bad = [s for s, found in enumerate(answers) if len(found) == 0]
        if bad:
            self._report_infeasible(sequences, bad)
            free = self._chain(constrained=False)
            for s in bad:
                answers[s] = answer(free, frames.part(*ranges[s]))
            self._check_possible(sequences, [0.0 if len(a) else -np.inf for a in answers])
        return answers

    def _marginals_at(self, sequences, at):
        """P(x at the times of a grid | Y, Acc), a list with one array a sequence."""
        frames = self._frames(sequences)
        grids = _read_grids(at, sequences)
        answers = []
        for s, (begin, end) in enumerate(ranges_of(sequences)):
            part, times = frames.part(begin, end), sequences.times[begin:end]
            chain = self._chain()
            log_z = chain.log_likelihood(part, np.array([0, end - begin]))
            if np.isneginf(log_z[0]):
                self._report_infeasible(sequences, [s])
                chain = self._chain(constrained=False)
                self._check_possible(
                    sequences, chain.log_likelihood(frames, sequences.offsets, n_jobs=self.n_jobs)
                )
            answers.append(chain.marginals_at(part, times, grids[s]))
        return answers


def _distinct(chain, frames, k):
    """The k best paths that differ in their labels."""
    if chain.graph.n_nodes == 0:
        return []
    found = {}
    for log_prob, path in iterate_paths(unrolled(chain, frames), frames, 0, frames.n_steps):
        if path.tobytes() not in found:
            found[path.tobytes()] = (log_prob, path)
            if len(found) == k:
                break
    return list(found.values())


def _read_grids(at, sequences):
    """The times of a grid for each sequence, as numbers, each within its sequence."""
    many = isinstance(at, (list, tuple)) and len(at) and np.ndim(at[0]) > 0
    if many and len(at) != sequences.n_sequences:
        raise ValueError(
            f"at has {len(at)} grids for {sequences.n_sequences} sequences; give one each, or one "
            "for all."
        )
    grids = []
    for s, (begin, end) in enumerate(ranges_of(sequences)):
        grid = sequences.clock.read(at[s] if many else at, s)
        first, last = sequences.times[begin], sequences.times[end - 1]
        if grid.ndim != 1 or not ((grid >= first) & (grid <= last)).all():
            raise ValueError(
                f"at must hold times between the first and the last observation of "
                f"{sequences.describe(s)}."
            )
        grids.append(grid)
    return grids
