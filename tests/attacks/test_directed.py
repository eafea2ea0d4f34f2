"""Directed edits, one test each. The digest is computed anew, so that it does not hide them."""

import hashlib
import json
import re
import time
import tracemalloc

import numpy as np
import pytest

import evermix as em
from attacks.models import MODELS, save_all
from evermix.io import checkpoint
from helpers.variants import slow_but

KINDS = ("default", "waiting", "stream", "words", "bits", "diagonal", "full", "slice", "forgetting")
KINDS += ("mixed", "topics", "flat")
FAST = "default", "waiting", "stream", "words", "mixed", "topics", "flat"
pytestmark = pytest.mark.filterwarnings("ignore")  # of fits that are short


@pytest.fixture(scope="module", autouse=True)
def traced():
    """Trace memory all the time: to stop while other threads allocate may end the process."""
    tracemalloc.start()
    yield
    tracemalloc.stop()


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """Arrays and header of models by name."""
    folder, contents = tmp_path_factory.mktemp("whole"), {}

    def content(name):
        if name not in contents:
            contents[name] = checkpoint.read(save_all(folder, [name])[name])
        arrays, header = contents[name]
        return {key: values.copy() for key, values in arrays.items()}, json.loads(
            json.dumps(header)
        )

    return content


def refused(path, match="does not hold a whole"):
    """Whether a file is refused within a second and in little memory."""
    size = path.stat().st_size
    tracemalloc.clear_traces()
    began = time.perf_counter()
    with pytest.raises(em.CheckpointError, match=match):
        em.load(path)
    assert time.perf_counter() - began < 1.0
    assert tracemalloc.get_traced_memory()[1] < 40e6 + 10 * size


def write_and_refuse(folder, arrays, header):
    checkpoint.write(folder / "m.evermix", arrays, header)
    refused(folder / "m.evermix")


# ---- arrays --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", slow_but(FAST, ["words", "bits", "diagonal", "full", "stream"]))
@pytest.mark.parametrize("value", slow_but([1e300], [-1e6, 1e300, -1e300]))
def test_negative_and_huge_statistics(tmp_path, saved, name, value):
    arrays, header = saved(name)
    arrays["state.tally.stats"][0, -1] = value
    write_and_refuse(tmp_path, arrays, header)


@pytest.mark.parametrize("value", [-1.0, 1e40, np.inf, np.nan])
def test_masses_out_of_range(tmp_path, saved, value):
    arrays, header = saved("words")
    arrays["state.tally.mass"][0] = value
    write_and_refuse(tmp_path, arrays, header)


def test_masses_out_of_order(tmp_path, saved):
    """The order of clusters is that of the sticks, which FullVB breaks by size."""
    arrays, header = saved("full")
    for name in ("mass", "stats", "extra.entropy"):
        arrays[f"state.tally.{name}"] = arrays[f"state.tally.{name}"][::-1].copy()
    write_and_refuse(tmp_path, arrays, header)


@pytest.mark.parametrize("value", [np.inf, -1.0, np.nan, 1e13])
def test_waiting_rows_with_weights_that_nobody_may_give(tmp_path, saved, value):
    arrays, header = saved("waiting")
    arrays["waiting.weights"][3] = value
    write_and_refuse(tmp_path, arrays, header)


@pytest.mark.parametrize("cuts", [[25, 10], [-1, 10], [10, 10], [10, 999]])
def test_waiting_rows_in_batches_that_cannot_be(tmp_path, saved, cuts):
    arrays, header = saved("waiting")
    arrays["waiting.cuts"] = np.array(cuts)
    write_and_refuse(tmp_path, arrays, header)


@pytest.mark.parametrize("name", ["X", "weights", "ids", "clocks"])
def test_rows_of_the_lookback(tmp_path, saved, name):
    arrays, header = saved("stream")
    key = f"state.lookback.{name}"
    for wrong in (arrays[key] - 1000, arrays[key][:-1], arrays[key].astype(np.float32)):
        if name != "X" or wrong.dtype == np.float32 or len(wrong) < len(arrays[key]):
            write_and_refuse(tmp_path, arrays | {key: wrong}, header)


@pytest.mark.parametrize("circle", [[0], [0, 1], [2, 0, 1]])
def test_circles_in_the_lineage(tmp_path, saved, circle):
    """Labels were followed for ever."""
    arrays, header = saved("stream")
    arrays, n = _more_ids(arrays, len(circle)), len(arrays["state.lineage.into"])
    arrays["state.lineage.into"][n:] = n + np.array(circle)
    arrays["state.lineage.ended"][n:] = 7
    arrays["results.labels"][:] = n
    write_and_refuse(tmp_path, arrays, header)


def _more_ids(arrays, count):
    more = {
        f"state.lineage.{name}": np.zeros(count, dtype=np.int64)
        for name in ("born", "ended", "into")
    }
    return arrays | {name: np.concatenate([arrays[name], zeros]) for name, zeros in more.items()}


def test_a_long_line_of_merges_is_followed_once(tmp_path, saved):
    """It is no lie, but following it anew for each of its clusters would take hours."""
    arrays, header = saved("stream")
    n, count = len(arrays["state.lineage.into"]), 200_000
    arrays = _more_ids(arrays, count)
    arrays["state.lineage.into"][n:] = np.append(
        np.arange(n + 1, n + count), arrays["state.tally.ids"][0]
    )
    arrays["results.labels"] = np.arange(n, n + len(arrays["results.labels"]))
    checkpoint.write(tmp_path / "m.evermix", arrays, header)
    mix = em.load(tmp_path / "m.evermix")
    assert (mix.labels_ == arrays["state.tally.ids"][0]).all()
    every = np.arange(n + count)
    assert set(mix.state_.lineage.current(every)[n:]) == {arrays["state.tally.ids"][0]}


def test_foreign_dtypes(tmp_path, saved):
    """BF16 has no NumPy type; complex numbers have no place."""
    arrays, header = saved("words")
    checkpoint.write(tmp_path / "m.evermix", arrays, header)
    for foreign in ("BF16", "F8_E4M3", "C64", "F128"):
        content = (tmp_path / "m.evermix").read_bytes()
        (tmp_path / "n.evermix").write_bytes(
            signed(
                content, lambda text, new=foreign: re.sub(rb'"F64"', b'"%s"' % new.encode(), text)
            )
        )
        refused(tmp_path / "n.evermix", "not a complete evermix checkpoint")


def signed(content, change):
    """Return a file with another table of contents, and the digest of what it holds then."""
    length = int.from_bytes(content[:8], "little")
    text, data = change(content[8 : 8 + length].rstrip()), content[8 + length :]
    text += b" " * (-len(text) % 8)
    begin = text.index(b'"digest":"') + len(b'"digest":"')
    blank = text[:begin] + b"0" * 64 + text[begin + 64 :]
    size = len(text).to_bytes(8, "little")
    digest = hashlib.blake2b(size + blank + data, digest_size=32).hexdigest().encode()
    return size + text[:begin] + digest + text[begin + 64 :] + data


def test_the_digest_is_what_the_documentation_says(tmp_path, saved):
    """Else the tests here would be refused for another reason."""
    checkpoint.write(tmp_path / "m.evermix", *saved("words"))
    content = (tmp_path / "m.evermix").read_bytes()
    assert signed(content, lambda text: text) == content


@pytest.mark.parametrize("name", slow_but(FAST, KINDS))
def test_arrays_that_nobody_knows(tmp_path, saved, name):
    arrays, header = saved(name)
    write_and_refuse(tmp_path, arrays | {"more": np.zeros(3)}, header)


# ---- header --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", slow_but(FAST, KINDS))
@pytest.mark.parametrize("value", [10**12, 0, -1, 2.0, True, None, "2", 2**31 - 1])
def test_numbers_of_features_that_the_arrays_do_not_have(tmp_path, saved, name, value):
    arrays, header = saved(name)
    header["n_features_in"] = value
    write_and_refuse(tmp_path, arrays, header)
    text = re.sub(r'"n_features": \d+', f'"n_features": {json.dumps(value)}', json.dumps(header))
    write_and_refuse(tmp_path, arrays, json.loads(text))


@pytest.mark.parametrize("entry", ["n_documents", "n_times"])
@pytest.mark.parametrize("name", ["topics", "flat"])
def test_numbers_of_documents_that_the_arrays_do_not_have(tmp_path, saved, name, entry):
    for value in (10**9, -1, None, 1.5):
        arrays, header = saved(name)
        write_and_refuse(tmp_path, arrays, header | {entry: value})


@pytest.mark.parametrize("name", ["mixed", "topics", "flat"])
def test_numbers_of_regions_that_the_arrays_do_not_have(tmp_path, saved, name):
    arrays, header = saved(name)
    header["prior"]["spec"]["regions"] = 10**9
    write_and_refuse(tmp_path, arrays, header)


@pytest.mark.parametrize("name", ["mixed", "topics"])
def test_times_to_which_no_region_gives_anything(tmp_path, saved, name):
    for place in (arrays := saved(name)[0]):
        if place.endswith("measure.q"):
            arrays, header = saved(name)
            arrays[place] = 0.0 * arrays[place]
            write_and_refuse(tmp_path, arrays, header)


@pytest.mark.parametrize("depth", [1000, 5000, 50_000])
def test_deep_json(tmp_path, saved, depth):
    arrays, header = saved("words")
    checkpoint.write(tmp_path / "m.evermix", arrays, header | {"deep": "HERE"})
    deep = b"[" * depth + b"]" * depth
    content = signed(
        (tmp_path / "m.evermix").read_bytes(), lambda text: text.replace(rb"\"HERE\"", deep)
    )
    (tmp_path / "m.evermix").write_bytes(content)
    refused(tmp_path / "m.evermix", "not a complete evermix checkpoint")


@pytest.mark.parametrize(
    "kind, place", [("MT19937", ("state", "pos")), ("Philox", ("buffer_pos",))]
)
def test_generators_that_would_read_beyond_their_buffers(tmp_path, saved, kind, place):
    arrays, header = saved("words")
    state = np.random.Generator(getattr(np.random, kind)(0)).bit_generator.state
    state = json.loads(json.dumps(state, default=lambda values: values.tolist()))
    checkpoint.write(tmp_path / "m.evermix", arrays, header | {"rng": state})
    em.load(tmp_path / "m.evermix")
    for value in (-1, 10**6, 2**40):
        part = state
        for key in place[:-1]:
            part = part[key]
        part[place[-1]] = value
        write_and_refuse(tmp_path, arrays, header | {"rng": state})


def test_words_that_are_not_those_of_the_documents(tmp_path, saved):
    """Loops over words follow them without looking, when a fit goes on."""
    from attacks.models import COUNTS, TIMES

    arrays, header = saved("topics")
    words = ("dish", "opens", "table")
    edits = [{f"chain.0.{name}": arrays[f"chain.0.{name}"][:-1] for name in words}]
    edits += [{"chain.0.table": arrays["chain.0.table"] + 100}]
    for edit in edits:
        checkpoint.write(tmp_path / "m.evermix", arrays | edit, header)
        model = em.load(tmp_path / "m.evermix")
        with pytest.raises(ValueError, match="not those of its documents"):
            model.set_params(draws=9).resume(COUNTS, TIMES)


@pytest.mark.slow
def test_every_kind_is_loaded_as_it_was_saved(tmp_path):
    """Nothing above refuses what is whole; saving again gives the same bytes."""
    for name, path in save_all(tmp_path).items():
        before = path.read_bytes()
        em.load(path).save(path)
        assert path.read_bytes() == before, name
    assert set(MODELS) == {path.stem for path in tmp_path.iterdir()}
