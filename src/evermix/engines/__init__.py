"""How the posterior is computed."""

from evermix.engines.adf import ADF
from evermix.engines.base import Batch, CapacityWarning, Engine, Info, RowResults
from evermix.engines.ep import EP
from evermix.engines.gibbs import Gibbs
from evermix.engines.slice import Slice

__all__ = [
    "ADF",
    "ENGINES",
    "EP",
    "Batch",
    "CapacityWarning",
    "Engine",
    "Gibbs",
    "Info",
    "RowResults",
    "Slice",
]

ENGINES: dict[str, type[Engine]] = {cls.__name__: cls for cls in (ADF, EP, Gibbs, Slice)}
