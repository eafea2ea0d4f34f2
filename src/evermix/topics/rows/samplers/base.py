"""How a chain of a dependent mixture moves."""

from abc import ABC, abstractmethod
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, Self

import numpy as np

from evermix.topics.measures import Measure
from evermix.topics.rows.chain import Chain, Data


@dataclass(frozen=True)
class Sampler(ABC):
    """One way to move the clusters of all rows, and everything else that is learnt."""

    needs: ClassVar[type[Measure]]
    """The kind of measure that it moves."""

    def check(self, measure: Measure) -> None:
        """Raise if this sampler cannot move the measure."""
        if not isinstance(measure, self.needs):
            raise TypeError(
                f"{type(self).__name__} moves {self.needs.__name__.lower()} measures, got a "
                f"{type(measure).__name__.lower()} one. Use sampler=None for what suits the prior."
            )

    def sweep(self, data: Data, chain: Chain, rng: np.random.Generator) -> None:
        """Move everything once.   Consumes: chain."""
        if not chain.started:
            self.begin(data, chain, rng)
            return
        self.learn(data, chain, rng)
        self.move(data, chain, rng)

    def learn(self, data: Data, chain: Chain, rng: np.random.Generator) -> None:
        """Move all but the rows."""
        atoms = chain.occupancy(data)
        chain.measure.update(atoms, rng)
        chain.region, chain.on = atoms.region, atoms.on

    @abstractmethod
    def begin(self, data: Data, chain: Chain, rng: np.random.Generator) -> None:
        """Give every row a cluster for the first time; any will do."""

    @abstractmethod
    def move(self, data: Data, chain: Chain, rng: np.random.Generator) -> None:
        """Move the rows."""

    def to_spec(self) -> dict[str, Any]:
        """Return the settings as a JSON-ready dict."""
        return asdict(self)

    @classmethod
    def from_spec(cls, spec: dict[str, Any]) -> Self:
        """Return the sampler that :meth:`to_spec` described."""
        return cls(**spec)
