"""evermix can be imported and used where its own folder cannot be written."""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

import evermix

NOBODY = 65534
# An ordinary user, but for reading: this Python may lie in a folder that is closed to others.
AS_NOBODY = f"setpriv --reuid {NOBODY} --regid {NOBODY} --clear-groups".split()
AS_NOBODY += "--inh-caps=-all,+dac_read_search --ambient-caps=+dac_read_search".split()
SCRIPT = """
import warnings
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    import evermix
    from evermix.kernels.special import log
    assert log(1.0) == 0.0
print([str(w.message) for w in caught if "compiled functions" in str(w.message)])
"""


@pytest.fixture(scope="module")
def installed():
    """A copy of the package that belongs to another user."""
    if shutil.which("setpriv") is None or os.getuid() != 0:
        pytest.skip("only root can become another user, with setpriv")
    folder = Path(tempfile.mkdtemp())  # pytest's own folders are closed to others
    folder.chmod(0o755)
    source = Path(evermix.__file__).parent
    shutil.copytree(source, folder / "evermix", ignore=shutil.ignore_patterns("__pycache__"))
    yield folder
    shutil.rmtree(folder)


def as_nobody(installed, **places):
    """Run the script as an ordinary user, and return its warnings."""
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(installed), "HOME": "/nonexistent"}
    done = subprocess.run(
        [*AS_NOBODY, sys.executable, "-c", SCRIPT],
        env=environment | {name: str(place) for name, place in places.items()},
        cwd="/",
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert not list((installed / "evermix").rglob("*.nbi"))
    return done.stdout


@pytest.fixture
def own(installed):
    """A folder of the ordinary user."""
    folder = installed / "own"
    folder.mkdir()
    os.chown(folder, NOBODY, NOBODY)
    yield folder
    shutil.rmtree(folder)


def test_a_cache_folder_of_the_user_comes_first(installed, own):
    assert as_nobody(installed, XDG_CACHE_HOME=own, TMPDIR="/nonexistent") == "[]\n"
    assert list(own.rglob("*.nbi"))


def test_a_temporary_folder_comes_next_with_one_warning(installed, own):
    assert as_nobody(installed, TMPDIR=own).count("are kept in") == 1
    (folder,) = own.glob("evermix-numba-*")
    assert folder.stat().st_mode & 0o777 == 0o700
    assert list(folder.rglob("*.nbi"))


def test_without_any_folder_functions_are_compiled_anew(installed, own):
    """A temporary folder that others can write to is none: it holds code that is run."""
    folder = own / f"evermix-numba-{NOBODY}"
    folder.mkdir()
    os.chown(folder, NOBODY, NOBODY)
    folder.chmod(0o777)
    assert as_nobody(installed, TMPDIR=own).count("cannot be kept") == 1
    assert not list(folder.iterdir())
