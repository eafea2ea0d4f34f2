"""What a model of the service is made of, as a request describes it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from evermix.estimators import Mixture
from evermix.families import Multinomial
from evermix.forgetting import Exponential
from evermix.io.growing_vocabulary import HALF_LIVES, GrowingVocabulary
from evermix.io.text import Hashing
from evermix.io.text_counter import TextCounter
from evermix.service.bodies import DATES, FIELDS, KINDS, TIMES, BodyError, shown, whole

MOST_CLUSTERS = 10_000
LEAST_HALF_LIFE = 1e-6  # in units of times
MOST_WORDS = 2**20  # columns of texts


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
        A row counts for half after so many rows, or so much time if rows have times: seconds of
        dates. None forgets nothing.
    times : str or None
        What the times of observations are, "dates" or "numbers"; None: they have none.
    seed : int
        Of everything random.
    vocabulary : int
        Of texts: words that have a column at a time. It grows with the texts.
    min_count : int
        Of texts: a word is counted from this occurrence on.
    hash : int or None
        Of texts: columns into which words are hashed, instead of a vocabulary.
    imported : str or None
        The file with which it began, which decides all but ``kind``.
    """

    kind: str
    max_clusters: int = 200
    half_life: float | None = None
    times: str | None = None
    seed: int = 0
    vocabulary: int = 20_000
    min_count: int = 1
    hash: int | None = None
    imported: str | None = None

    @classmethod
    def parsed(cls, spec: Mapping[str, Any]) -> Self:
        """Return the plan of a JSON object, or raise BodyError."""
        unknown = sorted(set(spec) - set(cls.__dataclass_fields__))
        if unknown:
            names = ", ".join(cls.__dataclass_fields__)
            raise BodyError(f"a model has the settings {names}, got {unknown[0]!r:.80}.")
        kind = spec.get("kind")
        got = f"{kind!r:.80}" if isinstance(kind, str) else shown(kind)
        if isinstance(kind, str) and kind in FIELDS:  # "text" for "texts"
            spec = {**spec, "kind": FIELDS[kind]}
        elif kind not in KINDS:
            raise BodyError(f"kind must be one of {', '.join(KINDS)}, got {got}.")
        wholes = {name: whole(value) for name, value in spec.items() if name != "half_life"}
        plan = cls(**{**spec, **wholes})
        bounds = {
            "max_clusters": (1, MOST_CLUSTERS),
            "seed": (0, 2**32 - 1),
            "vocabulary": (1, MOST_WORDS),
            "min_count": (1, 1000),
            "hash": (1, MOST_WORDS),
        }
        for name, (least, most) in bounds.items():
            value = getattr(plan, name)
            if name == "hash" and value is None:
                continue
            if type(value) is not int or not least <= value <= most:
                raise BodyError(f"{name} must be {least} to {most}, got {shown(value)}.")
        if not isinstance(plan.imported, str | None):
            raise BodyError(f"imported must be a string, got {shown(plan.imported)}.")
        if plan.times not in (None, *TIMES):
            got = f"{plan.times!r:.80}" if isinstance(plan.times, str) else shown(plan.times)
            raise BodyError(f"times must be {' or '.join(TIMES)}, got {got}.")
        half, shortest = plan.half_life, 1.0 if plan.times is None else LEAST_HALF_LIFE
        if half is not None and (type(half) not in (int, float) or not shortest <= half <= 1e12):
            unit = {None: "rows", DATES: "seconds"}.get(plan.times, "the unit of times")
            raise BodyError(f"half_life is {shortest:g} to 1e12, in {unit}, got {shown(half)}.")
        return plan

    def to_spec(self) -> dict[str, Any]:
        """Return the plan as JSON-ready values."""
        if self.imported is not None:
            return {"kind": self.kind, "imported": self.imported}
        return {name: getattr(self, name) for name in SETTINGS}

    def mixture(self) -> Mixture:
        """Return a mixture that has learnt nothing."""
        return Mixture(
            family=Multinomial(growing=self.hash is None) if self.kind == "texts" else "auto",
            forgetting=self._forgetting(),
            max_clusters=self.max_clusters,
            random_state=self.seed,
        )

    def _forgetting(self) -> Exponential | None:
        if self.half_life is None:
            return None
        return Exponential(float(self.half_life), dated=self.times == DATES)

    def counter(self) -> TextCounter | None:
        """Return how texts are counted."""
        if self.kind != "texts":
            return None
        if self.hash is not None:
            return Hashing(self.hash)
        horizon = None if self.half_life is None else HALF_LIVES * float(self.half_life)
        return GrowingVocabulary(
            max_words=self.vocabulary, min_count=self.min_count, horizon=horizon
        )


SETTINGS = tuple(name for name in Plan.__dataclass_fields__ if name != "imported")
"""What a request may say of a model."""
