"""hmmlearn's names: ``from skchmm import hmm`` stands in for ``from hmmlearn import hmm``.

The same constructors, attributes and answers, on the kernels and emissions of this package, plus
constraints, labelled and partly labelled sequences, missing values, given probabilities, restarts
and weights.
"""

from .base import BaseHMM
from .categorical import CategoricalHMM
from .conversion import from_hmmlearn, load_hmmlearn
from .gaussian import GaussianHMM
from .gmm import GMMHMM
from .monitor import ConvergenceMonitor
from .multinomial import MultinomialHMM
from .poisson import PoissonHMM

__all__ = [
    "GMMHMM",
    "BaseHMM",
    "CategoricalHMM",
    "ConvergenceMonitor",
    "GaussianHMM",
    "MultinomialHMM",
    "PoissonHMM",
    "from_hmmlearn",
    "load_hmmlearn",
]
