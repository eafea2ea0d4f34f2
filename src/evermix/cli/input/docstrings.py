"""The demo's corpus: the docstrings of Python's own standard library."""

import ast
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

MIN_WORDS = 8
# Tests, vendored packages, tables and generated text say little about what the library does.
_SKIPPED = frozenset(
    "test tests idlelib lib2to3 turtledemo pydoc_data ensurepip encodings __pycache__ "
    "site-packages dist-packages".split()
)
_HOLDERS = (ast.stmt, ast.excepthandler, ast.match_case)  # what can hold a definition


class Docstring(NamedTuple):
    """A docstring, and the dotted name of what it describes."""

    id: str
    text: str


def standard_library() -> list[Path]:
    """Return the source files of the standard library in a fixed order.

    Raises
    ------
    FileNotFoundError
        This Python came without the sources of its standard library.
    """
    root = Path(sysconfig.get_path("stdlib"))
    files = sorted(path for path in root.rglob("*.py") if _wanted(path.relative_to(root)))
    if not files:
        raise FileNotFoundError(
            f"this Python came without the sources of its standard library (looked in {root}); "
            "run the demo with another Python, or give `evermix stream` a file of your own."
        )
    return files


def docstrings_of(path: Path) -> Iterator[Docstring]:
    """Yield the docstrings of at least eight words in a file of the standard library.

    A file that cannot be parsed has none: some are templates or meant for another version.
    """
    source = path.read_bytes()
    if b'"""' not in source and b"'''" not in source:
        return
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return
    yield from _described(tree, _module_name(path))


def _wanted(relative: Path) -> bool:
    return _SKIPPED.isdisjoint(relative.parts) and not relative.name.startswith("test_")


def _module_name(path: Path) -> str:
    parts = path.relative_to(sysconfig.get_path("stdlib")).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _described(node: ast.AST, name: str) -> Iterator[Docstring]:
    """Yield what statements at any depth say of themselves; expressions hold no docstrings."""
    if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
        if not isinstance(node, ast.Module):
            name = f"{name}.{node.name}"
        text = ast.get_docstring(node, clean=False)
        if text and len(text.split()) >= MIN_WORDS:
            yield Docstring(name, text)
    for child in ast.iter_child_nodes(node):
        if isinstance(child, _HOLDERS):
            yield from _described(child, name)
