"""Each misprint of the paper, put back, fails against the enumeration.

Regions of whole clusters stay as they are, since switching them would mend some of the damage.
"""

import numpy as np
import pytest

from evermix.topics.measures import Mixed, Thinned
from evermix.topics.rows import slices
from evermix.topics.rows.samplers import M1, M2, M3, T1, T2
from helpers.dependent_oracles import coarse, data, misfit, mixed, thinned

SWEEPS = 800
APART = ((2.0, 0.2), (0.2, 2.0))
SELDOM = ((0.7, 0.2), (0.2, 0.7))


@pytest.fixture(autouse=True)
def no_switches(monkeypatch):
    for cls in (Mixed, Thinned):
        monkeypatch.setattr(cls, "switch_regions", lambda self, atoms, rng: None)


def wrong(sampler, measure):
    return misfit(sampler, measure, data(), SWEEPS, views=[coarse])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sampler", "measure"),
    [
        (M1(), mixed(q=APART)),
        (M2(), mixed()),
        (M1(), mixed(a=(0.3, 0.3), sigma=0.8)),
        (T1(), thinned(q=SELDOM)),
        (T2(), thinned()),
    ],
)
def test_without_misprints_all_is_well(sampler, measure):
    assert wrong(sampler, measure) < 3


@pytest.mark.parametrize("sampler", [M1(), M3()], ids=repr)
def test_a_new_cluster_without_q_is_caught(sampler, monkeypatch):
    """The paper's weight of a new cluster lacks q_rt."""
    right = Mixed._log_new
    monkeypatch.setattr(Mixed, "_log_new", lambda self: right(self) - np.log(self.q.T))
    assert wrong(sampler, mixed(q=APART)) > 4


@pytest.mark.parametrize(("sampler", "measure"), [(M2(), mixed()), (T2(), thinned())])
def test_a_threshold_of_each_region_is_caught(sampler, measure, monkeypatch):
    """The paper takes the lowest level of the observations in that region."""
    move = slices.slice_sweep

    def misprinted(rows, chain, rng):
        region = chain.region[chain.labels]

        def lowest(level, floor, times, q):
            out = np.full(len(q), np.inf)
            np.minimum.at(out, region, level)
            return out

        monkeypatch.setattr(slices, "levels_of_regions", lowest)
        move(rows, chain, rng)

    monkeypatch.setattr(type(sampler), "move", staticmethod(misprinted))
    assert wrong(sampler, measure) > 4


@pytest.mark.parametrize("sampler", [T1(), T2()], ids=repr)
def test_clusters_that_are_on_at_all_times_are_caught(sampler, monkeypatch):
    """The paper has z_rtk = 1 where n_rk > 0, instead of n_trk > 0."""

    def misprinted(self, atoms):
        return np.broadcast_to(atoms.sizes > 0, atoms.counts.shape)

    monkeypatch.setattr(Thinned, "_must_be_on", misprinted)
    assert wrong(sampler, thinned(q=SELDOM)) > 4


def test_a_decay_without_sigma_is_caught(monkeypatch):
    """The power of 1 / (1 + U) is n - sigma K, not n."""

    def misprinted(self, atoms):
        return np.bincount(atoms.region, atoms.sizes, minlength=self.n_regions)

    monkeypatch.setattr(Mixed, "_decay", misprinted)
    assert wrong(M1(), mixed(a=(0.3, 0.3), sigma=0.8)) > 4
