"""How the posterior is computed."""

from evermix.engines.adf import ADF
from evermix.engines.base import Batch, CapacityWarning, Engine, Info, RowResults
from evermix.engines.ep import EP
from evermix.engines.full import FullVB
from evermix.engines.gibbs import Gibbs
from evermix.engines.memoized import MemoizedVB
from evermix.engines.online.dp_means import DPMeans
from evermix.engines.online.online_crp import OnlineCRP
from evermix.engines.online.sugs import SUGS
from evermix.engines.rcrp import RCRP
from evermix.engines.slice import Slice
from evermix.engines.stochastic import StochasticVB

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
    cls.__name__: cls
    for cls in (
        *(ADF, EP, FullVB, StochasticVB, MemoizedVB, Gibbs, Slice),
        *(RCRP, SUGS, OnlineCRP, DPMeans),
    )
}
