"""Texts without words to count: what is said, and what can be done."""

import json

import pytest

from helpers.commands import evermix, write_tickets

STOPPED = ["the of and", "this is the", "from the"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def said(command, texts, *options):
    with open("texts.jsonl", "w") as file:
        for text in texts:
            file.write(json.dumps({"text": text}) + "\n")
    run = ("--prior", "hdp") if command == "topics" else ()
    return evermix(command, "texts.jsonl", "--out", "out", *run, *options, status=1).stderr


@pytest.mark.parametrize("command", ["stream", "fit", "topics"])
def test_only_what_can_help_is_advised(folder, command):
    one = said(command, ["the pump leaks oil"])
    assert "only 1 text was given: give more texts." in one
    stopped = said(command, STOPPED)
    assert "in 3 texts but stop words, which are left out: --stop-words none keeps them." in stopped
    empty = said(command, ["", "  ", "!"])
    assert "expected words, found none in 3 texts." in empty
    for text in one, stopped, empty:
        assert not any(word in text for word in ("--warmup", "--hash", "min_count", "None"))
    rare = said(command, ["pump leaks", "seat bolt"])
    assert "found none among 4 different words" in rare and "--hash" in rare
    assert "--warmup" not in rare  # all texts were read
    assert ("--min-df" in rare) == (command == "topics")


def test_a_longer_warm_up_is_advised_where_there_are_more_texts(folder):
    texts = ["pump leaks", "seat bolt", "pump bolt"]
    assert "a larger --warmup, or --hash" in said("stream", texts, "--warmup", 2)


def test_texts_without_a_known_word_are_counted(folder):
    """Also over a resume; the stream of others is silent."""
    write_tickets("texts.jsonl")
    run = "--checkpoint", "m.evermix", "--out"
    shown = evermix("stream", "texts.jsonl", *run, "out").stderr
    assert "no counted word" not in shown
    with open("empty.jsonl", "w") as file:
        file.write(json.dumps({"text": ""}) + "\n" + json.dumps({"text": "the"}) + "\n")
    shown = evermix("stream", "empty.jsonl", *run, "more", "--resume").stderr
    assert "2 rows have no counted word: their clusters mean nothing" in shown
    shown = evermix("predict", "m.evermix", "empty.jsonl", "--out", "p").stderr
    assert "2 rows have no counted word: their clusters mean nothing" in shown


@pytest.mark.filterwarnings("default")
def test_a_cap_is_warned_of_once(folder):
    """Not by reviews too, whose searches are not what the user has asked for."""
    write_tickets("texts.jsonl")
    said = evermix("stream", "texts.jsonl", "--max-clusters", 2, "--out", "out").stderr
    assert said.count("K reached max_clusters") == 1
    assert "Raise --max-clusters." in said and "concentration" not in said
