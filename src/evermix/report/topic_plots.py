"""Topics over time: pictures (with matplotlib) of their shares, births and deaths, and words.

Pictures are drawn into a new figure unless one is given, and return its axes; nothing is saved.
Times without documents are left blank.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from evermix.report.canvas import (
    BLUE,
    FAINT,
    GREEN,
    INK,
    ORANGE,
    PALETTE,
    new_figure,
    shortened,
    style_axes,
)
from evermix.report.lifetimes import Lifetimes, lifetimes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PANEL, NAME = 3.7, 3.0  # inches: the panel of a topic, the words beside its lifeline
MAX_TICKS = 9  # of the axis of times
WORDS_SHOWN = 5  # of a topic


# ---- pictures ------------------------------------------------------------------------------


def topic_overview(
    *,
    times: Sequence[Any],
    evolution: NDArray[Any],
    words: Sequence[Sequence[Any]],
    weights: NDArray[Any] | None = None,
    share: float = 0.01,
    n: int = 15,
    title: str = "",
    figure: "Figure | None" = None,
) -> NDArray[Any]:
    """Draw all topics: shares over time, births and deaths, lifelines and words.

    Parameters
    ----------
    times : sequence (T,)
        Numbers, or labels of times, in order.
    evolution : array (T, K)
        Share of each topic at each time.
    words : sequence of K sequences
        The top words of each topic.
    weights : array (K,), optional
        Their shares in all; None: the mean over times.
    share : float
        A topic with less is absent.
    n : int
        Number of topics to show one by one, the largest; the others are shown as one.
    title : str
        Headline of the picture.
    figure : Figure, optional
        Where to draw.
    """
    shown = _ShownTopics.of(times, evolution, words, weights, n)
    alive = lifetimes(shown.evolution, share)
    figure = new_figure(title, 14.5, 3.4 + 0.3 * max(len(shown.chosen), 10), figure)
    grid = figure.add_gridspec(2, 2, width_ratios=(1.0, 1.15), height_ratios=(2.2, 1.0))
    stack, moves, lines = (figure.add_subplot(grid[at]) for at in ((0, 0), (1, 0), (slice(2), 1)))
    _draw_stack(stack, shown)
    _draw_births_and_deaths(moves, shown, alive)
    _draw_lifelines(lines, shown, alive, share)
    return np.array([stack, moves, lines])


def topic_curves(
    *,
    times: Sequence[Any],
    evolution: NDArray[Any],
    words: Sequence[Sequence[Any]],
    weights: NDArray[Any] | None = None,
    predicted: NDArray[Any] | None = None,
    n: int = 12,
    title: str = "",
    figure: "Figure | None" = None,
) -> NDArray[Any]:
    """Draw single topics: their share of the words and predicted weight over time.

    Parameters
    ----------
    times : sequence (T,)
        Numbers, or labels of times, in order.
    evolution : array (T, K)
        Share of each topic at each time.
    words : sequence of K sequences
        The top words of each topic.
    weights : array (K,), optional
        Their shares in all; None: the mean over times.
    predicted : array (T, K), optional
        Weight of each topic at each time, predicted for one more document.
    n : int
        Number of topics to show, the largest.
    title : str
        Headline of the picture.
    figure : Figure, optional
        Where to draw.
    """
    shown = _ShownTopics.of(times, evolution, words, weights, n)
    width = min(4, len(shown.chosen))
    height = -(-len(shown.chosen) // width)
    figure = new_figure(title, PANEL * width, 0.7 + 2.3 * height, figure)
    panels = figure.subplots(height, width, squeeze=False).ravel()
    for axes in panels[len(shown.chosen) :]:
        axes.set_visible(False)
    for axes, k in zip(panels, shown.chosen, strict=False):
        style_axes(axes, "", "")
        name = shown.name(k, 4, 9.5, 0.8 * PANEL)
        axes.set_title(name, fontsize=9.5, color=INK, loc="left")
        _draw_curve(axes, shown, shown.evolution[:, k], BLUE, "share of words")
        if predicted is not None:
            _draw_curve(
                axes, shown, np.asarray(predicted)[shown.kept, k], ORANGE, "predicted weight"
            )
        axes.set_ylim(bottom=0.0)
        axes.yaxis.set_major_formatter(_percent)
        shown.tick(axes, 4)
    legend = {"handles": panels[0].lines[: 1 if predicted is None else 2], "ncols": 2}
    figure.legend(**legend, loc="outside upper right", frameon=False, fontsize=9, labelcolor=INK)
    return panels[: len(shown.chosen)]


@dataclass(frozen=True, eq=False)
class _ShownTopics:
    """Topics of a picture, over an axis of times.

    Attributes
    ----------
    times, evolution, words
        As in :func:`topic_overview`, less times without documents.
    x : array (T,)
        Positions of the times on the axis: numbers as they are, months and days by their dates,
        other labels evenly spaced.
    step : float
        The shortest time from one to the next.
    runs : list of slice
        Times that follow one another; between two runs there are times without documents.
    chosen : int array (n,)
        The topics that are shown one by one, the largest first.
    kept : int array (T,)
        Numbers of these times among those that were given.
    """

    times: Sequence[Any]
    evolution: NDArray[Any]
    words: Sequence[Sequence[Any]]
    x: NDArray[Any]
    step: float
    runs: list[slice]
    chosen: NDArray[Any]
    kept: NDArray[Any]

    @classmethod
    def of(
        cls,
        times: Sequence[Any],
        evolution: NDArray[Any],
        words: Sequence[Sequence[Any]],
        weights: NDArray[Any] | None,
        n: int,
    ) -> Self:
        """Check shapes, find times without documents, and choose the n largest topics."""
        evolution = np.asarray(evolution, dtype=np.float64)
        fits = evolution.shape == (len(times), len(words))
        kept = np.flatnonzero(np.nan_to_num(evolution).any(axis=1)) if fits else np.empty(0, int)
        if not len(kept):
            raise ValueError(
                f"evolution must be (T, K), here ({len(times)}, {len(words)}), and have shares "
                f"above 0, got shape {evolution.shape}."
            )
        x, regular = _positions(times)
        step = float(np.diff(x).min(initial=np.inf))
        gaps = (np.diff(kept) > 1) | (regular & (np.diff(x[kept]) > 1.5 * step))
        evolution, times, x = evolution[kept], [times[int(t)] for t in kept], x[kept]
        edges = [0, *(np.flatnonzero(gaps) + 1), len(x)]
        runs = [slice(a, b) for a, b in zip(edges, edges[1:], strict=False)]
        size = evolution.mean(axis=0) if weights is None else np.asarray(weights)
        chosen = np.argsort(-size, kind="stable")[:n]
        return cls(times, evolution, words, x, step if step < np.inf else 1.0, runs, chosen, kept)

    def name(self, k: int, n: int, size: float, width: float) -> str:
        """Return n top words of topic k in one line of so many inches, in letters of a size."""
        return shortened(", ".join(map(str, self.words[k][:n])), size, width)

    def tick(self, axes: "Axes", most: int = MAX_TICKS) -> None:
        """Label some of the times."""
        if _numeric(self.times):
            whole = all(float(time).is_integer() for time in self.times)
            axes.locator_params(axis="x", integer=whole, nbins=most)
            axes.ticklabel_format(axis="x", useOffset=False, style="plain")
            return
        longest = max(len(str(time)) for time in self.times)
        step = -(-len(self.x) // max(most * 4 // max(longest, 4), 2))  # as much room as for years
        axes.set_xticks(self.x[::step], [str(time) for time in self.times[::step]])


def _draw_stack(axes: "Axes", shown: _ShownTopics) -> None:
    chosen = shown.evolution[:, shown.chosen]
    others = " (grey: others)" if shown.evolution.shape[1] > chosen.shape[1] else ""
    style_axes(axes, f"Share of the words of each time{others}", "")
    rest = np.maximum(1.0 - chosen.sum(axis=1), 0.0)
    colours = [*(_colour(i) for i in range(chosen.shape[1])), FAINT]
    shares = np.column_stack([chosen, rest])
    for run in shown.runs:
        x, some = shown.x[run], shares[run]
        if len(x) > 1:
            axes.stackplot(x, *some.T, colors=colours, linewidth=0.4, edgecolor="white")
        else:
            axes.bar(x[0], some[0], 0.5 * shown.step, np.cumsum(some[0]) - some[0], color=colours)
    axes.margins(x=0.0)
    axes.set_ylim(0.0, 1.0)
    axes.yaxis.set_major_formatter(_percent)
    shown.tick(axes)


def _draw_births_and_deaths(axes: "Axes", shown: _ShownTopics, alive: Lifetimes) -> None:
    x = shown.x
    style_axes(axes, "Births and deaths", "")
    born, gone = ([len(some) for some in moves] for moves in (alive.births, alive.deaths))
    width = 0.6 * shown.step
    axes.bar(x, born, width, color=GREEN, label="births")
    axes.bar(x, -np.array(gone), width, color=ORANGE, label="deaths")
    axes.axhline(0.0, color=INK, linewidth=0.8)
    most = max(*born, *gone, 1) + 0.5
    axes.set_ylim(-most, most)
    axes.locator_params(axis="y", integer=True)
    axes.yaxis.set_major_formatter(lambda value, _: f"{abs(value):.0f}")
    above = (1.0, 1.0)
    axes.legend(
        frameon=False, fontsize=9, labelcolor=INK, ncols=2, loc="lower right", bbox_to_anchor=above
    )
    shown.tick(axes)


def _draw_lifelines(axes: "Axes", shown: _ShownTopics, alive: Lifetimes, share: float) -> None:
    """Draw a band for each topic while it is present, the thicker the larger its share."""
    x, chosen, evolution = shown.x, shown.chosen, shown.evolution
    style_axes(axes, f"When topics have at least {100 * share:.3g}% of the words", "")
    first = [alive.spans[k][0][0] if alive.spans[k] else len(x) for k in chosen]
    rows = np.argsort(first, kind="stable")
    thick = 0.42 / max(float(evolution[:, chosen].max()), 1e-12) ** 0.5
    for y, i in enumerate(rows):
        k, colour = chosen[i], _colour(int(i))
        half = thick * np.sqrt(evolution[:, k])  # the root keeps small shares visible
        for start, end in alive.spans[k]:
            for run in shown.runs:
                some = slice(max(start, run.start), min(end + 1, run.stop))
                if some.start >= some.stop:
                    continue
                at, wide = x[some], half[some]
                axes.plot(at, np.full(len(at), y), color=colour, linewidth=1.4)
                axes.fill_between(at, y - wide, y + wide, color=colour, alpha=0.85)
                axes.scatter(at[[0, -1]], [y, y], s=9, color=colour)
    axes.set_ylim(len(chosen) - 0.4, -0.6)
    names = [shown.name(chosen[i], WORDS_SHOWN, 9.0, NAME) for i in rows]
    axes.set_yticks(np.arange(len(chosen)), names)
    axes.yaxis.tick_right()
    axes.grid(axis="y", visible=False)
    shown.tick(axes)


def _draw_curve(
    axes: "Axes", shown: _ShownTopics, y: NDArray[Any], colour: str, label: str
) -> None:
    marker = "o" if len(y) <= 40 else None
    broken = np.insert(y, [run.start for run in shown.runs[1:]], np.nan)
    x = np.insert(shown.x, [run.start for run in shown.runs[1:]], np.nan)
    axes.plot(x, broken, color=colour, linewidth=1.7, marker=marker, markersize=2.6, label=label)


def _colour(i: int) -> str:
    return PALETTE[i % len(PALETTE)]


def _positions(times: Sequence[Any]) -> tuple[NDArray[Any], bool]:
    """Return the places of times on an axis, and whether they count years, months or days."""
    if _numeric(times):
        x = np.asarray(times, dtype=np.float64)
        return x, bool(np.all(x == np.round(x)))
    try:
        x = np.array(list(map(str, times)), dtype="datetime64").astype(np.int64).astype(np.float64)
    except ValueError:
        x = np.zeros(len(times))
    return (x, True) if np.all(np.diff(x) > 0) else (np.arange(float(len(times))), False)


def _numeric(times: Sequence[Any]) -> bool:
    return not any(isinstance(time, str) for time in times)


def _percent(value: float, _: Any) -> str:
    return f"{100 * value:.3g}%"
