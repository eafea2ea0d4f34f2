"""Assumed density filtering for normalized random measure mixtures: one pass, nothing kept.

References
----------
Tank, Foti, Fox (2015). Streaming variational inference for Bayesian nonparametric mixture models.
"""

from dataclasses import dataclass

from evermix.engines.filters.filter import Filter


@dataclass(frozen=True)
class ADF(Filter):
    """One-pass streaming inference: each observation is learnt once and forgotten.

    Parameters
    ----------
    birth : float
        A new cluster is opened when its responsibility exceeds this. With the rule "expected" it
        only trades speed for detail (0.01 to 0.1 is sensible); with "paper" it must not lie below
        the prior's sigma.
    rule : {"expected", "paper"}
        Predictive weight of a cluster: mass - sigma * P(occupied), exact in expectation, or
        max(mass - sigma, 0) with the mode of the latent U, as published.
    merge : float or None
        Fuse two clusters when the log odds for it exceed this many nats, judged with foresight (see
        ``evermix.engines.merging.stream``); None for no merges.
    """

    birth: float = 0.05
    rule: str = "expected"
    merge: float | None = 5.0
