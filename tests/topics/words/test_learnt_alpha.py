"""The parameter of the Dirichlet law of topics is learnt from its posterior."""

import math
from collections import Counter
from functools import cache

import numpy as np
import pytest
from scipy import sparse

from evermix.priors import Gamma
from evermix.topics.words import dirichlet
from evermix.topics.words.samplers import H1, H2
from helpers import franchise_oracles as oracle
from helpers.franchise_oracles import corpus, one_measure, seating, walk_chain

LAW = Gamma(1.5, 1.0)
WORDS = corpus(np.array([[2, 1], [1, 2]]), (0, 0))
EDGES = np.array([0.3, 0.8, 1.5, 3.0])  # of classes of alpha
QUICK, LONG = 1000, 4000


@cache
def exact():
    """Probability of every way in which words have topics and tables, and class of alpha."""
    log_p = oracle.posterior(one_measure(), seating(WORDS), WORDS)
    y = np.arange(-12.0, 5.0, 0.02)
    beta, found = np.exp(y), Counter()
    log_prior = np.array([LAW.log_density(b) + math.log(b) for b in beta])
    classes = np.digitize(beta, EDGES)

    @cache
    def of_words(dish):
        """Probability of the words in each class, over that with a fixed alpha."""
        rest = log_prior - oracle.log_words(WORDS, dish, oracle.BETA)
        return np.bincount(classes, np.exp(oracle.log_words(WORDS, dish, beta) + rest))

    for key, value in log_p.items():
        for j, p in enumerate(np.exp(value) * of_words(key[0])):
            found[key, j] += p
    total = sum(found.values())
    return {key: p / total for key, p in found.items()}


def misfit(sampler, sweeps=QUICK):
    """Total variation from the exact law, over its mean for independent draws: three views."""
    seen = Counter()
    for chain in walk_chain(sampler, one_measure(), seating(WORDS), WORDS, sweeps, beta=LAW):
        seen[oracle.key_of(chain, WORDS), int(np.digitize(chain.beta, EDGES))] += 1
    assert set(seen) <= set(exact())
    views = (lambda key: key[0][0], lambda key: key[1], lambda key: (max(key[0][0]), key[1]))
    return max(oracle._distance(exact(), seen, sweeps, view) for view in views)


def test_topics_and_alpha_have_the_posterior_of_the_enumeration():
    assert misfit(H2()) < 3


@pytest.mark.slow
@pytest.mark.parametrize("sampler", [H1(), H2()], ids=repr)
def test_for_long_topics_and_alpha_have_the_posterior_of_the_enumeration(sampler):
    assert misfit(sampler, LONG) < 3


def test_without_the_factor_of_the_vocabulary_the_law_is_another(monkeypatch):
    """Were the totals of topics left out, the step would be another."""

    def wrong(self, beta):
        return float(self.often @ (dirichlet.gammaln(beta + self.size) - math.lgamma(beta)))

    monkeypatch.setattr(dirichlet.TopicSizes, "log_probability", wrong)
    assert misfit(H2()) > 10


def test_the_probability_of_words_is_that_of_the_oracle():
    rng = np.random.default_rng(0)
    words = corpus(rng.poisson(1.0, size=(5, 7)), (0,) * 5)
    dish = rng.integers(0, 3, len(words))
    counts = np.zeros((words.size, 3), dtype=np.int32)
    np.add.at(counts, (words.word, dish), 1)
    sizes = dirichlet.TopicSizes.of(sparse.csr_matrix(counts))
    for beta in (1e-6, 0.3, 20.0):
        want = oracle.log_words(words, dish.tolist(), beta)
        assert sizes.log_probability(beta) == pytest.approx(want, rel=1e-9)


def test_alpha_stays_where_its_products_can_be_computed():
    """A law of almost only tiny numbers, and words that say nothing against them."""
    sizes = dirichlet.TopicSizes.of(sparse.csr_matrix(np.array([[3]])))
    beta, rng = 1.0, np.random.default_rng(0)
    for _ in range(200):
        beta = dirichlet.move(Gamma(1e-3, 1.0), beta, sizes, rng)
        assert dirichlet.LOWEST <= beta <= dirichlet.HIGHEST


def test_what_is_learnt_begins_at_a_small_number():
    for V, want in ((1, 1.5), (1000, dirichlet.START / 1000)):
        assert dirichlet.start(Gamma(3.0, 2.0), V) == (want, Gamma(3.0, 2.0))
        assert dirichlet.start(0.3, V) == (0.3, None)
