"""What a command was asked to do: saved in its checkpoints, and not to be changed on the way."""

import os
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields, replace
from enum import StrEnum
from typing import Any, ClassVar, Self


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


class EngineName(StrEnum):
    """Names of engines on the command line."""

    EP = "ep"
    GIBBS = "gibbs"
    SLICE = "slice"
    MEMOIZED = "memoizedvb"
    FULL = "fullvb"
    STOCHASTIC = "stochasticvb"
    ADF = "adf"
    RCRP = "rcrp"
    SUGS = "sugs"
    ONLINE_CRP = "onlinecrp"
    DP_MEANS = "dpmeans"


class StreamEngineName(StrEnum):
    """Names of engines on the command line that learn rows as they come."""

    ADF = "adf"
    RCRP = "rcrp"
    SUGS = "sugs"
    ONLINE_CRP = "onlinecrp"
    DP_MEANS = "dpmeans"


_WITH_NGGP = (EngineName.EP, EngineName.GIBBS, EngineName.SLICE, EngineName.ADF)


class KindName(StrEnum):
    """What the rows of a source are."""

    TEXT = "text"
    COUNTS = "counts"
    VECTORS = "vectors"


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Everything that decides what a command learns; option names with ``_`` for ``-``."""

    PATHS: ClassVar[tuple[str, ...]] = ("source", "out", "trace")

    source: str | list[str]
    out: str
    trace: str | None
    kind: str | None
    text_field: str
    vector_field: str
    id_field: str
    vocabulary: int
    hash: int | None
    alpha: float | None
    prior: str
    seed: int
    # Checkpoints of runs that were begun before there was this option do not name it.
    time_field: str | None = None

    @classmethod
    def of(cls, parameters: Mapping[str, Any]) -> Self:
        """Return the settings among the parameters of a command, which have the same names."""
        chosen = {field.name: parameters[field.name] for field in fields(cls)}
        for name in cls.PATHS:
            chosen[name] = _everywhere(chosen[name])
        if len(chosen["source"]) == 1:
            (chosen["source"],) = chosen["source"]
        plain: dict[str, Any] = {
            name: value.value if isinstance(value, StrEnum) else value
            for name, value in chosen.items()
        }
        return cls(**plain)

    @property
    def sources(self) -> list[str]:
        """The paths that were given as SOURCE."""
        return [self.source] if isinstance(self.source, str) else self.source

    @property
    def inputs(self) -> dict[str, str | None]:
        """The files that the run reads beside its sources, by their options."""
        return {}

    @property
    def outputs(self) -> dict[str, str | None]:
        """The files that the run writes beside its checkpoint, by their options."""
        return {"--out": self.out, "--trace": self.trace}

    def to_spec(self) -> dict[str, Any]:
        """Return the settings as a JSON-ready dict."""
        return asdict(self)

    def resumed(self, saved: dict[str, Any], given: Iterable[str]) -> Self:
        """Return the saved settings, if none that the user has given now differs from them.

        Parameters
        ----------
        saved : dict
            What :meth:`to_spec` gave when the run began.
        given : iterable of str
            Names of the settings that the user has given now; the others are defaults.
        """
        before = type(self)(**saved)
        given = set(given)
        for field in fields(self):
            old, new = getattr(before, field.name), getattr(self, field.name)
            if field.name in given and old != new:
                name = "SOURCE" if field.name == "source" else option_name(field.name)
                made = "without it" if old is None else f"with {old!r}"
                raise ValueError(
                    f"{name} cannot change on the way: the checkpoint was made {made}, got "
                    f"{new!r}. Leave it as it was, or begin anew with --overwrite."
                )
        return before


@dataclass(frozen=True, kw_only=True)
class MixtureSettings(Settings):
    """Everything that decides what a mixture learns."""

    family: str
    a: float | None
    sigma: float | None
    tau: float | None
    concentration: float | None
    discount: float | None
    birth: float | None
    merge: bool | None
    max_clusters: int | None
    engine: str
    penalty: float | None = None  # which old checkpoints do not name


@dataclass(frozen=True, kw_only=True)
class StreamSettings(MixtureSettings):
    """Everything that decides what a stream writes."""

    batch: int
    warmup: int
    engine: str = StreamEngineName.ADF.value
    half_life: str | None = None

    def resumed(self, saved: dict[str, Any], given: Iterable[str]) -> Self:
        """Return the saved settings; sources may have been added behind the last one."""
        known = type(self)(**saved).sources
        free = {"source"} if self.sources[: len(known)] == known else set[str]()
        return replace(super().resumed(saved, set(given) - free), source=self.source)


@dataclass(frozen=True, kw_only=True)
class FitSettings(MixtureSettings):
    """Everything that decides what a fit finds; None leaves the choice to the engine."""

    PATHS: ClassVar[tuple[str, ...]] = (*Settings.PATHS, "spill")

    skip_bad: bool
    laps: int | None
    tol: float | None
    shuffle: bool | None
    validation: float | None
    sweeps: int | None
    burn_in: int | None
    chains: int | None
    thin: int | None
    augmented: bool | None
    hybrid: bool | None
    learn: list[str] | None
    truncation: int | None = None
    start: str | None = None
    top: int | None = None
    batch_size: int | None = None
    births: bool | None = None
    merges: bool | None = None
    deletes: bool | None = None
    stride: int | None = None
    delay: float | None = None
    kappa: float | None = None
    spill: str | None = None

    @property
    def inputs(self) -> dict[str, str | None]:
        """The files that the run reads beside its sources, by their options."""
        return {"--start": self.start}

    def resumed(
        self, saved: dict[str, Any], given: Iterable[str], free: Iterable[str] = ()
    ) -> Self:
        """Return the saved settings, with those of the ``free`` ones that the user has given."""
        changed = set(free) & set(given)
        before = super().resumed(saved, set(given) - changed)
        changes: dict[str, Any] = {name: getattr(self, name) for name in changed}
        return replace(before, **changes)


def _everywhere(path: Any) -> Any:
    """Return a path, or each of a list, as one that means the same from everywhere."""
    if isinstance(path, list):
        return [_everywhere(some) for some in path]
    return path if path in (None, "-") else os.path.abspath(path)


def usual_prior(engine: EngineName | StreamEngineName) -> PriorName:
    """Return the prior of an engine for which none was asked: that of its class."""
    return PriorName.NGGP if EngineName(engine) in _WITH_NGGP else PriorName.DP


def option_name(name: str) -> str:
    """Return how a setting is called on the command line."""
    return "--" + name.replace("_", "-")
