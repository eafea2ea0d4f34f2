"""The recursion for the number of tables as it was published, to compare with the exact one.

All published forms treat K_{t-1} and z_t as independent, so that p(K_t) misses the prior even
without data. They differ in when row t adds a table:

- "paper": if z_t > K_{t-1} (Eq. 8 as displayed);
- "text": if z_t > K_{t-1} + 1 (the text next to it), so that there never is a second table;
- "code": as "paper", without the cases z_t > K_{t-1} + 1 (the public code).
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

import evermix as em
from evermix.engines.batch import Batch, Info
from evermix.model import Model
from evermix.state import State

__all__ = ["RULES", "PublishedRCRP", "next_tables"]

RULES = ("paper", "text", "code")


@dataclass(frozen=True)
class PublishedRCRP(em.RCRP):
    """The recursive Chinese restaurant process with a published rule, one row at a time.

    Parameters
    ----------
    rule : {"paper", "text", "code"}
        When a row adds a table.
    likelihood, announce
        See :class:`evermix.RCRP`.
    """

    rule: str = "paper"

    def __post_init__(self) -> None:
        if self.rule not in RULES:
            raise ValueError(f"rule must be one of {', '.join(RULES)}, got {self.rule!r}.")
        self._exact()  # checks the other settings

    def step(
        self, model: Model, state: State, batch: Batch, rng: np.random.Generator
    ) -> tuple[State, Info]:
        """Learn one batch.   Consumes: state."""
        engine, parts = self._exact(), []
        for i, w in enumerate(batch.weights):
            before, seen = self.n_clusters_probabilities(state), _seen(state)
            row = Batch(batch.X[i : i + 1], batch.weights[i : i + 1])
            state, info = engine.step(model, state, row, rng)
            parts.append(info)
            if w > 0:
                share = (_seen(state) - np.pad(seen, (0, state.tally.K - len(seen)))) / w
                after = next_tables(self.rule, before, share)
                state.latents["no_table"][:] = after[0]
                state.columns["tables"][: state.tally.K] = after[1:]
        return state, Info.joined(parts)

    def _exact(self) -> em.RCRP:
        return em.RCRP("joint", self.likelihood, self.announce)


def _seen(state: State) -> NDArray[np.float64]:
    """R (K,): the mass of each label without its start."""
    return state.tally.mass - state.tally.extras["start"]


def next_tables(
    rule: str, tables: NDArray[np.float64], share: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return p(K_t) (K + 1,), given p(K_{t-1}), padded if shorter, and p(z_t = k) (K,)."""
    tables = np.pad(tables, (0, len(share) + 1 - len(tables)))
    here = np.append(0.0, share)  # p(z_t = j) for j = 0..K
    above = np.append(np.cumsum(here[::-1])[::-1][1:], 0.0)  # p(z_t > j)
    if rule == "paper":
        stays, moves = 1.0 - above, above + here
    elif rule == "text":
        stays, moves = 1.0 - np.append(above[1:], 0.0), above
    else:
        stays, moves = 1.0 - above, here
    after = np.maximum(tables * stays, 0.0)
    after[1:] += tables[:-1] * moves[1:]
    return after / after.sum()
