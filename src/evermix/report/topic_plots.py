"""Topics over time: pictures (with matplotlib) of their shares, births and deaths, and words.

Pictures are drawn into a new figure unless one is given, and return its axes; nothing is saved.
Times without documents are left blank, those with few are left out.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from evermix._limits import MIN_DOCUMENTS
from evermix.report.canvas import (
    BLUE,
    GREEN,
    INK,
    ORANGE,
    new_figure,
    style_axes,
)
from evermix.report.lifetimes import (
    Lifetimes,
    lifetimes,
)
from evermix.report.shares import large, percent, tiny
from evermix.report.shown_topics import ShownTopics

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PANEL, NAME = 3.7, 3.6  # inches: the panel of a topic, the words beside its course
WORDS_SHOWN = 5  # of a topic
MOVES: dict[str, dict[str, Any]] = {  # marks, by what they stand for
    "born": {"marker": "^", "color": GREEN},
    "died": {"marker": "v", "color": ORANGE},
}


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
    shown = ShownTopics.of(times, evolution, words, weights, n, by, documents, least, added)
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
    shown = ShownTopics.of(times, evolution, words, weights, n, by, documents, least, added)
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


def _draw_stack(axes: "Axes", shown: ShownTopics) -> None:
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


def _draw_births_and_deaths(axes: "Axes", shown: ShownTopics, alive: Lifetimes) -> None:
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


def _draw_courses(axes: "Axes", shown: ShownTopics, alive: Lifetimes, by: str) -> None:
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


def _written(shown: ShownTopics, course: NDArray[Any]) -> str:
    """Return the first, the highest and the last share of a topic, in words."""
    places = sorted({0, int(course.argmax()), len(course) - 1})
    return ", ".join(f"{percent(course[t])} in {_label(shown.times[t])}" for t in places)


def _draw_curve(axes: "Axes", shown: ShownTopics, y: NDArray[Any], colour: str, label: str) -> None:
    marker = "o" if len(y) <= 40 else None
    broken = np.insert(y, [run.start for run in shown.runs[1:]], np.nan)
    x = np.insert(shown.x, [run.start for run in shown.runs[1:]], np.nan)
    axes.plot(x, broken, color=colour, linewidth=1.7, marker=marker, markersize=2.6, label=label)


def _label(time: Any) -> str:
    whole = isinstance(time, float) and time.is_integer()
    return str(int(time) if whole else time)


def _percent(value: float, _: Any) -> str:
    return f"{100 * value:.3g}%"
