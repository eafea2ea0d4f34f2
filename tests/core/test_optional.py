"""Everything that does not need an optional package works where none is installed."""

import subprocess
import sys

import pytest

# Names that cannot be imported, as on a machine where they are not installed.
HIDE = """
import sys

class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {hidden!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Hidden())
"""
HIDDEN = ("dask", "distributed", "torch", "cupy", "matplotlib", "pyarrow", "arviz", "xarray")
HIDDEN += ("river",)
CALL = """
from evermix.__main__ import main
main()
"""

LEARN = """
import numpy as np
import evermix as em

X = np.random.default_rng(0).normal(size=(90, 2)) + np.repeat([[0.0], [9.0], [18.0]], 30, axis=0)
for engine in (em.ADF(), em.EP(laps=2), em.FullVB(laps=3), em.MemoizedVB(laps=3), em.Gibbs(5)):
    mix = em.Mixture(engine=engine, random_state=0).fit(X)
    assert len(mix.predict(X)) == 90 and np.isfinite(mix.score(X))
mix = em.Mixture(random_state=0).partial_fit(X).partial_fit(X)
mix.save("model.evermix")
assert em.load("model.evermix").predict(X).tolist() == mix.predict(X).tolist()
np.save("points.npy", X)
"""

COMMANDS = """
from typer.testing import CliRunner
from evermix.cli import app

def run(*arguments):
    return CliRunner().invoke(app, arguments)

assert run("fit", "points.npy").exit_code == 0
assert run("predict", "points.evermix", "points.npy").exit_code == 0
refused = run("fit", "points.npy", "--dask", "local", "--checkpoint", "other.evermix")
assert refused.exit_code == 1
need = "--dask needs Dask: pip install 'evermix[dask]' (from a clone: pip install '.[dask]')"
assert refused.stderr == f"evermix: error: {need}\\n"
"""


def run(program, folder):
    command = [sys.executable, "-c", program]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def test_learning_needs_no_command_line(tmp_path):
    done = run(HIDE.format(hidden=(*HIDDEN, "typer", "rich")) + LEARN, tmp_path)
    assert done.returncode == 0, done.stderr


def test_fit_predict_and_commands_without_optional_packages(tmp_path):
    done = run(HIDE.format(hidden=HIDDEN) + LEARN + COMMANDS, tmp_path)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("missing", [("typer",), ("rich",), ("typer", "rich")])
def test_the_command_without_its_extra_says_what_to_install(tmp_path, missing):
    done = run(HIDE.format(hidden=missing) + CALL, tmp_path)
    assert done.returncode == 1 and done.stdout == ""
    needed = "the command line needs Typer and Rich: "
    install = "pip install 'evermix[cli]' (from a clone: pip install '.[cli]')"
    assert done.stderr == f"evermix: error: {needed}{install}\n"


def test_the_command_does_not_hide_that_something_else_is_missing(tmp_path):
    command = "sys.argv[1:] = ['info', 'model.evermix']\n"
    done = run(HIDE.format(hidden=("numba",)) + command + CALL, tmp_path)
    assert "No module named 'numba'" in done.stderr
