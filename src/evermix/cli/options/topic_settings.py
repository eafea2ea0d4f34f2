"""What ``evermix topics`` was asked to do: saved in its checkpoints."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, ClassVar, Self

from evermix.cli.options.settings import Settings

SHARE = 0.01  # of the words of a time, from which on a topic is there


class TopicPriorName(StrEnum):
    """Names of priors of topic models on the command line."""

    HMNGG = "hmngg"
    HMNGP = "hmngp"
    HTNGG = "htngg"
    HTNGP = "htngp"
    HSNGG = "hsngg"
    HNGG = "hngg"
    HDP = "hdp"
    MNGG = "mngg"
    TNGG = "tngg"


class SamplerName(StrEnum):
    """Names of samplers of topic models on the command line."""

    H1 = "h1"
    H2 = "h2"


class PeriodName(StrEnum):
    """What dates are turned into."""

    YEAR = "year"
    MONTH = "month"
    DAY = "day"


@dataclass(frozen=True, kw_only=True)
class TopicSettings(Settings):
    """Everything that decides what topics are found, and what is told of them."""

    PATHS: ClassVar[tuple[str, ...]] = (*Settings.PATHS, "figure", "curves")
    FREE: ClassVar[frozenset[str]] = frozenset(
        {"out", "figure", "curves", "draws", "top_words", "share"}
    )

    figure: str | None
    curves: str | None
    period: str | None
    regions: int | None
    window: int | None
    sampler: str | None
    burn_in: int
    draws: int
    chains: int
    held_out: float
    top_words: int
    share: float
    skip_bad: bool

    @property
    def pictures(self) -> list[str]:
        """The files of pictures that were asked for."""
        return [name for name in (self.figure, self.curves) if name is not None]

    @property
    def outputs(self) -> dict[str, str | None]:
        """The files that the run writes beside its checkpoint, by their options."""
        return super().outputs | {"--figure": self.figure, "--curves": self.curves}

    def resumed(self, saved: dict[str, Any], given: Iterable[str]) -> Self:
        """Return the saved settings; more draws, and other ways to tell of topics, are welcome."""
        free = self.FREE & set(given)
        before = super().resumed(saved, set(given) - free)
        changes: dict[str, Any] = {name: getattr(self, name) for name in free}
        return replace(before, **changes)
