"""How the posterior is computed."""

from evermix.engines.adf import ADF
from evermix.engines.base import Batch, CapacityWarning, Engine, Info, RowResults

__all__ = ["ADF", "ENGINES", "Batch", "CapacityWarning", "Engine", "Info", "RowResults"]

ENGINES: dict[str, type[Engine]] = {cls.__name__: cls for cls in (ADF,)}
