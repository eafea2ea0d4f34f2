"""Public names are imported when they are wanted, so that commands start at once."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import evermix as em
from evermix.cli.app import COMMANDS

HEAVY = ("numpy", "scipy", "sklearn", "numba", "pandas", "matplotlib")


def test_every_public_name_has_its_home():
    tree = ast.parse(Path(em.__file__).read_text("utf-8"))
    lazy = next(node for node in tree.body if isinstance(node, ast.If))
    seen = {
        alias.name: node.module
        for node in lazy.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert seen.keys() == set(em.__all__) and seen.pop("plot") == "evermix"
    assert seen == em._HOME
    for name in em.__all__:
        assert getattr(em, name) is not None and name in dir(em)
    with pytest.raises(AttributeError, match="no attribute 'Mixtur'"):
        _ = em.Mixtur


@pytest.mark.parametrize("code", ["import evermix", "import evermix.cli"])
def test_nothing_heavy_is_imported_before_it_is_needed(code):
    heavy = f"import sys; print([name for name in {HEAVY!r} if name in sys.modules])"
    found = subprocess.run([sys.executable, "-c", f"{code}; {heavy}"], capture_output=True)
    assert found.stdout.strip() == b"[]", found.stderr


@pytest.mark.parametrize("command", [*COMMANDS, "stream --no-such-option", "edit m.evermix"])
def test_help_and_wrong_options_need_no_kernels(command):
    """Nor engines, nor arrays: nobody waits seconds for them."""
    words = command.split() if " " in command else [command, "--help"]
    code = f"""
import sys
from evermix.cli import app
try:
    app({words!r}, prog_name="evermix")
except SystemExit:
    heavy = [name for name in {HEAVY!r} if name in sys.modules]
    parts = [name for name in sys.modules if name.startswith("evermix.engines")]
    print("imported", heavy + parts)
"""
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert found.stdout.endswith("imported []\n"), found.stdout[-300:] + found.stderr


def test_parts_are_attributes():
    code = "import evermix; print(evermix.families.Gaussian.__name__, evermix.engines.ADF.__name__)"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True)
    assert found.stdout.split() == [b"Gaussian", b"ADF"], found.stderr
