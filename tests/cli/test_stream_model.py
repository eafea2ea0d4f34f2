"""`evermix stream --model`: a stream that begins with what a fit, or Python, has learnt."""

import json
from pathlib import Path

import numpy as np
import pytest

import evermix as em
from evermix.estimators.files import load_with_extra
from helpers.commands import evermix, write_tickets

SOURCES = {"texts": "texts.jsonl", "vectors": "vectors.npy", "table": "table.csv"}
FEW = "--draws", "2", "--burn-in", "2", "--prior", "hdp"


def write_rows(place, n, seed=0):
    """Write vectors of three clusters, and a table with a unit in a column and a field of dates."""
    rng = np.random.default_rng(seed)
    kinds = rng.integers(0, 3, n)
    np.save(place / "vectors.npy", rng.normal(size=(n, 2)) + 8.0 * kinds[:, None])
    weights = rng.normal(10.0, 1.0, n) + 20.0 * kinds
    lines = [
        f"{w:.2f} kg,{'cow dog owl'.split()[k]},2024-{1 + i // 28:02d}-{1 + i % 28:02d}"
        for i, (w, k) in enumerate(zip(weights, kinds, strict=True))
    ]
    (place / "table.csv").write_text("\n".join(["weight,kind,day", *lines, ""]))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with a model of each kind of rows, and new rows in the folder "new"."""
    place = tmp_path_factory.mktemp("history")
    (place / "new").mkdir()
    for seed, (where, n) in enumerate([(place, 240), (place / "new", 120)]):
        write_tickets(where / "texts.jsonl", n)
        write_rows(where, n, seed)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        for name, rows in SOURCES.items():
            timed = ("--time-field", "day") if name == "table" else ()
            run = ("fit", rows, *timed, "--checkpoint", f"{name}.evermix")
            evermix(*run, "--out", f"{name}.out")
        evermix("topics", "texts.jsonl", *FEW, "--checkpoint", "topics.evermix", "--out", "t.json")
    return place


@pytest.fixture(autouse=True)
def here(folder, monkeypatch):
    monkeypatch.chdir(folder)


def read(path):
    return [json.loads(line) for line in Path(path).read_text().splitlines()]


@pytest.mark.parametrize("name", SOURCES)
def test_known_clusters_keep_their_ids_and_a_resumed_stream_ends_the_same(folder, name):
    new, model = f"new/{SOURCES[name]}", f"{name}.evermix"
    before = (folder / model).read_bytes()
    run = "stream", new, "--batch", "20"
    evermix(*run, "--model", model, "--out", f"{name}.whole")
    evermix(*run, "--model", model, "--out", f"{name}.parts", "--limit", "40")
    evermix(*run, "--out", f"{name}.parts", "--resume")  # without the model
    assert (folder / model).read_bytes() == before
    whole, parts = (folder / f"{name}.{which}" for which in ("whole", "parts"))
    assert whole.read_bytes() == parts.read_bytes() and len(read(whole)) == 120
    fitted, ends = em.load(model), [em.load(f"{path}.evermix") for path in (whole, parts)]
    known, lines = set(fitted.cluster_ids_.tolist()), read(whole)
    assert sum(line["cluster"] in known for line in lines) > 110
    assert not any(line["new"] for line in lines if line["cluster"] in known)
    np.testing.assert_array_equal(ends[0].tally_.stats, ends[1].tally_.stats)
    assert ends[0].tally_.mass.sum() == pytest.approx(360, abs=1e-6)
    if name == "table":  # units and times are read as those of the model
        assert all("since" in line for line in lines if line["new"])
        assert load_with_extra(f"{whole}.evermix")[1]["stream"]["units"] == {"weight": "kg"}


def test_the_command_line_learns_as_python_does(folder):
    evermix("stream", "new/vectors.npy", "--model", "vectors.evermix", "--out", "same.jsonl")
    mix = em.load("vectors.evermix")
    mix.partial_fit(np.load("new/vectors.npy"))
    ours = em.load("same.jsonl.evermix")
    np.testing.assert_array_equal(ours.tally_.stats, mix.tally_.stats)
    assert ours.lineage_.born == mix.lineage_.born
    assert [line["cluster"] for line in read("same.jsonl")] == mix.labels_.tolist()


@pytest.mark.parametrize("model", ["vectors", "table", "early"])
def test_the_summary_tells_clusters_that_came_from_those_that_were_born(folder, model):
    if model == "early":  # nothing was found yet
        em.Mixture(random_state=0).partial_fit(np.load("vectors.npy")[:10]).save("early.evermix")
    came = 0 if model == "early" else len(em.load(f"{model}.evermix").cluster_ids_)
    X = np.load("new/vectors.npy")
    np.save("more.npy", np.vstack([X, X[:60] + [40.0, -40.0]]))
    rows = "new/table.csv" if model == "table" else "more.npy"
    run = "stream", rows, "--out", f"{model}.told", "--limit"
    for more in (["100", "--model", f"{model}.evermix"], ["1000", "--resume"]):
        said = evermix(*run, *more).stderr
        mix = em.load(f"{model}.told.evermix")
        new = sum(int(id) >= came for id in mix.cluster_ids_)
        wanted = f"({came} came with the model, {new} new"
        assert (wanted in said) if came else ("came with" not in said)
    assert model == "table" or mix.lineage_.next_id > came


def test_clusters_that_ended_before_a_stream_are_not_counted(folder):
    mix = em.Mixture(random_state=0).partial_fit(np.load("vectors.npy"))
    ids = mix.cluster_ids_.tolist()
    mix.merge_clusters(ids[:2])
    mix.save("merged.evermix")
    said = evermix(
        "stream", "new/vectors.npy", "--model", "merged.evermix", "--out", "m.told"
    ).stderr
    assert f"({len(ids) - 1} came with the model" in said and "and went" not in said


def test_a_model_that_waits_for_rows_goes_on_whatever_the_batches(folder):
    mix = em.Mixture(random_state=0).partial_fit(np.load("vectors.npy")[:10])
    mix.save("early.evermix")
    for size in (7, 1000):
        run = "stream", "new/vectors.npy", "--model", "early.evermix", "--batch", size
        evermix(*run, "--out", f"early{size}.jsonl")
    few, many = (em.load(f"early{size}.jsonl.evermix") for size in (7, 1000))
    np.testing.assert_array_equal(few.tally_.mass, many.tally_.mass)
    assert few.state_.clock == 130


def test_clusters_of_a_fit_of_many_laps_are_not_new_in_a_stream():
    """The clock of a fit counts its laps, and that of a stream its rows."""
    X = np.load("vectors.npy")
    mix = em.Mixture(engine=em.EP(laps=5), random_state=0).fit(X)
    mix.lineage_.born[-1] = 4 * len(X)  # as if a later lap had found it
    mix.save("laps.evermix")
    known = set(mix.cluster_ids_.tolist())
    evermix("stream", "new/vectors.npy", "--model", "laps.evermix", "--out", "laps.jsonl")
    lines = [line for line in read("laps.jsonl") if line["cluster"] in known]
    assert lines and not any(line["new"] for line in lines)
    cards = em.load("laps.jsonl.evermix").cards()
    assert all(card.age is None or card.age >= 0 for card in cards)


def test_the_checkpoint_of_a_fit_names_the_way_from_history_to_live(folder):
    run = "stream", "new/vectors.npy", "--checkpoint", "vectors.evermix"
    said = evermix(*run, "--resume", status=1).stderr
    way = "evermix stream new/vectors.npy --model vectors.evermix --checkpoint vectors.stream"
    assert way in said
    assert "--model vectors.evermix" in evermix(*run, status=1).stderr
    said = evermix(*run, "--model", "vectors.evermix", "--overwrite", status=1).stderr
    assert "must be different files" in said


@pytest.mark.parametrize(
    ("model", "rows", "options", "wanted"),
    [
        ("topics.evermix", "new/texts.jsonl", (), "holds a topic model, not a mixture"),
        ("vectors.evermix", "new/texts.jsonl", (), "was learnt from rows of 2 numbers"),
        ("texts.evermix", "new/texts.jsonl", ("--hash", "64"), "--hash: the model texts.evermix"),
        ("vectors.evermix", "new/vectors.npy", ("--engine", "sugs"), "--engine: the model"),
    ],
)
def test_what_cannot_go_on_is_refused(folder, model, rows, options, wanted):
    said = evermix("stream", rows, "--model", model, *options, "--out", "no.jsonl", status=1)
    assert wanted in said.stderr and not (folder / "no.jsonl.evermix").exists()
