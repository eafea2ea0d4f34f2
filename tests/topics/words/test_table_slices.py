"""Tables that choose topics by slices draw from the posterior, held against enumeration.

Two documents of two and three words in two times, two regions; hyperparameters are fixed.
"""

import numpy as np
import pytest
from test_franchise_enumeration import LONG, of_case
from test_topic_laws import LEARNT, SWEEPS, check_laws, learnt_case

from evermix.topics.measures import Mixed, Thinned, levels
from evermix.topics.words import tables
from evermix.topics.words.samplers import H1
from evermix.topics.words.tables import SlicedSweep
from helpers.franchise_oracles import corpus, walk_chain

SLICED = H1(slices=True)
MODELS = pytest.mark.parametrize("name", ["HMNGG", pytest.param("HTNGG", marks=pytest.mark.slow)])
QUICK = 1500


@MODELS
def test_sliced_tables_have_the_posterior_of_the_enumeration(name):
    assert of_case(name, SLICED, QUICK) < 3


@pytest.mark.slow
@pytest.mark.parametrize("name", ["HDP", "HNGG", "HMNGG", "HTNGG"])
def test_for_long_sliced_tables_have_the_posterior_of_the_enumeration(name):
    assert of_case(name, SLICED, LONG) < 3


@pytest.mark.slow
@MODELS
def test_tables_that_rest_leave_the_posterior_as_it_is(name, monkeypatch):
    """Where slices would need too many topics; which tables rest depends on their levels alone."""
    resting, lowest = [], levels.levels_of_regions

    def watched(level, floor, times, q):
        resting.append(np.mean(level < floor))
        return lowest(level, floor, times, q)

    monkeypatch.setattr(levels, "MAX_FRESH", -1)
    monkeypatch.setattr(tables, "levels_of_regions", watched)
    assert of_case(name, SLICED, QUICK) < 3
    assert 0.1 < np.mean(resting) < 0.9


@pytest.fixture
def no_switches(monkeypatch):
    """Regions of whole topics stay, since switching them would mend some of the damage."""
    for cls in (Mixed, Thinned):
        monkeypatch.setattr(cls, "switch_regions", lambda self, atoms, rng: None)


@pytest.mark.slow
@MODELS
def test_without_switches_of_regions_all_is_well(name, no_switches):
    assert of_case(name, SLICED, QUICK) < 3


@MODELS
def test_a_threshold_of_each_region_is_caught(name, no_switches, monkeypatch):
    """The paper takes the lowest level of the observations in that region."""
    move = SlicedSweep._move_tables

    def misprinted(self, rng):
        region = self.dishes.kind[self.chain.dish[self.chain.opens]]

        def lowest(level, floor, times, q):
            out = np.full(len(q), np.inf)
            np.minimum.at(out, region, level)
            return out

        monkeypatch.setattr(tables, "levels_of_regions", lowest)
        move(self, rng)

    monkeypatch.setattr(SlicedSweep, "_move_tables", misprinted)
    assert of_case(name, SLICED, 2500) > 4


@pytest.mark.slow
@pytest.mark.parametrize("name", ["HMNGG", "HTNGG"])
def test_without_data_learnt_numbers_keep_their_laws_with_slices(name):
    """A vocabulary of one word tells nothing of topics."""
    words = corpus(np.array([[3], [2]]), (0, 1))
    measure, below = learnt_case(name, words)
    check_laws(walk_chain(SLICED, measure, below, words, SWEEPS, beta=LEARNT.mass), name)


def test_topics_of_many_tables_make_room_and_are_counted_right():
    """Whatever has moved, what is counted step by step is what the words say."""
    rng = np.random.default_rng(0)
    words = corpus(rng.poisson(0.7, size=(60, 12)), rng.integers(2, size=60))
    measure, below = learnt_case("HTNGG", words)
    sweeps = []
    run = SlicedSweep.run

    def watched(self, rng):
        sweeps.append(self)
        run(self, rng)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SlicedSweep, "run", watched)
        for chain in walk_chain(SLICED, measure, below, words, 6, skip=1):
            dishes, used = sweeps[-1].dishes, sweeps[-1].dishes.totals > 0
            np.testing.assert_array_equal(
                dishes.counts[:, used], chain.counts(words)[words.kinds[0]].toarray()
            )
            np.testing.assert_array_equal(dishes.tables[used], chain.occupancy(words).sizes)
            np.testing.assert_array_equal(dishes.open, chain.occupancy(words).n)
            assert np.all(chain.on | (chain.occupancy(words).counts == 0))
            for d in range(words.n_documents):
                some = slice(words.start[d], words.start[d + 1])
                pairs = set(zip(chain.table[some], chain.dish[some], strict=True))
                assert len(pairs) == len(np.unique(chain.table[some])) == chain.opens[some].sum()


def test_slices_are_a_setting_that_files_keep():
    assert H1.from_spec(SLICED.to_spec()) == SLICED
    with pytest.raises(ValueError, match="slices need jumps"):
        H1(jumps=False, slices=True)
