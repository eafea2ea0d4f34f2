"""Pictures of a posterior."""

import sys

import numpy as np
import pytest

from evermix.report import Posterior, co_clustering_map, trace_plot
from evermix.report.canvas import save_picture
from evermix.report.plots import _largest_first


def _posterior(lengths=(20, 12), N=30):
    rng = np.random.default_rng(0)
    chain = np.repeat(np.arange(len(lengths)), lengths)
    labels = np.where(rng.random((len(chain), N)) < 0.8, np.arange(N) % 3, 3)
    return Posterior(labels, chain, {"log_joint": rng.normal(size=len(chain))})


@pytest.mark.parametrize("lengths", [(20, 12), (20,), (1,)])
@pytest.mark.parametrize("picture", [trace_plot, co_clustering_map])
def test_a_posterior_has_pictures_that_leave_pyplot_alone(tmp_path, picture, lengths):
    """Also of a single chain, or of a single draw."""
    pytest.importorskip("matplotlib")
    before = "matplotlib.pyplot" in sys.modules
    path = tmp_path / "picture.png"
    save_picture(path, picture(_posterior(lengths), title="Two chains"))
    assert path.read_bytes().startswith(b"\x89PNG")
    assert ("matplotlib.pyplot" in sys.modules) == before


def test_a_map_may_show_chosen_rows():
    pytest.importorskip("matplotlib")
    some = co_clustering_map(_posterior(), rows=np.arange(30) < 12)
    thinned = co_clustering_map(_posterior((4,), N=1200))
    assert [len(axes.images[0].get_array()) for axes in (some, thinned)] == [12, 1000]


def test_shares_can_be_read_off_a_map():
    """Ten steps from 0 to 1, each darker than the one before by about as much as it can be."""
    pytest.importorskip("matplotlib")
    axes = co_clustering_map(_posterior())
    image = axes.images[0]
    steps = image.cmap(image.norm(np.linspace(0.05, 0.95, 10)))[:, :3]
    light = steps @ [0.2126, 0.7152, 0.0722]
    assert np.all(np.diff(light) < -0.025) and light[0] > 0.9 and light[-1] < 0.15
    (bar,) = (other for other in axes.figure.axes if other is not axes)
    labels = [text.get_text() for text in bar.get_yticklabels()]
    assert labels == [f"{share}%" for share in range(0, 101, 10)]


def test_rows_of_a_map_are_ordered_by_cluster_the_largest_first():
    labels = np.array([2, 0, 1, 1, 0, 1, 2])
    assert labels[_largest_first(labels)].tolist() == [1, 1, 1, 0, 0, 2, 2]
    assert _largest_first(labels).tolist() == [2, 3, 5, 1, 4, 0, 6]


def test_traces_that_are_not_there_are_named():
    with pytest.raises(ValueError, match="some of log_joint, K, size_entropy; got sigma"):
        trace_plot(_posterior(), names=["K", "sigma"])


@pytest.mark.parametrize("picture", [trace_plot, co_clustering_map])
def test_pictures_without_matplotlib_say_what_to_install(monkeypatch, picture):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ImportError, match=r"pip install 'evermix\[plot\]'"):
        picture(_posterior())
