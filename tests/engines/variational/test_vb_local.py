"""The local step: what a batch says, whoever computes it and however it is cut."""

from copy import deepcopy

import array_api_strict as strict
import numpy as np
import pytest
from scipy import sparse
from threadpoolctl import threadpool_limits

from evermix import FullVB, MemoizedVB, StochasticVB, _xp
from evermix.engines.batch import Batch
from evermix.engines.variational import local
from evermix.engines.variational.local import (
    FEW,
    NO_PLAN,
    Plan,
    Summary,
    Trial,
    assign,
    believe,
    summarise,
)
from evermix.families import (
    FAMILIES,
    Gaussian,
    _covariance,
    base,
)
from evermix.kernels.engines.local import LEAST
from evermix.model import Model
from evermix.priors import DP
from helpers.engine_cases import model_for
from helpers.oracles import best_log_shares, sums_of
from helpers.variational_cases import all_pairs, cut, divided, fit

N = 90
WEIGHTS = np.resize([1.0, 0.5, 0.0, 3.0], N)
DEVICE = strict.Device("device1")
SUMS, LISTS = slice(0, 7), slice(7, 11)

every_family = pytest.mark.parametrize("name", FAMILIES)
every_top = pytest.mark.parametrize("top", [None, 1, 3])


class Case:
    """Rows, beliefs about five clusters, and a plan of every pair and three trials."""

    def __init__(self, name, K=5):
        self.model, self.X = model_for(name, DP(1.5), n=N)
        rng = np.random.default_rng(0)
        r = rng.dirichlet(np.full(K, 0.2), size=N)
        self.mass, self.stats = sums_of(self.model.family, self.X, WEIGHTS, r)
        self.beliefs = believe(self.model, self.mass, self.stats)
        self.batch = Batch(self.X, WEIGHTS)
        groups = (np.array([0]), np.array([3, 1]), np.array([2]))
        self.plan = Plan(all_pairs(K), tuple(self.trial(g, rng) for g in groups))

    def trial(self, parents, rng):
        r = rng.dirichlet(np.full(len(parents) + 1, 0.2), size=N)
        sums = sums_of(self.model.family, self.X, WEIGHTS, r)
        return Trial(parents, believe(self.model, *sums))

    def summary(self, batch=None, plan=None, top=None):
        batch, plan = batch or self.batch, plan or self.plan
        return summarise(self.model, self.beliefs, batch, plan, top)


def assert_close(ours, theirs):
    for name, got, want in zip(ours._fields, ours, theirs, strict=True):
        scale = np.abs(want).max(initial=1.0)
        np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-11 * scale, err_msg=name)


def entropy(r):
    return WEIGHTS @ (-r * np.log(np.where(r > 0, r, 1.0)))


@every_top
@every_family
def test_a_summary_is_the_sums_of_its_definition(name, top):
    """Responsibilities, unions and children, each by the plain formula."""
    case = Case(name)
    got = case.summary(top=top)
    log_r = best_log_shares(case.model, case.mass, case.stats, case.X, top)
    r = np.exp(log_r)
    features = case.model.family.features(case.X)
    features = features.toarray() if sparse.issparse(features) else features
    wr = WEIGHTS[:, None] * r
    np.testing.assert_allclose(got.mass, wr.sum(axis=0), rtol=1e-9, atol=1e-12)
    scale = np.abs(wr.T @ features).max()
    np.testing.assert_allclose(got.sums, wr.T @ features, rtol=1e-9, atol=1e-12 * scale)
    np.testing.assert_allclose(got.entropy, entropy(r), rtol=1e-9, atol=1e-12)
    a, b = case.plan.pairs.T
    np.testing.assert_allclose(got.pairs, entropy(r[:, a] + r[:, b]), rtol=1e-9, atol=1e-12)
    young = []
    for trial in case.plan.trials:
        slots = np.sum(log_r[:, trial.parents] > -np.inf, axis=1) if top else None
        young.append(divided(trial, case.model, case.X, r, slots))
    young = np.concatenate(young, axis=1)
    np.testing.assert_allclose(got.child_mass, WEIGHTS @ young, rtol=1e-9, atol=1e-12)
    want = (WEIGHTS[:, None] * young).T @ features
    np.testing.assert_allclose(got.child_sums, want, rtol=1e-9, atol=1e-11 * scale)
    np.testing.assert_allclose(got.child_entropy, entropy(young), rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(got.owner, r.argmax(axis=1))
    np.testing.assert_allclose(got.share, r.max(axis=1), rtol=1e-9)


@every_family
def test_children_own_the_rows_of_their_parents(name):
    """Rows of which the parents of a trial hold more than half have a nearest child in it."""
    case = Case(name)
    got = case.summary()
    r = np.exp(best_log_shares(case.model, case.mass, case.stats, case.X))
    first = 0
    for trial in case.plan.trials:
        J = len(trial.children.intercepts)
        mine = r[:, trial.parents].sum(axis=1) > 0.5
        nearest = divided(trial, case.model, case.X, r).argmax(axis=1)
        np.testing.assert_array_equal(got.child_owner[mine], first + nearest[mine])
        assert not np.any((got.child_owner[~mine] >= first) & (got.child_owner[~mine] < first + J))
        first += J
    assert np.all((got.child_owner >= -1) & (got.child_owner < first))


@every_top
@every_family
def test_children_hold_what_their_parents_hold(name, top):
    case = Case(name)
    got, first = case.summary(top=top), 0
    for trial in case.plan.trials:
        young = slice(first, first + len(trial.children.intercepts))
        first = young.stop
        assert got.child_mass[young].sum() == pytest.approx(got.mass[trial.parents].sum())
        want = got.sums[trial.parents].sum(axis=0)
        scale = np.abs(want).max()
        np.testing.assert_allclose(got.child_sums[young].sum(axis=0), want, atol=1e-9 * scale)


# ---- however it is cut -------------------------------------------------------------------------


@every_top
@every_family
def test_parts_add_up_to_the_whole(name, top, monkeypatch):
    """One chunk or many; two halves, as two workers would have them; rows in another order."""
    case = Case(name)
    whole = case.summary(top=top)
    halves = [
        case.summary(Batch(case.X[some], WEIGHTS[some]), top=top)
        for some in (slice(0, 40), slice(40, N))
    ]
    added = [a + b for a, b in zip(*(half[SUMS] for half in halves), strict=True)]
    joined = [np.concatenate(both) for both in zip(*(half[LISTS] for half in halves), strict=True)]
    assert_close(type(whole)(*added, *joined), whole)
    order = np.random.default_rng(1).permutation(N)
    mixed = case.summary(Batch(case.X[order], WEIGHTS[order]), top=top)
    lists = [values[np.argsort(order)] for values in mixed[LISTS]]
    assert_close(type(whole)(*mixed[SUMS], *lists), whole)
    monkeypatch.setattr(base, "CHUNK", 1)
    assert len(case.model.family.chunks(case.X)) == 2
    assert_close(case.summary(top=top), whole)


def test_threads_change_no_bit(monkeypatch):
    """In products large enough for a BLAS to share them out; whole, and cut."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 12))
    model = Model(Gaussian(scale=np.eye(12)).candidates(X)[0], DP(1.0))
    r = rng.dirichlet(np.ones(24), size=3000)
    mass, stats = r.sum(axis=0), model.family.accumulate(X, r)
    for chunk in (2**20, 1):
        monkeypatch.setattr(base, "CHUNK", chunk)
        monkeypatch.setattr(local, "BLOCK", chunk)
        found = []
        for threads in (1, 2):
            with threadpool_limits(threads):
                beliefs = believe(model, mass, stats)
                found.append([*beliefs, *summarise(model, beliefs, Batch(X, np.ones(3000)))])
        for one, two in zip(*found, strict=True):
            np.testing.assert_array_equal(one, two)


@every_family
def test_a_batch_without_rows_says_nothing(name):
    case = Case(name)
    got = case.summary(Batch(case.X[:0], WEIGHTS[:0]))
    assert [len(values) for values in got[LISTS]] == [0] * 4
    assert not any(np.any(values) for values in got[SUMS])
    assert got.sums.shape == case.beliefs.slopes.shape


@every_family
def test_a_summary_changes_nothing(name):
    case = Case(name)
    given = (case.beliefs, case.batch, case.plan)
    before = deepcopy(given)
    first, second = case.summary(), case.summary()
    for ours, theirs in zip(_arrays(given), _arrays(before), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    for ours, theirs in zip(first, second, strict=True):
        np.testing.assert_array_equal(ours, theirs)


def _arrays(given):
    """All arrays in nested tuples."""
    if sparse.issparse(given):
        return [given.toarray()]
    if isinstance(given, tuple):
        return [array for part in given for array in _arrays(part)]
    return [given]


# ---- whoever computes it -----------------------------------------------------------------------


@every_top
@pytest.mark.parametrize("name", [name for name in FAMILIES if not FAMILIES[name].sparse])
def test_strict_arrays_say_the_same_as_numpy_arrays(name, top):
    """With pairs and trials, by nothing but what the array API standard promises."""
    case = Case(name)
    batch = Batch(strict.asarray(case.X), strict.asarray(WEIGHTS))
    for plan in (NO_PLAN, case.plan, Plan(case.plan.pairs), Plan(NO_PLAN.pairs, case.plan.trials)):
        got = case.summary(batch, plan, top)
        here = {name for name in got._fields if isinstance(getattr(got, name), np.ndarray)}
        assert here == set(got._fields) - set(local.EACH_ROW)  # sums come back, rows stay
        assert_close(Summary(*map(_fetched, got)), case.summary(plan=plan, top=top))


@every_top
@pytest.mark.parametrize("name", [name for name in FAMILIES if not FAMILIES[name].sparse])
def test_rows_on_a_device_stay_there(name, top, monkeypatch):
    """Arrays of different devices refuse each other; only what is summed up comes back."""
    for module in (_xp, _covariance, local):
        monkeypatch.setattr(module, "host", _fetched)
    case = Case(name)
    rows, weights = (strict.asarray(values, device=DEVICE) for values in (case.X, WEIGHTS))
    got = case.summary(Batch(rows, weights), top=top)
    assert all(getattr(got, name).device == DEVICE for name in local.EACH_ROW)
    assert_close(Summary(*map(_fetched, got)), case.summary(top=top))


def _fetched(x):
    return np.asarray(x if isinstance(x, np.ndarray) else x.to_device(strict.Device("CPU_DEVICE")))


# ---- the top few -------------------------------------------------------------------------------


@pytest.mark.parametrize("xp", [np, strict])
@pytest.mark.parametrize("top", [None, 1, 2, 6, 7, 100])
def test_shares_are_kept_for_the_largest_and_sum_to_one(xp, top):
    """By the compiled loop and by array maths."""
    scores = np.random.default_rng(0).normal(scale=20.0, size=(50, 7))
    weights = np.linspace(0.0, 2.0, 50)
    got = assign(xp.asarray(scores.copy()), xp.asarray(weights), top)
    kept = np.sort(np.argsort(-scores, axis=1)[:, :top], axis=1)
    logs = np.full((50, 7), -np.inf)
    some = np.take_along_axis(scores, kept, axis=1)
    total = np.logaddexp.reduce(some, axis=1, keepdims=True)
    np.put_along_axis(logs, kept, some - total, axis=1)
    logs[scores - scores.max(axis=1, keepdims=True) < LEAST] = -np.inf
    r = np.exp(logs)
    entropy = weights @ (-r * np.where(r > 0, logs, 0.0))
    assert top is None or np.all(np.sum(np.asarray(got.r) > 0, axis=1) <= top)
    np.testing.assert_allclose(np.sum(np.asarray(got.r), axis=1), 1.0)
    np.testing.assert_allclose(np.asarray(got.r), r, rtol=1e-12)
    np.testing.assert_allclose(np.asarray(got.mass), weights @ r, rtol=1e-12)
    np.testing.assert_allclose(np.asarray(got.entropy), entropy, rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(np.asarray(got.log_norm), total[:, 0], rtol=1e-12)
    np.testing.assert_allclose(np.asarray(got.best), r.max(axis=1), rtol=1e-12)
    np.testing.assert_array_equal(np.asarray(got.owner), r.argmax(axis=1))


@pytest.mark.parametrize("xp", [np, strict])
def test_what_is_not_a_number_stays_so(xp):
    scores = np.array([[0.0, np.nan, -1.0], [0.0, -1.0, -2.0]])
    got = assign(xp.asarray(scores), xp.asarray(np.ones(2)))
    assert np.isnan(np.asarray(got.r)[0]).any()
    assert np.isfinite(np.asarray(got.r)[1]).all()


@every_family
def test_the_top_all_are_all(name):
    """Children are counted too: five clusters and three trials may become twelve."""
    case = Case(name)
    pairs = Plan(case.plan.pairs)
    for top, plan in ((5, pairs), (6, pairs), (14, case.plan), (100, case.plan)):
        assert_close(case.summary(plan=plan, top=top), case.summary(plan=plan))


@every_family
def test_many_clusters_and_few_for_each_row(name):
    """Where sums skip what is not shared, they are the same."""
    case = Case(name, K=FEW * 2)
    for top in (1, 2):
        r = np.exp(best_log_shares(case.model, case.mass, case.stats, case.X, top))
        wr, got = WEIGHTS[:, None] * r, case.summary(plan=NO_PLAN, top=top)
        want = wr.T @ case.model.family.features(case.X)
        scale = np.abs(want).max()
        np.testing.assert_allclose(got.sums, want, rtol=1e-9, atol=1e-12 * scale)
        np.testing.assert_allclose(got.mass, wr.sum(axis=0), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("engine", [FullVB, StochasticVB, MemoizedVB])
def test_a_fit_of_strict_arrays_is_that_of_numpy_arrays(engine):
    """Starts, laps and moves."""
    model, X = model_for("Gaussian", DP(1.5))
    ours = [Batch(strict.asarray(b.X), strict.asarray(b.weights), b.key) for b in cut(X)]
    made = engine(laps=5, truncation=4, start="kmeans++")
    states = [fit(made, model, batches) for batches in (ours, cut(X))]
    np.testing.assert_allclose(*(state.tally.mass for state in states), rtol=1e-9)
    np.testing.assert_allclose(*(state.latents["bound"] for state in states), rtol=1e-9)
