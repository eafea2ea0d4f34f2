"""Topic models that go on with new documents and new times."""

import os
import warnings

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

import evermix as em
from evermix.io import checkpoint
from evermix.topics import live
from helpers.topic_cases import SHORT, YEARS, X, documents

GOING_ON = [
    (em.HDP(), em.H1()),
    (em.HMNGG(), em.H1()),
    (em.HSNGG(), em.H2()),
    (em.HTNGG(regions=2), em.H1()),
]
IDS = ["HDP-H1", "HMNGG-H1", "HSNGG-H2", "HTNGG-H1"]


def parts(timed=True):
    """Documents and times of each year."""
    some = [YEARS == year for year in (2001, 2002, 2003)]
    return [(X[rows], YEARS[rows] if timed else None) for rows in some]


def model(prior=None, **settings):
    return em.TopicModel(prior or em.HMNGG(), **{**SHORT, **settings})


def shown(topics):
    return topics._fitted.point()


@pytest.fixture(scope="module")
def years():
    """The models after each year: the first one fitted, the others learnt."""
    topics, after = model(), []
    for rows, times in parts():
        topics.partial_fit(rows, times=times)
        after.append(shown(topics))
    return topics, after


@pytest.mark.parametrize(("prior", "sampler"), GOING_ON, ids=IDS)
def test_saved_models_go_on_bit_for_bit(prior, sampler, tmp_path):
    whole, path = model(prior, sampler=sampler), tmp_path / "topics.evermix"
    for rows, times in parts(prior.timed):
        whole.partial_fit(rows, times=times)
    cut = model(prior, sampler=sampler)
    for rows, times in parts(prior.timed):
        cut.partial_fit(rows, times=times).save(path)
        cut = em.load(path)
    np.testing.assert_array_equal(cut.components_, whole.components_)
    np.testing.assert_array_equal(cut.evolution_, whole.evolution_)
    for name, values in whole.traces_.items():
        np.testing.assert_array_equal(cut.traces_[name], values)
    times = YEARS if prior.timed else None
    assert cut.perplexity(X, times) == whole.perplexity(X, times)
    assert cut.n_sweeps_ == whole.n_sweeps_ == 12 + 2 * live.MOST


@pytest.mark.parametrize(("prior", "sampler"), GOING_ON, ids=IDS)
def test_every_word_is_counted_once_and_none_of_the_past_moves(prior, sampler):
    topics, learnt, before = model(prior, sampler=sampler), 0, None
    for rows, times in parts(prior.timed):
        topics.partial_fit(rows, times=times)
        learnt = learnt + rows.sum(axis=0)
        for draw in topics._fitted.run.all_snapshots():
            np.testing.assert_array_equal(draw.counts.toarray().sum(axis=1), learnt)
            assert draw.words.sum() == learnt.sum()
            assert np.all(draw.tables.sum(axis=0) > 0)
        now = shown(topics)
        if before is not None:
            T, K = before.words.shape
            new = now.counts.toarray()[:, :K] - before.counts.toarray()
            assert np.all(new >= 0)
            if prior.timed:
                np.testing.assert_array_equal(now.words[:T, :K], before.words)
                np.testing.assert_array_equal(now.tables[:T, :K], before.tables)
                assert not now.words[:T, K:].any()
        before = now


def test_topics_keep_their_numbers_and_new_ones_follow():
    """What comes later is of other words, which no topic of the past has; then the past returns."""
    rng, kinds, back = np.random.default_rng(0), 4.0 * np.repeat(np.eye(3), 3, axis=1), []
    old, new = rng.poisson(kinds[np.arange(30) % 2]), rng.poisson(kinds[[2] * 30])
    for seed in range(6):
        topics = model(burn_in=30, random_state=seed).partial_fit(old, times=np.full(30, 2001))
        K, first = topics.n_topics_, topics.components_
        topics.partial_fit(new, times=np.full(30, 2002))
        assert topics.n_topics_ > K
        np.testing.assert_array_equal(topics.times_, [2001, 2002])
        assert topics.evolution_[1, K:].sum() > 0.9
        np.testing.assert_allclose(topics.evolution_[0, K:], 0.0)
        np.testing.assert_array_equal(
            topics.components_[:K, :6].argmax(axis=1), first[:, :6].argmax(axis=1)
        )
        topics.partial_fit(old, times=np.full(30, 2003))
        back.append(topics.evolution_[2, :K].sum())
    # Topics come back as what they were, unless newborn ones of the same words were first.
    assert np.median(back) > 0.9


def test_topics_of_one_kind_of_words_are_numbers():
    """With a single topic nothing bounds the auxiliary variable of a time, which stays finite."""
    counts = np.random.default_rng(0).poisson([4.0, 4, 4, 0, 0, 0], (30, 6))
    for seed in range(3):
        topics = model(burn_in=200, random_state=seed).fit(counts, times=np.full(30, 2001))
        assert all(np.all(np.isfinite(values)) for values in topics.traces_.values())


def test_what_is_kept_does_not_grow_with_documents(tmp_path):
    """Once topics, words and times are known, files are as large after a hundred times as many."""
    rows, times = documents(90)
    topics, sizes = model().fit(X, times=YEARS), []
    for _ in range(2):
        topics.partial_fit(rows, times=times)
        topics.save(tmp_path / "topics.evermix")
        arrays, _ = checkpoint.read(tmp_path / "topics.evermix")
        K = max(draw.K for draw in topics._fitted.run.all_snapshots())
        longest = max(max(values.shape) for values in arrays.values())
        sizes.append((os.path.getsize(tmp_path / "topics.evermix"), K))
        # Words of topics are the largest part: at most one number for each word and topic.
        assert longest <= max(X.shape[1] * K, topics._fitted.run.known[0].numbers.__len__())
    per_topic = 4 * (16 * X.shape[1] + 8 * 20)
    assert sizes[1][0] <= sizes[0][0] + per_topic * max(sizes[1][1] - sizes[0][1], 1)


def test_documents_of_times_that_are_known_are_learnt_there(years):
    topics, after = years
    more = em.TopicModel(em.HMNGG(), **SHORT).fit(X, times=YEARS)
    before = shown(more)
    more.partial_fit(X[YEARS == 2002], times=YEARS[YEARS == 2002])
    added = shown(more).words.sum(axis=1) - before.words.sum(axis=1)
    np.testing.assert_array_equal(added, [0, X[YEARS == 2002].sum(), 0])
    np.testing.assert_array_equal(more.times_, [2001, 2002, 2003])


def test_what_all_documents_say_of_the_mass_is_two_numbers(years):
    """Tables, and the sum of exponents: the law of the mass given both."""
    topics, after = years
    known = topics._fitted.run.known[0]
    assert known.mass.shape == pytest.approx(0.1 + after[-1].tables.sum())
    fixed = model(em.HDP(a=1.0)).partial_fit(X).partial_fit(X)
    assert fixed._fitted.run.known[0].mass is None
    assert shown(fixed).a == 1.0


def test_at_a_time_that_was_not_seen_yet_the_last_one_counts():
    topics = model().fit(X, times=YEARS)
    for answer in (topics.transform, topics.perplexity):
        with pytest.warns(UserWarning, match="no rows at the time 2009 yet.* before it, 2003"):
            ahead = answer(X[:5], np.full(5, 2009))
        np.testing.assert_array_equal(ahead, answer(X[:5], np.full(5, 2003)))
    with pytest.warns(UserWarning, match="before it, 2002"):
        topics.transform(X[:1], [2002.5])
    with pytest.raises(ValueError, match="no rows at the time 1999"):
        topics.transform(X[:1], [1999])


@pytest.mark.parametrize(
    ("rows", "times", "error", "message"),
    [
        (X[:2], [2000, 2001], ValueError, "last of which is 2003, got 2000, where nothing was"),
        (X[:2], [2002.5, 2004], ValueError, "got 2002.5"),
        (X[:2], ["a", "b"], TypeError, "times must be numbers, like those of the fit"),
        (X[:2], None, ValueError, "times are missing"),
        (X[:2], [2004], ValueError, "one entry per row"),
        (X[:2, :5], [2004, 2004], ValueError, "X has 5 features"),
        (X[:2] * 0, [2003, 2003], ValueError, "X holds no words"),
        (X[:2] * [[0], [1]], [2004, 2005], ValueError, "all documents of the time 2004 are empty"),
    ],
)
def test_what_cannot_be_learnt_is_refused_and_leaves_the_model(rows, times, error, message):
    topics = model().fit(X, times=YEARS)
    before = topics.components_
    with pytest.raises(error, match=message):
        topics.partial_fit(rows, times=times)
    np.testing.assert_array_equal(topics.components_, before)
    topics.resume(X, YEARS)


def test_models_without_a_level_of_documents_do_not_go_on():
    topics = model(em.MNGG(2), sampler=em.M1()).fit(X)
    with pytest.raises(ValueError, match=r"every document a time of its own.*em.HMNGG\(\)"):
        topics.partial_fit(X)


def test_a_model_that_has_gone_on_says_why_it_knows_no_documents(years, tmp_path):
    topics, _ = years
    topics.save(tmp_path / "topics.evermix")
    shares = topics.transform(X, YEARS)  # as the message advises
    for each in (topics, em.load(tmp_path / "topics.evermix")):
        assert each.card(0).documents == ()
        for ask in (lambda m: m.documents_, lambda m: m.nearest_documents(shares)):
            with pytest.raises(AttributeError, match="has gone on.*keeps any. Ask transform"):
                ask(each)


def test_a_model_that_has_gone_on_is_not_resumed(years):
    topics, _ = years
    with pytest.raises(ValueError, match="gone on with partial_fit"):
        topics.resume(X, YEARS)
    with pytest.raises(ValueError, match="the fit was begun with alpha="):
        model().fit(X, times=YEARS).set_params(alpha=0.7).partial_fit(X, times=YEARS)


def test_a_pass_that_fails_leaves_everything_as_it_was(monkeypatch):
    whole = model().fit(X, times=YEARS).partial_fit(X, times=YEARS).partial_fit(X, times=YEARS)
    topics = model().fit(X, times=YEARS).partial_fit(X, times=YEARS)
    sweep, calls = em.H1.sweep, []

    def fails(self, *args):
        sweep(self, *args)
        calls.append(1)
        if len(calls) == 5:
            raise MemoryError

    with monkeypatch.context() as patch, pytest.raises(MemoryError):
        patch.setattr(em.H1, "sweep", fails)
        topics.partial_fit(X, times=YEARS)
    np.testing.assert_array_equal(topics.partial_fit(X, times=YEARS).components_, whole.components_)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("live.0.words", lambda x: x[:1]),
        ("live.0.measure.q", lambda x: -x),
        ("live.0.counts.indices", lambda x: x + 1000),
        ("mass", lambda x: -x),
        ("mass", lambda x: x[:1]),
        ("traces", lambda x: x[:, 1:]),
    ],
)
def test_files_that_were_edited_are_not_loaded(years, name, change, tmp_path):
    path = tmp_path / "topics.evermix"
    years[0].save(path)
    arrays, header = checkpoint.read(path)
    arrays[name] = np.ascontiguousarray(change(arrays[name]))
    checkpoint.write(path, arrays, header)
    with pytest.raises(em.CheckpointError, match="not hold a whole"):
        em.load(path)


def test_a_model_that_went_on_answers_as_others_do(years):
    topics, _ = years
    shares = topics.transform(X, YEARS)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    assert topics.predicted_evolution_.shape == topics.evolution_.shape == (3, topics.n_topics_)
    assert len(topics.traces_["n_topics"]) == topics._fitted.run.n_draws
    assert len(topics.top_words(3)) == topics.n_topics_
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert topics.perplexity(X[:4], np.full(4, 2010)) > 1


def test_times_that_were_added_are_known(tmp_path):
    """Those of the fit are not, nor documents that are added at known times."""
    topics, path = model(), tmp_path / "topics.evermix"
    rows, times = zip(*parts(), strict=True)
    topics.fit(np.vstack(rows[:2]), times=np.concatenate(times[:2]))
    assert topics.partial_fit(rows[0], times=times[1]).added_times_ == []
    topics.save(path)
    topics = em.load(path).partial_fit(rows[2], times=times[2])
    assert topics.added_times_ == [2003]
    assert topics._repr_html_().count("2003 (births and deaths where they begin are uncertain)")

    topics.save(path)
    arrays, header = checkpoint.read(path)
    for number in (4, -1, "2"):
        checkpoint.write(path, arrays, header | {"n_fitted": number})
        with pytest.raises(em.CheckpointError, match="n_fitted"):
            em.load(path)
    del header["n_fitted"]  # as in older files
    checkpoint.write(path, arrays, header)
    assert em.load(path).added_times_ == []


def test_words_and_numbers_of_documents_go_on(tmp_path):
    """Cards are written; documents themselves are not kept."""
    topics, words = model(), list("abcdef")
    for rows, times in parts():
        topics.partial_fit(rows, times=times, vocabulary=words)
    topics.save(tmp_path / "topics.evermix")
    loaded = em.load(tmp_path / "topics.evermix")
    assert loaded.top_words(3) == topics.top_words(3)
    assert set(topics.top_words(1)[0]) <= set(words)
    assert loaded._fitted.per_time == [8, 8, 8]
    assert len(topics.cards()) == topics.n_topics_
    with pytest.raises(AttributeError, match="Ask transform"):
        topics.documents_  # noqa: B018


def test_draws_go_on_side_by_side_and_are_those_of_one_thread():
    found = []
    for threads in (1, 2):
        with threadpool_limits(threads):
            topics = model().fit(X, times=YEARS).partial_fit(X, times=YEARS)
        found.append(topics._fitted.run.all_snapshots())
    for one, two in zip(*found, strict=True):
        np.testing.assert_array_equal(one.counts.toarray(), two.counts.toarray())
        assert one.log_joint == two.log_joint


@pytest.mark.parametrize("chains", [1, 2, 4])
def test_about_as_many_draws_of_every_chain_go_on(chains):
    """Draws of several chains differ more than those of one, and predict better together."""
    topics = model(burn_in=2, draws=12, chains=chains).fit(X, times=YEARS)
    topics.partial_fit(X[:3], times=YEARS[:3])
    n = np.bincount([draw.chain for draw in topics._fitted.run.all_snapshots()], minlength=chains)
    assert n.sum() == live.KEPT
    assert n.max() - n.min() <= 2
