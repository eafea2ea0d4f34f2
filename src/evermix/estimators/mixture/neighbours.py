"""Which clusters are like which others: how well each explains the rows of the others."""

import numpy as np

from evermix._xp import Floats
from evermix.families.base import Family
from evermix.tally import Tally


class Neighbours:
    """Compares the clusters of a tally (K), by their average rows and expected parameters.

    A broad cluster explains the rows of all others not much worse than they do, but none of them
    explains its rows. So only clusters that are near both ways are like each other.

    Parameters
    ----------
    family : Family
    tally : Tally
        What rows are scored by.
    """

    def __init__(self, family: Family, tally: Tally) -> None:
        family, few = family.sketch(tally, np.arange(tally.K))
        eta = family.posterior(few.stats, few.mass)
        self._rows = (eta - family.eta0) / np.maximum(few.mass, 1e-300)[:, None]
        params = np.nan_to_num(family.mean_params(np.vstack([eta, family.eta0])))
        self._params, self._new = params[:-1], params[-1]
        self._own = np.einsum("ke,ke->k", self._rows, self._params)

    def loss_of(self, k: int) -> Floats:
        """How much worse each cluster (K,) explains the rows of one, in nats for each row."""
        return np.asarray(self._own[k] - self._params @ self._rows[k])

    def loss_by(self, k: int) -> Floats:
        """How much worse one cluster explains the rows of each (K,), in nats for each row."""
        return np.asarray(self._own - self._rows @ self._params[k])

    def loss_by_new(self, k: int) -> float:
        """How much worse a new cluster explains the rows of one, in nats for each row."""
        return float(self._own[k] - self._new @ self._rows[k])
