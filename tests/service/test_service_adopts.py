"""Services whose models begin with files of the library and of the command line."""

import json
import re

import numpy as np
import pytest

import evermix as em
from evermix.estimators.mixture.held import held
from evermix.io import checkpoint
from evermix.service.timeline import Timeline
from helpers import children

WORDS = "invoice refund card login password code parcel courier address".split()


def rows(n, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 2)) + 9.0 * rng.integers(0, 3, size=(n, 1))


def texts(n, seed=0):
    rng = np.random.default_rng(seed)
    return [" ".join(rng.choice(WORDS[3 * k : 3 * k + 3], 6)) for k in rng.integers(3, size=n)]


@pytest.fixture
def fitted(tmp_path):
    """A model of the library with a name and a merge, saved as old.evermix."""
    mix = em.Mixture(random_state=0).fit(rows(600))
    mix.rename(int(mix.cluster_ids_[0]), "first")
    mix.save(tmp_path / "old.evermix")
    return mix


def described(service, name="old"):
    """Return all that a service says of the clusters of a model."""
    clusters = service.get(f"/models/{name}/clusters")[1]
    lineage = service.get(f"/models/{name}/lineage")[1]["lineage"]
    return clusters["rows"], clusters["clusters"], lineage


def test_ids_names_and_lineage_are_those_of_the_file(start, fitted):
    service = start("--model", "old=old.evermix")
    assert "the model old begins with old.evermix: 3 clusters of 600 rows." in service.said()
    n, clusters, lineage = described(service)
    assert n == 600 and {entry["id"] for entry in clusters} == set(fitted.cluster_ids_.tolist())
    names = {entry["id"]: entry["name"] for entry in clusters}
    assert names[int(fitted.cluster_ids_[0])] == "first"
    assert [life["born"] for life in lineage] == list(fitted.lineage_.born)
    about = service.get("/models/old")[1]
    assert about["settings"] == {"kind": "vectors", "imported": "old.evermix"}
    status, error = service.ask("PUT", "/models/old", json.dumps({"kind": "vectors"}))
    assert status == 409 and "it began with the file old.evermix" in error["error"]
    status, error = service.ask(
        "PUT", "/models/b", json.dumps({"kind": "vectors", "imported": "/etc/passwd"})
    )
    assert status == 422 and "imported" in error["error"]


def test_it_goes_on_as_the_library_does(start, tmp_path, fitted):
    service, mix, new = start("--model", "old=old.evermix"), fitted, rows(300, seed=1) + [[0, 4]]
    for at in range(0, 300, 100):
        batch = [{"vector": x.tolist()} for x in new[at : at + 100]]
        answers = service.post("/models/old/observations", batch)[1]["answers"]
        mix.partial_fit(new[at : at + 100])
        assert [answer["cluster"] for answer in answers] == mix.labels_.tolist()
        assert [answer["probability"] for answer in answers] == mix.probabilities_.tolist()
    assert service.get("/models/old")[1]["rows"] == 900
    assert service.stop() == 0
    mix.save(tmp_path / "library.evermix")
    one, two = (
        checkpoint.read(tmp_path / path)[0]
        for path in ("library.evermix", "models/old/model.evermix")
    )
    assert one.keys() == two.keys()
    for key, values in one.items():
        np.testing.assert_array_equal(two[key], values, err_msg=key)


@pytest.mark.parametrize("command", ["fit", "stream"])
def test_texts_of_the_command_line(start, tmp_path, command):
    lines = [json.dumps({"text": text}) for text in texts(400)]
    (tmp_path / "texts.jsonl").write_text("\n".join(lines) + "\n")
    arguments = command, "texts.jsonl", "--checkpoint", "texts.evermix", "--out", "labels.jsonl"
    assert children.run(tmp_path, *arguments) == 0
    service = start("--model", "texts=texts.evermix")
    assert ("400 rows; new words tell nothing." in service.said()) is (command == "fit")
    n, clusters, _ = described(service, "texts")
    saved = em.load(tmp_path / "texts.evermix")
    assert n == 400 and {entry["id"] for entry in clusters} == set(
        saved.cluster_ids_[held(saved)].tolist()
    )
    labels = [json.loads(line) for line in (tmp_path / "labels.jsonl").read_text().splitlines()]
    batch = [{"text": text} for text in texts(400)]
    answers = service.post("/models/texts/predict", batch)[1]["answers"]
    same = [one["cluster"] == two["cluster"] for one, two in zip(labels, answers, strict=True)]
    assert np.mean(same) > 0.95
    assert service.post("/models/texts/observations", batch)[0] == 200
    assert service.get("/models/texts")[1]["rows"] == 800


def test_a_table(start, tmp_path):
    numbers = rows(400)
    table = {
        "size": numbers[:, 0],
        "colour": np.array(list("rgb"))[(numbers[:, 1] // 9 % 3).astype(int)],
    }
    em.Mixture(random_state=0).fit(table).save(tmp_path / "table.evermix")
    service = start("--model", "table=table.evermix")
    row = {"size": 0.5, "colour": "r"}
    assert service.post("/models/table/observations", {"record": row})[0] == 200
    assert service.post("/models/table/observations", {"vector": [0.5, 1.0]})[0] == 422


def test_a_sampler_goes_on_as_a_stream(start, tmp_path):
    mix = em.Mixture(engine=em.Gibbs(), random_state=0).fit(rows(60))
    mix.save(tmp_path / "old.evermix")
    service = start("--model", "old=old.evermix")
    assert service.get("/models/old")[1]["rows"] == 60
    status, answer = service.post("/models/old/observations", {"vector": [0.0, 0.0]})
    assert status == 200 and answer["cluster"] in mix.cluster_ids_


def test_a_model_that_is_there_goes_on(start, tmp_path, fitted):
    service = start("--model", "old=old.evermix")
    assert service.post("/models/old/observations", {"vector": [0.0, 0.0], "id": "a"})[0] == 200
    before = described(service)
    service.kill()
    (tmp_path / "old.evermix").unlink()
    service = start("--model", "old=old.evermix")
    assert "the model old goes on; old.evermix was not read." in service.said()
    assert described(service) == before and before[0] == 601
    again = service.post("/models/old/observations", {"vector": [0.0, 0.0], "id": "a"})[1]
    assert again["duplicate"]


def test_the_checkpoint_of_a_service_keeps_its_ids(start, tmp_path):
    service = start()
    service.make("a", "vectors")
    batch = [{"vector": x.tolist(), "id": f"row {i}"} for i, x in enumerate(rows(200))]
    assert service.post("/models/a/observations", batch)[0] == 200
    before = described(service, "a")
    assert service.stop() == 0
    (tmp_path / "models/a/model.evermix").rename(tmp_path / "a.evermix")
    service = start("--model", "b=a.evermix")
    assert described(service, "b") == before
    answers = service.post("/models/b/observations", batch)[1]["answers"]
    assert all(answer["duplicate"] for answer in answers)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["bad=absent.evermix"], "absent.evermix"),
        (["bad=words.txt"], r"words\.txt"),
        (["bad=half.evermix"], r"half\.evermix"),
        (["bad=topics.evermix"], "topic"),
        (["old.evermix"], "NAME=FILE"),
        (["=old.evermix"], "NAME=FILE"),
        (["../up=old.evermix"], "the name of a model is"),
        (["Old=old.evermix"], "the name of a model is"),
        (["a=old.evermix", "a=old.evermix"], "given twice"),
    ],
)
def test_a_bad_file_is_refused_and_nothing_is_written(tmp_path, fitted, given, message):
    whole = (tmp_path / "old.evermix").read_bytes()
    (tmp_path / "half.evermix").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "words.txt").write_text("these are words")
    if "topics.evermix" in given[0]:
        X = np.random.default_rng(0).poisson(1.0, size=(10, 5))
        em.TopicModel(burn_in=1, draws=1, random_state=0).fit(X).save(tmp_path / "topics.evermix")
    options = [part for entry in ("good=old.evermix", *given) for part in ("--model", entry)]
    assert children.run(tmp_path, "serve", "models", "--port", "0", *options) == 1
    assert re.search(message, (tmp_path / "stderr").read_text())
    assert [path.name for path in (tmp_path / "models").glob("*/*")] == []


def test_killed_at_any_moment_of_its_beginning(tmp_path, fitted):
    """Whatever operation on files a kill hits, the next start has the whole model."""
    from helpers.services import Running

    for number in range(1, 40):
        folder = tmp_path / f"{number}"
        folder.mkdir()
        (folder / "old.evermix").write_bytes((tmp_path / "old.evermix").read_bytes())
        arguments = "serve", "models", "--port", "0", "--model", "old=old.evermix"
        process = children.start(folder, *arguments, die_at=number)
        process.join(2 if number > 12 else 60)
        if process.is_alive():  # it serves: it did all that it does before
            process.kill()
            process.join()
            break
    assert 5 < number < 39
    for path in tmp_path.glob("[0-9]*"):
        plan = path / "models" / "old" / "model.json"
        if plan.exists():
            assert json.loads(plan.read_text())["imported"] == "old.evermix"
            found = em.load(path / "models" / "old" / "model.evermix")
            np.testing.assert_array_equal(found.cluster_ids_, fitted.cluster_ids_)
    for last in (3, number - 1):
        service = Running(tmp_path / f"{last}", "--model", "old=old.evermix")
        assert described(service)[0] == 600 and service.stop() == 0


def test_the_page_of_a_stream_that_was_adopted_has_its_course(start, tmp_path):
    mix = em.Mixture(random_state=0)
    for batch in np.array_split(rows(900), 30):
        mix.partial_fit(batch)
    mix.save(tmp_path / "old.evermix")
    service = start("--model", "old=old.evermix")
    assert service.get("/models/old")[1]["rows"] == 900
    born = service.events("old", mix.lineage_.next_id, after=0)
    assert [event["type"] for event in born].count("birth") >= mix.n_clusters_
    assert all(event["clock"] <= 900 for event in born)
    service.post("/models/old/observations", [{"vector": x.tolist()} for x in rows(100, seed=1)])
    assert service.stop() == 0
    saved = checkpoint.read(tmp_path / "models/old/model.evermix")[1]["extra"]["service"]
    points = Timeline.from_spec(saved["timeline"]).points
    assert (points[0].first, points[-1].rows) == (0, 1000)
    assert sum(sum(point.counts.values()) + point.others for point in points) == 1000
