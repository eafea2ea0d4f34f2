"""Pictures of variational fits: how the bound rose, and K with it, lap by lap."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from evermix._xp import Array
from evermix.report.canvas import BLUE, GREEN, INK, ORANGE, dress, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLOURS = (BLUE, ORANGE, GREEN, INK)


class Laps(NamedTuple):
    """What the laps of a variational fit recorded, one entry per lap that tells the bound.

    Attributes
    ----------
    lap : int64 array (T,)
        Laps that were done then.
    elbo : array (T,)
        The evidence lower bound after each, in nats.
    K : int64 array (T,)
        Clusters after each.
    births, merges : int64 arrays (T,)
        How many clusters each of them opened, and fused with others.
    """

    lap: Array
    elbo: Array
    K: Array
    births: Array
    merges: Array


def read_laps(events: Iterable[Mapping[str, Any]]) -> Laps:
    """Collect the laps from trace events, as :meth:`evermix.Info.to_event` makes them.

    Events that tell no bound are left out: steps, and all but the last lap of ``StochasticVB``.

    Parameters
    ----------
    events : iterable of mappings
        Such as ``evermix.io.trace.read_trace("trace.jsonl")`` of ``evermix fit --trace``, or
        ``(info.to_event() for info in mix.history_)``.

    Examples
    --------
    >>> lap = {"lap": 0, "K": 3, "births": [1, 2], "merges": [], "scalars": {"elbo": -250.0}}
    >>> read_laps([lap]).elbo
    array([-250.])
    """
    rows = [
        (event["lap"] + 1, event["K"], len(event["births"]), len(event["merges"]), elbo)
        for event in events
        if (elbo := event["scalars"].get("elbo")) is not None
    ]
    lap, K, births, merges = np.array([row[:4] for row in rows], dtype=np.int64).reshape(-1, 4).T
    return Laps(lap, np.array([row[4] for row in rows], dtype=np.float64), K, births, merges)


def bound_plot(path: str | Path, runs: Mapping[str, Laps], *, title: str = "") -> None:
    """Save a picture of the bound and of the number of clusters by lap, a curve for every run.

    Filled dots mark laps that opened clusters, hollow ones those that only fused some.

    Parameters
    ----------
    path : path-like
        File to write; its suffix names the format (.png, .svg, .pdf).
    runs : mapping of str to Laps
        What :func:`read_laps` found, by the name of the run.
    title : str
        Headline of the picture.

    Raises
    ------
    ImportError
        matplotlib is not installed.
    """
    empty = [name for name, laps in runs.items() if not len(laps.lap)]
    if empty or not runs:
        raise ValueError(
            "every run must have a lap that tells its bound, got none of "
            f"{', '.join(map(repr, empty)) or 'no run'}. Is this the trace of a variational fit?"
        )
    figure = new_figure(title, 11.0, 4.2)
    bound, clusters = figure.subplots(1, 2)
    for j, (name, laps) in enumerate(runs.items()):
        colour = COLOURS[j % len(COLOURS)]
        _draw(bound, laps, laps.elbo, colour, name)
        _draw(clusters, laps, laps.K, colour, name)
    dress(bound, "Evidence lower bound (nats)", "laps")
    dress(clusters, "Clusters", "laps")
    clusters.set_ylim(bottom=0)
    for axes in (bound, clusters):
        axes.locator_params(axis="x", integer=True)
        axes.yaxis.set_major_formatter("{x:,.0f}")
    if len(runs) > 1:
        bound.legend(frameon=False, fontsize=9, labelcolor=INK, loc="lower right")
    figure.savefig(path, dpi=160)


def _draw(axes: "Axes", laps: Laps, values: Array, colour: str, name: str) -> None:
    axes.plot(laps.lap, values, color=colour, linewidth=1.8, solid_capstyle="round", label=name)
    born = laps.births > 0
    fused = (laps.merges > 0) & ~born
    axes.scatter(laps.lap[born], values[born], s=18, color=colour, zorder=3)
    axes.scatter(
        laps.lap[fused], values[fused], s=18, facecolor="white", edgecolor=colour, zorder=3
    )
