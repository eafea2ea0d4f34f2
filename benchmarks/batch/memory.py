"""The abstracts: how much memory EP needs when it remembers something of every document."""

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from benchmarks.common import counts, target
from benchmarks.streaming.growth import WORDS

__all__ = ["memory"]

FIT = """
import json, sys
import benchmarks
from scipy import sparse
from pathlib import Path
import evermix as em
from benchmarks.batch.laps import timed_laps

def peak():
    status = Path("/proc/self/status").read_text().split()
    return int(status[status.index("VmHWM:") + 1]) / 1024

X = sparse.load_npz(sys.argv[1])
before = peak()
mix = em.Mixture(
    em.Multinomial(alpha=0.5), em.NGGP(a=100.0, sigma=0.5, tau=100.0), em.EP(laps=2, birth=0.1)
)
laps = timed_laps(mix, X)
print(json.dumps([X.shape[0], mix.n_clusters_, before, peak(), [lap.seconds for lap in laps]]))
"""


def memory(repeats: int) -> dict[str, Any]:
    """Fit all abstracts in a process of their own, and read the peak of its memory (Linux)."""
    del repeats  # one fit takes minutes, and memory does not waver
    X = counts("abstracts_stream/stream.npz")
    kept = np.sort(np.argsort(-X.sum(axis=0), kind="stable")[:WORDS])
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "abstracts.npz"
        sparse.save_npz(file, X[:, kept], compressed=False)
        command = [sys.executable, "-c", FIT, str(file)]
        printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    documents, K, before, peak, seconds = json.loads(printed)
    return {
        "documents": documents,
        "K": K,
        "seconds of the laps": seconds,
        "MB with the documents read": round(before),
        "peak GB": target(peak / 1024, below=3),
    }
