"""Why a ConstrainedHMM has no answer, and what its constraints cost."""

import numpy as np

from .explain import Explainer, Explanation
from .posterior import frames_of


class ReasonsMixin:
    """`explain` and `constraint_costs`, for estimators with the methods of ConstrainedHMM."""

    def explain(self, X, *, lengths=None, groups=None):
        """Why sequences have no feasible path.

        Parameters
        ----------
        X, lengths, groups : the sequences

        Returns
        -------
        Explanation for a single stacked sequence, else a list of them
            The smallest set of constraints (and zeros of the model) that together leave no path
            of that length, and where the last path dies; a feasible sequence is said to be so.

        Examples
        --------
        >>> import numpy as np
        >>> from skchmm import ConstrainedHMM
        >>> from skchmm.constraints import AtLeastVisits, EndsIn, StartsIn
        >>> model = ConstrainedHMM.from_parameters(
        ...     [0.5, 0.5], [[0.8, 0.2], [0.4, 0.6]], states=["a", "b"],
        ...     constraints=[StartsIn("a"), AtLeastVisits("a", 3), EndsIn("b")])
        >>> print(model.explain(np.zeros((4, 2))))
        Sequence 0 of 4 steps has no feasible path. These leave none, taken together:
          AtLeastVisits('a', 3)
        The last path dies at step 0: whatever is observed after it, none can be completed in 4 \
steps. Some paths reach the end but may not end there.
        """
        sequences = self._read(X, lengths, groups)
        frames = self._frames(sequences)
        log_z = self._chain().log_likelihood(frames, sequences.offsets, n_jobs=self.n_jobs)
        explainer = Explainer(self) if np.isneginf(log_z).any() else None
        explanations = []
        for s, (begin, end) in enumerate(ranges_of(sequences)):
            name = s if sequences.ids is None else sequences.ids[s]
            if np.isneginf(log_z[s]):
                allowed = frames_of(frames, begin, end).dense() > -np.inf
                explanations.append(explainer.explain(name, allowed))
            else:
                explanations.append(Explanation(name, end - begin, True))
        return alone(explanations, sequences)

    def constraint_costs(self, X, *, lengths=None, groups=None):
        """What each constraint costs each sequence: what would be gained without it.

        A rule that is wrong costs much on the sequences that break it.

        Parameters
        ----------
        X, lengths, groups : the sequences

        Returns
        -------
        pandas.DataFrame
            One row a sequence and constraint: ``sequence`` (number or id), ``constraint`` (as
            text), ``log_prob_gain`` (of the most probable path) and ``log_likelihood_gain`` (of
            log P(Y, Acc)) if that one constraint is dropped. Infinite where dropping it makes an
            infeasible sequence feasible, 0 where it stays infeasible.
        """
        import pandas as pd

        sequences = self._read(X, lengths, groups)
        frames, offsets = self._frames(sequences), sequences.offsets

        def scores(model):
            chain = model._chain()
            _, log_prob = chain.decode(frames, offsets, n_jobs=self.n_jobs)
            return log_prob, chain.log_likelihood(frames, offsets, n_jobs=self.n_jobs)

        now = scores(self)
        names = range(sequences.n_sequences) if sequences.ids is None else sequences.ids
        columns = []
        for k, constraint in enumerate(self.constraints_):
            rest = self.constraints_[:k] + self.constraints_[k + 1 :]
            gains = [_gain(a, b) for a, b in zip(now, scores(self.with_constraints(rest)))]
            columns.append((repr(constraint), *gains))
        rows = [
            (name, text, log_prob[s], log_likelihood[s])
            for s, name in enumerate(names)
            for text, log_prob, log_likelihood in columns
        ]
        return pd.DataFrame(
            rows, columns=["sequence", "constraint", "log_prob_gain", "log_likelihood_gain"]
        )


def ranges_of(sequences):
    offsets = sequences.offsets.tolist()
    return list(zip(offsets[:-1], offsets[1:]))


def alone(values, sequences):
    """The one value of a single stacked sequence, otherwise all of them."""
    return values[0] if sequences.form == "stacked" and len(values) == 1 else values


def _gain(now, without):
    gain = np.zeros(len(now))
    feasible = np.isfinite(without)
    gain[feasible] = without[feasible] - now[feasible]
    return gain
