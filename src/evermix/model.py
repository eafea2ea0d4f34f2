"""A mixture with every hyperparameter resolved."""

from dataclasses import dataclass

from evermix.families.base import Family
from evermix.priors.base import Prior

__all__ = ["Model"]


@dataclass(frozen=True)
class Model:
    """What one cluster looks like, and how many there are: all that an engine must know.

    Parameters
    ----------
    family : Family
        A resolved family.
    prior : Prior
        The random partition.
    max_clusters : int or None
        A cap on the number of clusters; None for no cap.
    """

    family: Family
    prior: Prior
    max_clusters: int | None = None
