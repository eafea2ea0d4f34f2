"""``evermix info`` shows cards, ``explain`` says why, and ``edit`` changes clusters."""

import json
import subprocess
import sys

import numpy as np
import pytest
from scipy import sparse

import evermix as em
from evermix.estimators.files import load_any, save
from evermix.io.locks import FileLocks
from helpers.commands import TICKETS, evermix, write_tickets


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_tickets("texts.jsonl")
    rng = np.random.default_rng(0)
    with open("people.csv", "w") as file:
        file.write("age,city\n")
        for i in range(200):
            file.write(f"{rng.normal(30 + 40 * (i % 2)):.1f},{('Rome', 'Oslo')[i % 2]}\n")
    return tmp_path


def test_info_shows_cards_of_texts(folder):
    evermix("stream", "texts.jsonl", "--out", "out", "--checkpoint", "t.evermix", "--quiet")
    found = json.loads(evermix("info", "t.evermix", "--json").stdout)["clusters"]
    mix = em.load("t.evermix")
    assert [cluster["id"] for cluster in found] == [card.id for card in mix.cards()]
    for cluster in found:
        assert {"size", "share", "recent_share", "trend", "born", "age", "merged"} <= set(cluster)
        assert any(set(cluster["words"]) <= set(topic.split()) for topic in TICKETS)
        assert cluster["traits"][0]["column"] == cluster["words"][0]
        assert set(cluster["examples"][0]["values"]) <= set(" ".join(TICKETS).split())
        assert cluster["nearest"] == []  # subjects share no words
    shown = evermix("info", "t.evermix").stdout
    assert "words that set it apart" in shown and "lately" in shown


@pytest.mark.parametrize("command", [("stream",), ("fit",), ("stream", "--hash", 512)])
def test_models_of_texts_know_their_words_in_python(folder, command):
    evermix(*command, "texts.jsonl", "--out", "out", "--checkpoint", "t.evermix", "--quiet")
    shown = json.loads(evermix("info", "t.evermix", "--json").stdout)["clusters"]
    mix = em.load("t.evermix")
    for card, cluster in zip(mix.cards(), shown, strict=True):
        assert [trait.column for trait in card.traits] == cluster["words"]
        assert mix.card(card.id).traits == card.traits
    row = np.zeros(mix.n_features_in_)
    row[mix.column_names_.index(shown[0]["words"][0])] = 5.0
    why = {each.name for each in mix.explain(row).contributions}
    assert why == {"(size)", shown[0]["words"][0]}
    assert shown[0]["words"][0] in mix._repr_html_()
    own = [f"word {d}" for d in range(mix.n_features_in_)]
    assert mix.cards(names=own)[0].traits[0].column.startswith("word ")
    mix.save("again.evermix")
    assert em.load("again.evermix").cards() == mix.cards()


def test_columns_that_are_new_or_used_anew_have_no_word_of_the_file(folder):
    evermix("stream", "texts.jsonl", "--out", "out", "--checkpoint", "t.evermix", "--quiet")
    mix = em.load("t.evermix")
    word, n = mix.column_names_[0], mix.n_features_in_
    rows = np.zeros((3, 2 * n))
    rows[:, -1] = 4.0
    mix.partial_fit(sparse.csr_matrix(rows))
    assert mix.n_features_in_ > n and mix.column_names_[0] == word
    assert mix.column_names_[n:] == [""] * (mix.n_features_in_ - n)
    assert mix.forget_columns([0]).column_names_[0] == ""


def test_models_whose_words_are_broken_are_refused(folder):
    evermix("fit", "texts.jsonl", "--out", "out", "--checkpoint", "t.evermix", "--quiet")
    mix, extra = load_any("t.evermix")
    save(mix, "t.evermix", extra | {"text": {"type": "runes"}})
    with pytest.raises(em.CheckpointError, match="how its words are counted"):
        em.load("t.evermix")


def test_info_shows_cards_of_tables(folder):
    evermix("fit", "people.csv", "--out", "out", "--checkpoint", "p.evermix", "--quiet")
    found = json.loads(evermix("info", "p.evermix", "--json").stdout)["clusters"]
    assert {trait["level"] for each in found for trait in each["traits"]} == {None, "Rome", "Oslo"}
    assert "city = Oslo: 100 % (elsewhere 0 %)" in evermix("info", "p.evermix").stdout


def test_neighbours_are_called_by_their_names(folder):
    evermix("fit", "people.csv", "--out", "out", "--checkpoint", "p.evermix", "--quiet")
    evermix("edit", "p.evermix", "rename", 0, "the young")
    found = json.loads(evermix("info", "p.evermix", "--json").stdout)["clusters"]
    near = next(each["nearest"][0] for each in found if each["id"] == 1)
    assert near["name"] == "the young" and near["id"] == 0
    assert evermix("info", "p.evermix").stdout.count("young") == 2


def test_explain_says_why_in_words(folder):
    evermix("stream", "texts.jsonl", "--out", "out", "--checkpoint", "t.evermix", "--quiet")
    shown = evermix("explain", "t.evermix", "texts.jsonl", "--limit", 2).stdout
    assert shown.startswith("T0: cluster ") and "T1: " in shown and "T2" not in shown
    assert "log odds" in shown and "invoice" in shown
    lines = evermix("explain", "t.evermix", "texts.jsonl", "--json", "--limit", 5).stdout
    found = [json.loads(line) for line in lines.splitlines()]
    assert [each["id"] for each in found] == ["T0", "T1", "T2", "T3", "T4"]
    with open("out") as file:
        answers = [json.loads(line)["cluster"] for line in file][:5]
    for each, answer in zip(found, answers, strict=True):
        assert each["cluster"] == answer
        assert sum(c["log_odds"] for c in each["contributions"]) == pytest.approx(each["log_odds"])


def test_explain_names_columns_and_levels(folder):
    evermix("fit", "people.csv", "--out", "out", "--checkpoint", "p.evermix", "--quiet")
    shown = evermix("explain", "p.evermix", "people.csv", "--limit", 1, "--against", -1).stdout
    assert "not a new cluster" in shown and "city = Rome" in shown and "age = " in shown
    assert (
        "no cluster 7"
        in evermix("explain", "p.evermix", "people.csv", "--against", 7, status=1).stderr
    )
    one = "explain", "p.evermix", "people.csv", "--limit", 1
    other = json.loads(evermix(*one, "--json").stdout)["other"]
    evermix("edit", "p.evermix", "rename", other, "the old")
    assert f"not cluster {other} (the old)" in evermix(*one, "--against", "the old").stdout
    assert "Did you mean 'the old'?" in evermix(*one, "--against", "the olt", status=1).stderr


def test_explain_picks_rows_by_their_ids(folder):
    evermix("stream", "texts.jsonl", "--out", "out", "--checkpoint", "t.evermix", "--quiet")
    shown = evermix("explain", "t.evermix", "texts.jsonl", "--id", "T205", "--id", "T17").stdout
    assert shown.startswith("T17: cluster ") and shown.count("T205: cluster ") == 1
    evermix("fit", "people.csv", "--out", "p.csv", "--checkpoint", "p.evermix", "--quiet")
    shown = evermix("explain", "p.evermix", "people.csv", "--id", 150, "--json").stdout
    assert [json.loads(line)["id"] for line in shown.splitlines()] == [150]
    said = evermix("explain", "t.evermix", "texts.jsonl", "--id", "T0", "--id", "X", status=1)
    assert "no row with the id X. Ids are what `evermix predict` writes" in said.stderr
    assert "T0: cluster " in said.stdout
    both = "explain", "t.evermix", "texts.jsonl", "--id", "T0", "--limit", 3
    assert "--id and --limit exclude each other" in evermix(*both, status=1).stderr


def test_explain_says_which_rows_look_new(folder):
    evermix("fit", "people.csv", "--out", "out", "--checkpoint", "p.evermix", "--quiet")
    with open("odd.csv", "w") as file:
        file.write("age,city\n900,Lima\n")
    novelty = json.loads(evermix("predict", "p.evermix", "odd.csv").stdout)["novelty"]
    shown = evermix("explain", "p.evermix", "odd.csv").stdout
    assert shown.startswith(f"row 0: looks new (novelty {novelty:.3g}): a new cluster rather than ")
    assert "age = 900" in shown.splitlines()[1]
    shown = evermix("explain", "p.evermix", "odd.csv", "--against", 0).stdout
    assert shown.startswith(f"row 0: looks new (novelty {novelty:.3g})")
    found = json.loads(evermix("explain", "p.evermix", "odd.csv", "--json").stdout)
    assert found["novelty"] == pytest.approx(novelty) and found["log_odds"] < 0
    assert abs(sum(c["log_odds"] for c in found["contributions"]) - found["log_odds"]) < 1e-9


def test_texts_of_unknown_words_look_new(folder):
    evermix("fit", "texts.jsonl", "--out", "out", "--checkpoint", "t.evermix", "--quiet")
    with open("odd.jsonl", "w") as file:
        file.write(json.dumps({"text": "zebra quagga okapi gnu " * 5}))
    for against in [], ["--against", -1]:
        shown = evermix("explain", "t.evermix", "odd.jsonl", *against).stdout
        assert "looks new (novelty " in shown and "cluster " in shown
    assert "looks new" not in evermix("explain", "t.evermix", "texts.jsonl").stdout


# ---- changes by hand ---------------------------------------------------------------------------

STREAM = ("stream", "texts.jsonl", "--out", "out", "--checkpoint", "t.evermix", "--quiet")


def lines(path):
    with open(path) as file:
        return [json.loads(line) for line in file]


def test_names_are_in_cards_and_output(folder):
    evermix(*STREAM, "--limit", 200, "--batch", 100)
    first, other = (line["cluster"] for line in lines("out")[:2])
    said = evermix("edit", "t.evermix", "rename", first, "money", "matters").stderr
    assert f"cluster {first} is called money matters" in said
    assert "money matters" in evermix("info", "t.evermix").stdout
    found = json.loads(evermix("info", "t.evermix", "--json").stdout)["clusters"]
    assert {"money matters"} == {cluster["name"] for cluster in found if cluster["name"]}
    assert "(money matters)" in evermix("explain", "t.evermix", "texts.jsonl", "--limit", 1).stdout
    evermix(*STREAM, "--resume")
    assert len(lines("out")) == 300
    for line in lines("out")[200:]:
        assert line.get("name") == ("money matters" if line["cluster"] == first else None)
    evermix("predict", "t.evermix", "texts.jsonl", "--out", "answers", "--quiet")
    assert lines("answers")[0]["name"] == "money matters"
    assert set(lines("answers")[1]["name"].split(", ")) <= set(TICKETS[1].split())
    assert "has no name" in evermix("edit", "t.evermix", "rename", first).stderr
    evermix("edit", "t.evermix", "rename", first, "money")
    said = evermix("edit", "t.evermix", "rename", "money", "bills").stderr
    assert said.startswith(f"evermix: cluster {first} is called bills")
    assert "The names are 'bills'" in evermix("edit", "t.evermix", "pin", "money", status=1).stderr
    assert "pinned: bills" in evermix("edit", "t.evermix", "pin", "bills").stderr
    evermix("edit", "t.evermix", "unpin", first)
    evermix("edit", "t.evermix", "rename", "bills")
    cluster = json.loads(evermix("info", "t.evermix", "--json").stdout)["clusters"][0]
    assert cluster["name"] is None


def test_a_stream_goes_on_with_what_was_merged_and_split(folder):
    evermix(*STREAM, "--limit", 200, "--batch", 100)
    a, b, c = (line["cluster"] for line in lines("out")[:3])
    assert len({a, b, c}) == 3
    assert f"are cluster {a} now, pinned" in evermix("edit", "t.evermix", "merge", a, b).stderr
    evermix(*STREAM, "--resume")
    assert {line["cluster"] for line in lines("out")[200:]} == {a, c}
    said = evermix("edit", "t.evermix", "split", a, "--rows", "texts.jsonl", "--loose").stderr
    new = em.load("t.evermix").lineage_.next_id - 1
    assert f"cluster {a} has become {a} and {new}" in said and "pinned" not in said
    assert "pinned: " in evermix("edit", "t.evermix", "pin", new, c).stderr
    assert em.load("t.evermix").lineage_.hand.pinned == {a, new, c}
    evermix("edit", "t.evermix", "unpin", c)
    assert em.load("t.evermix").lineage_.hand.pinned == {a, new}


def test_the_last_edit_of_a_file_can_be_undone(folder):
    evermix(*STREAM, "--limit", 200, "--batch", 100)
    a, b, _ = (line["cluster"] for line in lines("out")[:3])
    described = json.loads(evermix("info", "t.evermix", "--json").stdout)["clusters"]
    assert all(each["name"] is each["parent"] is None for each in described)
    before = (folder / "t.evermix").read_bytes()
    for edit in (["merge", a, b], ["split", a, "--rows", "texts.jsonl"], ["rename", a, "bills"]):
        evermix("edit", "t.evermix", *edit)
        assert f"undone: {edit[0]} of {a}" in evermix("edit", "t.evermix", "undo").stderr
        assert (folder / "t.evermix").read_bytes() == before
    assert "nothing to undo" in evermix("edit", "t.evermix", "undo", status=1).stderr
    evermix("edit", "t.evermix", "rename", b, "jams")
    evermix("edit", "t.evermix", "pin", "jams")
    assert f"undone: pin of {b} (jams)." in evermix("edit", "t.evermix", "undo").stderr
    said = evermix("edit", "t.evermix", "merge", a, b).stderr
    assert "`evermix edit t.evermix undo` takes it back, until the next change or row." in said
    assert f"undone: merge of {a}, {b} (jams)." in evermix("edit", "t.evermix", "undo").stderr
    evermix("edit", "t.evermix", "merge", a, b)
    evermix(*STREAM, "--resume")
    assert "until rows are learnt" in evermix("edit", "t.evermix", "undo", status=1).stderr


def test_a_whole_number_is_an_id_even_if_a_cluster_is_called_so(folder):
    evermix(*STREAM)
    mix = em.load("t.evermix")
    a, b = mix.cluster_ids_.tolist()[:2]
    mix.lineage_.hand.names[a] = str(b)  # as older files may hold it
    mix.save("old.evermix")
    evermix("edit", "old.evermix", "merge", a, b)
    assert em.load("old.evermix").lineage_.current([b]).tolist() == [a]


def test_edits_that_fail_change_nothing(folder):
    evermix(*STREAM)
    before = (folder / "t.evermix").read_bytes()
    for arguments, complaint in [
        (["merge", 0], "two or more"),
        (["merge", 0, 99], "no cluster 99"),
        (["split", "x"], "no cluster has the name 'x'"),
        (["split", 0, 1], "one cluster"),
        (["rename", 0, "\n"], "name of a cluster"),
        (["rename", 0, ""], "must not be empty. `evermix edit t.evermix rename 0` takes it away"),
        (["rename", 0, "a\nb"], "1 to 200 printable letters"),
        (["rename", 0, 1], "must not be a whole number"),
        (["pin", 77], "no cluster 77"),
        (["split", 0, "--rows", "t.evermix"], "t.evermix"),
    ]:
        assert complaint in evermix("edit", "t.evermix", *arguments, status=1).stderr
        assert (folder / "t.evermix").read_bytes() == before
    assert sorted(path.name for path in folder.iterdir() if path.name.startswith(".")) == []


def test_a_model_that_is_being_written_is_not_edited(folder):
    evermix(*STREAM)
    with FileLocks() as locks:
        locks.add(folder / "t.evermix", replaced=True)
        command = [sys.executable, "-m", "evermix", "edit", "t.evermix", "pin", "0"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 1 and "t.evermix" in done.stderr
    assert not em.load("t.evermix").lineage_.hand


def test_links_of_rows_are_options_of_the_sampler(folder):
    np.save("points.npy", np.random.default_rng(0).normal(size=(30, 2)))
    command = ("fit", "points.npy", "--out", "out", "--checkpoint", "p.evermix", "--quiet")
    links = ("--must-link", "0,1", "--must-link", "1,2", "--cannot-link", "0,3")
    evermix(*command, "--engine", "gibbs", "--sweeps", 6, "--family", "diagonal", *links)
    labels = [line["cluster"] for line in lines("out")]
    assert labels[0] == labels[1] == labels[2] != labels[3]
    assert em.load("p.evermix").engine.must_link == ((0, 1), (1, 2))
    again = (*command, "--overwrite", "--engine")
    assert "does not belong to" in evermix(*again, "ep", *links, status=1).stderr
    said = evermix(*again, "gibbs", "--must-link", "x", status=1).stderr
    assert "links are pairs of rows such as 0,3, got x" in said


def test_a_cluster_that_was_merged_by_hand_names_its_parts(folder):
    """With the names that they had; what was merged before is named too, until it is split."""
    rng = np.random.default_rng(0)
    np.save("four.npy", rng.normal(size=(800, 2)) + 9 * rng.integers(4, size=(800, 1)))
    evermix("fit", "four.npy", "--out", "o.csv")
    evermix("edit", "four.evermix", "rename", 1, "odd ones")
    evermix("edit", "four.evermix", "merge", 0, 1)
    evermix("edit", "four.evermix", "merge", 0, 2)
    shown = evermix("info", "four.evermix").stdout
    assert "merged" in shown and "1 (odd ones)" in shown
    (merged,) = (
        cluster
        for cluster in json.loads(evermix("info", "four.evermix", "--json").stdout)["clusters"]
        if "parts" in cluster
    )
    assert merged["id"] == 0 and merged["parts"] == ["1 (odd ones)", "2"]
    mix = em.load("four.evermix")
    assert mix.card(0).parts == (1, 2) and mix.card(3).parts == ()
    evermix("report", "four.evermix")
    assert "1 (odd ones)" in (folder / "four.html").read_text()
    mix.split_cluster(0, np.load("four.npy"))
    assert mix.card(0).parts == ()
