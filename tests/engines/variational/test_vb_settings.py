"""Starts and settings of variational engines, and what they keep whatever these are."""

import inspect
import re
import warnings
from dataclasses import fields, replace
from functools import partial

import numpy as np
import pytest
from scipy import sparse

import evermix as em
from evermix import FullVB, MemoizedVB, StochasticVB
from evermix.engines.batch import CapacityWarning
from evermix.families import FixedGaussian, Multinomial
from evermix.model import Model
from evermix.priors import DP, NGGP
from evermix.testing import check_engine
from helpers.engine_cases import documents, model_for, text_model
from helpers.variational_cases import PRIORS, WEIGHTS, copied, cut, fit, joined, memoized, named

ENGINES = {"FullVB": FullVB, "StochasticVB": StochasticVB, "MemoizedVB": MemoizedVB}

either_prior = pytest.mark.parametrize("prior", PRIORS, ids=repr)
every_engine = pytest.mark.parametrize("engine", ENGINES)


# ---- starts ----------------------------------------------------------------------------------


@pytest.mark.parametrize("start", ["one", "kmeans++", "random"])
@every_engine
def test_few_rows_and_many_clusters(engine, start):
    """More clusters than rows, rows that are all the same, a single row."""
    for name in ("Gaussian", "Multinomial", "Poisson"):
        model, X = model_for(name, DP(1.5), n=12)
        same = sparse.vstack([X[:1]] * 9, "csr") if sparse.issparse(X) else np.tile(X[:1], (9, 1))
        for rows in (X, same, X[:2], X[:1]):
            made = ENGINES[engine](laps=4, start=start, truncation=30)
            state = fit(made, model, cut(rows, size=5))
            assert state.tally.mass.sum() == pytest.approx(rows.shape[0])
            assert np.isfinite(state.latents["bound"][0])


@every_engine
def test_a_start_is_where_it_says(engine):
    model, batches = named("FixedGaussian", DP(1.5), weights=WEIGHTS)
    for start, K in (("one", 1), ("kmeans++", 7), ("random", 7)):
        made = ENGINES[engine](start=start, truncation=7)
        if engine == "MemoizedVB":  # which otherwise begins with births
            made = replace(made, births=False)
        rng = np.random.default_rng(0)
        state = made.begin(model, made.initial(model, rng), batches, rng)
        assert state.tally.K == K
        assert state.tally.mass.sum() == pytest.approx(WEIGHTS.sum())
        assert np.all(np.diff(state.tally.mass) <= 0)
        X, weights = joined(batches)
        np.testing.assert_allclose(
            state.tally.stats.sum(axis=0), weights @ model.family.statistic(X), rtol=1e-9
        )


# ---- settings --------------------------------------------------------------------------------


@pytest.mark.every_python
@every_engine
def test_settings_come_in_the_order_of_their_documentation(engine):
    kind = ENGINES[engine]
    named = re.findall(r"^(\w+) : ", inspect.getdoc(kind), re.MULTILINE)
    assert named == [field.name for field in fields(kind)]


@pytest.mark.parametrize(
    "engine",
    [
        FullVB(laps=4, truncation=5),
        FullVB(laps=3, truncation=5, top=2, start="random"),
        StochasticVB(laps=4, truncation=5),
        StochasticVB(laps=3, truncation=5, top=1, start="random", delay=0.0, kappa=1.0),
        MemoizedVB(laps=6),
        MemoizedVB(laps=5, start="kmeans++", truncation=8, stride=2),
        MemoizedVB(laps=5, top=2),
        memoized(start="random"),
    ],
    ids=repr,
)
@pytest.mark.parametrize("name", ["Multinomial", "Gaussian"])
def test_engines_keep_the_shipped_laws(name, engine):
    for prior in PRIORS:
        check_engine(engine, *model_for(name, prior, n=50))


@every_engine
def test_a_seed_decides_everything(engine):
    X = documents(80, V=12, words=40)
    fits = [
        em.Mixture(Multinomial(0.5), DP(1.0), ENGINES[engine](laps=5, start=start), random_state=s)
        for start, s in (("kmeans++", 3), ("kmeans++", 3), ("kmeans++", 4))
    ]
    ours, again, other = (mix.fit(X) for mix in fits)
    np.testing.assert_array_equal(ours.labels_, again.labels_)
    np.testing.assert_array_equal(ours.tally_.stats, again.tally_.stats)
    assert ours.lower_bound_ == again.lower_bound_
    assert not np.array_equal(ours.state_.latents["seed"], other.state_.latents["seed"])


@every_engine
def test_a_prior_without_sticks_is_refused_and_others_are_named(engine):
    X = documents(20)
    mix = em.Mixture(prior=NGGP(), engine=ENGINES[engine]())
    with pytest.raises(TypeError, match=f"{engine} needs .* got NGGP.*DP, PitmanYor"):
        mix.fit(X)


@either_prior
@every_engine
def test_there_are_never_more_clusters_than_allowed(engine, prior):
    """Where births meet the cap, that is reported once."""
    X = documents(200, V=12, words=30, groups=9)
    for cap in (1, 2, 4):
        model, most = replace(text_model(prior), max_clusters=cap), []
        made = ENGINES[engine](laps=6, truncation=20)
        with warnings.catch_warnings(record=True, action="always") as reported:
            state = fit(made, model, cut(X), observers=[partial(_count, most)])
        assert max(most) == state.tally.K == cap
        assert [w.category for w in reported] == [CapacityWarning] * (engine == "MemoizedVB")


def test_births_in_one_lap_share_what_the_cap_leaves():
    """Two clusters that would each become three, where there is room for two more in all."""
    rng = np.random.default_rng(0)
    centres = 1000 * np.repeat([[1, 0, 0], [-1, 0, 0]], 3, axis=0) + 30 * np.tile(np.eye(3), (2, 1))
    X = np.repeat(centres, 20, axis=0) + rng.normal(size=(120, 3))
    family = FixedGaussian(1.0, 1e6, mean=0.0).candidates(X)[0]
    for cap in (4, 5, 7):
        most = []
        with warnings.catch_warnings(action="ignore", category=CapacityWarning):
            engine, model = MemoizedVB(start="kmeans++", truncation=2), Model(family, DP(1.0), cap)
            fit(engine, model, cut(X), observers=[partial(_count, most)])
        assert most[0] == 2
        assert max(most) == most[-1] == min(cap, 6)


def _count(most, state, info):
    assert info.K == state.tally.K
    most.append(info.K)


@pytest.mark.parametrize("name", ["Multinomial", "Gaussian"])
@every_engine
def test_what_is_remembered_is_whole_after_every_step(engine, name):
    """As a file that was written then would be held to."""
    model, batches = named(name, DP(1.5), weights=WEIGHTS)
    made = ENGINES[engine](laps=5, start="kmeans++", truncation=9)
    if engine != "FullVB":
        made = replace(made, batch_size=40)

    def watch(state, info):
        seen = 120 if state.lap else 40 * state.at
        made.check_memo(model, copied(state), seen)

    fit(made, model, batches, observers=[watch])


@every_engine
def test_mass_that_was_dropped_comes_back_with_its_rows(engine):
    """A fit drops clusters that own no row; going on shares all rows again."""
    X = documents(150, V=12)
    made = ENGINES[engine](laps=2, start="kmeans++", truncation=25)
    if engine != "FullVB":
        made = replace(made, batch_size=50)
    mix = em.Mixture(Multinomial(0.5), DP(1.0), made, random_state=0).fit(X)
    assert mix.state_.latents["dropped"][0] > 0.01

    def watch(mix, info):
        total = mix.state_.tally.mass.sum() + mix.state_.latents["dropped"][0]
        assert total == pytest.approx(150, rel=1e-9)

    watch(mix, None)
    mix.set_params(engine=replace(made, laps=4)).resume(X, observers=[watch])
    watch(mix, None)


def test_clusters_that_hold_rows_are_kept_however_little_rows_weigh():
    """What holds nothing is dropped, and that is a question of shares."""
    model, X = model_for("FixedGaussian", DP(1.0))
    for weight in (1.0, 1e-12, 1e-30):
        state = fit(memoized(truncation=3, laps=2), model, cut(X, np.full(120, weight)))
        assert state.tally.K == 3
        assert state.tally.mass.sum() == pytest.approx(120 * weight)


def test_clusters_are_separated_at_last():
    """One cluster may become many, where the cap allows it."""
    X = np.repeat(100.0 * np.eye(6), 20, axis=0) + np.random.default_rng(0).normal(size=(120, 6))
    family = FixedGaussian(1.0, 1e4, mean=0.0).candidates(X)[0]
    for cap, K in ((None, 6), (7, 6), (3, 3)):
        for engine in (MemoizedVB(), MemoizedVB(start="random", truncation=1)):
            with warnings.catch_warnings(action="ignore", category=CapacityWarning):
                state = fit(engine, Model(family, DP(1.0), cap), cut(X))
            assert state.tally.K == K


@pytest.mark.parametrize("tol", [0.01, 1e6])
def test_no_fit_ends_before_the_rows_of_newborn_clusters_are_reported(tol):
    """However little a rise of the bound counts, and if nothing is left to be tried."""
    X = np.repeat(100.0 * np.eye(6), 20, axis=0) + np.random.default_rng(0).normal(size=(120, 6))
    engine = MemoizedVB(laps=10, batch_size=40, tol=tol, start="random", truncation=2)
    mix = em.Mixture(FixedGaussian(1.0, 1e4, mean=0.0), DP(1.0), engine, random_state=0).fit(X)
    assert mix.n_clusters_ == 6
    assert mix.state_.latents["dropped"][0] == 0.0


def test_a_fit_ends_though_a_pair_loses_in_every_lap():
    """Where clusters overlap, one would have the higher evidence but for the entropy of two."""
    rng = np.random.default_rng(1)
    X = rng.permutation(np.repeat([0.0, 2.0], 300)[:, None] + rng.normal(size=(600, 1)))
    model = Model(FixedGaussian(1.0, 100.0, mean=0.0).candidates(X)[0], DP(1.0))
    engine = memoized(merges=True, truncation=2, laps=50, tol=0.01)
    state = fit(engine, model, cut(X, size=100))
    assert len(state.memo["plan"]["pairs"])
    assert state.tally.K == 2
    assert state.lap < 20
