"""Measure the structure of a checkout's ``src``: lines, import circles, inheritance, privates.

    python tools/structure.py PATH            # one checkout
    python tools/structure.py OLD NEW         # two of them, side by side
    python tools/structure.py PATH --json     # everything, with places

Sources are parsed and never imported, so any checkout can be measured, whatever is installed. What
each figure counts is in the docstring of the function that computes it.
"""

import argparse
import ast
import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from source_tree import Module, Names, import_source, imported, read

MAX_FILE, MAX_FUNCTION, MAX_DEPTH = 400, 60, 2
KINDS = ("code", "docstrings", "comments", "blanks", "imports")
ENGINES, ENGINE = "engines", "Engine"  # the folder of the engines, and their base class
NAMED_TUPLE = {"_replace", "_asdict", "_fields", "_make", "_field_defaults"}  # public, by name only


# ---- lines ---------------------------------------------------------------------------------


def count_lines(module: Module) -> Counter[str]:
    """Return the number of lines of each kind, of all lines, and 1 file.

    A docstring is any string that stands as a statement, with the blank lines in it; a comment is a
    line with nothing else. Imports are counted wherever they stand. All others are code.
    """
    kind = [_line_kind(line.strip()) for line in module.lines]
    for node in module.nodes:
        if isinstance(node, ast.Constant | ast.JoinedStr) and node.lineno != node.end_lineno:
            kind[_span(node)] = ["code"] * len(kind[_span(node)])  # a # in a string is no comment
    for node in module.nodes:
        if _is_docstring(node):
            kind[_span(node)] = ["docstrings"] * len(kind[_span(node)])
        elif isinstance(node, ast.Import | ast.ImportFrom):
            kind[_span(node)] = ["imports"] * len(kind[_span(node)])
    return Counter(kind) + Counter(lines=len(kind), files=1)


def _line_kind(line: str) -> str:
    if not line:
        return "blanks"
    return "comments" if line.startswith("#") else "code"


def _is_docstring(node: ast.AST) -> bool:
    string = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    return string and isinstance(node.value.value, str)  # type: ignore[attr-defined]


def _span(node: Any) -> slice:
    return slice(node.lineno - 1, node.end_lineno)


def by_folder(modules: list[Module]) -> dict[str, dict[str, int]]:
    """Return the lines of each folder and of all below it; ``total`` is everything."""
    found: dict[str, Counter[str]] = defaultdict(Counter)
    for module in modules:
        lines = count_lines(module)
        parts = module.folder.split("/") if module.folder else []
        for end in range(1, len(parts) + 1):
            found["/".join(parts[:end])] += lines
        if not parts:
            found["."] += lines
        found["total"] += lines
    columns = ("files", "lines", *KINDS)
    return {name: {column: found[name][column] for column in columns} for name in sorted(found)}


def file_lengths(modules: list[Module]) -> dict[str, int]:
    """Return the number of lines of each file."""
    return {module.path: len(module.lines) for module in modules}


def function_lengths(modules: list[Module]) -> dict[str, int]:
    """Return the number of lines of each function below its signature, docstring included."""
    found = {}
    for module in modules:
        for node in module.nodes:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                found[f"{module.place(node)} {node.name}"] = _lines_below_signature(module, node)
    return found


def _lines_below_signature(module: Module, node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    lines = module.lines
    body = node.body[0]
    first: int = min([body.lineno, *(d.lineno for d in getattr(body, "decorator_list", []))])
    while first - 1 > node.lineno and _line_kind(lines[first - 2].strip()) != "code":
        first -= 1  # comments between the signature and the first statement belong to the body
    assert node.end_lineno is not None
    return node.end_lineno - max(first - 1, node.lineno)


# ---- imports -------------------------------------------------------------------------------


def import_circles(modules: list[Module]) -> list[list[str]]:
    """Return groups of modules that import each other, directly or through others of the group."""
    known = {module.name for module in modules}
    edges = {m.name: set(imported(m, known)) - {m.name} for m in modules}
    reached = {name: _reachable(name, edges) for name in known}
    groups = {
        frozenset(other for other in reached[name] if name in reached[other])
        for name in known
        if name in reached[name]
    }
    return sorted(sorted(group) for group in groups)


def _reachable(start: str, edges: dict[str, set[str]]) -> set[str]:
    seen: set[str] = set()
    waiting = list(edges[start])
    while waiting:
        name = waiting.pop()
        if name not in seen:
            seen.add(name)
            waiting.extend(edges[name])
    return seen


# ---- classes -------------------------------------------------------------------------------


def inheritance(names: Names) -> list[list[str]]:
    """Return the longest chain of project classes above each class, deepest first.

    ABC, Generic, Protocol and all other bases from outside the project do not count.
    """
    chains: dict[str, list[str]] = {}

    def chain(name: str) -> list[str]:
        if name not in chains:
            above = [chain(base) for base in names.bases(name)]
            chains[name] = [name, *max(above, key=len, default=[])]
        return chains[name]

    return sorted((chain(name) for name in names.classes), key=lambda one: (-len(one), one))


def repeated_classes(names: Names) -> dict[str, list[str]]:
    """Return the class names that several files define, with their places."""
    places: dict[str, list[str]] = defaultdict(list)
    for module, node in names.classes.values():
        places[node.name].append(module.place(node))
    return {name: found for name, found in sorted(places.items()) if len(found) > 1}


def engine_checks(modules: list[Module], names: Names) -> dict[str, list[str]]:
    """Return places outside ``engines/`` that ask which engine something is, and those that ask
    whether it is one.

    These are isinstance, issubclass, comparisons of ``type(x)`` and class patterns. A check against
    the base class alone, which validates an argument, is not counted among the first.
    """
    roots = {n for n in names.classes if n.endswith(f".{ENGINE}") and ENGINES in n.split(".")}
    kinds = {chain[0] for chain in inheritance(names) if roots & set(chain[1:])}
    found: dict[str, list[str]] = {"kind": [], "any": []}
    for module in modules:
        if module.folder.split("/")[0] == ENGINES:
            continue
        for node in module.nodes:
            named = {names.find(module, one) for one in _named_classes(node)}
            where = f"{module.place(node)} {ast.unparse(node)}" if named else ""
            if named & kinds:
                found["kind"].append(where)
            elif named & roots:
                found["any"].append(where)
    return {which: _in_order(places) for which, places in found.items()}


def _in_order(places: list[str]) -> list[str]:
    """Sort places by file, then by line."""

    def key(place: str) -> tuple[str, int]:
        path, _, rest = place.partition(":")
        return path, int(rest.partition(" ")[0])

    return sorted(places, key=key)


def _named_classes(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the classes that an expression or pattern compares the type of something with."""
    match node:
        case ast.Call(func=ast.Name("isinstance" | "issubclass"), args=[_, classes]):
            yield from _parts(classes)
        case ast.Compare(left=ast.Call(func=ast.Name("type")), comparators=[classes]):
            yield from _parts(classes)
        case ast.MatchClass(cls=one):
            yield one


def _parts(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the classes of a tuple or union."""
    match node:
        case ast.Tuple(elts=elements) | ast.List(elts=elements) | ast.Set(elts=elements):
            for element in elements:
                yield from _parts(element)
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            yield from _parts(left)
            yield from _parts(right)
        case _:
            yield node


# ---- private names -------------------------------------------------------------------------


def private_reaches(modules: list[Module]) -> list[str]:
    """Return places that use a private name of another file.

    That is ``x._name`` where x is not self, cls or super() and the file does not define ``_name``,
    and ``from module import _name``. Dunder names, the methods of named tuples and private modules
    do not count.
    """
    known = {module.name for module in modules}
    found = []
    for module in modules:
        own = _defined(module)
        for node in module.nodes:
            if isinstance(node, ast.Attribute) and _is_private(node.attr):
                if node.attr not in own and not _is_own_object(node.value):
                    found.append(f"{module.place(node)} {ast.unparse(node)}")
            elif isinstance(node, ast.ImportFrom):
                names = [alias.name for alias in node.names if _is_private(alias.name)]
                source = import_source(module, node)
                found += [
                    f"{module.place(node)} from {source} import {name}"
                    for name in names
                    if f"{source}.{name}" not in known
                ]
    return _in_order(found)


def _is_private(name: str) -> bool:
    dunder = name.startswith("__") and name.endswith("__")
    return name.startswith("_") and name != "_" and not dunder and name not in NAMED_TUPLE


def _is_own_object(node: ast.AST) -> bool:
    match node:
        case ast.Name("self" | "cls") | ast.Call(func=ast.Name("super")):
            return True
    return False


def _defined(module: Module) -> set[str]:
    """Return the names that a file defines: functions, classes, variables, attributes of self."""
    own: set[str] = set()
    for node in module.nodes:
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                own.add(name)
            case ast.ClassDef(name=name) | ast.Name(id=name, ctx=ast.Store()):
                own.add(name)
            case ast.Attribute(value=value, attr=name, ctx=ast.Store()) if _is_own_object(value):
                own.add(name)
    return own


# ---- report --------------------------------------------------------------------------------


def measure(checkout: Path) -> dict[str, Any]:
    """Return all figures of a checkout, with the places behind them."""
    modules = read(checkout)
    names = Names(modules)
    checks = engine_checks(modules, names)
    return {
        "folders": by_folder(modules),
        "import circles": import_circles(modules),
        "longest files": _longest(file_lengths(modules), MAX_FILE),
        "longest functions": _longest(function_lengths(modules), MAX_FUNCTION),
        "deepest inheritance": _deepest(inheritance(names)),
        "checks for a kind of engine outside engines/": checks["kind"],
        "checks for any engine outside engines/": checks["any"],
        "reaches into privates of other files": private_reaches(modules),
        "class names defined more than once": repeated_classes(names),
    }


def _longest(lengths: dict[str, int], limit: int) -> list[list[Any]]:
    """Return the longest of all and the others above the limit, longest first."""
    ordered = sorted(lengths.items(), key=lambda item: (-item[1], item[0]))
    return [[n, place] for i, (place, n) in enumerate(ordered) if not i or n > limit]


def _deepest(chains: list[list[str]]) -> list[str]:
    """Return the deepest chain and the others above the limit, none that is part of another."""
    chosen: list[list[str]] = []
    for chain in chains:
        part = any(longer[-len(chain) :] == chain for longer in chosen)
        if not part and (not chosen or len(chain) > MAX_DEPTH):
            chosen.append(chain)
    return [f"{len(one)}: {' -> '.join(n.rpartition('.')[2] for n in one)}" for one in chosen]


def figures(found: dict[str, Any]) -> dict[str, Any]:
    """Return the figures in one number each."""
    depths = [int(chain.partition(":")[0]) for chain in found["deepest inheritance"]]
    rows: dict[str, Any] = dict(found["folders"].get("total", {}))
    for kind, limit in (("file", MAX_FILE), ("function", MAX_FUNCTION)):
        lengths = [n for n, _ in found[f"longest {kind}s"]]
        rows[f"longest {kind}"] = max(lengths, default=0)
        rows[f"{kind}s over {limit} lines"] = sum(n > limit for n in lengths)
    rows["deepest inheritance"] = max(depths, default=0)
    rows[f"chains deeper than {MAX_DEPTH}"] = sum(depth > MAX_DEPTH for depth in depths)
    for name, value in found.items():
        if name not in ("folders", "longest files", "longest functions", "deepest inheritance"):
            rows[name] = len(value)
    return rows


def table(header: Iterable[str], rows: Iterable[Iterable[Any]]) -> str:
    """Return rows as text, the first column to the left and the others to the right."""
    cells = [[str(value) for value in row] for row in (header, *rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = []
    for first, *others in cells:
        padded = (cell.rjust(width) for cell, width in zip(others, widths[1:], strict=True))
        lines.append("  ".join([first.ljust(widths[0]), *padded]).rstrip())
    return "\n".join(lines)


def describe(reports: dict[str, dict[str, Any]]) -> str:
    """Return figures and folders of the checkouts side by side, then the places of each."""
    numbers = [figures(found) for found in reports.values()]
    parts = [table(["figure", *reports], [[n, *(f[n] for f in numbers)] for n in numbers[0]])]
    folders = [found["folders"] for found in reports.values()]
    columns = ("files", "lines", *KINDS)
    rows = [
        [name, *(" -> ".join(str(f.get(name, {}).get(c, 0)) for f in folders) for c in columns)]
        for name in sorted({name for some in folders for name in some})
    ]
    parts.append(table(["folder", *columns], rows))
    for label, found in reports.items():
        for name, value in found.items():
            if name != "folders":
                parts.append("\n  ".join([f"{label}: {name}", *(_items(value) or ["none"])]))
    return "\n\n".join(parts)


def _items(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [f"{name}: {' '.join(places)}" for name, places in value.items()]
    return [" ".join(map(str, one)) if isinstance(one, list) else one for one in value]


def main() -> None:
    """Print the figures of one checkout, or of two."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("paths", metavar="PATH", type=Path, nargs="+", help="one or two checkouts")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args()
    if len(options.paths) > 2:
        parser.error(f"one or two paths are wanted, got {len(options.paths)}.")
    labels = ("before", "after") if len(options.paths) == 2 else ("now",)
    reports = {label: measure(path) for label, path in zip(labels, options.paths, strict=True)}
    if not options.json:
        print(describe(reports))
        return
    full = {label: {"figures": figures(found)} | found for label, found in reports.items()}
    print(json.dumps(full if len(full) == 2 else full["now"], indent=1))


if __name__ == "__main__":
    main()
