"""Draws of partitions: co-clustering, losses, the draw that stands for all."""

import numpy as np
import pytest

from evermix.report import Posterior
from evermix.report.posterior import MAX_REFERENCES
from helpers.partition_cases import LOSSES, all_partitions, entropy


def _posterior(M=12, N=9, seed=0):
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, rng.integers(1, 6, size=(M, 1)), size=(M, N)).astype(np.int32)
    return Posterior(labels, np.arange(M) % 3, {"log_joint": rng.normal(size=M)})


def _relabelled(posterior, rng):
    """The same draws under other cluster numbers, far apart and negative too."""
    names = np.stack([rng.permutation(50) * 10_000_019 - 2**28 for _ in posterior.labels])
    labels = np.take_along_axis(names, posterior.labels.astype(np.int64), axis=1)
    return Posterior(labels, posterior.chain, posterior.scalars)


@pytest.mark.parametrize("loss", LOSSES)
def test_losses_of_all_partitions_follow_their_definition(loss):
    """All pairs of the 52 partitions of five rows."""
    partitions = all_partitions(5)
    for a in partitions:
        one = Posterior(a[None], [0])
        for b in partitions:
            assert one.expected_loss(b, loss) == pytest.approx(LOSSES[loss](a, b), abs=1e-12)


@pytest.mark.parametrize("loss", LOSSES)
def test_losses_are_metrics(loss):
    """Zero for equal partitions only, symmetric, and no detour is shorter."""
    partitions = all_partitions(4)
    d = np.array([[Posterior(a[None], [0]).expected_loss(b, loss) for b in partitions]
                  for a in partitions])  # fmt: skip
    same = np.eye(len(partitions), dtype=bool)
    assert np.all(d[same] < 1e-12) and np.all(d[~same] > 1e-3)
    np.testing.assert_allclose(d, d.T, atol=1e-12)
    assert np.all(d[:, None, :] <= d[:, :, None] + d[None, :, :] + 1e-12)


@pytest.mark.parametrize("loss", LOSSES)
def test_the_expected_loss_is_the_mean_over_draws(loss):
    posterior = _posterior()
    for candidate in posterior.labels:
        wanted = np.mean([LOSSES[loss](candidate, draw) for draw in posterior.labels])
        assert posterior.expected_loss(candidate, loss) == pytest.approx(wanted, abs=1e-12)


@pytest.mark.parametrize("loss", LOSSES)
def test_the_point_is_the_draw_of_least_expected_loss(loss):
    for seed in range(5):
        posterior = _posterior(M=15, seed=seed)
        losses = [posterior.expected_loss(draw, loss) for draw in posterior.labels]
        assert losses[posterior.point(loss)] == pytest.approx(min(losses), abs=1e-12)


@pytest.mark.parametrize("loss", LOSSES)
def test_the_point_of_many_draws_is_the_partition_that_most_of_them_are(loss):
    """Also where candidates are compared with some draws only, whatever the order of chains."""
    rng = np.random.default_rng(1)
    M = 3 * MAX_REFERENCES
    labels = np.where(rng.random((M, 1)) < 0.7, np.repeat([0, 1], 5), rng.integers(0, 4, (M, 10)))
    posterior = Posterior(labels, np.arange(M) % 2)
    assert posterior.labels[posterior.point(loss)].tolist() == [0] * 5 + [1] * 5


def test_co_clustering_counts_the_draws_in_which_rows_are_together():
    """More rows than a tile, so that tiles on and off the diagonal are met."""
    posterior = _posterior(M=7, N=75)
    together = posterior.co_clustering()
    wanted = np.zeros((75, 75))
    for draw in posterior.labels:
        wanted += draw[:, None] == draw[None, :]
    np.testing.assert_array_equal(together, wanted / 7)


@pytest.mark.parametrize("rows", [[3, 0, 3], (3, 0), np.arange(9) % 2 == 0, np.array([-1]), []])
def test_co_clustering_of_chosen_rows_is_a_part_of_the_whole(rows):
    posterior = _posterior()
    chosen = np.arange(9)[np.asarray(rows, dtype=None if len(rows) else int)]
    whole = posterior.co_clustering()
    np.testing.assert_array_equal(posterior.co_clustering(rows), whole[np.ix_(chosen, chosen)])


def test_co_clustering_too_large_for_memory_is_refused_with_advice():
    posterior = Posterior(np.zeros((1, 20_000), dtype=np.int32), [0])
    with pytest.raises(ValueError, match="pass fewer rows"):
        posterior.co_clustering()
    assert posterior.co_clustering(slice(3)).tolist() == [[1.0] * 3] * 3


def test_cluster_numbers_do_not_matter():
    """Numbers may be anything that fits 32 bits."""
    posterior = _posterior()
    other = _relabelled(posterior, np.random.default_rng(2))
    assert np.ptp(other.labels.astype(np.int64)) > 2**28
    np.testing.assert_array_equal(other.n_clusters, posterior.n_clusters)
    np.testing.assert_array_equal(other.size_entropy, posterior.size_entropy)
    np.testing.assert_array_equal(other.co_clustering(), posterior.co_clustering())
    for loss in LOSSES:
        assert other.point(loss) == posterior.point(loss)
        assert other.expected_loss(posterior.labels[0], loss) == posterior.expected_loss(
            other.labels[0], loss
        )


def test_each_draw_tells_its_clusters_and_their_entropy():
    posterior = _posterior()
    for m, draw in enumerate(posterior.labels):
        assert posterior.n_clusters[m] == len(set(draw.tolist()))
        assert posterior.size_entropy[m] == pytest.approx(entropy(draw.tolist()), abs=1e-12)
    assert (posterior.n_draws, posterior.n_chains) == (12, 3)
    assert repr(posterior) == "Posterior(12 draws of 3 chains, 9 rows)"
    assert set(posterior.traces()) == {"K", "size_entropy", "log_joint"}


def test_k_is_what_the_labels_say():
    """As whole numbers, also where a sampler recorded its own."""
    K = Posterior([[0, 0], [0, 1]], [0, 0], {"K": [1.0, 2.0]}).traces()["K"]
    assert K.dtype == np.int64 and K.tolist() == [1, 2]


@pytest.mark.parametrize("N", [1, 3])
def test_one_draw_is_its_own_summary(N):
    posterior = Posterior(np.arange(N)[None], [4])
    assert posterior.point() == posterior.point("binder") == 0
    assert posterior.n_clusters.tolist() == [N]
    np.testing.assert_array_equal(posterior.co_clustering(), np.eye(N))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([0, 1], [0, 0]), r"labels must be \(draws, rows\)"),
        ((np.zeros((0, 3), int), []), "at least one of each"),
        (([[0.0, 1.0]], [0]), "labels must be whole numbers"),
        (([[0, 2**31]], [0]), "labels must be whole numbers from -2147483648"),
        (([[0, 1]], [0.5]), "chain must be whole numbers"),
        (([[0, 1]], [0, 1]), "chain must have one entry per draw"),
        (([[0, 1]], [0], {"K": [1.0, 2.0]}), "K must have one entry per draw"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        Posterior(*arguments)


def test_wrong_questions_are_refused():
    posterior = _posterior()
    with pytest.raises(ValueError, match="loss must be 'vi' or 'binder', got 'VI'"):
        posterior.point("VI")
    with pytest.raises(ValueError, match=r"one entry per row, \(9,\)"):
        posterior.expected_loss(np.zeros(8, int))
    with pytest.raises(ValueError, match="labels must be whole numbers, got the type <U1"):
        posterior.expected_loss(np.array(["a"] * 9))
    for rows in (3, [[0, 1]], [0.5], "x"):
        with pytest.raises(ValueError, match="rows must be row numbers"):
            posterior.co_clustering(rows)
