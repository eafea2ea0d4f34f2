"""evermix: clusters data that keep arriving, and finds by itself how many clusters there are.

A mixture is family x prior x engine:

>>> import evermix as em
>>> em.Mixture(family=em.Multinomial(alpha=0.1), prior=em.NGGP(a=1.0), engine=em.ADF())
Mixture(engine=ADF(...), family=Multinomial(alpha=0.1), prior=NGGP(...))
"""

from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from evermix import plot
    from evermix.engines import (
        ADF,
        EP,
        RCRP,
        SUGS,
        CapacityWarning,
        DPMeans,
        FullVB,
        Gibbs,
        Info,
        MemoizedVB,
        OnlineCRP,
        Slice,
        StochasticVB,
    )
    from evermix.estimators import (
        DependentMixture,
        Mixture,
        PriorScore,
        TopicModel,
        load,
        merge,
        score_priors,
        select_prior,
    )
    from evermix.families import (
        Bernoulli,
        Categorical,
        DiagonalGaussian,
        FixedGaussian,
        Gaussian,
        LogGaussian,
        LogNormal,
        LowRankGaussian,
        Mixed,
        Multinomial,
        Poisson,
        VonMisesFisher,
        ZeroInflated,
        ZeroMeanGaussian,
    )
    from evermix.forgetting import Exponential
    from evermix.io.checkpoint import CheckpointError
    from evermix.io.chunks import Chunks
    from evermix.io.growing_vocabulary import GrowingVocabulary
    from evermix.model import Model
    from evermix.priors import DP, NGGP, NRM, Beta, Gamma, GeneralizedDirichlet, PitmanYor
    from evermix.report.coherence import coherence
    from evermix.topics.hierarchies import HDP, HMNGG, HMNGP, HNGG, HSNGG, HTNGG, HTNGP
    from evermix.topics.priors import MNGG, SNGG, TNGG
    from evermix.topics.rows import M1, M2, M3, T1, T2, T3, T4, T5
    from evermix.topics.words.samplers import H1, H2

__version__ = version("evermix")

__all__ = [
    "ADF",
    "DP",
    "EP",
    "H1",
    "H2",
    "HDP",
    "HMNGG",
    "HMNGP",
    "HNGG",
    "HSNGG",
    "HTNGG",
    "HTNGP",
    "M1",
    "M2",
    "M3",
    "MNGG",
    "NGGP",
    "NRM",
    "RCRP",
    "SNGG",
    "SUGS",
    "T1",
    "T2",
    "T3",
    "T4",
    "T5",
    "TNGG",
    "Bernoulli",
    "Categorical",
    "Beta",
    "CapacityWarning",
    "CheckpointError",
    "Chunks",
    "DPMeans",
    "DependentMixture",
    "DiagonalGaussian",
    "Exponential",
    "FixedGaussian",
    "FullVB",
    "Gamma",
    "Gaussian",
    "GeneralizedDirichlet",
    "Gibbs",
    "GrowingVocabulary",
    "Info",
    "MemoizedVB",
    "Mixture",
    "Model",
    "LogGaussian",
    "LogNormal",
    "LowRankGaussian",
    "Mixed",
    "Multinomial",
    "OnlineCRP",
    "PitmanYor",
    "Poisson",
    "PriorScore",
    "Slice",
    "StochasticVB",
    "TopicModel",
    "VonMisesFisher",
    "ZeroInflated",
    "ZeroMeanGaussian",
    "coherence",
    "load",
    "merge",
    "plot",
    "score_priors",
    "select_prior",
]

_HOMES = {  # where names come from: modules are imported when one of their names is wanted
    "evermix.engines": (
        "ADF EP RCRP SUGS CapacityWarning DPMeans FullVB Gibbs Info MemoizedVB OnlineCRP "
        "Slice StochasticVB"
    ),
    "evermix.estimators": (
        "DependentMixture Mixture PriorScore TopicModel load merge score_priors select_prior"
    ),
    "evermix.families": (
        "Bernoulli Categorical DiagonalGaussian FixedGaussian Gaussian LogGaussian "
        "LogNormal LowRankGaussian Mixed Multinomial Poisson VonMisesFisher ZeroInflated "
        "ZeroMeanGaussian"
    ),
    "evermix.forgetting": "Exponential",
    "evermix.io.checkpoint": "CheckpointError",
    "evermix.io.chunks": "Chunks",
    "evermix.io.growing_vocabulary": "GrowingVocabulary",
    "evermix.model": "Model",
    "evermix.priors": "DP NGGP NRM Beta Gamma GeneralizedDirichlet PitmanYor",
    "evermix.report.coherence": "coherence",
    "evermix.topics.hierarchies": "HDP HMNGG HMNGP HNGG HSNGG HTNGG HTNGP",
    "evermix.topics.priors": "MNGG SNGG TNGG",
    "evermix.topics.rows": "M1 M2 M3 T1 T2 T3 T4 T5",
    "evermix.topics.words.samplers": "H1 H2",
}
_HOME = {name: home for home, names in _HOMES.items() for name in names.split()}
_PARTS = "engines", "estimators", "families", "io", "model", "plot", "priors", "report", "topics"


def __getattr__(name: str) -> Any:
    """Import a public name, or a part of the package, when it is wanted for the first time."""
    if name in _PARTS:
        return import_module(f"evermix.{name}")
    if name not in _HOME:
        raise AttributeError(f"module 'evermix' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_HOME[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_PARTS})
