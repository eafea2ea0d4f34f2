"""Clusters of models taught apart are matched as their log odds say."""

import numpy as np
import pytest

from evermix.engines.merging import match as module
from evermix.engines.merging.match import BOUND, ODDS, match
from evermix.families import Multinomial
from evermix.model import Model
from evermix.priors import DP, NGGP
from evermix.tally import Tally

WORDS, TOPICS, MODELS = 300, 12, 3
FAMILY = Multinomial(0.1, n_features=WORDS)


def clusters(seed, words=(20, 4000)):
    """Return a tally of young and old clusters of several models, which of them, and its topics."""
    rng = np.random.default_rng(seed)
    share = rng.dirichlet(np.full(WORDS, 0.05), size=TOPICS)
    owner = np.repeat(np.arange(MODELS), TOPICS)
    topic = np.concatenate([rng.permutation(TOPICS) for _ in range(MODELS)])
    length = np.exp(rng.uniform(*np.log(words), size=len(owner))).astype(int)
    counts = np.array([rng.multinomial(n, share[k]) for n, k in zip(length, topic, strict=True)])
    mass = length / 20
    extras = {"log_empty": np.zeros(len(owner)), "hard": mass}
    stats = np.column_stack([counts, length]).astype(float)
    return Tally.of(np.arange(len(owner)), mass, stats, extras, FAMILY.layout), owner, topic


def sets(into):
    """Return a partition as sets of rows."""
    return {frozenset(np.flatnonzero(into == k).tolist()) for k in np.unique(into)}


@pytest.mark.parametrize(
    ("model", "rule"), [(Model(FAMILY, NGGP()), ODDS), (Model(FAMILY, DP()), BOUND)]
)
@pytest.mark.parametrize("seed", range(3))
def test_clusters_of_the_same_topic_become_one_however_small(model, rule, seed):
    tally, owner, topic = clusters(seed)
    before = tally.copy()
    into = match(model, tally, owner, rule, 0.0)
    assert sets(into) == sets(topic)
    for k in np.unique(into):
        own = into == k
        assert len(set(owner[own])) == own.sum()
        np.testing.assert_array_equal(tally.stats[k], before.stats[own].sum(axis=0))
        assert tally.mass[k] == pytest.approx(before.mass[own].sum(), rel=1e-14)
    assert np.all(tally.mass[into != np.arange(len(into))] == 0)


def test_few_partners_find_what_all_pairs_would(monkeypatch):
    """Candidates of every size are found: what explains a small cluster best may be large."""
    tally, owner, _ = clusters(5)
    model = Model(FAMILY, NGGP())
    some = match(model, tally.copy(), owner, ODDS, 5.0)
    monkeypatch.setattr(module, "PARTNERS", len(owner))
    monkeypatch.setattr(module, "NUMBERS", 1)
    assert sets(match(model, tally.copy(), owner, ODDS, 5.0)) == sets(some)


def test_different_topics_of_few_words_stay_apart():
    """Models of one topic each: for want of data their clusters look alike, but they are not."""
    rng = np.random.default_rng(1)
    share = rng.dirichlet(np.full(WORDS, 0.05), size=2)
    counts = np.array([rng.multinomial(30, row) for row in share])
    extras = {"log_empty": np.zeros(2), "hard": np.full(2, 2.0)}
    stats = np.column_stack([counts, counts.sum(axis=1)]).astype(float)
    tally = Tally.of(np.arange(2), np.full(2, 2.0), stats, extras, FAMILY.layout)
    into = match(Model(FAMILY, NGGP()), tally, np.arange(2), ODDS, 5.0)
    assert sets(into) == {frozenset({0}), frozenset({1})}


def test_dust_is_left_alone():
    """A cluster of mass below one is not judged by the odds of partitions."""
    tally, owner, _ = clusters(2)
    tally.mass[3] = tally.extras["hard"][3] = 0.5
    into = match(Model(FAMILY, NGGP()), tally, owner, ODDS, -np.inf)
    assert np.sum(into == into[3]) == 1


def test_nothing_is_fused_above_an_infinite_threshold():
    tally, owner, _ = clusters(2)
    into = match(Model(FAMILY, NGGP()), tally, owner, ODDS, np.inf)
    np.testing.assert_array_equal(into, np.arange(len(owner)))
