"""A split after a merge by hand gives back ids and names, as long as the kept rows tell."""

import numpy as np
import pytest

import evermix as em

CENTRES = np.array([[0.0, 0.0], [30.0, 0.0], [0.0, 40.0], [40.0, 40.0]])


def learnt(sizes, seed=0, n_places=4):
    """A stream of some rows around each place, and the ids there."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.repeat(np.arange(n_places), sizes[:n_places]))
    mix = em.Mixture(random_state=0).partial_fit(CENTRES[y] + rng.normal(size=(len(y), 2)))
    ids = places(mix)[:n_places]
    assert len(set(ids)) == n_places
    return mix, ids


def places(mix):
    return [int(id) for id in mix.predict(CENTRES)]


@pytest.mark.parametrize("sizes", [(80, 80, 80, 80), (50, 120, 80, 80), (120, 50, 80, 80)])
@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize("saved", [False, True])
def test_ids_and_names_come_back(sizes, first, saved, tmp_path):
    mix, ids = learnt(sizes)
    one, other = ids[first], ids[1 - first]
    mix.rename(one, "anthem").rename(other, "acai").merge_clusters([one, other])
    assert mix.card(one).name == "anthem"
    if saved:
        mix.save(tmp_path / "m.evermix")
        mix = em.load(tmp_path / "m.evermix")
    new = mix.split_cluster(one)
    assert places(mix)[first] == one and places(mix)[1 - first] == new
    assert mix.card(one).size == pytest.approx(sizes[first], abs=2)
    assert mix.card(one).name == "anthem" and mix.card(new).name == "acai"
    kept = mix.state_.lookback.rows
    assert np.sum(mix.lineage_.current(kept.ids) == new) == pytest.approx(sizes[1 - first], abs=2)


def test_a_name_that_was_inherited_goes_back():
    mix, (one, other, *_) = learnt((60, 100, 80, 80))
    mix.rename(other, "acai").merge_clusters([one, other])
    assert mix.card(one).name == "acai"
    new = mix.split_cluster(one)
    assert mix.card(one).name is None and mix.card(new).name == "acai"


def test_a_name_that_another_cluster_has_got_stays_there():
    mix, (one, other, third, _) = learnt((60, 100, 80, 80))
    mix.rename(one, "anthem").rename(other, "acai").merge_clusters([one, other])
    mix.rename(third, "acai")
    new = mix.split_cluster(one)
    assert [mix.card(id).name for id in (one, third, new)] == ["anthem", "acai", None]


def test_of_three_the_part_with_most_own_rows_keeps_the_id():
    mix, (one, second, third, _) = learnt((50, 60, 70, 80))
    mix.rename(one, "anthem").rename(second, "b").rename(third, "c")
    mix.merge_clusters([one, second, third])
    new = mix.split_cluster(one)
    assert places(mix)[0] == one and mix.card(one).name == "anthem"
    assert mix.card(new).name in ("b", "c", None) and new in places(mix)[1:3]


def test_without_a_merge_the_larger_part_keeps_the_id():
    mix, (one, *_) = learnt((100, 80, 80, 80))
    new = mix.split_cluster(one)
    assert mix.card(one).size >= mix.card(new).size


def test_when_kept_rows_no_longer_tell_the_larger_part_keeps_the_id():
    mix, (one, other, *_) = learnt((50, 120, 80, 80))
    mix.merge_clusters([one, other])
    rng = np.random.default_rng(1)
    mix.partial_fit(CENTRES[rng.integers(4, size=3000)] + rng.normal(size=(3000, 2)))
    new = mix.split_cluster(one)
    assert {one, new} == set(places(mix)[:2])
    assert mix.card(one).size >= mix.card(new).size
