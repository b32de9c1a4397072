"""Emissions: how a hidden state produces what is observed."""

from .base import Emission, Frames
from .bernoulli import Bernoulli
from .categorical import Categorical
from .classifier import ClassifierEmission
from .exponential import Exponential
from .gamma import Gamma
from .gaussian import Gaussian
from .gmm import GMM
from .lognormal import LogNormal
from .multinomial import Multinomial
from .negative_binomial import NegativeBinomial
from .poisson import Poisson
from .precomputed import Precomputed
from .product import Product
from .resolution import resolve
from .sklearn_models import DensityEmission
from .student_t import StudentT
from .von_mises import VonMises

__all__ = [
    "GMM",
    "Bernoulli",
    "Categorical",
    "ClassifierEmission",
    "DensityEmission",
    "Emission",
    "Exponential",
    "Frames",
    "Gamma",
    "Gaussian",
    "LogNormal",
    "Multinomial",
    "NegativeBinomial",
    "Poisson",
    "Precomputed",
    "Product",
    "StudentT",
    "VonMises",
    "resolve",
]
