"""Which topics a picture shows, over which times."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from evermix._limits import MIN_DOCUMENTS
from evermix._words import counted, listed
from evermix.report.canvas import FAINT, INK, colours_of, shortened
from evermix.report.lifetimes import caution, rank_changes, reliable_times
from evermix.report.shares import TINY

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MAX_TICKS = 9  # of the axis of times
NAMED = 3  # times that are left out of an axis
FLAT = 0.5  # a topic whose least share is more than this part of its largest may change little
STEADY = 0.8  # and one with more than this does, however large it is


@dataclass(frozen=True, eq=False)
class ShownTopics:
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
    left_out : str
        Which times lie too far away to be on the axis, in words.
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
    left_out: str
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
        noun: str = "document",
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
        x, regular = positions(times)
        part = together(x, documents)
        kept = np.intersect1d(kept, np.arange(len(times))[part])
        reliable = np.intersect1d(kept, reliable_times(len(times), documents, least))
        kept = reliable if len(reliable) > 1 else kept
        left = left_out(times, documents, part, noun)
        step = float(np.diff(x[kept]).min(initial=np.inf))
        gaps = (np.diff(kept) > 1) | breaks(x[kept], regular)
        evolution, times, x = evolution[kept], [times[int(t)] for t in kept], x[kept]
        edges = [0, *(np.flatnonzero(gaps) + 1), len(x)]
        runs = [slice(a, b) for a, b in zip(edges, edges[1:], strict=False)]
        size = evolution.mean(axis=0) if weights is None else np.asarray(weights)
        weights, n_documents = size, None if documents is None else int(np.sum(documents))
        if by == "change" and len(kept) > 1:
            many = None if documents is None else np.asarray(documents)[kept]
            ranks = rank_changes(evolution, many, least)
            size = ranks + 1e-9 * size  # where nothing changes, the largest
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
        about = weights, caution(n_documents, f"{noun}s"), left, edge
        return cls(times, evolution, words, x, step, runs, chosen, flat, kept, *about)

    def colour(self, i: int) -> str:
        """Return the colour of the topic in place i; those that change little are grey."""
        own = colours_of(self.chosen.tolist())
        return FAINT if self.flat[i] else own[int(self.chosen[i])]

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
        n = max(most * 4 // max(longest, 4), 2)  # as much room as for years
        room, ends = (self.x[-1] - self.x[0]) / n, [0, len(self.x) - 1]
        some = list[int]()
        for t in [*ends, *(run.start for run in self.runs), *range(len(self.x))]:
            if all(abs(self.x[t] - self.x[s]) > room for s in some):
                some.append(t)
        axes.set_xticks(self.x[some], [str(self.times[t]) for t in some])

    def divide(self, axes: "Axes") -> None:
        """Draw a line before the times that were added after a fit."""
        if self.edge is not None:
            axes.axvline(self.edge, color=INK, linewidth=0.9, linestyle=(0, (4, 3)))


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


def breaks(x: NDArray[Any], regular: bool) -> NDArray[np.bool_]:
    """Return after which times (T - 1,) others without documents follow, by :func:`positions`."""
    apart = np.diff(x)
    return regular & (apart > 1.5 * apart.min(initial=np.inf))


def together(x: NDArray[Any], documents: Sequence[int] | None) -> slice:
    """Return the times (T,) that an axis shows, by their places (T,) on it.

    Those of few documents are left out where they lie so far from all others that these would have
    less than half of the axis, such as the year 212 among those of this century.
    """
    full = x[reliable_times(len(x), documents, MIN_DOCUMENTS)]
    if len(full) < 2 or np.any(np.diff(x) < 0):
        return slice(0, len(x))
    span = full[-1] - full[0]
    ends = np.searchsorted(x, full[0] - span), np.searchsorted(x, full[-1] + span, side="right")
    return slice(*map(int, ends))


def left_out(
    times: Sequence[Any], documents: Sequence[int] | None, part: slice, noun: str = "document"
) -> str:
    """Return in words which times are not among those that an axis shows; "" if all are."""
    far = [t for t in range(len(times)) if not part.start <= t < part.stop]
    if documents is None or not far:
        return ""
    n, some = sum(documents[t] for t in far), (str(times[t]) for t in far)
    return f"{counted(n, noun)} of {listed(some, NAMED)} {'is' if n == 1 else 'are'} left out"


def _numeric(times: Sequence[Any]) -> bool:
    return not any(isinstance(time, str) for time in times)
