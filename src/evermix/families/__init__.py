"""What one cluster looks like: likelihoods with their conjugate priors."""

from evermix._registry import registered
from evermix.families.base import Family
from evermix.families.bernoulli import Bernoulli
from evermix.families.categorical import Categorical
from evermix.families.diagonal_gaussian import DiagonalGaussian
from evermix.families.fixed_gaussian import FixedGaussian
from evermix.families.gaussian import Gaussian
from evermix.families.log_gaussian import LogGaussian
from evermix.families.log_normal import LogNormal
from evermix.families.low_rank_gaussian import LowRankGaussian
from evermix.families.mixed import Mixed
from evermix.families.multinomial import Multinomial
from evermix.families.poisson import Poisson
from evermix.families.von_mises_fisher import VonMisesFisher
from evermix.families.zero_inflated import ZeroInflated
from evermix.families.zero_mean_gaussian import ZeroMeanGaussian

__all__ = [
    "FAMILIES",
    "Bernoulli",
    "Categorical",
    "DiagonalGaussian",
    "Family",
    "FixedGaussian",
    "Gaussian",
    "LogGaussian",
    "LogNormal",
    "LowRankGaussian",
    "Mixed",
    "Multinomial",
    "Poisson",
    "VonMisesFisher",
    "ZeroInflated",
    "ZeroMeanGaussian",
]

FAMILIES: dict[str, type[Family]] = registered(Family)
"""The families of evermix by name."""
