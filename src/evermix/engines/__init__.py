"""How the posterior is computed."""

from evermix._registry import registered
from evermix.engines.base import Engine
from evermix.engines.batch import Batch, CapacityWarning, Info, RowResults
from evermix.engines.ep.ep import EP
from evermix.engines.filters.adf import ADF
from evermix.engines.filters.dp_means import DPMeans
from evermix.engines.filters.hard import SUGS, OnlineCRP
from evermix.engines.filters.rcrp import RCRP
from evermix.engines.samplers.gibbs import Gibbs
from evermix.engines.samplers.slice import Slice
from evermix.engines.variational.full import FullVB
from evermix.engines.variational.memoized import MemoizedVB
from evermix.engines.variational.stochastic import StochasticVB

__all__ = [
    "ADF",
    "ENGINES",
    "EP",
    "RCRP",
    "SUGS",
    "Batch",
    "CapacityWarning",
    "DPMeans",
    "Engine",
    "FullVB",
    "Gibbs",
    "Info",
    "MemoizedVB",
    "OnlineCRP",
    "RowResults",
    "Slice",
    "StochasticVB",
]

ENGINES: dict[str, type[Engine]] = {
    name: engine for name, engine in registered(Engine).items() if name in __all__
}
"""The engines of evermix by name, without the bases that they share."""
