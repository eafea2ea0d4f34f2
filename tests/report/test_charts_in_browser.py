"""Charts of reports in a real Chromium."""

import numpy as np
import pytest

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
