"""Pictures of a stream: how K grew, how big clusters are, how well the next row was predicted."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from evermix._xp import Array
from evermix.report.canvas import BLUE, FAINT, GREEN, INK, ORANGE, dress, new_figure, note

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class Series(NamedTuple):
    """What a stream's steps recorded, one entry per step.

    Attributes
    ----------
    clock : int64 array (T,)
        Observations seen after each step.
    K : int64 array (T,)
        Clusters after each step.
    log_predictive : array (T,)
        Summed log predictive density of the step's rows, each before it was learnt.
    """

    clock: Array
    K: Array
    log_predictive: Array


def read_events(events: Iterable[Mapping[str, Any]]) -> Series:
    """Collect the series from trace events, as :meth:`evermix.Info.to_event` makes them."""
    rows = [(event["clock"], event["K"], event["log_predictive"]) for event in events]
    clock, K, log_predictive = zip(*rows, strict=True) if rows else ((), (), ())
    return Series(
        np.array(clock, dtype=np.int64), np.array(K, dtype=np.int64), np.array(log_predictive)
    )


def overview(
    path: str | Path,
    *,
    clock: Array,
    K: Array,
    log_predictive: Array,
    sizes: Array,
    title: str = "",
) -> None:
    """Save one picture of a stream: growth of K, cluster sizes, prequential log-likelihood.

    Parameters
    ----------
    path : path-like
        File to write; its suffix names the format (.png, .svg, .pdf).
    clock, K, log_predictive : arrays (T,)
        Per step: observations so far, clusters, and the step's summed log predictive density.
        See :func:`read_events`.
    sizes : array (K,)
        Mass of each cluster at the end.
    title : str
        Headline of the picture.

    Raises
    ------
    ImportError
        matplotlib is not installed.
    """
    if not (len(clock) == len(K) == len(log_predictive) > 0):
        raise ValueError(
            "clock, K and log_predictive must have one entry per step and at least one step, got "
            f"lengths {len(clock)}, {len(K)} and {len(log_predictive)}."
        )
    figure = new_figure(title, 13.5, 4.4)
    growth, rank, likelihood = figure.subplots(1, 3)
    _draw_growth(growth, np.asarray(clock), np.asarray(K))
    _draw_sizes(rank, np.asarray(sizes, dtype=np.float64))
    _draw_likelihood(likelihood, np.asarray(clock), np.asarray(log_predictive))
    figure.savefig(path, dpi=160)


def _draw_growth(axes: "Axes", clock: Array, K: Array) -> None:
    dress(axes, "Clusters found", "observations")
    axes.plot(clock, K, color=BLUE, linewidth=2.2, solid_capstyle="round")
    axes.fill_between(clock, K, color=BLUE, alpha=0.12, linewidth=0)
    axes.set_xlim(0, clock[-1])
    axes.set_ylim(0, max(K) * 1.12)
    axes.xaxis.set_major_formatter("{x:,.0f}")
    note(axes, clock[-1], K[-1], f"{K[-1]:,}", BLUE)


def _draw_sizes(axes: "Axes", sizes: Array) -> None:
    dress(axes, "Cluster sizes, largest first", "rank")
    # Dust below one observation says nothing on a logarithmic axis.
    ranked = np.sort(sizes[sizes >= 1.0])[::-1]
    axes.set_xscale("log")
    axes.set_yscale("log")
    rank = np.arange(1, len(ranked) + 1)
    axes.plot(rank, ranked, color=FAINT, linewidth=1.2, zorder=1)
    axes.scatter(rank, ranked, s=22, color=ORANGE, alpha=0.85, linewidth=0, zorder=2)
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.yaxis.set_major_formatter("{x:,.0f}")
    if len(ranked):
        axes.set_ylim(0.8, ranked[0] * 2)


def _draw_likelihood(axes: "Axes", clock: Array, log_predictive: Array) -> None:
    dress(axes, "Prequential log-likelihood per observation", "observations")
    rows = np.diff(clock, prepend=0)
    some = rows > 0
    each = log_predictive[some] / rows[some]
    running = np.cumsum(log_predictive) / np.maximum(clock, 1)
    axes.scatter(clock[some], each, s=12, color=GREEN, alpha=0.35, linewidth=0, label="each step")
    axes.plot(clock, running, color=GREEN, linewidth=2.2, label="running mean")
    axes.set_xlim(0, clock[-1])
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.legend(frameon=False, fontsize=9, labelcolor=INK, loc="lower right")
    note(axes, clock[-1], running[-1], f"{running[-1]:,.1f}", GREEN)
