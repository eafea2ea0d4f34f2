"""Counts whose columns become more: exact where the prior is over as many words as before."""

import numpy as np
import pytest
from scipy import sparse

import evermix as em
from evermix.families.growing import room
from evermix.io.growing_vocabulary import GrowingVocabulary
from evermix.io.text import Vocabulary
from helpers.variants import slow_but

ENGINES = [None, em.ADF(), em.SUGS(), em.RCRP(), em.OnlineCRP()]
V = 200


def _counts(seed=0, n=300, subjects=8):
    """Rows of counts: every 30 rows a subject begins, whose words were not used before."""
    rng = np.random.default_rng(seed)
    words = rng.dirichlet(np.full(40, 0.3), size=subjects)
    X = np.zeros((n, V))
    for i in range(n):
        k = min(rng.integers(subjects), i // 30)
        X[i, 20 * k : 20 * k + 40] += rng.multinomial(12, words[k])
    return sparse.csr_matrix(X)


def _streamed(X, mix, size, save=None):
    """Learn parts of so many rows, each only as wide as it must be."""
    for start in range(0, X.shape[0], size):
        part = X[start : start + size]
        mix.partial_fit(part[:, : part.indices.max() + 1])
        if save is not None:
            mix.save(save)
            mix = em.load(save)
    return mix


def _assert_same(one, other, atol=0.0):
    assert np.array_equal(one.cluster_ids_, other.cluster_ids_)
    arrays, others = (m.state_.to_arrays()[0] for m in (one, other))
    assert arrays.keys() == others.keys()
    for name in arrays:
        np.testing.assert_allclose(arrays[name], others[name], rtol=0, atol=atol, err_msg=name)
    assert one.model_.prior == other.model_.prior


@pytest.mark.parametrize("alpha", [None, 0.1])
@pytest.mark.parametrize("engine", ENGINES, ids=lambda engine: type(engine).__name__)
def test_a_known_size_gives_what_all_words_from_the_start_give(engine, alpha):
    """The columns of words that were not met yet are zeros: up to n_features nothing changes."""
    X = _counts()
    family = em.Multinomial(alpha, growing=True, n_features=V)
    grown = _streamed(X, em.Mixture(family, engine=engine, random_state=0), 7)
    known = em.Mixture(em.Multinomial(alpha), engine=engine, random_state=0)
    for start in range(0, 300, 50):
        known.partial_fit(X[start : start + 50])
    _assert_same(grown, known, atol=1e-9)
    assert grown.model_.family.alpha == pytest.approx(known.model_.family.alpha, abs=1e-9)
    np.testing.assert_allclose(grown.score_samples(X), known.score_samples(X), atol=1e-9)


@pytest.mark.parametrize("engine", [None, em.ADF()])
def test_texts_give_what_a_vocabulary_known_from_the_start_gives(engine):
    """Columns as words are met, or in the order of the alphabet: the same clusters."""
    rng = np.random.default_rng(5)
    words = [f"{a}{b}{c}{d}" for a in "bdfg" for b in "aei" for c in "lmnr" for d in "aou"]
    late = [min(rng.integers(6), i // 40) for i in range(300)]
    texts = [" ".join(words[24 * k + j] for j in rng.integers(24, size=8)) for k in late]
    known = Vocabulary(sorted(words))
    informed = em.Mixture(em.Multinomial(), engine=engine).partial_fit(known.counts(texts))
    growing = GrowingVocabulary(min_count=1)
    grown = em.Mixture(em.Multinomial(growing=True, n_features=len(words)), engine=engine)
    for start in range(0, 300, 17):
        for part in growing.stream(texts[start : start + 17]):
            grown.partial_fit(part.X)
    order = [growing.words.index(word) for word in known.words]
    stats = grown.tally_.stats[:, [*order, len(words)]]
    np.testing.assert_allclose(stats, informed.tally_.stats, rtol=0, atol=1e-9)
    np.testing.assert_allclose(grown.tally_.mass, informed.tally_.mass, rtol=0, atol=1e-9)
    assert np.array_equal(grown.cluster_ids_, informed.cluster_ids_)


@pytest.mark.parametrize("forgetting", [None, em.Exponential(100)])
@pytest.mark.parametrize("size", slow_but([7], [1, 7, 300]))
def test_neither_cuts_nor_files_change_how_columns_grow(tmp_path, size, forgetting):
    """The rows alone decide where there are more columns; a file holds all that is needed."""
    X = _counts(1)
    mixes = [em.Mixture(em.Multinomial(growing=True), forgetting=forgetting) for _ in range(2)]
    whole = _streamed(X, mixes[0], 60)
    cut = _streamed(X, mixes[1], size, save=tmp_path / "m.evermix" if size > 1 else None)
    _assert_same(whole, cut)
    assert whole.n_features_in_ == cut.n_features_in_ == room(X.indices.max() + 1)


def test_columns_are_a_few_more_than_words():
    """At most a quarter more, so that they seldom become more."""
    sizes = [room(n) for n in range(1, 5000)]
    assert all(n <= size <= max(1.25 * n, 4) for n, size in enumerate(sizes, 1))
    assert len(set(sizes)) < 50
    assert room(2**16) == 2**16


def test_questions_about_unknown_words_change_nothing():
    """Rows wider than all before are answered as they would be learnt; a new cluster is likely."""
    X = _counts(2)
    mix = _streamed(X, em.Mixture(em.Multinomial(0.1, growing=True)), 50)
    before = mix.state_.to_arrays()[0]
    unknown = sparse.csr_matrix(([2.0, 3.0, 2.0], ([0, 0, 0], [700, 750, 790])), shape=(1, 800))
    assert mix.predict_proba(unknown, new_cluster=True)[0, -1] > 0.9
    assert np.isfinite(mix.score_samples(unknown)).all()
    assert all(
        np.array_equal(a, b)
        for a, b in zip(before.values(), mix.state_.to_arrays()[0].values(), strict=True)
    )
    first = mix.history_[-1].log_predictive
    mix.partial_fit(unknown)
    assert mix.n_features_in_ == room(791) and mix.history_[-1].log_predictive != first


def test_forgotten_columns_are_as_if_never_counted():
    """Counts of a column leave the clusters, their lengths and the rows that are kept."""
    X = _counts(3)
    mix = _streamed(X, em.Mixture(em.Multinomial(growing=True)), 50)
    counts, lengths = mix.tally_.stats[:, 3:6].copy(), mix.tally_.stats[:, -1].copy()
    assert counts.sum() > 0
    mix.forget_columns([3, 5, 4])
    assert not mix.tally_.stats[:, 3:6].any()
    np.testing.assert_allclose(mix.tally_.stats[:, -1], lengths - counts.sum(axis=1))
    kept = mix.state_.lookback.rows.X
    assert kept.sum() > 0 and not kept[:, 3:6].sum()
    mix.partial_fit(X[:50])
    with pytest.raises(ValueError, match="some of those learnt, got"):
        mix.forget_columns([5000])
    with pytest.raises(TypeError, match="growing=True"):
        em.Mixture().partial_fit(X).forget_columns([1])


def test_columns_of_a_fit_are_fixed_and_those_of_others_too():
    """Only streams grow, and only where that was wanted."""
    X = _counts(4)
    closed = em.Mixture(em.Multinomial()).partial_fit(X[:, :150])
    with pytest.raises(ValueError, match="200 features"):
        closed.partial_fit(X)
    fitted = em.Mixture(em.Multinomial(growing=True)).fit(X[:40, :100])
    assert fitted.n_features_in_ == 100
    assert fitted.partial_fit(X[40:]).n_features_in_ == room(X.indices.max() + 1)
    with pytest.raises(ValueError, match="one alpha for all words"):
        em.Mixture(em.Multinomial(np.full(V, 0.1), growing=True)).partial_fit(X)
