"""One-pass clustering with hard assignments: each row goes to one cluster, permanently.

References
----------
Wang, Dunson (2011). Fast Bayesian inference in Dirichlet process mixture models.
"""

from dataclasses import dataclass

from evermix.engines.filters.assignment import AssignmentRule, Hard
from evermix.engines.filters.filter import Filter
from evermix.priors import DP
from evermix.priors.base import Prior


@dataclass(frozen=True)
class SUGS(Filter):
    """Greedy one-pass clustering: a row goes to the cluster that is most probable given the past.

    Clusters are weighed by the prior's exact predictive rule and by the posterior predictive of the
    rows that they hold; a new one has the prior predictive.

    Parameters
    ----------
    merge : float or None
        Fuse two clusters when the log odds for it exceed this many nats, as :class:`ADF` does; None
        for no merges, as published.
    """

    merge: float | None = None

    @classmethod
    def default_prior(cls) -> Prior:
        """Return the Chinese restaurant process."""
        return DP()

    @property
    def assignment(self) -> AssignmentRule:
        """The most probable cluster."""
        return Hard()


@dataclass(frozen=True)
class OnlineCRP(Filter):
    """Sampled one-pass clustering: a row's cluster is drawn from its posterior given the past.

    It is one particle of a particle filter: the first sweep of a Gibbs sampler, without the others.
    Rows of weight zero are labelled with the most probable cluster, and use no random number.

    Parameters
    ----------
    merge : float or None
        Fuse two clusters when the log odds for it exceed this many nats, as :class:`ADF` does; None
        for no merges, as published.
    """

    merge: float | None = None

    @classmethod
    def default_prior(cls) -> Prior:
        """Return the Chinese restaurant process."""
        return DP()

    @property
    def assignment(self) -> AssignmentRule:
        """A random cluster, by its posterior probability."""
        return Hard(sample=True)
