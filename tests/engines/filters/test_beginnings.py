"""When clusters began, and which of two parts keeps an id."""

import numpy as np
import pytest

import evermix as em
from evermix.engines.filters.beginnings import first_clock, may_be
from evermix.state import Lineage, State
from evermix.tally import Tally


@pytest.mark.parametrize("rate", [2, 7, 50])
def test_steady_rows_begin_with_the_first(rate):
    rng = np.random.default_rng(rate)
    for begin in (1, 500, 1800):
        clocks = np.flatnonzero(rng.random(2000) < 1 / rate) + 1
        clocks = clocks[clocks >= begin]
        assert first_clock(clocks, 2000) == clocks[0]


@pytest.mark.parametrize("strays", [1, 3, 8])
def test_rows_long_before_the_others_are_strays(strays):
    rng = np.random.default_rng(strays)
    early = rng.choice(np.arange(1, 1500), strays, replace=False)
    clocks = rng.permutation(np.concatenate([early, np.arange(1600, 2000, 5)]))
    assert first_clock(clocks, 2000) == 1600


@pytest.mark.parametrize("trickle", [0.03, 0.1, 0.2])
@pytest.mark.parametrize("begin", [700, 1500])
def test_a_trickle_of_rows_long_before_does_not_count(trickle, begin):
    """The cluster takes every tenth row from some row on, and a few of those before."""
    late = []
    for seed in range(20):
        rate = np.where(np.arange(2500) < begin, 0.1 * trickle, 0.1)
        clocks = np.flatnonzero(np.random.default_rng(seed).random(2500) < rate) + 1
        late.append(first_clock(clocks, 2500) - begin)
    assert abs(np.median(late)) <= 10


def test_rows_that_became_a_little_more_frequent_begin_with_the_first():
    clocks = np.concatenate([np.arange(5, 1000, 10), np.arange(1000, 2000, 5)])
    assert first_clock(clocks, 2000) == 5


@pytest.mark.parametrize("first", [1, 100, 1000])
def test_a_subject_that_grows_slowly_begins_with_its_first_row(first):
    clocks = first + (2000 - first) * np.sqrt(np.linspace(0, 1, 300))
    assert first_clock(np.unique(clocks.astype(np.int64)), 2000) == first


def test_a_single_row_begins_its_cluster():
    assert first_clock(np.array([17]), 2000) == 17
    assert first_clock(np.array([2000]), 2000) == 2000


@pytest.mark.parametrize("D", [1, 2, 5])
def test_a_new_subject_leaves_the_id_to_the_old_one(D):
    """Rows 521 on weigh more than all before, when a review parts them from their cluster."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(740, D))
    X[520:, 0] += 3.5
    weights = np.where(np.arange(740) < 520, 1.0, 5.0)
    mix = em.Mixture().partial_fit(X[:723], sample_weight=weights[:723])
    assert mix.n_clusters_ == 1
    (old,) = mix.cluster_ids_
    mix.partial_fit(X[723:], sample_weight=weights[723:])
    new = (set(mix.cluster_ids_.tolist()) - {int(old)}).pop()
    ends = np.zeros((2, D))
    ends[:, 0] = -1.0, 4.5
    np.testing.assert_array_equal(mix.predict(ends), [old, new])
    assert mix.lineage_.born[old] == 1 and 515 < mix.lineage_.born[new] <= 521
    assert mix.lineage_.found_at(new) == 724


def test_a_cluster_that_began_long_after_an_id_was_given_is_another():
    """Ids 0 and 1 were given at rows 1 and 900; new clusters begin at rows 2, 990 and 905."""
    lineage = Lineage()
    lineage.birth(1)
    lineage.birth(900)
    tally = Tally.of(np.arange(2), np.ones(2), np.zeros((2, 1)), {})
    state = State(tally, {}, {}, lineage, clock=1000)
    clocks = [np.arange(2, 1000, 4), np.arange(990, 1000), np.arange(905, 1000, 30)]
    owner = np.repeat(np.arange(3), [len(some) for some in clocks])
    may = may_be(state, owner, np.concatenate(clocks), 3)
    # The second would have had 90 rows since row 900, the third less than one.
    assert may.tolist() == [[True, False, False], [True, False, True]]
