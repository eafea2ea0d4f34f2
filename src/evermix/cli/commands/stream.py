"""``evermix stream``: cluster a source in one pass, with checkpoints to go on from."""

import time
from typing import TYPE_CHECKING

import typer

from evermix.cli.options import table as options
from evermix.cli.options.settings import FamilyName, StreamEngineName, StreamSettings, usual_prior
from evermix.cli.output.console import note, row_progress
from evermix.cli.runs.interrupts import Stop, Stopped
from evermix.cli.runs.run import (
    default_checkpoint,
    farewell,
    given_options,
    open_run,
    stoppable,
    summary,
)

if TYPE_CHECKING:
    from evermix.cli.output.console import RowProgress
    from evermix.cli.runs.stream import Session


def stream(
    context: typer.Context,
    source: options.Source,
    engine: options.StreamEngine = StreamEngineName.ADF,
    out: options.Out = "-",
    checkpoint: options.Checkpoint = None,
    resume: options.Resume = False,
    overwrite: options.Overwrite = False,
    every: options.Every = 10_000,
    trace: options.Trace = None,
    family: options.Family = FamilyName.AUTO,
    alpha: options.Alpha = None,
    prior: options.Prior = None,
    a: options.A = None,
    sigma: options.Sigma = None,
    tau: options.Tau = None,
    concentration: options.Concentration = None,
    discount: options.Discount = None,
    max_clusters: options.MaxClusters = None,
    seed: options.Seed = 0,
    birth: options.Birth = None,
    merge: options.Merge = None,
    penalty: options.Penalty = None,
    half_life: options.HalfLife = None,
    batch: options.Batch = 1000,
    limit: options.Limit = None,
    kind: options.Kind = None,
    text_field: options.TextField = "text",
    vector_field: options.VectorField = "vector",
    id_field: options.IdField = "id",
    time_field: options.TimeField = None,
    skip_bad: options.SkipBad = False,
    vocabulary: options.Vocabulary = 20_000,
    warmup: options.Warmup = 2000,
    hash: options.Hash = None,
    quiet: options.Quiet = False,
) -> None:
    """Cluster a source in one pass; stop whenever you like and go on with --resume.

    Writes one JSON line per row: id, cluster, its probability, and whether the row opened it.

    With --half-life old rows count for less, and lines also name the clusters that have faded.
    """
    prior = usual_prior(engine) if prior is None else prior
    settings = StreamSettings.of(locals())
    path = default_checkpoint(source) if checkpoint is None else checkpoint
    given, session = given_options(context), None
    with stoppable(lambda: _farewell(session)) as stop:
        with stop.allowed():
            from evermix.cli.runs.stream import Session

            session = open_run(
                lambda: Session.begin(settings, path, skip_bad),
                lambda: Session.resume(settings, given, path, skip_bad),
                settings,
                path,
                resume=resume,
                overwrite=overwrite,
            )
        with session:
            _run(session, stop, every, limit, quiet)


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
    faded = f", {totals.faded:,} faded" if session.mix.forgetting is not None else ""
    facts = [
        f"{totals.rows:,} rows{skipped}",
        f"{session.mix.n_clusters_:,} clusters "
        f"({totals.births:,} born, {totals.merges:,} merged{faded})",
        speed,
        f"log predictive {totals.log_predictive / totals.rows:.3f} per row",
        f"checkpoint {session.checkpoint}",
    ]
    return summary(facts, session.source.complaints)


def _farewell(session: "Session | None") -> str:
    """Say how far a stream came that ended early, and how to go on."""
    if session is None or not session.totals.rows:
        return "Nothing was learnt yet."
    done = f"after {session.totals.rows:,} rows"
    return farewell("stream", session.settings, session.checkpoint, done)


def _remedy(error: ValueError) -> str:
    from evermix.io.sources import SourceError

    return " --skip-bad (to leave out bad rows)" if isinstance(error, SourceError) else ""
