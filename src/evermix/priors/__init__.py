"""How many clusters there are and how big."""

from evermix.priors.base import GibbsType, HasPartition, HasPredictive, Prior
from evermix.priors.dp import DP
from evermix.priors.generalized_dirichlet import GeneralizedDirichlet
from evermix.priors.hyper import HYPERPRIORS, Beta, Gamma, HyperPrior
from evermix.priors.nggp import NGGP
from evermix.priors.nrm import NRM
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
    "HasPartition",
    "HasPredictive",
    "HyperPrior",
    "PitmanYor",
    "Prior",
]

PRIORS: dict[str, type[Prior]] = {
    cls.__name__: cls for cls in (DP, GeneralizedDirichlet, NGGP, PitmanYor)
}
"""The priors that evermix ships, by the name that a checkpoint stores."""
