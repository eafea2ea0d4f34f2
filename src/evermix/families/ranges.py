"""The statistics that clusters of a family may have: what a file is held to."""

from collections.abc import Mapping
from functools import singledispatch

import numpy as np

from evermix._xp import Floats
from evermix.families.base import Family
from evermix.families.bernoulli import Bernoulli
from evermix.families.categorical import Categorical
from evermix.families.diagonal_gaussian import DiagonalGaussian
from evermix.families.gaussian import Gaussian
from evermix.families.mixed import Mixed
from evermix.families.multinomial import Multinomial
from evermix.families.poisson import Poisson
from evermix.families.von_mises_fisher import TOL, VonMisesFisher
from evermix.families.zero_mean_gaussian import ZeroMeanGaussian
from evermix.tally import Tally

SLACK = 1e-9  # of the largest statistic, for sums from which rows were taken again


def check_statistics(family: Family, tally: Tally, columns: Mapping[str, Floats]) -> None:
    """Raise ValueError unless rows of a family could have added up to these statistics.

    They are in range, and the posteriors that follow from them are proper; so are the whiteners
    among the columns of the state.
    """
    stats, mass = tally.stats, tally.mass
    low, high = statistics_range(family, mass)
    slack = SLACK * np.abs(stats).max(initial=0.0)
    if not np.all((stats >= low - slack) & (stats <= high + slack)):
        raise ValueError(f"the statistics of a cluster are none of {type(family).__name__}.")
    if isinstance(family, Bernoulli | Categorical | Poisson | Multinomial):
        return  # in these ranges all posteriors are proper
    with np.errstate(all="ignore"):
        proper = np.isfinite(family.log_marginals(tally))
    if not proper.all():
        raise ValueError(f"{np.sum(~proper)} clusters have statistics without a posterior.")
    if "whitener" in columns:
        whiteners = columns["whitener"][: tally.K]
        if np.any(np.triu(whiteners, 1)) or np.any(np.diagonal(whiteners, 0, 1, 2) <= 0):
            raise ValueError("whiteners must be triangular matrices with positive diagonals.")


@singledispatch
def statistics_range(family: Family, mass: Floats) -> tuple[Floats, Floats]:
    """Least and largest statistics of clusters of some mass (K,): (K, S), or (K, 1) for all.

    Rows lie within ``family.largest``, and so does the origin; statistics are at most squares.
    Register another one for a family of your own whose statistics have narrower bounds.
    """
    most = mass[:, None] * (2 * family.largest) ** 2
    return -most, most


@statistics_range.register
def _(family: Bernoulli, mass: Floats) -> tuple[Floats, Floats]:
    a, total = np.split(family.eta0, 2)
    return np.zeros((1, 1)) - a / 2, mass[:, None] + (total - a) / 2  # or logs have no value


@statistics_range.register(Poisson)
@statistics_range.register(Multinomial)
def _(family: Poisson | Multinomial, mass: Floats) -> tuple[Floats, Floats]:
    low = -family.eta0[None, : family.n_stats] / 2  # half of what the prior has
    return low, mass[:, None] * family.largest * family.n_stats


@statistics_range.register
def _(family: VonMisesFisher, mass: Floats) -> tuple[Floats, Floats]:
    most = mass[:, None] * (1 + TOL)
    return -most, most


@statistics_range.register
def _(family: Categorical, mass: Floats) -> tuple[Floats, Floats]:
    return -family.eta0[None, :] / 2, mass[:, None]


@statistics_range.register
def _(family: Mixed, mass: Floats) -> tuple[Floats, Floats]:
    lows, highs = [], []
    for (_, kind, weight, _), span in zip(family.blocks, family.spans, strict=True):
        low, high = statistics_range(kind, weight * mass)
        nothing, shape = np.zeros((len(mass), span.stop - span.end)), (len(mass), kind.n_stats)
        lows += [np.broadcast_to(low, shape), nothing]
        highs += [np.broadcast_to(high, shape), nothing + weight * mass[:, None]]
    return np.column_stack(lows), np.column_stack(highs)


@statistics_range.register(Gaussian)
@statistics_range.register(DiagonalGaussian)
@statistics_range.register(ZeroMeanGaussian)
def _(
    family: Gaussian | DiagonalGaussian | ZeroMeanGaussian, mass: Floats
) -> tuple[Floats, Floats]:
    D, S = family.n_features, family.n_stats
    assert D is not None  # the family is resolved
    squares, full = np.zeros(S, dtype=bool), not isinstance(family, DiagonalGaussian)
    squares[slice(S - D * D, None, D + 1) if full else slice(D, None)] = True
    most = mass[:, None] * (2 * family.largest) ** 2
    return np.where(squares, 0.0, -most), most
