"""The samplers of hierarchical topic models draw from the posterior, held against enumeration.

Two documents of two and three words, fixed hyperparameters. Three times the noise of
independent draws is never met by chance.
"""

import math
from collections import Counter
from copy import deepcopy
from functools import cache

import numpy as np
import pytest
from scipy import sparse
from scipy.special import gammaln

from evermix.kernels.topics.dishes import AFRESH
from evermix.topics.measures import Mixed
from evermix.topics.words.samplers import H1, H2, Direct, WordSampler
from evermix.topics.words.seating import Unseated
from evermix.topics.words.sweeps import WordSweep
from helpers import dependent_oracles as flat
from helpers import franchise_oracles as oracle
from helpers import plain_franchise as plain
from helpers.dependent_oracles import mixed, thinned
from helpers.franchise_oracles import corpus, misfit, one_measure, seating, walk_chain

ONE, TWO = corpus(np.array([[2, 1], [1, 2]]), (0, 0)), corpus()
CASES = {
    "HDP": (lambda: one_measure(sigma=0.0), lambda: seating(ONE, sigma=0.0), ONE),
    "HNGG": (one_measure, lambda: seating(ONE), ONE),
    "HMNGG": (mixed, lambda: seating(TWO), TWO),
    "HTNGG": (thinned, lambda: seating(TWO), TWO),
}
QUICK, LONG = 1200, 10_000


@cache
def exact(name):
    measure, below, words = CASES[name]
    return oracle.normalised(oracle.posterior(measure(), below(), words))


def of_case(name, sampler, sweeps):
    measure, below, words = CASES[name]
    return misfit(sampler, measure(), below(), words, exact(name), sweeps)


@pytest.mark.parametrize("name", ["HDP", "HNGG", "HMNGG"])
def test_the_joint_law_sums_to_one_over_seatings_and_menus(name):
    """With any one word, words carry no information."""
    measure, below, words = CASES[name]
    words = corpus(np.array([[2], [2]]), words.time)
    log_p = oracle.posterior(measure(), below(), words)
    assert math.exp(np.logaddexp.reduce(list(log_p.values()))) == pytest.approx(
        1.0, abs=1e-5
    )  # the grid ends


def test_without_sigma_the_law_is_that_of_the_hierarchical_dirichlet_process():
    """In closed form: two levels of Chinese restaurants."""
    a, gamma = 0.9, 1.2
    measure, below, words = CASES["HDP"]
    got = oracle.posterior(measure(), below(), words)
    key = (0, 0, 0, 0, 0, 1), (0, 0), (((0, 0), 3), ((1, 0), 1), ((1, 1), 1))
    seats = 5 * math.log(a) + 2 * (gammaln(a) - gammaln(a + 3)) + gammaln(2) + gammaln(1)
    menu = 2 * math.log(gamma) + gammaln(gamma) - gammaln(gamma + 5) + gammaln(4)
    want = seats + menu + oracle.log_words(words, key[0], oracle.BETA)
    assert got[key] == pytest.approx(want, abs=1e-9)


@pytest.mark.parametrize(
    ("name", "sampler"),
    [
        *(("HMNGG", H1()), ("HTNGG", H2())),
        *(pytest.param(name, H1(), marks=pytest.mark.slow) for name in ("HDP", "HNGG", "HTNGG")),
        *(pytest.param(name, H2(), marks=pytest.mark.slow) for name in ("HDP", "HNGG", "HMNGG")),
    ],
    ids=repr,
)
def test_topics_and_tables_have_the_posterior_of_the_enumeration(name, sampler):
    assert of_case(name, sampler, QUICK) < 3


@pytest.mark.parametrize(
    ("name", "sampler"),
    [
        ("HMNGG", H1(jumps=True)),
        pytest.param("HTNGG", H2(jumps=False), marks=pytest.mark.slow),
    ],
    ids=repr,
)
def test_with_jumps_or_without_topics_have_the_posterior_of_the_enumeration(name, sampler):
    """Mixed measures with jumps, and thinned ones with all jumps integrated out."""
    assert of_case(name, sampler, QUICK) < 3


@pytest.mark.parametrize(
    ("measure", "jumps"),
    [
        (mixed, False),
        *(pytest.param(measure, True, marks=pytest.mark.slow) for measure in (mixed, thinned)),
    ],
    ids=["M1", "M3", "T1"],
)
def test_without_hierarchy_topics_have_the_posterior_of_the_enumeration(measure, jumps):
    """Every document is a time, and its words are rows of a dependent mixture."""
    rows = sparse.csr_matrix(np.eye(2)[TWO.word])
    exact = flat.normalised(flat.posterior(measure(), flat.data(rows, TWO.time[TWO.document])))
    seen, sweeps = Counter(), 2000
    for chain in walk_chain(Direct(jumps), measure(), Unseated(), TWO, sweeps):
        seen[oracle.key_of(chain, TWO)[:2]] += 1
    assert set(seen) <= set(exact)
    distance = 0.5 * sum(abs(seen[key] / sweeps - p) for key, p in exact.items())
    noise = 0.5 * math.sqrt(2 / (math.pi * sweeps)) * sum(map(math.sqrt, exact.values()))
    assert distance < 3 * noise


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("sampler", [H1(), H2()], ids=repr)
def test_for_long_topics_and_tables_have_the_posterior_of_the_enumeration(name, sampler):
    assert of_case(name, sampler, LONG) < 3


# ---- mistakes that the test above must find --------------------------------------------------


class Plain(WordSampler):
    """The plain loops, with a weight of one more table that may be wrong."""

    def __init__(self, loop, factor):
        object.__setattr__(self, "loop", loop)
        object.__setattr__(self, "factor", factor)

    def move(self, corpus, chain, atoms, rng):
        if not chain.started:
            H1().move(corpus, chain, atoms, rng)
            return
        self.loop(corpus, chain, chain.measure.marginal(atoms), rng, self.factor)


class Printed(Mixed):
    """The weight of a new dish without q, as printed."""

    def _log_new(self):
        return super()._log_new() - np.log(self.q.T)


def test_without_the_factor_for_one_more_table_the_law_is_another():
    """u_t / N_t: tables come and go, and with them u_t^(N_t - 1) / Gamma(N_t)."""
    wrong = Plain(plain.plain_seats, lambda u, N: 1.0)
    assert of_case("HNGG", wrong, 3000) > 3


@pytest.mark.parametrize("sampler", [H1(), H2()], ids=repr)
def test_without_q_in_the_weight_of_a_new_dish_the_law_is_another(sampler):
    def measure():
        right = mixed()
        return Printed(right.laws, right.sigma, right.a, right.q, right.u)

    _, below, words = CASES["HMNGG"]
    assert misfit(sampler, measure(), below(), words, exact("HMNGG"), QUICK) > 3


# ---- compiled loops do what plain ones do ----------------------------------------------------


@pytest.mark.parametrize(
    ("sampler", "loop"), [(H1(), plain.plain_seats), (H2(), plain.plain_indicators)]
)
@pytest.mark.parametrize("sigma", [0.0, 0.6])
@pytest.mark.parametrize("n", [6, 2 * AFRESH + 6])
def test_compiled_word_loops_equal_plain_ones(sampler, loop, sigma, n, monkeypatch):
    """Whose weights are kept from one document to the next, while plain ones have none."""
    rng = np.random.default_rng(1)
    words = corpus(rng.poisson(0.8, size=(n, 5)), rng.permutation(np.arange(n) % 2))
    measure = mixed(sigma=0.3)
    below = seating(words, sigma=sigma)
    *_, chain = walk_chain(sampler, measure, below, words, sweeps=3)
    monkeypatch.setattr("evermix.topics.words.sweeps.SeatedSweep._move_tables", lambda *_: None)
    for seed in range(10):
        slow = deepcopy(chain)
        offers = slow.measure.marginal(slow.occupancy(words))
        loop(words, slow, offers, np.random.default_rng(seed))
        sampler.move(words, chain, chain.occupancy(words), np.random.default_rng(seed))
        assert np.array_equal(slow.dish, chain.dish)
        assert np.array_equal(slow.opens, chain.opens)
        assert np.array_equal(slow.table, chain.table)
        assert np.array_equal(slow.region, chain.region)


@pytest.mark.parametrize("sampler", [H1(), H2()], ids=repr)
def test_the_weights_that_a_sweep_has_kept_are_those_of_all_topics(sampler, monkeypatch):
    """After the last document, none of whose words count any more."""
    rng, n = np.random.default_rng(0), 2 * AFRESH - 1
    words = corpus(rng.poisson(0.8, size=(n, 5)), (1, 0) * (n // 2) + (1,))
    *_, chain = walk_chain(sampler, mixed(sigma=0.3), seating(words), words, sweeps=3)
    swept = []
    monkeypatch.setattr(WordSweep, "_finish", lambda self: swept.append(self))
    sampler.move(words, chain, chain.occupancy(words), rng)
    (sweep,) = swept
    dishes, K, worth = sweep.dishes, sweep.K, sweep.scratch.worth
    popular = dishes.share[1, :K] * (dishes.tables[:K] - dishes.discount) * (dishes.tables[:K] > 0)
    top = popular / (words.size * chain.beta + dishes.totals[:K])
    np.testing.assert_allclose(worth.top[:K], top, rtol=1e-12)
    np.testing.assert_allclose(worth.sums[1], top.sum(), rtol=1e-9)
    assert not worth.old[:K].any()
    assert worth.sums[0] == 0.0
