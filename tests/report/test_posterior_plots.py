"""Pictures of a posterior."""

import sys

import numpy as np
import pytest

from evermix.report import Posterior, co_clustering_map, trace_plot
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
    picture(path, _posterior(lengths), title="Two chains")
    assert path.read_bytes().startswith(b"\x89PNG")
    assert ("matplotlib.pyplot" in sys.modules) == before


def test_a_map_may_show_chosen_rows(tmp_path):
    pytest.importorskip("matplotlib")
    co_clustering_map(tmp_path / "some.png", _posterior(), rows=np.arange(30) < 12)
    co_clustering_map(tmp_path / "thinned.png", _posterior((4,), N=1200))
    assert all((tmp_path / name).exists() for name in ("some.png", "thinned.png"))


def test_rows_of_a_map_are_ordered_by_cluster_the_largest_first():
    labels = np.array([2, 0, 1, 1, 0, 1, 2])
    assert labels[_largest_first(labels)].tolist() == [1, 1, 1, 0, 0, 2, 2]
    assert _largest_first(labels).tolist() == [2, 3, 5, 1, 4, 0, 6]


def test_traces_that_are_not_there_are_named(tmp_path):
    with pytest.raises(ValueError, match="some of log_joint, K, size_entropy; got sigma"):
        trace_plot(tmp_path / "x.png", _posterior(), names=["K", "sigma"])


@pytest.mark.parametrize("picture", [trace_plot, co_clustering_map])
def test_pictures_without_matplotlib_say_what_to_install(tmp_path, monkeypatch, picture):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ImportError, match=r"pip install evermix\[plot\]"):
        picture(tmp_path / "x.png", _posterior())
