"""Starts and moves stay within their memory, however many clusters and columns there are."""

import tracemalloc

import numpy as np
from scipy import sparse

from evermix import FullVB
from evermix.engines import bound
from evermix.engines import seeding as sample
from evermix.engines.bound import fused_sticks
from evermix.engines.seeding import draw_rows, seed
from evermix.engines.shards import Shard
from evermix.families import FixedGaussian, Multinomial, base
from evermix.model import Model
from evermix.priors import DP
from helpers.engine_cases import model_for
from helpers.variational_cases import all_pairs, cut


def peak_of(function):
    """Bytes that a call allocates at most, at a time."""
    tracemalloc.start()
    function()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


def test_a_start_holds_no_table_of_rows_and_clusters():
    X, K = np.random.default_rng(0).normal(size=(20_000, 1)), 200
    model = Model(FixedGaussian(1.0, 100.0, mean=0.0).candidates(X)[0], DP(1.0))
    engine, rng = FullVB(truncation=K, start="random"), np.random.default_rng(0)
    state, batches = engine.initial(model, rng), cut(X, size=1000)
    assert peak_of(lambda: engine.begin(model, state, batches, rng)) < 8 * len(X) * K
    assert state.tally.K == K


def test_the_nearest_seeds_do_not_depend_on_how_rows_are_cut(monkeypatch):
    model, X = model_for("Gaussian", DP(1.0))
    found = []
    for chunk in (base.CHUNK, 1):
        monkeypatch.setattr(base, "CHUNK", chunk)
        drawn = sample.Sample(model.family, X, np.ones(len(X)))
        found.append(seed(drawn, 5, np.random.default_rng(0)))
    np.testing.assert_array_equal(*found)


def test_gains_of_the_sticks_do_not_depend_on_how_pairs_are_cut(monkeypatch):
    model, _ = model_for("Gaussian", DP(1.0))
    mass, found = np.array([30.0, 9.0, 8.0, 0.5, 0.0]), []
    for numbers in (bound.NUMBERS, 1):
        monkeypatch.setattr(bound, "NUMBERS", numbers)
        found.append(fused_sticks(model, mass, all_pairs(5)))
    np.testing.assert_array_equal(*found)


def test_sparse_rows_for_a_start_are_counted_by_their_entries():
    words = np.random.default_rng(0).integers(50_000, size=3000)
    X = sparse.csr_matrix((np.ones(3000), (np.arange(3000), words)), (3000, 50_000))
    family = Multinomial(0.1, n_features=50_000)
    shard = Shard(cut(X, size=500))
    assert len(draw_rows(family, shard, 2500, np.random.default_rng(0))) == 2500
