"""Pictures of fits: streams, laps of variational engines, chains and posteriors of samplers.

All need matplotlib and raise ImportError without it. They draw into a new figure unless one is
given, and return its axes; nothing is saved.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from evermix.report.canvas import (
    BLUE,
    FAINT,
    GREEN,
    GREY,
    INK,
    ORANGE,
    label_last,
    new_figure,
    shortened,
    style_axes,
)
from evermix.report.posterior import Posterior

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = (BLUE, ORANGE, GREEN, INK)  # of runs and chains
FEW = 20  # clusters whose sizes are bars with names; those of more are dots on logarithmic axes
LARGEST = 12  # clusters of more that are bars if their names say what they are
NAME, WORDS, SPARE = 1.3, 2.2, 5  # inches of a name, of words beside a bar; bars that have room
SIZES = "Cluster sizes, largest first"
MAX_ROWS = 1000  # of a co-clustering map; more could not be distinguished

# ---- streams -------------------------------------------------------------------------------


class Series(NamedTuple):
    """The course of a stream, one entry per step or review, in order of the clock.

    Attributes
    ----------
    clock : int64 array (T,)
        Observations seen after each step.
    K : int64 array (T,)
        Clusters after each step.
    log_predictive : array (T,)
        Summed log predictive density of the step's rows, each before it was learnt.
    rows : int64 array (T,)
        Rows of each step; none in a review.
    """

    clock: NDArray[Any]
    K: NDArray[Any]
    log_predictive: NDArray[Any]
    rows: NDArray[Any]


def read_events(events: Iterable[Mapping[str, Any]]) -> Series:
    """Collect the series from trace events, as :meth:`evermix.Info.to_event` makes them.

    The reviews of a step are listed after it and happened before its end: the clock orders them.
    """
    steps = sorted(events, key=itemgetter("clock"))
    clock, K, rows = (
        np.array([step[name] for step in steps], dtype=np.int64) for name in ("clock", "K", "rows")
    )
    return Series(clock, K, np.array([step["log_predictive"] for step in steps], np.float64), rows)


def per_observation(series: Series) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Return the clock of each step with rows, its mean log-likelihood, and that of all so far."""
    some = series.rows > 0
    total, rows = series.log_predictive[some], series.rows[some]
    return series.clock[some], total / rows, np.cumsum(total) / np.cumsum(rows)


def overview(
    *,
    clock: NDArray[Any],
    K: NDArray[Any],
    log_predictive: NDArray[Any],
    rows: NDArray[Any],
    sizes: NDArray[Any],
    names: Sequence[str] | None = None,
    telling: bool = False,
    when: Callable[[float], str] | None = None,
    title: str = "",
    figure: "Figure | None" = None,
) -> NDArray[Any]:
    """Draw the course of a stream: growth of K, cluster sizes, prequential log-likelihood.

    Parameters
    ----------
    clock, K, log_predictive, rows : arrays (T,)
        Per step: observations so far, clusters, and the step's summed log predictive density and
        number of rows. See :func:`read_events`.
    sizes : array (K,)
        Mass of each cluster at the end.
    names : sequence of str (K,), optional
        What the clusters are called; those of few clusters are shown. None: their numbers.
    telling : bool
        Whether names say what is in a cluster: of many clusters, the largest are shown by name.
    when : callable, optional
        Returns the time at which so many observations had been seen, for the axes.
    title : str
        Headline of the picture.
    figure : Figure, optional
        Where to draw.
    """
    series = Series(*map(np.asarray, (clock, K, log_predictive, rows)))
    if not min(map(len, series)) == max(map(len, series)) > 0:
        raise ValueError(
            "clock, K, log_predictive and rows must have one entry per step and at least one step, "
            f"got lengths {', '.join(str(len(values)) for values in series)}."
        )
    panels = new_figure(title, 13.5, 4.4, figure).subplots(1, 3)
    growth, rank, likelihood = panels
    _draw_growth(growth, series.clock, series.K)
    masses = np.asarray(sizes, dtype=np.float64)
    called = list(map(str, range(len(masses)))) if names is None else names
    _draw_sizes(rank, masses, called, telling)
    _draw_likelihood(likelihood, series)
    if when is not None:
        for axes in (growth, likelihood):
            axes.set_xlabel("time", fontsize=10, color=INK)
            axes.xaxis.set_major_formatter(lambda clock, _: when(clock))
            axes.tick_params(axis="x", rotation=30)
    return panels


def _draw_growth(axes: "Axes", clock: NDArray[Any], K: NDArray[Any]) -> None:
    style_axes(axes, "Clusters found", "observations")
    axes.plot(clock, K, color=BLUE, linewidth=2.2, solid_capstyle="round")
    axes.fill_between(clock, K, color=BLUE, alpha=0.12, linewidth=0)
    axes.set_xlim(0, clock[-1])
    axes.set_ylim(0, max(K) * 1.12)
    axes.locator_params(axis="y", integer=True)
    axes.xaxis.set_major_formatter("{x:,.0f}")
    label_last(axes, clock[-1], K[-1], f"{K[-1]:,}", BLUE)


def _draw_sizes(axes: "Axes", sizes: NDArray[Any], names: Sequence[str], telling: bool) -> None:
    # Clusters of less than one observation mean nothing on a logarithmic axis.
    order = [k for k in np.argsort(-sizes, kind="stable").tolist() if sizes[k] >= 1.0]
    ranked = sizes[order]
    if order and (telling or len(order) <= FEW):
        shown = order[: LARGEST if len(order) > FEW else FEW]
        title = SIZES if len(shown) == len(order) else f"The largest of {len(sizes):,} clusters"
        style_axes(axes, title, "observations")
        _draw_bars(axes, sizes[shown], [names[k] for k in shown], WORDS if telling else NAME)
        return
    style_axes(axes, SIZES, "rank")
    axes.set_xscale("log")
    axes.set_yscale("log")
    rank = np.arange(1, len(ranked) + 1)
    axes.plot(rank, ranked, color=FAINT, linewidth=1.2, zorder=1)
    axes.scatter(rank, ranked, s=22, color=ORANGE, alpha=0.85, linewidth=0, zorder=2)
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.yaxis.set_major_formatter("{x:,.0f}")
    if len(ranked):
        axes.set_ylim(0.8, ranked[0] * 2)


def _draw_bars(axes: "Axes", sizes: NDArray[Any], names: Sequence[str], width: float) -> None:
    """Draw a bar with its name and its number for each of few clusters, the largest above."""
    places, size = np.arange(len(sizes)), 9.0 if len(sizes) <= LARGEST else 7.5
    axes.barh(places, sizes, height=0.72, color=GREY, alpha=0.85, linewidth=0)
    axes.set_yticks(places, [shortened(name, size, width) for name in names], fontsize=size)
    axes.set_ylim(max(len(sizes), SPARE) - 0.4, -0.6)
    axes.set_xlim(0, sizes[0] * 1.18)
    axes.grid(visible=False, axis="y")
    axes.locator_params(axis="x", nbins=5)
    axes.xaxis.set_major_formatter("{x:,.0f}")
    gap = 0.012 * sizes[0]
    for place, value in enumerate(sizes.tolist()):
        axes.text(value + gap, place, f"{value:,.0f}", va="center", fontsize=size, color=INK)


def _draw_likelihood(axes: "Axes", series: Series) -> None:
    style_axes(axes, "Fit to new rows (higher is better)", "observations")
    axes.set_ylabel("log-likelihood per row", fontsize=10, color=INK)
    at, each, running = per_observation(series)
    axes.scatter(at, each, s=12, color=GREEN, alpha=0.35, linewidth=0, label="each step")
    axes.plot(at, running, color=GREEN, linewidth=2.2, label="running mean")
    axes.set_xlim(0, series.clock[-1])
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.legend(frameon=False, fontsize=9, labelcolor=INK, loc="lower right")
    if len(at):
        label_last(axes, at[-1], running[-1], f"{running[-1]:,.1f}", GREEN)


# ---- laps ----------------------------------------------------------------------------------


class Laps(NamedTuple):
    """The course of a variational fit, one entry per lap with a known bound.

    Attributes
    ----------
    lap : int64 array (T,)
        Number of laps done.
    elbo : array (T,)
        The evidence lower bound after each, in nats.
    K : int64 array (T,)
        Clusters after each.
    births, merges : int64 arrays (T,)
        How many clusters each lap opened, and fused with others.
    """

    lap: NDArray[Any]
    elbo: NDArray[Any]
    K: NDArray[Any]
    births: NDArray[Any]
    merges: NDArray[Any]


def read_laps(events: Iterable[Mapping[str, Any]]) -> Laps:
    """Collect the laps from trace events, as :meth:`evermix.Info.to_event` makes them.

    Events without a bound are left out: steps, and all but the last lap of ``StochasticVB``.

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


def bound_plot(
    runs: Mapping[str, Laps], *, title: str = "", figure: "Figure | None" = None
) -> NDArray[Any]:
    """Draw the bound and the number of clusters by lap, one curve for each run.

    Filled dots mark laps that opened clusters, hollow ones those that only fused some.

    Parameters
    ----------
    runs : mapping of str to Laps
        The results of :func:`read_laps`, by the name of the run.
    title : str
        Headline of the picture.
    figure : Figure, optional
        Where to draw.
    """
    empty = [name for name, laps in runs.items() if not len(laps.lap)]
    if empty or not runs:
        raise ValueError(
            "every run must have a lap with a bound; "
            f"{', '.join(map(repr, empty)) + ' has none' if empty else 'got no run'}. "
            "Is this the trace of a variational fit?"
        )
    panels = new_figure(title, 11.0, 4.2, figure).subplots(1, 2)
    bound, clusters = panels
    for j, (name, laps) in enumerate(runs.items()):
        colour = COLOURS[j % len(COLOURS)]
        _draw_laps(bound, laps, laps.elbo, colour, name)
        _draw_laps(clusters, laps, laps.K, colour, name)
    style_axes(bound, "Fit to the data (evidence lower bound, nats)", "laps")
    style_axes(clusters, "Clusters", "laps")
    clusters.set_ylim(bottom=0)
    clusters.locator_params(axis="y", integer=True)
    for axes in (bound, clusters):
        axes.locator_params(axis="x", integer=True)
        axes.yaxis.set_major_formatter("{x:,.0f}")
    if len(runs) > 1:
        bound.legend(frameon=False, fontsize=9, labelcolor=INK, loc="lower right")
    return panels


def _draw_laps(axes: "Axes", laps: Laps, values: NDArray[Any], colour: str, name: str) -> None:
    axes.plot(laps.lap, values, color=colour, linewidth=1.8, solid_capstyle="round", label=name)
    born = laps.births > 0
    fused = (laps.merges > 0) & ~born
    axes.scatter(laps.lap[born], values[born], s=18, color=colour, zorder=3)
    axes.scatter(
        laps.lap[fused], values[fused], s=18, facecolor="white", edgecolor=colour, zorder=3
    )


# ---- chains and posteriors -----------------------------------------------------------------


def trace_plot(
    posterior: Posterior,
    *,
    names: Sequence[str] = ("K", "log_joint"),
    title: str = "",
    figure: "Figure | None" = None,
) -> NDArray[Any]:
    """Draw the chains, draw by draw: chains that mixed look the same, without a trend.

    Parameters
    ----------
    posterior : Posterior
    names : sequence of str
        The traces to show, by their names in :meth:`Posterior.traces`.
    title : str
        Headline of the picture.
    figure : Figure, optional
        Where to draw.
    """
    traces = posterior.traces()
    unknown = [name for name in names if name not in traces]
    if unknown or not names:
        raise ValueError(
            f"names must be some of {', '.join(traces)}; got {', '.join(unknown) or 'none'}."
        )
    figure = new_figure(title, 10.0, 0.6 + 2.4 * len(names), figure)
    panels = figure.subplots(len(names), 1, squeeze=False)[:, 0]
    for axes, name in zip(panels, names, strict=True):
        _draw_chains(axes, traces[name], posterior.chain)
        style_axes(axes, name, "draw")
    if posterior.n_chains > 1:
        above = {"loc": "lower right", "bbox_to_anchor": (1.0, 1.0)}
        panels[0].legend(frameon=False, fontsize=9, labelcolor=INK, ncols=8, **above)
    return panels


def co_clustering_map(
    posterior: Posterior,
    *,
    rows: NDArray[Any] | None = None,
    title: str = "",
    figure: "Figure | None" = None,
) -> "Axes":
    """Draw a map of which rows are in the same cluster: the darker, the more draws agree.

    Rows are ordered by the clusters of the most representative draw (:meth:`Posterior.point`), the
    largest first: blocks on the diagonal are certain clusters, the rest is uncertainty.

    Parameters
    ----------
    posterior : Posterior
    rows : int array (R,) or mask (N,), optional
        The rows to show; if None, all of them or, of more, 1,000 evenly spaced ones.
    title : str
        Headline of the picture.
    figure : Figure, optional
        Where to draw.
    """
    figure = new_figure(title, 7.0, 6.4, figure)
    from matplotlib import colormaps
    from matplotlib.colors import BoundaryNorm

    N = posterior.labels.shape[1]
    if rows is None:
        rows = np.linspace(0, N - 1, min(N, MAX_ROWS)).round().astype(np.int64)
    shown = np.arange(N)[rows]
    shown = shown[_largest_first(posterior.labels[posterior.point()][shown])]
    axes = figure.subplots()
    style_axes(axes, "Share of draws in which two rows are together", "rows, by cluster")
    axes.grid(False)
    axes.set_xticks([])
    axes.set_yticks([])
    # Ten steps from light to dark: each differs enough from its neighbours to be read off.
    levels = np.linspace(0.0, 1.0, 11)
    image = axes.imshow(
        posterior.co_clustering(shown),
        cmap=colormaps["YlGnBu"],
        norm=BoundaryNorm(levels, colormaps["YlGnBu"].N),
        interpolation="nearest",
    )
    bar = figure.colorbar(image, ax=axes, shrink=0.8, ticks=levels, format="{x:.0%}")
    bar.ax.tick_params(colors=INK, labelsize=9, length=0)
    bar.outline.set_visible(False)
    return axes


def _draw_chains(axes: "Axes", trace: NDArray[Any], chain: NDArray[Any]) -> None:
    for j, number in enumerate(np.unique(chain)):
        colour = COLOURS[j % len(COLOURS)]
        axes.plot(
            trace[chain == number], color=colour, linewidth=1.2, alpha=0.8, label=f"chain {number}"
        )
    axes.locator_params(axis="x", integer=True)
    axes.locator_params(axis="y", integer=bool(np.all(trace == np.round(trace))))


def _largest_first(labels: NDArray[Any]) -> NDArray[Any]:
    """Return the order (R,) of rows by cluster, the largest first, else unchanged."""
    _, position, sizes = np.unique(labels, return_inverse=True, return_counts=True)
    return np.lexsort((position, -sizes[position]))
