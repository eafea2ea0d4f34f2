"""The laws of DP-means, online and to convergence."""

import json
import tracemalloc
import warnings

import numpy as np
import pytest
from scipy.stats import chi2
from sklearn.metrics import adjusted_rand_score
from typer.testing import CliRunner

import evermix as em
from evermix import DP, DPMeans, FixedGaussian, Mixture
from evermix.cli import app
from evermix.engines.batch import Batch, CapacityWarning
from evermix.engines.run import run, run_laps
from evermix.engines.shards import Shard
from evermix.model import Model
from evermix.state import State
from evermix.testing import check_engine, set_partitions
from helpers.engine_cases import vectors

PENALTY = 12.0


def model_of(X, variance=1.0, mean_variance=16.0, **settings):
    (family,) = FixedGaussian(variance, mean_variance).candidates(X)
    return Model(family, DP(), **settings)


def fitted(X, penalty=PENALTY, laps=None, weights=None, **settings):
    mix = Mixture(FixedGaussian(1.0, 16.0), engine=DPMeans(penalty, laps), **settings)
    return mix.fit(X, sample_weight=weights)


def centres_of(mix):
    tally, origin = mix.tally_, mix.model_.family.origin
    order = np.argsort(tally.ids)
    return (origin + tally.stats / tally.mass[:, None])[order]


def distances(X, centres):
    return ((X[:, None, :] - centres) ** 2).sum(axis=2)


def objective(X, labels, penalty, weights=None):
    weights = np.ones(len(X)) if weights is None else weights
    total = 0.0
    for k in np.unique(labels[weights > 0]):
        own = labels == k
        mean = np.average(X[own], axis=0, weights=weights[own])
        total += (weights[own] * ((X[own] - mean) ** 2).sum(axis=1)).sum() + penalty
    return total


def settles(X, labels, penalty):
    """Whether no row is nearer to another mean, nor farther than the penalty from its own."""
    means = np.array([X[labels == k].mean(axis=0) for k in range(max(labels) + 1)])
    d = distances(X, means)
    own = d[np.arange(len(X)), labels]
    return bool(np.all(own <= d.min(axis=1) + 1e-12) and np.all(own <= penalty))


# ---- plain NumPy ----------------------------------------------------------------------------


def plain_online(X, weights, penalty, cap=np.inf):
    """One pass: labels, masses and sums of the clusters."""
    labels, mass, sums = np.full(len(X), -1), [], []
    for i, (x, w) in enumerate(zip(X, weights, strict=True)):
        d = [((x - s / m) ** 2).sum() for s, m in zip(sums, mass, strict=True)]
        k = int(np.argmin(d)) if d else -1
        if w > 0 and (not d or min(w, 1.0) * d[k] > penalty) and len(d) < cap:
            k = len(d)
            mass.append(0.0)
            sums.append(np.zeros(len(x)))
        labels[i] = k
        if w > 0:
            mass[k] += w
            sums[k] = sums[k] + w * x
    return labels, np.array(mass), np.array(sums)


def plain_laps(X, weights, penalty, most=100):
    """Kulis and Jordan's iterations after one online pass: labels and objectives."""
    labels, mass, sums = plain_online(X, weights, penalty)
    centres, found = sums / mass[:, None], [objective(X, labels, penalty, weights)]
    for _ in range(most):
        before = labels.copy()
        for i, (x, w) in enumerate(zip(X, weights, strict=True)):
            d = ((centres - x) ** 2).sum(axis=1)
            k = int(np.argmin(d))
            labels[i] = before[i] if d[before[i]] == d[k] else k
            if min(w, 1.0) * d[k] > penalty:
                centres, labels[i] = np.vstack([centres, x]), len(centres)
        used = np.unique(labels[weights > 0])
        centres = np.array(
            [np.average(X[labels == k], axis=0, weights=weights[labels == k]) for k in used]
        )
        labels = np.searchsorted(used, labels)
        found.append(objective(X, labels, penalty, weights))
        if len(used) == before.max() + 1 and np.array_equal(labels, before):
            break
    return labels, found


@pytest.mark.parametrize("D", [1, 2, 7, 30])
def test_the_online_pass_is_that_in_plain_numpy(D):
    X, engine = vectors(300, D, groups=5), DPMeans(3.0 * D)
    weights = np.random.default_rng(1).choice([0.0, 0.3, 1.0, 2.5], 300)
    model = model_of(X)
    state, info = engine.step(model, engine.initial(model, None), Batch(X, weights), None)
    origin = model.family.origin
    labels, mass, sums = plain_online(X - origin, weights, 3.0 * D)
    assert state.tally.K > 2
    np.testing.assert_array_equal(info.results.labels, labels)
    np.testing.assert_allclose(state.tally.mass, mass, rtol=1e-12)
    np.testing.assert_allclose(state.tally.stats, sums, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("penalty", [1.0, 3.0, PENALTY])
def test_laps_are_those_in_plain_numpy(penalty):
    X = vectors(300, 3, groups=5, seed=2)
    mix = fitted(X, penalty)
    labels, found = plain_laps(X, np.ones(300), penalty)
    assert mix.state_.lap == len(found) > 2
    assert adjusted_rand_score(labels, mix.labels_) == 1.0
    ours = [info.scalars["objective"] for info in mix.history_ if not info.rows]
    np.testing.assert_allclose(ours, found, rtol=1e-9)


# ---- the objective and its fixed points ------------------------------------------------------


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("penalty", [0.5, 4.0, 40.0])
def test_the_objective_never_rises_and_is_that_of_the_labels(penalty, seed):
    X = np.random.default_rng(seed).normal(scale=2.0, size=(400, 2))
    weights = np.random.default_rng(seed).choice([0.0, 0.4, 1.0, 3.0], 400)
    mix = fitted(X, penalty, weights=weights)
    ours = np.array([info.scalars["objective"] for info in mix.history_ if not info.rows])
    assert len(ours) > 1
    assert np.all(np.diff(ours) <= 1e-12 * ours[1:])
    assert ours[-1] == pytest.approx(objective(X, mix.labels_, penalty, weights))


@pytest.mark.parametrize("seed", range(4))
def test_the_end_is_a_fixed_point_among_all_partitions(seed):
    """Of the partitions that a lap leaves alone, found by looking at all of them, it is one."""
    X = np.random.default_rng(seed).normal(size=(7, 2))
    for penalty in (0.3, 1.0, 3.0):
        fixed = {labels for labels in set_partitions(7) if settles(X, np.array(labels), penalty)}
        assert 0 < len(fixed) < 877
        assert tuple(fitted(X, penalty).labels_.tolist()) in fixed


def test_centres_are_the_means_of_their_rows_and_nearest_to_them():
    X = vectors(500, 4, groups=6)
    mix = fitted(X)
    means = np.array([X[mix.labels_ == k].mean(axis=0) for k in range(mix.n_clusters_)])
    np.testing.assert_allclose(centres_of(mix), means, rtol=1e-10)
    np.testing.assert_array_equal(mix.predict(X), mix.labels_)
    assert distances(X, means).min(axis=1).max() <= PENALTY


def test_without_births_a_lap_does_not_depend_on_the_order_of_rows():
    """Centres stand still, so once they can open no cluster only ties could tell rows apart."""
    X = vectors(400, 2, groups=4)
    model, engine = model_of(X), DPMeans(1e6, laps=3)
    start = engine.step(model, engine.initial(model, None), Batch(X[:5], np.ones(5)), None)[0]
    start.append([start.lineage.birth(6)])
    start.columns["centre"][1] = X[6] - X[0]
    found = []
    for order in (np.arange(400), np.random.default_rng(0).permutation(400)):
        state = State.from_arrays(*start.to_arrays())
        state.lap, state.memo = 1, {"0": {"ids": np.zeros(400, dtype=np.int64)}}
        shards = Shard([Batch(X[order], np.ones(400))], state.memo)
        state = run_laps(engine, model, state, shards, None)
        labels = np.empty(400, dtype=np.int64)
        labels[order] = state.memo["0"]["ids"]
        found.append((labels, state.columns["centre"][:2].copy()))
    assert set(found[0][0]) == {0, 1}
    np.testing.assert_array_equal(found[0][0], found[1][0])
    np.testing.assert_allclose(found[0][1], found[1][1], rtol=1e-9)


@pytest.mark.parametrize("laps", [1, None])
def test_a_huge_penalty_gives_one_cluster_and_a_tiny_one_a_cluster_for_every_row(laps):
    X = np.repeat(np.random.default_rng(0).normal(size=(30, 2)), 3, axis=0)
    one = fitted(X, 1e300, laps)
    assert one.n_clusters_ == 1
    np.testing.assert_allclose(centres_of(one)[0], X.mean(axis=0), atol=1e-12)
    every = fitted(X, 1e-300, laps)
    assert every.n_clusters_ == 30
    np.testing.assert_array_equal(every.labels_, np.repeat(np.arange(30), 3))


def test_separate_blobs_are_found_whatever_the_order():
    rng = np.random.default_rng(0)
    truth = rng.integers(5, size=600)
    X = 30.0 * rng.permutation(5)[truth][:, None] + rng.normal(size=(600, 3))
    for laps in (1, None):
        order = rng.permutation(600)
        mix = fitted(X[order], 100.0, laps)
        assert adjusted_rand_score(truth[order], mix.labels_) == 1.0


@pytest.mark.parametrize("rows_before", [5, 20, 200])
def test_a_late_cluster_is_found(rows_before):
    """With the derived penalty, eight deviations away no row is taken for one of another cluster.

    Four deviations away that would take a penalty that knows of it.
    """
    truth, scores = np.repeat([0, 1], [rows_before, 40]), []
    for seed in range(20):
        noise = np.random.default_rng(seed).normal(size=(rows_before + 40, 2))
        far, near = (noise + shift * truth[:, None] * [1.0, 0.0] for shift in (8.0, 4.0))
        labels = Mixture(FixedGaussian(1.0, 100.0), engine=DPMeans()).fit(far).labels_
        assert not np.isin(labels[truth == 1], labels[truth == 0]).any()
        scores.append(adjusted_rand_score(truth, fitted(near, 12.0, 1).labels_))
    assert np.mean(scores) > (0.85 if rows_before > 5 else 0.6)


# ---- batches, stops and resumes --------------------------------------------------------------


def test_laws_hold():
    X = vectors(200, 3)
    for penalty in (None, 2.0, PENALTY):
        check_engine(DPMeans(penalty), model_of(X), X)
    check_engine(DPMeans(5.0), model_of(X, np.array([1.0, 4.0, 0.2])), X)


def test_batches_of_one_row_and_resumes_give_the_same_bits():
    X = np.random.default_rng(0).normal(scale=5.0, size=(300, 9))
    weights = np.random.default_rng(0).choice([0.0, 0.2, 1.0, 3.0], 300)
    model = model_of(X, max_clusters=70)
    engine = DPMeans(150.0)

    def learn(sizes, resume):
        state, reported, at = engine.initial(model, None), [], 0
        for n in sizes:
            batch = Batch(X[at : at + n], weights[at : at + n])
            state, info = engine.step(model, state, batch, None)
            reported.append(info.results.log_predictive)
            if resume:
                state = State.from_arrays(*state.to_arrays())
            at += n
        return state, np.concatenate(reported)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CapacityWarning)
        whole, want = learn([300], False)
        parts, got = learn([1] * 100 + [77, 123], True)
    assert whole.tally.K > 64  # buffers had to grow
    assert want.tolist() == got.tolist()
    for (name, ours), theirs in zip(
        whole.to_arrays()[0].items(), parts.to_arrays()[0].values(), strict=True
    ):
        np.testing.assert_array_equal(ours, theirs, err_msg=name)


class Stop(Exception):
    pass


def test_laps_that_are_stopped_after_every_step_give_the_same_bits(tmp_path):
    """Saved and loaded each time, in the middle of laps too."""
    X = np.random.default_rng(0).normal(scale=2.0, size=(9000, 2))
    weights = np.random.default_rng(0).choice([0.0, 1.0, 2.0], 9000)
    want = fitted(X, 4.0, 4, weights)

    def stop(mix, info):
        mix.save(tmp_path / "m.evermix")
        raise Stop

    mix = Mixture(FixedGaussian(1.0, 16.0), engine=DPMeans(4.0, 4))
    with pytest.raises(Stop):
        mix.fit(X, sample_weight=weights, observers=[stop])
    for _ in range(100):
        mix = em.load(tmp_path / "m.evermix")
        assert np.isfinite(mix.score(X[:50]))
        try:
            mix.resume(X, sample_weight=weights, observers=[stop])
            break
        except Stop:
            continue
    assert mix.state_.lap == want.state_.lap == 4
    np.testing.assert_array_equal(mix.labels_, want.labels_)
    ours, theirs = mix.state_.to_arrays(), want.state_.to_arrays()
    assert ours[1] == theirs[1]
    for name, values in theirs[0].items():
        np.testing.assert_array_equal(ours[0][name], values, err_msg=name)


def test_a_fit_can_go_on_for_more_laps_and_then_as_a_stream(tmp_path):
    X = np.random.default_rng(0).normal(scale=3.0, size=(5000, 2))
    mix = fitted(X, 4.0, 1)
    mix.set_params(engine=DPMeans(4.0, None)).resume(X)
    assert mix.labels_.tolist() == fitted(X, 4.0).labels_.tolist()
    K, mass = mix.n_clusters_, mix.tally_.mass.sum()
    mix.partial_fit(X[:10])
    assert not mix.state_.memo and mix.n_clusters_ == K
    assert mix.tally_.mass.sum() == pytest.approx(mass + 10)
    mix.save(tmp_path / "m.evermix")
    again = em.load(tmp_path / "m.evermix")
    np.testing.assert_array_equal(again.partial_fit(X[10:99]).labels_, mix.predict(X[10:99]))


def test_a_fit_that_was_stopped_in_a_lap_can_go_on_as_a_stream():
    """Clusters that were born in that lap hold no row yet, and are left behind."""
    X = np.random.default_rng(1).normal(scale=3.0, size=(9000, 2))

    def stop(mix, info):
        if info.lap and info.births:
            raise Stop

    mix = Mixture(FixedGaussian(1.0, 16.0), engine=DPMeans(4.0, None))
    with pytest.raises(Stop):
        mix.fit(X, observers=[stop])
    assert (mix.tally_.mass == 0).any()
    mix.partial_fit(X[:20])
    assert mix.tally_.mass.min() > 0
    assert mix.tally_.mass.sum() == pytest.approx(9020)


@pytest.mark.parametrize("change", ["labels", "rows", "lost"])
def test_a_file_whose_labels_were_edited_is_refused(change):
    X = vectors(80)
    mix, engine = fitted(X, 5.0, 3), DPMeans(5.0, 3)
    state = State.from_arrays(*mix.state_.to_arrays())
    engine.check_memo(mix.model_, state, 80)
    if change == "labels":
        state.memo["0"]["ids"][3] = 99
    elif change == "rows":
        state.memo["0"]["ids"] = state.memo["0"]["ids"][:-1]
    else:
        state.memo.clear()
    with pytest.raises(ValueError, match="labels of"):
        engine.check_memo(mix.model_, state, 80)


# ---- weights, caps, forgetting ---------------------------------------------------------------


@pytest.mark.parametrize("penalty", [2.0, PENALTY])
def test_whole_weights_are_repeated_rows(penalty):
    X = vectors(200, 2, groups=4)
    weights = np.random.default_rng(0).integers(1, 4, 200)
    heavy = fitted(X, penalty, weights=weights.astype(float))
    many = fitted(np.repeat(X, weights, axis=0), penalty)
    np.testing.assert_array_equal(np.repeat(heavy.labels_, weights), many.labels_)
    np.testing.assert_allclose(centres_of(heavy), centres_of(many), rtol=1e-9)


@pytest.mark.parametrize("laps", [1, None])
def test_rows_of_weight_zero_are_labelled_and_teach_nothing(laps):
    rng = np.random.default_rng(0)
    X = vectors(200, 2, groups=4)
    weights = rng.integers(0, 2, 200).astype(float)
    weights[:2] = 0.0
    mix, without = fitted(X, laps=laps, weights=weights), fitted(X[weights > 0], laps=laps)
    np.testing.assert_array_equal(mix.labels_[weights > 0], without.labels_)
    np.testing.assert_allclose(centres_of(mix), centres_of(without), rtol=1e-9)
    assert mix.labels_.min() == 0
    if laps is None:
        np.testing.assert_array_equal(mix.labels_, mix.predict(X))
    with pytest.raises(ValueError, match="weight"):
        fitted(X, weights=np.zeros(200))


@pytest.mark.parametrize("laps", [1, None])
def test_a_cap_is_kept_and_reported_once(laps):
    X = vectors(300, 2, groups=6)
    with pytest.warns(CapacityWarning, match="max_clusters=3 .* raise the penalty") as reported:
        mix = fitted(X, 0.5, laps, max_clusters=3)
    assert mix.n_clusters_ == 3 and len(reported) == 1


def test_what_fades_is_dropped_wherever_the_stream_is_cut():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 2)) + np.repeat([0.0, 40.0], 1500)[:, None]
    model, engine = model_of(X, forgetting=em.Exponential(half_life=100)), DPMeans(100.0)
    found = []
    for cuts in ([], [1, 700, 701, 2500]):
        batches = [Batch(part, np.ones(len(part))) for part in np.split(X, cuts)]
        found.append(run(engine, model, engine.initial(model, None), batches, None))
    assert found[0].tally.ids.tolist() == [1]
    assert found[0].tally.mass[0] == pytest.approx(100 / np.log(2), rel=0.05)
    np.testing.assert_array_equal(found[0].tally.stats, found[1].tally.stats)
    with pytest.raises(ValueError, match="cannot be forgotten, got laps=None"):
        DPMeans(1.0, None).check(model)


def test_a_cluster_that_has_faded_to_nothing_takes_rows_again():
    X = np.array([[0.0, 1.0], [50.0, 0.0], [0.5, 1.0]])
    model, engine = model_of(X), DPMeans(4.0)
    state, _ = engine.step(model, engine.initial(model, None), Batch(X[:2], np.ones(2)), None)
    engine.fade(model, state, 1e-200)
    engine.fade(model, state, 1e-200)
    assert state.tally.mass.tolist() == [0.0, 0.0]
    np.testing.assert_array_equal(state.columns["centre"][:2], X[:2] - X[0])
    state, info = engine.step(model, state, Batch(X[2:], np.ones(1)), None)
    assert info.results.labels.tolist() == [0]
    np.testing.assert_array_equal(state.columns["centre"][0], X[2] - X[0])


def test_tidying_joins_clusters_that_have_come_together():
    X = np.array([[0.0, 0.0], [3.0, 0.0], [30.0, 0.0]])
    model, engine = model_of(X), DPMeans(4.0)
    state, _ = engine.step(model, engine.initial(model, None), Batch(X, np.ones(3)), None)
    assert state.tally.K == 3 and engine.tidy(model, state) == ([], [])
    state.columns["centre"][1, 0], state.tally.stats[1, 0] = 1.0, 1.0
    assert engine.tidy(model, state) == ([], [(1, 0)])
    np.testing.assert_array_equal(state.columns["centre"][:2, 0], [0.5, 30.0])
    assert state.lineage.current(np.array([1])).tolist() == [0]


# ---- what the model says ---------------------------------------------------------------------


def test_the_density_is_a_mixture_of_equal_normals_around_the_centres():
    X = vectors(300, 2, groups=3)
    variance = np.array([1.0, 0.25])
    mix = Mixture(FixedGaussian(variance, 9.0), engine=DPMeans(8.0)).fit(X)
    centres = centres_of(mix)
    d = ((X[:, None, :] - centres) ** 2 / variance).sum(axis=2)
    each = np.exp(-0.5 * d) / np.sqrt(np.prod(2 * np.pi * variance)) / len(centres)
    np.testing.assert_allclose(mix.score_samples(X), np.log(each.sum(axis=1)), rtol=1e-9)
    np.testing.assert_allclose(
        mix.predict_proba(X), each / each.sum(axis=1, keepdims=True), atol=1e-9
    )
    np.testing.assert_array_equal(mix.predict(X), d.argmin(axis=1))
    assert mix.weights_ == pytest.approx(np.full(len(centres), 1 / len(centres)))
    drawn, labels = mix.sample(4000)
    assert labels.min() >= 0
    assert (drawn - centres[labels]).var(axis=0) == pytest.approx(variance, rel=0.1)


def test_rows_are_scored_before_they_are_learnt():
    X = vectors(60, 2)
    model, engine = model_of(X), DPMeans(PENALTY)
    _, info = engine.step(model, engine.initial(model, None), Batch(X, np.ones(60)), None)
    family, got = model.family, info.results.log_predictive
    alone = family.log_predictive(X[:1], family.eta0[None])[0] + family.log_base(X[:1])
    assert got[0] == pytest.approx(alone[0])
    for n in (1, 5, 40):
        mix = Mixture(family, engine=engine).partial_fit(X[:n])
        assert got[n] == pytest.approx(mix.score_samples(X[n : n + 1])[0])
    proba = Mixture(family, engine=engine).partial_fit(X[:40]).predict_proba(X[40:41]).max()
    assert info.results.probabilities[40] == pytest.approx(proba)


def test_columns_are_stretched_where_variances_differ():
    """Nearest is then most probable, and a row is counted in units of the largest variance."""
    X, variance = vectors(200, 2, groups=4), np.array([4.0, 0.25])
    narrow = Mixture(FixedGaussian(variance, 9.0), engine=DPMeans(20.0)).fit(X)
    wide = Mixture(FixedGaussian(4.0, 9.0), engine=DPMeans(20.0)).fit(X * [1.0, 4.0])
    assert wide.n_clusters_ > 2
    np.testing.assert_array_equal(narrow.labels_, wide.labels_)


# ---- settings --------------------------------------------------------------------------------


def test_the_derived_penalty_is_where_a_new_cluster_is_as_likely():
    """Small-variance asymptotics: N(x; c, v) equals alpha times the height of N(m, v + rho)."""
    alpha, v, rho = 1e-3, np.array([0.5, 0.5, 0.5]), np.array([2.0, 8.0, 32.0])
    (family,) = FixedGaussian(v, rho).candidates(np.zeros((1, 3)))
    penalty = DPMeans()._settings(Model(family, DP(alpha))).penalty
    height = alpha / np.sqrt(np.prod(2 * np.pi * (v + rho)))
    near = np.exp(-penalty / (2 * 0.5)) / np.sqrt(np.prod(2 * np.pi * v))
    assert near == pytest.approx(height)
    (plain,) = FixedGaussian(0.5, 2.0).candidates(np.zeros((1, 3)))
    want = 2 * 0.5 * np.log((1 + 2.0 / 0.5) ** 1.5 / alpha)
    assert DPMeans()._settings(Model(plain, DP(alpha))).penalty == pytest.approx(want)


@pytest.mark.parametrize("D", [1, 2, 20, 100])
@pytest.mark.parametrize("alpha", [1.0, 1e9])
def test_a_derived_penalty_is_rarely_exceeded_by_a_clusters_own_rows(D, alpha):
    """One in 1000 is farther from the true centre, in distances as the engine takes them."""
    variance = np.linspace(0.5, 2.0, D)
    (family,) = FixedGaussian(variance, 0.1).candidates(np.zeros((1, D)))
    rule = DPMeans()._settings(Model(family, DP(alpha)))
    rows = np.sqrt(variance) * np.random.default_rng(0).normal(size=(20_000, D))
    beyond = (rows**2 @ rule.scale > rule.penalty).sum()
    assert beyond == pytest.approx(20, abs=5 * np.sqrt(20))
    assert rule.penalty == pytest.approx(variance.max() * chi2.ppf(0.999, D))


@pytest.mark.parametrize("D", [1, 2, 5, 20, 50])
def test_rows_of_one_cluster_open_few_with_the_derived_penalty(D):
    """About 2 of 2000 rows lie beyond it, and some more while the centre is that of few rows.

    What a new cluster's likelihood alone would have as the penalty opens many times as many.
    """
    for seed in range(5):
        X = np.random.default_rng(seed).normal(size=(2000, D))
        model = model_of(X, mean_variance=1.0)
        found = []
        for engine in (DPMeans(), DPMeans(D * np.log(2.0))):  # the other: no quantile
            state, _ = engine.step(
                model, engine.initial(model, None), Batch(X, np.ones(2000)), None
            )
            found.append(state.tally.K)
        assert found[0] <= 12 and found[1] > 2 * found[0]


@pytest.mark.parametrize("penalty", [0.0, -1.0, np.inf, np.nan])
def test_penalties_that_cannot_be_are_refused(penalty):
    with pytest.raises(ValueError, match="penalty must be a finite squared distance above 0"):
        DPMeans(penalty)


def test_other_settings_that_cannot_be_are_refused():
    with pytest.raises(TypeError, match="penalty must be a number"):
        DPMeans("far")
    with pytest.raises(ValueError, match="laps must be at least 1"):
        DPMeans(laps=0)


def test_other_families_and_priors_are_refused():
    X = vectors(50, 2)
    with pytest.raises(TypeError, match="works with the family FixedGaussian, got Gaussian"):
        Mixture(em.Gaussian(), engine=DPMeans()).fit(X)
    with pytest.raises(TypeError, match="capability DP, got NGGP"):
        Mixture(prior=em.NGGP(), engine=DPMeans()).fit(X)
    mix = Mixture(engine=DPMeans()).fit(X)
    assert isinstance(mix.model_.family, FixedGaussian) and mix.model_.prior == DP()
    with pytest.raises(TypeError, match=r"DPMeans cannot be merged: .* Use em\.ADF"):
        em.merge([mix])


def test_streams_and_laps_agree_on_one_pass():
    X = vectors(200, 2)
    model = model_of(X)
    engine, batches = DPMeans(4.0), [Batch(X[:90], np.ones(90), 0), Batch(X[90:], np.ones(110), 1)]
    one = run(engine, model, engine.initial(model, None), batches, None)
    two = run_laps(engine, model, engine.initial(model, None), batches, None)
    np.testing.assert_array_equal(one.tally.stats, two.tally.stats)
    assert [len(r["ids"]) for r in two.memo.values()] == [90, 110]


# ---- the command line ------------------------------------------------------------------------


def test_the_command_line_knows_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X = vectors(120, 2)
    np.save("points.npy", X)
    command = (
        "fit points.npy --engine dpmeans --penalty 9 --laps 30 --family fixed --out rows.jsonl"
    )
    result = CliRunner().invoke(app, command.split(), catch_exceptions=False)
    assert result.exit_code == 0, result.output
    mix = em.load("points.evermix")
    assert mix.engine == DPMeans(9.0, 30) and mix.prior == DP()
    rows = [json.loads(line) for line in (tmp_path / "rows.jsonl").read_text().splitlines()]
    assert [row["cluster"] for row in rows] == mix.labels_.tolist()
    wrong = ["fit", "points.npy", "--engine", "ep", "--penalty", "9", "--overwrite"]
    assert "--penalty does not belong to --engine ep" in CliRunner().invoke(app, wrong).output
    wrong = ["fit", "points.npy", "--engine", "dpmeans", "--family", "gaussian", "--overwrite"]
    assert "works with the family FixedGaussian" in CliRunner().invoke(app, wrong).output


def test_thousands_of_clusters_are_compared_in_little_memory():
    """All pairs at once would take 300 MB."""
    X = np.random.default_rng(0).uniform(0, 1e4, size=(2000, 8))
    plan = em.Exponential(1000.0)
    mix = em.Mixture(em.FixedGaussian(1.0, 1e8), engine=em.DPMeans(20.0), forgetting=plan)
    mix.partial_fit(X[:1900])
    tracemalloc.start()
    mix.partial_fit(X[1900:2000])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert mix.n_clusters_ > 900 and peak < 30e6
