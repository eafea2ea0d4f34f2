"""When topics are there, and pictures of it."""

import itertools
import re
import sys

import numpy as np
import pytest

from evermix.estimators.plain_words import topics_in_words
from evermix.report import changes, lifetimes, topic_curves, topic_overview
from evermix.report.canvas import check_picture, save_picture
from evermix.report.lifetimes import caution, rank_changes
from evermix.report.shares import percent
from helpers.variants import slow_but

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


def test_births_and_deaths_come_with_a_caution():
    """Where there are none, there is nothing to be cautious of."""
    pytest.importorskip("matplotlib")
    about = {"times": [1, 2, 3, 4], "words": WORDS}
    moves = topic_overview(**about, evolution=EVOLUTION)[1]
    assert moves.get_xlabel().split() == caution().split()  # in two lines
    moves = topic_overview(**about, evolution=EVOLUTION, documents=[90, 900, 10, 300])[1]
    assert moves.get_xlabel().split() == f"of 1,300 documents: {caution()}".split()
    assert topic_overview(**about, evolution=np.full((4, 4), 0.25))[1].get_xlabel() == ""


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
    save_picture(tmp_path / "topics.png", topic_overview(**shown))
    curves = topic_curves(**shown, predicted=EVOLUTION[::-1])
    save_picture(tmp_path / "curves.svg", curves)
    assert len(curves) == min(n, 3)  # one is never there
    assert (tmp_path / "topics.png").read_bytes().startswith(b"\x89PNG")
    assert "svg" in (tmp_path / "curves.svg").read_text()[:200]
    assert ("matplotlib.pyplot" in sys.modules) == before


def test_one_time_and_one_topic_can_be_drawn(tmp_path):
    """Without a warning of axes that have no width, and with the words of the topic."""
    matplotlib = pytest.importorskip("matplotlib")
    shown = {"times": [2001], "evolution": [[1.0]], "words": [["sea"]]}
    with matplotlib.rc_context({"svg.fonttype": "none"}):  # text stays text
        save_picture(tmp_path / "topics.svg", topic_overview(**shown))
        save_picture(tmp_path / "curves.svg", topic_curves(**shown))
    for name in ("topics.svg", "curves.svg"):
        texts = re.findall(r"<text[^>]*>([^<]*)</text>", (tmp_path / name).read_text())
        assert texts.count("sea") == 1


@pytest.mark.parametrize("draw", [topic_overview, topic_curves])
def test_shapes_that_do_not_fit_are_refused(draw):
    for times, words in (([1, 2], WORDS), ([1, 2, 3, 4], WORDS[:2])):
        with pytest.raises(ValueError, match=r"evolution must be \(T, K\)"):
            draw(times=times, evolution=EVOLUTION, words=words)
    with pytest.raises(ValueError, match="shares above 0"):
        draw(times=[1, 2], evolution=np.zeros((2, 4)), words=WORDS)


def _texts(axes):
    """The title of some axes, what is below and beside them, and their legend, as boxes."""
    legend = axes.get_legend()
    texts = [axes._left_title, axes.xaxis.label, *axes.get_yticklabels()]
    texts += legend.get_texts() if legend else []
    return [text.get_window_extent() for text in texts if text.get_text()]


@pytest.mark.parametrize("draw", [topic_overview, topic_curves])
@pytest.mark.parametrize("word", ["i", "mmmmmmmmm", "words of several parts"])
@pytest.mark.parametrize("added", slow_but([1], [0, 1, 5]))
def test_no_text_covers_another(draw, word, added):
    pytest.importorskip("matplotlib")
    K = 20
    evolution = np.random.default_rng(0).dirichlet(np.full(K, 0.4), size=6)
    words = [[f"{word}{k}"] * 5 for k in range(K)]
    about = {"documents": [40_000] * 6, "title": "Topics", "n": 15, "added": added}
    panels = draw(times=range(6), evolution=evolution, words=words, **about)
    figure = panels[0].figure
    figure.draw_without_rendering()
    boxes = [box for axes in panels for box in _texts(axes)]
    boxes += [figure._suptitle.get_window_extent()]
    boxes += [text.get_window_extent() for legend in figure.legends for text in legend.get_texts()]
    for i, box in enumerate(boxes):
        assert box.x0 >= 0 and box.x1 <= figure.bbox.x1
        assert not any(box.overlaps(other) for other in boxes[i + 1 :])


@pytest.mark.parametrize("size", [(10, 4), (6, 4), (14.5, 3)])
@pytest.mark.parametrize("times", [range(2001, 2007), [f"{y}-01-31" for y in range(2001, 2007)]])
def test_no_text_covers_another_in_a_small_figure(size, times):
    """Which is made higher if need be."""
    pytest.importorskip("matplotlib")
    from matplotlib.figure import Figure

    evolution = np.random.default_rng(0).dirichlet(np.full(9, 0.4), size=6)
    words = [[f"mmmmmmmmm{k}"] * 5 for k in range(9)]
    about = {"documents": [40_000] * 6, "title": "My letters", "n": 4, "figure": Figure(size)}
    panels = topic_overview(times=times, evolution=evolution, words=words, **about)
    figure = panels[0].figure
    figure.draw_without_rendering()
    boxes = [box for axes in panels for box in _texts(axes)]
    boxes += [figure._suptitle.get_window_extent()]
    assert figure.get_figwidth() == size[0]
    for i, box in enumerate(boxes):
        assert box.x0 >= 0 and box.x1 <= figure.bbox.x1 and box.y0 >= 0
        assert not any(box.overlaps(other) for other in boxes[i + 1 :])
    for axes in panels:
        low, high = axes.get_xlim()
        ticks = [t for t in axes.xaxis.get_major_ticks() if low <= t.get_loc() <= high]
        ends = [tick.label1.get_window_extent() for tick in ticks]
        assert all(a.x1 < b.x0 for a, b in itertools.pairwise(sorted(ends, key=lambda e: e.x0)))


@pytest.mark.parametrize("title", ["", "Topics of all papers"])
@pytest.mark.parametrize("word", ["i", "mmmmmmmmm"])
def test_what_is_below_births_and_deaths_fits(title, word):
    pytest.importorskip("matplotlib")
    evolution = np.random.default_rng(0).dirichlet(np.full(20, 0.4), size=6)
    about = {"documents": [400_000] * 6, "title": title, "share": 0.05}
    words = [[f"{word}{k}"] * 5 for k in range(20)]
    panels = topic_overview(times=range(2001, 2007), evolution=evolution, words=words, **about)
    figure = panels[1].figure
    figure.draw_without_rendering()
    label, own = panels[1].xaxis.label, panels[1].bbox
    assert "chance" in label.get_text()
    box = label.get_window_extent()
    assert box.y0 >= 0 and own.x0 <= box.x0 and box.x1 <= own.x1


@pytest.mark.parametrize(
    "times",
    [
        [2001, 2002, 2005, 2006, 2008],
        ["2001-01", "2001-02", "2001-05", "2001-06", "2001-08"],
        ["2001-01-30", "2001-01-31", "2001-02-03", "2001-02-04", "2001-02-06"],
    ],
)
def test_times_without_documents_are_left_blank(times):
    pytest.importorskip("matplotlib")
    shown = {"times": times, "evolution": np.full((5, 2), 0.5), "words": [["sea"], ["sky"]]}
    curve = topic_curves(**shown)[0].lines[0]
    assert np.isnan(curve.get_ydata()).tolist() == [0, 0, 1, 0, 0, 1, 0]
    stack, _, lines = topic_overview(**shown)
    spans = [np.ptp(some.get_paths()[0].vertices[:, 0]) for some in stack.collections]
    assert spans == [1.0] * 4  # two runs of two times, of two topics
    assert len(stack.patches) == len(lines.patches) == 2  # a bar of each at the time that is alone
    assert [np.ptp(line.get_xdata()) for line in lines.lines] == [1.0, 1.0] * 2


def test_the_topics_that_changed_are_shown_and_others_counted():
    """A large topic that stays as it is gives way to small ones that come and go."""
    pytest.importorskip("matplotlib")
    evolution = [[0.8, 0.16, 0.04], [0.8, 0.1, 0.1], [0.8, 0.05, 0.15]]
    shown = {"times": [1, 2, 3], "evolution": evolution, "words": [["a"], ["b"], ["c"]], "n": 2}

    def named(axes):
        return [label.get_text().split("\n")[0] for label in axes.get_yticklabels()]

    stack, _, courses = topic_overview(**shown)
    assert named(courses) == ["b", "c"]
    assert "not shown: 1 other, 80 % of the words" in stack.get_xlabel()
    assert stack.get_ylim()[1] < 0.25  # no place is left blank for others
    assert named(topic_overview(**shown, by="size")[2]) == ["b", "a"]


@pytest.mark.parametrize("draw", [topic_overview, topic_curves])
@pytest.mark.parametrize(("added", "edge"), [(0, None), (1, 2007.0), (3, 2003.0), (5, None)])
def test_a_line_stands_before_times_that_were_added(draw, added, edge):
    """Midway between times with documents; where all were added, nothing was fitted before."""
    pytest.importorskip("matplotlib")
    evolution = np.random.default_rng(0).dirichlet(np.ones(4), size=5)
    evolution[1] = 0.0
    times = [2001, 2002, 2005, 2006, 2008]
    for axes in draw(times=times, evolution=evolution, words=WORDS, added=added):
        dashed = [line.get_xdata() for line in axes.lines if line.is_dashed()]
        assert dashed == ([] if edge is None else [[edge, edge]])
    note = axes.figure.axes[0].get_xlabel()
    assert ("added after the fit" in note) == (draw is topic_overview and edge is not None)


def test_times_of_few_documents_are_left_out():
    pytest.importorskip("matplotlib")
    shown = {"times": [1, 2, 3, 4], "evolution": EVOLUTION, "words": WORDS}
    assert len(topic_curves(**shown, documents=[1, 9, 9, 9])[0].lines[0].get_xdata()) == 3
    assert len(topic_curves(**shown, documents=[1, 1, 1, 9])[0].lines[0].get_xdata()) == 4


def test_births_want_less_than_half_before_and_documents():
    slow = np.array([[0.0], [0.006], [0.012], [0.02]])
    assert lifetimes(slow, 0.01).births == [[], [], [0], []]
    assert lifetimes(slow + 0.0035, 0.01).births == [[], [], [], []]
    assert lifetimes(slow[::-1], 0.01).deaths == [[], [], [0], []]
    assert lifetimes(slow, 0.01, documents=[9, 9, 1, 9]).births == [[], [], [], [0]]
    assert lifetimes(slow, 0.01, documents=[1, 1, 9, 9]).births == [[], [], [], []]
    np.testing.assert_allclose(changes(np.hstack([slow, -slow + 0.02])), [0.02, -0.02])
    assert changes(slow, documents=[1, 1, 1, 9]).tolist() == [0.0]


def test_one_document_of_a_thin_year_is_no_topic_that_changed_most():
    evolution = np.array([[0.95, 0.05, 0.0], [0.91, 0.0, 0.09], [0.89, 0.11, 0.0]])
    documents = [200, 13, 200]
    ranks = rank_changes(evolution, documents)
    assert ranks.argsort().tolist() == [2, 0, 1] and np.ptp(evolution, axis=0).argmax() == 1
    assert ranks[2] < 0.03 < ranks[0] == pytest.approx(0.06)
    np.testing.assert_allclose(rank_changes(evolution), np.ptp(evolution, axis=0))


def test_the_first_time_after_a_gap_has_a_label():
    pytest.importorskip("matplotlib")
    times = [*map(str, range(2008, 2015)), *map(str, range(2016, 2022))]
    shown = {"times": times, "evolution": np.full((13, 2), 0.5), "words": [["sea"], ["sky"]]}
    labels = [text.get_text() for text in topic_overview(**shown)[2].get_xticklabels()]
    assert {"2008", "2016", "2021"} <= set(labels) and len(labels) > 5


def test_other_times_have_no_gaps():
    """Numbers that do not count anything, and labels."""
    pytest.importorskip("matplotlib")
    for times in ([0.5, 1.5, 2.0, 2.5], ["spring", "summer", "autumn", "winter"]):
        curves = topic_curves(times=times, evolution=EVOLUTION, words=WORDS)
        assert not np.isnan(curves[0].lines[0].get_ydata()).any()


def test_a_time_without_words_has_no_shares():
    pytest.importorskip("matplotlib")
    evolution = EVOLUTION.copy()
    evolution[1], evolution[2] = np.nan, 0.0
    curves = topic_curves(
        times=[1, 2, 3, 4], evolution=evolution, words=WORDS, predicted=EVOLUTION, n=1
    )
    for line in curves[0].lines:
        np.testing.assert_array_equal(line.get_xdata(), [1.0, np.nan, 4.0])


def test_files_that_can_hold_no_picture_are_known_before_it_is_drawn(monkeypatch):
    pytest.importorskip("matplotlib")
    check_picture("topics.png")
    for name in ("topics.txt", "topics"):
        with pytest.raises(ValueError, match="pictures are files such as"):
            check_picture(name)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ImportError, match=r"pip install 'evermix\[plot\]'"):
        check_picture("topics.png")


def test_large_topics_that_change_most_are_not_called_always_there():
    """Their share does not halve, but changes by more words than those of small topics."""
    pytest.importorskip("matplotlib")
    evolution = [[0.13, 0.012, 0.002, 0.02, 0.4], [0.19, 0.002, 0.01, 0.021, 0.396]]
    words = [["deep"], ["rules"], ["planar"], ["kernel"], ["data"]]
    courses = topic_overview(times=[2011, 2016], evolution=evolution, words=words)[2]
    names = [label.get_text() for label in courses.get_yticklabels()]
    grey = [name.split("\n")[0] for name in names if "changes little" in name]
    assert grey == ["data", "kernel"]
    assert "in grey, those that change little" in courses.get_xlabel()
    courses = topic_overview(times=[2011, 2016], evolution=np.eye(2), words=words[:2])[2]
    assert courses.get_xlabel() == "topics of early times come first, those of late times last"


def test_what_changes_by_less_than_a_fifth_of_itself_is_always_there():
    """However many words that is: boilerplate of 30 % stays grey."""
    pytest.importorskip("matplotlib")
    evolution = [[0.30, 0.02, 0.002, 0.06], [0.26, 0.002, 0.01, 0.09]]
    words = [["copyright"], ["rules"], ["planar"], ["deep"]]
    courses = topic_overview(times=[2011, 2016], evolution=evolution, words=words)[2]
    names = [label.get_text() for label in courses.get_yticklabels()]
    assert [name.split("\n")[0] for name in names if "changes little" in name] == ["copyright"]


def test_small_topics_are_counted_apart():
    assert topics_in_words([0.5, 0.5]) == "2 topics" and topics_in_words([1.0]) == "1 topic"
    assert topics_in_words([0.991, 0.009]) == (
        "2 topics, 1 of them large (the other holds 0.9 % of the words)"
    )
    weights = np.append(np.full(15, 0.73 / 15), np.full(132, 0.27 / 132))
    assert topics_in_words(weights) == (
        "147 topics, 15 of them large (the others hold 27 % of the words)"
    )
    assert topics_in_words(np.full(200, 0.005)) == "200 topics"
    assert topics_in_words(np.full(300, 1 / 300)) == "300 topics"


def test_tiny_topics_are_counted_and_not_drawn():
    """Those that hold next to nothing at all times, on a scale of their own too."""
    pytest.importorskip("matplotlib")
    assert topics_in_words([0.6, 0.4 - 7e-6, 7e-6]).startswith("3 topics, 2 of them large")
    assert percent(7e-6) == "< 0.01 %"
    evolution = [[0.6, 0.4, 0.0], [0.5, 0.5 - 1e-5, 1e-5], [0.3, 0.7, 0.0]]
    shown = {"times": [1, 2, 3], "evolution": evolution, "words": [["a"], ["b"], ["c"]]}
    for by in "change", "size":
        stack, _, courses = topic_overview(**shown, by=by)
        assert len(courses.get_yticklabels()) == 2
        assert stack.get_xlabel().endswith("not shown: 1 other, < 0.01 % of the words")
        assert len(topic_curves(**shown, by=by)) == 2
    small = np.full((2, 400), 1 / 400)
    assert len(topic_curves(times=[1, 2], evolution=small, words=[["a"]] * 400, n=3)) == 3


def test_a_legend_says_what_the_marks_of_births_and_deaths_are():
    pytest.importorskip("matplotlib")
    shown = {"times": [1, 2, 3, 4], "words": WORDS}
    legend = topic_overview(**shown, evolution=EVOLUTION)[2].get_legend()
    assert [text.get_text() for text in legend.get_texts()] == ["born", "died"]
    assert topic_overview(**shown, evolution=np.full((4, 4), 0.25))[2].get_legend() is None


def test_each_course_has_its_own_scale_and_what_is_always_there_comes_last():
    shares = np.array([[0.7, 0.28, 0.02], [0.75, 0.17, 0.08], [0.8, 0.1, 0.1]])
    words = [["the", "and"], ["ink"], ["login"]]
    axes = topic_overview(times=[2001, 2002, 2003], evolution=shares, words=words, n=3)
    names = [label.get_text() for label in axes[2].get_yticklabels()]
    assert [name.split("\n")[0] for name in names] == ["ink", "login", "the, and"]
    assert ["changes little" in name for name in names] == [False, False, True]
    tops = [y - line.get_ydata().min() for y, line in enumerate(axes[2].lines)]
    np.testing.assert_allclose(tops, 0.8)


@pytest.mark.parametrize("seed", range(3))
def test_pictures_and_headlines_count_the_same_topics(seed):
    """Large ones, and the words that others hold, also where times are of different lengths."""
    pytest.importorskip("matplotlib")
    rng = np.random.default_rng(seed)
    evolution = rng.dirichlet(np.r_[np.full(8, 2.0), np.full(30, 0.1)], size=5)
    weights = rng.dirichlet(np.ones(5)) @ evolution
    about = {"times": range(5), "evolution": evolution, "words": [["w"]] * 38, "weights": weights}
    headline = topics_in_words(weights)
    n, large, rest = re.findall(r"([\d.]+) topics, (\d+) of .* hold ([\d.]+) %", headline)[0]
    note = topic_overview(**about, n=int(large), by="size")[0].get_xlabel()
    assert note == (
        f"shown: {large} of {large} large topics, 0 of the small ones\n"
        f"not shown: {int(n) - int(large)} others, together {rest} % of the words"
    )
    note = topic_overview(**about, n=int(large) + 2, by="size")[0].get_xlabel()
    assert note.startswith(f"shown: {large} of {large} large topics, 2 of the small ones\n")
    assert f"not shown: {int(n) - int(large) - 2} others" in note
