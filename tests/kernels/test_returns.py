"""What compiled loops hand back to Python."""

import numpy as np
import pytest

import evermix as em
from evermix.kernels.engines import ep, gibbs


@pytest.mark.parametrize(
    ("module", "name", "engine"),
    [(ep, "ep_pass", em.EP(laps=2)), (gibbs, "gibbs_pass", em.Gibbs(sweeps=2))],
)
def test_loops_return_plain_tuples(monkeypatch, module, name, engine):
    """A named tuple is made by Python code; a signal handler that raises there crashes numba."""
    loop, kinds = getattr(module, name), set()

    def watched(*arguments):
        result = loop(*arguments)
        kinds.update(type(part) for part in (result, *result))
        return result

    monkeypatch.setattr(module, name, watched)
    em.Mixture(em.Gaussian(scale=1.0), engine=engine).fit(np.arange(8.0)[:, None])
    assert kinds <= {tuple, bool, int}
