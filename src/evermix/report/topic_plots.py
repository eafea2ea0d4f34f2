"""Topics over time: pictures (with matplotlib) of their shares, births and deaths, and words.

Pictures are drawn into a new figure unless one is given, and return its axes; nothing is saved.
Times without documents are left blank, those with few are left out.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from evermix._limits import MIN_DOCUMENTS
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
from evermix.report.lifetimes import (
    Lifetimes,
    caution,
    changes,
    lifetimes,
    reliable_times,
)
from evermix.report.shares import TINY, large, percent, tiny

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PANEL, NAME = 3.7, 3.6  # inches: the panel of a topic, the words beside its course
MAX_TICKS = 9  # of the axis of times
WORDS_SHOWN = 5  # of a topic
MOVES: dict[str, dict[str, Any]] = {  # marks, by what they stand for
    "born": {"marker": "^", "color": GREEN},
    "died": {"marker": "v", "color": ORANGE},
}
FLAT = 0.5  # a topic whose least share is more than this part of its largest may change little
STEADY = 0.8  # and one with more than this does, however large it is


# ---- pictures ------------------------------------------------------------------------------


def topic_overview(
    *,
    times: Sequence[Any],
    evolution: NDArray[Any],
    words: Sequence[Sequence[Any]],
    weights: NDArray[Any] | None = None,
    documents: Sequence[int] | None = None,
    least: int = MIN_DOCUMENTS,
    share: float = 0.01,
    n: int = 15,
    by: str = "change",
    added: int = 0,
    title: str = "",
    figure: "Figure | None" = None,
) -> NDArray[Any]:
    """Draw topics over time: the shares of those that changed, their courses, births and deaths.

    Parameters
    ----------
    times : sequence (T,)
        Numbers, or labels of times, in order.
    evolution : array (T, K)
        Share of each topic at each time.
    words : sequence of K sequences
        The words that name each topic.
    weights : array (K,), optional
        Their shares in all; None: the mean over times.
    documents : sequence of int (T,), optional
        Number of documents of each time; times with few are left out.
    least : int
        With fewer documents than this, they are few.
    share : float
        A topic with less is absent: for births and deaths.
    n : int
        Number of topics to show; the others are summed up in a line of text.
    by : "change" or "size"
        Which are shown: those whose share changes most, or the largest.
    added : int
        How many of the last times were added after a fit; a dashed line stands before them.
    title : str
        Headline of the picture.
    figure : Figure, optional
        Where to draw.
    """
    shown = _ShownTopics.of(times, evolution, words, weights, n, by, documents, least, added)
    alive = lifetimes(shown.evolution, share)
    figure = new_figure(title, 14.5, 3.0 + 0.42 * max(len(shown.chosen), 8), figure)
    grid = figure.add_gridspec(2, 2, width_ratios=(1.0, 1.15), height_ratios=(2.2, 1.0))
    stack, moves, lines = (figure.add_subplot(grid[at]) for at in ((0, 0), (1, 0), (slice(2), 1)))
    _draw_stack(stack, shown)
    _draw_births_and_deaths(moves, shown, alive)
    _draw_courses(lines, shown, alive, by)
    return np.array([stack, moves, lines])


def topic_curves(
    *,
    times: Sequence[Any],
    evolution: NDArray[Any],
    words: Sequence[Sequence[Any]],
    weights: NDArray[Any] | None = None,
    documents: Sequence[int] | None = None,
    least: int = MIN_DOCUMENTS,
    predicted: NDArray[Any] | None = None,
    n: int = 12,
    by: str = "change",
    added: int = 0,
    title: str = "",
    figure: "Figure | None" = None,
) -> NDArray[Any]:
    """Draw single topics: their share of the words and predicted weight over time.

    Parameters are those of :func:`topic_overview`, and

    predicted : array (T, K), optional
        Weight of each topic at each time, predicted for one more document.
    """
    shown = _ShownTopics.of(times, evolution, words, weights, n, by, documents, least, added)
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
        shown.divide(axes)
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
        The topics that are shown: those of the past first, those that change little last. Tiny
        ones, at all times, are not.
    flat : bool array (n,)
        Which of them change little, and are always there: the share changes by less than a fifth of
        itself, or does not halve and changes no more than that of half of the topics shown.
    kept : int array (T,)
        Numbers of these times among those that were given.
    weights : array (K,)
        Share of each topic in all.
    caution : str
        How far births and deaths can be trusted.
    edge : float or None
        Where times begin on the axis that were added after a fit.
    """

    times: Sequence[Any]
    evolution: NDArray[Any]
    words: Sequence[Sequence[Any]]
    x: NDArray[Any]
    step: float
    runs: list[slice]
    chosen: NDArray[Any]
    flat: NDArray[Any]
    kept: NDArray[Any]
    weights: NDArray[Any]
    caution: str
    edge: float | None = None

    @classmethod
    def of(
        cls,
        times: Sequence[Any],
        evolution: NDArray[Any],
        words: Sequence[Sequence[Any]],
        weights: NDArray[Any] | None,
        n: int,
        by: str = "size",
        documents: Sequence[int] | None = None,
        least: int = MIN_DOCUMENTS,
        added: int = 0,
    ) -> Self:
        """Check shapes, find times without documents or with few, and choose n topics."""
        evolution, T = np.asarray(evolution, dtype=np.float64), len(times)
        fits = evolution.shape == (T, len(words))
        kept = np.flatnonzero(np.nan_to_num(evolution).any(axis=1)) if fits else np.empty(0, int)
        if not len(kept):
            raise ValueError(
                f"evolution must be (T, K), here ({len(times)}, {len(words)}), and have shares "
                f"above 0, got shape {evolution.shape}."
            )
        reliable = np.intersect1d(kept, reliable_times(len(times), documents, least))
        kept = reliable if len(reliable) > 1 else kept
        x, regular = positions(times)
        step = float(np.diff(x[kept]).min(initial=np.inf))
        gaps = (np.diff(kept) > 1) | (regular & (np.diff(x[kept]) > 1.5 * step))
        evolution, times, x = evolution[kept], [times[int(t)] for t in kept], x[kept]
        edges = [0, *(np.flatnonzero(gaps) + 1), len(x)]
        runs = [slice(a, b) for a, b in zip(edges, edges[1:], strict=False)]
        size = evolution.mean(axis=0) if weights is None else np.asarray(weights)
        weights, n_documents = size, None if documents is None else int(np.sum(documents))
        if by == "change" and len(kept) > 1:
            size = np.abs(changes(evolution)) + 1e-9 * size  # where nothing changes, the largest
        seen = evolution.max(axis=0) >= TINY
        chosen = np.argsort(-size * (seen | ~seen.any()), kind="stable")[: min(n, seen.sum() or n)]
        # By the middle of their words: those that fade first, those that grow last.
        middle = x @ evolution[:, chosen] / np.maximum(evolution[:, chosen].sum(axis=0), 1e-12)
        shares = evolution[:, chosen]
        least, most = shares.min(axis=0), shares.max(axis=0)
        little = (most - least <= np.median(most - least)) | (least > STEADY * most)
        flat = (least > FLAT * most) & little & (len(kept) > 1)
        order = np.lexsort((middle, flat))
        step, chosen, flat = step if step < np.inf else 1.0, chosen[order], flat[order]
        late = np.searchsorted(kept, T - added)
        edge = float(x[late - 1 : late + 1].mean()) if 0 < late < len(x) else None
        about = weights, caution(n_documents), edge
        return cls(times, evolution, words, x, step, runs, chosen, flat, kept, *about)

    def colour(self, i: int) -> str:
        """Return the colour of the topic in place i; those that change little are grey."""
        return FAINT if self.flat[i] else PALETTE[i % len(PALETTE)]

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

    def divide(self, axes: "Axes") -> None:
        """Draw a line before the times that were added after a fit."""
        if self.edge is not None:
            axes.axvline(self.edge, color=INK, linewidth=0.9, linestyle=(0, (4, 3)))


def _draw_stack(axes: "Axes", shown: _ShownTopics) -> None:
    """Draw the shares of the topics above each other; a line of text sums up the others."""
    shares = shown.evolution[:, shown.chosen]
    total, others = shares.sum(axis=1), shown.evolution.shape[1] - len(shown.chosen)
    notes = _counted(shown.weights, shown.chosen)
    notes += ["right of the dashed line: added after the fit"] if shown.edge is not None else []
    style_axes(axes, "Share of the words of each time", "\n".join(notes))
    colours = [shown.colour(i) for i in range(len(shown.chosen))]
    for run in shown.runs:
        x, some = shown.x[run], shares[run]
        if len(x) > 1:
            axes.stackplot(x, *some.T, colors=colours, linewidth=0.6, edgecolor="white")
        else:
            axes.bar(x[0], some[0], 0.5 * shown.step, np.cumsum(some[0]) - some[0], color=colours)
    axes.margins(x=0.0)
    axes.set_ylim(0.0, min(1.04 * float(total.max()), 1.0) if others > 0 else 1.0)
    axes.yaxis.set_major_formatter(_percent)
    shown.tick(axes)
    shown.divide(axes)


def _counted(weights: NDArray[Any], chosen: NDArray[Any]) -> list[str]:
    """Return how many large and small topics are shown, and what the others hold, as headlines do.

    Tiny ones are left out, unless they are shown.
    """
    drawn, some = np.zeros(len(weights), dtype=bool), large(weights)
    drawn[chosen] = True
    others = ~drawn & ~tiny(weights)
    notes = []
    if not some[~tiny(weights)].all():
        n, small = int(np.sum(some & drawn)), int(np.sum(drawn & ~some))
        notes.append(f"shown: {n:,} of {some.sum():,} large topics, {small:,} of the small ones")
    if others.any():
        rest = f"not shown: {others.sum():,} other{'s, together' if others.sum() > 1 else ','} "
        notes.append(f"{rest}{percent(weights[others].sum())} of the words")
    return notes


def _draw_births_and_deaths(axes: "Axes", shown: _ShownTopics, alive: Lifetimes) -> None:
    x = shown.x
    born, gone = ([len(some) for some in moves] for moves in (alive.births, alive.deaths))
    uncertain = (
        "beside the dashed line they are uncertain" if shown.edge is not None else shown.caution
    )
    below = uncertain.replace("; ", ";\n") if any(born) or any(gone) else ""
    style_axes(axes, "Births and deaths", below)
    shown.divide(axes)
    width = 0.6 * shown.step
    axes.bar(x, born, width, color=GREEN, label="births")
    axes.bar(x, -np.array(gone), width, color=ORANGE, label="deaths")
    axes.axhline(0.0, color=INK, linewidth=0.8)
    most = max(*born, *gone, 1) + 0.5
    axes.set_ylim(-most, most)
    axes.locator_params(axis="y", integer=True)
    axes.yaxis.set_major_formatter(lambda value, _: f"{abs(value):.0f}")
    _legend_above(axes)
    shown.tick(axes)


def _legend_above(axes: "Axes", place: str = "lower right", **what: Any) -> None:
    what |= {"frameon": False, "fontsize": 9, "labelcolor": INK, "ncols": 2, "loc": place}
    axes.legend(**what, bbox_to_anchor=(1.0, 1.0))


def _draw_courses(axes: "Axes", shown: _ShownTopics, alive: Lifetimes, by: str) -> None:
    """Draw the share of each topic in a row of its own, with marks where it is born and dies."""
    what = "Topics that changed most" if by == "change" else "The largest topics"
    order = "topics of early times come first, those of late times last"
    order += ",\nbelow them, in grey, those that change little" if shown.flat.any() else ""
    order = order if len(shown.times) > 1 and len(shown.chosen) > 1 else ""
    style_axes(axes, f"{what}, each on its own scale", order)
    names, marks = [], dict[str, Any]()
    for y, k in enumerate(shown.chosen):
        course, colour = shown.evolution[:, k], shown.colour(y)
        height = 0.8 / max(float(course.max()), 1e-12) * course
        for run in shown.runs:
            at, high = shown.x[run], y - height[run]
            if len(at) > 1:
                axes.fill_between(at, y, high, color=colour, alpha=0.85, linewidth=0)
                axes.plot(at, high, color=colour, linewidth=1.2)
            else:
                axes.bar(at[0], -height[run][0], 0.5 * shown.step, y, color=colour)
        for t, (what, look) in zip(alive.moves(k), MOVES.items(), strict=True):
            if t is not None:
                marks[what] = axes.scatter(shown.x[t], y, s=42, edgecolor="white", **look)
        little = "changes little: " if shown.flat[y] else ""
        names.append(f"{shown.name(k, WORDS_SHOWN, 9.0, NAME)}\n{little}{_written(shown, course)}")
    if marks:
        some = [what for what in MOVES if what in marks]
        handles = [marks[what] for what in some]
        _legend_above(axes, "lower left", handles=handles, labels=some)  # the headline is long
    axes.set_ylim(len(shown.chosen) - 0.7, -0.95)
    axes.set_yticks(np.arange(len(shown.chosen)) - 0.35, names)
    axes.yaxis.tick_right()
    axes.grid(axis="y", visible=False)
    axes.margins(x=0.01)
    shown.tick(axes)
    shown.divide(axes)


def _written(shown: _ShownTopics, course: NDArray[Any]) -> str:
    """Return the first, the highest and the last share of a topic, in words."""
    places = sorted({0, int(course.argmax()), len(course) - 1})
    return ", ".join(f"{percent(course[t])} in {_label(shown.times[t])}" for t in places)


def _draw_curve(
    axes: "Axes", shown: _ShownTopics, y: NDArray[Any], colour: str, label: str
) -> None:
    marker = "o" if len(y) <= 40 else None
    broken = np.insert(y, [run.start for run in shown.runs[1:]], np.nan)
    x = np.insert(shown.x, [run.start for run in shown.runs[1:]], np.nan)
    axes.plot(x, broken, color=colour, linewidth=1.7, marker=marker, markersize=2.6, label=label)


def positions(times: Sequence[Any]) -> tuple[NDArray[Any], bool]:
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


def _label(time: Any) -> str:
    whole = isinstance(time, float) and time.is_integer()
    return str(int(time) if whole else time)


def _percent(value: float, _: Any) -> str:
    return f"{100 * value:.3g}%"
