"""The lap of a fit that is in progress, and the last whole one."""

from dataclasses import dataclass, replace
from typing import Any

from evermix.engines.batch import Info


@dataclass
class LapLog:
    """The lap in progress and the last whole one, each as the sum of its steps."""

    now: Info | None = None
    last: Info | None = None

    def add(self, info: Info) -> Info | None:
        """Add a step, or the end of a lap, which has no rows; return the lap if it is whole now."""
        ends, info = not info.rows, info.summary()
        if self.now is not None:
            # The end of a lap repeats the log predictive of its steps.
            log_predictive = 0.0 if ends else info.log_predictive
            info = replace(
                info,
                rows=self.now.rows + info.rows,
                births=self.now.births + info.births,
                dropped=self.now.dropped + info.dropped,
                merges=self.now.merges + info.merges,
                log_predictive=self.now.log_predictive + log_predictive,
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

    def described(self, info: Info, n: int, bound: float | None = None) -> str:
        """Return how well the last whole lap, or this step, explains the n rows; "" if unknown."""
        lap = self.last
        if lap is not None and "elbo" in lap.scalars:
            moves = (("born", lap.births), ("merged", lap.merges), ("dropped", lap.dropped))
            shown = [f"{len(ids):,} {move}" for move, ids in moves if ids]
            return ", ".join([f"fit {lap.scalars['elbo'] / n:.3f} per row", *shown])
        if "log_joint" in info.scalars:
            return f"fit {info.scalars['log_joint'] / n:.3f} per row"
        if bound is not None or not info.rows:  # nothing is comparable with a bound to come
            return ""
        return f"fit {info.log_predictive / info.rows:.3f} per row"

    def to_spec(self) -> dict[str, Any]:
        """Return the log as a JSON-ready dict."""
        both = {"now": self.now, "last": self.last}
        return {name: None if info is None else info.to_event() for name, info in both.items()}

    @classmethod
    def from_spec(cls, spec: dict[str, Any]) -> "LapLog":
        """Return the log that :meth:`to_spec` described."""
        return cls(**{name: event and Info(**event) for name, event in spec.items()})
