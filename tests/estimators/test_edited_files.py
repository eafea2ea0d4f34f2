"""Files of EP and of samplers that were edited are refused; compiled loops never see them."""

import numpy as np
import pytest

import evermix as em
from evermix.io import checkpoint

RNG = np.random.default_rng(0)
COUNTS = RNG.integers(0, 6, size=(40, 5))
LAWS = {"a": em.Gamma(), "sigma": em.Beta()}
ENGINES = {
    "ep": em.EP(laps=3, tol=0.0, validation=0.2),
    "gibbs": em.Gibbs(sweeps=6, chains=2, hyperpriors=LAWS),
    "slice": em.Slice(sweeps=6),
}


class Enough(Exception):
    pass


@pytest.fixture(scope="module", params=ENGINES)
def saved(request, tmp_path_factory):
    """The arrays and the header of a fit that was ended after some steps."""
    steps = []

    def end(mix, info):
        steps.append(info)
        if len(steps) == 9:
            raise Enough

    path = tmp_path_factory.mktemp("whole") / "m.evermix"
    mix = em.Mixture(engine=ENGINES[request.param], random_state=0)
    try:
        mix.fit(COUNTS, observers=[end])
    except Enough:
        pass
    mix.save(path)
    return checkpoint.read(path)


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
        if not name.startswith(("state.memo.0.ids", "state.memo.0.q")):
            refused(tmp_path, rest | {name: np.concatenate([values, values])}, header)


def test_values_that_are_no_numbers_are_refused(tmp_path, saved):
    arrays, header = saved
    free = ("log_predictive", "latent.new_weight", "latent.capped", "latent.dropped", "crowded")
    free += ("latent.progress", "latent.settled", "memo.0.base", "draws.scalar K", "log_joint")
    for name, values in arrays.items():
        if values.dtype.kind == "f" and not name.endswith((*free, "scalar u", "rows.weights")):
            refused(tmp_path, arrays | {name: np.full_like(values, np.nan)}, header)


def test_numbers_that_lie_outside_are_refused(tmp_path, saved):
    """Labels, ids, places in arrays: what a compiled loop would follow into wrong memory."""
    arrays, header = saved
    places = ("labels", "begin", "end", ".ids", "indices", "indptr", "kept", "chain_no", "sweep")
    for name, values in arrays.items():
        if not name.endswith(places):
            continue
        for wrong in (-7, np.iinfo(values.dtype).max):
            edited = values.copy()
            edited.flat[0 if "draws" in name else -1] = wrong  # behind the draws there is room
            if (name, wrong) != ("state.memo.0.ids", -7):  # a cluster that has gone
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
