"""The laws of assumed density filtering."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

import evermix.engines.filters.filter as filter
from evermix import ADF, DP, NGGP, GeneralizedDirichlet, Mixture, PitmanYor
from evermix.engines.batch import Batch, CapacityWarning
from evermix.families import FAMILIES
from evermix.priors.base import occupancy
from evermix.testing import check_engine
from helpers.engine_cases import Plain, documents, model_for, text_model

PRIORS = [DP(2.0), NGGP(1.0, 0.5, 1.0), NGGP(3.0, 0.25, 2.0, u="mode"), PitmanYor(1.0, 0.3)]


def stream(engine, model, X, weights=None):
    weights = np.ones(X.shape[0]) if weights is None else np.asarray(weights, float)
    rng = np.random.default_rng(0)
    return engine.step(model, engine.initial(model, rng), Batch(X, weights), rng)


@pytest.mark.parametrize("name", FAMILIES)
def test_laws_hold_for_every_family(name):
    check_engine(ADF(), *model_for(name))


@pytest.mark.parametrize("prior", [*PRIORS, GeneralizedDirichlet(2.0, 2)], ids=repr)
def test_laws_hold_for_every_prior(prior):
    check_engine(ADF(), *model_for("Multinomial", prior, n=40))


def test_laws_hold_across_rounds_of_tidying(monkeypatch):
    """Pruning, joining and rebuilding happen at fixed clocks, so cuts still change nothing."""
    monkeypatch.setattr(filter, "CHECK_EVERY", 16)
    for name in ("Multinomial", "Gaussian", "ZeroMeanGaussian"):
        model, X = model_for(name, NGGP(5.0, 0.5, 1.0), n=200)
        check_engine(ADF(birth=0.01, merge=0.0), model, X)


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize("birth", [0.1, 0.5])
def test_the_compiled_loop_equals_the_array_maths(name, birth):
    """Below 1,000 observations the new-cluster weight is fresh at every step, so both agree."""
    model, X = model_for(name)
    engine = ADF(birth=birth, lookback=0)
    weights = np.random.default_rng(0).integers(0, 3, X.shape[0]) / 2
    fast, fast_info = stream(engine, model, X, weights)
    slow, slow_info = stream(engine, replace(model, prior=Plain(model.prior)), X, weights)
    assert fast.tally.K == slow.tally.K > 1
    np.testing.assert_allclose(fast.tally.mass, slow.tally.mass, rtol=1e-8)
    np.testing.assert_allclose(fast.tally.stats, slow.tally.stats, rtol=1e-8, atol=1e-10)
    np.testing.assert_array_equal(
        fast.columns["last_seen"][: fast.tally.K], slow.columns["last_seen"][: slow.tally.K]
    )
    for ours, theirs in zip(fast_info.results, slow_info.results, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("name", FAMILIES)
def test_predictions_do_not_depend_on_the_path_taken(name):
    model, X = model_for(name)
    engine = ADF(lookback=0)
    fast = Mixture(model.family, model.prior, engine).partial_fit(X)
    slow = Mixture(model.family, Plain(model.prior), engine).partial_fit(X)
    np.testing.assert_allclose(fast.score_samples(X), slow.score_samples(X), rtol=1e-8)
    np.testing.assert_allclose(fast.predict_proba(X), slow.predict_proba(X), atol=1e-8)


def test_a_rescaled_prior_gives_the_same_trajectory():
    """(a, sigma, tau) and (a tau^sigma, sigma, 1) are one law."""
    X = documents(400)
    one, _ = stream(ADF(), text_model(NGGP(2.0, 0.5, 16.0)), X)
    two, _ = stream(ADF(), text_model(NGGP(8.0, 0.5, 1.0)), X)
    np.testing.assert_allclose(one.tally.mass, two.tally.mass, rtol=1e-9)


@pytest.mark.parametrize("tau", [0.3, 1.0, 7.0])
def test_vanishing_sigma_is_the_dirichlet_process(tau):
    X = documents(300)
    dp, _ = stream(ADF(), text_model(DP(2.0)), X)
    near, _ = stream(ADF(), text_model(NGGP(2.0, 1e-9, tau)), X)
    np.testing.assert_allclose(near.tally.mass, dp.tally.mass, rtol=1e-5)


def test_weights_of_the_dirichlet_process_are_the_masses():
    """At sigma = 0 both rules are sequential variational Bayes: weights S_k and alpha."""
    X = documents(200)
    state, _ = stream(ADF(), text_model(DP(2.0)), X)
    weights = np.exp(ADF().log_weights(text_model(DP(2.0)), state))
    np.testing.assert_allclose(weights, np.append(state.tally.mass, 2.0) / 202.0, rtol=1e-9)
    paper, _ = stream(ADF(rule="paper"), text_model(DP(2.0)), X)
    np.testing.assert_allclose(paper.tally.mass, state.tally.mass, rtol=1e-9)


def test_occupancy_never_exceeds_mass():
    X = documents(300)
    weights = np.random.default_rng(0).random(300)
    state, _ = stream(ADF(birth=0.01), text_model(NGGP(20.0, 0.7, 1.0)), X, weights)
    occupied = occupancy(state.tally.mass, state.tally.extras)
    assert np.all(occupied <= state.tally.mass * (1 + 1e-12))
    assert state.tally.mass.sum() == pytest.approx(weights.sum(), rel=1e-9)


def test_a_row_of_weight_zero_teaches_nothing():
    X = documents(100)
    weights = np.tile([1.0, 0.0], 50)
    with_zeros, info = stream(ADF(), text_model(NGGP()), X, weights)
    without, _ = stream(ADF(), text_model(NGGP()), X[::2])
    np.testing.assert_array_equal(with_zeros.tally.stats, without.tally.stats)
    assert with_zeros.clock == without.clock == 50
    assert np.all(info.results.labels >= 0)


def test_first_row_of_weight_zero_has_no_cluster_yet():
    _, info = stream(ADF(), text_model(NGGP()), documents(2), [0.0, 1.0])
    assert info.results.labels.tolist() == [-1, 0]


def test_renormalising_only_without_birth_conserves_mass():
    """The published listing lost an else; renormalising after a birth as well would lose mass."""
    X = documents(150)
    for birth in (0.0, 0.05, 0.5, 0.99):
        state, info = stream(ADF(birth=birth), text_model(NGGP(5.0, 0.5, 1.0)), X)
        assert state.tally.mass.sum() == pytest.approx(150, rel=1e-12)
        assert len(info.births) == np.count_nonzero(info.results.born)


def test_the_cap_is_kept_and_warns_once():
    X = documents(300, groups=8)
    model = replace(text_model(NGGP(10.0, 0.5, 1.0)), max_clusters=3)
    rng = np.random.default_rng(0)
    state = ADF().initial(model, rng)
    with pytest.warns(CapacityWarning, match="max_clusters=3 at observation") as caught:
        state, _ = ADF().step(model, state, Batch(X[:150], np.ones(150)), rng)
        state, _ = ADF().step(model, state, Batch(X[150:], np.ones(150)), rng)
    assert len(caught) == 1
    assert state.tally.K == 3
    assert state.tally.mass.sum() == pytest.approx(300)


def test_the_prequential_likelihood_follows_the_chain_rule_when_assignments_are_certain():
    """With hard assignments the predictives multiply to EPPF times marginal likelihoods."""
    topics = np.kron(np.eye(3), np.full(10, 0.1))
    rng = np.random.default_rng(0)
    X = rng.multinomial(400, topics[[0, 1, 0, 2, 0, 1, 2, 0, 1]])
    model = text_model(NGGP(1.0, 0.5, 1.0), alpha=0.5, V=30)
    X = sparse.csr_matrix(X, dtype=np.float64)
    state, info = stream(ADF(), model, X)
    tally = state.tally
    assert sorted(tally.mass.round(9).tolist()) == [2.0, 3.0, 4.0]
    joint = (
        model.prior.log_eppf(tally.mass) + model.family.log_marginal(tally.stats, tally.mass).sum()
    )
    want = joint + model.family.log_base(X).sum()
    assert info.log_predictive == pytest.approx(want, rel=1e-10)


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"birth": 1.0}, ValueError, r"birth must lie in \[0, 1\), got 1.0"),
        ({"birth": -0.1}, ValueError, "birth must lie in"),
        ({"rule": "other"}, ValueError, "'expected' or 'paper', got 'other'"),
        ({"merge": -1.0}, ValueError, "merge must be >= 0"),
    ],
)
def test_bad_settings_are_refused(settings, error, message):
    with pytest.raises(error, match=message):
        ADF(**settings)


def test_pairs_that_cannot_work_are_refused():
    with pytest.raises(ValueError, match="needs birth >= sigma, got birth=0.05 and sigma=0.5"):
        ADF(rule="paper").check(text_model(NGGP()))
    with pytest.raises(TypeError, match="rule='paper' needs a Gibbs-type prior"):
        ADF(rule="paper").check(text_model(GeneralizedDirichlet()))
