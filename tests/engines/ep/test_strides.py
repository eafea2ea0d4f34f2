"""Several batches from the same state: the laws that hold for one hold for many."""

from dataclasses import replace

import numpy as np
import pytest

from evermix.engines.batch import Batches, CapacityWarning
from evermix.engines.ep.ep import EP
from evermix.engines.ep.parallel import UpdateBatches, commit, damped, snapshot
from evermix.engines.ep.sites import summed, to_sites
from evermix.engines.run import run_laps
from evermix.engines.shards import CollectResults, Shard, blocks, interleaved
from evermix.engines.variational.memoized import MemoizedVB
from evermix.kernels.engines.ep import Sites
from evermix.priors import DP, NGGP
from evermix.state import Lineage
from helpers.variational_cases import best_log_shares, elbo, joined, named

every_stride = pytest.mark.parametrize("stride", [1, 2, 3, 5])


def laps(engine, model, batches, seed=0, observers=()):
    rng = np.random.default_rng(seed)
    shard = Shard(batches)
    state = engine.initial(model, rng)
    shard.memo = state.memo
    return run_laps(engine, model, state, shard, rng, observers), shard


@pytest.mark.parametrize("n, count", [(10, 3), (3, 5), (1, 1), (12, 4)])
def test_a_lap_visits_every_batch_once_and_a_step_one_of_each_run(n, count):
    order = interleaved(n, count)
    assert sorted(order) == list(range(n))
    runs = blocks(n, count)
    for first in range(0, n, count):
        together = order[first : first + count]
        assert all(np.isin(together, run).sum() <= 1 for run in runs)


@pytest.mark.parametrize("n", [0, 1, 7])
def test_a_stride_beyond_all_batches_costs_nothing(n):
    assert interleaved(n, 2**62).tolist() == list(range(n))


# ---- memoized variational inference ------------------------------------------------------------


@every_stride
@pytest.mark.parametrize("name", ["Gaussian", "Multinomial"])
def test_the_bound_never_falls(name, stride):
    """From the second lap on, after every step: what was said before was best for older beliefs."""
    model, batches = named(name, DP(1.0), size=20)
    engine = MemoizedVB(laps=6, batch_size=20, stride=stride)
    bounds = []

    def watch(state, info):
        if state.lap > 0:
            bounds.append(engine.bound(model, state))

    laps(engine, model, batches, observers=[watch])
    assert np.all(np.diff(bounds) > -1e-9 * np.abs(bounds[0]))


@every_stride
def test_the_tracked_bound_is_that_of_all_rows(stride):
    """Of the responsibilities that each batch had when it was visited, by brute force."""
    model, batches = named("Gaussian", DP(1.0), size=20)
    engine = MemoizedVB(laps=1, batch_size=20, stride=stride, start="kmeans++", truncation=4)
    rng, shard = np.random.default_rng(0), Shard(batches)
    state = engine.begin(model, engine.initial(model, rng), shard, rng)
    r, order = [None] * len(batches), engine.order(state, len(batches)).tolist()
    for first in range(0, len(batches), stride):
        tally, keys = state.tally, order[first : first + stride]
        for key in keys:
            r[key] = np.exp(best_log_shares(model, tally.mass, tally.stats, batches[key].X, None))
        state, _ = engine.visit(model, state, shard, keys, rng)
    X, weights = joined(batches)
    want = elbo(model, X, weights, np.concatenate(r))
    assert engine.bound(model, state) == pytest.approx(want, rel=1e-10)


def test_a_stride_of_all_batches_is_a_step_of_full_variational_inference():
    model, batches = named("Gaussian", DP(1.0), size=20)
    engine = MemoizedVB(
        laps=5, batch_size=20, births=False, merges=False, deletes=False, start="kmeans++"
    )
    whole = [type(batches[0])(np.concatenate([b.X for b in batches]), np.ones(120))]
    many, _ = laps(replace(engine, stride=len(batches)), model, batches)
    one, _ = laps(replace(engine, batch_size=120), model, whole)
    assert many.latents["bound"][0] == pytest.approx(one.latents["bound"][0], rel=1e-10)
    np.testing.assert_allclose(many.tally.stats, one.tally.stats, rtol=1e-8, atol=1e-8)


def test_what_is_said_of_rows_is_reported_once():
    model, batches = named("Gaussian", DP(1.0), size=20)
    state, shard = laps(MemoizedVB(laps=2, batch_size=20, stride=2), model, batches)
    reported = shard.do(CollectResults(), range(len(shard)))
    assert sorted(reported) == list(range(len(batches)))
    assert all(len(reported[b.key].labels) == len(b.weights) for b in batches)
    assert shard.do(CollectResults(), range(len(shard))) == {}


# ---- expectation propagation -------------------------------------------------------------------


@every_stride
@pytest.mark.parametrize("damping", [1.0, 0.4])
def test_mass_is_conserved_and_clusters_are_sums_of_sites(stride, damping):
    model, batches = named("Gaussian", NGGP(), size=20, weights=np.linspace(0.0, 2.0, 120))
    engine = EP(laps=4, batch_size=20, stride=stride, damping=damping)

    def watch(state, info):
        if info.rows:
            known = [b for b in batches if str(b.key) in state.memo]
            seen = sum(b.weights.sum() for b in known)
            total = state.tally.mass.sum() + state.latents["dropped"][0]
            assert total == pytest.approx(seen, rel=1e-9)
            records = ((b, state.memo[str(b.key)]) for b in known)
            tally, orphaned = summed(model, state.tally, state.lineage, records)
            np.testing.assert_allclose(tally.mass, state.tally.mass, atol=1e-8)
            np.testing.assert_allclose(tally.stats, state.tally.stats, atol=1e-6)
            assert np.all(state.tally.mass >= 0)

    state, _ = laps(engine, model, batches, observers=[watch])
    assert state.tally.K >= 1


def test_the_order_of_batches_in_a_round_is_irrelevant():
    model, batches = named("Gaussian", NGGP(), size=20)
    engine = EP(laps=1, batch_size=20, stride=3, merge=None)
    rng, found = np.random.default_rng(0), []
    first, shard = engine.initial(model, rng), Shard(batches)
    first, _ = engine.visit(model, engine.begin(model, first, shard, rng), shard, [0], rng)
    for keys in ([1, 2, 3], [3, 1, 2]):
        state = snapshot(first)
        visits = shard.do(UpdateBatches(engine, model, snapshot(state), {}, 1.0), keys)
        commit(state, [(key, visits[key]) for key in keys])
        order = np.argsort(state.tally.mass)
        found.append((state.tally.mass[order], state.tally.stats[order]))
    np.testing.assert_allclose(found[0][0], found[1][0], rtol=1e-12)
    np.testing.assert_allclose(found[0][1], found[1][1], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("damping", [1.0, 0.5])
def test_rounds_of_one_and_of_many_settle_at_the_same_point(damping):
    """Where clusters are well apart."""
    rng = np.random.default_rng(0)
    model, batches = named("Gaussian", NGGP(), size=20)
    X = np.concatenate([b.X for b in batches])
    X = 0.1 * (X - X.mean(axis=0)) + 20.0 * rng.integers(3, size=(120, 1))
    batches = [b._replace(X=X[20 * b.key : 20 * b.key + 20]) for b in batches]
    engine = EP(laps=60, batch_size=20, tol=1e-10, merge=0.0)
    one, _ = laps(engine, model, batches)
    many, _ = laps(replace(engine, stride=3, damping=damping), model, batches)
    assert one.tally.K == many.tally.K
    a, b = (np.sort(state.tally.mass) for state in (one, many))
    np.testing.assert_allclose(a, b, rtol=1e-4)


def test_damped_sites_lie_between_the_old_and_the_new():
    """Rows without old sites get the new ones; clusters that were fused count as one."""
    lineage = Lineage()
    for _ in range(4):
        lineage.birth(0)
    lineage.merge(3, 1, 0)
    old = Sites(
        np.array([0, 2]), np.array([2, 2]), np.array([0, 3], dtype=np.int32), np.array([0.75, 0.25])
    )
    new = Sites(
        np.array([0, 1]), np.array([1, 2]), np.array([1, 2], dtype=np.int32), np.array([1.0, 1.0])
    )
    got = damped(old, new, lineage, 0.5)
    rows = [
        dict(zip(got.ids[a:b].tolist(), got.q[a:b].tolist(), strict=True))
        for a, b in zip(got.begin, got.end, strict=True)
    ]
    assert rows == [{0: 0.375, 1: 0.625}, {2: 1.0}]


def test_sites_of_a_round_name_clusters_that_live():
    model, batches = named("Gaussian", NGGP(), size=20)
    state, _ = laps(EP(laps=3, batch_size=20, stride=4), model, batches)
    for batch in batches:
        ids = to_sites(state.memo[str(batch.key)]).ids
        assert np.all(ids < state.lineage.next_id)
        assert np.all(ids >= 0)


def test_rounds_keep_the_cap_and_warn_once():
    rng = np.random.default_rng(0)
    model, batches = named("Gaussian", NGGP(), size=20)
    model = replace(model, max_clusters=4)
    X = rng.normal(scale=30.0, size=(120, batches[0].X.shape[1]))
    batches = [b._replace(X=X[20 * b.key : 20 * b.key + 20]) for b in batches]
    most = []
    with pytest.warns(CapacityWarning) as reported:
        laps(
            EP(laps=3, batch_size=20, stride=3),
            model,
            batches,
            observers=[lambda state, info: most.append(state.tally.K)],
        )
    assert max(most) == 4
    assert len(reported) == 1


def test_rows_of_little_weight_are_learnt_in_rounds():
    model, batches = named("Gaussian", NGGP(), size=20, weights=np.full(120, 1e-9))
    state, _ = laps(EP(laps=3, batch_size=20, stride=2), model, batches)
    assert state.tally.K >= 1
    assert state.tally.mass.sum() == pytest.approx(120e-9, rel=1e-6)


def test_damped_sites_follow_a_merge_into_a_younger_cluster():
    lineage = Lineage()
    for _ in range(6):
        lineage.birth(0)
    lineage.merge(0, 5, 0)
    one, ones = np.array([0]), np.array([1])
    old = Sites(one, ones, np.array([0], dtype=np.int32), np.array([1.0]))
    new = Sites(one, ones, np.array([1], dtype=np.int32), np.array([1.0]))
    got = damped(old, new, lineage, 0.5)
    assert dict(zip(got.ids.tolist(), got.q.tolist(), strict=True)) == {1: 0.5, 5: 0.5}


# ---- errors ------------------------------------------------------------------------------------


class Broken(Batches):
    """Batches of which one cannot be read, once; their weights are known."""

    def __init__(self, batches, countdown):
        self.batches, self.countdown = batches, countdown

    def __len__(self):
        return len(self.batches)

    def weights_of(self, key):
        return self.batches[key].weights

    def __getitem__(self, key):
        self.countdown -= 1
        if self.countdown == 0:
            raise OSError("the disk is gone")
        return self.batches[key]


@pytest.mark.parametrize("countdown", [1, 3, 7, 11, 14, 17, 20, 23, 26])
def test_a_step_that_fails_can_be_made_again_as_if_it_had_not_been(countdown):
    """Whenever rows cannot be read: before the first lap, within a step, or for births."""
    model, batches = named("Gaussian", DP(1.0), size=20)
    engine = MemoizedVB(
        laps=3, batch_size=20, stride=3, deletes=False, start="random", truncation=1
    )
    rng, broken = np.random.default_rng(0), Broken(batches, countdown)
    state = engine.initial(model, rng)
    with pytest.raises(OSError, match="the disk is gone"):
        run_laps(engine, model, state, Shard(broken, state.memo), rng)
    seen = [batches[key] for key in engine.order(state, len(batches))[: state.at]]
    engine.check_memo(model, state, 120 if state.lap or seen else 0)
    for key in (b.key for b in seen):
        assert str(key) in state.memo
    state = run_laps(engine, model, state, Shard(broken, state.memo), rng)
    assert state.lap == 3
    assert state.tally.mass.sum() == pytest.approx(120.0)
    records = [state.memo[str(b.key)] for b in batches]
    np.testing.assert_allclose(sum(r["mass"] for r in records), state.tally.mass, atol=1e-9)
