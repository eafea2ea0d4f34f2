"""Dependent mixtures that go on with new rows and new times."""

import copy
import json

import numpy as np
import pytest
from scipy import sparse

import evermix as em
from evermix.io import checkpoint
from evermix.topics.rows.live import SWEEPS
from helpers.commands import evermix

YEARS = np.repeat([2001, 2002, 2003], 20)
SHORT = {"burn_in": 8, "draws": 4, "random_state": 0}
GOING_ON = [
    (em.MNGG(), em.M1()),
    (em.MNGG(2), em.M2()),
    (em.SNGG(), em.M3()),
    (em.TNGG(), em.T1()),
    (em.TNGG(2), em.T2()),
    (em.TNGG(2), em.T3()),
    (em.TNGG(2), em.T5()),
]


def rows(seed=0):
    """Rows in which one group gives way to another; far apart."""
    rng = np.random.default_rng(seed)
    second = rng.random(60) < np.repeat([0.1, 0.5, 0.9], 20)
    return rng.normal(size=(60, 2)) + 20.0 * second[:, None]


X = rows()


def parts():
    """Rows and times of each year, and more of one that is known."""
    years = [(X[YEARS == year], YEARS[YEARS == year]) for year in (2001, 2002, 2003)]
    return [*years, (rows(1)[20:40], YEARS[20:40])]


def model(prior=None, sampler=None, **settings):
    family = settings.pop("family", em.DiagonalGaussian())
    return em.DependentMixture(family, prior, sampler, **{**SHORT, **settings})


def draws(mix):
    return [known.clusters for known in mix._fitted.run.known]


@pytest.fixture(scope="module")
def live():
    mix = model()
    for some, times in parts():
        mix.partial_fit(some, times=times)
    return mix


@pytest.mark.filterwarnings("ignore:T3 would need")
@pytest.mark.parametrize(("prior", "sampler"), GOING_ON, ids=repr)
def test_saved_models_go_on_bit_for_bit(prior, sampler, tmp_path):
    whole, cut, path = model(prior, sampler), model(prior, sampler), tmp_path / "m.evermix"
    for some, times in parts():
        whole.partial_fit(some, times=times)
        cut.partial_fit(some, times=times).save(path)
        cut = em.load(path)
    assert cut.gone_on_ and whole.gone_on_
    np.testing.assert_array_equal(cut.labels_, whole.labels_)
    np.testing.assert_array_equal(cut.evolution_, whole.evolution_)
    np.testing.assert_array_equal(cut.predicted_evolution_, whole.predicted_evolution_)
    for name, values in whole.traces_.items():
        np.testing.assert_array_equal(cut.traces_[name], values)
    np.testing.assert_array_equal(cut.score_samples(X, YEARS), whole.score_samples(X, YEARS))
    assert cut.n_sweeps_ == whole.n_sweeps_ == 12 + 3 * SWEEPS


@pytest.mark.filterwarnings("ignore:T3 would need")
@pytest.mark.parametrize(("prior", "sampler"), GOING_ON, ids=repr)
def test_every_row_is_counted_once_and_none_of_the_past_moves(prior, sampler):
    mix, learnt, total, before = model(prior, sampler), np.zeros(3, dtype=int), 0.0, None
    for some, times in parts():
        mix.partial_fit(some, times=times)
        learnt += np.bincount(times - 2001, minlength=3)
        total = total + mix.family_.accumulate(some, np.ones((len(some), 1)))
        assert mix.labels_.shape == (len(some),)
        if mix.gone_on_:
            for draw in draws(mix):
                T = draw.counts.shape[0]
                np.testing.assert_array_equal(draw.counts.sum(axis=1), learnt[:T])
                np.testing.assert_allclose(draw.stats.sum(axis=0), total[0], rtol=1e-9)
                assert np.all(draw.counts.sum(axis=0) > 0)
        now = mix._fitted.point()
        new = np.zeros_like(now.counts)
        np.add.at(new, (times - 2001, mix.labels_), 1)
        if before is not None:
            T, K = before.shape
            new[:T, :K] += before
        np.testing.assert_array_equal(now.counts, new)
        before = now.counts


def test_clusters_keep_their_numbers_and_new_ones_follow():
    rng = np.random.default_rng(0)
    old, new = rng.normal(size=(30, 2)), 30.0 + rng.normal(size=(30, 2))
    mix = model(burn_in=30, family=em.FixedGaussian(1.0, 30.0))
    mix.partial_fit(old, times=np.full(30, 2001))
    K = mix.n_clusters_
    mix.partial_fit(new, times=np.full(30, 2002))
    assert mix.n_clusters_ > K and np.all(mix.labels_ >= K)
    np.testing.assert_array_equal(mix.times_, [2001, 2002])
    np.testing.assert_array_equal(mix.evolution_[0, K:], 0.0)
    assert set(mix.predict(old, np.full(30, 2001))) <= set(range(K))
    assert np.all(mix.predict(new, np.full(30, 2002)) >= K)
    mix.partial_fit(old, times=np.full(30, 2003))  # and come back as what they were
    assert mix.evolution_[2, :K].sum() > 0.9


def test_what_is_kept_does_not_grow_with_rows(tmp_path):
    """Of the rows of the last call there are labels, and of all others nothing."""
    mix = model().fit(X, times=YEARS)
    for n in (1, 20):
        mix.partial_fit(np.tile(X, (n, 1)), times=np.tile(YEARS, n)).partial_fit(X, times=YEARS)
        mix.save(tmp_path / "m.evermix")
        arrays, _ = checkpoint.read(tmp_path / "m.evermix")
        largest = max(draw.K for draw in draws(mix))
        assert max(max(x.shape) for x in arrays.values()) <= max(60, largest)


@pytest.mark.parametrize("family", [em.Multinomial(), em.Gaussian(), em.Poisson()], ids=repr)
def test_other_families_go_on_too(family, tmp_path):
    counts = np.random.default_rng(0).poisson([[8.0, 1.0]] * 30 + [[1.0, 8.0]] * 30)
    mix = model(family=family).fit(counts, times=YEARS)
    more = sparse.csr_matrix(counts) if family.sparse else counts
    mix.partial_fit(more, times=YEARS + 3)
    mix.save(tmp_path / "m.evermix")
    again = em.load(tmp_path / "m.evermix")
    assert np.all(np.isfinite(again.score_samples(counts, YEARS)))
    np.testing.assert_array_equal(again.predict(more, YEARS + 3), mix.predict(more, YEARS + 3))
    assert len(mix.times_) == 6


@pytest.mark.parametrize(
    ("some", "times", "error", "message"),
    [
        (X[:2], [2000, 2001], ValueError, "last of which is 2003, got 2000, where nothing was"),
        (X[:2], [2002.5, 2004], ValueError, "got 2002.5"),
        (X[:2], ["a", "b"], TypeError, "times must be numbers, like those of the fit"),
        (X[:2], None, ValueError, "times are missing"),
        (X[:2], [2004], ValueError, "one entry per row"),
        (X[:2, :1], [2004, 2004], ValueError, "X has 1 features"),
        (X[:0], [], ValueError, "minimum of 1 is required"),
        (X[:2] * np.nan, [2004, 2004], ValueError, "NaN"),
    ],
)
def test_what_cannot_be_learnt_is_refused_and_leaves_the_model(some, times, error, message):
    mix = model().fit(X, times=YEARS)
    before = mix.predict_proba(X, YEARS)
    with pytest.raises(error, match=message):
        mix.partial_fit(some, times=times)
    np.testing.assert_array_equal(mix.predict_proba(X, YEARS), before)
    mix.resume(X, YEARS)


def test_y_is_not_taken_for_times(live):
    with pytest.raises(ValueError, match="y, the second argument, is ignored"):
        model().partial_fit(X, YEARS)
    with pytest.raises(ValueError, match="y, the second argument, is ignored"):
        live.partial_fit(X, YEARS)


def test_a_model_does_not_go_on_with_other_settings_or_too_many_times():
    mix = model().fit(X, times=YEARS)
    for name, other in (("prior", em.MNGG(2)), ("sampler", em.M2()), ("chains", 2)):
        changed = copy.deepcopy(mix).set_params(**{name: other})
        with pytest.raises(ValueError, match=f"the fit was begun with {name}="):
            changed.partial_fit(X, times=YEARS)
    thinned = model(em.TNGG(1), em.T5()).fit(X, times=YEARS)
    with pytest.raises(ValueError, match=r"at most 8 times, got 9. Use em.T1\(\)"):
        thinned.partial_fit(X[:6], times=np.arange(2004, 2010))


def test_a_model_that_has_gone_on_has_no_chains(live):
    with pytest.raises(ValueError, match="gone on with partial_fit"):
        live.resume(X, YEARS)
    with pytest.raises(AttributeError, match="keeps no draws of partitions"):
        live.posterior_  # noqa: B018
    assert not model().fit(X, times=YEARS).gone_on_


def test_a_pass_that_fails_leaves_everything_as_it_was(live, monkeypatch):
    mix = model()
    for some, times in parts()[:3]:
        mix.partial_fit(some, times=times)
    sweep, calls = em.M1.sweep, []

    def fails(self, *args):
        sweep(self, *args)
        calls.append(1)
        if len(calls) == 30:
            raise MemoryError

    some, times = parts()[3]
    with monkeypatch.context() as patch, pytest.raises(MemoryError):
        patch.setattr(em.M1, "sweep", fails)
        mix.partial_fit(some, times=times)
    mix.partial_fit(some, times=times)
    np.testing.assert_array_equal(mix.traces_["log_joint"], live.traces_["log_joint"])


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("live.0.counts", lambda x: x[:1]),
        ("live.0.counts", lambda x: 0 * x),
        ("live.0.stats", lambda x: x[:, 1:]),
        ("live.0.stats", lambda x: np.full_like(x, np.nan)),
        ("live.1.region", lambda x: x + 100),
        ("live.0.on", lambda x: ~x),
        ("live.0.measure.q", lambda x: -x),
        ("live.0.measure.q", lambda x: x[:1]),
        ("labels", lambda x: x + 1000),
    ],
)
def test_files_that_were_edited_are_not_loaded(live, name, change, tmp_path):
    path = tmp_path / "m.evermix"
    live.save(path)
    arrays, header = checkpoint.read(path)
    arrays[name] = np.ascontiguousarray(change(arrays[name]))
    checkpoint.write(path, arrays, header)
    with pytest.raises(em.CheckpointError, match="not hold a whole"):
        em.load(path)


def test_a_model_that_went_on_answers_as_others_do(live, tmp_path):
    K = live.n_clusters_
    assert live.predict_proba(X, YEARS).shape == (60, K)
    np.testing.assert_allclose(live.predicted_evolution_.sum(axis=1), 1.0)
    np.testing.assert_allclose(live.evolution_.sum(axis=1), 1.0)
    assert live.evolution_.shape == (3, K) and live.regions_.shape == (K,)
    assert len(live.traces_["K"]) == len(draws(live)) == 4
    assert live.score(X, times=YEARS) == pytest.approx(live.score_samples(X, YEARS).mean())
    live.report(tmp_path / "report.html")
    assert "80 rows" in (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "80 rows" in live._repr_html_()


def test_the_command_line_tells_of_all_rows(live, tmp_path):
    live.save(tmp_path / "m.evermix")
    reported = json.loads(evermix("info", tmp_path / "m.evermix", "--json").stdout)
    assert reported["observations"] == 80 and reported["K"] == live.n_clusters_
    assert sum(cluster["size"] for cluster in reported["clusters"]) == 80
