"""How segments of states follow each other: starts, changes of state, durations."""

import numpy as np

from ..estimators.transitions import Transitions, normalise
from ..exceptions import warn
from ..inference.durations import fit_durations, geometric
from ..inference.semi_markov import SemiMarkovChain


class Segments(Transitions):
    """The dynamics of a semi-Markov model; its parameters are (startprob, transmat, durations).

    Parameters
    ----------
    model : HSMMDecoder
    """

    names = ("startprob_", "transmat_", "durations_")
    in_parts = SemiMarkovChain.takes_parts
    start_fixed = fixed = None

    def supports(self, startprob, transmat, durations):
        return startprob > 0, (transmat > 0) | np.eye(len(startprob), dtype=bool)

    def chain(self, graph, startprob, transmat, durations):
        return SemiMarkovChain(graph, startprob, transmat, durations)

    def n_parameters(self, starts, transitions):
        transitions = transitions & ~np.eye(self.n_states, dtype=bool)
        each = {"negative_binomial": 2, "poisson": 1, "geometric": 1}
        of_durations = each.get(self.model.duration, self.model.max_duration - 1)
        return super().n_parameters(starts, transitions) + self.n_states * of_durations

    @staticmethod
    def check(startprob, transmat, durations):
        durations = np.array(durations, dtype=np.float64)
        S = len(startprob)
        if durations.ndim != 2 or len(durations) != S or durations.shape[1] == 0:
            raise ValueError(f"durations must have one row for each of the {S} states.")
        if not (durations >= 0).all() or (np.abs(durations.sum(axis=1) - 1) > 1e-6).any():
            raise ValueError("The rows of durations must be probabilities that sum to 1.")
        if np.diagonal(transmat).any():
            raise ValueError(
                "transmat must be zero on the diagonal: a segment ends where the state changes."
            )
        return *Transitions.check(startprob, transmat), durations

    def count(self, data):
        """Counts of first states (S,), changes of state (S, S), complete and cut durations."""
        S, D = self.n_states, self.model.max_duration
        states, lengths, is_last, first = label_runs(data.codes, data.offsets)
        if (lengths > D).any():
            warn(
                f"{(lengths > D).sum()} segments of the labels are longer than max_duration={D} "
                f"(up to {lengths.max()} steps); such segments can never be decoded.",
                UserWarning,
            )
        weights = data.step_weights[first]
        starts = np.zeros(S)
        begins = np.append(True, is_last[:-1])
        np.add.at(starts, states[begins], weights[begins])
        transitions = np.zeros((S, S))
        follows = np.flatnonzero(~is_last)
        np.add.at(transitions, (states[follows], states[follows + 1]), weights[follows + 1])
        durations = np.zeros((2, S, D))
        np.add.at(durations, (is_last.astype(int), states, np.minimum(lengths, D) - 1), weights)
        return starts, transitions, *durations

    def estimate(self, counts):
        starts, transitions, complete, cut = counts
        model = self.model
        return (
            normalise(starts + self.start_added),
            off_diagonal(transitions + self.added),
            fit_durations(model.duration, complete, cut, smoothing=model.duration_smoothing),
        )

    def start(self, weights, data, random_state):
        startprob, transmat = super().start(weights, data, random_state)
        # Several segments per sequence, and every duration possible.
        S, D = self.n_states, self.model.max_duration
        means = np.full(S, min(np.diff(data.offsets).mean() / (2 * S), D / 2))
        if random_state is not None:
            means = means * random_state.uniform(0.5, 2.0, size=S)
        durations = np.stack([geometric(1.0 + mean, D) for mean in means])
        return startprob, off_diagonal(transmat), durations

    def impose(self, *parameters):
        return tuple(parameter.copy() for parameter in parameters)

    def maximise(self, parameters, starts, counts):
        startprob, transmat, durations = parameters
        return (
            normalise(starts + self.start_added * (startprob > 0), None, startprob),
            off_diagonal(counts.transitions + self.added * (transmat > 0), transmat),
            fit_durations(self.model.duration, counts.complete, counts.cut, old=durations),
        )

    def log_prior(self, startprob, transmat, durations):
        return super().log_prior(startprob, transmat)


def label_runs(codes, offsets):
    """Maximal runs of one label: (label, length, whether last of its sequence, first step)."""
    new = np.ones(len(codes), dtype=bool)
    new[1:] = codes[1:] != codes[:-1]
    new[offsets[:-1]] = True
    first = np.flatnonzero(new)
    stop = np.append(first[1:], len(codes))
    return codes[first], stop - first, np.isin(stop, offsets[1:]), first


def off_diagonal(counts, old=None):
    """Rows of counts as probabilities of other states; a single state has none."""
    S = len(counts)
    fixed = np.full((S, S), np.nan)
    np.fill_diagonal(fixed, 0.0)
    return np.zeros((1, 1)) if S == 1 else normalise(counts, fixed, old)
