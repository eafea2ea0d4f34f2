"""Fit a mixture with the command line of an installed evermix, and load it in Python."""

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import evermix as em

if not Path(em.__file__).is_relative_to(sys.prefix):
    sys.exit(f"evermix must come from its wheel in {sys.prefix}, it comes from {em.__file__}.")

rng = np.random.default_rng(0)
X = rng.normal(size=(300, 2)) + 20.0 * np.repeat(np.eye(3, 2), 100, axis=0)
with tempfile.TemporaryDirectory() as folder:
    np.save(f"{folder}/points.npy", X)
    command = [Path(sys.executable).with_name("evermix"), "fit", "points.npy"]
    subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)
    model = em.load(f"{folder}/points.evermix")
labels = model.predict(X)
print(f"evermix {em.__version__} from its wheel: {model.n_clusters_} clusters")
if len(set(labels[[0, 100, 200]])) != 3:
    sys.exit("three groups of points, far from each other, must have labels of their own.")
