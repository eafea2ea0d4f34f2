"""Without data the recursion is the Chinese restaurant process, and the published ones are not."""

import numpy as np
import pytest

from evermix import DP, RCRP, FixedGaussian, Mixture
from evermix.model import Model
from experiments.recursive.published_rules import RULES, PublishedRCRP
from helpers.oracles import set_partitions
from helpers.rcrp_cases import ALPHAS, no_data, stream, table_law, table_sizes

T = 50


def engine_with(rule):
    return (PublishedRCRP if rule in RULES else RCRP)(rule)


def learnt(engine, alpha, n=T):
    state, _ = stream(engine, *no_data(n, alpha))
    tables = engine.n_clusters_probabilities(state)
    return np.pad(tables, (0, n + 1 - len(tables))), np.pad(
        state.tally.mass, (0, n - state.tally.K)
    )


def test_the_law_of_tables_is_that_of_enumerated_partitions():
    prior, want = DP(1.7), np.zeros(7)
    for labels in set_partitions(6):
        want[len(set(labels))] += np.exp(prior.log_eppf(np.bincount(labels).astype(float)))
    np.testing.assert_allclose(table_law(6, 1.7), want, rtol=1e-12)


def test_the_sizes_of_tables_are_those_of_enumerated_partitions():
    prior, want = DP(1.7), np.zeros(6)
    for labels in set_partitions(6):
        sizes = np.bincount(labels, minlength=6)  # labels are in order of appearance
        want += sizes * np.exp(prior.log_eppf(sizes[sizes > 0].astype(float)))
    np.testing.assert_allclose(table_sizes(6, 1.7), want, rtol=1e-12)


@pytest.mark.parametrize("likelihood", ["predictive", "paper"])
@pytest.mark.parametrize("rule", ["coupled", "joint"])
@pytest.mark.parametrize("alpha", ALPHAS)
def test_without_data_the_number_of_tables_has_its_law(alpha, rule, likelihood):
    """At every time: where a likelihood is constant, it does not matter whose it is."""
    for n in (1, 2, 10, T):
        tables, _ = learnt(RCRP(rule, likelihood), alpha, n)
        np.testing.assert_allclose(tables, table_law(n, alpha), atol=1e-12, rtol=0)


@pytest.mark.parametrize("rule", ["coupled", "joint"])
@pytest.mark.parametrize("alpha", [*ALPHAS, 10.01, 15.51, 30.03])
def test_without_data_tables_have_the_sizes_of_the_prior(alpha, rule):
    _, R = learnt(RCRP(rule), alpha)
    np.testing.assert_allclose(R, table_sizes(T, alpha), atol=1e-12, rtol=0)


@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize("rule", RULES)
def test_the_published_rules_miss_the_law(rule, alpha):
    """K_{t-1} and z_t are not independent, which shows at once: the law is missed by a tenth."""
    tables, _ = learnt(PublishedRCRP(rule), alpha)
    assert np.abs(tables - table_law(T, alpha)).max() > 0.1


def test_the_published_rules_give_the_numbers_that_are_known_of_them():
    """E[K] at t = 50: exact, as displayed, as the text says, as the public code does."""
    want = {"coupled": 19.06, "joint": 19.06, "paper": 15.17, "text": 0.0, "code": 15.59}
    for rule, mean in want.items():
        tables, _ = learnt(engine_with(rule), 10.78)
        assert tables @ np.arange(T + 1) == pytest.approx(mean, abs=0.005)


@pytest.mark.parametrize("rule", ["coupled", "joint", "paper", "text", "code"])
def test_probabilities_sum_to_one_and_rows_to_their_number(rule):
    for n in (1, 7, T):
        tables, R = learnt(engine_with(rule), 5.0, n)
        assert tables.sum() == pytest.approx(1.0, abs=1e-13)
        assert R.sum() == pytest.approx(n, abs=1e-12)
        assert np.all(tables >= 0)
        if rule != "text":  # which never counts the first table
            assert tables[0] == 0.0


def test_probabilities_still_sum_to_one_after_many_rows():
    engine = RCRP()
    state, _ = stream(engine, *no_data(20_000, 3.0))
    assert engine.n_clusters_probabilities(state).sum() == pytest.approx(1.0, abs=1e-13)
    mean = engine.n_clusters_probabilities(state) @ np.arange(state.tally.K + 1)
    assert mean == pytest.approx((3.0 / (3.0 + np.arange(20_000))).sum(), rel=1e-9)


def test_few_labels_are_open_where_few_are_probable():
    """Labels are opened at the top end only, and their number grows like log t."""
    state, _ = stream(RCRP(), *no_data(20_000, 1.0))
    assert state.tally.K < 60
    mass = state.tally.mass
    assert np.all(np.diff(mass[12:]) < 0)  # the tail falls off, and nothing is missing in it


def test_vanishing_concentration_gives_one_cluster():
    X = np.random.default_rng(0).normal(size=(100, 2))
    model = Model(FixedGaussian(1.0, 4.0).candidates(X)[0], DP(1e-12))
    state, info = stream(RCRP(), model, X)
    assert RCRP().n_clusters_probabilities(state)[1] == pytest.approx(1.0, abs=1e-9)
    assert state.tally.mass[0] == pytest.approx(100, rel=1e-9)
    assert info.K == 1
    assert info.births == [0]


def test_the_mixture_tells_the_number_of_clusters():
    model, X = no_data(T, 10.78)
    mix = Mixture(model.family, model.prior, RCRP()).partial_fit(X)
    law = mix.n_clusters_posterior_
    np.testing.assert_allclose(law, table_law(T, 10.78)[: len(law)], atol=1e-12)
    with pytest.raises(AttributeError, match="MemoizedVB does not follow the number of clusters"):
        Mixture(model.family).fit(X).n_clusters_posterior_  # noqa: B018
