"""Fit and report with an installed evermix: in Python and, where it has one, with its command."""

import subprocess
import sys
import tempfile
from importlib.util import find_spec
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
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if find_spec("typer") is None:
        if done.returncode != 1 or "pip install 'evermix[cli]' " not in done.stderr:
            sys.exit(f"the command must say what to install, it says: {done.stderr}")
        em.Mixture().fit(X).save(f"{folder}/points.evermix")
    elif done.returncode:
        sys.exit(done.stderr)
    model = em.load(f"{folder}/points.evermix")
    model.report(f"{folder}/points.html", X)
    page = Path(f"{folder}/points.html").read_text("utf-8")
    if not page.startswith("<!doctype html>") or "function flowChart" not in page:
        sys.exit("a report must be one file with all parts of its page.")
labels = model.predict(X)
print(f"evermix {em.__version__} from its wheel: {model.n_clusters_} clusters")
if len(set(labels[[0, 100, 200]])) != 3:
    sys.exit("three groups of points, far from each other, must have labels of their own.")
