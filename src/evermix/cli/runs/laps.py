"""What the laps of a fit bring, step by step."""

from collections.abc import Container
from dataclasses import dataclass, replace
from typing import Any

from evermix.engines import Engine
from evermix.engines.batch import Info


def renewed(engine: Engine, asked: Engine, given: Container[str]) -> Engine:
    """Return the engine of a checkpoint with the settings given now that may change on the way."""
    changes = {name: getattr(asked, name) for name in engine.may_change if name in given}
    return replace(engine, **changes)


@dataclass
class LapLog:
    """The lap in progress and the last whole one, each as the sum of its steps."""

    now: Info | None = None
    last: Info | None = None

    def add(self, info: Info) -> Info | None:
        """Take in what a step or the end of a lap brought; return the lap if it is whole now."""
        ends, info = not info.rows, info.summary()
        if self.now is not None:
            # The end of a lap repeats what the rows of its steps have said.
            said = 0.0 if ends else info.log_predictive
            info = replace(
                info,
                rows=self.now.rows + info.rows,
                births=self.now.births + info.births,
                dropped=self.now.dropped + info.dropped,
                merges=self.now.merges + info.merges,
                log_predictive=self.now.log_predictive + said,
                seconds=self.now.seconds + info.seconds,
                scalars=self.now.scalars | info.scalars,
            )
        if not ends:
            self.now = info
            return None
        self.now, self.last = None, info
        return info

    @property
    def rows(self) -> int:
        """Rows that the lap in progress has visited."""
        return 0 if self.now is None else self.now.rows

    def to_spec(self) -> dict[str, Any]:
        """Return the log as a JSON-ready dict."""
        both = {"now": self.now, "last": self.last}
        return {name: None if info is None else info.to_event() for name, info in both.items()}

    @classmethod
    def from_spec(cls, spec: dict[str, Any]) -> "LapLog":
        """Return the log that :meth:`to_spec` described."""
        both = {name: None if event is None else Info(**event) for name, event in spec.items()}
        return cls(**both)
