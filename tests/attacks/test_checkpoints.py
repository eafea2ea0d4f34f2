"""Some hundred mutated checkpoints; ``python -m tests.attacks.checkpoints`` makes thousands.

Each attack is a process of its own: tracemalloc, which measures the memory of loads, may not be
stopped while other threads allocate.
"""

import subprocess
import sys
from pathlib import Path

import pytest

SOME = ("waiting", "stream", "words", "diagonal", "ep", "gibbs", "full", "memoized", "thinned")
KINDS = {
    "mixtures": SOME[:-1],
    "dependent mixtures": ("thinned", "live-clusters"),
    "topics": ("topics", "flat"),
}
ROOT = Path(__file__).parents[2]


def attacked(*arguments):
    command = [sys.executable, "-m", "tests.attacks.checkpoints", *map(str, arguments)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("names", KINDS.values(), ids=KINDS)
def test_mutated_checkpoints_do_no_harm(names):
    attacked("--count", 12 * len(names), "--seed", 7, "--only", *names)


@pytest.mark.slow
def test_five_thousand_mutated_checkpoints_of_every_kind_do_no_harm():
    attacked("--count", 5000, "--seed", 0)
