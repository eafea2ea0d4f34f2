"""Draws of dependent mixtures that were kept."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from evermix._xp import Array
from evermix.topics.measures import Measure, Occupancy
from evermix.topics.rows.chain import Chain, Data


@dataclass
class Draws:
    """Labels of all rows, the clusters' regions and times, and what was learnt of the measure.

    Attributes
    ----------
    labels : list of int32 arrays (N,)
        The cluster of each row; numbers 0..K-1 mean nothing beyond one draw.
    region : list of int64 arrays (K,)
    on : list of bool arrays (T, K)
    measure : list of dicts of arrays
        See :meth:`Measure.arrays`.
    log_joint : list of float
        Log joint density of everything, up to a constant.
    """

    labels: list[Array] = field(default_factory=list)
    region: list[Array] = field(default_factory=list)
    on: list[Array] = field(default_factory=list)
    measure: list[dict[str, Array]] = field(default_factory=list)
    log_joint: list[float] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.log_joint)

    def keep(self, chain: Chain, data: Data) -> None:
        """Add where a chain stands."""
        tally = data.state(chain.labels, chain.K).tally
        joint = chain.measure.log_joint(chain.occupancy(data)) + chain.measure.log_jacobian()
        joint += float(data.family.log_marginals(tally).sum())
        labels, region, on = chain.labels.astype(np.int32), chain.region.copy(), chain.on.copy()
        measure = chain.measure.arrays()
        self.log_joint.append(joint)  # nothing can fail any more
        self.labels.append(labels)
        self.region.append(region)
        self.on.append(on)
        self.measure.append(measure)

    def restore(self, m: int, measure: Measure, data: Data) -> tuple[Occupancy, Array]:
        """Set a measure to draw m; return its clusters and their labels (N,)."""
        measure.assign(self.measure[m])
        labels = self.labels[m].astype(np.int64)
        counts = data.counts(labels, len(self.region[m]))
        return Occupancy.of(counts, self.region[m], self.on[m]), labels

    def scalars(self, mass: str) -> dict[str, Array]:
        """Return all numbers of the draws by name, (M,) each; masses are called ``mass``."""
        out = {"log_joint": np.array(self.log_joint)}
        for name in ("sigma", "mass", "u", "q"):
            values = np.array([numbers[name] for numbers in self.measure])
            called = mass if name == "mass" else name
            for index in np.ndindex(*values.shape[1:]):
                place = f"[{','.join(map(str, index))}]" if name != "sigma" else ""
                out[called + place] = values[(slice(None), *index)]
        return out

    def arrays(self) -> dict[str, Array]:
        """Return everything as named arrays; clusters of all draws stand one after another."""
        if not len(self):
            return {}
        return {
            "labels": np.array(self.labels),
            "K": np.array([len(region) for region in self.region]),
            "region": np.concatenate(self.region),
            "on": np.concatenate([on.T for on in self.on]),
            "log_joint": np.array(self.log_joint),
            **{
                f"measure.{name}": np.array([numbers[name] for numbers in self.measure])
                for name in self.measure[0]
            },
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Array]) -> "Draws":
        """Return the draws that :meth:`arrays` described."""
        if not arrays:
            return cls()
        cuts = np.cumsum(arrays["K"])[:-1]
        names = [name.removeprefix("measure.") for name in arrays if name.startswith("measure.")]
        return cls(
            list(arrays["labels"]),
            np.split(arrays["region"], cuts),
            [np.ascontiguousarray(on.T) for on in np.split(arrays["on"], cuts)],
            [
                {name: arrays[f"measure.{name}"][m] for name in names}
                for m in range(len(arrays["K"]))
            ],
            arrays["log_joint"].tolist(),
        )
