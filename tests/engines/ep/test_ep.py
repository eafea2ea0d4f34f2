"""The laws of expectation propagation."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from scipy import sparse

import evermix.engines.filters.filter as filter
from evermix import ADF, DP, EP, NGGP, FixedGaussian, GeneralizedDirichlet, Mixture, PitmanYor
from evermix.engines.batch import Batch, CapacityWarning
from evermix.engines.ep import updates
from evermix.engines.run import run_laps
from evermix.families import FAMILIES
from evermix.model import Model
from evermix.priors.base import occupancy
from evermix.testing import check_engine
from helpers.engine_cases import FEW_FAMILIES, Plain, documents, model_for, text_model, vectors
from helpers.oracles import exact_co_clustering

PRIORS = [DP(2.0), NGGP(1.0, 0.5, 1.0), NGGP(3.0, 0.25, 2.0, u="mode"), PitmanYor(1.0, 0.3)]


def cut(X, weights=None, size=None):
    n = X.shape[0]
    size = n if size is None else size
    weights = np.ones(n) if weights is None else np.asarray(weights, float)
    starts = range(0, n, size)
    return [Batch(X[s : s + size], weights[s : s + size], key) for key, s in enumerate(starts)]


def fit(engine, model, batches, watch=(), seed=0):
    rng = np.random.default_rng(seed)
    return run_laps(engine, model, engine.initial(model, rng), batches, rng, watch)


def dense_sites(state, n):
    """Responsibilities (N, K) of the rows in the living clusters, from the sites."""
    rows, first = np.zeros((n, state.tally.K)), 0
    place = {int(k): j for j, k in enumerate(state.tally.ids)}
    for key in sorted(state.memo, key=int):
        record = state.memo[key]
        for i, (b, e) in enumerate(zip(record["begin"], record["end"], strict=True)):
            today = state.lineage.current(record["ids"][b:e])
            for k, q in zip(today, record["q"][b:e], strict=True):
                if int(k) in place:
                    rows[first + i, place[int(k)]] += q
        first += len(record["begin"])
    return rows


# ---- laws of every engine --------------------------------------------------------------------


@pytest.mark.parametrize("name", FEW_FAMILIES)
def test_laws_hold_for_every_family(name):
    check_engine(EP(laps=4, shuffle=True, tol=0.0), *model_for(name))


@pytest.mark.parametrize("prior", [*PRIORS, GeneralizedDirichlet(2.0, 2)], ids=repr)
def test_laws_hold_for_every_prior(prior):
    check_engine(EP(laps=3, tol=0.0), *model_for("Multinomial", prior, n=40))


def test_laws_hold_for_the_published_rule_and_with_rows_held_out():
    model, X = model_for("Multinomial")
    check_engine(EP(laps=4, birth=0.5, rule="paper", tol=0.0), model, X)


# ---- sites -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", FEW_FAMILIES)
def test_after_a_lap_the_clusters_are_the_sum_of_the_sites(name, monkeypatch):
    """Mass, statistics and both extras follow from the sites, whatever was merged or dropped."""
    monkeypatch.setattr(filter, "CHECK_EVERY", 40)
    model, X = model_for(name, NGGP(5.0, 0.5, 1.0))
    weights = np.random.default_rng(0).choice([0.0, 0.5, 1.0, 3.0], X.shape[0])
    state = fit(EP(laps=3, merge=0.0, tol=0.0), model, cut(X, weights, 50))
    q = dense_sites(state, X.shape[0])
    tally, hard = state.tally, q >= 1 - 1e-12
    log_empty = (weights[:, None] * np.log1p(-np.where(hard, 0.0, q))).sum(axis=0)
    np.testing.assert_allclose(tally.mass, weights @ q, rtol=1e-9)
    np.testing.assert_allclose(
        tally.stats, model.family.accumulate(X, weights[:, None] * q), rtol=1e-9, atol=1e-9
    )
    np.testing.assert_allclose(tally.extras["hard"], weights @ hard, atol=1e-9)
    np.testing.assert_allclose(tally.extras["log_empty"], log_empty, atol=1e-9)
    orphaned = weights.sum() - weights @ q.sum(axis=1)
    assert state.latents["dropped"][0] == pytest.approx(orphaned, abs=1e-9)


@pytest.mark.parametrize("name", ["Multinomial", "Gaussian"])
def test_mass_is_conserved_after_every_step(name, monkeypatch):
    """Mass of the clusters plus orphaned mass is the weight of the rows seen so far."""
    monkeypatch.setattr(filter, "CHECK_EVERY", 32)
    model, X = model_for(name, NGGP(5.0, 0.5, 1.0))
    weights = np.random.default_rng(1).choice([0.0, 0.5, 2.0], X.shape[0])
    seen = []

    def watch(state, info):
        del info
        done = weights[: 40 * state.at].sum() if state.lap == 0 else weights.sum()
        seen.append((state.tally.mass.sum() + state.latents["dropped"].sum(), done))

    fit(EP(laps=4, birth=0.02, merge=0.0, tol=0.0), model, cut(X, weights, 40), [watch])
    got, want = np.array(seen).T
    np.testing.assert_allclose(got, want, rtol=1e-6)  # a cluster of mass below 1e-6 is emptied


@pytest.mark.parametrize("plain", [False, True])
def test_heavy_rows_do_not_sweep_away_light_ones(plain):
    """After every step of every lap, clusters of light rows have the mass that the sites say."""
    X = vectors(40, D=2)
    family = FAMILIES["DiagonalGaussian"]().candidates(X)[0]
    model = Model(family, Plain(NGGP()) if plain else NGGP())
    weights = np.append(1e8, np.ones(39))
    furthest = []

    def watch(state, info):
        if state.lap and info.rows:
            mass = weights @ dense_sites(state, 40)
            light = mass < 100.0
            furthest.append(np.abs(state.tally.mass - mass)[light].max(initial=0.0))

    state = fit(EP(laps=5, tol=0.0), model, cut(X, weights), [watch])
    assert len(furthest) == 4 and max(furthest) < 1e-3
    assert np.all(np.isfinite(state.tally.stats))


def test_occupancy_never_exceeds_mass():
    model = text_model(NGGP(20.0, 0.7, 1.0))
    state = fit(EP(laps=4, birth=0.01, tol=0.0), model, cut(documents(200)))
    occupied = occupancy(state.tally.mass, state.tally.extras)
    assert np.all(occupied <= state.tally.mass)
    assert np.all(occupied > 0)


def test_sites_hold_only_what_is_above_rounding():
    """Well separated rows have one entry each, however many clusters there are."""
    X = np.repeat(1000.0 * np.arange(30.0)[:, None], 4, axis=0)
    model = Model(FixedGaussian(1.0, 1e8, n_features=1, origin=np.zeros(1)), DP(1.0))
    state = fit(EP(laps=3), model, cut(X))
    assert state.tally.K == 30
    assert len(state.memo["0"]["q"]) == 120
    np.testing.assert_array_equal(state.memo["0"]["q"], 1.0)


def test_a_row_of_its_own_finds_its_cluster_again_and_keeps_its_id():
    """Without emptying it first, the row would open a duplicate beside an empty shell."""
    X = np.array([[0.0], [0.1], [50.0], [-0.1]])
    model = Model(FixedGaussian(1.0, 100.0, n_features=1, origin=np.zeros(1)), DP(0.2))
    engine = EP(laps=6, tol=0.0)
    ids = []
    state = fit(engine, model, cut(X), [lambda state, info: ids.append(state.tally.ids.tolist())])
    assert state.lineage.next_id == state.tally.K == 2
    assert all(sorted(k) == [0, 1] for k in ids[1:])


def test_where_births_come_free_a_row_of_its_own_still_keeps_its_id():
    X = np.array([[0.0], [300.0], [600.0], [-300.0]])
    model = Model(FixedGaussian(1.0, 100.0, n_features=1, origin=np.zeros(1)), DP(0.2))
    assert fit(EP(laps=6, birth=0.0, tol=0.0), model, cut(X)).lineage.next_id == 4


def test_an_emptied_cluster_stays_empty_when_the_loop_is_interrupted(monkeypatch):
    """Crumbs that others have left in it are not taken out of its slot, which may be another's."""
    monkeypatch.setattr(filter, "CHECK_EVERY", 2)
    X = np.array([[0.0]] * 6 + [[200.0], [-200.0]])
    model = Model(FixedGaussian(1.0, 1e4, n_features=1, origin=np.zeros(1)), DP(1e-3))
    engine, rng, batches = EP(laps=2, merge=None, tol=0.0), np.random.default_rng(0), cut(X)
    state = engine.initial(model, rng)
    # As a lap could leave it: row 0 alone in cluster 0, with a crumb of row 3; the rest in 1.
    end = np.array([1, 2, 3, 5, 6, 7, 8, 9])
    state.memo["0"] = {
        "begin": np.concatenate([[0], end[:-1]]),
        "end": end,
        "ids": np.array([0, 1, 1, 0, 1, 1, 1, 1, 1], dtype=np.int32),
        "q": np.array([1.0, 1.0, 1.0, 1e-9, 1 - 1e-9, 1.0, 1.0, 1.0, 1.0]),
        "held": np.zeros(8, dtype=bool),
        "base": model.family.log_base(X),
    }
    state.append([state.lineage.birth(1), state.lineage.birth(2)])
    state, _ = engine.end_lap(model, state, batches, rng)
    state.lap = 1
    state, info = engine.step(model, state, batches[0], rng)
    assert (info.births, info.dropped) == ([2, 3], [0])
    np.testing.assert_allclose(state.tally.mass, [1.0, 6.0, 1.0], rtol=1e-9)


def test_a_row_goes_back_to_what_it_left_of_its_own_cluster(monkeypatch):
    """The mutation: rows that open another cluster beside their own do so in every lap."""
    model, X = text_model(NGGP(20.0, 0.6, 1.0)), documents(60, words=6)
    model = replace(model, prior=Plain(model.prior))
    engine = EP(laps=4, birth=0.1, merge=None, tol=0.0)
    right = fit(engine, model, cut(X)).lineage.next_id
    remove = updates._remove_row
    monkeypatch.setattr(updates, "_remove_row", lambda *args: (remove(*args)[0], None))
    assert fit(engine, model, cut(X)).lineage.next_id > 1.5 * right


# ---- against the array maths and against ADF -------------------------------------------------


@pytest.mark.parametrize("name", FEW_FAMILIES)
@pytest.mark.parametrize("birth", [0.02, 0.5])
def test_the_compiled_loop_equals_the_array_maths(name, birth):
    """The loop keeps the weight of a new cluster while E[K'] moves by less than a thousandth.

    So both agree to about that, lap after lap, and open and drop the same clusters.
    """
    model, X = model_for(name, n=80)
    weights = np.random.default_rng(0).integers(0, 3, X.shape[0]) / 2
    engine = EP(laps=3, birth=birth, tol=0.0, merge=None)
    infos = {}
    states = {}
    for path, prior in (("fast", NGGP(u="mode")), ("slow", Plain(NGGP(u="mode")))):
        infos[path] = []
        watch = [lambda state, info, seen=infos[path]: seen.append(info)]
        states[path] = fit(engine, replace(model, prior=prior), cut(X, weights), watch)
    fast, slow = states["fast"], states["slow"]
    order = np.argsort(fast.tally.ids), np.argsort(slow.tally.ids)
    np.testing.assert_array_equal(fast.tally.ids[order[0]], slow.tally.ids[order[1]])
    np.testing.assert_allclose(fast.tally.mass[order[0]], slow.tally.mass[order[1]], rtol=2e-3)
    for ours, theirs in zip(infos["fast"], infos["slow"], strict=True):
        assert ours.births == theirs.births
        assert sorted(ours.dropped) == sorted(theirs.dropped)
        assert ours.scalars["moved"] == pytest.approx(theirs.scalars["moved"], rel=1e-2, abs=1e-3)


def test_the_first_lap_is_that_of_the_filter(monkeypatch):
    monkeypatch.setattr(filter, "CHECK_EVERY", 50)
    model, X = model_for("Multinomial", NGGP(5.0, 0.5, 1.0))
    seen = {}
    for engine in (ADF(birth=0.05), EP(laps=1, birth=0.05)):
        rng = np.random.default_rng(0)
        seen[type(engine)], info = engine.step(model, engine.initial(model, rng), cut(X)[0], rng)
        seen[type(engine), "scores"] = info.results.log_predictive
    np.testing.assert_array_equal(seen[ADF].tally.mass, seen[EP].tally.mass)
    np.testing.assert_array_equal(seen[ADF].tally.stats, seen[EP].tally.stats)
    np.testing.assert_array_equal(seen[ADF, "scores"], seen[EP, "scores"])


@pytest.mark.parametrize("prior", [*PRIORS[:2], PRIORS[3], GeneralizedDirichlet(2.0, 2)], ids=repr)
@pytest.mark.parametrize("rule", ["expected", "paper"])
def test_with_certain_assignments_the_cavity_predictive_is_exact(prior, rule):
    """Each row is then scored by the exact predictive of the partition of all others."""
    if rule == "paper" and isinstance(prior, GeneralizedDirichlet):
        pytest.skip("the published rule is one of Gibbs-type priors")
    X = np.repeat([[0.0], [1e4], [-1e4]], [6, 3, 2], axis=0)
    model = Model(FixedGaussian(1.0, 1e10, n_features=1, origin=np.zeros(1)), prior)
    infos = []
    fit(
        EP(laps=3, birth=0.5, rule=rule, tol=0.0),
        model,
        cut(X),
        [lambda state, info: infos.append(info)],
    )
    got = infos[-2].results
    np.testing.assert_array_equal(got.probabilities, 1.0)
    family = model.family
    for i in range(len(X)):
        others = np.delete(np.arange(len(X)), i)
        groups = [others[got.labels[others] == k] for k in np.unique(got.labels[others])]
        sizes = np.array([float(len(g)) for g in groups])
        stats = np.array([family.statistic(X[g]).sum(axis=0) for g in groups])
        eta = family.posterior(np.vstack([stats, 0 * stats[:1]]), np.append(sizes, 0.0))
        log_weights = prior.log_weights(sizes, np.ones(len(sizes)))
        if rule == "paper":  # plugs in the mode of U; exact only where there is no U
            log_weights = EP(birth=0.5, rule=rule).log_weights(model, _certain(model, sizes))
        want = np.logaddexp.reduce(log_weights + family.log_predictive(X[i : i + 1], eta)[0])
        want += family.log_base(X[i : i + 1])[0]
        assert got.log_predictive[i] == pytest.approx(want, abs=2e-3 if rule == "paper" else 1e-6)


def _certain(model, sizes):
    state = EP().initial(model, np.random.default_rng(0))
    state.append(np.arange(len(sizes)))
    state.tally.mass[:] = state.tally.extras["hard"][:] = sizes
    return state


def test_a_rescaled_prior_gives_the_same_trajectory():
    """(a, sigma, tau) and (a tau^sigma, sigma, 1) are one law."""
    X = documents(200)
    one = fit(EP(laps=5, tol=0.0), text_model(NGGP(2.0, 0.5, 16.0)), cut(X))
    two = fit(EP(laps=5, tol=0.0), text_model(NGGP(8.0, 0.5, 1.0)), cut(X))
    np.testing.assert_allclose(one.tally.mass, two.tally.mass, rtol=1e-6)


# ---- moves, stopping -------------------------------------------------------------------------


def test_duplicates_are_merged_and_their_sites_follow(monkeypatch):
    monkeypatch.setattr(EP, "_reviews", lambda *_: False)  # which would leave none
    X = np.random.default_rng(0).normal(size=(300, 2))
    model = Model(FixedGaussian(1.0, 9.0, n_features=2, origin=np.zeros(2)), DP(5.0))
    merges = []
    joined = fit(
        EP(laps=6, birth=0.02, merge=0.0, tol=0.0),
        model,
        cut(X),
        [lambda state, info: merges.extend(info.merges)],
    )
    assert merges
    np.testing.assert_allclose(dense_sites(joined, 300).sum(axis=0), joined.tally.mass, rtol=1e-9)


def test_it_stops_when_nothing_changes():
    X = vectors(150, groups=3)
    mix = Mixture(engine=EP(laps=200, tol=1e-3), prior=DP(1.0)).fit(X)
    assert 2 <= mix.state_.lap < 200
    last = [info for info in mix.history_ if info.rows == 0][-1]
    assert last.scalars["change"] <= 1e-3
    again = Mixture(engine=EP(laps=200, tol=0.0), prior=DP(1.0)).fit(X)
    np.testing.assert_allclose(again.weights_, mix.weights_, atol=0.01)


def test_it_stops_when_rows_held_out_are_predicted_no_better():
    model, X = model_for("Multinomial", n=400)
    engine = EP(laps=100, tol=0.0, validation=0.25, patience=3, shuffle=True)
    mix = Mixture(model.family, model.prior, engine, random_state=0).fit(X)
    scores = [info.scalars["held_out"] for info in mix.history_ if info.rows == 0]
    assert len(scores) == mix.state_.lap < 100
    best = 1 + int(np.argmax(scores[1:]))
    assert len(scores) - 1 - best == 3
    assert mix.state_.tally.mass.sum() < 0.85 * 400
    assert np.all(mix.labels_ >= 0)


def test_held_out_rows_teach_nothing():
    model, X = model_for("Multinomial", n=200)
    state = fit(EP(laps=3, tol=0.0, validation=0.5), model, cut(X))
    held = state.memo["0"]["held"]
    assert 60 < held.sum() < 140
    assert np.all(state.memo["0"]["begin"][held] == state.memo["0"]["end"][held])
    alone = fit(EP(laps=3, tol=0.0), model, cut(X[~held]))
    np.testing.assert_allclose(np.sort(state.tally.mass), np.sort(alone.tally.mass), rtol=1e-9)


def test_rows_that_count_are_never_all_held_out():
    model, X = model_for("Multinomial", n=30)
    for seed in range(5):
        weights = np.zeros(30)
        weights[[7, 11]] = 1.0
        state = fit(EP(laps=3, tol=0.0, validation=0.9), model, cut(X, weights), seed=seed)
        held = state.memo["0"]["held"]
        assert held.any() and not held[[7, 11]].all()
        assert state.tally.K >= 1


def test_more_laps_predict_held_out_rows_better_than_one():
    """Averaged over orders, as the paper has it."""
    X = documents(600, V=30, words=12, groups=12, seed=3)
    train, test = X[:450], X[450:]
    gain = []
    for seed in range(6):
        order = np.random.default_rng(seed).permutation(450)
        model = text_model(NGGP(1.0, 0.5, 1.0), V=30)
        scores = []
        for laps in (1, 15):
            mix = Mixture(model.family, model.prior, EP(laps=laps, birth=0.1)).fit(train[order])
            scores.append(mix.score(test))
        gain.append(scores[1] - scores[0])
    assert np.mean(gain) > 0


def test_the_cap_is_kept_and_warns_once():
    model = replace(text_model(NGGP(10.0, 0.5, 1.0)), max_clusters=3)
    with pytest.warns(CapacityWarning, match="max_clusters=3 at observation") as caught:
        state = fit(EP(laps=3, tol=0.0), model, cut(documents(300, groups=8), size=100))
    assert len(caught) == 1
    assert state.tally.K == 3


def test_random_orders_are_those_of_the_seed():
    model, X = model_for("Multinomial")
    engine = EP(laps=3, shuffle=True, tol=0.0)
    one, two, other = (fit(engine, model, cut(X, size=30), seed=s) for s in (1, 1, 2))
    np.testing.assert_array_equal(one.tally.mass, two.tally.mass)
    assert not np.array_equal(one.tally.mass, other.tally.mass)
    orders = {tuple(engine.order(replace(one, lap=lap), 4).tolist()) for lap in range(1, 9)}
    assert len(orders) > 3


def test_a_single_row_and_equal_rows():
    model = Model(FixedGaussian(1.0, 1.0, n_features=1, origin=np.zeros(1)), NGGP())
    for X in (np.zeros((1, 1)), np.zeros((9, 1))):
        state = fit(EP(laps=4, tol=0.0), model, cut(X))
        assert state.tally.mass.sum() == pytest.approx(len(X))
    empty = sparse.csr_matrix((5, 12))
    state = fit(EP(laps=4, tol=0.0), text_model(NGGP()), cut(empty))
    assert state.tally.mass.sum() + state.latents["dropped"][0] == pytest.approx(5)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"laps": 0}, "laps must be at least 1"),
        ({"patience": 0}, "patience must be at least 1"),
        ({"tol": -1.0}, "tol must be >= 0"),
        ({"tol": np.nan}, "tol must be >= 0"),
        ({"validation": 1.0}, r"validation must lie in \[0, 1\)"),
        ({"birth": 1.0}, r"birth must lie in \[0, 1\)"),
        ({"rule": "mine"}, "rule must be"),
        ({"merge": -1.0}, "merge must be >= 0"),
    ],
)
def test_settings_that_cannot_be_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        EP(**settings)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"laps": True}, "laps must be a whole number, got True"),
        ({"laps": np.nan}, "laps must be a whole number, got nan"),
        ({"patience": 2.5}, "patience must be a whole number"),
        ({"tol": None}, "tol must be a number, got None"),
        ({"validation": "half"}, "validation must be a number, got 'half'"),
        ({"birth": "0.1"}, "birth must be a number, got '0.1'"),
        ({"merge": True}, "merge must be a number, got True"),
        ({"shuffle": "no"}, "shuffle must be True or False, got 'no'"),
    ],
)
def test_settings_of_another_type_are_refused(settings, message):
    with pytest.raises(TypeError, match=message):
        EP(**settings)


# ---- against enumeration ---------------------------------------------------------------------


def test_co_clustering_of_few_rows_is_near_the_truth():
    """No promise is made for soft cases, but certain ones must come out right."""
    X = np.array([[-6.0], [-5.5], [-6.2], [5.0], [5.4], [6.1], [0.1]])
    model = Model(FixedGaussian(1.0, 25.0, n_features=1, origin=np.zeros(1)), DP(1.0))
    state = fit(EP(laps=50), model, cut(X))
    q = dense_sites(state, len(X))
    got, want = q @ q.T, exact_co_clustering(model, X)
    error = [abs(got[i, j] - want[i, j]) for i, j in combinations(range(len(X)), 2)]
    assert max(error) < 0.2
    assert np.mean(error) < 0.05
