"""What all pictures share: figures, colours and the style of axes."""

import os
from bisect import bisect_left
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from evermix._extras import install

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK, GREY, FAINT = "#24313d", "#8b97a3", "#c9d1d9"
BLUE, ORANGE, GREEN = "#2266aa", "#d9762b", "#2d8f6f"
PALETTE = (  # of clusters and topics
    *(BLUE, ORANGE, GREEN, "#b03a5b", "#7a5aa6", "#8a6d3b", "#4aa3c7", "#c9a227"),
    *("#5d7f2b", "#d66fa0", "#3d4f9f", "#9c4a1a", "#57b894", "#6b7680", "#a88bd0"),
)


def colours_of(ids: Iterable[int]) -> dict[int, str]:
    """Return the colours of clusters or topics that are shown together, by their ids.

    Each has its own, by its id; where two would be the same, the later one has the next that is
    free.

    Examples
    --------
    >>> found = colours_of([2, 0, 15])
    >>> [PALETTE.index(found[id]) for id in (0, 2, 15)]
    [0, 2, 1]
    """
    n, found, free = len(PALETTE), dict[int, str](), list[int]()
    for id in sorted(ids):
        free = free or list(range(n))
        place = min(free, key=lambda place: (place - id) % n)
        free.remove(place)
        found[id] = PALETTE[place]
    return found


def new_figure(title: str, width: float, height: float, given: Any = None) -> "Figure":
    """Return the given figure, or an empty one (sizes in inches), with a headline.

    A given one that has no layout of its own gets that of new ones, where no text covers another.

    A new one is not known to pyplot, so that nothing of it stays when it is no longer used.

    Raises
    ------
    ImportError
        matplotlib is not installed.
    """
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
        from matplotlib.layout_engine import ConstrainedLayoutEngine
    except ImportError as error:
        raise ImportError(
            f"pictures need matplotlib, which is not installed: {install('plot')}"
        ) from error
    figure, layout = given, ConstrainedLayoutEngine(w_pad=0.18, h_pad=0.1)
    if figure is None:
        figure = Figure(figsize=(width, height), layout=layout, facecolor="white")
        FigureCanvasAgg(figure)
    elif isinstance(figure, Figure) and figure.get_layout_engine() is None:
        figure.set_layout_engine(layout)
    if title:
        figure.suptitle(title, fontsize=15, fontweight="bold", color=INK, x=0.015, ha="left")
    return figure


def save_picture(path: str | Path, axes: Any) -> None:
    """Write the figure of some axes to a file, whose suffix names the format."""
    np.ravel(axes)[0].figure.savefig(path, dpi=160)


def shortened(text: str, size: float, width: float) -> str:
    """Return a text that is at most so many inches wide, with dots for what is left out."""
    from matplotlib.backends.backend_agg import RendererAgg
    from matplotlib.font_manager import FontProperties

    renderer, font = RendererAgg(1, 1, 72), FontProperties(size=size)

    def fits(end: int) -> bool:
        part = text if end == len(text) else text[:end].rstrip(", ") + "…"
        return renderer.get_text_width_height_descent(part, font, False)[0] <= 72 * width

    if not text.strip() or fits(len(text)):
        return text
    end = bisect_left(range(1, len(text)), True, key=lambda end: not fits(end))
    return text[: max(end, 1)].rstrip(", ") + "…"


def check_picture(path: str) -> None:
    """Raise ValueError if this is not the name of a picture, ImportError without matplotlib."""
    known = new_figure("", 1.0, 1.0).canvas.get_supported_filetypes()
    suffix = os.path.splitext(path)[1].lower().removeprefix(".")
    if suffix not in known:
        raise ValueError(
            f"pictures are files such as topics.png, .svg or .pdf, got {path}. The suffix must be "
            f"one of {', '.join(sorted(known))}."
        )


def style_axes(axes: "Axes", title: str, xlabel: str) -> None:
    """Set title, label and style of axes."""
    axes.set_title(title, fontsize=11.5, color=INK, loc="left", pad=10)
    axes.set_xlabel(xlabel, fontsize=10, color=INK)
    axes.tick_params(colors=INK, labelsize=9, length=0, which="both")
    axes.grid(color=FAINT, linewidth=0.6, alpha=0.7)
    axes.set_axisbelow(True)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.spines["bottom"].set_color(FAINT)


def label_last(axes: "Axes", x: float, y: float, text: str, colour: str) -> None:
    """Mark the last point of a curve, and write its value beside it."""
    axes.scatter([x], [y], s=36, color=colour, zorder=3, clip_on=False)
    axes.annotate(
        text,
        (x, y),
        xytext=(-6, 9),
        textcoords="offset points",
        ha="right",
        fontsize=11,
        fontweight="bold",
        color=colour,
    )
