"""Lineages never lie, and a state survives being written down."""

import numpy as np
import pytest

from evermix.state import Lineage, State
from evermix.tally import Layout, Tally

pytestmark = pytest.mark.every_python


def test_ids_are_never_reused_and_heirs_are_followed():
    lineage = Lineage()
    ids = [lineage.birth(clock) for clock in (1, 2, 3, 4)]
    assert ids == [0, 1, 2, 3]
    lineage.merge(0, 1, 5)
    lineage.merge(1, 3, 6)
    lineage.drop(2, 7)
    assert lineage.birth(8) == 4
    assert lineage.current([0, 1, 2, 3, 4, -1]).tolist() == [3, 3, -2, 3, 4, -1]


def test_parents_are_reported_of_clusters_that_were_split_from_others():
    lineage = Lineage()
    lineage.birth(1)
    assert lineage.birth(5, parent=0) == 1 and lineage.birth(9) == 2
    assert lineage.newcomers([0, 1, 2, -1], 0) == {0: None, 1: 0, 2: None}
    assert lineage.newcomers([0, 1, 2, -1], 5) == {2: None}
    lineage.check()
    for parents in ({1: 1}, {0: 1}, {3: 0}, {1: -1}):
        lineage.parents = parents
        with pytest.raises(ValueError, match="split from others"):
            lineage.check()


def test_a_cluster_begins_with_its_first_row_and_may_be_found_later():
    lineage = Lineage()
    lineage.birth(5)
    lineage.birth(9, parent=0)
    lineage.begin(1, 7)
    assert lineage.born == [5, 7] and lineage.found_at(0) == 5 and lineage.found_at(1) == 9
    lineage.begin(1, 6)
    assert lineage.born == [5, 6] and lineage.found == {1: 9}
    assert lineage.newcomers([0, 1], 8) == {1: 0}
    lineage.check()
    for found in ({1: -1}, {2: 9}):
        lineage.found = found
        with pytest.raises(ValueError, match="found that do not exist"):
            lineage.check()


def some_state():
    rng = np.random.default_rng(0)
    tally = Tally.of(
        np.array([0, 2]),
        rng.random(2),
        rng.random((2, 3)),
        {"hard": rng.random(2)},
        Layout.STATISTIC_MAJOR,
    )
    columns = {"factor": np.zeros((tally.capacity, 2, 2))}
    columns["factor"][:2] = rng.random((2, 2, 2))
    lineage = Lineage()
    for clock in (1, 2, 3):
        lineage.birth(clock, parent=0 if clock == 3 else None)
    lineage.merge(1, 0, 4)
    return State(tally, columns, {"dropped": np.array([0.25])}, lineage, clock=17)


def test_to_arrays_and_back_is_the_identity():
    state = some_state()
    arrays, header = state.to_arrays()
    again, header_again = State.from_arrays(arrays, header).to_arrays()
    assert header == header_again
    assert arrays.keys() == again.keys()
    for name in arrays:
        np.testing.assert_array_equal(arrays[name], again[name])


def test_take_keeps_columns_beside_their_clusters():
    state = some_state()
    kept = state.columns["factor"][1].copy()
    state.take(np.array([1]))
    assert state.tally.ids.tolist() == [2]
    np.testing.assert_array_equal(state.columns["factor"][0], kept)
    assert state.columns["factor"].shape[0] == state.tally.capacity


def test_rename_starts_a_new_lineage_with_the_old_birthdays():
    state = some_state()
    state.rename(np.array([1, 0]))
    assert state.tally.ids.tolist() == [1, 0]
    assert state.lineage.born == [3, 1]
    assert state.lineage.current([0, 1]).tolist() == [0, 1]
