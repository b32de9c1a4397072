"""Supervised fits, EM, mining and the baselines."""

import warnings

from skchmm import (
    BeamRejectionDecoder,
    ConstrainedHMM,
    HSMMDecoder,
    PerceptronCRF,
    PostHocFilter,
    TopologyMaskedHMM,
)
from skchmm.datasets import make_chain
from skchmm.mining import ConstraintMiner

DECODERS = {
    "hmm": ConstrainedHMM,
    "tm": TopologyMaskedHMM,
    "hsmm": HSMMDecoder,
    "crf": PerceptronCRF,
    "phf": PostHocFilter,
    "bsr": BeamRejectionDecoder,
    "chmm": ConstrainedHMM,
}


class Decoders:
    """The seven decoders of Patel and Damiano on their synthetic chain."""

    param_names = ("decoder",)
    params = (tuple(DECODERS),)

    def setup(self, name):
        warnings.simplefilter("ignore")
        self.data = make_chain(60, random_state=0)
        known = {} if name == "hmm" else {"constraints": self.data.constraints}
        self.model = DECODERS[name](**known).fit(self.data.X, self.data.y)

    def time_fit(self, name):
        self.model.fit(self.data.X, self.data.y)

    def time_predict(self, name):
        self.model.predict(self.data.X)

    def peakmem_predict(self, name):
        self.model.predict(self.data.X)


class Learning:
    """EM and mining."""

    def setup(self):
        warnings.simplefilter("ignore")
        self.data = make_chain(200, random_state=0)

    def time_em(self):
        ConstrainedHMM(5, n_iter=10, tol=0.0, random_state=0).fit(self.data.X)

    def peakmem_em(self):
        ConstrainedHMM(5, n_iter=10, tol=0.0, random_state=0).fit(self.data.X)

    def time_mine(self):
        ConstraintMiner().fit(self.data.y)
