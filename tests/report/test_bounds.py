"""Pictures of the bound by lap."""

import sys

import numpy as np
import pytest

import evermix as em
from evermix.report import bound_plot, read_laps
from evermix.report.canvas import save_picture


def _laps(T=5):
    return [
        em.Info(
            rows=0,
            clock=10 * t,
            K=t + 1,
            births=[t] if t % 2 else [],
            merges=[(9, 0)] if t == 2 else [],
            lap=t,
            scalars={"elbo": -100.0 / (t + 1)},
        ).to_event()
        for t in range(T)
    ]


def test_laps_give_back_what_they_recorded():
    laps = read_laps(_laps(4))
    assert laps.lap.tolist() == laps.K.tolist() == [1, 2, 3, 4]
    assert laps.elbo.tolist() == [-100.0, -50.0, -100.0 / 3, -25.0]
    assert laps.births.tolist() == [0, 1, 0, 1] and laps.merges.tolist() == [0, 0, 1, 0]


def test_events_without_a_bound_are_left_out():
    """Steps of a history, laps of a stochastic fit, and bounds that were not finite."""
    step = em.Info(rows=10, clock=10, K=2).to_event()
    unknown = _laps(1)[0] | {"scalars": {"elbo": None}}
    assert read_laps([step, unknown, *_laps(2)]).lap.tolist() == [1, 2]
    assert read_laps([step]).elbo.shape == (0,)


def test_the_history_of_a_fit_can_be_read():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2)) + 20.0 * rng.integers(2, size=(60, 1))
    mix = em.Mixture(engine=em.FullVB(laps=3, truncation=3, tol=0.0), random_state=0).fit(X)
    laps = read_laps(info.to_event() for info in mix.history_)
    assert laps.elbo[-1] == mix.lower_bound_ and np.all(np.diff(laps.elbo) >= -1e-9)


def test_numbers_of_clusters_have_whole_ticks():
    pytest.importorskip("matplotlib")
    laps = read_laps(_laps(7))._replace(K=np.full(7, 20))
    _, clusters = bound_plot({"one": laps})
    assert np.all(clusters.get_yticks() % 1 == 0)


@pytest.mark.parametrize("runs", [{"one": 5}, {"one": 1}, {"one": 5, "other": 3}])
def test_the_bound_has_a_picture_that_leaves_pyplot_alone(tmp_path, runs):
    """Also of a single lap, or of several runs."""
    pytest.importorskip("matplotlib")
    before = "matplotlib.pyplot" in sys.modules
    path = tmp_path / "bound.png"
    laps = {name: read_laps(_laps(T)) for name, T in runs.items()}
    save_picture(path, bound_plot(laps, title="A fit"))
    assert path.read_bytes().startswith(b"\x89PNG")
    assert ("matplotlib.pyplot" in sys.modules) == before


@pytest.mark.parametrize("runs", [{}, {"ep": read_laps([])}])
def test_runs_without_bounds_are_refused(runs):
    with pytest.raises(ValueError, match="must have a lap with a bound"):
        bound_plot(runs)


def test_bounds_without_matplotlib_say_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ImportError, match=r"pip install 'evermix\[plot\]'"):
        bound_plot({"one": read_laps(_laps())})
