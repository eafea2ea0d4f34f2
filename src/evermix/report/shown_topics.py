"""Which topics a picture shows, over which times."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from evermix._limits import MIN_DOCUMENTS
from evermix.report.canvas import FAINT, INK, PALETTE, shortened
from evermix.report.lifetimes import caution, changes, reliable_times
from evermix.report.shares import TINY

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MAX_TICKS = 9  # of the axis of times
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
