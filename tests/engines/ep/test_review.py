"""The review after the first lap, and merges that count the entropy of assignments."""

import numpy as np
import pytest
from scipy.special import xlogy
from sklearn.metrics import adjusted_rand_score

import evermix as em
from evermix.engines.ep.sites import entropy_lost, no_sites, to_record, to_sites_of


def two(distance, n, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    return rng.normal(size=(n, 2)) + np.outer(y, [distance, 0.0]), y


@pytest.mark.parametrize("distance, least", [(3.0, 0.65), (4.0, 0.86)])
@pytest.mark.parametrize("settings", [{}, {"batch_size": 100, "stride": 3}, {"validation": 0.1}])
def test_overlapping_clusters_stay_apart(distance, least, settings):
    """The best possible are 0.75 and 0.91."""
    X, y = two(distance, 800)
    mix = em.Mixture(prior=em.DP(1.0), engine=em.EP(**settings), random_state=0).fit(X)
    assert adjusted_rand_score(y, mix.predict(X)) > least


def test_later_laps_predict_no_worse():
    X, _ = two(3.0, 3000, seed=1)
    gains = []
    for seed in range(5):
        few, many = (
            em.Mixture(engine=em.EP(laps=laps), random_state=seed).fit(X[:600]).score(X[600:])
            for laps in (2, 20)
        )
        gains.append(many - few)
    assert np.median(gains) > -0.005


def test_the_entropy_that_a_fusion_loses_equals_brute_force():
    """Sites follow merges; held-out rows and those of clusters that are gone do not count."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    engine = em.EP(laps=2, batch_size=25, merge=None)
    family = em.FixedGaussian(0.3, 4.0, 0.0)
    mix = em.Mixture(family, em.DP(3.0), engine, random_state=0).fit(X)
    state, ids = mix.state_, mix.tally_.ids
    assert len(ids) > 2
    weights = rng.integers(0, 3, 60).astype(float)
    q = rng.dirichlet(np.full(len(ids), 0.3), 60)
    q[q < 1e-3] = 0.0
    q /= q.sum(axis=1, keepdims=True)
    held = rng.random(60) < 0.2
    batches = []
    for start in (0, 25, 50):
        some = slice(start, start + 25)
        record = to_record(to_sites_of(q[some], ids)) | {"held": held[some]}
        batches.append((weights[some], record))
    pairs = np.array([[0, 1], [2, 0], [1, 2]])
    counts = np.where(held, 0.0, weights)
    want = [
        counts @ (xlogy(q[:, a] + q[:, b], q[:, a] + q[:, b]) - xlogy(q[:, a], q[:, a]))
        - counts @ xlogy(q[:, b], q[:, b])
        for a, b in pairs
    ]
    np.testing.assert_allclose(entropy_lost(state, batches, pairs), want, atol=1e-9)
    nothing = [(np.ones(5), to_record(no_sites(5)) | {"held": np.zeros(5, bool)})]
    np.testing.assert_array_equal(entropy_lost(state, nothing, pairs), np.zeros(3))


def test_no_review_without_merges_by_the_published_rule_and_in_one_lap():
    X, _ = two(6.0, 300)
    for engine in (em.EP(merge=None), em.EP(birth=0.5, rule="paper"), em.EP(laps=1)):
        mix = em.Mixture(prior=em.DP(1.0), engine=engine).fit(X)
        ends = [info for info in mix.history_ if not info.rows]
        assert not ends[0].births


def test_a_review_that_is_saved_and_resumed_goes_on_bit_for_bit(tmp_path):
    X, _ = two(3.0, 500)
    engine = em.EP(laps=6, tol=0.0, batch_size=100)
    whole = em.Mixture(prior=em.DP(1.0), engine=engine, random_state=0).fit(X)

    def stop(mix, info):
        if info.rows == 0 and info.lap == 0:
            mix.save(tmp_path / "m.evermix")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        em.Mixture(prior=em.DP(1.0), engine=engine, random_state=0).fit(X, observers=[stop])
    again = em.load(tmp_path / "m.evermix").resume(X)
    np.testing.assert_array_equal(again.tally_.mass, whole.tally_.mass)
    np.testing.assert_array_equal(again.labels_, whole.labels_)
