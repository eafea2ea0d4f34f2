"""What a model of the service is made of, as a person has asked for it."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Self

from evermix.estimators import Mixture
from evermix.families import Multinomial
from evermix.forgetting import Exponential
from evermix.io.text import Hashing
from evermix.service.bodies import KINDS, BodyError, shown

MOST_CLUSTERS = 10_000
MOST_HASHES = 2**20


@dataclass(frozen=True)
class Plan:
    """What a model is made of.

    Attributes
    ----------
    kind : str
        What it learns: "vectors", "records" or "texts".
    max_clusters : int
        A cap on the clusters, and so on memory and time.
    half_life : float or None
        A row counts for half after so many rows; None forgets nothing.
    seed : int
        Of everything random.
    hash : int
        Of texts: columns into which words are hashed.
    """

    kind: str
    max_clusters: int = 200
    half_life: float | None = None
    seed: int = 0
    hash: int = 2**14

    @classmethod
    def parsed(cls, spec: Mapping[str, Any]) -> Self:
        """Return the plan of a JSON object, or raise BodyError."""
        unknown = sorted(set(spec) - set(cls.__dataclass_fields__))
        if unknown:
            names = ", ".join(cls.__dataclass_fields__)
            raise BodyError(f"a model has the settings {names}, got {unknown[0]!r:.80}.")
        if spec.get("kind") not in KINDS:
            raise BodyError(
                f"kind must be one of {', '.join(KINDS)}, got {shown(spec.get('kind'))}."
            )
        plan = cls(**spec)
        bounds = {
            "max_clusters": (1, MOST_CLUSTERS),
            "seed": (0, 2**32 - 1),
            "hash": (1, MOST_HASHES),
        }
        for name, (least, most) in bounds.items():
            value = getattr(plan, name)
            if type(value) is not int or not least <= value <= most:
                raise BodyError(f"{name} must be {least} to {most}, got {shown(value)}.")
        half = plan.half_life
        if half is not None and (type(half) not in (int, float) or not 1 <= half <= 1e12):
            raise BodyError(f"half_life must be a number of rows from 1 on, got {shown(half)}.")
        return plan

    def to_spec(self) -> dict[str, Any]:
        """Return the plan as JSON-ready values."""
        return asdict(self)

    def mixture(self) -> Mixture:
        """Return a mixture that has learnt nothing."""
        return Mixture(
            family=Multinomial() if self.kind == "texts" else "auto",
            forgetting=None if self.half_life is None else Exponential(float(self.half_life)),
            max_clusters=self.max_clusters,
            random_state=self.seed,
        )

    def counter(self) -> Hashing | None:
        """Return how texts are counted."""
        return Hashing(self.hash) if self.kind == "texts" else None
