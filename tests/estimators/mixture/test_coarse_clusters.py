"""Fewer, coarser clusters: each merge is the one that costs the least evidence."""

from itertools import combinations

import numpy as np
import pytest
from scipy.cluster.hierarchy import is_valid_linkage
from sklearn.metrics import adjusted_mutual_info_score

import evermix as em
from evermix.estimators.mixture import coarse_tree as module
from evermix.estimators.mixture.coarse_tree import coarse_tree, fused
from evermix.tally import Tally
from helpers.family_cases import CASES
from helpers.mixture_cases import blobs, texts

K = 6


def statistics(family, X, rows):
    """Return the sums of statistics (1, S) of some rows, and their number (1,)."""
    return np.asarray(family.statistic(X[rows])).sum(axis=0)[None, :], np.array([float(len(rows))])


def evidence(family, X, rows):
    return float(family.log_marginal(*statistics(family, X, rows))[0])


@pytest.mark.parametrize("name", CASES)
def test_every_merge_costs_least_of_all_that_are_possible(name):
    family, X = CASES[name]
    rng = np.random.default_rng(0)
    labels = np.append(np.arange(K), rng.integers(0, K, size=X.shape[0] - K))
    parts = {(k,): np.flatnonzero(labels == k) for k in range(K)}
    sums = [statistics(family, X, rows) for rows in parts.values()]
    stats, mass = (np.concatenate(each) for each in zip(*sums, strict=True))
    tally = Tally.of(np.arange(K), mass, stats, {}, family.layout)
    before = tally.stats.copy()
    tree = coarse_tree(family, tally)
    np.testing.assert_array_equal(tally.stats, before)
    assert is_valid_linkage(tree.linkage)
    highest = 0.0
    for n, height in zip(range(K, 1, -1), tree.heights, strict=True):
        losses = {
            (a, b): evidence(family, X, parts[a])
            + evidence(family, X, parts[b])
            - evidence(family, X, np.concatenate([parts[a], parts[b]]))
            for a, b in combinations(parts, 2)
        }
        names = tree.cut(n_groups=n - 1)
        groups = {tuple(np.flatnonzero(names == id).tolist()) for id in np.unique(names)}
        new = (groups - {tuple(sorted(key)) for key in parts}).pop()
        a, b = next(pair for pair in losses if tuple(sorted(pair[0] + pair[1])) == new)
        least = min(losses.values())
        assert losses[a, b] == pytest.approx(least, rel=1e-7, abs=1e-6)
        highest = max(highest, least)
        assert height == pytest.approx(highest, rel=1e-7, abs=1e-6)
        parts[a + b] = np.concatenate([parts.pop(a), parts.pop(b)])


def test_clusters_of_one_subject_are_joined():
    """Each subject has words of its own, and each cluster some of these."""
    rng = np.random.default_rng(0)
    subject, part = np.repeat(np.arange(3), 400), np.tile(np.arange(4), 300)
    p = np.full((1200, 240), 0.05)
    for row, (s, q) in enumerate(zip(subject, part, strict=True)):
        p[row, 80 * s : 80 * s + 80] += 1.0
        p[row, 80 * s + 20 * q : 80 * s + 20 * q + 20] += 6.0
    X = np.array([rng.multinomial(60, one / one.sum()) for one in p])
    mix = em.Mixture(em.Multinomial(), random_state=0).fit(X)
    assert mix.n_clusters_ > 6
    assert adjusted_mutual_info_score(subject, mix.coarse(3)) == 1.0


@pytest.mark.parametrize("streamed", [False, True])
def test_rows_go_with_their_clusters(streamed):
    X, _ = blobs()
    mix = em.Mixture(random_state=0)
    mix = mix.partial_fit(X) if streamed else mix.fit(X)
    n = mix.n_clusters_
    names = dict(zip(mix.cluster_ids_.tolist(), mix.coarse_hierarchy_.cut(n_groups=2), strict=True))
    np.testing.assert_array_equal(mix.coarse(2), [names[id] for id in mix.labels_.tolist()])
    np.testing.assert_array_equal(mix.coarse(2, X), [names[id] for id in mix.predict(X).tolist()])
    np.testing.assert_array_equal(mix.coarse(n), mix.labels_)
    assert len(set(mix.coarse(1))) == 1
    for wrong in (0, n + 1, 2.5, True):
        with pytest.raises(
            ValueError, match=f"n_clusters must be a whole number from 1 to .*, {n}"
        ):
            mix.coarse(wrong)


def test_coarse_clusters_have_sizes_and_traits():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 2)) + [[0.0, 0.0], [7.0, 0.0], [90.0, 0.0]] * 200
    mix = em.Mixture(random_state=0).fit(X)
    large, small = mix.coarse_clusters(2, names=["width", "height"])
    assert large.size == pytest.approx(400) and small.size == pytest.approx(200)
    assert large.share + small.share == pytest.approx(1.0)
    assert sorted([*large.clusters, *small.clusters]) == sorted(mix.cluster_ids_.tolist())
    assert large.id == min(large.clusters) and small.traits[0].column == "width"
    assert small.traits[0].here == pytest.approx(90, abs=0.5)
    assert repr(large).startswith(f"coarse cluster {large.id}: 400 rows, 66.7 %")
    plain = small.to_dict()
    assert plain["clusters"] == list(small.clusters)
    assert plain["traits"][0]["column"] == "width"
    assert mix.coarse_clusters(1)[0].traits == ()


def test_a_coarse_cluster_is_called_as_most_of_its_rows_are():
    places = np.repeat([[0.0, 0.0], [7.0, 0.0], [90.0, 0.0]], [300, 100, 200], axis=0)
    X = np.random.default_rng(0).normal(size=(600, 2)) + places
    mix = em.Mixture(random_state=0).fit(X)
    many, few = mix.coarse_clusters(2)[0].clusters
    mix.rename(few, "few")
    assert [one.name for one in mix.coarse_clusters(2)] == ["", ""]
    assert "name" not in mix.coarse_clusters(2)[0].to_dict()
    mix.rename(few, None).rename(many, "many")
    assert [one.name for one in mix.coarse_clusters(2)] == ["many and 1 more", ""]


def test_statistics_of_coarse_clusters_are_sums():
    family, X = CASES["gaussian"]
    sums = [statistics(family, X, np.arange(k, len(X), 3)) for k in range(3)]
    stats, mass = (np.concatenate(each) for each in zip(*sums, strict=True))
    whole = fused(Tally.of(np.array([4, 7, 9]), mass, stats, {}), np.array([4, 7, 4]))
    assert whole.ids.tolist() == [4, 7]
    np.testing.assert_allclose(whole.stats, [stats[0] + stats[2], stats[1]])
    np.testing.assert_allclose(whole.mass, [mass[0] + mass[2], mass[1]])


def test_many_clusters_of_many_words_are_compared_by_common_ones(monkeypatch):
    X = texts()[0]
    mix = em.Mixture(em.Multinomial(), random_state=0).fit(X)
    tally = mix.learner_.engine.believed(mix.state_)
    exact = coarse_tree(mix.model_.family, tally)
    monkeypatch.setattr(module, "MOST", 0)
    np.testing.assert_allclose(coarse_tree(mix.model_.family, tally).heights, exact.heights)


@pytest.mark.parametrize("engine", [em.ADF(), em.MemoizedVB(), em.Gibbs(sweeps=20)], ids=repr)
def test_other_engines(engine):
    X, _ = blobs()
    mix = em.Mixture(em.Gaussian(), engine=engine, random_state=0).fit(X)
    assert len(set(mix.coarse(2).tolist())) == 2
    assert len(mix.coarse_clusters(2)) == 2


def test_one_cluster_is_its_own_coarse_one():
    mix = em.Mixture(random_state=0).fit(np.random.default_rng(0).normal(size=(100, 2)))
    if mix.n_clusters_ == 1:
        assert len(mix.coarse_clusters(1)) == 1 and set(mix.coarse(1)) == {0}
