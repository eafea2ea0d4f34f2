"""``evermix stream``: cluster a source in one pass, with checkpoints to go on from."""

import os
import shlex
import time
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from evermix.cli import options
from evermix.cli.console import note, plain_errors, row_progress
from evermix.cli.settings import FamilyName, PriorName, Settings
from evermix.cli.stopping import Stop, Stopped

if TYPE_CHECKING:
    from evermix.cli.console import RowProgress
    from evermix.cli.session import Session

__all__ = ["stream"]


def stream(
    context: typer.Context,
    source: options.Source,
    out: options.Out = "-",
    checkpoint: options.Checkpoint = None,
    resume: options.Resume = False,
    overwrite: options.Overwrite = False,
    every: options.Every = 10_000,
    trace: options.Trace = None,
    family: options.Family = FamilyName.AUTO,
    alpha: options.Alpha = None,
    prior: options.Prior = PriorName.NGGP,
    a: options.A = None,
    sigma: options.Sigma = None,
    tau: options.Tau = None,
    concentration: options.Concentration = None,
    discount: options.Discount = None,
    birth: options.Birth = None,
    merge: options.Merge = True,
    max_clusters: options.MaxClusters = None,
    seed: options.Seed = 0,
    batch: options.Batch = 1000,
    limit: options.Limit = None,
    kind: options.Kind = None,
    text_field: options.TextField = "text",
    vector_field: options.VectorField = "vector",
    id_field: options.IdField = "id",
    skip_bad: options.SkipBad = False,
    vocabulary: options.Vocabulary = 20_000,
    warmup: options.Warmup = 2000,
    hash: options.Hash = None,
    quiet: options.Quiet = False,
) -> None:
    """Cluster a source in one pass; stop whenever you like and go on with --resume.

    Writes one JSON line per row: id, cluster, its probability, and whether the row opened it.
    """
    if resume and overwrite:
        raise typer.BadParameter("--resume and --overwrite exclude each other.")
    settings = Settings(
        source=_absolute(source),
        out=_absolute(out),
        trace=None if trace is None else _absolute(trace),
        kind=None if kind is None else kind.value,
        text_field=text_field,
        vector_field=vector_field,
        id_field=id_field,
        batch=batch,
        vocabulary=vocabulary,
        hash=hash,
        warmup=warmup,
        family=family.value,
        alpha=alpha,
        prior=prior.value,
        a=a,
        sigma=sigma,
        tau=tau,
        concentration=concentration,
        discount=discount,
        birth=birth,
        merge=merge,
        max_clusters=max_clusters,
        seed=seed,
    )
    path = _default_checkpoint(source) if checkpoint is None else checkpoint
    session = None
    with plain_errors(), Stop() as stop:
        try:
            with stop.allowed():
                given = _given(context) if resume else None
                session = _open(settings, path, given, overwrite, skip_bad)
            with session:
                _run(session, stop, every, limit, quiet)
        except Stopped as stopped:
            note(_farewell(session))
            raise typer.Exit(stopped.status) from stopped


def _open(
    settings: Settings, path: Path, given: set[str] | None, overwrite: bool, skip_bad: bool
) -> "Session":
    """Begin a session, or resume one where ``given`` names the options to compare."""
    from evermix.cli.session import Session

    _check_distinct(settings, path)
    _check_folders(settings, path)
    if given is not None and path.exists():
        return Session.resume(settings, given, path, skip_bad)
    if given is not None:
        note(f"there is no checkpoint {path} yet; starting from the beginning.")
    elif not overwrite:
        _check_free(settings, path)
    return Session.begin(settings, path, skip_bad)


def _run(session: "Session", stop: Stop, every: int, limit: int | None, quiet: bool) -> None:
    """Learn until the rows end, and leave a checkpoint whatever ends it."""
    before, began = session.totals.rows, time.perf_counter()
    try:
        with row_progress("streaming", session.source.n_rows, quiet) as progress:
            _learn(session, stop, progress, every, limit)
    except Stopped:
        session.save()
        raise
    except ValueError as error:  # a bad row, or rows that the family cannot hold
        session.save()
        raise ValueError(f"{error} {_farewell(session)}{_remedy(error)}") from error
    session.save()
    if not quiet:
        note(_summary(session, session.totals.rows - before, time.perf_counter() - began))


def _learn(
    session: "Session", stop: Stop, progress: "RowProgress", every: int, limit: int | None
) -> None:
    while limit is None or session.totals.rows < limit:
        with stop.allowed():
            chunk = next(session.chunks, None)
        if chunk is None:
            return
        session.learn(chunk)
        progress.update(session.totals.offset, session.mix.n_clusters_)
        if session.unsaved >= every:
            session.save()


def _summary(session: "Session", new: int, seconds: float) -> str:
    totals = session.totals
    if not totals.rows:
        return "the source has no rows that can be learnt."
    speed = f"{new / seconds:,.0f} rows/s" if new else "nothing new"
    skipped = f", {totals.skipped:,} blank or bad rows skipped" if totals.skipped else ""
    lines = [
        f"{totals.rows:,} rows{skipped}; {session.mix.n_clusters_:,} clusters "
        f"({totals.births:,} born, {totals.merges:,} merged); {speed}; "
        f"log predictive {totals.log_predictive / totals.rows:.3f} per row; "
        f"checkpoint {session.checkpoint}",
        *(f"skipped: {complaint}" for complaint in session.source.complaints),
    ]
    return "\nevermix: ".join(lines)


def _farewell(session: "Session | None") -> str:
    """Say how far a stream came that ended early, and how to go on."""
    if session is None or not session.totals.rows:
        return "Nothing was learnt yet."
    source = os.path.relpath(session.settings.source) if session.settings.source != "-" else "-"
    command = ["evermix", "stream", source, "--checkpoint", str(session.checkpoint), "--resume"]
    return f"Stopped after {session.totals.rows:,} rows. Go on with: {shlex.join(command)}"


def _remedy(error: ValueError) -> str:
    from evermix.io.sources import SourceError

    return " --skip-bad (to leave out bad rows)" if isinstance(error, SourceError) else ""


def _absolute(path: str) -> str:
    return path if path == "-" else os.path.abspath(path)


def _default_checkpoint(source: str) -> Path:
    if source == "-":
        return Path("stdin.evermix")
    return Path(Path(source).name.removesuffix(".gz")).with_suffix(".evermix")


def _given(context: typer.Context) -> set[str]:
    """Return the names of the parameters that stand on the command line."""
    sources = {name: context.get_parameter_source(name) for name in context.params}
    return {name for name, place in sources.items() if place and place.name == "COMMANDLINE"}


def _check_distinct(settings: Settings, path: Path) -> None:
    named = (settings.source, settings.out, settings.trace, str(path.absolute()))
    files = [name for name in named if name not in (None, "-")]
    if len(set(files)) < len(files):
        raise ValueError(
            "SOURCE, --out, --trace and --checkpoint must be different files, got "
            f"{', '.join(map(str, files))}."
        )


def _check_folders(settings: Settings, path: Path) -> None:
    """Refuse files that cannot be made, before anything is learnt or removed."""
    for name in (settings.out, settings.trace, str(path.absolute())):
        if name not in (None, "-") and not os.path.isdir(os.path.dirname(str(name))):
            raise ValueError(f"there is no folder for {name}. Make it, or choose another place.")


def _check_free(settings: Settings, path: Path) -> None:
    """Refuse to write over what an earlier run left."""
    if path.exists():
        raise ValueError(
            f"the checkpoint {path} exists already. Go on from it with --resume, or begin anew "
            "with --overwrite."
        )
    for name in (settings.out, settings.trace):
        if name not in (None, "-") and os.path.isfile(str(name)) and os.path.getsize(str(name)):
            raise ValueError(f"{name} exists already. Replace it with --overwrite.")
