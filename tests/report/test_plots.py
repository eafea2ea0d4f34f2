"""Pictures of a stream."""

import sys
from itertools import pairwise

import numpy as np
import pytest

import evermix as em
from evermix.engines.batch import Info
from evermix.report import overview, read_events
from evermix.report.canvas import save_picture
from evermix.report.plots import FEW, LARGEST, per_observation


def _steps():
    return [Info(rows=10, clock=10 * t, K=t, log_predictive=-5.0 * t) for t in range(1, 6)]


def test_events_give_back_what_the_steps_recorded():
    series = read_events(step.to_event() for step in _steps())
    assert series.clock.tolist() == [10, 20, 30, 40, 50]
    assert series.K.tolist() == [1, 2, 3, 4, 5]
    assert series.log_predictive.tolist() == [-5.0, -10.0, -15.0, -20.0, -25.0]
    assert series.rows.tolist() == [10] * 5
    assert read_events([]).clock.shape == (0,)


def test_reviews_come_before_the_end_of_their_step():
    """A history lists them after it, with the smaller clock at which they happened."""
    rng = np.random.default_rng(0)
    mix = em.Mixture().partial_fit(rng.normal(size=(400, 2)) + 9 * rng.integers(3, size=(400, 1)))
    assert any(after.clock < before.clock for before, after in pairwise(mix.history_))
    series = read_events(info.to_event() for info in mix.history_)
    assert np.all(np.diff(series.clock) >= 0) and series.K[-1] == mix.n_clusters_
    at, each, running = per_observation(series)
    total = sum(info.log_predictive for info in mix.history_)
    assert at.tolist() == [400] and each[0] == running[0] == pytest.approx(total / 400)


@pytest.mark.parametrize("sizes", [[30.0, 15.0, 4.0, 0.2], [50.0], [0.3]])
def test_overview_is_a_picture_and_leaves_pyplot_alone(tmp_path, sizes):
    """Also with a single cluster, or with nothing but dust."""
    pytest.importorskip("matplotlib")
    before = "matplotlib.pyplot" in sys.modules
    series = read_events(step.to_event() for step in _steps())
    path = tmp_path / "overview.png"
    axes = overview(**series._asdict(), sizes=np.array(sizes), title="Five steps")
    save_picture(path, axes)
    assert path.read_bytes().startswith(b"\x89PNG")
    assert ("matplotlib.pyplot" in sys.modules) == before


def test_few_clusters_are_bars_with_names_and_many_are_dots():
    pytest.importorskip("matplotlib")
    series = read_events(step.to_event() for step in _steps())
    sizes, names = np.array([4.0, 30.0, 0.2, 15.0]), ["a", "b", "dust", "c" * 60]
    _, bars, _ = overview(**series._asdict(), sizes=sizes, names=names)
    assert [bar.get_width() for bar in bars.patches] == [30.0, 15.0, 4.0]
    shown = [label.get_text() for label in bars.get_yticklabels()]
    assert (shown[0], shown[2]) == ("b", "a") and shown[1].endswith("c…")
    assert bars.get_xscale() == "linear" and bars.get_xlim()[0] == 0
    assert [text.get_text() for text in bars.texts] == ["30", "15", "4"]
    low, high = bars.get_ylim()
    assert low > high  # the largest is above
    _, bars, _ = overview(**series._asdict(), sizes=np.full(FEW, 5.0))
    assert len(bars.patches) == FEW
    assert [label.get_text() for label in bars.get_yticklabels()] == list(map(str, range(FEW)))
    _, dots, _ = overview(**series._asdict(), sizes=np.full(FEW + 1, 5.0))
    assert not dots.patches and dots.get_xscale() == dots.get_yscale() == "log"


def test_overview_of_nothing_is_refused():
    with pytest.raises(ValueError, match="at least one step"):
        overview(clock=[], K=[], log_predictive=[], rows=[], sizes=np.array([1.0]))


def test_missing_matplotlib_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    series = read_events(step.to_event() for step in _steps())
    with pytest.raises(ImportError, match=r"pip install 'evermix\[plot\]'"):
        overview(**series._asdict(), sizes=np.array([1.0]))


def test_the_largest_of_many_clusters_are_bars_if_their_names_tell_what_they_are():
    pytest.importorskip("matplotlib")
    series = read_events(step.to_event() for step in _steps())
    sizes, names = np.arange(1.0, 51.0), [f"words {k}" for k in range(50)]
    _, bars, _ = overview(**series._asdict(), sizes=sizes, names=names, telling=True)
    shown = [label.get_text() for label in bars.get_yticklabels()]
    assert shown[:2] == ["words 49", "words 48"] and len(bars.patches) == len(shown) == LARGEST
    assert bars.get_title("left") == "The largest of 50 clusters"
    _, dust, _ = overview(**series._asdict(), sizes=np.array([0.3]), names=["x"], telling=True)
    assert not dust.patches
