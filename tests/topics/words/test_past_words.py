"""New documents among topics of the past have the posterior given what the past chose.

It is held against enumeration: of all seatings and menus of two documents, those where the first
one has chosen as the past has.
"""

from collections import Counter
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from scipy import sparse

from evermix.topics.words.corpus import Corpus
from evermix.topics.words.franchise import Franchise
from evermix.topics.words.past import Past
from evermix.topics.words.samplers import H1, H2
from evermix.topics.words.snapshots import Snapshot
from helpers import franchise_oracles as oracle
from helpers.dependent_oracles import mixed, thinned
from helpers.franchise_oracles import corpus, one_measure, seating

COUNTS = np.array([[1, 1], [1, 2]])
TIMES = {"HDP": (0, 0), "HNGG": (0, 0), "HMNGG": (0, 1), "HTNGG": (0, 1)}
MEASURES = {
    "HDP": lambda: one_measure(sigma=0.0),
    "HNGG": one_measure,
    "HMNGG": mixed,
    "HTNGG": thinned,
}
SIGMA = {"HDP": 0.0}  # of documents
CHOSEN = {"one topic": (0, 0), "two topics": (0, 1)}  # by the words of the past, a table for each
QUICK, LONG = 500, 5000


def new_words(name):
    """The second document alone, with its own time."""
    X, time = sparse.csr_matrix(COUNTS[1:].astype(float)), TIMES[name][1]
    return Corpus.of(X, np.array([time]), time + 1)


def past_words(name, dish, times=1):
    """The first document, which may have chosen several times."""
    K, n_times = max(dish) + 1, TIMES[name][1] + 1
    counts = np.zeros((2, K), dtype=np.int32)
    np.add.at(counts, ([0, 1], list(dish)), 1)
    words, tables = np.zeros((2, n_times, K), dtype=np.int64)
    words[0], tables[0] = times * counts.sum(axis=0), times
    return Past(sparse.csr_matrix(times * counts), words, tables)


def chain_of(name, past, alpha=oracle.BETA):
    words = new_words(name)
    below = seating(words, sigma=SIGMA.get(name, 0.3))
    chain = Franchise.start(MEASURES[name](), below, alpha, words)
    on = np.ones((words.n_times, past.K), dtype=bool)
    return replace(chain, region=np.zeros(past.K, dtype=np.int64), on=on, past=past)


@cache
def posterior(name):
    words = corpus(COUNTS, TIMES[name])
    return oracle.posterior(MEASURES[name](), seating(words, sigma=SIGMA.get(name, 0.3)), words)


def exact(name, chosen):
    """The posterior where the words of the first document have these topics, and a table each."""
    dish, log_p = CHOSEN[chosen], posterior(name)
    first = tuple(((0, k), 1) for k in range(max(dish) + 1))
    return oracle.normalised(
        {
            key: value
            for key, value in log_p.items()
            if key[0][:2] == dish and tuple(t for t in key[2] if t[0][0] == 0) == first
        }
    )


def key_of(chain, dish):
    both = oracle.canonical([*dish, *chain.dish])
    place = dict(zip(both, chain.region[[*dish, *chain.dish]].tolist(), strict=True))
    tables = Counter({(0, k): 1 for k in dish})
    for k, opens in zip(both[2:], chain.opens, strict=True):
        tables[1, k] += int(opens)
    return both, tuple(place[k] for k in range(len(place))), tuple(sorted(tables.items()))


def misfit(name, chosen, sampler, past, sweeps=QUICK, skip=20):
    rng, chain, seen = np.random.default_rng(0), chain_of(name, past), Counter()
    words, want = new_words(name), exact(name, chosen)
    for sweep in range(skip + sweeps):
        sampler.sweep(words, chain, rng)
        if sweep >= skip:
            seen[key_of(chain, CHOSEN[chosen])] += 1
    assert set(seen) <= set(want)
    return max(oracle._distance(want, seen, sweeps, view) for view in oracle.VIEWS)


QUICK_CASES = [("HDP", H1()), ("HNGG", H2()), ("HMNGG", H1()), ("HMNGG", H2()), ("HTNGG", H1())]


@pytest.mark.parametrize(("name", "sampler"), QUICK_CASES)
def test_given_the_past_new_words_have_the_posterior_of_the_enumeration(name, sampler):
    assert misfit(name, "two topics", sampler, past_words(name, (0, 1))) < 3


@pytest.mark.slow
@pytest.mark.parametrize("name", MEASURES)
@pytest.mark.parametrize("chosen", CHOSEN)
@pytest.mark.parametrize("sampler", [H1(), H2(), H1(slices=True)], ids=repr)
def test_for_long_new_words_have_the_posterior_of_the_enumeration(name, chosen, sampler):
    assert misfit(name, chosen, sampler, past_words(name, CHOSEN[chosen]), LONG) < 3


def test_with_a_past_counted_twice_the_law_is_another():
    assert misfit("HNGG", "two topics", H1(), past_words("HNGG", (0, 1), times=2), 1500) > 3


@pytest.mark.parametrize("name", MEASURES)
def test_words_and_tables_of_the_past_stay_where_they_are(name):
    """Every draw counts them, and new words, each once."""
    past, words = past_words(name, (0, 1)), new_words(name)
    chain, rng = chain_of(name, past), np.random.default_rng(0)
    for _ in range(20):
        H1().sweep(words, chain, rng)
        draw = Snapshot.of(chain, words, 0, 0, 0.0)
        assert np.all(draw.counts.toarray()[:, :2] >= past.counts.toarray())
        np.testing.assert_array_equal(draw.counts.toarray().sum(axis=1), COUNTS.sum(axis=0))
        assert np.all(draw.tables[:, :2] >= past.tables)
        assert draw.words.sum() == COUNTS.sum()
        assert draw.tables.sum() == past.tables.sum() + chain.opens.sum()


@pytest.mark.parametrize("name", MEASURES)
@pytest.mark.parametrize("sampler", [H1(), H2(), H1(slices=True)], ids=repr)
def test_a_sweep_leaves_the_next_one_the_counts_of_all_topics(name, sampler):
    """Topics come and go, and their slots with them."""
    rng, past = np.random.default_rng(0), past_words(name, (0, 1))
    X, time = sparse.csr_matrix(1.0 + rng.poisson(1.0, (30, 2))), TIMES[name][1]
    words = Corpus.of(X, np.full(30, time), time + 1)
    chain = replace(
        Franchise.start(MEASURES[name](), seating(words, sigma=0.3), 0.02, words),
        region=np.zeros(2, dtype=np.int64),
        on=np.ones((words.n_times, 2), dtype=bool),
        past=past,
    )
    gaps = 0
    for _ in range(40):
        sampler.sweep(words, chain, rng)
        slots, counts = chain.slots, chain.counts(words).toarray()
        gaps += len(slots.empty) > 0
        np.testing.assert_array_equal(slots.totals[slots.place], counts.sum(axis=0))
        assert slots.totals.sum() == counts.sum()
        for x, row in enumerate(counts):
            some = slice(slots.lists.start[x], slots.lists.end[x])
            listed = dict(zip(slots.lists.topic[some], slots.lists.n[some], strict=True))
            assert listed == {slots.place[k]: row[k] for k in np.flatnonzero(row)}
        if slots.counts.size:  # where lists are not enough
            np.testing.assert_array_equal(slots.counts[:, slots.place], counts)
            assert slots.counts.sum() == counts.sum()
    assert gaps > 0
    assert chain.copy().slots is None  # two chains never share them
