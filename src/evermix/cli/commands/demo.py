"""``evermix demo``: the docstrings of Python's standard library, clustered as they stream by."""

import json
import shutil
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from evermix.cli.input.docstrings import Docstring, docstrings_of, standard_library
from evermix.cli.options import table as options
from evermix.cli.output.console import item_progress, output_console, plain_errors, row_progress
from evermix.cli.output.output_files import check_files, check_new

if TYPE_CHECKING:
    from evermix._xp import Array
    from evermix.estimators import Mixture
    from evermix.io.text import Vocabulary

ALPHA = 0.1
BATCH = 100  # docstrings between two points of the picture
WARMUP = 2000
SHOWN = 15  # clusters
WORDS = 7  # per cluster
FOLDER = Path("demo_output")  # of the demo alone, which writes its files there again and again
BAR = 10  # characters for the largest cluster


class _Pass(NamedTuple):
    """A mixture after one pass, and how long that took."""

    mix: "Mixture"
    seconds: float
    compiling: float


class _Files(NamedTuple):
    """The files that the demo writes."""

    model: Path
    texts: Path
    picture: Path


def demo(
    out_dir: Annotated[Path, typer.Option(help="Where the model and picture go.")] = FOLDER,
    overwrite: options.Overwrite = False,
    seed: options.Seed = 0,
    quiet: options.Quiet = False,
) -> None:
    """Cluster the docstrings of Python's own standard library, in one pass.

    Several thousand real documents that every machine has. Nobody says how many topics there are.
    """
    with plain_errors():
        import numpy as np

        from evermix.io.text import Vocabulary

        documents = _read(quiet)
        files = _files(out_dir, overwrite)
        order = np.random.default_rng(seed).permutation(len(documents))
        documents = [documents[i] for i in order]
        texts = [document.text for document in documents]
        vocabulary = Vocabulary.learn(texts[:WARMUP])
        X = vocabulary.counts(texts)
        done = _stream(X, seed, quiet)
        _show_clusters(done.mix, X, vocabulary, documents)
        _show_speed(done, len(documents), vocabulary.n_features)
        _save(files, done.mix, vocabulary, documents)


def _read(quiet: bool) -> list[Docstring]:
    found: list[Docstring] = []
    with item_progress("reading the standard library", standard_library(), quiet) as files:
        for path in files:
            found += docstrings_of(path)
    return found


def _stream(X: Any, seed: int, quiet: bool) -> _Pass:
    """Learn the rows of X (N, V) batch by batch."""
    from evermix.engines import ADF
    from evermix.estimators import Mixture
    from evermix.families import Multinomial
    from evermix.priors import NGGP

    def mixture() -> Mixture:
        family, prior = Multinomial(alpha=ALPHA), NGGP(a=10.0, sigma=0.5, tau=1.0)
        return Mixture(family=family, prior=prior, engine=ADF(), random_state=seed)

    began = time.perf_counter()
    # Enough rows for every kernel, merges included, to be compiled or read from the cache.
    mixture().partial_fit(X[:1000])
    compiling = time.perf_counter() - began
    mix, seconds = mixture(), 0.0
    with row_progress("streaming", X.shape[0], quiet) as progress:
        for start in range(0, X.shape[0], BATCH):
            began = time.perf_counter()
            mix.partial_fit(X[start : start + BATCH])
            seconds += time.perf_counter() - began
            progress.update(start + BATCH, mix.n_clusters_)
    return _Pass(mix, seconds, compiling)


def _show_clusters(
    mix: "Mixture", X: Any, vocabulary: "Vocabulary", documents: Sequence[Docstring]
) -> None:
    import numpy as np
    from rich.table import Table

    from evermix.report import distinctive_words

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


def _typical(X: Any, members: "Array", columns: list[int]) -> "Array":
    """Return the two members whose texts use most of these words."""
    import numpy as np

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
    names = ("docstrings.evermix", "docstrings.jsonl", "overview.png")
    files = _Files(*(folder / name for name in names))
    folder.mkdir(parents=True, exist_ok=True)
    outputs = {f"the {what}": str(path) for what, path in files._asdict().items()}
    check_files([], {}, outputs)
    if not overwrite and folder.resolve() != FOLDER.resolve():
        check_new(outputs, "Choose another --out-dir, or replace it with --overwrite.")
    return files


def _save(
    files: _Files, mix: "Mixture", vocabulary: "Vocabulary", documents: Sequence[Docstring]
) -> None:
    from evermix.estimators.files import save

    model, texts, picture = files
    save(mix, model, {"text": vocabulary.to_spec()})
    with texts.open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(document._asdict()) + "\n" for document in documents)
    console = output_console()
    console.print(f"Picture   {_draw(picture, mix, len(documents))}")
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


def _draw(path: Path, mix: "Mixture", n: int) -> str:
    """Save the picture, and return its path or why there is none."""
    from evermix.report import overview, read_events

    series = read_events(info.to_event() for info in mix.history_)
    title = f"{n:,} docstrings of Python's standard library, clustered in one pass"
    try:
        overview(path, **series._asdict(), sizes=mix.state_.tally.mass, title=title)
    except ImportError as error:
        return f"none: {error}"
    return str(path)
