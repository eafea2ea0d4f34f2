"""Where a variational fit starts, if that is a saved model: engines themselves read no files."""

from dataclasses import fields, replace
from typing import NamedTuple

import numpy as np

from evermix._xp import Array
from evermix.engines.base import Engine
from evermix.families.base import Family
from evermix.model import Model
from evermix.state import State


class Clusters(NamedTuple):
    """Clusters of a saved model, the largest first."""

    path: str
    family: Family
    mass: Array  # (K,)
    stats: Array  # (K, S)

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


def saved_clusters(engine: Engine) -> Clusters | None:
    """Return the clusters that an engine shall start from, or None if it finds them itself."""
    from evermix.estimators.files import load_with_extra  # which knows estimators

    path = engine.start_file()
    if path is None:
        return None
    mix, _ = load_with_extra(path)
    tally = mix.tally_
    order = np.argsort(-tally.mass, kind="stable")
    return Clusters(path, mix.model_.family, tally.mass[order], tally.stats[order])
