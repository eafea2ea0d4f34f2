"""Tallies add up, whatever their layout."""

import numpy as np
import pytest

from evermix.tally import Layout, Tally

pytestmark = pytest.mark.every_python

layouts = pytest.mark.parametrize("layout", list(Layout))


def some_tally(ids, layout, seed=0):
    rng = np.random.default_rng(seed)
    K = len(ids)
    return Tally.of(
        np.array(ids), rng.random(K), rng.random((K, 5)), {"hard": rng.random(K)}, layout
    )


@layouts
def test_rows_behind_the_last_cluster_stay_empty_however_it_grows(layout):
    tally = Tally.empty(3, ["hard"], layout)
    for k in range(20):
        tally.append([k])
        tally.mass[k] = k + 1
        tally.stats[k] = k + 1
    assert tally.capacity > tally.K
    assert tally.mass.tolist() == list(range(1, 21))
    behind = np.array(
        tally.stats_buffer if layout is Layout.CLUSTER_MAJOR else tally.stats_buffer.T
    )
    assert not behind[tally.K :].any()
    assert not tally.mass_buffer[tally.K :].any()


@layouts
def test_minus_undoes_plus_with_rows_matched_by_id(layout):
    a, b = some_tally([3, 5, 9], layout), some_tally([9, 4], layout, seed=1)
    total = a.plus(b)
    assert total.ids.tolist() == [3, 5, 9, 4]
    assert total.mass[2] == a.mass[2] + b.mass[0]
    back = total.minus(b)
    np.testing.assert_allclose(back.stats[:3], a.stats, atol=1e-15)
    np.testing.assert_allclose(back.mass, [*a.mass, 0.0], atol=1e-15)


@layouts
def test_subtracting_an_unknown_cluster_is_refused(layout):
    with pytest.raises(ValueError, match=r"not here: ids \[7\]"):
        some_tally([1], layout).minus(some_tally([7], layout))


@layouts
def test_scaling_and_fusing_conserve_what_they_should(layout):
    tally = some_tally([0, 1, 2], layout)
    half = tally.scaled(0.5)
    np.testing.assert_allclose(2 * half.stats, tally.stats)
    mass, stats = tally.mass.sum(), tally.stats.sum(axis=0)
    tally.fuse(0, 2)
    fused = tally.take(np.array([0, 1]))
    assert fused.mass.sum() == pytest.approx(mass)
    np.testing.assert_allclose(fused.stats.sum(axis=0), stats)


@layouts
def test_a_taken_tally_shares_no_memory(layout):
    tally = some_tally([0, 1], layout)
    other = tally.copy()
    other.stats[:] = 0.0
    other.mass[:] = 0.0
    assert tally.stats.all() and tally.mass.all()


@pytest.mark.parametrize("layout", Layout)
@pytest.mark.parametrize("rows", [[], [0], [2, 3], [0, 1, 3, 4], [4, 2, 0], list(range(0, 40, 2))])
def test_take_has_the_rows_in_their_order(layout, rows):
    rng = np.random.default_rng(0)
    ids, mass, stats = np.arange(40) + 7, rng.random(40), rng.random((40, 3))
    tally = Tally.of(ids, mass, stats, {"joint": mass**2}, layout)
    some = tally.take(np.array(rows, dtype=np.int64))
    assert some.K == len(rows)
    np.testing.assert_array_equal(some.ids, ids[rows])
    np.testing.assert_array_equal(some.mass, mass[rows])
    np.testing.assert_array_equal(some.stats, stats[rows])
    np.testing.assert_array_equal(some.extras["joint"], mass[rows] ** 2)
