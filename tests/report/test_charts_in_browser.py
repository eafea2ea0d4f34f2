"""Charts of reports in a real Chromium."""

import numpy as np
import pytest

from evermix.report.canvas import colours_of
from evermix.report.flow import Flow
from evermix.report.page import Report, curves
from helpers.browser import Browser, chromium

pytestmark = pytest.mark.skipif(
    chromium() is None, reason="no Chromium here: install chromium, or set CHROMIUM to its path"
)


def test_numbers_of_a_grid_differ_and_the_last_value_is_beside_its_line(tmp_path):
    """Also where all numbers begin with the same digits."""
    steps = np.arange(40.0)
    lines = {"large": -1_247_800 + 140 * steps, "short": 7.0 + steps % 3, "tiny": 1e-3 * steps}
    charts = [curves(name, "draws", {"": (steps, y)}) for name, y in lines.items()]
    item = {"id": 0, "name": "topic 0", "size": 1.0, "share": 1.0, "words": ["ink"]}
    Report("Ink", "topic", "words", {"topics": "1"}, [item], charts).write(tmp_path / "c.html")
    numbers = "[...svg.querySelectorAll('text[text-anchor=end]')].map(text => text.textContent)"
    ends = """[svg.querySelector('.curve').getBoundingClientRect().right,
        svg.querySelector('.strong').getBoundingClientRect().left]"""
    drawn = "[...document.querySelectorAll('#charts svg:has(.curve)')]"
    with Browser() as browser:
        browser.open(tmp_path / "c.html")
        found = browser.run(f"{drawn}.map(svg => [{numbers}, {ends}])")
        assert browser.errors == [] and len(found) == 3
    for labels, (line, value) in found:
        assert len(set(labels)) == len(labels) and line < value


def test_times_without_rows_are_gaps_and_a_layer_has_its_label_where_it_is_largest(tmp_path):
    """Also where that is the last time of all, with too little room beside it."""
    shares = np.array([[0.5, 0.5, 0.0], [0.5, 0.5, 0.0], [0.6, 0.4, 0.0], [0.3, 0.1, 0.6]])
    words = [["train"], ["school"], ["quarantine"]]
    items = [
        {"id": k, "name": f"topic {k}", "size": 1.0, "share": share, "words": words[k]}
        for k, share in enumerate(shares.mean(axis=0).tolist())
    ]
    x, at, weights = ["2013", "2014", "2016", "2017"], [43, 44, 46, 47], shares.mean(axis=0)
    for item, course in zip(items, shares.T.tolist(), strict=True):
        item["course"] = course
    flow = Flow("times", x, [0, 1, 2], shares, [], weights, at=at, starts=[2])
    Report("Letters", "topic", "words", {"topics": "3"}, items, flow=flow).write(
        tmp_path / "g.html"
    )
    paths = "[...document.querySelectorAll('#flow path')].map(path => path.getAttribute('d'))"
    labels = """[...document.querySelectorAll('#flow .inside')]
        .map(text => [text.textContent, text.getBBox().x + text.getBBox().width])"""
    with Browser() as browser:
        browser.open(tmp_path / "g.html")
        layers, found = browser.run(paths), dict(browser.run(labels))
        right = browser.run("document.querySelector('#flow svg').clientWidth")
        colours = browser.run(
            "[...document.querySelectorAll('#flow path')].map(path => path.getAttribute('fill'))"
        )
        browser.wait_for("document.querySelectorAll('#list .curve').length === 3")
        curve = browser.run("document.querySelector('#list .curve').getAttribute('d')")
        assert browser.errors == []
    assert [path.count("M") for path in layers] == [2, 2, 2] and curve.count("M") == 2
    assert set(found) == {"train", "school", "quarantine"} and found["quarantine"] <= right
    assert colours == list(colours_of(range(3)).values())
