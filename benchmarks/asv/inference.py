"""Decoding, posteriors and likelihood."""

import numpy as np

from skchmm import ConstrainedHMM
from skchmm.constraints import AtMostVisits
from skchmm.emissions import Categorical


def make(n_states, n_steps, n_sequences, classes=1):
    rng = np.random.default_rng(0)
    transmat = 0.9 * np.eye(n_states) + 0.1 / n_states
    model = ConstrainedHMM.from_parameters(
        np.full(n_states, 1 / n_states),
        transmat,
        emission=Categorical.from_parameters(rng.dirichlet(np.ones(16), size=n_states)),
        constraints=AtMostVisits(0, classes - 1) if classes > 1 else None,
    )
    return model, rng.integers(16, size=n_steps * n_sequences), [n_steps] * n_sequences


class Inference:
    """One long sequence and many short ones, with and without a controller."""

    param_names = ("states", "shape", "controller")
    params = ((5, 20, 50), ("1 x 20000", "100 x 200"), (1, 10))

    def setup(self, n_states, shape, classes):
        n_sequences, n_steps = map(int, shape.split(" x "))
        self.model, self.X, self.lengths = make(n_states, n_steps, n_sequences, classes)

    def time_predict(self, *_):
        self.model.predict(self.X, lengths=self.lengths)

    def time_predict_proba(self, *_):
        self.model.predict_proba(self.X, lengths=self.lengths)

    def time_log_likelihood(self, *_):
        self.model.log_likelihood(self.X, lengths=self.lengths)

    def peakmem_predict(self, *_):
        self.model.predict(self.X, lengths=self.lengths)


class Call:
    """What one short call costs."""

    def setup(self):
        self.model, self.X, _ = make(5, 200, 1)

    def time_predict(self):
        self.model.predict(self.X)


class Long:
    """A chromosome arm's worth of steps, a tenth of it."""

    timeout = 300

    def setup(self):
        self.model, self.X, _ = make(5, 2_300_000, 1)

    def time_predict(self):
        self.model.predict(self.X)

    def peakmem_predict(self):
        self.model.predict(self.X)
