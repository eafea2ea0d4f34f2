"""Topics that are switched on and off with the tables they have: exact, and of tables alone."""

import math
from collections import Counter
from itertools import product

import numpy as np
import pytest

import evermix as em
from evermix.kernels.topics.tables import SwitchedTopics, WordBlocks, switch_pass
from evermix.topics.words.franchise import Franchise
from evermix.topics.words.samplers import H1, Direct
from evermix.topics.words.seating import Unseated
from evermix.topics.words.starts import begin
from evermix.topics.words.tables import switch_topics
from helpers.dependent_oracles import thinned
from helpers.franchise_oracles import corpus, seating, walk_chain

WORD = np.array([0, 0, 1, 1, 0, 1, 2], dtype=np.int32)
BEGIN = np.array([0, 2, 3, 4, 6, 7])  # five blocks: three of the first time, two of the second
FIRST = np.array([0, 3, 5])
TIME = np.repeat([0, 1], np.diff(FIRST))
PHI = np.array([[0.6, 0.2, 0.3], [0.3, 0.5, 0.3], [0.1, 0.3, 0.4]])  # (V, K)
JUMP, Q, U = np.array([0.4, 1.5, 0.7]), 0.6, np.array([1.3, 0.8])
LOG_ODDS = math.log(Q / (1 - Q)) - np.outer(U, JUMP)
DRAWS = 4000


def law():
    """Probability of every state: topics of blocks, none without any, and where they are on."""
    fit = [JUMP * PHI[WORD[a:b]].prod(axis=0) for a, b in zip(BEGIN[:-1], BEGIN[1:], strict=True)]
    p = {}
    for dish in product(range(3), repeat=5):
        for on in product((False, True), repeat=6):
            z = np.array(on).reshape(2, 3)
            if len(set(dish)) == 3 and z[TIME, list(dish)].all():
                weight = np.where(z, Q * np.exp(-np.outer(U, JUMP)), 1 - Q).prod()
                p[dish, on] = weight * math.prod(w[k] for w, k in zip(fit, dish, strict=True))
    total = sum(p.values())
    return {state: weight / total for state, weight in p.items()}


def moved(state, log_odds, rng):
    """Return the state that a pass leads to."""
    dish, on = np.array(state[0]), np.array(state[1]).reshape(2, 3)
    counts = np.zeros((2, 3), dtype=np.int64)
    np.add.at(counts, (TIME, dish), 1)
    blocks = WordBlocks(WORD, BEGIN, FIRST, dish)
    switch_pass(blocks, SwitchedTopics(PHI, np.log(JUMP), log_odds, counts, on), rng)
    want = np.zeros_like(counts)
    np.add.at(want, (TIME, dish), 1)
    assert np.array_equal(counts, want)
    return tuple(dish.tolist()), tuple(on.ravel().tolist())


def misfit(log_odds, draws=DRAWS, passes=3):
    """Distance from the law after some passes from draws of it, over that of independent draws."""
    exact, rng = law(), np.random.default_rng(0)
    states, p = list(exact), np.array(list(exact.values()))
    seen, on = Counter(), Counter()
    for i in rng.choice(len(states), draws, p=p):
        state = states[i]
        for _ in range(passes):
            state = moved(state, log_odds, rng)
        seen[state] += 1
        on[sum(state[1])] += 1
    want = Counter()
    for state, x in exact.items():
        want[sum(state[1])] += x
    return max(_distance(exact, seen, draws), _distance(want, on, draws))


def _distance(exact, seen, draws):
    assert set(seen) <= set(exact)
    noise = 0.5 * math.sqrt(2 / (math.pi * draws)) * sum(map(math.sqrt, exact.values()))
    return 0.5 * sum(abs(seen[key] / draws - p) for key, p in exact.items()) / noise


def test_a_pass_leaves_the_enumerated_law_of_switches_and_orders_as_it_is():
    """From draws of the law, passes lead to draws of the law."""
    assert misfit(LOG_ODDS) < 3


def test_without_what_a_jump_costs_the_law_is_another():
    """A topic that is on takes mass from all others: exp(-u J)."""
    assert misfit(LOG_ODDS + np.outer(U, JUMP)) > 3


@pytest.mark.parametrize("stretch", [1, 2, 1000])
def test_weights_of_long_blocks_are_those_of_short_ones(stretch):
    """Blocks of many words, most of them the same, choose as their likelihood says."""
    n = 40 if stretch == 1 else 40 * stretch
    word = np.tile(np.array([0, 1], dtype=np.int32), n // 2)
    phi = np.array([[0.5, 0.52], [0.5, 0.48]])
    blocks = WordBlocks(
        np.concatenate([word, [0, 1, 0, 1]]).astype(np.int32),
        np.array([0, n, n + 1, n + 2, n + 3, n + 4]),
        np.array([0, 3, 5]),
        np.array([0, 0, 1, 0, 1]),
    )
    share = 1 / (1 + (0.52 * 0.48 / 0.25) ** (n / 2))
    rng, chosen = np.random.default_rng(0), 0
    for _ in range(2000):
        blocks.dish[:] = [0, 0, 1, 0, 1]
        counts, on = np.array([[2, 1], [1, 1]]), np.ones((2, 2), dtype=bool)
        always = np.full((2, 2), np.inf)
        switch_pass(blocks, SwitchedTopics(phi, np.zeros(2), always, counts, on), rng)
        chosen += blocks.dish[0] == 0
    assert abs(chosen / 2000 - share) < 4 * math.sqrt(share * (1 - share) / 2000) + 1e-12


@pytest.mark.parametrize("flat", [False, True], ids=["tables", "words"])
def test_switching_topics_leaves_all_tables_as_they_are(flat):
    """Numbers of tables, their words and the number of topics stay; topics are on where used."""
    rng = np.random.default_rng(1)
    words = corpus(rng.poisson(0.8, size=(8, 6)), (0, 1, 2, 0, 1, 2, 1, 0))
    words = words.one_time_each() if flat else words
    sampler, below = (Direct(), Unseated()) if flat else (H1(), seating(words))
    q = np.full((2, words.n_times), 0.5)
    moved_some = False
    for chain in walk_chain(sampler, thinned(q=q), below, words, 20):
        table, opens, dish, K = chain.table.copy(), chain.opens.copy(), chain.dish.copy(), chain.K
        by_document, atoms = chain.tables(words)[1], chain.occupancy(words)
        switch_topics(words, chain, atoms, rng)
        assert np.array_equal(table, chain.table) and np.array_equal(opens, chain.opens)
        assert np.array_equal(chain.tables(words)[1], by_document)
        assert np.array_equal(chain.tables(words)[0], atoms.counts)
        assert len(np.unique(chain.dish)) == K == chain.K
        assert chain.on[atoms.counts > 0].all()
        if not flat:
            place = np.unique(words.start[words.document] + table, return_inverse=True)[1]
            assert len(set(zip(place, chain.dish, strict=True))) == place.max() + 1
        moved_some |= not np.array_equal(dish, chain.dish)
    assert moved_some


def test_a_topic_that_is_needed_stays_on():
    """A topic that alone is on for a table is never switched off, whatever its odds."""
    rng = np.random.default_rng(0)
    for _ in range(50):
        blocks = WordBlocks(WORD, BEGIN, FIRST, np.array([0, 0, 0, 0, 0]))
        counts, on = np.array([[3, 0, 0], [2, 0, 0]]), np.zeros((2, 3), dtype=bool)
        on[:, 0] = True
        never = np.full((2, 3), -np.inf)
        switch_pass(blocks, SwitchedTopics(PHI, np.log(JUMP), never, counts, on), rng)
        assert np.array_equal(on[:, 0], [True, True])
        assert not on[:, 1:].any()


@pytest.mark.parametrize("sampler", [H1(), Direct()], ids=repr)
def test_chains_begin_with_topics_that_are_on_wherever_they_may_be(sampler):
    """Where q is zero a topic is never on, not even then."""
    words = corpus(np.array([[3, 2], [2, 2], [1, 3]]), (0, 1, 2))
    measure = thinned(q=((1.0, 0.3, 0.4), (0.0, 0.2, 0.6)))
    below = Unseated() if isinstance(sampler, Direct) else seating(words)
    if isinstance(sampler, Direct):
        chain = next(walk_chain(sampler, measure, below, words, 1, skip=0))
    else:
        chain = Franchise.start(measure, below, 0.5, words)
        begin(words, chain, np.random.default_rng(0))
    assert chain.measure is measure
    assert np.array_equal(chain.on, measure.q[chain.region].T > 0)
    assert chain.on[chain.tables(words)[0] > 0].all()


def test_chains_without_tables_begin_with_those_of_mixed_measures():
    """Documents of two kinds have few topics from the start, and they are on where they occur."""
    rng = np.random.default_rng(0)
    kinds = np.array([[9.0] * 10 + [0.0] * 10, [0.0] * 10 + [9.0] * 10])
    words = corpus(rng.poisson(np.tile(kinds, (6, 1))), tuple(range(12)))
    measure = em.TNGG(regions=4).measure(words.lengths)
    chain = next(walk_chain(Direct(), measure, Unseated(), words, 1, skip=0))
    assert chain.measure is measure
    assert np.array_equal(chain.on, chain.tables(words)[0] > 0)
    assert chain.K < 20
