"""Streams that change: what was learnt fades, clusters move and die, names stay."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.metrics import adjusted_mutual_info_score

import evermix as em
from evermix.engines import ENGINES
from evermix.forgetting import TICKS

FAMILY = em.FixedGaussian(variance=1.0, mean_variance=100.0)
FORGETFUL = [cls() for cls in ENGINES.values() if cls.forgets]


def mixture(engine, half_life=None, **settings):
    forgetting = None if half_life is None else em.Exponential(half_life)
    return em.Mixture(FAMILY, em.DP(1.0), engine, forgetting, random_state=0, **settings)


def blobs(n=600, groups=3, seed=0):
    rng = np.random.default_rng(seed)
    z = rng.integers(groups, size=n)
    return np.c_[30.0 * z, -30.0 * z] + rng.normal(size=(n, 2)), z


def assert_same(one, two):
    ours, header = one.state_.to_arrays()
    theirs, other = two.state_.to_arrays()
    assert header == other and ours.keys() == theirs.keys()
    for name, values in ours.items():
        np.testing.assert_array_equal(values, theirs[name], err_msg=name)


# ---- what is left of a row -------------------------------------------------------------------


@pytest.mark.parametrize("engine", FORGETFUL, ids=repr)
def test_a_row_counts_for_half_after_a_half_life(engine):
    """What is left of the mass is the sum of 2^(-age / half-life), as often as it is scaled."""
    X = np.random.default_rng(0).normal(size=(400, 2))
    mix = mixture(engine, 50.0).partial_fit(X)
    age = 400 - np.arange(1, 401)
    left = mix.state_.tally.mass.sum() + mix.state_.latents["dropped"][0]
    np.testing.assert_allclose(left, (0.5 ** (age / 50)).sum(), rtol=0.5 / TICKS)


@pytest.mark.parametrize("engine", FORGETFUL, ids=repr)
def test_a_half_life_without_end_forgets_nothing(engine):
    """Clusters of vectors are reviewed only in models that do not forget."""
    X, _ = blobs()
    engine = replace(engine, lookback=0) if isinstance(engine, em.ADF) else engine
    never, hardly = (mixture(engine, h).partial_fit(X) for h in (None, 1e12))
    np.testing.assert_array_equal(never.labels_, hardly.labels_)
    np.testing.assert_allclose(never.state_.tally.mass, hardly.state_.tally.mass, rtol=1e-8)


@pytest.mark.parametrize("engine", FORGETFUL, ids=repr)
def test_times_that_count_rows_are_the_same_as_no_times(engine):
    X, _ = blobs()
    counted = mixture(engine, 40).partial_fit(X)
    timed = mixture(engine, 40).partial_fit(X, times=np.arange(1, 601))
    assert_same(counted, timed)


@pytest.mark.parametrize("engine", FORGETFUL, ids=repr)
def test_a_unit_of_time_is_as_good_as_another(engine):
    """Powers of two change no digit."""
    X, _ = blobs()
    times = np.cumsum(np.random.default_rng(1).exponential(size=600))
    one = mixture(engine, 32.0).partial_fit(X, times=times)
    two = mixture(engine, 32.0 * 2**20).partial_fit(X, times=2**20 * times)
    np.testing.assert_array_equal(one.labels_, two.labels_)
    np.testing.assert_array_equal(one.state_.tally.mass, two.state_.tally.mass)


def test_a_long_silence_leaves_the_prior():
    """After a hundred half-lives nothing is known any more, and the next row opens a cluster."""
    X, _ = blobs(200)
    mix = mixture(em.ADF(), 10.0).partial_fit(X, times=np.linspace(0, 10, 200))
    born = mix.lineage_.next_id
    mix.partial_fit(X[:1], times=[1010.0])
    assert mix.labels_[0] == born
    assert mix.state_.tally.mass.sum() == pytest.approx(1.0, abs=1e-6)


def test_a_new_cluster_weighs_against_what_is_left():
    """The predictive probability of a new cluster under a DP is alpha / (alpha + effective n)."""
    X, _ = blobs()
    mix = mixture(em.ADF(), 20.0).partial_fit(X)
    n = mix.state_.tally.mass.sum()
    assert n < 40
    new = np.exp(mix.learner_.engine.log_weights(mix.model_, mix.state_)[-1])
    assert new == pytest.approx(1.0 / (1.0 + n))


# ---- cuts, files, rows of no weight ----------------------------------------------------------


@pytest.mark.parametrize("engine", FORGETFUL, ids=repr)
@pytest.mark.parametrize("family", ["auto", FAMILY])
def test_cuts_and_files_change_nothing(tmp_path, engine, family):
    """Also while the scale of the data is open and the first rows wait."""
    if engine.families and family == "auto":
        pytest.skip("one family is like another")
    X, _ = blobs(1500)
    times = np.cumsum(np.random.default_rng(1).exponential(size=1500))
    plan = em.Exponential(100.0)
    whole = em.Mixture(family, None, engine, plan, random_state=0).partial_fit(X, times=times)
    mix = em.Mixture(family, None, engine, plan, random_state=0)
    for some in np.split(np.arange(1500), [1, 2, 400, 401, 1100]):
        mix.partial_fit(X[some], times=times[some])
        mix.save(tmp_path / "m.evermix")
        mix = em.load(tmp_path / "m.evermix")
    assert mix.forgetting == plan == mix.model_.forgetting
    assert_same(whole, mix)


def test_rows_of_no_weight_stop_no_clock():
    X, _ = blobs(300)
    weights = np.random.default_rng(0).integers(0, 2, 300)
    some = weights > 0
    times = np.cumsum(np.random.default_rng(1).exponential(size=300))
    for stamps in (None, times):
        kept = None if stamps is None else stamps[some]
        whole = mixture(em.ADF(), 30.0).partial_fit(X, sample_weight=weights, times=stamps)
        part = mixture(em.ADF(), 30.0).partial_fit(X[some], times=kept)
        np.testing.assert_array_equal(whole.labels_[some], part.labels_)
        np.testing.assert_array_equal(whole.state_.tally.mass, part.state_.tally.mass)


def test_a_fit_that_forgets_is_a_stream():
    X, _ = blobs(3000)
    fitted = mixture(em.SUGS(), 300.0).fit(X, times=np.arange(3000.0))
    streamed = mixture(em.SUGS(), 300.0).partial_fit(X, times=np.arange(3000.0))
    np.testing.assert_array_equal(fitted.labels_, streamed.labels_)


def test_an_interrupted_fit_goes_on(tmp_path):
    X, _ = blobs(9000)
    times = np.cumsum(np.random.default_rng(1).exponential(size=9000))
    whole = mixture(em.ADF(), 500.0).fit(X, times=times)

    def stop(mix, info):
        mix.save(tmp_path / "m.evermix")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        mixture(em.ADF(), 500.0).fit(X, times=times, observers=[stop])
    again = em.load(tmp_path / "m.evermix")
    with pytest.raises(ValueError, match="times"):
        again.resume(X, times=times + 1)
    again.resume(X, times=times)
    assert_same(whole, again)
    np.testing.assert_array_equal(whole.labels_, again.labels_)


# ---- clusters move, die and keep their names -------------------------------------------------


def turnover(n=400, seed=0):
    """Rows of three places, one after another; the second half of each overlaps with the next."""
    rng = np.random.default_rng(seed)
    z = np.sort(rng.integers(3, size=3 * n))
    return np.c_[20.0 * z, 0.0 * z] + rng.normal(size=(3 * n, 2)), z


@pytest.mark.parametrize("engine", FORGETFUL, ids=repr)
def test_what_is_not_seen_any_more_dies_and_keeps_its_name(engine):
    X, z = turnover()
    mix = mixture(engine, 20.0).partial_fit(X)
    lineage = mix.lineage_
    assert adjusted_mutual_info_score(z, mix.labels_) > 0.8
    dead = [k for k, into in enumerate(lineage.into) if into == -3]
    assert dead and not set(dead) & set(mix.cluster_ids_.tolist())
    for place in (0, 1):  # their rows keep the names of clusters that are no more
        assert set(mix.labels_[z == place].tolist()) <= set(dead)
    for k in dead:
        seen = np.flatnonzero(mix.labels_ == k)
        if len(seen):
            assert lineage.last[k] >= seen[-1] + 1  # softly, perhaps a little later
            assert lineage.last[k] <= lineage.ended[k] <= len(X)
    assert set(mix.labels_[z == 2].tolist()) <= set(mix.cluster_ids_.tolist()) | set(dead)


def test_dead_clusters_have_the_time_at_which_they_were_last_seen():
    X, z = turnover()
    times = np.linspace(2000.0, 2001.0, len(X))
    mix = mixture(em.SUGS(), 0.02).partial_fit(X, times=times)
    first = mix.labels_[0]
    assert mix.lineage_.last[first] == times[mix.labels_ == first][-1]
    assert mix.history_[-1].dropped


def test_a_cluster_that_moves_is_followed():
    """One cluster walks far from where it began; without forgetting it breaks into pieces."""
    rng = np.random.default_rng(0)
    path = np.c_[np.linspace(0, 30, 3000), np.zeros(3000)]
    X = path + rng.normal(size=(3000, 2))
    still = mixture(em.SUGS()).partial_fit(X)
    moving = mixture(em.SUGS(), 50.0).partial_fit(X)
    assert len(set(still.labels_)) > 2
    assert np.mean(moving.labels_ == moving.labels_[0]) > 0.9


def test_what_has_become_the_same_is_joined():
    """Two clusters walk towards each other and become one, which lives on under an old name."""
    rng = np.random.default_rng(0)
    z = rng.integers(2, size=4000)
    apart = np.maximum(np.linspace(16, -8, 4000), 0)
    X = np.c_[(2 * z - 1) * apart / 2, np.zeros(4000)] + rng.normal(size=(4000, 2))
    mix = mixture(em.ADF(), 100.0).partial_fit(X)
    assert len(set(mix.labels_[-500:].tolist())) == 1
    assert any(info.merges for info in mix.history_) or mix.n_clusters_ == 1


def test_at_least_one_cluster_stays():
    X, _ = blobs(50)
    mix = mixture(em.DPMeans(penalty=20.0), 1.0).partial_fit(X, times=np.linspace(0, 1, 50))
    mix.partial_fit(X[:1], times=[10_000.0])
    assert mix.n_clusters_ >= 1 and np.isfinite(mix.predict_proba(X)).all()


# ---- what cannot be --------------------------------------------------------------------------


def test_engines_that_come_back_to_rows_cannot_forget():
    for engine in (cls() for cls in ENGINES.values() if not cls.forgets):
        mix = em.Mixture(engine=engine, forgetting=em.Exponential(10.0))
        with pytest.raises(TypeError, match=r"cannot forget.*em\.ADF"):
            mix.fit(blobs(50)[0])


@pytest.mark.parametrize("half_life", [0, -1.0, np.inf, np.nan, timedelta(0)])
def test_a_half_life_must_be_positive(half_life):
    with pytest.raises(ValueError, match="half_life must be finite and above 0"):
        em.Exponential(half_life)


@pytest.mark.parametrize("half_life", ["7D", None, True, [1]])
def test_a_half_life_must_be_a_number(half_life):
    with pytest.raises(TypeError, match="half_life must be a number or a timedelta"):
        em.Exponential(half_life)


def test_times_must_fit_the_rows_and_the_stream():
    X, _ = blobs(20)
    mix = mixture(em.ADF(), 10.0)
    for times, error, message in (
        (np.arange(19), ValueError, r"one entry per row, \(20,\), got shape \(19,\)"),
        (np.append(np.arange(19.0), np.nan), ValueError, "must be finite, got nan in row 19"),
        (np.r_[0:10, 0:10], ValueError, "must not go back: row 10"),
        (np.arange(20).astype("datetime64[D]"), TypeError, "times must be numbers, got datetime"),
        (np.array(["a"] * 20), TypeError, "numbers or dates"),
    ):
        with pytest.raises(error, match=message):
            mix.partial_fit(X, times=times)
    mix.partial_fit(X, times=np.arange(20))
    with pytest.raises(ValueError, match="row 0 .* comes before the last row that was learnt"):
        mix.partial_fit(X, times=np.arange(20))
    with pytest.raises(ValueError, match="all rows of a stream must come with times, or none"):
        mix.partial_fit(X)
    with pytest.raises(ValueError, match="the model forgets nothing"):
        mixture(em.ADF()).fit(X, times=np.arange(20))
    with pytest.raises(TypeError, match="forgetting must be em.Exponential"):
        em.Mixture(forgetting=10.0).fit(X)


def test_dates_are_forgotten_by_timedeltas():
    X, _ = blobs(200)
    days = np.datetime64("2024-01-01") + np.arange(200) * np.timedelta64(1, "D")
    want = mixture(em.ADF(), 10.0 * 86400).partial_fit(X, times=86400.0 * (19723 + np.arange(200)))
    for times in (
        days,
        days.astype(object),
        [datetime(2024, 1, 1) + timedelta(d) for d in range(200)],
    ):
        for half_life in (timedelta(days=10), np.timedelta64(10, "D")):
            got = mixture(em.ADF(), half_life).partial_fit(X, times=times)
            np.testing.assert_array_equal(got.labels_, want.labels_)
            np.testing.assert_array_equal(got.state_.tally.mass, want.state_.tally.mass)
    assert got.lineage_.last[got.labels_[-1]] == datetime(2024, 7, 18, tzinfo=UTC).timestamp()
    with pytest.raises(ValueError, match="every row needs a date"):
        mixture(em.ADF(), timedelta(days=1)).partial_fit(X)
    with pytest.raises(TypeError, match="times must be dates, got int64"):
        mixture(em.ADF(), timedelta(days=1)).partial_fit(X, times=np.arange(200))


def test_models_that_forget_cannot_be_merged():
    X, _ = blobs(200)
    with pytest.raises(ValueError, match="models that forget cannot be merged"):
        em.merge([mixture(em.ADF(), 10.0).fit(X), mixture(em.ADF(), 10.0).fit(X)])


def test_forgetting_is_a_parameter_like_any_other():
    plan = em.Exponential(half_life=timedelta(days=7))
    assert plan == em.Exponential(604800.0, dated=True)
    assert em.Exponential.from_spec(plan.to_spec()) == plan
    assert replace(plan, half_life=10).half_life == 10.0
    assert clone(em.Mixture(forgetting=plan)).forgetting == plan


# ---- far ends --------------------------------------------------------------------------------


@pytest.mark.parametrize("engine", FORGETFUL, ids=repr)
@pytest.mark.parametrize("cap", [None, 1, 2])
@pytest.mark.parametrize("gap", [1060.0, 1e6, 1e305])
@pytest.mark.filterwarnings("ignore::evermix.CapacityWarning")
def test_what_has_faded_to_nothing_leaves_numbers(engine, cap, gap):
    """Masses that are lost in rounding, or denormal, spoil neither weights nor statistics."""
    X, _ = blobs(60)
    mix = em.Mixture(FAMILY, None, engine, em.Exponential(1.0), cap, random_state=0)
    mix.partial_fit(X, times=np.linspace(0, 1, 60)).partial_fit(X[:2], times=[gap, 2 * gap])
    assert np.isfinite(mix.predict_proba(X)).all() and np.isfinite(mix.probabilities_).all()
    assert mix.state_.tally.mass.sum() == pytest.approx(1.0)
    assert np.isfinite(mix.sample(5)[0]).all()


@pytest.mark.parametrize("engine", [em.ADF(), em.SUGS(), em.OnlineCRP()], ids=repr)
@pytest.mark.filterwarnings("ignore::evermix.CapacityWarning")
def test_nothing_is_left_for_other_priors_too(engine):
    """A cap of one makes the next row join a cluster of which nothing is left."""
    X, _ = blobs(20)
    prior, plan = em.GeneralizedDirichlet(), em.Exponential(1.0)
    mix = em.Mixture(FAMILY, prior, engine, plan, max_clusters=1, random_state=0)
    mix.partial_fit(X[:1], times=[0.0]).partial_fit(X[:1], times=[1e4])
    assert mix.state_.tally.mass.tolist() == [1.0] and mix.probabilities_.tolist()[0] > 0


@pytest.mark.filterwarnings("ignore::evermix.CapacityWarning")
def test_the_published_rule_forgets_under_a_cap():
    """Clusters of mass below sigma have no weight, but a row must go somewhere."""
    X, _ = blobs(200)
    engine = em.ADF(birth=0.5, rule="paper")
    mix = em.Mixture(FAMILY, em.NGGP(), engine, em.Exponential(1.0), max_clusters=1)
    mix.partial_fit(X, times=5.0 * np.arange(200))
    assert np.isfinite(mix.predict_proba(X)).all() and np.isfinite(mix.state_.tally.mass).all()


@pytest.mark.parametrize("engine", [em.ADF(), em.SUGS(), em.DPMeans(20.0)], ids=repr)
@pytest.mark.parametrize("half_life", [0.1, 1e-5, 1e-320])
def test_half_lives_shorter_than_a_row_keep_few_clusters(engine, half_life):
    """When all have faded, all but one are dropped; else there would be one for every row."""
    X, _ = blobs(150)
    mix = mixture(engine, half_life).partial_fit(X)
    assert mix.n_clusters_ <= 2 or half_life < 1e-300  # where rounds cannot be counted
    assert mix.state_.tally.mass.sum() == pytest.approx(1.0, abs=1e-2)


@pytest.mark.parametrize("stamps", [None, np.arange(300.0)], ids=["counted", "timed"])
@pytest.mark.parametrize("engine", [em.ADF(), em.RCRP(), em.SUGS(), em.DPMeans(20.0)], ids=repr)
def test_rows_of_no_weight_at_the_start_move_no_moment_of_scaling(engine, stamps):
    X, _ = blobs(300)
    times = None if stamps is None else stamps[3:]
    whole = mixture(engine, 20.0).partial_fit(X, sample_weight=np.arange(300) >= 3, times=stamps)
    assert_same(whole, mixture(engine, 20.0).partial_fit(X[3:], times=times))


@pytest.mark.parametrize("stamped", [False, True])
@pytest.mark.parametrize("engine", [em.ADF(birth=0.01), em.SUGS(merge=5.0)], ids=repr)
def test_cuts_do_not_change_when_clusters_were_last_seen(engine, stamped):
    """Also of those that are joined or dropped between two moments of scaling."""
    rng = np.random.default_rng(0)
    z = np.arange(2500) // 200 + rng.integers(3, size=2500)
    X = np.c_[4.0 * z, -3.0 * (z % 5)] + 1.3 * rng.normal(size=(2500, 2))
    times = np.cumsum(rng.exponential(size=2500)) if stamped else None
    whole = mixture(engine, 20_000.0).partial_fit(X, times=times)
    assert any(into >= 0 for into in whole.lineage_.into)
    mix = mixture(engine, 20_000.0)
    for some in np.split(np.arange(2500), [1, 990, 999, 1000, 1001, 1700]):
        mix.partial_fit(X[some], times=None if times is None else times[some])
    assert_same(whole, mix)
    lineage = mix.lineage_
    for k in range(lineage.next_id if not stamped else 0):
        assert lineage.last[k] <= (lineage.ended[k] if lineage.ended[k] >= 0 else 2500)


def test_dates_may_have_time_zones():
    """They are reported by the same clock, and the caller's array stays as it is."""
    X, _ = blobs(200)
    hours = [datetime(2024, 1, 1, tzinfo=UTC) + timedelta(hours=h) for h in range(200)]
    east = [when.astimezone(timezone(timedelta(hours=2))) for when in hours]
    want = mixture(em.ADF(), timedelta(days=1)).partial_fit(
        X, times=[when.replace(tzinfo=None) for when in hours]
    )
    given = np.array(east, dtype=object)
    for times in (hours, east, given, pd.Series(east), pd.DatetimeIndex(hours)):
        assert_same(mixture(em.ADF(), timedelta(days=1)).partial_fit(X, times=times), want)
    assert given.tolist() == east and given[0].tzinfo is not None


@pytest.mark.parametrize("saved", [False, True])
def test_a_stream_keeps_its_model_while_rows_wait(saved, tmp_path):
    """Whatever is set since; also where it is saved, and loaded again."""
    X, _ = blobs(60)
    mix = em.Mixture(prior=em.DP(2.0), forgetting=em.Exponential(10.0), max_clusters=3)
    mix.partial_fit(X[:20], times=np.arange(20))
    mix.set_params(prior=em.DP(5.0), forgetting=None, max_clusters=1)
    with pytest.raises(ValueError, match="all rows of a stream must come with times, or none"):
        mix.partial_fit(X[20:40])
    if saved:
        mix.save(tmp_path / "mix.evermix")
        mix = em.load(tmp_path / "mix.evermix")
    assert mix.n_clusters_ == 3  # it has settled
    assert mix.model_.prior == em.DP(2.0)
    assert mix.model_.forgetting == em.Exponential(10.0)
    assert len(mix.lineage_.last) == mix.lineage_.next_id


def test_moments_of_scaling_do_not_depend_on_cuts():
    """Also where a 16th of a half-life is met to the last digit."""
    rng = np.random.default_rng(0)
    for _ in range(500):
        times = np.sort(rng.uniform(-2, 2, 30)).round(int(rng.integers(1, 4)))
        plan = em.Exponential(TICKS * float(rng.choice([0.3, 0.7, 1.1])))
        whole = [(s.rows.start, s.factor) for s in plan.stretches(times, None) if s.factor < 1]
        parts, faded = [], None
        for row in range(30):
            (stretch,) = plan.stretches(times[row : row + 1], faded)
            faded = stretch.faded
            parts += [(row, stretch.factor)] if stretch.factor < 1 else []
        assert parts == whole
