"""The laws of Gibbs sampling, beside the oracles that hold all samplers against enumeration."""

from dataclasses import replace

import numpy as np
import pytest

import evermix as em
from evermix import DP, NGGP, Beta, Gamma, GeneralizedDirichlet, Gibbs, Mixture, PitmanYor
from evermix.engines.batch import Batch, CapacityWarning
from evermix.engines.run import run_laps
from evermix.engines.samplers.sampler import state_of
from evermix.testing import check_engine
from helpers.engine_cases import FEW_FAMILIES, Plain, documents, model_for, text_model, vectors

PRIORS = [DP(2.0), NGGP(1.0, 0.5, 1.0), PitmanYor(1.0, 0.3)]
HYPERPRIORS = {"a": Gamma(1.0, 1.0), "sigma": Beta(1.0, 1.0), "family.alpha": Gamma(1.0, 5.0)}


def chain(engine, model, X, seed=0):
    """Run a chain; return its last state and every step's info."""
    rng, infos = np.random.default_rng(seed), []
    batch = Batch(X, np.ones(X.shape[0]))
    state = run_laps(
        engine,
        model,
        engine.initial(model, rng),
        [batch],
        rng,
        [lambda state, info: infos.append(info)],
    )
    return state, [info for info in infos if info.rows]


@pytest.mark.parametrize("name", FEW_FAMILIES)
def test_laws_hold_for_every_family(name):
    check_engine(Gibbs(sweeps=5, chains=2), *model_for(name))


@pytest.mark.parametrize("prior", [*PRIORS, GeneralizedDirichlet(2.0, 2)], ids=repr)
def test_laws_hold_for_every_prior(prior):
    check_engine(Gibbs(sweeps=3), *model_for("Multinomial", prior, n=30))


def test_laws_hold_with_u_and_learnt_hyperparameters():
    model, X = model_for("Multinomial")
    for augmented in (False, True):
        engine = Gibbs(sweeps=6, augmented=augmented, hyperpriors=HYPERPRIORS, thin=2)
        check_engine(engine, model, X)


@pytest.mark.parametrize("name", FEW_FAMILIES)
def test_the_compiled_sweep_equals_the_array_maths(name):
    """The same random numbers choose the same clusters, with the same probabilities."""
    model, X = model_for(name, NGGP(2.0, 0.3, 1.0), n=60)
    slow = replace(model, prior=Plain(model.prior))
    fast, ours = chain(Gibbs(sweeps=3), model, X)
    plain, theirs = chain(Gibbs(sweeps=3), slow, X)
    for one, two in zip(ours, theirs, strict=True):
        if not np.array_equal(one.results.labels, two.results.labels):
            # Slots lie in another order, so equal uniforms may choose another cluster: compare
            # what does not depend on it, the first row's law.
            break
        np.testing.assert_allclose(
            one.results.log_predictive, two.results.log_predictive, rtol=1e-7, atol=1e-7
        )
    first, other = ours[0].results, theirs[0].results
    np.testing.assert_array_equal(first.labels, other.labels)
    np.testing.assert_allclose(first.log_predictive, other.log_predictive, rtol=1e-7, atol=1e-7)
    np.testing.assert_allclose(first.probabilities, other.probabilities, rtol=1e-7)


@pytest.mark.parametrize("name", FEW_FAMILIES)
def test_after_a_sweep_the_clusters_are_the_sum_of_their_rows(name):
    model, X = model_for(name)
    state, _ = chain(Gibbs(sweeps=4), model, X)
    labels = state.memo["chain"]["labels"]
    r = np.eye(state.tally.K)[labels]
    np.testing.assert_array_equal(state.tally.mass, r.sum(axis=0))
    np.testing.assert_allclose(
        state.tally.stats, model.family.accumulate(X, r), rtol=1e-9, atol=1e-9
    )
    assert np.all(np.diff(np.unique(labels, return_index=True)[1]) > 0)  # named as they appear


def test_log_predictive_of_a_row_is_that_given_all_others():
    """The last row visited in a sweep was scored against the state that the sweep leaves."""
    model, X = model_for("Multinomial", NGGP(2.0, 0.3, 1.0), n=40)
    rng = np.random.default_rng(5)
    engine, batch = Gibbs(sweeps=10), Batch(X, np.ones(40))
    state, _ = engine.step(model, engine.initial(model, rng), batch, rng)
    last = np.random.default_rng(0)
    last.bit_generator.state = rng.bit_generator.state
    i = last.permutation(40)[-1]
    state, info = engine.step(model, state, batch, rng)
    labels = state.memo["chain"]["labels"]
    others = np.delete(np.arange(40), i)
    _, rest = np.unique(labels[others], return_inverse=True)
    without = state_of(model, Batch(X[others], np.ones(39)), rest)
    stats = np.vstack([without.tally.stats, np.zeros(without.tally.size)])
    eta = model.family.posterior(stats, np.append(without.tally.mass, 0.0))
    rho = engine.log_weights(model, without) + model.family.log_predictive(X[i], eta)[0]
    want = np.logaddexp.reduce(rho) + model.family.log_base(X[i])[0]
    assert info.results.log_predictive[i] == pytest.approx(want, abs=1e-8)


def test_draws_are_kept_after_the_burn_in_and_thinned():
    model, X = model_for("Multinomial", n=30)
    for sweeps, burn_in, thin, chains, kept in (
        (10, 4, 1, 1, 6),
        (10, 4, 2, 1, 3),
        (10, None, 1, 3, 15),
        (7, 0, 3, 2, 6),
    ):
        engine = Gibbs(sweeps=sweeps, burn_in=burn_in, thin=thin, chains=chains)
        state, infos = chain(engine, model, X)
        draws = engine.draws(state)
        assert len(infos) == sweeps * chains
        assert draws.labels.shape == (kept, 30)
        assert np.bincount(draws.chain).tolist() == [kept // chains] * chains
        np.testing.assert_array_equal(draws.scalars["K"], draws.labels.max(axis=1) + 1)


def test_the_log_joint_density_is_what_it_says():
    model, X = model_for("Multinomial", NGGP(2.0, 0.3, 1.0), n=30)
    engine = Gibbs(sweeps=4, burn_in=3, hyperpriors=HYPERPRIORS)
    state, _ = chain(engine, model, X)
    draws = engine.draws(state)
    value = {name: draws.scalars[name][0] for name in HYPERPRIORS}
    prior = replace(model.prior, a=value["a"], sigma=value["sigma"])
    family = replace(model.family, alpha=value["family.alpha"])
    r = np.eye(int(draws.scalars["K"][0]))[draws.labels[0]]
    want = prior.log_eppf(r.sum(axis=0)) + family.log_base(X).sum()
    want += family.log_marginal(family.accumulate(X, r), r.sum(axis=0)).sum()
    want += sum(law.log_density(value[name]) for name, law in HYPERPRIORS.items())
    assert draws.scalars["log_joint"][0] == pytest.approx(want, rel=1e-9)


def test_a_fit_is_the_draw_nearest_to_all_others():
    X = vectors(90, groups=3)
    mix = Mixture(prior=DP(1.0), engine=Gibbs(sweeps=40), random_state=0).fit(X)
    posterior = mix.posterior_
    best = posterior.point()
    np.testing.assert_array_equal(mix.labels_, posterior.labels[best])
    assert mix.n_clusters_ == posterior.n_clusters[best]
    np.testing.assert_array_equal(mix.cluster_ids_, np.arange(mix.n_clusters_))
    assert set(mix.predict(X)) <= set(mix.cluster_ids_)
    np.testing.assert_allclose(mix.predict_proba(X).sum(axis=1), 1.0)
    assert mix.probabilities_.shape == (90,)
    assert np.all((mix.probabilities_ > 0) & (mix.probabilities_ <= 1))
    assert mix.weights_.sum() == pytest.approx(1.0)


def test_densities_are_averaged_over_draws_inside_the_log():
    X = documents(80)
    mix = Mixture(prior=NGGP(), engine=Gibbs(sweeps=12, burn_in=4), random_state=1).fit(X[:60])
    each = mix.score_draws(X[60:])
    assert each.shape == (8, 20)
    inside = np.log(np.exp(each).mean(axis=0))
    np.testing.assert_allclose(mix.score_samples(X[60:]), inside, rtol=1e-10)
    assert mix.score_samples(X[60:]).sum() >= each.sum(axis=1).mean()
    draw = mix.posterior_.labels[3].astype(int)
    model = mix.model_
    state = state_of(model, Batch(mix.learner_.batch.X, np.ones(60)), draw)
    eta = model.family.posterior(
        np.vstack([state.tally.stats, np.zeros(state.tally.size)]),
        np.append(state.tally.mass, 0.0),
    )
    rho = model.prior.log_weights(state.tally.mass, np.ones(state.tally.K))
    want = np.logaddexp.reduce(rho + model.family.log_predictive(X[60:], eta), axis=1)
    np.testing.assert_allclose(each[3], want + model.family.log_base(X[60:]), rtol=1e-8)


def test_a_seed_gives_the_same_chain_and_another_another():
    X = documents(60)
    one, two, other = (
        Mixture(engine=Gibbs(sweeps=8), random_state=s).fit(X).posterior_.scalars["log_joint"]
        for s in (3, 3, 4)
    )
    np.testing.assert_array_equal(one, two)
    assert not np.array_equal(one, other)


def test_more_sweeps_go_on_where_the_chain_was():
    """A finished chain that is given more sweeps equals one that was long from the start."""
    X = documents(60)
    long = Mixture(engine=Gibbs(sweeps=12, burn_in=3), random_state=0).fit(X)
    mix = Mixture(engine=Gibbs(sweeps=7, burn_in=3), random_state=0).fit(X)
    mix.set_params(engine=Gibbs(sweeps=12, burn_in=3)).resume(X)
    np.testing.assert_array_equal(mix.posterior_.labels, long.posterior_.labels)
    np.testing.assert_array_equal(mix.score_samples(X), long.score_samples(X))


def test_what_a_file_holds_is_the_whole_chain(tmp_path):
    X = documents(50)
    engine = Gibbs(sweeps=9, augmented=True, hyperpriors=HYPERPRIORS, chains=2)
    mix = Mixture(family=em.Multinomial(0.2), engine=engine, random_state=0).fit(X)
    mix.save(tmp_path / "m.evermix")
    again = em.load(tmp_path / "m.evermix")
    assert again.engine == engine
    np.testing.assert_array_equal(again.labels_, mix.labels_)
    np.testing.assert_array_equal(again.score_samples(X), mix.score_samples(X))
    for one in (mix, again):
        one.set_params(engine=replace(engine, chains=3)).resume(X)
    np.testing.assert_array_equal(again.posterior_.labels, mix.posterior_.labels)


def test_the_mode_of_u_is_not_plugged_in():
    """Where only predictions plug it in, the chain is the exact one."""
    X = documents(4, words=2)
    exact, mode = (
        Mixture(prior=NGGP(1.0, 0.5, 1.0, u), engine=Gibbs(sweeps=200), random_state=0).fit(X)
        for u in ("quadrature", "mode")
    )
    np.testing.assert_array_equal(exact.posterior_.labels, mode.posterior_.labels)


def test_the_cap_is_kept_and_warns_once():
    model = replace(text_model(NGGP(10.0, 0.5, 1.0)), max_clusters=3)
    with pytest.warns(CapacityWarning, match="max_clusters=3 at observation 200") as caught:
        state, infos = chain(Gibbs(sweeps=6), model, documents(200, groups=8))
    assert len(caught) == 1
    assert max(info.K for info in infos) == state.tally.K == 3


def test_chains_that_start_apart_agree():
    X = vectors(80, groups=2)
    mix = Mixture(prior=DP(1.0), engine=Gibbs(sweeps=60, chains=4), random_state=0).fit(X)
    summary = mix.posterior_.summary()
    assert mix.posterior_.n_chains == 4
    assert summary["log_joint"]["r_hat"] < 1.2


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"sweeps": 0}, ValueError, "sweeps must be at least 1"),
        ({"chains": 0}, ValueError, "chains must be at least 1"),
        ({"thin": 0}, ValueError, "thin must be at least 1"),
        ({"sweeps": 10, "burn_in": 10}, ValueError, r"burn_in must lie in \[0, sweeps = 10\)"),
        ({"burn_in": -1}, ValueError, "burn_in must be at least 0"),
        ({"sweeps": 2.5}, TypeError, "sweeps must be a whole number, got 2.5"),
        ({"sweeps": np.nan}, TypeError, "sweeps must be a whole number"),
        ({"chains": True}, TypeError, "chains must be a whole number, got True"),
        ({"thin": "2"}, TypeError, "thin must be a whole number, got '2'"),
        ({"burn_in": 1.5}, TypeError, "burn_in must be a whole number"),
        ({"augmented": "no"}, TypeError, "augmented must be True or False, got 'no'"),
        ({"hyperpriors": ["a"]}, TypeError, "hyperpriors must be a mapping such as"),
    ],
)
def test_settings_that_cannot_be_are_refused(settings, error, message):
    with pytest.raises(error, match=message):
        Gibbs(**settings)


def test_what_a_sampler_cannot_do_is_said():
    X = documents(20)
    with pytest.raises(ValueError, match="needs every sample weight to be 1, got 2"):
        Mixture(engine=Gibbs(sweeps=2)).fit(X, sample_weight=np.full(20, 2.0))
    with pytest.raises(TypeError, match="auxiliary variable U needs DP or NGGP"):
        Mixture(prior=PitmanYor(), engine=Gibbs(sweeps=2, augmented=True)).fit(X)
    with pytest.raises(ValueError, match="What can be learnt here: a, sigma, tau, family.alpha"):
        Mixture(engine=Gibbs(sweeps=2, hyperpriors={"beta": Gamma()})).fit(X)
    with pytest.raises(ValueError, match="has no 1 that can be learnt"):
        Mixture(engine=Gibbs(sweeps=2, hyperpriors={1: Gamma()})).fit(X)
    with pytest.raises(AttributeError, match="ADF makes no draws"):
        _ = Mixture(engine=em.ADF()).fit(X).posterior_


def test_other_rows_are_not_those_of_the_fit():
    X = documents(30)
    mix = Mixture(engine=Gibbs(sweeps=4, burn_in=2), random_state=0).fit(X)
    mix.set_params(engine=Gibbs(sweeps=8, burn_in=2))
    with pytest.raises(ValueError, match="not the rows, or not the weights"):
        mix.resume(documents(30, seed=1))
    with pytest.raises(ValueError, match="begun with the engine Gibbs, got EP"):
        mix.set_params(engine=em.EP()).resume(X)
    with pytest.raises(ValueError, match="begun with augmented=False"):
        mix.set_params(engine=Gibbs(sweeps=8, burn_in=2, augmented=True)).resume(X)
    with pytest.raises(ValueError, match="learnt by partial_fit"):
        Mixture().partial_fit(X).resume(X)
