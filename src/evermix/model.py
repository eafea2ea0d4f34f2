"""A model: a family and a prior with all hyperparameters set."""

from dataclasses import dataclass

from evermix.families.base import Family
from evermix.forgetting import Exponential
from evermix.priors.base import Prior


@dataclass(frozen=True)
class Model:
    """The family of the clusters and the prior of their number: all that an engine must know.

    Parameters
    ----------
    family : Family
        A family with all hyperparameters set.
    prior : Prior
        The random partition.
    max_clusters : int or None
        Maximum number of clusters; None for no limit.
    forgetting : Exponential or None
        How old rows lose weight; None to forget nothing.
    learns : tuple of str
        What was not given and is learnt from data: names of hyperparameters of the family,
        ``"prior"``, and ``"family"`` if its kind is open too.
    """

    family: Family
    prior: Prior
    max_clusters: int | None = None
    forgetting: Exponential | None = None
    learns: tuple[str, ...] = ()
