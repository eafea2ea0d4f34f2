"""Clusters joined into groups: laws of the tree, where it is cut, and shapes end to end."""

import numpy as np
import pytest
from scipy import sparse
from scipy.cluster.hierarchy import fcluster, is_valid_linkage
from sklearn.datasets import make_circles, make_moons
from sklearn.metrics import adjusted_mutual_info_score

import evermix as em
from evermix.estimators.mixture.hierarchy import Hierarchy, grow
from evermix.estimators.mixture.valleys import Valleys, find_valleys
from evermix.tally import Tally
from helpers.mixture_cases import blobs, texts


def gaussian_tally(means, sd=1.0, mass=1000.0, copies=None):
    """Round clusters with these means (K, D), as the tally of a resolved family."""
    means = np.asarray(means, dtype=np.float64)
    K, D = means.shape
    family = em.Gaussian(mean=0.0, kappa=0.01, nu=D + 2.0, scale=1.0).candidates(means[:1])[0]
    about = means - family.origin
    second = about[:, :, None] * about[:, None, :] + sd**2 * np.eye(D)
    masses = np.broadcast_to(mass, K).astype(np.float64)
    stats = masses[:, None] * np.column_stack([about, second.reshape(K, -1)])
    return family, Tally.of(np.arange(K), masses, stats, {})


def tree_of(family, tally):
    return grow(tally.ids, find_valleys(family, tally, np.log(tally.mass / tally.mass.sum())))


def partition(labels):
    return {frozenset(np.flatnonzero(labels == name).tolist()) for name in np.unique(labels)}


def random_valleys(K, seed):
    rng = np.random.default_rng(seed)
    saddles, peaks = rng.normal(size=(K, K)) - 3, rng.normal(size=K)
    return Valleys(
        peaks, np.minimum(np.maximum(saddles, saddles.T), np.minimum.outer(peaks, peaks))
    )


# ---- the tree ------------------------------------------------------------------------------


def brute_force(valleys):
    """Join the two groups with the shallowest valley until one is left; return the depths."""
    groups, depths = [[k] for k in range(len(valleys.peaks))], []
    partitions = []
    while len(groups) > 1:
        found = []
        for i, a in enumerate(groups):
            for j, b in enumerate(groups[:i]):
                lower = min(valleys.peaks[a].max(), valleys.peaks[b].max())
                found.append((lower - valleys.saddles[np.ix_(a, b)].max(), i, j))
        depth, i, j = min(found)
        groups[j] = groups[j] + groups.pop(i)
        depths.append(depth)
        partitions.append({frozenset(group) for group in groups})
    return depths, partitions


@pytest.mark.parametrize("seed", range(5))
def test_the_spanning_tree_gives_what_looking_at_all_pairs_gives(seed):
    valleys = random_valleys(9, seed)
    tree = grow(np.arange(9), valleys)
    depths, partitions = brute_force(valleys)
    np.testing.assert_allclose(tree.heights, depths)
    for merges, groups in enumerate(partitions, start=1):
        assert partition(tree.cut(n_groups=9 - merges)) == groups


@pytest.mark.parametrize("seed", range(3))
def test_heights_never_fall_and_cuts_go_from_clusters_to_one_group(seed):
    ids = np.array([7, 3, 12, 5, 20, 0])
    tree = grow(ids, random_valleys(6, seed))
    assert np.all(np.diff(tree.heights) >= 0)
    np.testing.assert_array_equal(tree.cut(n_groups=6), ids)
    np.testing.assert_array_equal(tree.cut(n_groups=1), np.zeros(6))
    for n in range(1, 7):
        groups = tree.cut(n_groups=n)
        assert len(np.unique(groups)) == n
        assert all(ids[groups == name].min() == name for name in groups)
    np.testing.assert_array_equal(tree.cut(height=tree.heights[2]), tree.cut(n_groups=3))


def test_the_order_of_clusters_changes_nothing():
    family, tally = gaussian_tally(np.random.default_rng(0).normal(scale=4.0, size=(8, 2)))
    tree, order = tree_of(family, tally), np.array([3, 1, 7, 0, 2, 6, 5, 4])
    other = tree_of(family, tally.take(order))
    np.testing.assert_allclose(other.heights, tree.heights, atol=1e-9)
    for n in range(1, 9):
        np.testing.assert_array_equal(other.cut(n_groups=n), tree.cut(n_groups=n)[order])


def test_scipy_takes_the_linkage_and_cuts_it_alike():
    tree = grow(np.arange(7), random_valleys(7, 1))
    assert is_valid_linkage(tree.linkage)
    for n in (2, 3, 5):
        theirs = fcluster(tree.linkage, n, criterion="maxclust")
        assert partition(theirs) == partition(tree.cut(n_groups=n))


@pytest.mark.parametrize("K", [0, 1, 2])
def test_trees_of_few_clusters_are_left_as_they_are(K):
    tree = grow(np.arange(K), Valleys(np.zeros(K), np.full((K, K), -1.0)))
    assert tree.linkage.shape == (max(K - 1, 0), 4)
    np.testing.assert_array_equal(tree.cut(), np.arange(K))


def test_impossible_cuts_are_refused():
    tree = grow(np.arange(4), random_valleys(4, 0))
    with pytest.raises(ValueError, match="not both"):
        tree.cut(1.0, 2)
    for n in (0, 5):
        with pytest.raises(ValueError, match="from 1 to the number of clusters, 4"):
            tree.cut(n_groups=n)


# ---- valleys -------------------------------------------------------------------------------


@pytest.mark.parametrize("apart", [3.0, 4.0, 5.0])
def test_the_valley_between_two_gaussians_is_that_of_their_density(apart):
    tree = tree_of(*gaussian_tally([[0.0, 0.0], [apart, 0.0]], mass=1e6))
    x = np.linspace(0, apart, 1001)
    log_density = np.logaddexp(-(x**2) / 2, -((x - apart) ** 2) / 2)
    np.testing.assert_allclose(tree.heights, log_density[0] - log_density.min(), rtol=1e-3)


def test_identical_clusters_join_first_and_at_height_zero():
    tree = tree_of(*gaussian_tally([[0.0, 0.0], [6.0, 0.0], [0.0, 0.0], [0.0, 7.0]]))
    assert tree.merges[0].tolist() == [0, 2]
    np.testing.assert_allclose(tree.heights[0], 0.0, atol=1e-9)
    assert tree.heights[1] > 1


@pytest.mark.parametrize("family", [em.Bernoulli(), em.Poisson(), em.Multinomial()])
def test_other_families_join_what_is_alike(family):
    """Clusters 0 and 2 have the same rows; cluster 1 has others."""
    X = np.repeat([[0, 1, 1, 0, 1, 0], [1, 0, 0, 1, 0, 1], [0, 1, 1, 0, 1, 0]], 50, axis=0)
    rows = X.astype(np.float64)
    rows = sparse.csr_array(rows) if family.sparse else rows
    family = family.candidates(rows)[0]
    r = np.repeat(np.eye(3), 50, axis=0)
    stats = family.accumulate(rows, r)
    tree = tree_of(family, Tally.of(np.arange(3), r.sum(axis=0), stats, {}, family.layout))
    assert tree.merges[0].tolist() == [0, 2]
    assert tree.heights[0] < 1e-6 < 1 < tree.heights[1]


# ---- where the tree is cut -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("heights", "groups"),
    [
        ([0.7], 2),  # two overlapping blobs stay two
        ([0.3, 0.3, 0.35, 0.4], 5),  # so do five
        ([0.5, 0.6, 0.7, 0.9, 8.0], 2),  # chains
        ([0.5, 0.6, 0.9, 7.0, 9.0], 3),
        ([2.0, 2.5, 3.0, 20.0], 5),  # blobs in two places: far is far
        ([0.0, 0.0, 4.0], 2),  # nothing parts them
        ([0.0, 0.0], 2),
    ],
)
def test_the_cut_is_where_valleys_get_deep(heights, groups):
    K = len(heights) + 1
    merges = np.array([[0, 1], *([K + i, i + 2] for i in range(K - 2))])
    tree = Hierarchy(np.arange(K), merges, np.array(heights), np.arange(2, K + 1))
    assert tree.n_groups == len(np.unique(tree.cut())) == groups


# ---- end to end ----------------------------------------------------------------------------


def shapes(X):
    engine = em.MemoizedVB(start="kmeans++", truncation=15, births=False)
    return em.Mixture(em.Gaussian(scale=0.03), em.DP(1.0), engine, random_state=0).fit(X)


SHAPES = {
    "moons": make_moons(600, noise=0.05, random_state=1),
    "rings": make_circles(600, factor=0.4, noise=0.05, random_state=1),
}


@pytest.mark.parametrize("name", SHAPES)
def test_shapes_of_many_clusters_become_groups(name):
    X, y = SHAPES[name]
    mix = shapes(X)
    assert mix.n_clusters_ > 4
    assert adjusted_mutual_info_score(y, mix.groups()) > 0.9
    np.testing.assert_array_equal(mix.groups(X), mix.groups())
    by_cluster = dict(zip(mix.cluster_ids_.tolist(), mix.group_ids_.tolist(), strict=True))
    np.testing.assert_array_equal(mix.groups(), [by_cluster[k] for k in mix.labels_.tolist()])
    assert len(np.unique(mix.groups(n_groups=3))) == 3
    np.testing.assert_array_equal(mix.groups(cut=0.0), mix.groups(cut=-1.0))


def test_overlapping_blobs_are_not_joined():
    rng, y = np.random.default_rng(0), np.repeat([0, 1], 500)
    X = rng.normal(size=(1000, 2)) + np.outer(y, [3.5, 0.0])
    engine = em.MemoizedVB(start="kmeans++", truncation=4, births=False)
    mix = em.Mixture(em.Gaussian(scale=1.0), em.DP(1.0), engine, random_state=0).fit(X)
    assert mix.n_clusters_ == 2
    np.testing.assert_array_equal(mix.groups(), mix.labels_)


def test_streams_have_groups_after_every_batch_and_names_that_are_ids():
    X, _ = blobs(900, groups=3)
    mix = em.Mixture(em.Gaussian(scale=1.0), em.DP(1.0))
    for start in range(0, 900, 300):
        mix.partial_fit(X[start : start + 300])
        groups = mix.groups()
        assert groups.shape == (300,) and set(groups) <= set(mix.cluster_ids_)
    by_cluster = dict(zip(mix.cluster_ids_.tolist(), mix.group_ids_.tolist(), strict=True))
    np.testing.assert_array_equal(mix.groups(X), [by_cluster[k] for k in mix.predict(X).tolist()])


def test_texts_and_samplers_have_a_tree_too():
    X, _ = texts(n=150)
    mix = em.Mixture(engine=em.Gibbs(sweeps=6, burn_in=2), random_state=0).fit(X)
    assert len(mix.hierarchy_.ids) == mix.n_clusters_
    np.testing.assert_array_equal(mix.groups(n_groups=mix.n_clusters_), mix.labels_)
