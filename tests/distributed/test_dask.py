"""Dask collections, on a real cluster of two processes: the same results as here."""

import os
import signal
import threading
import time
from functools import cache

import numpy as np
import pytest
from scipy import sparse

import evermix as em
from evermix.distributed.client import CHECK_SECONDS, cluster_client, reply_of, workers_of
from evermix.distributed.shards import ClusterShards

pytest.importorskip("dask")

import dask.array as da  # noqa: E402
import dask.bag as db  # noqa: E402
from dask import delayed  # noqa: E402

from helpers.variants import slow_but

RNG = np.random.default_rng(0)
CENTRES = RNG.normal(scale=4.0, size=(6, 3))
X = CENTRES[RNG.integers(6, size=1190)] + RNG.normal(size=(1190, 3))
COUNTS = sparse.csr_matrix(
    RNG.poisson(RNG.gamma(0.2, 2.0, size=(5, 30))[RNG.integers(5, size=600)])
)
FAMILY = em.Gaussian(0.0, 0.05, 6.0, 1.0)


@pytest.fixture(scope="module")
def client():
    with cluster_client(None) as client:
        workers_of(client, 2)
        yield client


@pytest.fixture
def mortals():
    """A client of workers that may be killed: they do not always come back."""
    with cluster_client(None) as client:
        workers_of(client, 2)
        yield client


def mixture(engine, family=FAMILY, prior=None):
    return em.Mixture(family, em.DP(1.0) if prior is None else prior, engine, random_state=0)


def assert_same(ours, theirs, tolerance=1e-9):
    assert ours.n_clusters_ == theirs.n_clusters_
    np.testing.assert_array_equal(ours.labels_, theirs.labels_)
    np.testing.assert_allclose(ours.probabilities_, theirs.probabilities_, atol=1e-8)
    for name in ("mass", "stats"):
        got, want = getattr(ours.tally_, name), getattr(theirs.tally_, name)
        np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance * np.abs(want).max())
    assert ours.state_.memo.keys() == theirs.state_.memo.keys()


ENGINES = {
    "memoized": em.MemoizedVB(laps=4, batch_size=100, stride=2),
    "wide stride": em.MemoizedVB(laps=3, batch_size=100, stride=5, births=False, start="random"),
    "full": em.FullVB(laps=5, truncation=8),
    "stochastic": em.StochasticVB(laps=3, batch_size=100, truncation=8),
    "ep": em.EP(laps=4, batch_size=100, stride=2),
    "damped ep": em.EP(laps=4, batch_size=100, stride=3, damping=0.5, validation=0.1),
}
every_engine = pytest.mark.parametrize("name", slow_but(["memoized", "ep"], ENGINES))


def prior_for(name):
    return em.NGGP() if isinstance(ENGINES[name], em.EP) else None


@cache
def fitted_here(name):
    """A fit without a cluster; ask for it first: workers then read the kernels it has compiled."""
    return mixture(ENGINES[name], prior=prior_for(name)).fit(X)


@every_engine
def test_two_workers_equal_the_same_stride_here(client, name):
    """Whatever the partitions are; rows of weight zero and odd batches included."""
    engine, prior = ENGINES[name], prior_for(name)
    weights = RNG.integers(0, 3, size=len(X)).astype(float)
    theirs = mixture(engine, prior=prior).fit(X, sample_weight=weights)
    ours = mixture(engine, prior=prior)
    ours.fit(da.from_array(X, chunks=((170, 500, 520), (2, 1))), sample_weight=weights)
    assert_same(ours, theirs)
    assert [info.K for info in ours.history_][-1] == [info.K for info in theirs.history_][-1]
    if prior is None:
        assert ours.lower_bound_ == pytest.approx(theirs.lower_bound_, rel=1e-9)


def test_the_stride_is_the_number_of_workers_unless_it_is_given(client):
    rows = da.from_array(X, chunks=(300, 3))
    for make in (em.MemoizedVB, em.EP):
        mix = mixture(make(laps=1, batch_size=100)).fit(rows)
        assert mix.state_.latents["stride"][0] == 2


COUNTED = em.MemoizedVB(laps=4, batch_size=50, stride=2)


@cache
def counts_fitted_here():
    return mixture(COUNTED, "auto").fit(COUNTS)


@pytest.mark.parametrize("kind", ["bag", "delayed"])
def test_batches_of_sparse_counts(client, kind):
    theirs = counts_fitted_here()
    parts = [COUNTS[:100], COUNTS[100:450], COUNTS[450:]]
    rows = [delayed(part) for part in parts]
    if kind == "bag":
        rows = db.from_sequence(parts, npartitions=2)
    assert_same(mixture(COUNTED, "auto").fit(rows), theirs)


def test_engines_that_do_not_divide_take_one_partition_at_a_time(client):
    rows = da.from_array(X, chunks=(300, 3))
    assert_same(mixture(em.ADF()).fit(rows), mixture(em.ADF()).fit(X))
    gibbs = em.Gibbs(sweeps=3)
    assert_same(mixture(gibbs).fit(rows), mixture(gibbs).fit(X))


def test_questions_take_collections(client):
    mix = mixture(em.FullVB(laps=3, truncation=6)).fit(X)
    rows = da.from_array(X, chunks=(300, 3))
    np.testing.assert_array_equal(mix.predict(rows), mix.predict(X))
    np.testing.assert_array_equal(mix.score_samples(rows), mix.score_samples(X))


# ---- what goes wrong -------------------------------------------------------------------------


def killing(client, steps):
    """An observer that kills a worker while the next step is under way, after these steps."""
    seen, waiting = 0, list(steps)

    def watch(mix, info):
        nonlocal seen
        seen += 1
        pids = [worker.pid for worker in client.cluster.workers.values() if worker.pid]
        if waiting and seen >= waiting[0] and len(client.nthreads()) == len(pids) == 2:
            threading.Timer(0.003, os.kill, (pids[waiting.pop(0) % 2], signal.SIGKILL)).start()

    return watch


@pytest.mark.slow
@pytest.mark.parametrize("name", ["memoized", "full", "ep"])
def test_a_worker_killed_in_the_middle_of_a_lap_changes_nothing(mortals, name):
    theirs, steps = fitted_here(name), (2,) if name == "full" else (9,)
    ours = mixture(ENGINES[name], prior=prior_for(name))
    ours.fit(da.from_array(X, chunks=(300, 3)), observers=[killing(mortals, steps)])
    assert_same(ours, theirs)


@pytest.mark.parametrize(("name", "lap"), [("memoized", 2), ("ep", 0)])
def test_a_saved_fit_goes_on_there_and_here(client, tmp_path, name, lap):
    class Stop(Exception):
        pass

    def stop(mix, info):
        if mix.state_.lap == lap and mix.state_.at >= 4:
            mix.save(tmp_path / "saved.evermix")
            raise Stop

    rows, whole = da.from_array(X, chunks=(300, 3)), fitted_here(name)
    mix = mixture(ENGINES[name], prior=prior_for(name))
    with pytest.raises(Stop):
        mix.fit(rows, observers=[stop])
    for again in (mix, em.load(tmp_path / "saved.evermix")):
        assert_same(again.resume(rows), whole)
    assert_same(em.load(tmp_path / "saved.evermix").resume(X), whole)


class Echo:
    """An actor that returns what it gets."""

    def say(self, word):
        return word


def test_a_reply_that_comes_while_the_event_loop_is_busy_is_no_timeout(client):
    """On a loaded machine a reply can arrive between the end of a wait and the look at it."""
    actor = client.submit(Echo, actor=True).result()
    reply = actor.say("here")
    while not reply.done():
        time.sleep(0.01)
    client.loop.add_callback(time.sleep, CHECK_SECONDS + 0.5)
    assert reply_of(client, reply, []) == "here"


def test_little_is_kept_to_do_things_again(client, monkeypatch):
    """Beliefs for every step of a lap, and the moves since."""
    lengths = []
    note = ClusterShards._log_task

    def counted(self, task, keys):
        note(self, task, keys)
        lengths.append(len(self._log))

    monkeypatch.setattr(ClusterShards, "_log_task", counted)
    mixture(ENGINES["memoized"]).fit(da.from_array(X, chunks=(300, 3)))
    assert max(lengths) <= -(-len(X) // 200) + 2


def test_bad_rows_are_reported(client):
    bad = X.copy()
    bad[700, 1] = np.nan
    mix = mixture(em.FullVB(laps=2))
    with pytest.raises(ValueError, match="NaN"):
        mix.fit(da.from_array(bad, chunks=(300, 3)))
    with pytest.raises(ValueError, match="2 features in one partition and 3 in the first"):
        mix.fit([delayed(X[:100]), delayed(X[:100, :2])])
    with pytest.raises(ValueError, match="at least one row"):
        mix.fit([delayed(X[:0])])
    with pytest.raises(ValueError, match="expected rows"):
        mix.fit(da.from_array(X[0], chunks=2))
    assert not hasattr(mix, "n_features_in_")


def _too_large():
    return np.ones((2**46, 3))


def test_a_worker_without_memory_is_reported(client):
    with pytest.raises(MemoryError, match="give workers more of it"):
        mixture(em.FullVB(laps=2)).fit([delayed(X[:200]), delayed(_too_large)()])


@pytest.mark.slow
def test_a_worker_that_is_killed_for_its_memory_again_and_again_is_reported():
    from distributed import Client, LocalCluster

    def rows():
        return np.ones((4_000_000, 20))

    with LocalCluster(1, threads_per_worker=1, memory_limit="600MB", dashboard_address=":0") as one:
        with Client(one), pytest.raises(MemoryError, match="give workers more of it"):
            mixture(em.FullVB(laps=2), "auto").fit(
                [delayed(X[:10] @ np.ones((3, 20))), delayed(rows)()]
            )


def test_a_collection_without_a_client_is_reported(monkeypatch):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("distributed.get_client", _no_client)
        with pytest.raises(RuntimeError, match="Make a client first"):
            mixture(em.FullVB()).fit(da.from_array(X, chunks=(300, 3)))


def _no_client(*args, **kwargs):
    raise ValueError("No global client found and no address provided")


def test_a_scheduler_that_does_not_answer_is_reported(monkeypatch):
    monkeypatch.setattr("evermix.distributed.client.CONNECT_SECONDS", 1)
    with pytest.raises(ConnectionError, match="no Dask scheduler answers at tcp://127.0.0.1:9"):
        with cluster_client("tcp://127.0.0.1:9"):
            pass


@pytest.mark.parametrize(
    "name", ["memoized", *(pytest.param(name, marks=pytest.mark.slow) for name in ("full", "ep"))]
)
def test_answers_are_joined_in_a_tree(mortals, name, monkeypatch):
    """Here a chain: one actor asks the next; and a lost one is replaced below as well."""
    monkeypatch.setattr("evermix.distributed.shards.FAN_OUT", 1)
    theirs, steps = fitted_here(name), (2,) if name == "full" else (9,)
    ours = mixture(ENGINES[name], prior=prior_for(name))
    ours.fit(da.from_array(X, chunks=(300, 3)), observers=[killing(mortals, steps)])
    assert_same(ours, theirs)


@pytest.mark.slow
def test_a_tree_goes_on_if_two_actors_are_on_one_worker(monkeypatch):
    """A chain of three; the lost one moves in with another, which must not wait for itself."""
    from distributed import Client, LocalCluster

    monkeypatch.setattr("evermix.distributed.shards.FAN_OUT", 1)
    options = {"n_workers": 3, "threads_per_worker": 1, "dashboard_address": ":0"}
    engine = em.FullVB(laps=6, truncation=6, tol=0.0)
    theirs = mixture(engine).fit(X[:1100])
    with LocalCluster(**options) as cluster, Client(cluster) as client:
        workers_of(client, 3)
        steps = 0

        def kill(mix, info):
            nonlocal steps
            steps += 1
            if steps == 3:
                threading.Timer(0.003, os.kill, (cluster.workers[1].pid, signal.SIGKILL)).start()

        rows = [delayed(X[i : i + 100]) for i in range(0, 1100, 100)]
        ours = mixture(engine).fit(rows, observers=[kill])
    assert_same(ours, theirs)


def _late():
    raise TimeoutError("the store does not answer")


def test_errors_of_partitions_and_empty_ones(client):
    mix = mixture(em.FullVB(laps=2, truncation=3))
    with pytest.raises(TimeoutError, match="the store does not answer"):
        mix.fit([delayed(X[:100]), delayed(_late)()])
    bag = db.from_delayed([delayed([X[:100]]), delayed([]), delayed([X[100:200]])])
    assert_same(mix.fit(bag), mixture(em.FullVB(laps=2, truncation=3)).fit(X[:200]))
    np.testing.assert_array_equal(mix.predict(bag), mix.predict(X[:200]))


def test_columns_of_data_frames_must_agree(client):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X[:200], columns=["a", "b", "c"])
    other = frame[["c", "b", "a"]]
    mix = mixture(em.FullVB(laps=2, truncation=3))
    with pytest.raises(ValueError, match="in rows from 200 on: the columns of one partition"):
        mix.fit([delayed(frame), delayed(other)])
    mix.fit([delayed(frame), delayed(frame)])
    assert list(mix.feature_names_in_) == ["a", "b", "c"]
    np.testing.assert_array_equal(
        mix.predict([delayed(frame), delayed(frame)]), mix.predict(pd.concat([frame, frame]))
    )
    with pytest.raises(ValueError, match="feature names should match"):
        mix.predict([delayed(other), delayed(other)])


def test_partitions_that_are_no_rows_are_reported(client):
    mix = mixture(em.FullVB(laps=2, truncation=3))
    with pytest.raises(TypeError, match="a partition is NoneType"):
        mix.fit([delayed(X[:10]), delayed(None)])
    with pytest.raises(TypeError, match="got a list of both"):
        mix.fit([delayed(X[:10]), X])
    counts = [delayed(COUNTS[:300].tocoo()), delayed(COUNTS[300:].tocsc())]
    engine = em.FullVB(laps=2, truncation=3)
    assert_same(mixture(engine, "auto").fit(counts), mixture(engine, "auto").fit(COUNTS))


def test_tables_are_learnt_where_they_are(client):
    """Levels of all partitions get the codes that they have on one machine."""
    frame, dd = pytest.importorskip("pandas"), pytest.importorskip("dask.dataframe")
    rng = np.random.default_rng(0)
    z = np.sort(rng.integers(0, 3, size=300))  # the last level is in the last partition alone
    table = frame.DataFrame({"x": rng.normal(5.0 * z), "colour": np.array(["b", "a", "c"])[z]})
    table.loc[::7, "x"] = np.nan
    table.loc[1::7, "colour"] = None
    here = em.Mixture(random_state=0).fit(table)
    there = em.Mixture(random_state=0).fit(dd.from_pandas(table, npartitions=4))
    assert there.levels_ == here.levels_ == {"colour": ["b", "a", "c"]}
    np.testing.assert_allclose(there.predict_proba(table), here.predict_proba(table), atol=1e-9)
    np.testing.assert_array_equal(there.whole_, here.whole_)
    written = table.assign(x=[None if np.isnan(x) else f"{x} kg" for x in table["x"]])
    read = em.Mixture(random_state=0).fit(dd.from_pandas(written, npartitions=4))
    assert read.written_["x"].unit == "kg"
    np.testing.assert_allclose(read.predict_proba(written), here.predict_proba(table), atol=1e-9)


def test_codes_of_levels_in_any_partition_have_room(client):
    rows = da.from_array(np.repeat([0.0, 1.0, 4.0], 20)[:, None], chunks=(20, 1))
    mix = em.Mixture(em.Categorical(), engine=em.FullVB(truncation=3)).fit(rows)
    assert mix.model_.family.n_levels >= 5


def test_columns_of_whole_numbers_are_found_in_all_partitions(client):
    rows = np.random.default_rng(0).integers(0, 99, (300, 3)).astype(float)
    rows[-1, 1] = 0.5
    mix = em.Mixture(em.DiagonalGaussian(), engine=em.FullVB(truncation=3))
    assert mix.fit(da.from_array(rows, chunks=(100, 3))).whole_.tolist() == [True, False, True]
