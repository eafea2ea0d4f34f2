"""What newcomers stumble over is said plainly: what was counted, dropped, missed or read twice."""

import re
import shutil

import pytest

import evermix as em
from evermix.estimators.mixture.held import lasting
from helpers.commands import evermix, write_tickets


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A working directory with texts."""
    monkeypatch.chdir(tmp_path)
    write_tickets("texts.jsonl")
    return tmp_path


@pytest.mark.parametrize("command", ["stream", "fit"])
def test_stop_words_are_no_unknown_words(folder, command):
    evermix(command, "texts.jsonl", "--out", "out", "--checkpoint", "m.evermix", "--quiet")
    line = '{"text": "the invoice is with you and the zeppelin"}\n'
    (folder / "new.jsonl").write_text(line)
    said = evermix("predict", "m.evermix", "new.jsonl", "--out", "new.out").stderr
    assert "50.0% of their words are unknown" in said


@pytest.mark.parametrize("command", ["stream", "fit"])
def test_stop_words_can_be_chosen(folder, command):
    """And stay what they were where a run goes on, also for words that come later."""
    with (folder / "texts.jsonl").open("a") as file:
        file.writelines('{"text": "the bill is on fire, the system too"}\n' for _ in range(5))
    run = [command, "texts.jsonl", "--checkpoint", "m.evermix", "--quiet", "--out", "out"]
    evermix(*run)
    assert not {"bill", "fire", "the"} & set(em.load("m.evermix").column_names_)
    evermix(*run, "--stop-words", "function", "--overwrite")
    words = set(em.load("m.evermix").column_names_)
    assert {"bill", "fire", "system"} <= words and not {"the", "is", "on", "too"} & words
    assert "cannot change" in evermix(*run, "--stop-words", "none", "--resume", status=1).stderr
    if command == "stream":
        with (folder / "texts.jsonl").open("a") as file:
            file.writelines('{"text": "the amount of the deposit"}\n' for _ in range(5))
        evermix(*run, "--resume")
        words = set(em.load("m.evermix").column_names_)
        assert {"amount", "deposit"} <= words and not {"the", "of"} & words


def test_every_cluster_that_was_born_is_accounted_for(folder):
    (folder / "more.jsonl").write_text(  # rows of their own words, which no other row ever has
        "".join(f'{{"text": "{w} {w} {w}"}}\n' for w in ("zebra", "yacht", "xenon", "walrus"))
    )
    run = ["--warmup", 4, "--out", "out", "--checkpoint", "m.evermix"]
    said = evermix("stream", "more.jsonl", "texts.jsonl", *run).stderr
    found = re.search(r"(\d+) clusters[^;(]*(?: \((\d+) others? came and went\))?; \d+ words", said)
    left, gone = (int(n or 0) for n in found.groups())
    mix = em.load("m.evermix")
    assert left == mix.n_clusters_ and left + gone == len(lasting(mix.lineage_))


@pytest.mark.parametrize("command", ["stream", "fit"])
def test_a_run_that_has_nothing_to_go_on_from_warns(folder, command):
    run = [command, "texts.jsonl", "--out"]
    evermix(*run, "a.jsonl", "--checkpoint", "week.evermix")
    said = evermix(*run, "b.jsonl", "--checkpoint", "wek.evermix", "--resume").stderr
    assert "warning: there is no checkpoint wek.evermix" in said
    assert "starts from the beginning" in said and "may be week.evermix." in said


def test_files_that_were_read_under_another_name_are_noticed(folder):
    run = ["--checkpoint", "m.evermix", "--out"]
    evermix("stream", "texts.jsonl", *run, "a.jsonl")
    shutil.copy("texts.jsonl", "copy.jsonl")
    said = evermix("stream", "copy.jsonl", *run, "b.jsonl", "--resume").stderr
    assert "copy.jsonl holds the same bytes as" in said and "learnt once more" in said
    write_tickets("new.jsonl", 30)
    assert "warning" not in evermix("stream", "new.jsonl", *run, "c.jsonl", "--resume").stderr
