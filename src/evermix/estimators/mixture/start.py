"""Clusters of a saved model that a variational fit starts from."""

from dataclasses import fields, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from evermix.engines.base import Engine
from evermix.estimators.files import load_with_extra
from evermix.families.base import Family
from evermix.model import Model
from evermix.state import State


class StartClusters(NamedTuple):
    """Clusters of a saved model, the largest first."""

    path: str
    family: Family
    mass: NDArray[np.float64]  # (K,)
    stats: NDArray[np.float64]  # (K, S)

    @classmethod
    def of(cls, engine: Engine) -> "StartClusters | None":
        """Return the clusters that an engine starts from, or None if it finds them itself."""
        path = engine.start_file()
        if path is None:
            return None
        mix, _ = load_with_extra(path)
        tally = mix.tally_
        order = np.argsort(-tally.mass, kind="stable")
        return cls(path, mix.model_.family, tally.mass[order], tally.stats[order])

    def fitted(self, model: Model) -> Model:
        """Return the model with the origin that the statistics are about, or raise ValueError."""
        ours, theirs = model.family, self.family
        if type(ours) is not type(theirs) or ours.n_features != theirs.n_features:
            raise ValueError(
                f"the model {self.path} has clusters of {type(theirs).__name__} with "
                f"{theirs.n_features} features, and cannot be the start of a "
                f"{type(ours).__name__} with {ours.n_features}."
            )
        if model.max_clusters is not None and len(self.mass) > model.max_clusters:
            raise ValueError(
                f"the model {self.path} has {len(self.mass)} clusters, more than max_clusters = "
                f"{model.max_clusters}."
            )
        about = {f.name: getattr(theirs, f.name) for f in fields(theirs) if f.name == "origin"}
        return replace(model, family=replace(ours, **about))

    def enter(self, state: State) -> None:
        """Put the clusters into a state that has none.   Consumes: state."""
        state.append(np.array([state.lineage.birth(0) for _ in self.mass]))
        state.tally.mass[:], state.tally.stats[:] = self.mass, self.stats
