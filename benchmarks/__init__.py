"""evermix beside its peers, everything on one thread.

The settings below act only before the numerical libraries load, so they stand here.
"""

import os

for _name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ[_name] = "1"
