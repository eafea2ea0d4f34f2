"""What a stream was asked to do: saved in its checkpoints, and not to be changed on the way."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields
from enum import StrEnum
from typing import Any

__all__ = ["FamilyName", "KindName", "PriorName", "Settings"]


class FamilyName(StrEnum):
    """Names of families on the command line."""

    AUTO = "auto"
    MULTINOMIAL = "multinomial"
    GAUSSIAN = "gaussian"
    DIAGONAL = "diagonal"
    ZERO_MEAN = "zero-mean"
    FIXED = "fixed"
    BERNOULLI = "bernoulli"
    POISSON = "poisson"


class PriorName(StrEnum):
    """Names of priors on the command line."""

    NGGP = "nggp"
    DP = "dp"
    PITMAN_YOR = "pitman-yor"


class KindName(StrEnum):
    """What the rows of a source are."""

    TEXT = "text"
    COUNTS = "counts"
    VECTORS = "vectors"


@dataclass(frozen=True)
class Settings:
    """Everything that decides what a stream writes; option names with ``_`` for ``-``."""

    source: str
    out: str
    trace: str | None
    kind: str | None
    text_field: str
    vector_field: str
    id_field: str
    batch: int
    vocabulary: int
    hash: int | None
    warmup: int
    family: str
    alpha: float | None
    prior: str
    a: float | None
    sigma: float | None
    tau: float | None
    concentration: float | None
    discount: float | None
    birth: float | None
    merge: bool
    max_clusters: int | None
    seed: int

    def to_spec(self) -> dict[str, Any]:
        """Return the settings as a JSON-ready dict."""
        return asdict(self)

    def resumed(self, saved: dict[str, Any], given: Iterable[str]) -> "Settings":
        """Return the saved settings, if none that the user has given now differs from them.

        Parameters
        ----------
        saved : dict
            What :meth:`to_spec` gave when the stream began.
        given : iterable of str
            Names of the settings that the user has given now; the others are defaults.
        """
        before = Settings(**saved)
        given = set(given)
        for field in fields(self):
            old, new = getattr(before, field.name), getattr(self, field.name)
            if field.name in given and old != new:
                name = "SOURCE" if field.name == "source" else _option(field.name)
                made = "without it" if old is None else f"with {old!r}"
                raise ValueError(
                    f"{name} cannot change on the way: the checkpoint was made {made}, got "
                    f"{new!r}. Leave it as it was, or begin anew with --overwrite."
                )
        return before


def _option(name: str) -> str:
    return "--" + name.replace("_", "-")
