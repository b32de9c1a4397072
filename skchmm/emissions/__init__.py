"""Emissions: how a hidden state produces what is observed."""

from .base import Emission, Frames
from .categorical import Categorical
from .gaussian import Gaussian
from .gmm import GMM
from .multinomial import Multinomial
from .poisson import Poisson
from .precomputed import Precomputed
from .resolution import resolve
from .sklearn_models import ClassifierEmission, DensityEmission

__all__ = [
    "GMM",
    "Categorical",
    "ClassifierEmission",
    "DensityEmission",
    "Emission",
    "Frames",
    "Gaussian",
    "Multinomial",
    "Poisson",
    "Precomputed",
    "resolve",
]
