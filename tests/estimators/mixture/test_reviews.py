"""Streams that look back: reviews at fixed clocks, with a bounded sample of rows."""

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

import evermix as em
from evermix.engines.filters.keeping import next_review, thin
from evermix.lookback import FEATURES, KeptRows, hashed
from helpers.mixture_cases import assert_same_model, blobs
from helpers.variants import slow_but


def stream(X, size=100, ask=False):
    mix = em.Mixture()
    for start in range(0, len(X), size):
        mix.partial_fit(X[start : start + size])
        if ask:
            _ = mix.labels_, mix.n_clusters_, mix.predict(X[:2])
    return mix


def three(n=1000, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    return np.array([[0.0, 0.0], [8.0, 0.0], [0.0, 8.0]])[y] + rng.normal(size=(n, 2)), y


def test_reviews_come_at_clocks_that_grow_by_a_factor():
    clocks = [64]
    while clocks[-1] < 10_000:
        clocks.append(next_review(clocks[-1]))
    assert clocks[:6] == [64, 91, 128, 181, 256, 362]
    assert reviewed(stream(three(400)[0])) == clocks[:6]


def reviewed(mix):
    """Return the clocks at which the clusters of a stream were reviewed."""
    return [info.clock for info in mix.history_ if info.rows == 0]


def directions(subjects, seed=0):
    """Return rows of length 1 near one of four directions each."""
    rng = np.random.default_rng(seed)
    X = 4.0 * np.eye(40)[np.asarray(subjects)] + 0.3 * rng.normal(size=(len(subjects), 40))
    return X / np.linalg.norm(X, axis=1, keepdims=True)


def test_directions_are_reviewed_at_every_other_clock_and_where_they_change():
    """Subjects that come in turn change; the same ones in random order do not."""
    subjects = np.repeat([0, 1, 2], [150, 150, 100])
    shuffled = np.random.default_rng(1).permutation(subjects)
    assert reviewed(stream(directions(shuffled))) == [64, 128, 256]
    assert reviewed(stream(directions(subjects))) == [64, 128, 181, 256, 362]


def test_a_late_subject_of_directions_is_found_before_the_rows_have_doubled():
    """The filter alone had shared it among the clusters that were there."""
    rng = np.random.default_rng(2)
    subjects = np.where(np.arange(724) < 530, rng.integers(0, 2, 724), rng.integers(0, 3, 724))
    mix, rows = stream(directions(subjects)), directions([2] * 50, seed=3)
    assert 724 in reviewed(mix) and len(np.unique(mix.predict(rows))) == 1


@pytest.mark.parametrize("n", [40, 64, 300, pytest.param(2200, marks=pytest.mark.slow)])
def test_questions_change_nothing(n):
    X, _ = three(n)
    assert_same_model(stream(X), stream(X, ask=True))


@pytest.mark.parametrize("engine", [em.ADF(lookback=0), em.ADF(merge=None)])
def test_questions_do_not_decide_what_is_learnt_without_reviews_either(engine):
    X = np.random.default_rng(0).normal(size=(120, 40)) + 3 * np.repeat(np.eye(3, 40), 40, axis=0)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    queried, left = em.Mixture(engine=engine), em.Mixture(engine=engine)
    for start in range(0, 120, 30):
        queried.partial_fit(X[start : start + 30])
        assert queried.n_clusters_ == queried.predict_proba(X[:2]).shape[1]
        left.partial_fit(X[start : start + 30])
    assert queried.state_.lookback is None
    assert_same_model(queried, left)


def test_the_first_rows_are_labelled_by_the_clusters_that_are_shown():
    X, y = three(50)
    mix = em.Mixture().partial_fit(X[:10]).partial_fit(X[10:])
    np.testing.assert_array_equal(mix.labels_, mix.predict(X[10:]))
    assert adjusted_rand_score(y[10:], mix.labels_) > 0.9


def test_all_rows_are_counted_after_every_review():
    X, _ = three(3000)
    mix = em.Mixture()
    for start in range(0, 3000, 250):
        mix.partial_fit(X[start : start + 250])
        total = mix.tally_.mass.sum() + mix.state_.latents["dropped"][0]
        assert total == pytest.approx(start + 250)
    assert mix.n_clusters_ == 3 and mix.state_.clock == 3000


def test_the_sample_is_bounded_and_every_cluster_has_its_part():
    X, y = three(5000)
    rare = np.random.default_rng(1).normal(size=(100, 2)) + 40.0
    mix = stream(np.vstack([X[:2500], rare, X[2500:]]), size=1000)
    kept, per_cluster = mix.state_.lookback, em.ADF().lookback
    thin(mix.model_, mix.state_, per_cluster)
    room = kept.rows.room
    assert room == FEATURES // 2
    assert not kept.complete and len(kept.rows.weights) <= max(room, per_cluster * mix.n_clusters_)
    owners = mix.predict(kept.rows.X)
    assert min(np.count_nonzero(owners == k) for k in mix.cluster_ids_) >= per_cluster


def test_of_long_rows_more_are_kept():
    rooms = {D: KeptRows(np.zeros((1, D)), *[np.zeros(1)] * 3).room for D in (8, 32, 64, 128, 2048)}
    assert rooms == {8: 1024, 32: 1024, 64: 2048, 128: 4096, 2048: 2048}


@pytest.mark.parametrize(
    "late", slow_but([1500], [300, 1500])
)  # while all rows are kept, and later
def test_a_second_cluster_in_a_direction_that_the_plane_does_not_have(late):
    D, rng = 64, np.random.default_rng(0)
    X = rng.normal(size=(late + 2500, D))
    X[:, 0] *= 3.0
    X[late:, 1:3] += 4.0
    mix = stream(X)
    assert mix.n_clusters_ == 2
    y = np.arange(len(X)) >= late
    assert adjusted_rand_score(y, mix.predict(X)) > 0.9


@pytest.mark.parametrize(
    "distance", [16.0, 1000.0, *(pytest.param(d, marks=pytest.mark.slow) for d in (30.0, 100.0))]
)
def test_clusters_that_appear_together_far_away_are_separated(distance):
    X, y = three(1000)
    Z, z = three(900, seed=1)
    mix = stream(np.vstack([X, Z + distance]))
    found = mix.predict(np.vstack([X, Z + distance]))
    assert adjusted_rand_score(np.append(y, z + 3), found) > 0.95


def test_sorted_rows_give_the_clusters_of_shuffled_ones():
    X, y = three(1500)
    order = np.argsort(y, kind="stable")
    for rows in (X, X[order]):
        mix = stream(rows)
        assert adjusted_rand_score(y, mix.predict(X)) > 0.98 and mix.n_clusters_ == 3


def test_a_cluster_that_was_fused_is_split_later():
    """Two clusters that drift apart from a common place, after all rows could be kept."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 2))
    y = rng.integers(0, 2, 4500)
    Z = rng.normal(size=(4500, 2)) + np.outer(2 * y - 1, [2.5, 0.0])
    mix = stream(np.vstack([X, Z]), size=500)
    assert mix.n_clusters_ >= 2
    assert adjusted_rand_score(y, mix.predict(Z)) > 0.5


def test_ids_of_clusters_that_stay_are_kept():
    X, _ = blobs(2000)
    mix = stream(X[:500])
    before = mix.predict(X)
    for start in range(500, 2000, 250):
        mix.partial_fit(X[start : start + 250])
    after = mix.predict(X)
    same = [np.mean(after[before == k] == k) for k in np.unique(before)]
    assert np.median(same) > 0.9


def test_a_stream_that_was_saved_goes_on_as_if_it_was_not(tmp_path):
    X, _ = three(1100)
    for cut in (30, 1050):
        mix = em.Mixture().partial_fit(X[:cut])
        mix.save(tmp_path / "m.evermix")
        again = em.load(tmp_path / "m.evermix").partial_fit(X[cut:])
        assert_same_model(em.Mixture().partial_fit(X[:cut]).partial_fit(X[cut:]), again)


def test_rows_are_chosen_by_their_clocks_alone():
    clocks = np.arange(10_000)
    order = np.argsort(hashed(clocks))
    assert abs(np.corrcoef(clocks, order)[0, 1]) < 0.05


def test_an_interrupt_loses_no_row():
    """Rows that were learnt but not kept still count after the next review."""
    X, _ = three(800)
    mix = em.Mixture().partial_fit(X[:100])

    def interrupt(mix, info):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        mix.partial_fit(X[100:300], observers=[interrupt])
    clock = mix.state_.clock
    mix.partial_fit(X[300:])
    total = mix.tally_.mass.sum() + mix.state_.latents["dropped"][0]
    assert mix.state_.clock == clock + 500 == round(total)
    assert mix.n_clusters_ == 3


def test_rows_of_weight_zero_bring_no_review():
    X, _ = three(300)
    weights = np.ones(300)
    weights[64:100] = 0.0
    whole = em.Mixture().partial_fit(X, sample_weight=weights)
    kept = em.Mixture().partial_fit(np.delete(X, np.s_[64:100], axis=0))
    assert_same_model(whole, kept)


def test_the_history_tells_how_what_was_learnt_has_moved():
    X, _ = three(400)
    mix = em.Mixture().partial_fit(X)
    reviews = [info for info in mix.history_ if not info.rows]
    assert [info.clock for info in reviews] == [64, 91, 128, 181, 256, 362]
    for info in reviews:
        assert {"family.kappa", "family.nu", "prior.alpha"} <= set(info.scalars)
    assert reviews[-1].scalars["prior.alpha"] == mix.model_.prior.alpha


def test_a_review_that_fails_leaves_the_rows_before_it(monkeypatch):
    X, _ = three(300)
    mix = em.Mixture().partial_fit(X[:100])

    def failing(*_):
        raise MemoryError

    with monkeypatch.context() as patch, pytest.raises(MemoryError):
        patch.setattr(em.ADF, "continued", failing)
        mix.partial_fit(X[100:])
    kept = mix.state_.lookback.rows
    assert mix.state_.clock == len(kept.weights) == 128
    assert mix.tally_.mass.sum() == pytest.approx(128)
    assert mix.partial_fit(X[128:]).n_clusters_ == 3


@pytest.mark.parametrize("prior", [em.DP(1.0), em.NGGP(), em.PitmanYor(1.0, 0.25)])
@pytest.mark.parametrize("distance, least", [(3.0, 0.65), (4.0, 0.86)])
def test_a_given_filter_keeps_overlapping_clusters_apart(prior, distance, least):
    """The best possible are 0.75 and 0.91."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 1000)
    X = rng.normal(size=(1000, 2)) + np.outer(y, [distance, 0.0])
    mix = em.Mixture(prior=prior, engine=em.ADF()).fit(X)
    assert adjusted_rand_score(y, mix.predict(X)) > least
    np.testing.assert_array_equal(mix.labels_, mix.predict(X))


def test_a_fit_reviews_as_a_stream_does():
    X, _ = three(1500)
    family = em.Gaussian(mean=3.0, kappa=0.05, nu=5.0, scale=1.0)
    fitted = em.Mixture(family, em.DP(1.0), em.ADF()).fit(X)
    stream = em.Mixture(family, em.DP(1.0), em.ADF()).partial_fit(X[:700]).partial_fit(X[700:])
    assert fitted.n_clusters_ <= stream.n_clusters_  # a fit drops clusters that own no row
    for k in fitted.cluster_ids_:
        rows = fitted.labels_ == k
        assert len(np.unique(stream.predict(X[rows]))) == 1


@pytest.mark.parametrize("engine", [em.ADF(lookback=0), em.ADF(merge=None)])
def test_reviews_can_be_switched_off(engine):
    X, _ = three(300)
    mix = em.Mixture(engine=engine).partial_fit(X)
    assert mix.state_.lookback is None and reviewed(mix) == []


def overlapping(n=600):
    """Rows of one cluster, then of two that a filter fuses and a review tells apart."""
    rng = np.random.default_rng(0)
    late = (np.arange(n) >= n // 3) & (rng.random(n) < 0.5)
    return rng.normal(size=(n, 2)) + np.where(late[:, None], [3.5, 0.0], 0.0)


def test_what_a_review_has_split_has_a_parent(tmp_path):
    mix, X = em.Mixture(), overlapping()
    for batch in np.array_split(X, 30):
        before = set(mix.cluster_ids_.tolist()) if hasattr(mix, "learner_") else set()
        mix.partial_fit(batch)
        for id in set(mix.lineage_.parents) & set(mix.cluster_ids_.tolist()) - before:
            assert mix.lineage_.parents[id] in before
    parents = mix.lineage_.parents
    assert parents and {mix.lineage_.found_at(id) for id in parents} <= set(reviewed(mix))
    assert mix.card(max(parents)).parent == parents[max(parents)]
    assert "split from" in repr(mix.card(max(parents)))
    mix.save(tmp_path / "mix.evermix")
    assert em.load(tmp_path / "mix.evermix").lineage_ == mix.lineage_
