"""Files that were edited are refused; no engine but ADF goes on from them, or reads amiss."""

from dataclasses import replace

import numpy as np
import pytest

import evermix as em
from evermix.io import checkpoint

RNG = np.random.default_rng(0)
COUNTS = RNG.integers(0, 6, size=(40, 5))
COUNTS[:20, :2], COUNTS[20:, 3:] = 0, 0  # two kinds
LAWS = {"a": em.Gamma(), "sigma": em.Beta()}
ONE = em.MemoizedVB(laps=5, batch_size=15, start="random", truncation=1)
ENGINES = {
    "ep": em.EP(laps=3, tol=0.0, validation=0.2),
    "gibbs": em.Gibbs(sweeps=6, chains=2, hyperpriors=LAWS),
    "slice": em.Slice(sweeps=6),
    "full": em.FullVB(laps=6, tol=0.0, truncation=3),
    "stochastic": em.StochasticVB(laps=5, batch_size=15, truncation=3),
    "births": ONE,
    "merges": replace(ONE, births=False, deletes=False, start="random", truncation=4),
}


STEPS = {"births": 6, "merges": 6}  # the second lap, with moves in flight


class Enough(Exception):
    pass


@pytest.fixture(scope="module", params=ENGINES)
def saved(request, tmp_path_factory):
    """The arrays and the header of a fit that was ended after some steps."""
    steps = []

    def end(mix, info):
        steps.append(info)
        if len(steps) == STEPS.get(request.param, 9):
            raise Enough

    path = tmp_path_factory.mktemp("whole") / "m.evermix"
    mix = em.Mixture(em.Multinomial(), engine=ENGINES[request.param], random_state=0)
    try:
        mix.fit(COUNTS, observers=[end])
    except Enough:
        pass
    mix.save(path)
    if request.param in STEPS:
        plan = mix.state_.memo["plan"]
        assert len(plan["targets" if request.param == "births" else "pairs"])
    return checkpoint.read(path)


def sites(arrays):
    return "state.memo.0.begin" in arrays


def refused(folder, arrays, header):
    checkpoint.write(folder / "m.evermix", arrays, header)
    with pytest.raises(em.CheckpointError, match="does not hold a whole mixture"):
        em.load(folder / "m.evermix")


def test_missing_and_misshapen_arrays_are_refused(tmp_path, saved):
    arrays, header = saved
    for name, values in arrays.items():
        rest = {k: v for k, v in arrays.items() if k != name}
        if not name.endswith("scalar u"):  # which is worth following, but never needed
            refused(tmp_path, rest, header)
        refused(tmp_path, rest | {name: values[..., None]}, header)
        if len(values) and not (sites(arrays) and name.endswith(("0.ids", "0.q"))):
            refused(tmp_path, rest | {name: np.concatenate([values, values])}, header)


def test_values_that_are_no_numbers_are_refused(tmp_path, saved):
    arrays, header = saved
    for name, values in arrays.items():
        if values.size and values.dtype.kind == "f":
            refused(tmp_path, arrays | {name: np.full_like(values, np.nan)}, header)


def test_numbers_that_lie_outside_are_refused(tmp_path, saved):
    """Labels, ids, places in arrays: what a compiled loop would follow into wrong memory."""
    arrays, header = saved
    places = ("labels", "begin", "end", ".ids", "indices", "indptr", "kept", "chain_no", "sweep")
    places += ("owner", "plan.pairs", "parents", "targets", "children", "seed", "steps", "pending")
    for name, values in arrays.items():
        if not name.endswith(places) or not values.size:
            continue
        for wrong in (-7, np.iinfo(values.dtype).max):
            edited = values.copy()
            edited.flat[0 if "draws" in name else -1] = wrong  # behind the draws there is room
            gone = wrong == -7 and name == "state.memo.0.ids" and sites(arrays)
            counter = wrong > 0 and name.endswith(("seed", "steps", "pending"))
            if not gone and not counter:
                refused(tmp_path, arrays | {name: edited}, header)


def test_as_many_rows_as_labels(tmp_path, saved):
    """Fewer rows, though each of their arrays is whole."""
    arrays, header = saved
    if "rows.weights" not in arrays:
        pytest.skip("EP keeps no rows.")
    fewer = {"rows.weights": arrays["rows.weights"][:-1], "rows.indptr": arrays["rows.indptr"][:-1]}
    end = fewer["rows.indptr"][-1]
    fewer |= {f"rows.{name}": arrays[f"rows.{name}"][:end] for name in ("data", "indices")}
    refused(tmp_path, arrays | fewer, header)


def test_clusters_have_the_mass_that_labels_say(tmp_path, saved):
    arrays, header = saved
    if "state.memo.chain.labels" not in arrays:
        pytest.skip("EP has no labels.")
    labels = arrays["state.memo.chain.labels"]
    refused(tmp_path, arrays | {"state.memo.chain.labels": np.zeros_like(labels)}, header)


@pytest.mark.parametrize("value", [-1, 2**62])
@pytest.mark.parametrize("counter", ["clock", "lap", "at"])
def test_counters_that_cannot_be_are_refused(tmp_path, saved, counter, value):
    arrays, header = saved
    refused(tmp_path, arrays, header | {"state": header["state"] | {counter: value}})


@pytest.mark.parametrize("kind", ["topic model", "dependent mixture"])
def test_a_damaged_file_is_called_what_it_is(tmp_path, kind):
    path, short = tmp_path / "m.evermix", {"burn_in": 1, "draws": 2, "random_state": 0}
    model = em.TopicModel(**short) if kind == "topic model" else em.DependentMixture(**short)
    model.fit(COUNTS, times=np.arange(len(COUNTS)) % 2).save(path)
    arrays, header = checkpoint.read(path)
    for name in ("n_features_in", "times"):
        checkpoint.write(path, arrays, {k: v for k, v in header.items() if k != name})
        with pytest.raises(em.CheckpointError, match=f"does not hold a whole {kind} "):
            em.load(path)
