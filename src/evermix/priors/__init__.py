"""How many clusters there are and how big."""

from evermix._registry import registered
from evermix.priors.base import GibbsType, HasPredictive, Prior
from evermix.priors.dirichlet_process import DP
from evermix.priors.hyper import HYPERPRIORS, Beta, Gamma, HyperPrior
from evermix.priors.nggp import NGGP
from evermix.priors.nrm import NRM, GeneralizedDirichlet
from evermix.priors.pitman_yor import PitmanYor

__all__ = [
    "DP",
    "HYPERPRIORS",
    "NGGP",
    "NRM",
    "PRIORS",
    "Beta",
    "Gamma",
    "GeneralizedDirichlet",
    "GibbsType",
    "HasPredictive",
    "HyperPrior",
    "PitmanYor",
    "Prior",
]

PRIORS: dict[str, type[Prior]] = registered(Prior)
"""The priors of evermix by name."""
