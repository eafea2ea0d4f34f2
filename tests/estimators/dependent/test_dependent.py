"""The laws of DependentMixture."""

import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import evermix as em
from evermix import DependentMixture
from evermix.estimators.resolve import resolve
from evermix.families import FAMILIES
from evermix.topics.rows.draws import RowRun
from helpers.variants import slow_but

PRIORS = [em.MNGG(), em.MNGG(regions=2, sigma=0.0), em.SNGG(), em.TNGG(), em.TNGG(2, 0.3, a=1.0)]
SAMPLERS = [em.M1(), em.M2(), em.M3(), em.T1(), em.T2(), em.T3(), em.T4(), em.T5()]


def two_groups(n=30, seed=0):
    """Rows of three years, in which one group gives way to another; far apart."""
    rng = np.random.default_rng(seed)
    second = rng.random(3 * n) < np.repeat([0.1, 0.5, 0.9], n)
    X = rng.normal(size=(3 * n, 2)) + 20.0 * second[:, None]
    return X, np.repeat([2001, 2002, 2003], n), second.astype(int)


def counts(n=45, seed=0):
    rng = np.random.default_rng(seed)
    first = rng.binomial(8, np.array([0.1, 0.9])[rng.integers(2, size=n)])
    return np.column_stack([first, 8 - first]).astype(float), np.arange(n) % 3


def quick(prior=None, sampler=None, family="auto", burn_in=3, draws=4, random_state=0):
    return DependentMixture(family, prior, sampler, burn_in, draws, random_state)


@pytest.mark.parametrize("prior", PRIORS, ids=repr)
def test_a_fit_tells_of_clusters_over_time(prior):
    X, times, _ = two_groups()
    mix = quick(prior).fit(X, times=times)
    K = mix.n_clusters_
    assert mix.labels_.shape == (90,) and set(mix.labels_) == set(range(K))
    np.testing.assert_array_equal(mix.times_, [2001, 2002, 2003])
    assert mix.evolution_.shape == mix.predicted_evolution_.shape == (3, K)
    np.testing.assert_allclose(mix.evolution_.sum(axis=1), 1.0)
    np.testing.assert_allclose(mix.predicted_evolution_.sum(axis=1), 1.0)
    share = [(mix.labels_[times == 2002] == k).mean() for k in range(K)]
    np.testing.assert_allclose(mix.evolution_[1], share)
    assert mix.regions_.shape == (K,)
    assert set(mix.predict(X, times)) <= set(range(K))
    np.testing.assert_allclose(mix.predict_proba(X, times).sum(axis=1), 1.0)
    assert mix.score_samples(X, times).shape == (90,)
    assert mix.score(X, times=times) == pytest.approx(mix.score_samples(X, times).mean())
    names = {"log_joint", "K", "sigma", "u[2]"} | {"a[0]" if not prior.relative else "M[0]"}
    assert names <= set(mix.traces_)
    assert all(values.shape == (4,) for values in mix.traces_.values())
    assert np.all(np.isfinite(mix.traces_["log_joint"]))


@pytest.mark.parametrize("sampler", SAMPLERS, ids=repr)
def test_every_sampler_tells_groups_that_are_far_apart_from_each_other(sampler):
    """No cluster has rows of both groups, and one in time prefers its own."""
    X, times, group = two_groups()
    prior = em.MNGG() if sampler in SAMPLERS[:3] else em.TNGG()
    mix = quick(prior, sampler, burn_in=20, draws=5).fit(X, times=times)
    for k in range(mix.n_clusters_):
        assert len(set(group[mix.labels_ == k])) == 1
    found = mix.predict(np.array([[0.0, 0.0], [20.0, 20.0]]), [2002, 2002])
    assert [group[mix.labels_ == k][0] for k in found] == [0, 1]


@pytest.mark.parametrize("name", slow_but(["Gaussian", "Multinomial"], FAMILIES))
def test_every_family_can_be_learnt(name):
    X, times = counts()
    X = (X > 4).astype(float) if name == "Bernoulli" else X
    if name == "VonMisesFisher":
        X = (X + 1.0) / np.linalg.norm(X + 1.0, axis=1, keepdims=True)
    X = X + 1.0 if name.startswith("Log") else X[:, :1] if name == "Categorical" else X
    mix = quick(family=FAMILIES[name]()).fit(X, times=times)
    assert mix.labels_.shape == (45,)
    assert np.all(np.isfinite(mix.score_samples(X, times)))


def test_counts_may_be_sparse():
    X, times = counts()
    dense = quick(family=em.Multinomial()).fit(X, times=times)
    loose = quick().fit(sparse.csr_matrix(X), times=times)
    np.testing.assert_array_equal(dense.labels_, loose.labels_)


def test_predictions_know_the_time():
    """A row between two groups belongs to the one that its time sees more of."""
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(-3, 1, size=(60, 1)), rng.normal(3, 1, size=(60, 1))])
    times = ["then"] * 58 + ["now"] * 2 + ["then"] * 2 + ["now"] * 58
    mix = quick(burn_in=30, draws=20, family=em.FixedGaussian(1.0, 10.0)).fit(X, times=times)
    early, late = mix.predict_proba([[0.0], [0.0]], ["then", "now"])
    left = [k for k in range(mix.n_clusters_) if X[mix.labels_ == k].mean() < 0]
    assert early[left].sum() > 0.5 > late[left].sum()


def test_a_seed_gives_the_same_chain_and_another_another():
    X, times, _ = two_groups()
    fits = (quick(random_state=seed).fit(X, times=times) for seed in (3, 3, 4))
    one, two, other = (mix.traces_["log_joint"] for mix in fits)
    np.testing.assert_array_equal(one, two)
    assert not np.array_equal(one, other)


def test_chains_that_share_a_generator_differ():
    X, times, _ = two_groups()
    rng = np.random.default_rng(0)
    one, two = (quick(random_state=rng).fit(X, times=times).traces_["log_joint"] for _ in range(2))
    assert not np.array_equal(one, two)


@pytest.mark.parametrize(
    ("name", "other"), [("prior", em.MNGG(2)), ("sampler", em.M2()), ("chains", 2)]
)
def test_a_chain_does_not_go_on_with_other_settings(name, other):
    X, times, _ = two_groups()
    mix = quick().fit(X, times=times).set_params(**{name: other})
    with pytest.raises(ValueError, match=f"the fit was begun with {name}="):
        mix.resume(X, times)


def test_several_chains_differ_and_the_first_is_that_of_a_single_one():
    X, times, _ = two_groups()
    one, three = quick().fit(X, times=times), quick().set_params(chains=3).fit(X, times=times)
    posterior = three.posterior_
    assert posterior.n_chains == 3 and posterior.n_draws == 12
    np.testing.assert_array_equal(posterior.chain, np.repeat([0, 1, 2], 4))
    np.testing.assert_array_equal(posterior.labels[:4], one.posterior_.labels)
    first, second, third = three.traces_["log_joint"].reshape(3, 4)
    np.testing.assert_array_equal(first, one.traces_["log_joint"])
    assert len({*first, *second, *third}) == 12
    assert np.all(np.isfinite(three.score_samples(X, times)))


def test_observers_see_every_sweep_and_change_nothing(tmp_path):
    """Also one that saves the model, from which a fit goes on as if it had not stopped."""
    X, times, _ = two_groups(10)
    seen = []

    def watch(mix, sweep):
        seen.append(sweep)
        if sweep.number == 5:
            mix.save(tmp_path / "m.evermix")

    mix = quick(em.TNGG()).set_params(chains=2).fit(X, times=times, observers=[watch])
    alone = clone(mix).fit(X, times=times)
    assert [(sweep.number, sweep.kept) for sweep in seen] == [(i, i > 3) for i in range(1, 8)]
    for name, trace in (("log_joint", "log_joint"), ("n_clusters", "K")):
        found = np.array([getattr(sweep, name) for sweep in seen[3:]]).T.ravel()
        np.testing.assert_array_equal(found, alone.traces_[trace])
    assert all(np.all(np.isfinite(sweep.log_joint)) for sweep in seen)
    again = em.load(tmp_path / "m.evermix").resume(X, times, observers=[watch])
    assert [sweep.number for sweep in seen[7:]] == [6, 7]
    np.testing.assert_array_equal(again.posterior_.labels, alone.posterior_.labels)
    with pytest.raises(TypeError, match="observers must be"):
        clone(mix).fit(X, times=times, observers=[3])


@pytest.mark.filterwarnings("ignore:T[34] would need")
@pytest.mark.parametrize("sampler", SAMPLERS, ids=repr)
def test_a_sweep_that_fails_leaves_everything_as_it_was(sampler, monkeypatch):
    """However far it came: here everything has been moved by then, in both chains."""
    X, times, _ = two_groups(8)
    prior = em.MNGG(2) if sampler in SAMPLERS[:3] else em.TNGG(2)
    settings = {"burn_in": 2, "draws": 4, "chains": 2, "random_state": 0}
    whole = DependentMixture(prior=prior, sampler=sampler, **settings).fit(X, times=times)
    move = RowRun._move

    def fails(self, chain, rng):
        move(self, chain, rng)
        if self.sweeps == 3:
            raise MemoryError

    mix = clone(whole)
    with monkeypatch.context() as patch, pytest.raises(MemoryError):
        patch.setattr(RowRun, "_move", fails)
        mix.fit(X, times=times)
    assert mix.n_sweeps_ == 3 and len(mix.posterior_.labels) == 2
    mix.resume(X, times)
    np.testing.assert_array_equal(mix.posterior_.labels, whole.posterior_.labels)
    for name, values in whole.traces_.items():
        np.testing.assert_array_equal(mix.traces_[name], values)


def test_more_draws_go_on_where_the_chain_was():
    X, times, _ = two_groups()
    long = quick(em.TNGG(), draws=9).fit(X, times=times)
    mix = quick(em.TNGG(), draws=4).fit(X, times=times)
    mix.set_params(draws=9).resume(X, times)
    np.testing.assert_array_equal(mix.posterior_.labels, long.posterior_.labels)
    with pytest.raises(ValueError, match="not the rows, or not the times"):
        mix.resume(X + 1, times)
    with pytest.raises(ValueError, match="not the rows, or not the times"):
        mix.resume(X, times[::-1])


def test_labels_are_those_of_the_draw_nearest_to_all_others():
    X, times, _ = two_groups()
    mix = quick(draws=10).fit(X, times=times)
    best = mix.posterior_.point()
    np.testing.assert_array_equal(mix.labels_, mix.posterior_.labels[best])


def test_draws_go_to_arviz():
    pytest.importorskip("arviz")
    X, times, _ = two_groups()
    found = quick().fit(X, times=times).to_arviz()
    assert "sigma" in found["posterior"]


def test_the_constructor_only_stores():
    mix = quick(em.TNGG(regions=3), em.T2())
    other = clone(mix)
    assert other.get_params() == mix.get_params()
    assert repr(DependentMixture()) == "DependentMixture()"
    DependentMixture(burn_in="no")  # which fit will tell


X, TIMES, _ = two_groups(4)


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"prior": em.NGGP()}, TypeError, "prior must be em.MNGG, em.TNGG or em.SNGG"),
        ({"sampler": em.Gibbs()}, TypeError, "sampler must be one of em.M1"),
        ({"sampler": em.T1()}, TypeError, "T1 moves thinned measures, got a mixed one"),
        ({"prior": em.TNGG(), "sampler": em.M2()}, TypeError, "M2 moves mixed measures"),
        ({"family": "gauss"}, ValueError, "family must be 'auto' or a Family"),
        ({"family": 3}, TypeError, "family must be 'auto' or a Family"),
        ({"burn_in": -1}, ValueError, "burn_in must be at least 0"),
        ({"draws": 0}, ValueError, "draws must be at least 1"),
        ({"draws": 1.5}, TypeError, "draws must be a whole number"),
        ({"chains": 0}, ValueError, "chains must be at least 1"),
    ],
)
def test_settings_that_cannot_be_are_reported_by_fit(settings, error, message):
    with pytest.raises(error, match=message):
        DependentMixture(**settings).fit(X, times=TIMES)


@pytest.mark.parametrize(
    ("rows", "times", "error", "message"),
    [
        (X, None, ValueError, "times are missing"),
        (X, TIMES[:-1], ValueError, "one entry per row"),
        (X, np.where(TIMES == 2001, np.nan, TIMES), ValueError, "missing or infinite"),
        (X[:0], [], ValueError, "minimum of 1 is required"),
        (X * np.nan, TIMES, ValueError, "NaN"),
    ],
)
def test_bad_rows_and_times_are_reported(rows, times, error, message):
    with pytest.raises(error, match=message):
        quick().fit(rows, times=times)


def test_at_a_time_that_was_not_seen_yet_the_last_one_counts():
    mix = quick(draws=2).fit(X, times=TIMES)
    last = max(TIMES)
    for answer in (mix.predict, mix.predict_proba, mix.score_samples):
        with pytest.warns(UserWarning, match="no rows at the time .* yet") as seen:
            ahead = answer(X[:5], [last + 7] * 5)
        assert seen[0].filename == __file__
        np.testing.assert_array_equal(ahead, answer(X[:5], [last] * 5))
    others = np.where(np.asarray(TIMES) == last, last + 7, TIMES)
    with pytest.raises(ValueError, match="no rows at the time"):  # that is not the same fit
        mix.set_params(draws=3).resume(X, others)


def test_bad_questions_are_reported():
    with pytest.raises(NotFittedError):
        quick().predict(X, TIMES)
    with pytest.raises(NotFittedError):
        _ = quick().labels_
    mix = quick(draws=1).fit(X, times=TIMES)
    with pytest.raises(ValueError, match="no rows at the time 1999.*Leave such rows out"):
        mix.predict(X[:1], [1999])
    with pytest.raises(ValueError, match="times are missing"):
        mix.predict(X)
    with pytest.raises(ValueError, match="features"):
        mix.predict(X[:, :1], TIMES)


def test_y_of_a_pipeline_is_not_taken_for_times():
    """It is ignored, and said to be where times are missing."""
    for learn in (quick().fit, quick().fit_predict):
        with pytest.raises(ValueError, match=r"y, the second argument, is ignored.*times=years"):
            learn(X, TIMES)
    mix = quick(draws=1).fit(X, np.zeros(len(X)), times=TIMES)
    np.testing.assert_array_equal(mix.times_, [2001, 2002, 2003])
    with pytest.raises(ValueError, match="y, the second argument, is ignored"):
        mix.score(X, TIMES)


def test_a_fit_that_is_refused_leaves_the_old_model():
    mix = quick(draws=1).fit(X, times=TIMES)
    before = mix.predict(X, TIMES)
    with pytest.raises(ValueError, match="one entry per row"):
        mix.fit(X[:, :1], times=TIMES[:-1])
    np.testing.assert_array_equal(mix.predict(X, TIMES), before)


def test_a_fitted_model_can_be_pickled_and_goes_on():
    mix = quick(em.TNGG()).fit(X, times=TIMES)
    again = pickle.loads(pickle.dumps(mix))
    for one in (mix, again):
        one.set_params(draws=6).resume(X, TIMES)
    np.testing.assert_array_equal(again.posterior_.labels, mix.posterior_.labels)


def test_the_marginal_sampler_of_thinned_measures_is_for_few_times():
    mix = quick(em.TNGG(regions=1), em.T5())
    with pytest.raises(ValueError, match=r"at most 8 times, got 9. Use em.T1\(\)"):
        mix.fit(np.zeros((9, 1)), times=np.arange(9))


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: em.MNGG(regions=0), ValueError, "regions must be at least 1"),
        (lambda: em.MNGG(regions=1.5), TypeError, "regions must be a whole number"),
        (lambda: em.MNGG(sigma=1.0), ValueError, r"sigma of MNGG must lie in \[0, 1\)"),
        (lambda: em.MNGG(sigma=em.Gamma()), TypeError, "needs em.Beta for sigma"),
        (lambda: em.MNGG(sigma=None), ValueError, "sigma must be a finite number, got None"),
        (
            lambda: em.HDP(a=None),
            TypeError,
            "HDP, the process of documents: a must be",
        ),
        (lambda: em.H1(jumps=0), TypeError, "jumps must be True or False, got 0"),
        (lambda: em.H1(slices="no"), TypeError, "slices must be True or False"),
        (lambda: em.TNGG(q=em.Gamma()), TypeError, "needs em.Beta for q"),
        (lambda: em.TNGG(q=1.5), ValueError, "q of TNGG must lie in"),
        (lambda: em.MNGG(M=0.0), ValueError, r"M of MNGG must lie in \(0, inf\)"),
        (lambda: em.MNGG(M=1.0, a=1.0), ValueError, "takes M or a = sigma M, not both"),
        (lambda: em.SNGG(sigma=0.0, M=1.0), ValueError, "Give a instead of M"),
        (lambda: em.SNGG(window=-1), ValueError, "window must be at least 0"),
        (lambda: em.T3(tol=0.0), ValueError, "tol must lie in"),
        (lambda: em.T4(most=5.0), ValueError, "most must lie in"),
    ],
)
def test_specs_that_cannot_be_are_refused(make, error, message):
    with pytest.raises(error, match=message):
        make()


@pytest.mark.parametrize("prior", PRIORS, ids=repr)
def test_specs_are_plain_data(prior):
    assert type(prior).from_spec(prior.to_spec()) == prior


# ---- files -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("prior", "sampler"),
    [(None, None), (em.SNGG(), em.M2()), (em.TNGG(), None), (em.TNGG(), em.T3())],
    ids=repr,
)
def test_what_a_file_holds_goes_on_bit_for_bit(prior, sampler, tmp_path):
    X, times, _ = two_groups(10)
    mix = quick(prior, sampler).fit(X, times=times)
    mix.save(tmp_path / "m.evermix")
    again = em.load(tmp_path / "m.evermix")
    assert again.get_params() == mix.get_params()
    np.testing.assert_array_equal(again.labels_, mix.labels_)
    np.testing.assert_array_equal(again.score_samples(X, times), mix.score_samples(X, times))
    np.testing.assert_array_equal(again.times_, mix.times_)
    for one in (mix, again):
        one.set_params(draws=8).resume(X, times)
    np.testing.assert_array_equal(again.posterior_.labels, mix.posterior_.labels)
    for name, values in mix.traces_.items():
        np.testing.assert_array_equal(again.traces_[name], values)


def test_files_keep_sparse_rows_names_and_dates(tmp_path):
    pd = pytest.importorskip("pandas")
    X, codes = counts()
    days = np.array(["2020-01-01", "2020-02-01", "2020-03-01"], dtype="datetime64[D]")[codes]
    frame = pd.DataFrame(X.astype(int), columns=["yes", "no"])
    mix = quick().fit(frame, times=days)
    mix.save(tmp_path / "m.evermix")
    again = em.load(tmp_path / "m.evermix")
    np.testing.assert_array_equal(again.predict(frame, days), mix.predict(frame, days))
    np.testing.assert_array_equal(again.feature_names_in_, ["yes", "no"])
    np.testing.assert_array_equal(again.times_, mix.times_)


def test_an_interrupted_fit_goes_on(monkeypatch):
    """Between two sweeps; the burn-in has no draws yet."""
    X, times, _ = two_groups(10)
    whole, sweeps = quick(em.TNGG()).fit(X, times=times), iter(range(2))
    right = em.T1.sweep

    def stopped(self, *args):
        if next(sweeps, None) is None:
            raise KeyboardInterrupt
        right(self, *args)

    mix = quick(em.TNGG())
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(em.T1, "sweep", stopped)
        mix.fit(X, times=times)
    with pytest.raises(AttributeError, match="no draw was kept yet"):
        _ = mix.labels_
    mix.resume(X, times)
    np.testing.assert_array_equal(mix.posterior_.labels, whole.posterior_.labels)


def test_files_that_are_not_whole_are_refused(tmp_path):
    from evermix.io import checkpoint

    X, times, _ = two_groups(5)
    with pytest.raises(ValueError, match="nothing to save"):
        quick().save(tmp_path / "m.evermix")
    quick().fit(X, times=times).save(tmp_path / "m.evermix")
    arrays, header = checkpoint.read(tmp_path / "m.evermix")
    for name, wrong in {
        "chain.0.labels": arrays["chain.0.labels"] + 1,
        "chain.0.region": arrays["chain.0.region"] + 100,
        "chain.0.measure.q": arrays["chain.0.measure.q"][:1],
        "chain.0.measure.u": -arrays["chain.0.measure.u"],
        "times": arrays["times"][:-1],
        "draws.0.labels": arrays["draws.0.labels"][:, :-1],
    }.items():
        checkpoint.write(tmp_path / "n.evermix", {**arrays, name: wrong}, header)
        with pytest.raises(em.CheckpointError, match="does not hold a whole dependent mixture"):
            em.load(tmp_path / "n.evermix")


def test_dates_are_years_or_the_period_that_is_chosen():
    X, years, _ = two_groups()
    dates = np.array([f"{year}-0{1 + n % 4}-15" for n, year in enumerate(years)])
    labelled = quick().fit(X, times=years.astype(str))
    with pytest.warns(UserWarning, match="12 different ones: they are turned into years"):
        mix = quick().fit(X, times=dates)
    assert mix.times_.tolist() == labelled.times_.tolist() == ["2001", "2002", "2003"]
    np.testing.assert_array_equal(mix.evolution_, labelled.evolution_)
    np.testing.assert_array_equal(
        mix.predict_proba(X, dates.astype("datetime64[D]")),
        labelled.predict_proba(X, years.astype(str)),
    )
    mix.set_params(draws=6).resume(X, dates).partial_fit(X[:4], times=["2004-02-03"] * 4)
    assert mix.times_.tolist() == ["2001", "2002", "2003", "2004"]
    months = quick().set_params(period="month").fit(X, times=dates)
    assert months.times_[:2].tolist() == ["2001-01", "2001-02"] and len(months.times_) == 12
    with pytest.raises(ValueError, match="period='month'.*period='year'"):
        months.set_params(period="year").resume(X, dates)
    with pytest.raises(ValueError, match="must be 'year', 'month', 'day' or None, got 'week'"):
        quick().set_params(period="week").fit(X, times=dates)


@pytest.mark.parametrize("given", [None, 30.0])
def test_rows_of_embeddings_are_worth_the_same_evidence_as_in_a_mixture(given):
    """With all of it, ever more clusters mend the shape of others; what is given in full stays."""
    X = np.random.default_rng(0).normal(size=(100, 40)) + np.repeat(3 * np.eye(2, 40), 50, axis=0)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    family = em.VonMisesFisher(concentration=given, metric=1.0)
    found = quick(family=family, draws=1).fit(X, times=np.arange(100) % 2).family_
    whole = resolve(family, em.NGGP(), None, X).family
    assert found == (whole.coarse(100) if given is None else whole)
