"""Topics over time: their births and deaths, and pictures (with matplotlib) of shares and words."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from evermix.report.canvas import BLUE, FAINT, GREEN, INK, ORANGE, new_figure, style_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MAX_TICKS = 9  # of the axis of times
WORDS_SHOWN = 5  # of a topic
COLOURS = (
    *("#2266aa", "#d9762b", "#2d8f6f", "#b03a5b", "#7a5aa6", "#8a6d3b", "#4aa3c7", "#c9a227"),
    *("#5d7f2b", "#d66fa0", "#3d4f9f", "#9c4a1a", "#57b894", "#6b7680", "#a88bd0"),
)


class Lifetimes(NamedTuple):
    """When each of K topics is present, in numbers 0..T-1 of times.

    Attributes
    ----------
    spans : list of K lists of (first, last)
        Runs of times in which a topic is present, first and last included.
    births : list of T lists of int
        Topics that are present for the first time. The births of topics that are present at the
        first time of all are unknown, and left out.
    deaths : list of T lists of int
        Topics that are absent from this time on.
    """

    spans: list[list[tuple[int, int]]]
    births: list[list[int]]
    deaths: list[list[int]]


def lifetimes(evolution: NDArray[Any], share: float) -> Lifetimes:
    """Find when topics have at least a share of the words.

    Parameters
    ----------
    evolution : array (T, K)
        Share of each topic at each time.
    share : float
        A topic with less is absent.

    Examples
    --------
    >>> found = lifetimes([[0.9, 0.1], [0.5, 0.5], [0.0, 1.0]], 0.2)
    >>> found.spans
    [[(0, 1)], [(1, 2)]]
    >>> found.births, found.deaths
    ([[], [1], []], [[], [], [0]])
    """
    present = np.asarray(evolution) >= max(share, np.nextafter(0.0, 1.0))
    T, K = present.shape
    births: list[list[int]] = [[] for _ in range(T)]
    deaths: list[list[int]] = [[] for _ in range(T)]
    spans = [_runs(present[:, k]) for k in range(K)]
    for k, runs in enumerate(spans):
        if runs and runs[0][0] > 0:
            births[runs[0][0]].append(k)
        if runs and runs[-1][1] < T - 1:
            deaths[runs[-1][1] + 1].append(k)
    return Lifetimes(spans, births, deaths)


def _runs(mask: NDArray[Any]) -> list[tuple[int, int]]:
    """Return the first and last positions of the runs of True in a mask (T,)."""
    edges = np.flatnonzero(np.diff(np.concatenate(([False], mask, [False])).astype(np.int8)))
    return [(int(a), int(b) - 1) for a, b in edges.reshape(-1, 2)]


# ---- pictures ------------------------------------------------------------------------------


def topic_overview(
    path: str | Path,
    *,
    times: Sequence[Any],
    evolution: NDArray[Any],
    words: Sequence[Sequence[Any]],
    share: float = 0.01,
    n: int = 15,
    title: str = "",
) -> None:
    """Save one picture of all topics: shares over time, births and deaths, lifelines and words.

    Parameters
    ----------
    path : path-like
        File to write; its suffix names the format (.png, .svg, .pdf).
    times : sequence (T,)
        Numbers, or labels of times, in order.
    evolution : array (T, K)
        Share of each topic at each time.
    words : sequence of K sequences
        The top words of each topic.
    share : float
        A topic with less is absent.
    n : int
        Number of topics of the largest mean share to show one by one; the others are shown as one.
    title : str
        Headline of the picture.
    """
    shown = _ShownTopics.of(times, evolution, words, n)
    alive = lifetimes(shown.evolution, share)
    figure = new_figure(title, 14.5, 3.4 + 0.3 * max(len(shown.chosen), 10))
    grid = figure.add_gridspec(2, 2, width_ratios=(1.0, 1.15), height_ratios=(2.2, 1.0))
    _draw_stack(figure.add_subplot(grid[0, 0]), shown)
    _draw_births_and_deaths(figure.add_subplot(grid[1, 0]), shown, alive)
    _draw_lifelines(figure.add_subplot(grid[:, 1]), shown, alive, share)
    figure.savefig(path, dpi=160)


def topic_curves(
    path: str | Path,
    *,
    times: Sequence[Any],
    evolution: NDArray[Any],
    words: Sequence[Sequence[Any]],
    predicted: NDArray[Any] | None = None,
    n: int = 12,
    title: str = "",
) -> None:
    """Save a picture of single topics: their share of the words and predicted weight over time.

    Parameters
    ----------
    path : path-like
        File to write; its suffix names the format (.png, .svg, .pdf).
    times : sequence (T,)
        Numbers, or labels of times, in order.
    evolution : array (T, K)
        Share of each topic at each time.
    words : sequence of K sequences
        The top words of each topic.
    predicted : array (T, K), optional
        Weight of each topic at each time, predicted for one more document.
    n : int
        Number of topics of the largest mean share to show.
    title : str
        Headline of the picture.
    """
    shown = _ShownTopics.of(times, evolution, words, n)
    width = min(4, len(shown.chosen))
    height = -(-len(shown.chosen) // width)
    figure = new_figure(title, 3.7 * width, 0.7 + 2.3 * height)
    panels = figure.subplots(height, width, squeeze=False).ravel()
    for axes in panels[len(shown.chosen) :]:
        axes.set_visible(False)
    for axes, k in zip(panels, shown.chosen, strict=False):
        style_axes(axes, "", "")
        axes.set_title(shown.name(k, 4, 34), fontsize=9.5, color=INK, loc="left")
        _draw_curve(axes, shown.x, shown.evolution[:, k], BLUE, "share of words")
        if predicted is not None:
            _draw_curve(axes, shown.x, np.asarray(predicted)[:, k], ORANGE, "predicted weight")
        axes.set_ylim(bottom=0.0)
        axes.yaxis.set_major_formatter(_percent)
        shown.tick(axes, 4)
    panels[0].legend(frameon=False, fontsize=8, labelcolor=INK)
    figure.savefig(path, dpi=160)


@dataclass(frozen=True, eq=False)
class _ShownTopics:
    """Topics of a picture, over an axis of times.

    Attributes
    ----------
    times, evolution, words
        As in :func:`topic_overview`.
    x : array (T,)
        Positions of the times on the axis: numbers as they are, labels evenly spaced.
    chosen : int array (n,)
        The topics that are shown one by one, the largest first.
    """

    times: Sequence[Any]
    evolution: NDArray[Any]
    words: Sequence[Sequence[Any]]
    x: NDArray[Any]
    chosen: NDArray[Any]

    @classmethod
    def of(
        cls, times: Sequence[Any], evolution: NDArray[Any], words: Sequence[Sequence[Any]], n: int
    ) -> Self:
        """Check shapes, and choose the n topics of the largest mean share."""
        evolution = np.asarray(evolution, dtype=np.float64)
        if evolution.shape != (len(times), len(words)) or not evolution.size:
            raise ValueError(
                f"evolution must be (T, K), here ({len(times)}, {len(words)}) and not empty, got "
                f"shape {evolution.shape}."
            )
        x = np.asarray(times, dtype=np.float64) if _numeric(times) else np.arange(float(len(times)))
        chosen = np.argsort(-evolution.mean(axis=0), kind="stable")[:n]
        return cls(times, evolution, words, x, chosen)

    def name(self, k: int, n: int, most: int) -> str:
        """Return n top words of topic k in one line of at most ``most`` characters."""
        line = ", ".join(map(str, self.words[k][:n]))
        return line if len(line) <= most else line[: most - 1].rstrip(", ") + "…"

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
    others = " (grey: all others)" if shown.evolution.shape[1] > chosen.shape[1] else ""
    style_axes(axes, f"Share of each topic among the words of a time{others}", "")
    rest = np.maximum(1.0 - chosen.sum(axis=1), 0.0)
    colours = [*(_colour(i) for i in range(chosen.shape[1])), FAINT]
    axes.stackplot(shown.x, *chosen.T, rest, colors=colours, linewidth=0.4, edgecolor="white")
    axes.margins(x=0.0)
    axes.set_ylim(0.0, 1.0)
    axes.yaxis.set_major_formatter(_percent)
    shown.tick(axes)


def _draw_births_and_deaths(axes: "Axes", shown: _ShownTopics, alive: Lifetimes) -> None:
    x = shown.x
    style_axes(axes, "Births and deaths of topics", "")
    born, gone = ([len(some) for some in moves] for moves in (alive.births, alive.deaths))
    width = 0.6 * float(np.diff(x).min()) if len(x) > 1 else 0.6
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
            some = slice(start, end + 1)
            axes.plot(x[some], np.full(end + 1 - start, y), color=colour, linewidth=1.4)
            axes.fill_between(x[some], y - half[some], y + half[some], color=colour, alpha=0.85)
            axes.scatter([x[start], x[end]], [y, y], s=9, color=colour)
    axes.set_ylim(len(chosen) - 0.4, -0.6)
    axes.set_yticks(np.arange(len(chosen)), [shown.name(chosen[i], WORDS_SHOWN, 46) for i in rows])
    axes.yaxis.tick_right()
    axes.grid(axis="y", visible=False)
    shown.tick(axes)


def _draw_curve(axes: "Axes", x: NDArray[Any], y: NDArray[Any], colour: str, label: str) -> None:
    marker = "o" if len(x) <= 40 else None
    axes.plot(x, y, color=colour, linewidth=1.7, marker=marker, markersize=2.6, label=label)


def _colour(i: int) -> str:
    return COLOURS[i % len(COLOURS)]


def _numeric(times: Sequence[Any]) -> bool:
    return not any(isinstance(time, str) for time in times)


def _percent(value: float, _: Any) -> str:
    return f"{100 * value:.3g}%"
