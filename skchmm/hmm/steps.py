"""The steps of learning under hmmlearn's names, which subclasses override."""

import logging

import numpy as np
from sklearn.utils import check_random_state

from ..estimators.estimation import normalise, read_fixed
from .hooks import learn, overridden

_log = logging.getLogger("skchmm.hmm")

LEARNING_HOOKS = (
    "_do_mstep",
    "_initialize_sufficient_statistics",
    "_accumulate_sufficient_statistics",
)


class StepsMixin:
    """Start values, statistics and updates, by the letters of `init_params` and `params`."""

    def _init(self, X, lengths=None):
        """Start values for what `init_params` names and for what is not there yet."""
        self._check_and_set_n_features(X)
        S = self.n_components
        rng = check_random_state(self.random_state)
        if self._needs_init("s", "startprob_"):
            self.startprob_ = rng.dirichlet(np.full(S, 1 / S))
        if self._needs_init("t", "transmat_"):
            self.transmat_ = rng.dirichlet(np.full(S, 1 / S), size=S)
        n_scalars = self._get_n_fit_scalars_per_param()
        wanted = sum(n_scalars.get(letter, 0) for letter in self.params)
        if np.size(X) < wanted:
            _log.warning(
                "Fitting a model with %d free scalar parameters with only %d data points will "
                "result in a degenerate solution.",
                wanted,
                np.size(X),
            )
        needed = [p for p, (name, _) in self._emission_parameters.items()
                  if self._needs_init(p, name)]  # fmt: skip
        if needed:
            emission = self._emission(without=needed)
            encoded = emission.encode(X, reset=True)
            init, seed = emission.default_init, self.random_state
            if init == "kmeans" and "m" not in needed:
                init, seed = "random", 0  # only the covariances are used
            emission.initialise(encoded, None, S, init=init, random_state=seed)
            self._take(emission, needed)

    def _needs_init(self, code, name):
        if code not in self.init_params:
            return not hasattr(self, name)
        if hasattr(self, name):
            _log.warning(
                "Even though the %r attribute is set, it will be overwritten during "
                "initialization because 'init_params' contains %r",
                name,
                code,
            )
        return True

    def _check_and_set_n_features(self, X):
        n_features = np.shape(X)[1]
        if getattr(self, "n_features", n_features) != n_features:
            raise ValueError(
                f"Unexpected number of dimensions, got {n_features} but expected {self.n_features}"
            )
        learn(self, "n_features", n_features)

    def _initialize_sufficient_statistics(self):
        """Zero for every statistic of an iteration."""
        S = self.n_components
        statistics = {"nobs": 0, "start": np.zeros(S), "trans": np.zeros((S, S))}
        emission = self._emission() if overridden(self, *LEARNING_HOOKS) else None
        if emission is not None:  # who overrides may look for its statistics
            nothing = emission.encode(np.full((1, self._n_columns()), np.nan), reset=False)
            self._add(statistics, emission.accumulate(nothing, np.zeros((1, S))))
        return statistics

    def _accumulate_sufficient_statistics(
        self, stats, X, lattice, posteriors, fwdlattice, bwdlattice
    ):
        """Add what one sequence says of the emission; starts and transitions are counted before.

        `fwdlattice` and `bwdlattice` are None: under constraints there is none over states.
        """
        emission = self._emission()
        if emission is not None:
            self._add(stats, emission.accumulate(emission.encode(X, reset=False), posteriors))

    def _add(self, statistics, more):
        for name, value in self._as_hmmlearn_names(more).items():
            statistics[name] = statistics.get(name, 0) + value

    def _as_hmmlearn_names(self, statistics):
        """Statistics of the emission under the names that hmmlearn gives them."""
        return statistics

    def _as_emission_names(self, statistics):
        return statistics

    def _fixed(self):
        S = self.n_components
        return (
            read_fixed(self.startprob_fixed, (S,), "startprob_fixed"),
            read_fixed(self.transmat_fixed, (S, S), "transmat_fixed"),
        )

    def _do_mstep(self, stats):
        """The parameters that `params` names, from the statistics; zeros stay zero."""
        start_fixed, trans_fixed = self._fixed()
        if "s" in self.params:
            self.startprob_ = _update(
                self.startprob_, stats["start"], self.startprob_prior, start_fixed
            )
        if "t" in self.params:
            self.transmat_ = _update(
                self.transmat_, stats["trans"], self.transmat_prior, trans_fixed
            )
        letters = [letter for letter in self._emission_parameters if letter in self.params]
        if letters:
            emission = self._emission()
            emission.maximise(self._as_emission_names(stats))
            self._take(emission, letters)


def _update(old, counts, prior, fixed):
    """Posterior mode of distributions; a row without counts keeps its old values."""
    total = np.maximum(np.asarray(prior) - 1.0 + counts, 0.0)
    return normalise(np.where(old == 0, 0.0, total), fixed, old)
