"""Sequential updating and greedy search: each row goes to its best cluster, for good.

References
----------
Wang, Dunson (2011). Fast Bayesian inference in Dirichlet process mixture models.
"""

from dataclasses import dataclass

from evermix.engines.filters.hard import HardFilter


@dataclass(frozen=True)
class SUGS(HardFilter):
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
