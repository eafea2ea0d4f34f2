r"""Coarse evidence: where a family is learnt, n rows count as fewer when clusters are looked for.

No real rows are draws from a mixture of some family, and with ever more of them the evidence asks
for clusters that only mend the shape of others. So the likelihood of n rows is taken to a power,

.. math::

    (1 + n / 300)^{-1/2},

and rows must be four times as many for the evidence to double. The responsibilities are not changed
by that: all sums over rows are, so it is the same as rows of a smaller weight. The clusters that
were found own all rows again. Families of wide rows have a way of their own,
:meth:`Family.coarse <evermix.families.base.Family.coarse>`; a family that is given in full takes
all evidence.

References
----------
Miller, Dunson (2019). Robust Bayesian inference via coarsening.
"""

from dataclasses import replace

import numpy as np

from evermix.engines.refine.problem import Clusters, Problem
from evermix.engines.seeding import Sample
from evermix.model import Model

ENOUGH = 300.0  # rows after which more of them count less and less


def coarsened(model: Model, sample: Sample) -> Sample:
    """Return a sample with the evidence that its rows are worth to a model."""
    if sample.family.wide or not {"family", *sample.family.learns} & set(model.learns):
        return sample
    share = (1.0 + float(sample.weights.sum()) / ENOUGH) ** -0.5
    return replace(sample, weights=share * sample.weights)


def counted(found: Clusters, sample: Sample) -> Clusters:
    """Return clusters, found with less evidence, with the sums of all rows."""
    whole = replace(sample, family=found.model.family)
    return Problem(whole, found.model, np.random.default_rng(0)).summed(found.model, found.r)
