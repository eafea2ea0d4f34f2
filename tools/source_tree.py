"""The Python files of a checkout, parsed, and what their names stand for; nothing is imported."""

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple


class Module(NamedTuple):
    """A parsed source file."""

    name: str
    """Dotted name; that of the folder for an ``__init__``."""
    path: str
    """Path below ``src``, with slashes."""
    lines: list[str]
    nodes: list[Any]
    """All nodes of the syntax tree, outer ones first."""

    @property
    def package(self) -> str:
        """Dotted name of the folder that holds the file."""
        return ".".join(self.path.split("/")[:-1])

    @property
    def folder(self) -> str:
        """Path of the folder inside the top package; empty for the top package itself."""
        return "/".join(self.path.split("/")[1:-1])

    def place(self, node: Any) -> str:
        """Return path and line of a node."""
        return f"{self.path}:{node.lineno}"


def read(checkout: Path) -> list[Module]:
    """Parse every Python file below ``src`` of a checkout."""
    src = checkout / "src"
    if not src.is_dir():
        raise SystemExit(f"{src} is not a folder. Give the path of a checkout that has src/.")
    modules = []
    for file in sorted(src.rglob("*.py")):
        relative = file.relative_to(src)
        parts = relative.with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        text = file.read_text(encoding="utf-8")
        lines = text.removesuffix("\n").split("\n") if text else []
        nodes = list(ast.walk(ast.parse(text, str(file))))
        modules.append(Module(name, relative.as_posix(), lines, nodes))
    return modules


def imported(module: Module, known: set[str]) -> Iterator[str]:
    """Yield the project's modules that a module imports, anywhere in it.

    Imports inside functions and under ``TYPE_CHECKING`` count. Those of parent packages, which
    Python adds by itself, do not.
    """
    for node in module.nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in known)
        elif isinstance(node, ast.ImportFrom):
            source = import_source(module, node)
            for alias in node.names:
                name = f"{source}.{alias.name}"
                if name in known or source in known:
                    yield name if name in known else source


def import_source(module: Module, node: ast.ImportFrom) -> str:
    """Return the absolute name of the module that a ``from`` import names."""
    if not node.level:
        return node.module or ""
    parents = module.package.split(".")
    base = parents[: len(parents) - node.level + 1]
    return ".".join([*base, node.module] if node.module else base)


class Names:
    """What the names of each module stand for: classes of the project and modules."""

    def __init__(self, modules: list[Module]) -> None:
        known = {module.name for module in modules}
        self.classes: dict[str, tuple[Module, ast.ClassDef]] = {}
        self._links: dict[str, str] = {}
        for module in modules:
            for node in module.nodes:
                if isinstance(node, ast.ClassDef):
                    self.classes[f"{module.name}.{node.name}"] = module, node
                elif isinstance(node, ast.ImportFrom):
                    for alias in node.names:
                        target = f"{import_source(module, node)}.{alias.name}"
                        self._links[f"{module.name}.{alias.asname or alias.name}"] = target
                elif isinstance(node, ast.Import):
                    for alias in node.names:
                        if alias.asname and alias.name in known:
                            self._links[f"{module.name}.{alias.asname}"] = alias.name

    def find(self, module: Module, node: ast.AST) -> str | None:
        """Return the full name of the class that an expression names, if it is the project's."""
        if isinstance(node, ast.Subscript):
            return self.find(module, node.value)
        dotted = ast.unparse(node) if isinstance(node, ast.Name | ast.Attribute) else ""
        return self._follow(f"{module.name}.{dotted}") or self._follow(dotted)

    def _follow(self, name: str, steps: int = 20) -> str | None:
        """Follow imports, at most so many, until the name is that of a class."""
        if name in self.classes or not steps:
            return name if steps else None
        head, tail = name, ""
        while head:
            if head in self._links:
                return self._follow(self._links[head] + tail, steps - 1)
            head, _, last = head.rpartition(".")
            tail = f".{last}{tail}"
        return None

    def bases(self, name: str) -> list[str]:
        """Return the bases of a class that the project defines."""
        module, node = self.classes[name]
        found = (self.find(module, base) for base in node.bases)
        return [base for base in found if base is not None and base != name]
