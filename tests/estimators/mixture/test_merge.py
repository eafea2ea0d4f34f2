"""Models that were taught apart become one, as if one had seen all rows."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError

import evermix as em
from evermix.families.base import Family
from evermix.io import checkpoint

CENTRES = 2.0 * np.array([[0, 0, 0], [25, 0, 5], [0, 30, -5], [-28, -20, 0]])
GAUSSIAN = em.Gaussian(mean=0.0, kappa=0.01, nu=30.0, scale=1.0)
ENGINES = {
    "adf": em.ADF(),
    "ep": em.EP(laps=4),
    "full": em.FullVB(laps=20, truncation=4),
    "stochastic": em.StochasticVB(laps=4, batch_size=40, truncation=4),
    "memoized": em.MemoizedVB(laps=12, batch_size=40),
}
FAMILIES = {
    "gaussian": GAUSSIAN,
    "diagonal": em.DiagonalGaussian(mean=0.0, kappa=0.01, shape=15.0, rate=14.0),
    "fixed": em.FixedGaussian(variance=1.0, mean_variance=1600.0),
}


def blobs(n, clusters=range(4), seed=0):
    """Return rows (n, 3) of these clusters, so far apart that every share is 0 or 1."""
    rng = np.random.default_rng(seed)
    names = rng.choice(list(clusters), size=n)
    return 0.7 * rng.normal(size=(n, 3)) + CENTRES[names], names


def posts(n, topics, seed):
    """Return documents (n, 40) of 60 words; a topic has 8 words of its own."""
    rng = np.random.default_rng(seed)
    share = np.full((5, 40), 0.002)
    for topic, words in enumerate(np.arange(40).reshape(5, 8)):
        share[topic, words] = 1.0
    share /= share.sum(axis=1, keepdims=True)
    names = rng.choice(list(topics), size=n)
    rows = np.array([rng.multinomial(60, share[k]) for k in names])
    return sparse.csr_array(rows.astype(float)), names


def mixture(engine="adf", family=GAUSSIAN, **settings):
    return em.Mixture(family=family, engine=ENGINES[engine], random_state=0, **settings)


def partition(merged):
    """Return the merged clusters as sets of (model, cluster); names do not matter."""
    groups = {}
    for i, names in enumerate(merged.label_maps_):
        for old, new in enumerate(names[:-1]):
            groups.setdefault(int(new), set()).add((i, old))
    return {frozenset(group) for group in groups.values()}


def in_order(mix):
    """Return mass and statistics of clusters, sorted by their ids."""
    order = np.argsort(mix.cluster_ids_)
    return mix.tally_.mass[order], mix.tally_.stats[order]


@pytest.mark.parametrize("engine", ENGINES)
def test_merging_one_model_changes_nothing(engine):
    X, _ = blobs(120)
    mix = mixture(engine).fit(X)
    same = em.merge([mix])
    np.testing.assert_array_equal(same.cluster_ids_, mix.cluster_ids_)
    np.testing.assert_array_equal(same.tally_.mass, mix.tally_.mass)
    np.testing.assert_array_equal(same.tally_.stats, mix.tally_.stats)
    np.testing.assert_allclose(same.score_samples(X), mix.score_samples(X), rtol=1e-10)
    np.testing.assert_array_equal(same.label_maps_[0][mix.labels_], mix.labels_)
    if engine in ("full", "stochastic", "memoized"):
        assert same.lower_bound_ == mix.lower_bound_


@pytest.mark.parametrize("engine", [name for name in ENGINES if name != "stochastic"])
@pytest.mark.parametrize("family", FAMILIES)
def test_halves_merge_into_the_clusters_of_the_whole_with_exact_sums(engine, family):
    """Each half has an origin of its own, and counts its rows from there."""
    X, names = blobs(240, seed=3)
    halves = [mixture(engine, FAMILIES[family]).fit(part) for part in (X[:100], X[100:])]
    merged = em.merge(halves)
    labels = np.concatenate([merged.label_maps_[i][m.labels_] for i, m in enumerate(halves)])
    np.testing.assert_array_equal(merged.predict(X), labels)
    assert merged.n_clusters_ == 4
    assert len(set(zip(labels.tolist(), names.tolist(), strict=True))) == 4
    mass, stats = in_order(merged)
    hard = np.eye(4)[labels]
    want = merged.model_.family.accumulate(X, hard)
    np.testing.assert_allclose(mass, hard.sum(axis=0), rtol=1e-12)
    scale = np.abs(want).max(axis=1, keepdims=True)
    np.testing.assert_allclose(stats / scale, want / scale, atol=1e-12)


def test_noisy_halves_merge_into_the_clusters_of_the_whole():
    """Stochastic sums are averages over steps, so only the clusters are those of the whole."""
    X, names = blobs(240, seed=3)
    merged = em.merge([mixture("stochastic").fit(part) for part in (X[:100], X[100:])])
    assert merged.n_clusters_ == 4
    assert len(set(zip(merged.predict(X).tolist(), names.tolist(), strict=True))) == 4
    assert merged.lower_bound_ == -np.inf


def test_the_whole_and_the_merged_model_say_the_same():
    X, _ = blobs(240, seed=3)
    whole = mixture().fit(X)
    merged = em.merge([mixture().fit(X[:100]), mixture().fit(X[100:])])
    np.testing.assert_allclose(merged.score_samples(X), whole.score_samples(X), rtol=1e-9)
    np.testing.assert_array_equal(merged.predict(X), whole.predict(X))


@pytest.mark.parametrize("family", FAMILIES)
def test_an_offset_of_the_data_costs_no_digits(family):
    """Far from zero, statistics are still moved between origins that are near each other."""
    X, _ = blobs(240, seed=3)
    there = replace(FAMILIES[family], mean=1e6)
    near, far = (
        em.merge([mixture(family=f).fit(part) for part in (Z[:100], Z[100:])])
        for f, Z in [(FAMILIES[family], X), (there, X + 1e6)]
    )
    np.testing.assert_allclose(far.score_samples(X + 1e6), near.score_samples(X), rtol=1e-7)


@pytest.mark.parametrize("family", FAMILIES)
def test_the_bound_of_a_merged_model_is_that_of_all_rows(family):
    """Rows share nothing across models, so their entropies and the evidence are known exactly."""
    X, _ = blobs(240, seed=3)
    whole = mixture("full", FAMILIES[family]).fit(X)
    halves = [mixture("full", FAMILIES[family]).fit(part) for part in (X[:100], X[100:])]
    merged = em.merge(halves)
    assert merged.lower_bound_ == pytest.approx(whole.lower_bound_, rel=1e-9)
    engine, state = merged.learner_.engine, merged.state_
    assert engine.bound(merged.model_, state) == pytest.approx(merged.lower_bound_, rel=1e-9)
    assert merged.lower_bound_ > em.merge(halves, threshold=np.inf).lower_bound_


@pytest.mark.parametrize("engine", ENGINES)
def test_models_of_other_data_are_put_beside_each_other(engine):
    left, right = (mixture(engine).fit(blobs(100, which)[0]) for which in ([0, 1], [2, 3]))
    merged = em.merge([left, right])
    assert merged.n_clusters_ == left.n_clusters_ + right.n_clusters_
    total = left.tally_.mass.sum() + right.tally_.mass.sum()
    assert merged.tally_.mass.sum() == pytest.approx(total, rel=1e-12)
    assert sorted(np.concatenate([m[:-1] for m in merged.label_maps_])) == list(
        range(merged.n_clusters_)
    )


@pytest.mark.parametrize("engine", ["adf", "memoized"])
def test_the_order_of_models_does_not_matter(engine):
    """Soft, overlapping topics of few documents: the partition is the same, up to names."""
    prior = em.DP(1.0)
    shards = [
        mixture(engine, em.Multinomial(0.1), prior=prior).fit(posts(60, topics, seed)[0])
        for seed, topics in enumerate([[0, 1, 2], [1, 2, 3], [2, 3, 4], range(5)])
    ]
    merged = em.merge(shards)
    assert merged.n_clusters_ == 5
    for order in ([3, 2, 1, 0], [1, 3, 0, 2]):
        other = em.merge([shards[i] for i in order])
        renamed = {frozenset((order[i], k) for i, k in group) for group in partition(other)}
        assert renamed == partition(merged)
        X = posts(30, range(5), 9)[0]
        np.testing.assert_allclose(other.score_samples(X), merged.score_samples(X), rtol=1e-9)


def test_one_model_of_documents_stays_as_it_is():
    X = posts(40, range(5), 0)[0]
    mix = mixture(family=em.Multinomial(0.1)).fit(X)
    np.testing.assert_array_equal(em.merge([mix]).score_samples(X), mix.score_samples(X))


def test_a_merged_model_is_a_start_for_a_fit_of_all_rows(tmp_path):
    """So engines that come back to their rows can go on, where the rows are at hand."""
    X, names = blobs(240, seed=3)
    path = str(tmp_path / "m.evermix")
    em.merge([mixture("memoized").fit(part) for part in (X[:100], X[100:])]).save(path)
    engine = em.MemoizedVB(laps=3, batch_size=40, start=path, births=False)
    whole = em.Mixture(GAUSSIAN, engine=engine, random_state=0).fit(X)
    assert len(set(zip(whole.labels_.tolist(), names.tolist(), strict=True))) == 4


def test_merging_in_two_steps_is_merging_at_once():
    shards = [mixture().fit(blobs(80, seed=s)[0]) for s in range(4)]
    at_once = em.merge(shards)
    in_steps = em.merge([em.merge(shards[:2]), em.merge(shards[2:])])
    X, _ = blobs(50, seed=9)
    assert in_steps.n_clusters_ == at_once.n_clusters_ == 4
    np.testing.assert_allclose(in_steps.score_samples(X), at_once.score_samples(X), rtol=1e-9)
    np.testing.assert_array_equal(in_steps.predict(X), at_once.predict(X))


def test_clusters_of_one_model_stay_apart():
    """Their model had the rows; even two that are the same are left to it."""
    X, _ = blobs(200, [0])
    apart = em.ADF(merge=None)
    double = em.Mixture(GAUSSIAN, engine=apart).fit(X[:100])
    double = em.merge([double, em.Mixture(GAUSSIAN, engine=apart).fit(X[100:150])], np.inf)
    assert double.n_clusters_ == 2
    merged = em.merge([double, em.Mixture(GAUSSIAN, engine=apart).fit(X[150:])])
    assert merged.n_clusters_ == 2
    dropped = merged.state_.latents["dropped"][0]
    assert merged.tally_.mass.sum() + dropped == pytest.approx(200, rel=1e-12)


def test_clusters_of_the_first_model_keep_their_names():
    first, second = (mixture().fit(blobs(100, seed=s)[0]) for s in (1, 2))
    merged = em.merge([first, second])
    np.testing.assert_array_equal(merged.label_maps_[0][:-1], np.arange(4))
    names = merged.label_maps_[1]
    np.testing.assert_array_equal(merged.predict(blobs(50)[0]), names[second.predict(blobs(50)[0])])


def test_names_that_a_stream_has_given_up_are_translated_too():
    """Merged and dropped ids of a stream, and -1, have a place in the map."""
    X, _ = blobs(3000, seed=5)
    stream = em.Mixture(em.Gaussian(0.0, 0.01, 6.0, 0.1), engine=em.ADF(birth=0.3))
    early = stream.partial_fit(X[:50]).labels_.copy()
    stream.partial_fit(X[50:])
    lineage = stream.lineage_
    assert lineage.next_id > stream.n_clusters_
    (names,) = em.merge([stream]).label_maps_
    today = np.maximum(lineage.current(early), -1)
    np.testing.assert_array_equal(names[early][today < 0], -1)
    np.testing.assert_array_equal(names[early], names[today])
    assert names[-1] == -1 and len(names) == lineage.next_id + 1


def test_a_stream_goes_on_after_a_merge():
    X, _ = blobs(3200, seed=1)
    shards = [mixture().partial_fit(part) for part in (X[:100], X[100:200])]
    merged = em.merge(shards)
    merged.partial_fit(X[200:])
    whole = mixture().partial_fit(X)
    assert merged.n_clusters_ == whole.n_clusters_ == 4
    assert merged.tally_.mass.sum() == pytest.approx(3200)
    assert merged.state_.clock == whole.state_.clock
    np.testing.assert_allclose(merged.score_samples(X), whole.score_samples(X), rtol=1e-9)
    np.testing.assert_array_equal(merged.label_maps_[0][shards[0].labels_], merged.predict(X[:100]))


def test_maps_follow_what_the_stream_joins_later():
    X, _ = blobs(1200, [0])
    shards = [mixture().partial_fit(part) for part in (X[:50], X[50:100])]
    merged = em.merge(shards, threshold=np.inf).partial_fit(X[100:])
    assert merged.n_clusters_ == 1
    np.testing.assert_array_equal(merged.label_maps_[0], merged.label_maps_[1])
    assert merged.label_maps_[0][0] == merged.cluster_ids_[0]


def test_models_stay_as_they_are():
    X, _ = blobs(160)
    for engine in ENGINES:
        models = [mixture(engine).fit(part) for part in (X[:80], X[80:])]
        before = [json.dumps(_plain(m.state_.to_arrays())) for m in models]
        merged = em.merge(models)
        if engine == "adf":
            merged.partial_fit(X)
        assert before == [json.dumps(_plain(m.state_.to_arrays())) for m in models]


def _plain(state):
    arrays, header = state
    return {name: values.tolist() for name, values in arrays.items()}, header


@pytest.mark.parametrize("engine", ENGINES)
def test_a_merged_model_survives_a_file(tmp_path, engine):
    X, _ = blobs(160)
    merged = em.merge([mixture(engine).fit(part) for part in (X[:80], X[80:])])
    merged.save(tmp_path / "m.evermix")
    loaded = em.load(tmp_path / "m.evermix")
    np.testing.assert_array_equal(loaded.score_samples(X), merged.score_samples(X))
    np.testing.assert_array_equal(loaded.predict(X), merged.predict(X))
    for got, want in zip(loaded.label_maps_, merged.label_maps_, strict=True):
        np.testing.assert_array_equal(got, want)
    rows, labels = merged.sample(10)
    assert rows.shape == (10, 3) and set(labels) <= {-1, *merged.cluster_ids_}
    assert len(merged.labels_) == 0
    for model in (merged, loaded):
        with pytest.raises(ValueError, match="no fit to go on with"):
            model.resume(X)
    if engine == "adf":
        again = [model.partial_fit(X).score_samples(X) for model in (merged, loaded)]
        np.testing.assert_array_equal(*again)
    assert em.merge([loaded, mixture(engine).fit(X + 1)]).n_clusters_ >= 4


@pytest.mark.parametrize("bad", [[0, 1, 2, 9, -1], [0, 1, 2, 3], [0.0, -1.0], [[-1]], [0, -2, -1]])
def test_edited_maps_are_refused(tmp_path, bad):
    """They would name clusters that never were, or take -1 for one."""
    em.merge([mixture().fit(blobs(40)[0])]).save(tmp_path / "m.evermix")
    arrays, header = checkpoint.read(tmp_path / "m.evermix")
    arrays["label_maps.0"] = np.array(bad)
    checkpoint.write(tmp_path / "m.evermix", arrays, header)
    with pytest.raises(em.CheckpointError, match="maps? of labels"):
        em.load(tmp_path / "m.evermix")


def test_an_interrupted_fit_can_be_merged_and_saved_after_its_first_lap(tmp_path):
    """Before, its start stands for rows that were not met."""
    X, _ = blobs(160)
    laps = 0

    def stop(mix, info):
        if mix.state_.lap >= laps:
            raise KeyboardInterrupt

    whole, half = mixture("memoized").fit(X[80:]), mixture("memoized")
    with pytest.raises(KeyboardInterrupt):
        half.fit(X[:80], observers=[stop])
    with pytest.raises(ValueError, match="first lap of model 0 was interrupted"):
        em.merge([half, whole])
    laps = 1
    with pytest.raises(KeyboardInterrupt):
        half.fit(X[:80], observers=[stop])
    merged = em.merge([half, whole])
    assert merged.tally_.mass.sum() == pytest.approx(160)
    merged.save(tmp_path / "m.evermix")
    np.testing.assert_array_equal(em.load(tmp_path / "m.evermix").predict(X), merged.predict(X))


def test_a_fit_forgets_that_a_model_was_merged():
    X, _ = blobs(100)
    merged = em.merge([mixture().fit(X[:50]), mixture().fit(X[50:])])
    merged.fit(X)
    with pytest.raises(AttributeError, match="not merged"):
        _ = merged.label_maps_


def test_rows_that_wait_are_learnt_first():
    X, _ = blobs(60)
    first = em.Mixture(engine=em.ADF()).partial_fit(X[:30])
    family = first.model_.family
    second = em.Mixture(family=family, engine=em.ADF()).partial_fit(X[30:])
    assert em.merge([first, second]).tally_.mass.sum() == pytest.approx(60)


def test_the_threshold_is_asked_for_in_nats():
    """None is what the engine itself takes; a high one leaves everything apart."""
    X, _ = blobs(160)
    models = [mixture().fit(part) for part in (X[:80], X[80:])]
    assert em.merge(models, threshold=np.inf).n_clusters_ == 8
    assert em.merge(models, threshold=5.0).n_clusters_ == em.merge(models).n_clusters_ == 4
    for bad, error in [("5", TypeError), (True, TypeError), (np.nan, ValueError)]:
        with pytest.raises(error, match="threshold must be"):
            em.merge(models, threshold=bad)


@pytest.mark.parametrize("prior", [em.NGGP(2.0, 0.3), em.PitmanYor(), em.GeneralizedDirichlet()])
def test_any_prior_will_do(prior):
    X, _ = blobs(80)
    models = [mixture(prior=prior).fit(part) for part in (X[:40], X[40:])]
    assert em.merge(models).n_clusters_ == 4


def test_small_clusters_of_the_same_topic_become_one():
    """Two documents each, far fewer words than statistics, and yet no doubt."""
    shards = [mixture(family=em.Multinomial(0.1)).fit(posts(10, range(5), s)[0]) for s in (1, 2)]
    merged = em.merge(shards)
    assert merged.n_clusters_ == max(shard.n_clusters_ for shard in shards)


def refused(*models):
    with pytest.raises(ValueError) as reported:
        em.merge(models)
    return str(reported.value)


def test_what_differs_is_named():
    X, _ = blobs(60)
    first = mixture().fit(X)
    other = em.Gaussian(mean=0.0, kappa=0.02, nu=30.0, scale=1.0)
    assert "Gaussian.kappa: 0.01 and 0.02" in refused(first, mixture(family=other).fit(X))
    assert "family=first.model_.family" in refused(first, mixture(family=other).fit(X))
    assert "prior: NGGP" in refused(first, mixture(prior=em.DP(2.0)).fit(X))
    assert "engine: 'ADF' and 'EP'" in refused(first, mixture("ep").fit(X))
    diagonal = mixture(family=em.DiagonalGaussian()).fit(X)
    assert "family: 'Gaussian' and 'DiagonalGaussian'" in refused(first, diagonal)
    assert "number of features: 3 and 2" in refused(first, mixture().fit(X[:, :2]))
    assert "max_clusters: None and 9" in refused(first, mixture(max_clusters=9).fit(X))
    assert "models 0 and 2" in refused(first, mixture().fit(X), mixture(family=other).fit(X))
    frames = [pd.DataFrame(X, columns=list(names)) for names in ("abc", "abd")]
    assert "feature names" in refused(*(mixture().fit(frame) for frame in frames))
    assert "twice" in refused(first, first)
    open_scales = [em.Mixture().fit(X[:30]), em.Mixture().fit(5 * X[30:])]
    assert "differ in their Gaussian." in refused(*open_scales)


def test_numbers_and_arrays_that_say_the_same_are_no_difference():
    X, _ = blobs(80)
    same = em.Gaussian(mean=np.zeros(3), kappa=0.01, nu=30.0, scale=np.ones(3))
    models = [mixture().fit(X[:40]), mixture(family=same, prior=em.NGGP()).fit(X[40:])]
    assert em.merge(models).n_clusters_ == 4


def test_names_of_features_are_kept():
    X, _ = blobs(80)
    frames = [pd.DataFrame(part, columns=list("abc")) for part in (X[:40], X[40:])]
    merged = em.merge([mixture().fit(frame) for frame in frames])
    np.testing.assert_array_equal(merged.predict(frames[0]), merged.predict(frames[0]))
    assert merged.feature_names_in_.tolist() == list("abc")


def test_what_cannot_be_merged_is_refused():
    X, _ = blobs(40)
    with pytest.raises(TypeError, match="a list of fitted models"):
        em.merge(mixture().fit(X))
    with pytest.raises(TypeError, match="a list of fitted models"):
        em.merge(3)
    with pytest.raises(ValueError, match="at least one"):
        em.merge([])
    with pytest.raises(TypeError, match="model 1 is"):
        em.merge([mixture().fit(X), "m.evermix"])
    with pytest.raises(NotFittedError):
        em.merge([mixture()])
    for sampler in (em.Gibbs(sweeps=2, burn_in=0), em.Slice(sweeps=2, burn_in=0)):
        with pytest.raises(TypeError, match="draws of whole partitions"):
            em.merge([em.Mixture(GAUSSIAN, engine=sampler, random_state=0).fit(X)])


def test_too_many_clusters_for_the_cap_are_kept_with_a_warning():
    parts = [mixture(max_clusters=2).fit(blobs(60, which)[0]) for which in ([0, 1], [2, 3])]
    with pytest.warns(em.CapacityWarning, match="4 clusters, more than max_clusters=2"):
        merged = em.merge(parts)
    assert merged.n_clusters_ == 4
    X, _ = blobs(60)
    assert merged.partial_fit(X).n_clusters_ == 4


def test_families_without_an_origin_have_nothing_to_move():
    family = em.Multinomial(n_features=2)
    stats = np.ones((1, 3))
    assert Family.moved(family, stats, np.ones(1), family) is stats
