"""How many parameters a model has learned, and the criteria that charge for them."""

from collections.abc import Collection
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted


class CriteriaMixin:
    """`n_parameters_`, `aic`, `bic` and `icl`, for a `LikelihoodModel`."""

    @property
    def n_parameters_(self) -> int:
        """Number of free parameters of starts, transitions and emission.

        Given entries (``transmat_fixed`` and the like) are not free, nor are starts and transitions
        that no path under the rules can use. Probabilities that sum to 1 have one less than there
        are of them.
        """
        check_is_fitted(self)
        return self._n_parameters()

    def _n_parameters(self):
        dynamics = self._dynamics()
        return dynamics.n_parameters(*self._usable(dynamics)) + self.emission_.n_parameters()

    def _usable(self, dynamics):
        """Which starts (S,) and which transitions (S, S) some path under the rules can use."""
        parameters = self._parameters()
        if not self._enforces:  # rules may have put zeros into the parameters
            return dynamics.supports(*parameters)
        S, fixed = len(self.classes_), dynamics.fixed
        starts = [] if dynamics.start_fixed is None else np.flatnonzero(dynamics.start_fixed == 0)
        zeros = [] if fixed is None else [tuple(pair) for pair in np.argwhere(fixed == 0)]
        supports = dynamics.supports(*dynamics.with_zeros(starts, zeros), *parameters[2:])
        if not self._has_rules:
            return supports
        graph = self._graph(True, *supports)
        used = np.zeros(S * S, dtype=bool)
        used[graph.base_edges] = True
        return graph.start_nodes[:S] >= 0, used.reshape(S, S)

    def aic(
        self,
        X: Any,
        *,
        lengths: Collection[int] | None = None,
        groups: Any = None,
        known: Any = None,
        **times: Any,
    ) -> float:
        """Akaike's information criterion, -2 log P(Y, Acc) + 2 `n_parameters_`.

        The lower, the better. Models under different rules have different Acc.

        Parameters
        ----------
        X, lengths, groups : the sequences that the model was fitted to
        known : labels in the form of y, optional
            What was known of the labels, as in `predict`.
        times : the observation times, in continuous time

        Returns
        -------
        float
        """
        sequences = self._hold(self._read(X, lengths, groups, **times), known)
        return self._criterion(self._log_likelihoods(sequences), 2.0)

    def bic(
        self,
        X: Any,
        *,
        lengths: Collection[int] | None = None,
        groups: Any = None,
        known: Any = None,
        **times: Any,
    ) -> float:
        """The Bayesian information criterion, -2 log P(Y, Acc) + log(n_steps) `n_parameters_`.

        The lower, the better; it charges more for parameters than `aic` does.

        Parameters
        ----------
        X, lengths, groups : the sequences that the model was fitted to
        known : labels in the form of y, optional
            What was known of the labels, as in `predict`.
        times : the observation times, in continuous time

        Returns
        -------
        float
        """
        sequences = self._hold(self._read(X, lengths, groups, **times), known)
        return self._criterion(self._log_likelihoods(sequences), np.log(sequences.n_steps))

    def icl(
        self,
        X: Any,
        *,
        lengths: Collection[int] | None = None,
        groups: Any = None,
        known: Any = None,
        **times: Any,
    ) -> float:
        """The integrated completed likelihood: `bic` with log P(best path, Y).

        Smaller is better. It prefers states that are well separated: if many paths are similarly
        probable, each of them has a small probability.

        Parameters
        ----------
        X, lengths, groups : the sequences that the model was fitted to
        known : labels in the form of y, optional
            What was known of the labels, as in `predict`.
        times : the observation times, in continuous time

        Returns
        -------
        float

        Examples
        --------
        >>> from skchmm import ConstrainedHMM
        >>> X = [0.1, 0.0, 0.2, 5.1, 4.9, 5.0, 5.2, 0.1]
        >>> model = ConstrainedHMM(2, emission="gaussian", random_state=0).fit(X)
        >>> bool(model.icl(X) >= model.bic(X))  # the best path is one of many
        True
        """
        sequences = self._hold(self._read(X, lengths, groups, **times), known)
        _, log_prob = self._best_paths(sequences, self._pending(sequences))
        return self._criterion(log_prob, np.log(sequences.n_steps))

    def _criterion(self, log_likelihoods, price):
        return float(-2.0 * np.sum(log_likelihoods) + price * self._n_parameters())
