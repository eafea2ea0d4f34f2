"""When topics are there, and pictures of it."""

import re
import sys

import numpy as np
import pytest

from evermix.report import lifetimes, topic_curves, topic_overview
from evermix.report.canvas import check_picture

EVOLUTION = np.array(
    [[0.9, 0.1, 0.0, 0.0], [0.5, 0.0, 0.5, 0.0], [0.0, 0.3, 0.7, 0.0], [0.4, 0.0, 0.6, 0.0]]
)
WORDS = [["sea", "ship"], ["sky"], ["a word that is longer than a line may be", "moon"], ["never"]]


def test_spans_are_the_runs_of_times_with_enough_words():
    """Topics come back; births and deaths are the first and the last that is seen of them."""
    found = lifetimes(EVOLUTION, 0.1)
    assert found.spans == [[(0, 1), (3, 3)], [(0, 0), (2, 2)], [(1, 3)], []]
    assert found.births == [[], [2], [], []]
    assert found.deaths == [[], [], [], [1]]


def test_a_share_of_nothing_asks_for_some_words():
    assert lifetimes(EVOLUTION, 0.0).spans[3] == []
    assert lifetimes(EVOLUTION, 1.0).spans == [[], [], [], []]
    empty = lifetimes(np.empty((0, 2)), 0.1)
    assert empty.spans == [[], []] and empty.births == empty.deaths == []


def test_who_is_born_and_does_not_die_is_there(share=0.2):
    """At every time there are as many topics as before, and those born or back, less the gone."""
    rng = np.random.default_rng(0)
    evolution = rng.dirichlet(np.full(6, 0.3), size=20)
    found = lifetimes(evolution, share)
    for t in range(20):
        there = {k for k, runs in enumerate(found.spans) if any(a <= t <= b for a, b in runs)}
        assert there == set(np.flatnonzero(evolution[t] >= share))
        assert set(found.births[t]) <= there
        assert not set(found.deaths[t]) & there


@pytest.mark.parametrize(
    ("times", "n"),
    [
        ([2001, 2002, 2003, 2005], 12),
        ([0.5, 1.5, 2.0, 2.5], 1),
        (["2001-01", "2001-02", "x", "y"], 3),
    ],
)
def test_pictures_of_topics_leave_pyplot_alone(tmp_path, times, n):
    pytest.importorskip("matplotlib")
    before = "matplotlib.pyplot" in sys.modules
    shown = {"times": times, "evolution": EVOLUTION, "words": WORDS, "n": n, "title": "Four"}
    topic_overview(tmp_path / "topics.png", **shown)
    topic_curves(tmp_path / "curves.svg", **shown, predicted=EVOLUTION[::-1])
    assert (tmp_path / "topics.png").read_bytes().startswith(b"\x89PNG")
    assert "svg" in (tmp_path / "curves.svg").read_text()[:200]
    assert ("matplotlib.pyplot" in sys.modules) == before


def test_one_time_and_one_topic_can_be_drawn(tmp_path):
    """Without a warning of axes that have no width, and with the words of the topic."""
    matplotlib = pytest.importorskip("matplotlib")
    shown = {"times": [2001], "evolution": [[1.0]], "words": [["sea"]]}
    with matplotlib.rc_context({"svg.fonttype": "none"}):  # text stays text
        topic_overview(tmp_path / "topics.svg", **shown)
        topic_curves(tmp_path / "curves.svg", **shown)
    for name in ("topics.svg", "curves.svg"):
        texts = re.findall(r"<text[^>]*>([^<]*)</text>", (tmp_path / name).read_text())
        assert texts.count("sea") == 1


@pytest.mark.parametrize("draw", [topic_overview, topic_curves])
def test_shapes_that_do_not_fit_are_refused(tmp_path, draw):
    for times, words in (([1, 2], WORDS), ([1, 2, 3, 4], WORDS[:2])):
        with pytest.raises(ValueError, match=r"evolution must be \(T, K\)"):
            draw(tmp_path / "x.png", times=times, evolution=EVOLUTION, words=words)


def test_files_that_can_hold_no_picture_are_known_before_it_is_drawn(monkeypatch):
    pytest.importorskip("matplotlib")
    check_picture("topics.png")
    for name in ("topics.txt", "topics"):
        with pytest.raises(ValueError, match="pictures are files such as"):
            check_picture(name)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ImportError, match=r"pip install evermix\[plot\]"):
        check_picture("topics.png")
