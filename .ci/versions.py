"""Run `make test-part` on every supported Python of this machine but the one that runs this.

Which versions are supported stands in pyproject.toml; each has an environment of its own beside the
main one, whose folder is the only argument.
"""

import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

PREFIX = "Programming Language :: Python :: 3."
CHECK = "import ensurepip, sys, venv; print(*sys.version_info[:2], sep='.')"


def supported_versions() -> list[str]:
    """Return the versions of Python that pyproject.toml names, such as "3.12"."""
    with open("pyproject.toml", "rb") as file:
        classifiers = tomllib.load(file)["project"]["classifiers"]
    return ["3." + c.removeprefix(PREFIX) for c in classifiers if c.startswith(PREFIX)]


def candidates(version: str) -> Iterator[str]:
    """Yield paths where an interpreter of a version may be: on PATH, then those of pyenv."""
    for folder in os.get_exec_path():
        if path := shutil.which(f"python{version}", path=folder):
            yield path
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    yield from map(str, sorted(pyenv.glob(f"versions/*/bin/python{version}")))


def find_interpreter(version: str) -> str | None:
    """Return the first interpreter of a version that works and can create environments."""
    for path in candidates(version):  # pyenv's shims exist for versions that they refuse to start
        done = subprocess.run([path, "-c", CHECK], capture_output=True, text=True)
        if done.returncode == 0 and done.stdout.strip() == version:
            return path
    return None


def run_tests(version: str, path: str, folder: str) -> bool:
    """Run the tests on one version, print their output, and return whether they passed."""
    command = ["make", "test-part", f"PYTHON={path}", f"VENV={folder}-{version}"]
    environment = {name: value for name, value in os.environ.items() if name != "MAKEFLAGS"}
    done = subprocess.run(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    verdict = "passed" if done.returncode == 0 else "FAILED"
    print(f"---- Python {version}: {verdict}\n{done.stdout}", flush=True)
    return done.returncode == 0


def main() -> int:
    """Run all versions at the same time, one process each."""
    own = f"{sys.version_info.major}.{sys.version_info.minor}"
    found = {}
    for version in supported_versions():
        if version == own:
            print(f"Python {version}: tested by `make test`")
        elif path := find_interpreter(version):
            print(f"Python {version}: {path}", flush=True)
            found[version] = path
        else:
            print(f"Python {version}: not found on this machine")
    with ThreadPoolExecutor() as pool:
        passed = list(pool.map(lambda item: run_tests(*item, sys.argv[1]), found.items()))
    return 0 if all(passed) else 1


if __name__ == "__main__":
    sys.exit(main())
