"""What all pictures share: figures, colours and the style of axes."""

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK, FAINT, BLUE, ORANGE, GREEN = "#24313d", "#c9d1d9", "#2266aa", "#d9762b", "#2d8f6f"


def new_figure(title: str, width: float, height: float) -> "Figure":
    """Return an empty figure (sizes in inches) with a headline; pyplot is not used.

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
            "pictures need matplotlib, which is not installed: pip install evermix[plot]"
        ) from error
    layout = ConstrainedLayoutEngine(w_pad=0.18, h_pad=0.1)
    figure = Figure(figsize=(width, height), layout=layout, facecolor="white")
    FigureCanvasAgg(figure)
    if title:
        figure.suptitle(title, fontsize=15, fontweight="bold", color=INK, x=0.015, ha="left")
    return figure


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
