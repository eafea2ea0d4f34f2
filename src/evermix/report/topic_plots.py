"""Topics over time: pictures (with matplotlib) of their shares, births and deaths, and words.

Pictures are drawn into a new figure unless one is given, and return its axes; nothing is saved.
Times without documents are left blank, those with few are left out.
"""

from collections.abc import Sequence
from textwrap import fill
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from evermix._limits import MIN_DOCUMENTS
from evermix.report.canvas import (
    BLUE,
    GREEN,
    INK,
    ORANGE,
    new_figure,
    shortened,
    style_axes,
)
from evermix.report.lifetimes import (
    Lifetimes,
    lifetimes,
)
from evermix.report.shares import large, percent
from evermix.report.shown_topics import MAX_TICKS, ShownTopics

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PANEL, NAME = 3.7, 3.6  # inches: the panel of a topic, the words beside its course
WIDE, NARROW = 14.5, 9.0  # inches: a whole picture, and one whose parts are below each other
RATIO = 1.15  # of the widths of both columns
WORDS_SHOWN, LETTERS = 5, 11  # of a topic; below axes, for each inch
NOUNS = {"words": "topic", "rows": "cluster"}  # by what they are made of
MOVES: dict[str, dict[str, Any]] = {  # marks, by what they stand for
    "born": {"marker": "^", "color": GREEN},
    "died": {"marker": "v", "color": ORANGE},
}


class Layout(NamedTuple):
    """How wide the parts of an overview are, in inches, and whether they are below each other."""

    stacked: bool
    name: float
    left: float
    right: float

    @classmethod
    def of(cls, figure: Any, rows: int) -> "Layout":
        """Return the layout for a figure, which is made higher if it is too low.

        Consumes: figure.
        """
        from matplotlib.figure import Figure

        width = figure.bbox.width / figure.dpi
        stacked = width < NARROW
        if isinstance(figure, Figure):  # a part of a figure is as high as it is
            figure.set_figheight(
                max(figure.get_figheight(), 3.0 + (0.8 if stacked else 0.42) * rows)
            )
        name = min(NAME, (0.4 if stacked else 0.25) * width)
        if stacked:  # the names take their room beside all parts
            return cls(stacked, name, width - 1.2 - name, width - 1.2 - name)
        left = (width - 1.6 - name) / (1 + RATIO) if name < NAME else WIDE  # has room for all texts
        return cls(stacked, name, left, RATIO * left)


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
    unit: str = "words",
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
    unit : "words" or "rows"
        What shares are of: "words" of documents, or "rows" of clusters.
    title : str
        Headline of the picture.
    figure : Figure, optional
        Where to draw.
    """
    noun = "document" if unit == "words" else "row"
    about = documents, least, added, noun
    shown = ShownTopics.of(times, evolution, words, weights, n, by, *about)
    alive = lifetimes(shown.evolution, share)
    rows = max(len(shown.chosen), 8)
    figure = new_figure(title, WIDE, 3.0 + 0.42 * rows, figure)
    layout = Layout.of(figure, rows)
    if layout.stacked:
        grid = figure.add_gridspec(3, 1, height_ratios=(2.2, 1.0, 0.26 * rows))
        places: list[Any] = [0, 1, 2]
    else:
        grid = figure.add_gridspec(2, 2, width_ratios=(1.0, RATIO), height_ratios=(2.2, 1.0))
        places = [(0, 0), (1, 0), (slice(2), 1)]
    stack, moves, lines = (figure.add_subplot(grid[at]) for at in places)
    _draw_stack(stack, shown, unit, layout)
    _draw_births_and_deaths(moves, shown, alive, layout)
    _draw_courses(lines, shown, alive, by, NOUNS[unit], layout)
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
    unit: str = "words",
    title: str = "",
    figure: "Figure | None" = None,
) -> NDArray[Any]:
    """Draw single topics: their share of the words and predicted weight over time.

    Parameters are those of :func:`topic_overview`, and

    predicted : array (T, K), optional
        Weight of each topic at each time, predicted for one more document.
    """
    noun = "document" if unit == "words" else "row"
    about = documents, least, added, noun
    shown = ShownTopics.of(times, evolution, words, weights, n, by, *about)
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
        _draw_curve(axes, shown, shown.evolution[:, k], BLUE, f"share of {unit}")
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


def _draw_stack(axes: "Axes", shown: ShownTopics, unit: str, layout: Layout) -> None:
    """Draw the shares of the topics above each other; a line of text sums up the others."""
    shares = shown.evolution[:, shown.chosen]
    total, others = shares.sum(axis=1), shown.evolution.shape[1] - len(shown.chosen)
    notes = _counted(shown.weights, shown.chosen, unit)
    notes += [shown.left_out] if shown.left_out else []
    notes += ["right of the dashed line: added after the fit"] if shown.edge is not None else []
    style_axes(axes, f"Share of the {unit} of each time", _lines(notes, layout.left))
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
    shown.tick(axes, _ticks(layout.left))
    shown.divide(axes)


def _lines(texts: Sequence[str], width: float) -> str:
    """Return texts in lines of so many inches, each text in its own."""
    return "\n".join(fill(text, int(LETTERS * width)) for text in texts)


def _ticks(width: float) -> int:
    return min(MAX_TICKS, int(2.1 * width))


def _counted(weights: NDArray[Any], chosen: NDArray[Any], unit: str) -> list[str]:
    """Return how many large and small topics are shown, and what the others hold."""
    drawn, some = np.zeros(len(weights), dtype=bool), large(weights)
    drawn[chosen] = True
    others = ~drawn
    what, notes = NOUNS[unit], []
    if not some.all():
        n, small = int(np.sum(some & drawn)), int(np.sum(drawn & ~some))
        notes.append(f"shown: {n:,} of {some.sum():,} large {what}s, {small:,} of the small ones")
    if others.any():
        rest = f"not shown: {others.sum():,} other{'s, together' if others.sum() > 1 else ','} "
        notes.append(f"{rest}{percent(weights[others].sum())} of the {unit}")
    return notes


def _draw_births_and_deaths(
    axes: "Axes", shown: ShownTopics, alive: Lifetimes, layout: Layout
) -> None:
    x = shown.x
    born, gone = ([len(some) for some in moves] for moves in (alive.births, alive.deaths))
    uncertain = (
        "beside the dashed line they are uncertain" if shown.edge is not None else shown.caution
    )
    below = uncertain.replace("; ", ";\n").split("\n") if any(born) or any(gone) else []
    style_axes(axes, "Births above, deaths below", _lines(below, layout.left))
    shown.divide(axes)
    width = 0.6 * shown.step
    axes.bar(x, born, width, color=GREEN)
    axes.bar(x, -np.array(gone), width, color=ORANGE)
    axes.axhline(0.0, color=INK, linewidth=0.8)
    most = max(*born, *gone, 1) + 0.5
    axes.set_ylim(-most, most)
    axes.locator_params(axis="y", integer=True)
    axes.yaxis.set_major_formatter(lambda value, _: f"{abs(value):.0f}")
    shown.tick(axes, _ticks(layout.left))


def _draw_courses(
    axes: "Axes", shown: ShownTopics, alive: Lifetimes, by: str, what: str, layout: Layout
) -> None:
    """Draw the share of each topic in a row of its own, with marks where it is born and dies."""
    many = f"{what.title()}s that changed most" if by == "change" else f"The largest {what}s"
    order = [f"{what}s of early times come first, those of late times last"]
    order += ["below them, in grey, those that change little"] if shown.flat.any() else []
    order = order if len(shown.times) > 1 and len(shown.chosen) > 1 else []
    short, scale = layout.name < NAME, "each on its own scale"  # no room beside the headline
    below = _lines([scale, *order] if short else order, layout.right)
    style_axes(axes, many if short else f"{many}, {scale}", below)
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
        little = "changes little: " if shown.flat[y] and not short else ""
        about = f"{little}{_written(shown, course, short)}"
        about = shortened(about, 9.0, layout.name) if short else about
        names.append(f"{shown.name(k, WORDS_SHOWN, 9.0, layout.name)}\n{about}")
    if marks:
        some = [what for what in MOVES if what in marks]
        handles = [marks[what] for what in some]
        style: dict[str, Any] = {"frameon": False, "fontsize": 9, "labelcolor": INK, "ncols": 2}
        style |= {"loc": "lower left", "bbox_to_anchor": (1.0, 1.0)}  # beside the headline
        axes.legend(handles=handles, labels=some, **style)
    axes.set_ylim(len(shown.chosen) - 0.7, -0.95)
    axes.set_yticks(np.arange(len(shown.chosen)) - 0.35, names)
    axes.yaxis.tick_right()
    axes.grid(axis="y", visible=False)
    axes.margins(x=0.01)
    shown.tick(axes, _ticks(layout.right))
    shown.divide(axes)


def _written(shown: ShownTopics, course: NDArray[Any], short: bool) -> str:
    """Return the first, the highest and the last share of a topic, in words."""
    places = sorted({0, len(course) - 1} | (set() if short else {int(course.argmax())}))
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
