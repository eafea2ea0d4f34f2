"""Pictures of a posterior: whether its chains mixed, and which rows belong together."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from evermix._xp import Array
from evermix.report.canvas import BLUE, GREEN, INK, ORANGE, dress, new_figure
from evermix.report.posterior import Posterior

if TYPE_CHECKING:
    from matplotlib.axes import Axes

CHAIN_COLOURS = (BLUE, ORANGE, GREEN, INK)
MAX_ROWS = 1000  # more would not be told apart


def trace_plot(
    path: str | Path,
    posterior: Posterior,
    *,
    names: Sequence[str] = ("K", "log_joint"),
    title: str = "",
) -> None:
    """Save a picture of the chains, draw by draw: those that mixed look alike and have no trend.

    Parameters
    ----------
    path : path-like
        File to write; its suffix names the format (.png, .svg, .pdf).
    posterior : Posterior
    names : sequence of str
        The numbers to show, by their names in :meth:`Posterior.traces`.
    title : str
        Headline of the picture.

    Raises
    ------
    ImportError
        matplotlib is not installed.
    """
    traces = posterior.traces()
    unknown = [name for name in names if name not in traces]
    if unknown or not names:
        raise ValueError(
            f"names must be some of {', '.join(traces)}; got {', '.join(unknown) or 'none'}."
        )
    figure = new_figure(title, 10.0, 0.6 + 2.4 * len(names))
    panels = figure.subplots(len(names), 1, squeeze=False)[:, 0]
    for axes, name in zip(panels, names, strict=True):
        _draw_chains(axes, traces[name], posterior.chain)
        dress(axes, name, "draw")
    if posterior.n_chains > 1:
        above = {"loc": "lower right", "bbox_to_anchor": (1.0, 1.0)}
        panels[0].legend(frameon=False, fontsize=9, labelcolor=INK, ncols=8, **above)
    figure.savefig(path, dpi=160)


def co_clustering_map(
    path: str | Path, posterior: Posterior, *, rows: Array | None = None, title: str = ""
) -> None:
    """Save a map of which rows belong together: the darker, the more draws have them together.

    Rows are ordered by the clusters of the draw that stands best for all
    (:meth:`Posterior.point`), the largest first: blocks on the diagonal are clusters that are
    certain, what lies beside it is doubt.

    Parameters
    ----------
    path : path-like
        File to write; its suffix names the format (.png, .svg, .pdf).
    posterior : Posterior
    rows : int array (R,) or mask (N,), optional
        The rows to show; if None, all of them or, of more, 1,000 evenly spaced ones.
    title : str
        Headline of the picture.

    Raises
    ------
    ImportError
        matplotlib is not installed.
    """
    figure = new_figure(title, 7.0, 6.4)
    from matplotlib.colors import LinearSegmentedColormap

    N = posterior.labels.shape[1]
    if rows is None:
        rows = np.linspace(0, N - 1, min(N, MAX_ROWS)).round().astype(np.int64)
    shown = np.arange(N)[rows]
    shown = shown[_largest_first(posterior.labels[posterior.point()][shown])]
    axes = figure.subplots()
    dress(axes, "Share of draws in which two rows are together", "rows, by cluster")
    axes.grid(False)
    axes.set_xticks([])
    axes.set_yticks([])
    colours = LinearSegmentedColormap.from_list("together", ["white", BLUE, INK])
    together = posterior.co_clustering(shown)
    image = axes.imshow(together, cmap=colours, vmin=0.0, vmax=1.0, interpolation="nearest")
    bar = figure.colorbar(image, ax=axes, shrink=0.8)
    bar.ax.tick_params(colors=INK, labelsize=9, length=0)
    bar.outline.set_visible(False)
    figure.savefig(path, dpi=160)


def _draw_chains(axes: "Axes", trace: Array, chain: Array) -> None:
    for j, number in enumerate(np.unique(chain)):
        colour = CHAIN_COLOURS[j % len(CHAIN_COLOURS)]
        axes.plot(
            trace[chain == number], color=colour, linewidth=1.2, alpha=0.8, label=f"chain {number}"
        )
    axes.locator_params(axis="x", integer=True)
    axes.locator_params(axis="y", integer=bool(np.all(trace == np.round(trace))))


def _largest_first(labels: Array) -> Array:
    """Order (R,) of rows by cluster, the largest first, otherwise as they are."""
    _, position, sizes = np.unique(labels, return_inverse=True, return_counts=True)
    return np.lexsort((position, -sizes[position]))
