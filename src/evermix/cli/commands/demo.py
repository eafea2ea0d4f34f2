"""``evermix demo``: the docstrings of Python's standard library, clustered as they stream by."""

import ast
import json
import shutil
import sys
import sysconfig
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from rich.table import Table

from evermix import plot
from evermix._xp import Array
from evermix.cli.console import item_progress, output_console, progress_bar
from evermix.cli.options.settings import Settings
from evermix.cli.output.output_files import check_files, check_new
from evermix.engines import ADF
from evermix.estimators import Mixture
from evermix.estimators.files import save
from evermix.families import Multinomial
from evermix.io.text import Vocabulary
from evermix.priors import NGGP
from evermix.report import distinctive_words
from evermix.report.canvas import save_picture

ALPHA = 0.1
BATCH = 100  # docstrings between two points of the picture
WARMUP = 2000
SHOWN = 15  # clusters
WORDS = 7  # per cluster
FOLDER = Path("demo_output")  # in which the demo replaces its own files
BAR = 10  # characters for the largest cluster
MIN_WORDS = 8
# Tests, vendored packages, tables and generated text are not documents of the library.
_SKIPPED = frozenset(
    "test tests idlelib lib2to3 turtledemo pydoc_data ensurepip encodings __pycache__ "
    "site-packages dist-packages".split()
)
_HOLDERS = (ast.stmt, ast.excepthandler, ast.match_case)  # what can hold a definition


class Docstring(NamedTuple):
    """A docstring, and the dotted name of what it describes."""

    id: str
    text: str


class _Pass(NamedTuple):
    """A mixture after one pass, and how long that took."""

    mix: Mixture
    seconds: float
    compiling: float


class _Files(NamedTuple):
    """The files that the demo writes."""

    model: Path
    texts: Path
    picture: Path
    report: Path


def run(settings: Settings) -> None:
    """Cluster the docstrings of the standard library; write a model, a picture and a report."""
    documents = _read(settings.quiet)
    files = _files(Path(settings.out_dir), settings.overwrite)
    order = np.random.default_rng(settings.seed).permutation(len(documents))
    documents = [documents[i] for i in order]
    texts = [document.text for document in documents]
    vocabulary = Vocabulary.learn(texts[:WARMUP])
    X = vocabulary.counts(texts)
    done = _stream(X, settings.seed, settings.quiet)
    _show_clusters(done.mix, X, vocabulary, documents)
    _show_speed(done, len(documents), vocabulary.n_features)
    done.mix.report(files.report, X, vocabulary.words, _title(len(documents)))
    _save(files, done.mix, vocabulary, documents)


def _read(quiet: bool) -> list[Docstring]:
    found: list[Docstring] = []
    with item_progress("reading the standard library", standard_library(), quiet) as files:
        for path in files:
            found += docstrings_of(path)
    return found


def _stream(X: Any, seed: int, quiet: bool) -> _Pass:
    """Learn the rows of X (N, V) batch by batch."""

    def mixture() -> Mixture:
        family, prior = Multinomial(alpha=ALPHA), NGGP(a=10.0, sigma=0.5, tau=1.0)
        return Mixture(family=family, prior=prior, engine=ADF(), random_state=seed)

    began = time.perf_counter()
    # Enough rows for every kernel, merges included, to be compiled or read from the cache.
    mixture().partial_fit(X[:1000])
    compiling = time.perf_counter() - began
    mix, seconds = mixture(), 0.0
    with progress_bar("streaming", X.shape[0], quiet) as progress:
        for start in range(0, X.shape[0], BATCH):
            began = time.perf_counter()
            mix.partial_fit(X[start : start + BATCH])
            seconds += time.perf_counter() - began
            progress.update(start + BATCH, mix.n_clusters_)
    return _Pass(mix, seconds, compiling)


def _show_clusters(
    mix: Mixture, X: Any, vocabulary: Vocabulary, documents: Sequence[Docstring]
) -> None:
    mass = mix.state_.tally.mass
    largest = np.argsort(-mass)[:SHOWN]
    counts = mix.state_.tally.stats[:, : vocabulary.n_features]
    words = distinctive_words(counts, vocabulary.words, WORDS, rows=largest)
    labels = mix.predict(X)
    table = Table(title=f"The largest {len(largest)} of {mix.n_clusters_} clusters")
    table.add_column("size", justify="right", style="bold cyan", no_wrap=True)
    table.add_column("", style="cyan", no_wrap=True)
    table.add_column("words that set it apart", ratio=3)
    table.add_column("for example", style="dim", ratio=3)
    for row, marks in zip(largest, words, strict=True):
        members = np.flatnonzero(labels == mix.cluster_ids_[row])
        examples = _typical(X, members, [vocabulary.words.index(word) for word in marks])
        names = "\n".join(documents[i].id for i in examples)
        bar = "█" * max(1, round(BAR * mass[row] / mass.max()))
        table.add_row(f"{mass[row]:,.0f}", bar, " ".join(marks), names)
    output_console().print(table)


def _typical(X: Any, members: Array, columns: list[int]) -> Array:
    """Return the two members whose texts use most of these words."""
    used = np.asarray((X[members][:, columns] > 0).sum(axis=1)).ravel()
    return members[np.argsort(-used, kind="stable")[:2]]


def _show_speed(done: _Pass, n: int, n_words: int) -> None:
    console = output_console()
    console.print(
        f"[bold]{n:,}[/bold] docstrings with {n_words:,} different words made "
        f"[bold]{done.mix.n_clusters_}[/bold] clusters, in one pass of "
        f"[bold]{done.seconds:.2f} s[/bold] ([bold]{n / done.seconds:,.0f}[/bold] per second; "
        f"compiling apart, {done.compiling:.1f} s)."
    )


def _files(folder: Path, overwrite: bool) -> _Files:
    """Make the folder, and return the files that the demo may write into it."""
    names = ("docstrings.evermix", "docstrings.jsonl", "overview.png", "report.html")
    files = _Files(*(folder / name for name in names))
    folder.mkdir(parents=True, exist_ok=True)
    outputs = {f"the {what}": str(path) for what, path in files._asdict().items()}
    check_files([], {}, outputs)
    if not overwrite and folder.resolve() != FOLDER.resolve():
        check_new(outputs, "Choose another --out-dir, or replace it with --overwrite.")
    return files


def _save(
    files: _Files, mix: Mixture, vocabulary: Vocabulary, documents: Sequence[Docstring]
) -> None:
    model, texts, picture, report = files
    save(mix, model, {"text": vocabulary.to_spec()})
    with texts.open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(document._asdict()) + "\n" for document in documents)
    console = output_console()
    console.print(f"Report    {report}, for your browser")
    console.print(f"Picture   {_draw(picture, mix, vocabulary.words, len(documents))}")
    console.print(f"Model     {model}")
    console.print(f"Texts     {texts}\n")
    console.print("Go on with:")
    command = _command()
    console.print(f"  {command} info {model}")
    console.print(f"  {command} predict {model} {texts}")
    console.print(f"  {command} stream {texts} --out clusters.jsonl")


def _command() -> str:
    """Return how to call evermix: by its path where the shell would not find it."""
    called = Path(sys.argv[0])
    return str(called) if called.stem == "evermix" and not shutil.which("evermix") else "evermix"


def _title(n: int) -> str:
    return f"{n:,} docstrings of Python's standard library, clustered in one pass"


def _draw(path: Path, mix: Mixture, words: Sequence[str], n: int) -> str:
    """Save the picture, and return its path or why there is none."""
    try:
        save_picture(path, plot.stream(mix, words, title=_title(n)))
    except ImportError as error:
        return f"none: {error}"
    return str(path)


# ---- the corpus ----------------------------------------------------------------------------


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
    """Yield the docstrings of statements at any depth; expressions hold none."""
    if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
        if not isinstance(node, ast.Module):
            name = f"{name}.{node.name}"
        text = ast.get_docstring(node, clean=False)
        if text and len(text.split()) >= MIN_WORDS:
            yield Docstring(name, text)
    for child in ast.iter_child_nodes(node):
        if isinstance(child, _HOLDERS):
            yield from _described(child, name)
