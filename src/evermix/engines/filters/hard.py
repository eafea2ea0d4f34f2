"""What greedy and sampled one-pass clustering share: every row goes to one cluster."""

import numpy as np

from evermix._xp import Array, logsumexp
from evermix.engines.filters.assignment import Lot, OnePass, Stand
from evermix.kernels.engines.adf import Known, Out
from evermix.kernels.engines.hard import hard_pass
from evermix.priors import DP
from evermix.priors.base import Prior


class HardFilter(OnePass):
    """A filter that puts each row into one cluster, as if it were certain.

    There is one slot for a new cluster, and its likelihood is the prior predictive.
    """

    @classmethod
    def default_prior(cls) -> Prior:
        """Return the prior where none is asked for: the Chinese restaurant process."""
        return DP()

    def _assigned(self, rho: Array, room: bool, uniform: float) -> tuple[Array, float | None, bool]:
        """Return responsibilities (K,) or (K + 1,), one of them 1; see ``Filter``."""
        some = rho if room else rho[:-1]
        chosen = self._chosen(some, uniform)
        q = np.zeros(len(rho) - (chosen < len(rho) - 1))
        q[chosen] = 1.0
        probability = float(np.exp(rho[chosen] - logsumexp(rho)))
        return q, probability, bool(rho[-1] > rho[chosen])

    def _chosen(self, rho: Array, uniform: float) -> int:
        """Return which of the log weights rho (M,) is taken."""
        del uniform
        return int(rho.argmax())

    def _pass(self, known: Known, lot: Lot, K: int, clock: int, at: int) -> Stand:
        """Run the compiled loop."""
        out = Out(*lot.results)
        return hard_pass(known, lot.rows, lot.weights, lot.uniforms, K, clock, at, out)
