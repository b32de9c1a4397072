"""hmmlearn's variational models: ``from skchmm import vhmm`` for ``from hmmlearn import vhmm``.

A fit finds distributions over the parameters instead of one value of each. States that the data do
not need keep their prior, so the number of states is an upper limit. Besides hmmlearn's parameters
the models take constraints, labels, missing values, given probabilities, restarts and weights.
"""

from ..hmm.conversion import MODELS
from .base import VariationalBaseHMM
from .categorical import VariationalCategoricalHMM
from .gaussian import VariationalGaussianHMM

__all__ = ["VariationalBaseHMM", "VariationalCategoricalHMM", "VariationalGaussianHMM"]

# so that from_hmmlearn and load_hmmlearn know them
MODELS |= {kind.__name__: kind for kind in (VariationalCategoricalHMM, VariationalGaussianHMM)}
