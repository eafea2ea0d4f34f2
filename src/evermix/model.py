"""A mixture with every hyperparameter resolved."""

from dataclasses import dataclass

from evermix.families.base import Family
from evermix.forgetting import Exponential
from evermix.priors.base import Prior


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
    forgetting : Exponential or None
        How what was learnt fades; None to forget nothing.
    """

    family: Family
    prior: Prior
    max_clusters: int | None = None
    forgetting: Exponential | None = None
