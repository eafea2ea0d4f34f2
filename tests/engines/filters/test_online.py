"""The laws of greedy and sampled one-pass clustering."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from scipy import sparse

from evermix import DP, NGGP, SUGS, Mixture, OnlineCRP, PitmanYor
from evermix.engines.batch import Batch, CapacityWarning
from evermix.engines.filters import filter
from evermix.testing import check_engine, set_partitions
from helpers.engine_cases import FEW_FAMILIES, Plain, documents, model_for, text_model

PRIORS = [DP(2.0), NGGP(1.0, 0.5, 1.0), PitmanYor(1.0, 0.3)]
BOTH = [SUGS(), OnlineCRP()]


def stream(engine, model, X, weights=None, seed=0):
    weights = np.ones(X.shape[0]) if weights is None else np.asarray(weights, float)
    rng = np.random.default_rng(seed)
    return engine.step(model, engine.initial(model, rng), Batch(X, weights), rng)


@pytest.mark.parametrize("engine", BOTH, ids=repr)
@pytest.mark.parametrize("name", FEW_FAMILIES)
def test_laws_hold_for_every_family(name, engine):
    check_engine(engine, *model_for(name, DP(2.0)))


@pytest.mark.parametrize("prior", PRIORS, ids=repr)
@pytest.mark.parametrize("engine", BOTH, ids=repr)
def test_laws_hold_for_every_prior_and_with_merges(monkeypatch, prior, engine):
    monkeypatch.setattr(filter, "CHECK_EVERY", 16)
    check_engine(replace(engine, merge=1.0), *model_for("Multinomial", prior))


@pytest.mark.parametrize("name", FEW_FAMILIES)
@pytest.mark.parametrize("engine", BOTH, ids=repr)
def test_the_compiled_loop_equals_the_array_maths(name, engine):
    model, X = model_for(name)
    weights = np.random.default_rng(0).integers(0, 3, X.shape[0]) / 2
    fast, fast_info = stream(engine, model, X, weights)
    slow, slow_info = stream(engine, replace(model, prior=Plain(model.prior)), X, weights)
    assert fast.tally.K == slow.tally.K > 1
    np.testing.assert_allclose(fast.tally.mass, slow.tally.mass, rtol=1e-12)
    np.testing.assert_allclose(fast.tally.stats, slow.tally.stats, rtol=1e-9, atol=1e-10)
    for ours, theirs in zip(fast_info.results, slow_info.results, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-8, atol=1e-8)


def sequential(model, X, labels):
    """Log probability of each choice among old clusters and a new one, given ``labels`` before."""
    family, steps = model.family, []
    for i in range(X.shape[0]):
        before = np.array(labels[:i], dtype=int)
        K = len(set(before))
        r = np.eye(K + 1)[before].reshape(i, K + 1)
        stats = family.accumulate(X[:i], r) if i else np.zeros((K + 1, family.n_stats))
        sizes = np.bincount(before, minlength=K).astype(float)
        weights = model.prior.log_weights(sizes, np.ones(K))
        scores = family.log_predictive(X[i : i + 1], family.posterior(stats, np.append(sizes, 0)))
        joint = weights + scores[0]
        steps.append(joint - np.logaddexp.reduce(joint))
    return steps


@pytest.mark.parametrize("prior", PRIORS, ids=repr)
def test_sugs_takes_the_most_probable_cluster_of_all(prior):
    """Held against the predictive rule and the marginal likelihoods, one row at a time."""
    model, X = text_model(prior), documents(40)
    labels = stream(SUGS(), model, X)[1].results.labels
    for step, chosen in zip(sequential(model, X, labels), labels, strict=True):
        assert chosen == step.argmax()


@pytest.mark.parametrize("prior", PRIORS, ids=repr)
def test_online_crp_draws_partitions_by_the_sequential_law(prior):
    """Every partition of five rows comes up as often as its probability, by enumeration."""
    X = sparse.csr_matrix(np.array([[3.0, 0], [2, 1], [0, 3], [1, 2], [3, 1]]))
    model = text_model(prior, alpha=1.0, V=2)
    law = {}
    for labels in set_partitions(5):
        steps = sequential(model, X, labels)
        law[labels] = np.exp(sum(s[k] for s, k in zip(steps, labels, strict=True)))
    np.testing.assert_allclose(sum(law.values()), 1.0)
    draws, rng = 4000, np.random.default_rng(1)
    counts = dict.fromkeys(law, 0)
    for _ in range(draws):
        engine = OnlineCRP()
        _, info = engine.step(model, engine.initial(model, rng), Batch(X, np.ones(5)), rng)
        counts[tuple(info.results.labels.tolist())] += 1
    p = np.array(list(law.values()))
    distance = 0.5 * np.abs(np.array(list(counts.values())) / draws - p).sum()
    noise = 0.5 * np.sqrt(2 / (np.pi * draws)) * np.sqrt(p).sum()
    assert distance < 3 * noise


def test_the_first_of_a_kind_is_never_scored_by_an_old_row():
    """One slot for a new cluster, with the prior predictive: a far row always opens one.

    (A published implementation takes the parameters of the new slot from an earlier row.)
    """
    model, _ = model_for("FixedGaussian", DP(1.0))
    X = np.concatenate([np.zeros((50, 3)), np.full((50, 3), 100.0)])
    for engine in BOTH:
        labels = stream(engine, model, X)[1].results.labels
        assert not set(labels[:50]) & set(labels[50:])
        assert labels[50] == labels[:50].max() + 1


@pytest.mark.parametrize("engine", BOTH, ids=repr)
def test_the_cap_is_kept_and_reported_once(engine):
    model, X = model_for("FixedGaussian", DP(50.0))
    with pytest.warns(CapacityWarning, match="max_clusters=2") as reported:
        state, info = stream(engine, replace(model, max_clusters=2), X)
    assert len(reported) == 1 and state.tally.K == 2
    assert set(info.results.labels.tolist()) == {0, 1}


def test_rows_of_weight_zero_take_no_draw_and_are_given_the_best_cluster():
    X = documents(300, words=3)
    weights = np.random.default_rng(0).integers(0, 2, size=300).astype(float)
    weights[0] = 0.0
    with_zeros = Mixture(engine=OnlineCRP(), random_state=0).partial_fit(X, sample_weight=weights)
    without = Mixture(engine=OnlineCRP(), random_state=0).partial_fit(X[weights > 0])
    np.testing.assert_array_equal(with_zeros.labels_[weights > 0], without.labels_)
    best = without.predict(X)
    labels = without.partial_fit(X, sample_weight=np.arange(300) == 299).labels_
    np.testing.assert_array_equal(labels[:-1], best[:-1])


def test_the_same_seed_draws_the_same_and_another_does_not():
    X = documents(300, words=3)
    one, two, other = (
        Mixture(engine=OnlineCRP(), random_state=seed).fit(X).labels_ for seed in (0, 0, 1)
    )
    np.testing.assert_array_equal(one, two)
    assert np.any(one != other)


def test_clusters_are_numbered_in_order_of_birth_in_a_stream():
    mix = Mixture(engine=SUGS())
    born = []
    for start, stop in pairwise([0, 50, 120, 300]):
        mix.partial_fit(documents(300)[start:stop])
        born += mix.history_[-1].births
    assert born == list(range(len(born)))
    assert mix.n_clusters_ == len(born)


@pytest.mark.parametrize("make", [SUGS, OnlineCRP])
def test_bad_settings_are_refused(make):
    with pytest.raises(ValueError, match="merge must be >= 0"):
        make(merge=-1.0)
