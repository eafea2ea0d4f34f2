"""What the server of ``helpers.children`` does once, so that its forks need not do it again.

To load the compiled functions that a command needs, and the rest of numba, takes longer than the
command itself on the few rows of a test.
"""

import os
from contextlib import chdir
from tempfile import TemporaryDirectory

import numpy as np

from helpers.commands import evermix, write_tickets

with TemporaryDirectory() as _folder, chdir(_folder):
    np.save("points.npy", np.random.default_rng(0).normal(size=(200, 3)))
    write_tickets("texts.jsonl", 200)
    for _command in ("stream", "fit"):
        for _source in ("points.npy", "texts.jsonl"):
            evermix(_command, _source, "--out", os.devnull)
